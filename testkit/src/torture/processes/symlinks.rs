//! `symlinks`: names that lead elsewhere, and files that only their owner may read.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, makedev, mknodat, renameat_with};
use sessile::write::WriteOptions;
use sessile::{SessionManager, Sessions};

use super::child::ChildProcess;
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::report::Report;
use super::role::{message, old_session, start_session};
use super::{Bench, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    for swapped in [Swapped::Session, Swapped::Sidecars] {
        swap_race(bench, &mut report, swapped, bench.count(1000, 50_000));
    }
    links(bench, &mut report);
    for mask in ["000", "022", "077", "777"] {
        modes(bench, &mut report, mask);
    }
    odd_files(bench, &mut report);
    Ok(report)
}

/// A file, and a link to an identical file outside.
struct Pair {
    path: PathBuf,
    link: PathBuf,
    outside: PathBuf,
    before: Vec<u8>,
}

impl Pair {
    fn new(path: PathBuf, outside: &Path, link: PathBuf) -> Self {
        if !path.exists() {
            fs::write(&path, "").unwrap();
        }
        fs::create_dir_all(outside).unwrap();
        let outside = outside.join(path.file_name().unwrap());
        let before = fs::read(&path).unwrap();
        fs::write(&outside, &before).unwrap();
        symlink(&outside, &link).unwrap();
        Self { path, link, outside, before }
    }

    /// Exchanges the two atomically.
    fn swap(&self) {
        renameat_with(CWD, &self.path, CWD, &self.link, RenameFlags::EXCHANGE).ok();
    }

    /// Returns the current path of the real file.
    fn real(&self) -> &Path {
        if self.link.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) { &self.link } else { &self.path }
    }
}

/// The files exchanged with links while our writer appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swapped {
    /// The session. Without the guard, which would wait each time until the session has settled.
    Session,
    /// Lock and guard, which are found by the session's name.
    Sidecars,
}

/// Appends while files and links to identical files outside are exchanged all the time.
fn swap_race(bench: &Bench, report: &mut Report, swapped: Swapped, n_rounds: u32) {
    let folder = bench.path(&format!("{swapped:?}"));
    let path = start_session(&folder);
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let paths = match swapped {
        Swapped::Session => vec![path.clone()],
        Swapped::Sidecars => {
            let sidecar = |kind: &str| path.with_file_name(format!(".{name}.sessile-{kind}"));
            vec![sidecar("lock"), sidecar("guard")]
        }
    };
    let outside = bench.path(&format!("outside-{swapped:?}"));
    let link = |n: usize| folder.join(format!("link-{n}"));
    let pairs: Vec<Pair> = paths.into_iter().enumerate().map(|(n, path)| Pair::new(path, &outside, link(n))).collect();
    let is_done = AtomicBool::new(false);
    let acknowledged = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                pairs.iter().for_each(Pair::swap);
            }
        });
        let acknowledged = append_while_swapped(&path, swapped == Swapped::Sidecars, n_rounds);
        is_done.store(true, Ordering::Relaxed);
        acknowledged
    });
    for pair in &pairs {
        let is_same = fs::read(&pair.outside).unwrap() == pair.before;
        report.check(is_same, format!("{swapped:?}: {} was written outside", pair.outside.display()));
    }
    report.check(fs::read_dir(&outside).unwrap().count() == pairs.len(), "a file was created outside");
    let real = if swapped == Swapped::Session { pairs[0].real() } else { &path };
    inspect(report, real, &acknowledged, Fused::Forbidden);
    inspect_with_pi(report, bench, real, &acknowledged);
    report.add("appends during swaps", u64::from(n_rounds));
    report.add("refused", u64::from(n_rounds) - acknowledged.len() as u64);
}

/// Opens and appends again and again. A refusal is fine; acknowledged entries count.
fn append_while_swapped(path: &Path, guard: bool, n_rounds: u32) -> Vec<String> {
    let sessions = Sessions::default().writing(WriteOptions { guard, ..WriteOptions::default() });
    let mut acknowledged = Vec::new();
    let mut session: Option<SessionManager> = None;
    for n in 0..n_rounds {
        // Some appends use a session that stays open, some one that was just opened.
        if n % 8 == 0 {
            session = None;
        }
        if session.is_none() {
            session = sessions.open_or_create(path).ok();
        }
        match session.as_mut().map(|session| session.append_message(message(50))) {
            Some(Ok(id)) => acknowledged.push(id.to_string()),
            Some(Err(_)) => session = None,
            None => {}
        }
    }
    acknowledged
}

/// Checks that writing through a link in the last path component is refused, and that its target is unchanged.
fn links(bench: &Bench, report: &mut Report) {
    let target = start_session(&bench.path("linked"));
    let before = fs::read(&target).unwrap();
    let link = bench.path("link.jsonl");
    symlink(&target, &link).unwrap();
    let appended = SessionManager::open_or_create(&link).and_then(|mut session| session.append_message(message(10)));
    report.check(appended.is_err(), "a link was written through");
    report.check(fs::read(&target).unwrap() == before, "the target of a link was changed");
    let dangling = bench.path("dangling.jsonl");
    symlink(bench.path("nowhere"), &dangling).unwrap();
    let appended =
        SessionManager::open_or_create(&dangling).and_then(|mut session| session.append_message(message(10)));
    report.check(appended.is_err(), "a dangling link was written through");
    report.check(!bench.path("nowhere").exists(), "the target of a dangling link was created");
}

/// Checks that only the owner can access the files we create, whatever the umask.
fn modes(bench: &Bench, report: &mut Report, mask: &str) {
    let directory = bench.path(&format!("umask-{mask}"));
    fs::create_dir(&directory).unwrap();
    let old = directory.join("old.jsonl");
    fs::write(&old, old_session().0).unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
    let output = ChildProcess::start(bench.role("umask", &[&directory, &mask])).finish();
    report.check(output.errors.is_empty() && output.acknowledged.len() == 6, format!("umask {mask}: {output:?}"));
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

/// Checks that pipes, sockets and devices among the sessions block no operation.
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
    let listed = Sessions::default().with_session_dir(&directory).list_all();
    report.check(listed.is_ok(), format!("odd files broke a listing: {listed:?}"));
    for name in ["pipe.jsonl", "socket.jsonl", "device.jsonl"] {
        if !odd(name).symlink_metadata().is_ok_and(|metadata| !metadata.file_type().is_block_device()) {
            continue;
        }
        let appended =
            SessionManager::open_or_create(odd(name)).and_then(|mut session| session.append_message(message(10)));
        report.check(appended.is_err(), format!("{name} was written to"));
    }
    report.check(began.elapsed().as_secs() < 2, "odd files caused a wait");
}
