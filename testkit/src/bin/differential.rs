//! Runs as many random sequences against pi as one likes.
//!
//! `cargo xtask differential --sequences 100000 --seed 1 --threads 2`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for people")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::ExitCode;
use std::time::Instant;

use sessile_testkit::differential::{Report, run_seeds};

fn main() -> ExitCode {
    let mut sequences = 2000u64;
    let mut first_seed = 1u64;
    let mut threads = 2u64;
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().and_then(|value| value.parse().ok());
        match (name.as_str(), value) {
            ("--sequences", Some(value)) => sequences = value,
            ("--seed", Some(value)) => first_seed = value,
            ("--threads", Some(value)) => threads = value,
            _ => {
                eprintln!("usage: differential [--sequences N] [--seed FIRST] [--threads N]");
                return ExitCode::from(2);
            }
        }
    }
    let started = Instant::now();
    let reports: Vec<Report> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    let directory = tempfile::tempdir().unwrap();
                    let seeds =
                        (first_seed + worker..first_seed + sequences).step_by(usize::try_from(threads).unwrap());
                    run_seeds(seeds, directory.path(), &mut |report| {
                        if report.sequences % 1000 == 0 {
                            eprintln!(
                                "worker {worker}: {} sequences after {:.0?}",
                                report.sequences,
                                started.elapsed()
                            );
                        }
                    })
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let total = |count: fn(&Report) -> usize| reports.iter().map(count).sum::<usize>();
    println!(
        "{} sequences ({} steps) of seeds from {first_seed} in {:.0?}",
        total(|report| report.sequences),
        total(|report| report.steps),
        started.elapsed()
    );
    let mut tally = std::collections::BTreeMap::new();
    for (explained, count) in reports.iter().flat_map(|report| &report.tally) {
        *tally.entry(explained).or_insert(0) += count;
    }
    for (explained, count) in tally {
        println!("  explained {explained}: {count}");
    }
    let mut failed = false;
    for failure in reports.iter().filter_map(|report| report.failure.as_ref()) {
        println!("{failure}");
        failed = true;
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
