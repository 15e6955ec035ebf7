//! `kill`: writers that die while writing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sessile_store::planted::Bug;

use super::crew::Member;
use super::inspect::{Fused, Lines, inspect, inspect_with_pi};
use super::part::start_session;
use super::report::Report;
use super::{Bench, Skipped};
use crate::SplitMix;

/// Kills per file. With more, reading the file and the guard takes longer than the kills.
const KILLS_PER_FILE: u32 = 20;
/// Killed neighbours per file; pi can still open such a file.
const NEIGHBOURS_PER_FILE: u32 = 50;

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    if bench.plan.plant != Some(Bug::NoPostCheck) {
        rounds(bench, &mut report, bench.count(1000, 50_000), 1, 1);
        let together = if bench.plan.is_long { 16 } else { 4 };
        rounds(bench, &mut report, bench.count(200, 10_000), together, 2);
    }
    neighbours(bench, &mut report, bench.count(100, 5000));
    if bench.plan.is_long {
        naively(bench, &mut report, bench.count(1, 1000));
    }
    Ok(report)
}

/// Kills concurrent writers, again and again on the same file.
fn rounds(bench: &Bench, report: &mut Report, n_rounds: u32, together: u32, salt: u64) {
    let mut random = bench.random(salt);
    let mut last = None;
    let per_file = KILLS_PER_FILE.div_ceil(together);
    for first in (0..n_rounds).step_by(per_file as usize) {
        let path = start_session(&bench.path(&format!("kill-{together}-{first}")));
        let mut acknowledged = Vec::new();
        let mut n_kills = 0;
        for _ in first..n_rounds.min(first + per_file) {
            acknowledged.extend(round(bench, report, &path, together, &mut random));
            n_kills += u64::from(together);
        }
        let n_torn = inspect(report, &path, &acknowledged, Fused::Forbidden);
        if n_torn > n_kills {
            report.blame(format!("{n_torn} torn lines after {n_kills} kills in {}", path.display()));
        }
        report.add("kills", n_kills);
        last = Some((path, acknowledged));
    }
    if let Some((path, acknowledged)) = last {
        inspect_with_pi(report, bench, &path, &acknowledged);
    }
}

/// Starts writers, lets them write for a moment, and kills all of them.
fn round(bench: &Bench, report: &mut Report, path: &Path, together: u32, random: &mut SplitMix) -> Vec<String> {
    let mut crew: Vec<Member> = (0..together)
        .map(|_| {
            let seed = random.next_u64().to_string();
            Member::start(bench.part("append", &[&path, &"buffered", &"0", &"100", &"5000", &seed]))
        })
        .collect();
    if !crew.iter().all(|member| member.wait_for(1)) {
        report.blame(format!("a writer said nothing on {}", path.display()));
    }
    std::thread::sleep(Duration::from_micros(1000 + random.below(8000) as u64));
    for member in &mut crew {
        member.kill();
    }
    collect(report, crew)
}

fn collect(report: &mut Report, crew: Vec<Member>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for testimony in crew.into_iter().map(Member::end) {
        for error in testimony.errors {
            report.blame(format!("a writer failed: {error}"));
        }
        acknowledged.extend(testimony.acknowledged);
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
        let ours = Member::start(bench.part("append", &[&path, &"buffered", &"0", &"100", &"200", &seed]));
        ours.wait_for(1);
        let last = n_kills.min(first + NEIGHBOURS_PER_FILE);
        for _ in first..last {
            let neighbour = Member::start(bench.part("lunge", &[&path]));
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
fn naively(bench: &Bench, report: &mut Report, n_kills: u32) {
    let mut random = bench.random(4);
    let path = start_session(&bench.path("naive"));
    let mut acknowledged = Vec::new();
    for _ in 0..n_kills {
        let writer = Member::start(bench.part("naive", &[&path, &"100", &"5000"]));
        writer.wait_for(1);
        std::thread::sleep(Duration::from_micros(1000 + random.below(8000) as u64));
        acknowledged.extend(writer.end().acknowledged);
    }
    let lines = Lines::read(&path);
    let n_lost = acknowledged.iter().filter(|id| !lines.whole.contains_key(*id)).count();
    report.add("kills of naive writers", u64::from(n_kills));
    report.add("lost by naive writers, as expected", n_lost as u64);
}
