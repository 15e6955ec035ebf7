//! `rewrites`: programs that rewrite the whole file while our writers append.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sessile::Sessions;

use super::child::{ChildProcess, script};
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::report::Report;
use super::role::{old_session, start_session};
use super::{Bench, Skipped};
use crate::{Oracle, quoted};

const REWRITE: &str = include_str!("rewrite.mjs");

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    let n_rewrites = bench.count(20, 10_000);
    let mut done = 0;
    let mut last = None;
    while done < n_rewrites {
        let n = (n_rewrites - done).min(500);
        last = Some(rewritten(bench, &mut report, n, done));
        done += n;
    }
    if let Some((path, acknowledged)) = last {
        inspect_with_pi(&mut report, bench, &path, &acknowledged);
    }
    for n in 0..bench.count(1, 100) {
        upgraded_by_pi(bench, &mut report, n);
    }
    Ok(report)
}

/// Runs two writers, and a foreign program that rewrites their file `n_rewrites` times.
fn rewritten(bench: &Bench, report: &mut Report, n_rewrites: u32, salt: u32) -> (std::path::PathBuf, Vec<String>) {
    let path = start_session(&bench.path(&format!("rewrites-{salt}")));
    let writers: Vec<ChildProcess> =
        (0..2).map(|_| ChildProcess::start(bench.role("slow", &[&path, &"1000"]))).collect();
    for child in &writers {
        child.wait_for(1);
    }
    let seed = (1 + bench.random(20 + u64::from(salt)).below(1_000_000)).to_string();
    let stranger = ChildProcess::start(script(REWRITE, &[&path, &n_rewrites.to_string(), &seed]));
    report.add("rewrites", stranger.finish().acknowledged.len() as u64);
    let acknowledged = stop(report, &path, writers);
    inspect(report, &path, &acknowledged, Fused::Allowed);
    (path, acknowledged)
}

/// Lets writers continue for a moment, ends them, and opens the file once like any program.
fn stop(report: &mut Report, path: &Path, writers: Vec<ChildProcess>) -> Vec<String> {
    std::thread::sleep(Duration::from_millis(500));
    fs::write(path.with_extension("stop"), "").unwrap();
    let mut acknowledged = Vec::new();
    for output in writers.into_iter().map(ChildProcess::finish) {
        report.add("refused appends", output.errors.len() as u64);
        acknowledged.extend(output.acknowledged);
    }
    // Entries destroyed after the last append are recovered by the next process that opens the file.
    if let Err(error) = Sessions::default().open(path) {
        report.add_problem(format!("cannot open {}: {error}", path.display()));
    }
    acknowledged
}

/// The genuine pi opens an old session, and so upgrades it in place, while our writer appends to it.
fn upgraded_by_pi(bench: &Bench, report: &mut Report, n: u32) {
    let path = bench.path(&format!("old-{n}.jsonl"));
    let (text, ids) = old_session();
    fs::write(&path, &text).unwrap();
    let mut pi = Oracle::start(&bench.directory);
    // A first request makes sure that pi is loaded.
    pi.ask(r#"{"cmd":"state"}"#);
    let writers = vec![ChildProcess::start(bench.role("slow", &[&path, &"500"]))];
    std::thread::sleep(Duration::from_micros(bench.random(40 + u64::from(n)).below(8000) as u64));
    let request = format!(r#"{{"cmd":"static","method":"open","args":[{}]}}"#, quoted(&path.to_string_lossy()));
    if let Some(error) = pi.ask(request).error() {
        report.add_problem(format!("pi cannot open {}: {error}", path.display()));
    }
    writers[0].wait_for(20);
    let mut acknowledged = stop(report, &path, writers);
    acknowledged.extend(ids);
    inspect(report, &path, &acknowledged, Fused::Allowed);
    inspect_with_pi(report, bench, &path, &acknowledged);
    report.add("upgrades by pi", 1);
}
