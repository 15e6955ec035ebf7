//! Rows that compare `sessile rpc` with pi's RPC mode, with one client for both.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::process::{Job, Sample};
use super::row::{Demand, Row};
use super::sessions::{forget, size, warm};
use super::{Bench, Failure, MakeRow, failed};

pub(super) const ROWS: &[MakeRow] = &[
    ("rpc-messages", messages_at_first),
    ("rpc-messages-known", messages_when_known),
    ("rpc-states", states),
    ("rpc-appends", appends),
];

/// Returns a client that starts a server on a session.
fn client<'b>(bench: &'b Bench, cache: &Path, task: &[&str], server: Vec<OsString>, session: &Path) -> Job<'b> {
    bench.tools.client(cache).args(task.iter().copied()).args(server).arg("--session").arg(session)
}

/// Returns a copy whose working directory exists, because neither side serves a session of a missing one by default.
fn copy(bench: &Bench, name: &str, from: &Path) -> Result<PathBuf, Failure> {
    let folder = bench.folder(name)?;
    let to = folder.join("session.jsonl");
    let mut lines = BufReader::new(File::open(from).map_err(failed("open a session"))?);
    let mut header = String::new();
    lines.read_line(&mut header).map_err(failed("read a header"))?;
    let mut header: Value = serde_json::from_str(&header).map_err(|error| Failure(format!("a header: {error}")))?;
    header["cwd"] = folder.to_string_lossy().into();
    let mut copy = File::create(&to).map_err(failed("make a copy"))?;
    writeln!(copy, "{header}").and_then(|()| io::copy(&mut lines, &mut copy)).map_err(failed("copy a session"))?;
    warm(bench, &to)?;
    Ok(to)
}

/// Starts a server on a large session, and requests its messages.
fn messages<'b>(bench: &'b Bench, id: &'static str, is_known: bool, least: f64) -> Result<Row<'b>, Failure> {
    let made = bench.corpus.make_named("giant-128-text")?;
    let file = copy(bench, id, &made.path)?;
    let cache = bench.cache(id);
    let ours = client(bench, &cache, &["messages"], bench.tools.our_server(), &file);
    let pi = client(bench, &cache, &["messages"], bench.tools.pi_server(), &file);
    // One run, so that the session is cached, or at least the programs are.
    ours.inner()?;
    let index = if is_known { "its index present" } else { "no index yet" };
    let title = format!("RPC: start at a {} session, `get_messages`, {index}", size(&made));
    let length = file.metadata().map_err(failed("look at a session"))?.len();
    Ok(Row::new(id, title)
        .ours(move || {
            if !is_known {
                forget(&cache);
            }
            ours.inner()
        })
        .pi(move || unchanged(&file, length, pi.inner()?))
        .demands([Demand::FasterThanPi(least)]))
}

/// Fails if pi changed a file, because the rounds would then measure different files.
fn unchanged(file: &Path, length: u64, sample: Sample) -> Result<Sample, Failure> {
    let now = file.metadata().map_err(failed("look at a session"))?.len();
    if now == length { Ok(sample) } else { Err(Failure(format!("pi wrote to {}", file.display()))) }
}

fn messages_at_first(bench: &Bench) -> Result<Row<'_>, Failure> {
    messages(bench, "rpc-messages", false, 10.0)
}

fn messages_when_known(bench: &Bench) -> Result<Row<'_>, Failure> {
    messages(bench, "rpc-messages-known", true, 50.0)
}

fn states(bench: &Bench) -> Result<Row<'_>, Failure> {
    let n: &'static str = if bench.options.is_small { "500" } else { "10000" };
    let made = bench.corpus.make_named("small")?;
    let file = copy(bench, "rpc-states", &made.path)?;
    let cache = bench.cache("rpc-states");
    let ours = client(bench, &cache, &["states", n], bench.tools.our_server(), &file);
    let pi = client(bench, &cache, &["states", n], bench.tools.pi_server(), &file);
    let echo = bench.tools.client(&cache).args(["states", n, "cat"]);
    Ok(Row::new("rpc-states", format!("RPC: {n} pipelined `get_state`, processor time of the server"))
        .ours(move || ours.inner())
        .pi(move || pi.inner())
        .other("cat", move || Ok(Sample { answer: None, ..echo.inner()? }))
        .demands([Demand::PartOfPi(0.2), Demand::Stated("wall_ms")]))
}

fn appends(bench: &Bench) -> Result<Row<'_>, Failure> {
    let n_each: &'static str = if bench.options.is_small { "50" } else { "1000" };
    let folder = bench.folder("rpc-appends")?;
    // Socket paths must be short, and build folders may be deep.
    let directory = tempfile::tempdir().map_err(failed("make a folder"))?;
    let (socket, file) = (directory.path().join("socket"), folder.join("session.jsonl"));
    let job = bench.tools.client(&bench.cache("rpc-appends")).args(["appends", "16", n_each]);
    let job = job.arg(&socket).arg(&file).args(bench.tools.our_server());
    let job = job.arg("--session").arg(&file).arg("--listen").arg(&socket);
    Ok(Row::new("rpc-appends", format!("RPC: 16 clients of one socket append {n_each} entries each to one session"))
        .ours(move || {
            // Keeps the folder as long as the row.
            let _in = &directory;
            // Including the sidecars of the session, so that every round starts empty.
            forget(&folder);
            std::fs::create_dir(&folder).map_err(failed("make a folder"))?;
            let sample = job.inner()?;
            let failed = [&sample.figures["lost"], &sample.figures["unacknowledged"]].map(Value::as_u64);
            if failed == [Some(0); 2] {
                Ok(sample)
            } else {
                Err(Failure(format!("entries were lost: {}", sample.figures)))
            }
        })
        .demands([Demand::AtMost("lost", 0.0), Demand::Stated("entries_per_s")]))
}
