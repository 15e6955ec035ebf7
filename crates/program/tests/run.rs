//! Real programs, within their limits and beyond them.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at files and fail by panicking")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_program::{Ended, Limits, Ran, run};

/// More time than any of these programs needs, unless it is meant to be killed.
const LONG: Duration = Duration::from_mins(1);

fn shell(script: &str, input: &[u8], limits: Limits, cancel: &Cancel) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    run(command, input.to_vec(), limits, cancel).unwrap()
}

fn within(script: &str, input: &[u8], time: Duration, output: usize) -> Ran {
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
fn what_goes_in_comes_out() {
    let input = "é\n".repeat(100_000);
    let ran = within("cat", input.as_bytes(), LONG, input.len());
    assert!(matches!(ran.ended, Ended::Well), "{ran:?}");
    assert_eq!((ran.output.len(), ran.errors.as_str()), (input.len(), ""));
}

#[test]
fn who_does_not_read_is_judged_by_what_it_prints() {
    let ran = within("exec <&-; echo done", &vec![b'x'; 1 << 20], LONG, 100);
    assert!(matches!(ran.ended, Ended::Well), "{ran:?}");
    assert_eq!(ran.output, b"done\n");
}

#[test]
fn a_failure_comes_with_the_end_of_what_was_said() {
    let ran = within(
        "i=0; while [ $i -lt 3000 ]; do echo noise >&2; i=$((i+1)); done; echo 'no  such\nthing' >&2; exit 7",
        b"",
        LONG,
        100,
    );
    let Ended::Badly(status) = ran.ended else { panic!("{ran:?}") };
    assert_eq!(status.code(), Some(7));
    assert!(ran.errors.ends_with("noise no such thing") && ran.errors.len() <= 800, "{}", ran.errors);
}

#[test]
fn too_much_ends_it() {
    let ran = within("yes", b"", LONG, 1000);
    assert!(matches!(ran.ended, Ended::TooMuch) && ran.output.is_empty(), "{ran:?}");
    let exact = within("printf 12345", b"", LONG, 5);
    assert!(matches!(exact.ended, Ended::Well) && exact.output == b"12345", "{exact:?}");
}

#[test]
fn too_long_ends_it_and_what_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("id");
    let script = format!("sleep 600 & echo $! > {}; echo half; wait", file.display());
    let ran = within(&script, b"", Duration::from_millis(300), 100);
    assert!(matches!(ran.ended, Ended::TooSlow) && ran.output.is_empty(), "{ran:?}");
    while !is_gone(&file) {
        std::thread::yield_now();
    }
}

#[test]
fn what_it_left_behind_does_not_hold_us_up() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("id");
    let ran = within(&format!("sleep 600 & echo $! > {}; echo answer", file.display()), b"", LONG, 100);
    assert!(matches!(ran.ended, Ended::Well), "{ran:?}");
    assert_eq!(ran.output, b"answer\n");
    while !is_gone(&file) {
        std::thread::yield_now();
    }
}

#[test]
fn it_ends_when_it_is_not_wanted_any_more() {
    let cancel = Cancel::default();
    let stopper = cancel.clone();
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        stopper.cancel();
    });
    let ran = shell("sleep 600", b"", Limits { time: LONG, output: 10 }, &cancel);
    assert!(matches!(ran.ended, Ended::Cancelled), "{ran:?}");
    stopping.join().unwrap();
}

#[test]
fn what_is_not_there_cannot_be_started() {
    let limits = Limits { time: LONG, output: 10 };
    assert!(run(Command::new("/no/such/program"), Vec::new(), limits, &Cancel::default()).is_err());
}
