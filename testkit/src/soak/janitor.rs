//! Verifies and deletes old sessions, and verifies everything at the end.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::board::marks_in;
use super::{Ended, Soak};
use crate::{Oracle, SplitMix, quoted};

/// How often the store is looked through for sessions and files that no actor knows.
const SWEEP: Duration = Duration::from_secs(20);

/// How often a session that is in the trash is restored before it counts as lost.
const MAX_ATTEMPTS: u32 = 60;

/// Verifies and deletes sessions until the end.
pub(super) fn run(soak: &Soak, mut random: SplitMix) {
    let mut swept = Instant::now();
    while !soak.is_over() {
        if let Some((path, marks)) = soak.board.retire(soak.session_age()) {
            retire(soak, &mut random, &path, &marks);
        }
        if swept.elapsed() >= SWEEP {
            swept = Instant::now();
            sweep(soak);
        }
        soak.rest(&mut random, 1000);
    }
}

/// Verifies a session, moves some of them to the trash and back, and deletes it.
fn retire(soak: &Soak, random: &mut SplitMix, path: &Path, marks: &[String]) {
    check(soak, path, marks);
    let session = path.to_string_lossy();
    if random.one_in(2) {
        let deleted = soak.sessile("delete", &["delete", &session, "--yes", "--force", "--json"]);
        if let Ended::Done(_) = deleted {
            // On a full disk it may take some attempts.
            for _ in 0..MAX_ATTEMPTS {
                if soak.sessile("restore", &["restore", &session, "--json"]) != Ended::Nothing {
                    break;
                }
                std::thread::sleep(Duration::from_millis(500));
            }
            check(soak, path, marks);
        }
    }
    // Its entries may be gone from now on, even if the deletion fails half-way.
    let deleted =
        soak.sessile("delete permanently", &["delete", &session, "--permanent", "--yes", "--force", "--json"]);
    if matches!(deleted, Ended::Done(_)) || !path.exists() {
        soak.board.forget(path);
        soak.count("sessions verified and deleted", 1);
    }
}

/// Deletes forks and other sessions that no actor knows, and removes what killed commands have left behind.
fn sweep(soak: &Soak) {
    let Ended::Done(out) = soak.sessile("list", &["list", "--all", "--archived", "--json"]) else { return };
    let Ended::Done(more) = soak.sessile("list", &["list", "--all", "--json"]) else { return };
    let rows = [out, more].into_iter().filter_map(|out| serde_json::from_str::<Vec<Value>>(&out).ok()).flatten();
    let paths: HashSet<PathBuf> = rows.filter_map(|row| row["path"].as_str().map(PathBuf::from)).collect();
    let is_old = |path: &Path| {
        let written = path.metadata().and_then(|meta| meta.modified()).ok();
        written.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > soak.session_age() / 2)
    };
    for path in paths.iter().filter(|path| !soak.board.knows(path) && is_old(path)) {
        let session = path.to_string_lossy();
        soak.sessile("delete permanently", &["delete", &session, "--permanent", "--yes", "--force", "--json"]);
        soak.count("forks deleted", 1);
    }
    soak.sessile("clean", &["clean", "--apply", "--older-than", "1m", "--json"]);
}

/// Checks that all acknowledged entries are in a session.
fn check(soak: &Soak, path: &Path, marks: &[String]) {
    let there = marks_in(path);
    for mark in marks.iter().filter(|mark| !there.contains(*mark)) {
        soak.problem(format!("LOST {mark}, of {}", path.display()));
    }
    soak.count("entries verified", marks.len() as u64);
}

/// Checks all sessions that are left, with a simple reader, with our engine and with pi.
pub(super) fn check_all(soak: &Soak, scratch: &Path) {
    let mut pi = Oracle::start(scratch);
    for (path, marks) in soak.board.all() {
        check(soak, &path, &marks);
        let opened =
            pi.ask(format!(r#"{{"cmd":"static","method":"open","args":[{}]}}"#, quoted(&path.to_string_lossy())));
        match opened.error() {
            Some(error) => soak.problem(format!("pi cannot open {}: {error}", path.display())),
            None => soak.count("sessions opened by pi", 1),
        }
        let ours = soak.home.sessile(&["entries", &path.to_string_lossy(), "--jsonl"]);
        match soak.run("entries", ours) {
            Ended::Done(out) => {
                let missing = marks
                    .iter()
                    .filter(|mark| !out.contains(&format!("{mark} ")) && !out.contains(&format!("{mark}\"")));
                missing.for_each(|mark| soak.problem(format!("`sessile entries` does not show {mark}")));
            }
            Ended::Nothing => soak.problem(format!("`sessile entries` does not open {}", path.display())),
        }
    }
}
