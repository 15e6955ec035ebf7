//! `writers`: many concurrent writers on one file, ours and foreign ones.

use std::path::Path;
use std::time::{Duration, Instant};

use super::child::ChildProcess;
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::report::Report;
use super::role::start_session;
use super::{Bench, Skipped, foreign};

const N_OURS: u32 = 12;
const N_FOREIGN: u32 = 4;
/// Records per writer and file. The whole file stays small enough for pi to open.
const PER_WRITER: u32 = 1000;
/// The duration of the long form.
const LONG: Duration = Duration::from_hours(1);

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    let began = Instant::now();
    let mut last = None;
    let n_foreign = if foreign::can_take_part(&mut report) { N_FOREIGN } else { 0 };
    for n in 0.. {
        let per_writer = bench.count(PER_WRITER, PER_WRITER);
        let path = start_session(&bench.path(&format!("writers-{n}")));
        let acknowledged = write_together(bench, &mut report, &path, [per_writer, n_foreign], n);
        let n_malformed = inspect(&mut report, &path, &acknowledged, Fused::Forbidden);
        report.check(n_malformed == 0, format!("{n_malformed} lines written into each other"));
        if let Some((path, _)) = last.replace((path, acknowledged)) {
            std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
        let is_done = if bench.plan.is_long { began.elapsed() >= LONG.mul_f64(bench.plan.scale) } else { n == 1 };
        if is_done {
            break;
        }
    }
    if let Some((path, acknowledged)) = last {
        inspect_with_pi(&mut report, bench, &path, &acknowledged);
    }
    foreign::control_in_wine(bench, &mut report);
    Ok(report)
}

fn write_together(
    bench: &Bench,
    report: &mut Report,
    path: &Path,
    [count, n_foreign]: [u32; 2],
    n: u32,
) -> Vec<String> {
    let mut random = bench.random(10 + u64::from(n));
    let count_text = count.to_string();
    let mut writers = Vec::new();
    for _ in 0..N_OURS {
        let seed = random.next_u64().to_string();
        writers.push(ChildProcess::start(
            bench.role("append", &[&path, &"buffered", &count_text, &"500", &"60000", &seed]),
        ));
    }
    for number in 1..=n_foreign {
        let seed = (number + 10 * n).to_string();
        writers.push(ChildProcess::start(foreign::writer(bench, path, &count_text, &seed)));
    }
    let mut acknowledged = Vec::new();
    for output in writers.into_iter().map(ChildProcess::finish) {
        for error in output.errors {
            report.add_problem(format!("a writer failed: {error}"));
        }
        acknowledged.extend(output.acknowledged);
    }
    report.add("records", acknowledged.len() as u64);
    let expected = u64::from(count) * u64::from(N_OURS + n_foreign);
    report.check(acknowledged.len() as u64 == expected, "a writer did not finish");
    acknowledged
}
