//! Real programs, within their limits and beyond them.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_program::{Limits, ProgramEnd, ProgramResult, run};

/// More time than any of these programs needs, unless it is meant to be killed.
const LONG: Duration = Duration::from_mins(1);

fn shell(script: &str, input: &[u8], limits: Limits, cancel: &Cancel) -> ProgramResult {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    run(command, input.to_vec(), limits, cancel).unwrap()
}

fn within(script: &str, input: &[u8], time: Duration, output: usize) -> ProgramResult {
    shell(script, input, Limits { time, output }, &Cancel::default())
}

/// Whether a process that wrote its id to a file is gone.
fn is_gone(file: &Path) -> bool {
    let id = std::fs::read_to_string(file).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    // A zombie has also ended.
    status.is_empty() || status.contains(") Z ")
}

#[test]
fn input_is_piped_to_the_program_and_output_back() {
    let input = "é\n".repeat(100_000);
    let result = within("cat", input.as_bytes(), LONG, input.len());
    assert!(matches!(result.ended, ProgramEnd::Success), "{result:?}");
    assert_eq!((result.output.len(), result.errors.as_str()), (input.len(), ""));
}

#[test]
fn a_program_may_ignore_its_input() {
    let result = within("exec <&-; echo done", &vec![b'x'; 1 << 20], LONG, 100);
    assert!(matches!(result.ended, ProgramEnd::Success), "{result:?}");
    assert_eq!(result.output, b"done\n");
}

#[test]
fn a_failure_includes_the_end_of_standard_error() {
    let result = within(
        "i=0; while [ $i -lt 3000 ]; do echo noise >&2; i=$((i+1)); done; echo 'no  such\nthing' >&2; exit 7",
        b"",
        LONG,
        100,
    );
    let ProgramEnd::Failure(status) = result.ended else { panic!("{result:?}") };
    assert_eq!(status.code(), Some(7));
    assert!(result.errors.ends_with("noise no such thing") && result.errors.len() <= 800, "{}", result.errors);
}

#[test]
fn too_much_output_ends_the_program() {
    let result = within("yes", b"", LONG, 1000);
    assert!(matches!(result.ended, ProgramEnd::TooMuchOutput) && result.output.is_empty(), "{result:?}");
    let exact = within("printf 12345", b"", LONG, 5);
    assert!(matches!(exact.ended, ProgramEnd::Success) && exact.output == b"12345", "{exact:?}");
}

#[test]
fn a_timeout_kills_the_program_and_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("id");
    let script = format!("sleep 600 & echo $! > {}; echo half; wait", file.display());
    let result = within(&script, b"", Duration::from_millis(300), 100);
    assert!(matches!(result.ended, ProgramEnd::TimedOut) && result.output.is_empty(), "{result:?}");
    while !is_gone(&file) {
        std::thread::yield_now();
    }
}

#[test]
fn a_leftover_background_process_does_not_delay_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("id");
    let result = within(&format!("sleep 600 & echo $! > {}; echo answer", file.display()), b"", LONG, 100);
    assert!(matches!(result.ended, ProgramEnd::Success), "{result:?}");
    assert_eq!(result.output, b"answer\n");
    while !is_gone(&file) {
        std::thread::yield_now();
    }
}

#[test]
fn cancelling_ends_the_program() {
    let cancel = Cancel::default();
    let stopper = cancel.clone();
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        stopper.cancel();
    });
    let result = shell("sleep 600", b"", Limits { time: LONG, output: 10 }, &cancel);
    assert!(matches!(result.ended, ProgramEnd::Cancelled), "{result:?}");
    stopping.join().unwrap();
}

#[test]
fn a_missing_program_is_an_error() {
    let limits = Limits { time: LONG, output: 10 };
    assert!(run(Command::new("/no/such/program"), Vec::new(), limits, &Cancel::default()).is_err());
}
