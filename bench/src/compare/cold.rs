//! Rows about a machine that has just been started: how much of a store is read from the disk when nothing is in the
//! page cache.

use std::fs;
use std::process::Command;

use super::process::{Job, Sample};
use super::row::{Demand, Row};
use super::stores::{AGENT_DIR, store};
use super::{Bench, Failure, MakeRow, failed, screens};

pub(super) const ROWS: &[MakeRow] = &[("cold-list", list), ("cold-reopen", reopen), ("cold-picker", picker)];

/// Writing `3` here empties the page cache, with directories and inodes. Only root may.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// What was read from the disk, as a share of the store.
const PERCENT: &str = "percent_of_store";

/// Returns why these rows cannot be measured here, if so.
fn missing(bench: &Bench) -> Option<&'static str> {
    if bench.options.is_small {
        return Some("only in the full run, because it empties the page cache of the whole machine");
    }
    let is_allowed = fs::OpenOptions::new().write(true).open(DROP_CACHES).is_ok();
    (!is_allowed).then_some("only root may empty the page cache")
}

/// Empties the page cache, and starts a program again: with less memory than data, that is what stays in it.
#[expect(clippy::disallowed_methods, reason = "not part of the product")]
fn cool(program: &Job<'_>) -> Result<(), Failure> {
    // Pages that are not on the disk yet would stay.
    Command::new("sync").status().map_err(failed("write everything to the disk"))?;
    fs::write(DROP_CACHES, "3\n").map_err(failed("empty the page cache"))?;
    // Loads the whole program, and the libraries of the system.
    fs::read(program.program()).map_err(failed("read a program"))?;
    program.works();
    Ok(())
}

/// Runs a job with an empty page cache in each turn, except for a program. It has run once before, so that caches exist.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn cold<'b>(
    mut row: Row<'b>,
    program: Job<'b>,
    run: impl Fn() -> Result<Sample, Failure> + 'b,
    n_store_bytes: u64,
    most: f64,
) -> Result<Row<'b>, Failure> {
    run()?;
    row = row.ours(move || {
        cool(&program)?;
        let mut sample = run()?;
        let n_read = sample.figures["read_bytes"].as_u64().ok_or_else(|| Failure("no count of bytes".to_owned()))?;
        sample.figures[PERCENT] = (n_read as f64 / n_store_bytes as f64 * 100.0).into();
        Ok(sample)
    });
    Ok(row.demands([Demand::AtMost(PERCENT, most), Demand::Stated("read_bytes")]))
}

fn list(bench: &Bench) -> Result<Row<'_>, Failure> {
    let title = "after boot: list all 5,000 sessions of a known store";
    if let Some(why) = missing(bench) {
        return Ok(Row::missing("cold-list", title, why));
    }
    let made = store(bench)?;
    let job = bench.tools.sessile(&bench.cache("cold-list"));
    let program = job.clone().arg("--version");
    let job = job.args(["list", "--all", "--json"]).env(AGENT_DIR, &made.path);
    cold(Row::new("cold-list", title), program, move || Ok(job.whole()?.0), made.bytes, 1.0)
}

fn reopen(bench: &Bench) -> Result<Row<'_>, Failure> {
    let title = "after boot: reopen 1.8 GB with its index, build the context";
    if let Some(why) = missing(bench) {
        return Ok(Row::missing("cold-reopen", title, why));
    }
    let made = bench.corpus.make_named("giant-1800")?;
    let program = bench.tools.ours(&bench.cache("cold-reopen"));
    let job = program.clone().arg("context").arg(&made.path);
    cold(Row::new("cold-reopen", title), program, move || Ok(job.whole()?.0), made.bytes, 0.2)
}

fn picker(bench: &Bench) -> Result<Row<'_>, Failure> {
    let title = "after boot: the first rows of the picker, 50 sessions of one project";
    if let Some(why) = missing(bench) {
        return Ok(Row::missing("cold-picker", title, why));
    }
    let cache = bench.cache("cold-picker");
    let n_store_bytes = store(bench)?.bytes;
    let job = screens::picker(bench, &cache)?;
    let program = bench.tools.sessile(&cache).arg("--version");
    cold(Row::new("cold-picker", title), program, move || job.inner(), n_store_bytes, 1.0)
}
