//! Two clients of one server, which is delayed at one of its system calls.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::super::operation::{OPERATIONS, Operation};
use super::super::report::Report;
use super::super::store::TestStore;
use super::super::{Bench, Skipped};
use super::{AllowedResults, check_result, store};

/// Pairs tried in the short form.
const N_SHORT: u32 = 40;
/// How many occurrences of each call are delayed in the long form: the first, the second, and so on.
const TIMES: u64 = 10;
/// The calls that are delayed.
const CALLS: [&str; 8] = ["openat", "write", "flock", "renameat2", "linkat", "unlink", "fdatasync", "fsync"];
/// How long an answer may take.
const STUCK_AFTER: Duration = Duration::from_mins(1);

type Request = fn(&TestStore, &str) -> Value;

/// A server that is delayed; dropping it ends it.
struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(store: &TestStore, inject: Option<&str>) -> Result<Self, Skipped> {
        let socket = store.home.join("s.sock");
        let args: Vec<String> = ["rpc", "--listen", &socket.to_string_lossy()].map(str::to_owned).to_vec();
        let mut command = match inject {
            // The tracer is detached, so that the child is the server.
            Some(inject) => {
                let trace = format!("trace={}", CALLS.join(","));
                store.traced(&["-D", "--seccomp-bpf", "-o", "/dev/null", "-e", &trace, "-e", inject], &args)
            }
            None => store.command(&args),
        };
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| Skipped(error.to_string()))?;
        let mut line = String::new();
        // The first line reports that it listens.
        let is_read = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        if is_read.is_err() || line.is_empty() {
            return Err(Skipped("the server does not listen".to_owned()));
        }
        Ok(Self { child, socket })
    }

    fn client(&self) -> UnixStream {
        let client = UnixStream::connect(&self.socket).unwrap();
        client.set_read_timeout(Some(STUCK_AFTER)).unwrap();
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn send(client: &mut UnixStream, request: &Value) {
    // If the server has ended, the missing answer shows it.
    drop(client.write_all(format!("{request}\n").as_bytes()));
}

/// Returns whether a request was done; an error if there is no answer.
fn answer(client: &UnixStream) -> Result<bool, String> {
    let mut lines = BufReader::new(client);
    loop {
        let mut line = String::new();
        match lines.read_line(&mut line) {
            Ok(0) => return Err("the server has ended".to_owned()),
            Err(error) => return Err(format!("stuck: {error}")),
            Ok(_) => {}
        }
        let record: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if record["type"] == "response" {
            return Ok(record["success"] == true);
        }
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let with_request = || OPERATIONS.iter().filter_map(|it| it.request.map(|request| (it, request)));
    let mut cases = Vec::new();
    for one in with_request() {
        for other in with_request() {
            for call in CALLS {
                cases.extend((1..=TIMES).map(|when| (one, other, call, when)));
            }
        }
    }
    let mut random = bench.random(500);
    if !bench.plan.is_long {
        let n_wanted = usize::try_from(bench.count(N_SHORT, 1)).unwrap();
        while cases.len() > n_wanted {
            cases.swap_remove(random.below(cases.len()));
        }
        // Sorted, so that the outcomes of each pair are computed once.
        cases.sort_by_key(|((one, _), (other, _), _, _)| (one.name, other.name));
    }
    let mut known: Option<(&str, &str, AllowedResults)> = None;
    for ((one, first), (other, second), call, when) in cases {
        if known.as_ref().is_none_or(|(a, b, _)| (*a, *b) != (one.name, other.name)) {
            known = Some((one.name, other.name, allowed_results(bench, (one, first), (other, second))?));
        }
        let Some((_, _, allowed_results)) = &known else { continue };
        report.add("races of clients", 1);
        let store = store(bench, one, other);
        let inject = format!("inject={call}:delay_enter=100000:when={when}");
        let server = Server::start(&store, Some(&inject))?;
        let (mut a, mut b) = (server.client(), server.client());
        send(&mut a, &first(&store, "a"));
        send(&mut b, &second(&store, "b"));
        let ended = answer(&a).and_then(|one| answer(&b).map(|other| (one, other)));
        drop(server);
        let checked = ended.and_then(|(is_first, is_second)| {
            check_result(
                &store.snapshot(),
                allowed_results,
                is_first,
                is_second,
                &[one.destroys, other.destroys].concat(),
            )
            .map_err(|problem| format!("{problem} (first {is_first}, second {is_second})"))
        });
        if let Err(problem) = checked {
            report.add_failed_case(&format!("clients {}+{} with {inject}", one.name, other.name), &problem);
        }
    }
    Ok(())
}

fn allowed_results(
    bench: &Bench,
    (one, first): (&Operation, Request),
    (other, second): (&Operation, Request),
) -> Result<AllowedResults, Skipped> {
    let before = store(bench, one, other).snapshot();
    let mut allowed = vec![(false, false, before.digest())];
    for order in [&[true, false][..], &[false, true], &[true], &[false]] {
        let store = store(bench, one, other);
        let server = Server::start(&store, None)?;
        let mut clients = [server.client(), server.client()];
        let mut done = [false, false];
        for is_first in order {
            let at = usize::from(!is_first);
            let request = if *is_first { first(&store, "a") } else { second(&store, "b") };
            send(&mut clients[at], &request);
            done[at] = answer(&clients[at]).map_err(Skipped)?;
        }
        drop(server);
        allowed.push((done[0], done[1], store.snapshot().digest()));
    }
    Ok(AllowedResults { before, allowed })
}
