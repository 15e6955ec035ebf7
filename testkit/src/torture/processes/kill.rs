//! `kill`: writers that die while writing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sessile_store::planted::Bug;

use super::child::ChildProcess;
use super::inspect::{Fused, Lines, inspect, inspect_with_pi};
use super::report::Report;
use super::role::start_session;
use super::{Bench, Skipped, foreign};
use crate::SplitMix;

/// Kills per file. With more, reading the file and the guard takes longer than the kills.
const KILLS_PER_FILE: u32 = 20;
/// Killed neighbours per file; pi can still open such a file.
const NEIGHBOURS_PER_FILE: u32 = 50;

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    if bench.plan.plant != Some(Bug::NoPostCheck) {
        rounds(bench, &mut report, bench.count(1000, 50_000), 1, 1);
        let n_writers = if bench.plan.is_long { 16 } else { 4 };
        rounds(bench, &mut report, bench.count(200, 10_000), n_writers, 2);
    }
    if foreign::can_take_part(&mut report) {
        neighbours(bench, &mut report, bench.count(100, 5000));
    }
    if bench.plan.is_long {
        naive_control(bench, &mut report, bench.count(1, 1000));
    }
    Ok(report)
}

/// Kills concurrent writers, again and again on the same file.
fn rounds(bench: &Bench, report: &mut Report, n_rounds: u32, n_writers: u32, salt: u64) {
    let mut random = bench.random(salt);
    let mut last = None;
    let per_file = KILLS_PER_FILE.div_ceil(n_writers);
    for first in (0..n_rounds).step_by(per_file as usize) {
        let path = start_session(&bench.path(&format!("kill-{n_writers}-{first}")));
        let mut acknowledged = Vec::new();
        let mut n_kills = 0;
        for _ in first..n_rounds.min(first + per_file) {
            acknowledged.extend(round(bench, report, &path, n_writers, &mut random));
            n_kills += u64::from(n_writers);
        }
        let n_torn = inspect(report, &path, &acknowledged, Fused::Forbidden);
        if n_torn > n_kills {
            report.add_problem(format!("{n_torn} torn lines after {n_kills} kills in {}", path.display()));
        }
        report.add("kills", n_kills);
        last = Some((path, acknowledged));
    }
    if let Some((path, acknowledged)) = last {
        inspect_with_pi(report, bench, &path, &acknowledged);
    }
}

/// Starts writers, lets them write for a moment, and kills all of them.
fn round(bench: &Bench, report: &mut Report, path: &Path, n_writers: u32, random: &mut SplitMix) -> Vec<String> {
    let mut writers: Vec<ChildProcess> = (0..n_writers)
        .map(|_| {
            let seed = random.next_u64().to_string();
            ChildProcess::start(bench.role("append", &[&path, &"buffered", &"0", &"100", &"5000", &seed]))
        })
        .collect();
    if !writers.iter().all(|child| child.wait_for(1)) {
        report.add_problem(format!("a writer printed nothing for {}", path.display()));
    }
    std::thread::sleep(Duration::from_micros(1000 + random.below(8000) as u64));
    for child in &mut writers {
        child.kill();
    }
    collect(report, writers)
}

fn collect(report: &mut Report, writers: Vec<ChildProcess>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for output in writers.into_iter().map(ChildProcess::end) {
        for error in output.errors {
            report.add_problem(format!("a writer failed: {error}"));
        }
        acknowledged.extend(output.acknowledged);
    }
    acknowledged
}

/// Kills a neighbour in the middle of a long record that it writes without lock or seal, while our writer writes.
///
/// Our write may wait in the kernel for the neighbour's. In that case it was decided before the neighbour's line was
/// torn, and only the check afterwards saves it.
fn neighbours(bench: &Bench, report: &mut Report, n_kills: u32) {
    let mut random = bench.random(3);
    for first in (0..n_kills).step_by(NEIGHBOURS_PER_FILE as usize) {
        let path = start_session(&bench.path(&format!("neighbours-{first}")));
        let seed = random.next_u64().to_string();
        let ours = ChildProcess::start(bench.role("append", &[&path, &"buffered", &"0", &"100", &"200", &seed]));
        ours.wait_for(1);
        let last = n_kills.min(first + NEIGHBOURS_PER_FILE);
        for _ in first..last {
            let neighbour = ChildProcess::start(bench.role("lunge", &[&path]));
            neighbour.wait_for(1);
            std::thread::sleep(Duration::from_micros(1000 + random.below(1500) as u64));
            neighbour.end();
        }
        let acknowledged = collect(report, vec![ours]);
        let n_torn = inspect(report, &path, &acknowledged, Fused::Allowed);
        report.add("killed neighbours", u64::from(last - first));
        report.add("torn by them", n_torn);
        if last == n_kills {
            inspect_with_pi(report, bench, &path, &acknowledged);
        }
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}

/// The control: writers without a seal do lose acknowledged entries, so this row would notice.
fn naive_control(bench: &Bench, report: &mut Report, n_kills: u32) {
    let mut random = bench.random(4);
    let path = start_session(&bench.path("naive"));
    let mut acknowledged = Vec::new();
    for _ in 0..n_kills {
        let writer = ChildProcess::start(bench.role("naive", &[&path, &"0", &"100", &"5000"]));
        writer.wait_for(1);
        std::thread::sleep(Duration::from_micros(1000 + random.below(8000) as u64));
        acknowledged.extend(writer.end().acknowledged);
    }
    let lines = Lines::read(&path);
    let n_lost = acknowledged.iter().filter(|id| !lines.whole.contains_key(*id)).count();
    report.add("kills of naive writers", u64::from(n_kills));
    report.add("lost by naive writers, as expected", n_lost as u64);
}
