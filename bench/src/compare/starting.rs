//! Rows about the start-up time of the command, compared with a program known to be fast.

use super::process::Job;
use super::row::{Demand, Row};
use super::stores::{AGENT_DIR, store};
use super::{Bench, Failure, MakeRow};

pub(super) const ROWS: &[MakeRow] = &[("version", version), ("list-start", list_start)];

const RIPGREP: &str = "rg --version";

/// Returns a run of ripgrep that does nothing; `None` if it is not installed.
fn ripgrep(bench: &Bench) -> Option<Job<'_>> {
    Some(bench.tools.program("rg").arg("--version")).filter(Job::works)
}

/// Compares a run of our command with one of ripgrep.
fn beside<'b>(bench: &'b Bench, id: &'static str, title: String, ours: Job<'b>, most: f64) -> Row<'b> {
    let Some(other) = ripgrep(bench) else { return Row::missing(id, title, "ripgrep is not installed") };
    Row::new(id, title)
        .ours(move || Ok(ours.whole()?.0))
        .other(RIPGREP, move || Ok(other.whole()?.0))
        .demands([Demand::AtMostTimes(RIPGREP, most)])
}

fn version(bench: &Bench) -> Result<Row<'_>, Failure> {
    let ours = bench.tools.sessile(&bench.cache("version")).arg("--version");
    ours.whole()?;
    Ok(beside(bench, "version", "whole process: print the version".to_owned(), ours, 2.0))
}

fn list_start(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = store(bench)?;
    let cache = bench.cache("list-start");
    let ours = bench.tools.sessile(&cache).arg("list").dir(&made.cwd).env(AGENT_DIR, &made.path);
    // One run, so that the store is cached.
    let (_, listed) = ours.whole()?;
    let n_rows = listed.lines().count().saturating_sub(1);
    let title =
        format!("whole process: list {n_rows} sessions of one cwd for people, in a known store of {}", made.sessions);
    Ok(beside(bench, "list-start", title, ours, 5.0))
}
