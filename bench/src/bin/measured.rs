//! Runs one program and records how long it took from start to exit, its peak memory, and what it read from the disk.
//!
//! `measured REPORT PROGRAM [ARGUMENT…]`. The kernel reports the peak of a process only after it has ended, and only as
//! the maximum over all children; so each one is run by a separate process. A child starts as a copy of its parent and
//! inherits the parent's peak, so this program has to be small.
#![expect(clippy::print_stderr, reason = "other programs read its output")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::process::{Command, ExitCode};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(report), Some(program)) = (args.next(), args.next()) else {
        eprintln!("usage: measured REPORT PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    let mut command = Command::new(program);
    command.args(args);
    let start = Instant::now();
    let status = command.spawn().and_then(|mut child| child.wait());
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let status = match status {
        Ok(status) => status.code().unwrap_or(-1),
        Err(error) => {
            eprintln!("cannot start {}: {error}", command.get_program().display());
            return ExitCode::FAILURE;
        }
    };
    let usage = match getrusage(UsageWho::RUSAGE_CHILDREN) {
        Ok(usage) => usage,
        Err(error) => {
            eprintln!("cannot ask for the memory used: {error}");
            return ExitCode::FAILURE;
        }
    };
    let peak_kb = usage.max_rss();
    // The kernel counts blocks of 512 bytes; what was in the page cache is not among them.
    let read_bytes = usage.block_reads() * 512;
    let text = format!("{{\"ms\":{ms},\"peak_kb\":{peak_kb},\"read_bytes\":{read_bytes},\"status\":{status}}}\n");
    if let Err(error) = std::fs::write(&report, text) {
        eprintln!("cannot write {}: {error}", report.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
