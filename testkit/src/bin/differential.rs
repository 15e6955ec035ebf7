//! Runs any number of random sequences against pi, or compares compaction on random branches.
//!
//! `cargo xtask differential --sequences 100000 --seed 1 --threads 2`
//! `cargo xtask differential --compaction --cases 50000 --seed 1`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use sessile_testkit::compaction;
use sessile_testkit::differential::{Report, run_seeds};

const USAGE: &str = "usage: differential [--sequences N | --compaction --cases N] [--seed FIRST] [--threads N]";

/// What to run.
struct Options {
    is_compaction: bool,
    count: u64,
    first_seed: u64,
    threads: u64,
}

impl Options {
    fn read(mut args: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self { is_compaction: false, count: 2000, first_seed: 1, threads: 2 };
        while let Some(name) = args.next() {
            if name == "--compaction" {
                options.is_compaction = true;
                continue;
            }
            let value: u64 = args.next()?.parse().ok()?;
            match name.as_str() {
                "--sequences" | "--cases" => options.count = value,
                "--seed" => options.first_seed = value,
                "--threads" => options.threads = value.max(1),
                _ => return None,
            }
        }
        Some(options)
    }

    /// Runs seeds on several threads, each with its own directory.
    fn spread<T: Send>(&self, work: impl Fn(u64, &mut dyn Iterator<Item = u64>, &Path) -> T + Sync) -> Vec<T> {
        let run = |worker: u64| {
            let directory = tempfile::tempdir().unwrap();
            let seeds = self.first_seed + worker..self.first_seed + self.count;
            work(worker, &mut seeds.step_by(usize::try_from(self.threads).unwrap()), directory.path())
        };
        let run = &run;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads).map(|worker| scope.spawn(move || run(worker))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        })
    }
}

fn main() -> ExitCode {
    let Some(options) = Options::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if options.is_compaction { compactions(&options) } else { sequences(&options) }
}

fn compactions(options: &Options) -> ExitCode {
    let started = Instant::now();
    let reports = options.spread(|worker, seeds, directory| {
        let mut n_reported = 0;
        compaction::run_seeds(seeds, directory, &mut |report| {
            if report.cases >= n_reported + 2000 {
                n_reported = report.cases;
                eprintln!("worker {worker}: {n_reported} cases after {:.0?}", started.elapsed());
            }
        })
    });
    let mut all = compaction::Report::default();
    for report in reports {
        all.add(report);
    }
    println!(
        "{} cases of seeds from {} in {:.0?}: {} answers compared, {} compactions, {} turns split, {} errors of pi's, {} \
         without an answer of pi's",
        all.cases,
        options.first_seed,
        started.elapsed(),
        all.answers,
        all.compactions,
        all.splits,
        all.throws,
        all.unanswered
    );
    match all.failure {
        Some(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

fn sequences(options: &Options) -> ExitCode {
    let started = Instant::now();
    let first_seed = options.first_seed;
    let reports: Vec<Report> = options.spread(|worker, seeds, directory| {
        run_seeds(seeds, directory, &mut |report| {
            if report.sequences % 1000 == 0 {
                eprintln!("worker {worker}: {} sequences after {:.0?}", report.sequences, started.elapsed());
            }
        })
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
