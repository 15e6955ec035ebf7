//! `symlinks`: names that lead somewhere else, and files nobody else may read.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, makedev, mknodat, renameat_with};
use sessile::{ListOptions, SessionManager};

use super::crew::Member;
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::part::{message, old_session, start_session};
use super::report::Report;
use super::{Bench, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    swapped(bench, &mut report, bench.count(2000, 100_000));
    links(bench, &mut report);
    for mask in ["000", "022", "077", "777"] {
        modes(bench, &mut report, mask);
    }
    odd_files(bench, &mut report);
    Ok(report)
}

/// A file, and a link to another one outside that looks just like it, trade places all the time.
fn swapped(bench: &Bench, report: &mut Report, n_rounds: u32) {
    let path = start_session(&bench.path("swapped"));
    let outside = bench.path("outside");
    fs::create_dir_all(&outside).unwrap();
    // For the sidecars too, which are found by the session's name.
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let lock = path.with_file_name(format!(".{name}.sessile-lock"));
    let guard = path.with_file_name(format!(".{name}.sessile-guard"));
    let mut pairs = Vec::new();
    for place in [&path, &lock, &guard] {
        if !place.exists() {
            fs::write(place, "").unwrap();
        }
        let target = outside.join(place.file_name().unwrap());
        fs::copy(place, &target).unwrap();
        let link = place.with_extension("link");
        symlink(&target, &link).unwrap();
        pairs.push((place.clone(), link, target));
    }
    let before: Vec<Vec<u8>> = pairs.iter().map(|(_, _, target)| fs::read(target).unwrap()).collect();
    let is_done = AtomicBool::new(false);
    let acknowledged = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                for (place, link, _) in &pairs {
                    renameat_with(CWD, place, CWD, link, RenameFlags::EXCHANGE).ok();
                }
            }
        });
        let acknowledged = append_while_swapped(report, &path, n_rounds);
        is_done.store(true, Ordering::Relaxed);
        acknowledged
    });
    let outside_now: Vec<Vec<u8>> = pairs.iter().map(|(_, _, target)| fs::read(target).unwrap()).collect();
    report.check(before == outside_now, "something was written outside");
    // The real file is wherever the last exchange has left it.
    let real = pairs[0].1.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let real = if real { pairs[0].1.clone() } else { path };
    inspect(report, &real, &acknowledged, Fused::Forbidden);
    inspect_with_pi(report, bench, &real, &acknowledged);
    report.add("appends during swaps", u64::from(n_rounds));
}

/// Opens and appends again and again. Being refused is fine; what is acknowledged counts.
fn append_while_swapped(report: &mut Report, path: &Path, n_rounds: u32) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let mut session: Option<SessionManager> = None;
    for n in 0..n_rounds {
        // Some on a session that stays open, some on one that was just opened.
        if n % 8 == 0 {
            session = None;
        }
        if session.is_none() {
            session = SessionManager::open(path, None, None).ok();
        }
        match session.as_mut().map(|session| session.append_message(message(50))) {
            Some(Ok(id)) => acknowledged.push(id.to_string()),
            Some(Err(_)) => session = None,
            None => {}
        }
    }
    report.add("refused", u64::from(n_rounds) - acknowledged.len() as u64);
    acknowledged
}

/// A link as the last part of a path is refused for writing, and what it leads to is left alone.
fn links(bench: &Bench, report: &mut Report) {
    let target = start_session(&bench.path("linked"));
    let before = fs::read(&target).unwrap();
    let link = bench.path("link.jsonl");
    symlink(&target, &link).unwrap();
    let appended = SessionManager::open(&link, None, None).and_then(|mut session| session.append_message(message(10)));
    report.check(appended.is_err(), "a link was written through");
    report.check(fs::read(&target).unwrap() == before, "what a link leads to was changed");
    let dangling = bench.path("dangling.jsonl");
    symlink(bench.path("nowhere"), &dangling).unwrap();
    let appended =
        SessionManager::open(&dangling, None, None).and_then(|mut session| session.append_message(message(10)));
    report.check(appended.is_err(), "a dangling link was written through");
    report.check(!bench.path("nowhere").exists(), "the target of a dangling link was made");
}

/// Everything we make is for its owner alone, whatever the umask says.
fn modes(bench: &Bench, report: &mut Report, mask: &str) {
    let directory = bench.path(&format!("umask-{mask}"));
    fs::create_dir(&directory).unwrap();
    let old = directory.join("old.jsonl");
    fs::write(&old, old_session().0).unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
    let testimony = Member::start(bench.part("umask", &[&directory, &mask])).finish();
    report.check(
        testimony.errors.is_empty() && testimony.acknowledged.len() == 6,
        format!("umask {mask}: {testimony:?}"),
    );
    let mut open = vec![directory.clone()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let metadata = path.symlink_metadata().unwrap();
            let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
            let mode = metadata.permissions().mode() & 0o777;
            report.check(mode == expected, format!("umask {mask}: {} has mode {mode:o}", path.display()));
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
}

/// Pipes, sockets and devices among the sessions block nobody.
fn odd_files(bench: &Bench, report: &mut Report) {
    let directory = bench.path("odd");
    start_session(&directory);
    let odd = |name: &str| -> PathBuf { directory.join(name) };
    mknodat(CWD, odd("pipe.jsonl"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = UnixListener::bind(odd("socket.jsonl")).unwrap();
    let device =
        mknodat(CWD, odd("device.jsonl"), FileType::CharacterDevice, Mode::from_raw_mode(0o600), makedev(1, 5));
    if device.is_err() {
        report.skip(Skipped("a device among the sessions: needs root".to_owned()));
    }
    let began = Instant::now();
    let listed = SessionManager::list_all(Some(&directory), &mut ListOptions::default());
    report.check(listed.is_ok(), format!("odd files broke a listing: {listed:?}"));
    for name in ["pipe.jsonl", "socket.jsonl", "device.jsonl"] {
        if !odd(name).symlink_metadata().is_ok_and(|metadata| !metadata.file_type().is_block_device()) {
            continue;
        }
        let appended =
            SessionManager::open(odd(name), None, None).and_then(|mut session| session.append_message(message(10)));
        report.check(appended.is_err(), format!("{name} was written to"));
    }
    report.check(began.elapsed().as_secs() < 2, "odd files made us wait");
}
