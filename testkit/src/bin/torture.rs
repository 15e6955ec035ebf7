//! The torture bench with real processes.
//!
//! `cargo xtask torture [--long] [--only ROW] [--seed N] [--scale F] [--plant BUG] [--sessile PROGRAM]`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::process::ExitCode;

use sessile::os::outlive_file_size_limit;
use sessile_testkit::torture::processes::{self, Plan, bug_named, detectable_bugs, role, row_that_detects};

const USAGE: &str = "usage: torture [--long] [--only ROW] [--seed N] [--scale F] [--plant BUG|all] [--sessile PROGRAM]";

fn main() -> ExitCode {
    if let Err(error) = outlive_file_size_limit() {
        eprintln!("torture: cannot handle a signal: {error}");
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("part", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return role::run_role(rest).unwrap_or_else(usage);
    }
    let Some((plan, plants)) = parse(&args) else { return usage() };
    let Ok(program) = std::env::current_exe() else { return usage() };
    if plants.is_empty() {
        return if processes::run(&plan, &program) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut all_noticed = true;
    for bug in plants {
        let only = plan.only.clone().or_else(|| row_that_detects(bug));
        let noticed = !processes::run(&Plan { plant: Some(bug), only, ..plan.clone() }, &program);
        println!("planted {bug:?}: {}", if noticed { "noticed" } else { "NOT NOTICED" });
        all_noticed &= noticed;
    }
    if all_noticed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Parses what to run, and the bugs to plant one after the other.
fn parse(args: &[String]) -> Option<(Plan, Vec<sessile_store::planted::Bug>)> {
    let mut plan = Plan { sessile: None, is_long: false, only: None, seed: 1, scale: 1.0, plant: None };
    let mut plants = Vec::new();
    let mut args = args.iter();
    while let Some(name) = args.next() {
        match name.as_str() {
            "--long" => plan.is_long = true,
            "--only" => plan.only = Some(args.next()?.clone()),
            "--seed" => plan.seed = args.next()?.parse().ok()?,
            "--scale" => plan.scale = args.next()?.parse().ok().filter(|scale| *scale > 0.0)?,
            "--sessile" => plan.sessile = Some(std::path::absolute(args.next()?).ok()?),
            "--plant" => match args.next()?.as_str() {
                "all" => plants.extend(detectable_bugs()),
                bug => plants.push(bug_named(bug)?),
            },
            _ => return None,
        }
    }
    // Bugs are planted in this program's own copy of `sessile`; another program would never be caught.
    (plants.is_empty() || plan.sessile.is_none()).then_some((plan, plants))
}
