//! Counts what the hot paths of the engine do: instructions, allocations, system calls and bytes read.
//!
//! `counts prepare FIXTURES WORK` builds caches. `counts run PATH FIXTURES WORK` runs one path and prints its
//! allocations; callgrind and strace count the rest from outside. `counts gather FIXTURES WORK PROFILES OUT` runs all
//! paths under strace and adds the instructions that the harness has counted. `counts judge` compares the results.

mod allocations;
mod gather;
mod judge;
mod names;
mod paths;
mod region;
mod world;

use std::process::ExitCode;

/// Any error; it ends the program.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
usage: counts prepare FIXTURES WORK
       counts run PATH FIXTURES WORK
       counts gather FIXTURES WORK PROFILES OUT
       counts judge HEAD [BASE PERCENT]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["prepare", fixtures, work] => alone(|| paths::prepare(&world::World::new(fixtures, work))),
        ["run", path, fixtures, work] => alone(|| paths::run(path, &world::World::new(fixtures, work))),
        ["gather", fixtures, work, profiles, out] => gather::gather((fixtures, work), profiles.as_ref(), out.as_ref()),
        ["judge", head] => judge::show(head.as_ref()),
        ["judge", head, base, percent] => judge::judge(head.as_ref(), base.as_ref(), percent),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("counts: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs something on one processor.
fn alone(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    world::require_one_processor()?;
    work()
}
