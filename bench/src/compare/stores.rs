//! Rows about many sessions.

use std::path::Path;

use super::row::{Demand, Row};
use super::{Bench, Failure, MakeRow};
use crate::generate::Made;

pub(super) const ROWS: &[MakeRow] = &[("list", list), ("list-all", list_all), ("list-first", list_first)];

pub(super) const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// Returns the large store, in the page cache.
pub(super) fn store(bench: &Bench) -> Result<Made, Failure> {
    let made = bench.corpus.make_named("store-l")?;
    bench.tools.limit().arg("slurp").arg(made.path.join("sessions")).inner()?;
    Ok(made)
}

#[expect(clippy::cast_precision_loss, reason = "a size")]
fn size(made: &Made) -> String {
    format!("{} sessions ({:.2} GB)", super::row::amount(made.sessions as f64), made.bytes as f64 / 1e9)
}

fn list(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = store(bench)?;
    let cache = bench.cache("list");
    let ours = bench.tools.sessile(&cache).args(["list", "--json"]).dir(&made.cwd).env(AGENT_DIR, &made.path);
    let pi = bench.tools.pi().args(["print-list", &made.cwd]).env(AGENT_DIR, &made.path);
    let (_, listed) = ours.whole()?;
    let n_rows = listed.matches(r#","firstMessage":"#).count();
    let walk = bench.tools.limit().arg("walk").arg(&made.cwd_folder);
    Ok(Row::new("list", format!("whole process: list {n_rows} sessions of one cwd, nothing changed"))
        .ours(move || ours.whole_answer())
        .pi(move || pi.whole_answer())
        .other("walk + stat", move || walk.inner())
        .demands([Demand::FasterThanPi(100.0)]))
}

fn list_all(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = store(bench)?;
    let cache = bench.cache("list-all");
    let ours = bench.tools.sessile(&cache).args(["list", "--all", "--json"]).env(AGENT_DIR, &made.path);
    let pi = bench.tools.pi().arg("print-list-all").env(AGENT_DIR, &made.path);
    ours.whole()?;
    let walk = bench.tools.limit().arg("walk").arg(made.path.join("sessions"));
    Ok(Row::new("list-all", format!("whole process: list all {}, nothing changed", size(&made)))
        .ours(move || ours.whole_answer())
        .pi(move || pi.whole_answer())
        .other("walk + stat", move || walk.inner())
        .demands([Demand::FasterThanPi(400.0)]))
}

fn list_first(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = store(bench)?;
    let cache = bench.cache("list-first");
    let ours = bench.tools.ours(&cache).arg("list-all").env(AGENT_DIR, &made.path);
    let pi = bench.tools.pi().arg("list-all").env(AGENT_DIR, &made.path);
    let slurp = bench.tools.limit().arg("slurp").arg(made.path.join("sessions"));
    Ok(Row::new("list-first", format!("list all {} for the first time, no catalogue", size(&made)))
        .ours(move || {
            forget(&cache);
            ours.inner()
        })
        .pi(move || pi.inner())
        .other("read everything", move || slurp.inner())
        .demands([Demand::FasterThanPi(18.0), Demand::FirstRows(200.0)]))
}

fn forget(cache: &Path) {
    // A missing folder need not be removed.
    std::fs::remove_dir_all(cache).ok();
}
