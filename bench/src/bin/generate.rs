//! Generates sessions and stores for measurements.
//!
//! `generate OUT NAME… [--scale X] [--seed N] [--projects DIR]`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::process::ExitCode;
use std::time::Instant;

use sessile_bench::generate::{Corpus, NAMES, Plan};

const USAGE: &str = "usage: generate OUT NAME… [--scale X] [--seed N] [--projects DIR]";

fn main() -> ExitCode {
    let mut plan = Plan::default();
    let mut words = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let is_fine = match arg.as_str() {
            "--scale" => args.next().and_then(|value| value.parse().ok()).map(|scale| plan.scale = scale),
            "--seed" => args.next().and_then(|value| value.parse().ok()).map(|seed| plan.seed = seed),
            "--projects" => args.next().map(|dir| plan.projects = dir),
            _ => {
                words.push(arg);
                Some(())
            }
        };
        if is_fine.is_none() {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    let Some((out, names)) = words.split_first().filter(|(_, names)| !names.is_empty()) else {
        eprintln!("{USAGE}\nnames: {}", NAMES.join(", "));
        return ExitCode::from(2);
    };
    let corpus = Corpus::new(out, plan);
    for name in names {
        let start = Instant::now();
        match corpus.make_named(name) {
            Ok(made) => println!(
                "{name}: {} session(s), {} bytes, {} lines, the word in {}, the phrase in {}; {:.1} s",
                made.sessions,
                made.bytes,
                made.lines,
                made.with_word.len(),
                made.with_phrase.len(),
                start.elapsed().as_secs_f64()
            ),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
