//! The oracle itself: a pi that never answers, and a harness that is killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use sessile_testkit::{NO_ANSWER, Oracle};

const SPIN: &str = r#"{"cmd":"spin"}"#;
const STATE: &str = r#"{"cmd":"state"}"#;

#[test]
fn row_28_a_pi_that_never_answers_is_started_again() {
    let home = tempfile::tempdir().unwrap();
    let mut pi = Oracle::start(home.path());
    assert_eq!(pi.ask(STATE).error(), None);
    assert!(!pi.take_silence());
    let first = pi.id();
    let mut pi = pi.with_deadline(Duration::from_millis(500));
    let answers = pi.ask_all(&[SPIN.to_owned(), STATE.to_owned()]);
    assert_eq!(answers.iter().map(|answer| answer.error()).collect::<Vec<_>>(), [Some(NO_ANSWER); 2]);
    assert!(pi.take_silence());
    assert!(!pi.take_silence());
    assert_ne!(pi.id(), first);
    assert!(!is_alive(first));
    let mut pi = pi.with_deadline(Duration::from_mins(1));
    assert_eq!(pi.ask(STATE).error(), None);
}

const HARNESS: &str = "SESSILE_TEST_HARNESS";

/// Started and killed by the test below: prints the process id of its pi, and then waits for pi.
#[test]
fn harness_that_waits_for_ever() {
    let Some(home) = std::env::var_os(HARNESS) else { return };
    let mut pi = Oracle::start(home.as_ref());
    assert_eq!(pi.ask(STATE).error(), None);
    let mut out = std::io::stdout();
    writeln!(out, "\npi {}", pi.id()).and_then(|()| out.flush()).unwrap();
    pi.ask(SPIN);
}

#[cfg(unix)]
#[test]
fn a_busy_pi_ends_with_its_harness() {
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::INT] {
        let home = tempfile::tempdir().unwrap();
        let mut harness = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "oracle::harness_that_waits_for_ever", "--nocapture"])
            .env(HARNESS, home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(harness.stdout.take().unwrap()).lines().map(Result::unwrap);
        let pi = lines
            .find_map(|line| line.strip_prefix("pi ")?.parse().ok())
            .expect("the harness did not print the process id of its pi");
        assert!(is_alive(pi));
        let id = rustix::process::Pid::from_child(&harness);
        rustix::process::kill_process(id, signal).unwrap();
        harness.wait().unwrap();
        // Bounded only by a timeout: pi checks for its parent several times a second.
        let ended = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            !is_alive(pi)
        });
        assert!(ended, "process {pi} outlives its harness after {signal:?}");
    }
}

/// Whether a process runs; a zombie does not.
fn is_alive(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat"));
    state.is_ok_and(|state| !state.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
