//! Faults of synchronization with a real PostgreSQL.
//!
//! `cargo xtask team-faults [--long] [--only F1,F3] [--seed N]`
#![expect(clippy::print_stderr, reason = "a command-line program")]

use std::process::ExitCode;

use sessile_testkit::team_faults::{Plan, run, run_role};

const USAGE: &str = "usage: team-faults [--long] [--only F1,F3] [--seed N]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("part", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return run_role(rest).unwrap_or_else(usage);
    }
    let (Some(plan), Ok(program)) = (parse(&args), std::env::current_exe()) else { return usage() };
    if run(&plan, &program) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn parse(args: &[String]) -> Option<Plan> {
    let mut plan = Plan { is_long: false, only: Vec::new(), seed: 1 };
    let mut args = args.iter();
    while let Some(name) = args.next() {
        match name.as_str() {
            "--long" => plan.is_long = true,
            "--only" => plan.only.extend(args.next()?.split(',').map(str::to_owned)),
            "--seed" => plan.seed = args.next()?.parse().ok()?,
            _ => return None,
        }
    }
    Some(plan)
}
