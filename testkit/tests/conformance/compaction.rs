//! What is summarised, and where a path is cut: the same as pi, to the token.

use std::io::Write;

use sessile_testkit::compaction::{Report, run_agents, run_seeds};

/// How many cases.
const N_CASES: u64 = 2500;

/// How many run at a time.
const N_THREADS: usize = 2;

/// Where the seeds begin.
const FIRST_SEED: u64 = 6_000_000;

#[test]
fn random_branches_are_prepared_the_same() {
    let report = std::thread::scope(|scope| {
        let worker = |number: u64| {
            let directory = tempfile::tempdir().unwrap();
            let seeds = (FIRST_SEED + number..FIRST_SEED + N_CASES).step_by(N_THREADS);
            run_seeds(seeds, directory.path(), &mut |_| {})
        };
        let workers: Vec<_> = (0..N_THREADS as u64).map(|number| scope.spawn(move || worker(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).fold(Report::default(), |mut all, one| {
            all.add(one);
            all
        })
    });
    if let Some(failure) = &report.failure {
        panic!("{failure}");
    }
    writeln!(std::io::stderr(), "compaction: {report:?}").unwrap();
    assert_eq!(report.cases as u64, N_CASES);
    assert!(report.compactions > report.cases / 2, "too few cases have something to compact: {report:?}");
    assert!(report.splits > report.compactions / 10, "too few turns are split: {report:?}");
    assert!(report.throws < report.answers / 100, "pi refuses too much for this to mean anything: {report:?}");
}

/// How many sessions are compacted and moved about in by both.
const N_SESSIONS: u64 = 300;

#[test]
fn both_compact_and_navigate_alike() {
    let directory = tempfile::tempdir().unwrap();
    let report = run_agents(FIRST_SEED..FIRST_SEED + N_SESSIONS, directory.path());
    if let Some(failure) = &report.failure {
        panic!("{failure}");
    }
    writeln!(std::io::stderr(), "compaction by a whole pi: {report:?}").unwrap();
    assert!(report.compactions > 50 && report.summaries > 50 && report.failures > 50, "{report:?}");
}
