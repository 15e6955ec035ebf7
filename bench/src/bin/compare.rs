//! Measures Sessile, pi and the machine in one run on the same files: `cargo xtask bench compare`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints results")]

use std::path::PathBuf;
use std::process::ExitCode;

use sessile_bench::compare::{Options, USAGE, run};

fn main() -> ExitCode {
    let Some(options) = Options::read(std::env::args().skip(1), corpus()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let is_strict = options.is_strict;
    match run(options, &mut |text| println!("{text}")) {
        Ok(verdict) if verdict.answers_agree && (verdict.demands_met || !is_strict) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("compare: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the folder for generated sessions, in the build directory.
fn corpus() -> PathBuf {
    let me = std::env::current_exe().unwrap_or_default();
    me.ancestors().nth(2).map(|target| target.join("bench-corpus")).unwrap_or_default()
}
