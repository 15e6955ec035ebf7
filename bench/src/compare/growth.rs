//! How each cost grows with the data: one, four and sixteen times as much.

use std::path::{Path, PathBuf};

use super::process::Sample;
use super::row::{Competitor, Row, measure};
use super::{Bench, Failure, failed};
use crate::generate::{CorpusSpec, Made, WORD};

/// One cost at three sizes.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    /// What ours is compared with.
    pub(super) other: &'static str,
    pub(super) points: Vec<Point>,
}

/// One size.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) factor: u64,
    pub(super) size: String,
    pub(super) ours_ms: f64,
    pub(super) other_ms: f64,
}

const FACTORS: [u64; 3] = [1, 4, 16];
const N_ROUNDS: usize = 5;
const N_APPENDS: u32 = 1_000;
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// One cost at one size.
type Cost = for<'b> fn(&'b Bench, u64) -> Result<Option<(Row<'b>, String)>, Failure>;

const COSTS: [(&str, &str, Cost); 6] = [
    ("open, no index", "pi 1.5.0", open),
    ("reopen and build the context", "pi 1.5.0", reopen),
    ("context of an open tree", "pi 1.5.0", context),
    ("1,000 appends", "pi 1.5.0", append),
    ("list all, nothing changed", "pi 1.5.0", list),
    ("search for a rare word", "ripgrep -l", search),
];

pub(super) fn measure_all(bench: &Bench, show: &mut dyn FnMut(&str)) -> Result<Vec<Curve>, Failure> {
    let mut curves = Vec::new();
    for (name, other, cost) in COSTS {
        let mut points = Vec::new();
        for factor in FACTORS {
            let Some((row, size)) = cost(bench, factor)? else { break };
            let result = measure(row, N_ROUNDS)?;
            let ms = |competitor: &Competitor| result.result(competitor).map_or(f64::NAN, super::row::Turns::median_ms);
            let competitor = if other == Competitor::Pi.name() { Competitor::Pi } else { Competitor::Other(other) };
            points.push(Point { factor, size, ours_ms: ms(&Competitor::Ours), other_ms: ms(&competitor) });
        }
        if points.is_empty() {
            show(&format!("growth: {name}: SKIPPED, not built yet"));
        } else {
            curves.push(Curve { name, other, points });
        }
    }
    Ok(curves)
}

fn session(bench: &Bench, factor: u64) -> Result<Made, Failure> {
    Ok(bench.corpus.make(&CorpusSpec::session(&format!("grow-{factor}"), factor * 8_000_000))?)
}

fn store(bench: &Bench, factor: u64) -> Result<Made, Failure> {
    let n_sessions = usize::try_from(factor * 50).unwrap_or(usize::MAX);
    Ok(bench.corpus.make(&CorpusSpec::store(&format!("grow-store-{factor}"), n_sessions, factor * 10_000_000))?)
}

fn megabytes(made: &Made) -> String {
    format!("{} MB", made.bytes / 1_000_000)
}

fn open(bench: &Bench, factor: u64) -> Result<Option<(Row<'_>, String)>, Failure> {
    let made = session(bench, factor)?;
    let (ours, pi) = (made.path.clone(), made.path.clone());
    let cache = bench.cache("grow-open");
    let row = Row::new("growth", "open")
        .ours(move || {
            // A missing folder need not be removed.
            std::fs::remove_dir_all(&cache).ok();
            bench.tools.ours(&cache).arg("open").arg(&ours).inner()
        })
        .pi(move || bench.tools.pi().arg("open").arg(&pi).inner());
    Ok(Some((row, megabytes(&made))))
}

fn reopen(bench: &Bench, factor: u64) -> Result<Option<(Row<'_>, String)>, Failure> {
    let made = session(bench, factor)?;
    let (ours, pi) = (made.path.clone(), made.path.clone());
    let cache = bench.cache("grow-reopen");
    bench.tools.ours(&cache).arg("open").arg(&ours).inner()?;
    let row = Row::new("growth", "reopen")
        .ours(move || bench.tools.ours(&cache).arg("context").arg(&ours).inner())
        .pi(move || bench.tools.pi().arg("context").arg(&pi).inner());
    Ok(Some((row, megabytes(&made))))
}

fn context(bench: &Bench, factor: u64) -> Result<Option<(Row<'_>, String)>, Failure> {
    let made = bench.corpus.make(&CorpusSpec::tree(&format!("grow-tree-{factor}"), factor * 3_000))?;
    let (ours, pi) = (made.path.clone(), made.path.clone());
    let cache = bench.cache("grow-context");
    let row = Row::new("growth", "context")
        .ours(move || bench.tools.ours(&cache).arg("context-warm").arg(&ours).arg("9").inner())
        .pi(move || bench.tools.pi().arg("context-warm").arg(&pi).arg("9").inner());
    Ok(Some((row, format!("{} entries", made.lines - 1))))
}

fn append(bench: &Bench, factor: u64) -> Result<Option<(Row<'_>, String)>, Failure> {
    let made = session(bench, factor)?;
    let folder = bench.folder("grow-append")?;
    let (ours, pi) = (made.path.clone(), made.path.clone());
    let (ours_in, pi_in) = (folder.join("ours.jsonl"), folder.join("pi.jsonl"));
    let cache = bench.cache("grow-append");
    let args = ["2048"];
    let row = Row::new("growth", "append")
        .ours(move || {
            on_copy(&ours, &ours_in, &|file| {
                bench.tools.ours(&cache).arg("append").arg(file).arg(N_APPENDS.to_string()).args(args).inner()
            })
        })
        .pi(move || {
            on_copy(&pi, &pi_in, &|file| {
                bench.tools.pi().arg("append").arg(file).arg(N_APPENDS.to_string()).args(args).inner()
            })
        });
    Ok(Some((row, megabytes(&made))))
}

/// Works on a temporary copy of a file.
fn on_copy(from: &Path, copy: &PathBuf, work: &dyn Fn(&PathBuf) -> Result<Sample, Failure>) -> Result<Sample, Failure> {
    std::fs::copy(from, copy).map_err(failed("copy a session"))?;
    let sample = work(copy);
    std::fs::remove_file(copy).map_err(failed("remove a copy"))?;
    sample
}

fn list(bench: &Bench, factor: u64) -> Result<Option<(Row<'_>, String)>, Failure> {
    let made = store(bench, factor)?;
    let cache = bench.cache("grow-list");
    let ours = bench.tools.sessile(&cache).args(["list", "--all", "--json"]).env(AGENT_DIR, &made.path);
    let pi = bench.tools.pi().arg("print-list-all").env(AGENT_DIR, &made.path);
    ours.whole()?;
    let row = Row::new("growth", "list").ours(move || ours.whole_answer()).pi(move || pi.whole_answer());
    Ok(Some((row, format!("{} sessions", made.sessions))))
}

fn search(bench: &Bench, factor: u64) -> Result<Option<(Row<'_>, String)>, Failure> {
    let cache = bench.cache("grow-search");
    let has_search = bench.tools.sessile(&cache).args(["search", "--help"]).works();
    if !has_search || !bench.tools.program("rg").arg("--version").works() {
        return Ok(None);
    }
    let made = store(bench, factor)?;
    let sessile = || bench.tools.sessile(&cache).args(["search", "--all"]).env(AGENT_DIR, &made.path);
    sessile().arg("--update").whole()?;
    let ours = sessile().args(["--sessions", WORD]);
    let rg =
        bench.tools.program("rg").args(["--files-with-matches", "--no-ignore", WORD]).arg(made.path.join("sessions"));
    ours.whole()?;
    let row =
        Row::new("growth", "search").ours(move || Ok(ours.whole()?.0)).other("ripgrep -l", move || Ok(rg.whole()?.0));
    Ok(Some((row, format!("{} sessions", made.sessions))))
}
