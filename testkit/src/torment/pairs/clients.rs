//! Two clients of one server, which is delayed at one of its system calls.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::super::operation::{OPERATIONS, Operation};
use super::super::report::Report;
use super::super::store::Stage;
use super::super::{Bench, Skipped};
use super::{Outcomes, judge, stage};

/// Pairs tried in the short form.
const SHORT: u32 = 40;
/// How many occurrences of each call are delayed in the long form: the first, the second, and so on.
const TIMES: u64 = 10;
/// The calls that are delayed.
const CALLS: [&str; 8] = ["openat", "write", "flock", "renameat2", "linkat", "unlink", "fdatasync", "fsync"];
/// How long an answer may take.
const STUCK: Duration = Duration::from_mins(1);

type Request = fn(&Stage, &str) -> Value;

/// A server that is delayed; dropping it ends it.
struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(stage: &Stage, inject: Option<&str>) -> Result<Self, Skipped> {
        let socket = stage.home.join("s.sock");
        let args: Vec<String> = ["rpc", "--listen", &socket.to_string_lossy()].map(str::to_owned).to_vec();
        let mut command = match inject {
            // The tracer is detached, so that the child is the server.
            Some(inject) => {
                let trace = format!("trace={}", CALLS.join(","));
                stage.traced(&["-D", "--seccomp-bpf", "-o", "/dev/null", "-e", &trace, "-e", inject], &args)
            }
            None => stage.command(&args),
        };
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| Skipped(error.to_string()))?;
        let mut said = String::new();
        // The first line reports that it listens.
        let is_said = BufReader::new(child.stdout.take().unwrap()).read_line(&mut said);
        if is_said.is_err() || said.is_empty() {
            return Err(Skipped("the server does not listen".to_owned()));
        }
        Ok(Self { child, socket })
    }

    fn client(&self) -> UnixStream {
        let client = UnixStream::connect(&self.socket).unwrap();
        client.set_read_timeout(Some(STUCK)).unwrap();
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
        let told: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if told["type"] == "response" {
            return Ok(told["success"] == true);
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
        let n_wanted = usize::try_from(bench.count(SHORT, 1)).unwrap();
        while cases.len() > n_wanted {
            cases.swap_remove(random.below(cases.len()));
        }
        // Sorted, so that the outcomes of each pair are computed once.
        cases.sort_by_key(|((one, _), (other, _), _, _)| (one.name, other.name));
    }
    let mut known: Option<(&str, &str, Outcomes)> = None;
    for ((one, first), (other, second), call, when) in cases {
        if known.as_ref().is_none_or(|(a, b, _)| (*a, *b) != (one.name, other.name)) {
            known = Some((one.name, other.name, outcomes(bench, (one, first), (other, second))?));
        }
        let Some((_, _, outcomes)) = &known else { continue };
        report.add("races of clients", 1);
        let stage = stage(bench, one, other);
        let inject = format!("inject={call}:delay_enter=100000:when={when}");
        let server = Server::start(&stage, Some(&inject))?;
        let (mut a, mut b) = (server.client(), server.client());
        send(&mut a, &first(&stage, "a"));
        send(&mut b, &second(&stage, "b"));
        let ended = answer(&a).and_then(|one| answer(&b).map(|other| (one, other)));
        drop(server);
        let judged = ended.and_then(|(is_first, is_second)| {
            judge(&stage.picture(), outcomes, is_first, is_second, &[one.destroys, other.destroys].concat())
                .map_err(|problem| format!("{problem} (first {is_first}, second {is_second})"))
        });
        if let Err(problem) = judged {
            report.accuse(&format!("clients {}+{} with {inject}", one.name, other.name), &problem);
        }
    }
    Ok(())
}

fn outcomes(
    bench: &Bench,
    (one, first): (&Operation, Request),
    (other, second): (&Operation, Request),
) -> Result<Outcomes, Skipped> {
    let before = stage(bench, one, other).picture();
    let mut allowed = vec![(false, false, before.digest())];
    for order in [&[true, false][..], &[false, true], &[true], &[false]] {
        let stage = stage(bench, one, other);
        let server = Server::start(&stage, None)?;
        let mut clients = [server.client(), server.client()];
        let mut done = [false, false];
        for is_first in order {
            let at = usize::from(!is_first);
            let request = if *is_first { first(&stage, "a") } else { second(&stage, "b") };
            send(&mut clients[at], &request);
            done[at] = answer(&clients[at]).map_err(Skipped)?;
        }
        drop(server);
        allowed.push((done[0], done[1], stage.picture().digest()));
    }
    Ok(Outcomes { before, allowed })
}
