//! Rows about our class in Node beside pi's, in processor time.

use std::path::{Path, PathBuf};

use super::process::{Job, Sample};
use super::row::{Demand, Row};
use super::sessions::{forget, size, warm};
use super::stores::{AGENT_DIR, store};
use super::{Bench, Failure, MakeRow};
use crate::generate::Made;

pub(super) const ROWS: &[MakeRow] = &[
    ("node-first-5k", |bench| open(bench, "node-first-5k", "long-5k", Opening::First(1.0))),
    ("node-again-5k", |bench| open(bench, "node-again-5k", "long-5k", Opening::Again(1.0))),
    ("node-first-50k", |bench| open(bench, "node-first-50k", "long-50k", Opening::First(9.0))),
    ("node-again-50k", |bench| open(bench, "node-again-50k", "long-50k", Opening::Again(30.0))),
    ("node-first-128", |bench| open(bench, "node-first-128", "giant-128", Opening::First(1.0))),
    ("node-again-128", |bench| open(bench, "node-again-128", "giant-128", Opening::Again(1.0))),
    ("node-calls-5k", |bench| calls(bench, "node-calls-5k", "long-5k")),
    ("node-calls-50k", |bench| calls(bench, "node-calls-50k", "long-50k")),
    ("node-calls-128", |bench| calls(bench, "node-calls-128", "giant-128")),
    ("node-append-300", |bench| append(bench, "node-append-300", 2_000, 300)),
    ("node-append-20k", |bench| append(bench, "node-append-20k", 500, 20_000)),
    ("node-turn-5k", |bench| turn(bench, "node-turn-5k", "long-5k")),
    ("node-turn-50k", |bench| turn(bench, "node-turn-50k", "long-50k")),
    ("node-list-all", list_all),
];

/// Whether the process has opened the session before, and how many times faster than pi we must be.
#[derive(Clone, Copy)]
enum Opening {
    First(f64),
    Again(f64),
}

/// Generates a session and reads it into the page cache.
fn session(bench: &Bench, name: &str) -> Result<Made, Failure> {
    let made = bench.corpus.make_named(name)?;
    warm(bench, &made.path)?;
    Ok(made)
}

fn open<'b>(bench: &'b Bench, id: &'static str, name: &str, opening: Opening) -> Result<Row<'b>, Failure> {
    let made = session(bench, name)?;
    let cache = bench.cache(id);
    let (when, operation, is_first, times) = match opening {
        Opening::First(times) => ("for the first time", "open", true, times),
        Opening::Again(times) => ("again", "again", false, times),
    };
    let ours = bench.tools.ours_in_node(&cache).arg(operation).arg(&made.path);
    let pi = bench.tools.pi_in_node().arg(operation).arg(&made.path);
    let title = format!("Node: open {} entries ({}) {when}, build the context", count(&made), size(&made));
    let stated = ["open alone", "heap", "RSS"];
    let demands = stated.map(|figure| Demand::FigurePartOfPi(figure, if figure == "heap" { 0.1 } else { 1.0 }));
    Ok(Row::new(id, title)
        .ours(move || {
            if is_first {
                forget(&cache);
            }
            ours.inner()
        })
        .pi(move || pi.inner())
        .demands([Demand::FasterThanPi(times)])
        .demands(demands))
}

#[expect(clippy::cast_precision_loss, reason = "a count")]
fn count(made: &Made) -> String {
    super::row::amount((made.lines - 1) as f64)
}

/// The calls that `node.mjs` measures.
const CALLS: [&str; 9] = [
    "getBranch",
    "getEntries",
    "getTree",
    "buildSessionContext",
    "buildContextEntries",
    "getLeafEntry",
    "getEntry",
    "getSessionName",
    "getLabel",
];

fn calls<'b>(bench: &'b Bench, id: &'static str, name: &str) -> Result<Row<'b>, Failure> {
    let made = session(bench, name)?;
    let ours = bench.tools.ours_in_node(&bench.cache(id)).arg("calls").arg(&made.path);
    let pi = bench.tools.pi_in_node().arg("calls").arg(&made.path);
    ours.inner()?;
    Ok(Row::new(id, format!("Node: every call of a turn in steady state, {} entries", count(&made)))
        .ours(move || ours.inner())
        .pi(move || pi.inner())
        .demands(CALLS.map(|call| Demand::FigurePartOfPi(call, 1.0))))
}

/// Runs a job that changes a copy in a folder of its own, and removes the folder.
fn on_a_copy(folder: &Path, job: impl FnOnce(&Path) -> Result<Sample, Failure>) -> Result<Sample, Failure> {
    let sample = job(&folder.join("copy.jsonl"));
    forget(folder);
    sample
}

/// The folders of both contestants.
fn folders(bench: &Bench, id: &str) -> Result<[PathBuf; 2], Failure> {
    Ok([bench.folder(&format!("{id}-ours"))?, bench.folder(&format!("{id}-pi"))?])
}

fn append<'b>(bench: &'b Bench, id: &'static str, times: u32, bytes: u32) -> Result<Row<'b>, Failure> {
    let made = session(bench, "long-5k")?;
    let start = |job: Job<'b>| job.arg("append").arg(&made.path);
    let (ours, pi) = (start(bench.tools.ours_in_node(&bench.cache(id))), start(bench.tools.pi_in_node()));
    let [our_folder, pi_folder] = folders(bench, id)?;
    let amounts = [times.to_string(), bytes.to_string()];
    let pi_amounts = amounts.clone();
    Ok(Row::new(id, format!("Node: appendMessage, {bytes} B"))
        .ours(move || on_a_copy(&our_folder, |copy| ours.clone().arg(copy).args(&amounts).inner()))
        .pi(move || on_a_copy(&pi_folder, |copy| pi.clone().arg(copy).args(&pi_amounts).inner()))
        .demands([Demand::FasterThanPi(1.0)]))
}

/// The number of turns in steady state.
const TURNS: &str = "20";

fn turn<'b>(bench: &'b Bench, id: &'static str, name: &str) -> Result<Row<'b>, Failure> {
    let made = session(bench, name)?;
    let cache = bench.cache(id);
    let start = |job: Job<'b>| job.arg("agent").arg(&made.path);
    let (ours, pi) = (start(bench.tools.ours_in_node(&cache)), start(bench.tools.pi_in_node()));
    let [our_folder, pi_folder] = folders(bench, id)?;
    let run = |job: &Job<'_>, folder: &Path| {
        let support = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/node/test/support");
        let agent = folder.join("agent");
        on_a_copy(folder, |copy| job.clone().arg(copy).arg(&agent).arg(TURNS).arg(support).inner())
    };
    Ok(Row::new(id, format!("Node: a whole turn of an agent with two requests, {} entries", count(&made)))
        .ours(move || run(&ours, &our_folder))
        .pi(move || run(&pi, &pi_folder))
        .demands([Demand::FasterThanPi(1.0), Demand::FigurePartOfPi("open and first turn", 1.0)]))
}

fn list_all<'b>(bench: &'b Bench) -> Result<Row<'b>, Failure> {
    let made = store(bench)?;
    let listed = |job: Job<'b>| job.arg("list").arg("").env(AGENT_DIR, &made.path);
    let (ours, pi) =
        (listed(bench.tools.ours_in_node(&bench.cache("node-list-all"))), listed(bench.tools.pi_in_node()));
    ours.inner()?;
    Ok(Row::new("node-list-all", format!("Node: listAll, {} sessions", made.sessions))
        .ours(move || ours.inner())
        .pi(move || pi.inner())
        .demands([Demand::FasterThanPi(5.0)]))
}
