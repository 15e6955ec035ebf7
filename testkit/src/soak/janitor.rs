//! Verifies and deletes old sessions, and verifies everything at the end.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::board::{Acknowledged, marks_after_torn, marks_in};
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
        if let Some((path, entries)) = soak.board.retire(soak.session_age()) {
            retire(soak, &mut random, &path, &entries);
        }
        if swept.elapsed() >= SWEEP {
            swept = Instant::now();
            sweep(soak);
        }
        soak.rest(&mut random, 1000);
    }
}

/// Verifies a session, moves some of them to the trash and back, and deletes it.
fn retire(soak: &Soak, random: &mut SplitMix, path: &Path, entries: &[Acknowledged]) {
    check(soak, path, entries);
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
            check(soak, path, entries);
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

/// Checks that all acknowledged entries are in a session, and returns the marks of those that are.
///
/// An entry that pi has glued to a torn line is not lost by Sessile, so it is only counted.
fn check<'e>(soak: &Soak, path: &Path, entries: &'e [Acknowledged]) -> Vec<&'e str> {
    let session = fs::read(path).unwrap_or_default();
    let there = marks_in(&session);
    let (found, missing): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| there.contains(&entry.mark));
    let glued = if missing.is_empty() { HashSet::new() } else { marks_after_torn(&session) };
    for entry in missing {
        if entry.is_of_pi && glued.contains(&entry.mark) {
            soak.count("entries that pi glued to a torn line", 1);
        } else {
            soak.problem(format!("LOST {}, of {}; see {}", entry.mark, path.display(), keep(soak, path, &session)));
        }
    }
    soak.count("entries verified", found.len() as u64);
    found.into_iter().map(|entry| entry.mark.as_str()).collect()
}

/// Keeps a session that misses an entry, because the soak deletes it. Returns where.
fn keep(soak: &Soak, path: &Path, session: &[u8]) -> String {
    let copy = soak.plan.output.join("lost").join(path.file_name().unwrap_or_default());
    let kept = fs::create_dir_all(copy.parent().unwrap_or(&copy)).and_then(|()| fs::write(&copy, session));
    kept.map_or_else(|error| error.to_string(), |()| copy.display().to_string())
}

/// Checks all sessions that are left, with a simple reader, with our engine and with pi.
pub(super) fn check_all(soak: &Soak, scratch: &Path) {
    let mut pi = Oracle::start(scratch);
    for (path, entries) in soak.board.all() {
        let marks = check(soak, &path, &entries);
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
