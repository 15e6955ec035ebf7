//! `stopped`: a process holds the lock and does not move.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::child::ChildProcess;
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::report::Report;
use super::role::start_session;
use super::{Bench, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    for n in 0..bench.count(1, 100) {
        stopped(bench, &mut report, n);
        killed(bench, &mut report, n);
    }
    Ok(report)
}

fn signal(child: &ChildProcess, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A stopped lock holder is named in the error, or bypassed; once it continues, its entry is there too.
fn stopped(bench: &Bench, report: &mut Report, n: u32) {
    let path = start_session(&bench.path(&format!("stopped-{n}")));
    let holder = ChildProcess::start(bench.role("hold", &[&path]));
    report.check(holder.wait_for(1), "the holder did not get its turn");
    signal(&holder, Signal::STOP);
    let began = Instant::now();
    let refused = ChildProcess::start(bench.role("try", &[&path, &"fail", &"300"])).finish();
    let waited = began.elapsed();
    report.check(
        refused.errors == [format!("!busy {}", holder.id())],
        format!("a stopped holder was not named: {refused:?}"),
    );
    report.check((300..3000).contains(&waited.as_millis()), format!("waited {waited:?} instead of 300 ms"));
    let passed = ChildProcess::start(bench.role("try", &[&path, &"continue", &"300"])).finish();
    report.check(passed.errors.is_empty(), format!("could not pass a stopped holder: {passed:?}"));
    signal(&holder, Signal::CONT);
    fs::write(path.with_extension("stop"), "").unwrap();
    let held = holder.finish();
    let is_id = |line: &&String| line.as_str() != "holding" && !line.starts_with("read ");
    let acknowledged: Vec<String> =
        held.acknowledged.iter().chain(&passed.acknowledged).filter(is_id).cloned().collect();
    report.check(acknowledged.len() == 2, format!("{held:?} and {passed:?} acknowledged {acknowledged:?}"));
    inspect(report, &path, &acknowledged, Fused::Forbidden);
    inspect_with_pi(report, bench, &path, &acknowledged);
    report.add("stopped holders", 1);
}

/// The lock of a killed holder is free at once.
fn killed(bench: &Bench, report: &mut Report, n: u32) {
    let path = start_session(&bench.path(&format!("killed-{n}")));
    let holder = ChildProcess::start(bench.role("hold", &[&path]));
    report.check(holder.wait_for(1), "the holder did not get its turn");
    holder.end();
    let began = Instant::now();
    let next = ChildProcess::start(bench.role("try", &[&path, &"fail", &"0"])).finish();
    let took = began.elapsed();
    report.check(next.errors.is_empty(), format!("the lock of a dead holder was not free: {next:?}"));
    report.check(took < Duration::from_secs(1), format!("it took {took:?} to get a dead holder's lock"));
    report.add("killed holders", 1);
}
