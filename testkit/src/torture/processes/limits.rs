//! `limits`: no space, no inodes, no permissions, no descriptors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sessile::{NewSession, SessionError, SessionManager, Sessions};

use super::child::{ChildProcess, script, tool};
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::mount::{Mount, require_root};
use super::report::Report;
use super::role::{message, old_session, start_session};
use super::{Bench, Skipped};

const APPEND: &str = include_str!("append.mjs");
/// The user id of `nobody`.
const NOBODY_UID: &str = "65534";

/// One limit.
type Case = fn(&Bench, &mut Report) -> Result<(), Skipped>;

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    let mut report = Report::default();
    let cases: [(&str, Case); 9] = [
        ("full disk (E1)", full_disk),
        ("copies on a full disk (E2)", copies_on_full_disk),
        ("strangers on a full disk (E3)", foreign_programs_on_full_disk),
        ("file size (E4)", file_size),
        ("inodes (E5)", inodes),
        ("read-only disk and immutable file (E6)", read_only),
        ("rights (E6)", rights),
        ("directory gone (E6)", directory_gone),
        ("descriptors (E7)", descriptors),
    ];
    for (name, case) in cases {
        match case(bench, &mut report) {
            Ok(()) => report.add("limits", 1),
            Err(Skipped(why)) => report.skip(Skipped(format!("{name}: {why}"))),
        }
    }
    Ok(report)
}

/// Appends until an append is refused, and returns the entries acknowledged before.
fn fill(report: &mut Report, session: &mut SessionManager, len: u64) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for _ in 0..100_000 {
        match session.append_message(message(len)) {
            Ok(id) => acknowledged.push(id.to_string()),
            Err(SessionError::Store(error)) => {
                report.check(error.is_disk_full(), format!("a full disk was called {error:?}"));
                return acknowledged;
            }
            Err(error) => {
                report.add_problem(format!("a full disk was called {error}"));
                return acknowledged;
            }
        }
    }
    report.add_problem("the disk was never full");
    acknowledged
}

fn full_disk(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    for size in ["64k", "256k", "1m"] {
        for len in [100, 1000, 10_000, 100_000, 1_000_000] {
            let disk = Mount::tmpfs(&bench.path(&format!("full-{size}-{len}")), size)?;
            let reserve = disk.root.join("reserve");
            fs::write(&reserve, vec![0; 16 << 10]).unwrap();
            let path = start_session(&disk.root);
            let mut session = SessionManager::open(&path).unwrap();
            let mut acknowledged = fill(report, &mut session, len);
            fs::remove_file(&reserve).unwrap();
            match session.append_message(message(100)) {
                Ok(id) => acknowledged.push(id.to_string()),
                Err(error) => {
                    report.add_problem(format!("{size}, {len}: refused though there is space again: {error}"));
                }
            }
            drop(session);
            let n_torn = inspect(report, &path, &acknowledged, Fused::Forbidden);
            report.check(n_torn <= 1, format!("{size}, {len}: {n_torn} torn lines"));
        }
    }
    Ok(())
}

/// Fills the rest of a disk.
fn fill_disk(root: &Path) {
    let filler = root.join("stuffing");
    let mut file = fs::File::create(filler).unwrap();
    for size in [4096, 1] {
        while std::io::Write::write_all(&mut file, &vec![0; size]).is_ok() {}
    }
}

fn copies_on_full_disk(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let disk = Mount::tmpfs(&bench.path("copies"), "256k")?;
    let path = start_session(&disk.root);
    let old = disk.root.join("old.jsonl");
    fs::write(&old, old_session().0).unwrap();
    let mut session = SessionManager::open(&path).unwrap();
    for _ in 0..20 {
        session.append_message(message(1000)).unwrap();
    }
    fill_disk(&disk.root);
    let before = (names(&disk.root), fs::read(&path).unwrap(), fs::read(&old).unwrap());
    let leaf = session.leaf_id().unwrap();
    report.check(session.fork(leaf, sessile::branch::ForkPosition::At).is_err(), "a fork succeeded on a full disk");
    report.check(
        Sessions::default().with_session_dir(&disk.root).fork_from(&path, "/").is_err(),
        "a copy fitted on a full disk",
    );
    let upgraded = SessionManager::open(&old).and_then(|mut session| session.append_message(message(1000)));
    report.check(upgraded.is_err(), "an upgrade succeeded on a full disk");
    let after = (names(&disk.root), fs::read(&path).unwrap(), fs::read(&old).unwrap());
    report.check(before == after, format!("a failed copy left something behind: {:?}, {:?}", before.0, after.0));
    Ok(())
}

/// Returns the files of a directory, without sidecars.
fn names(directory: &Path) -> Vec<PathBuf> {
    let is_visible = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        !(name.ends_with(".sessile-lock") || name.ends_with(".sessile-guard"))
    };
    let mut names: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).filter(is_visible).collect();
    names.sort();
    names
}

/// A foreign program tears its line on a full disk; our writer continues after it, and the foreign program after ours.
fn foreign_programs_on_full_disk(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let disk = Mount::tmpfs(&bench.path("strangers"), "256k")?;
    let reserve = disk.root.join("reserve");
    fs::write(&reserve, vec![0; 64 << 10]).unwrap();
    let path = start_session(&disk.root);
    let mut session = SessionManager::open(&path).unwrap();
    let mut acknowledged = fill(report, &mut session, 5000);
    let torn = ChildProcess::start(quiet(script(APPEND, &[&path, &"5", &"60000", &"60001", &"1"]))).finish();
    acknowledged.extend(torn.acknowledged);
    fs::remove_file(&reserve).unwrap();
    acknowledged.extend(session.append_message(message(100)).map(|id| id.to_string()));
    let after_ours = ChildProcess::start(quiet(script(APPEND, &[&path, &"5", &"500", &"600", &"2"]))).finish();
    report.check(after_ours.acknowledged.len() == 5, "a foreign program could not append after ours");
    acknowledged.extend(after_ours.acknowledged);
    acknowledged.extend(session.append_message(message(100)).map(|id| id.to_string()));
    drop(session);
    inspect(report, &path, &acknowledged, Fused::Allowed);
    inspect_with_pi(report, bench, &path, &acknowledged);
    Ok(())
}

/// Silences a script that is expected to fail.
fn quiet(mut command: Command) -> Command {
    command.stderr(std::process::Stdio::null());
    command
}

fn file_size(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let path = start_session(&bench.path("file-size"));
    let output = ChildProcess::start(bench.role("limit", &[&path])).finish();
    let n_full = output.errors.iter().filter(|error| *error == "!full").count();
    report.check(n_full > 10 && n_full == output.errors.len(), format!("{output:?}"));
    // The entries that fitted, and the one after the limit was lifted, which shows that the process survived.
    report.check(output.acknowledged.len() == 21 - n_full, format!("{output:?}"));
    let n_torn = inspect(report, &path, &output.acknowledged, Fused::Forbidden);
    report.check(n_torn <= 1, format!("{n_torn} torn lines at the limit"));
    Ok(())
}

fn inodes(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let disk = Mount::image(&bench.path("inodes"), "ext4", 16, &["-N", "16"])?;
    let path = start_session(&disk.root);
    let mut session = SessionManager::open(&path).unwrap();
    let mut acknowledged = vec![session.append_message(message(100)).unwrap().to_string()];
    let mut n_made = 0;
    while fs::File::create(disk.root.join(format!("{n_made}"))).is_ok() {
        n_made += 1;
    }
    let before = names(&disk.root);
    let created = Sessions::default()
        .with_session_dir(&disk.root)
        .create("/")
        .and_then(|mut session| session.append_message(message(100)));
    report.check(created.is_err(), "a session was created without a free inode");
    report.check(names(&disk.root) == before, "a failed session left something behind");
    acknowledged.extend(session.append_message(message(100)).map(|id| id.to_string()));
    drop(session);
    inspect(report, &path, &acknowledged, Fused::Forbidden);
    Ok(())
}

/// Checks that reading works, writing is refused, and nothing is written elsewhere instead.
fn refused(bench: &Bench, report: &mut Report, path: &Path, what: &str, by: impl Fn(Command) -> Command) {
    let before = fs::read(path).unwrap();
    let output = ChildProcess::start(by(bench.role("try", &[&path, &"fail", &"100"]))).finish();
    let can_read = output.acknowledged == ["read 1"];
    report.check(can_read && output.errors.len() == 1, format!("{what}: {output:?}"));
    report.check(fs::read(path).unwrap() == before, format!("{what}: the file was changed"));
}

fn session_with_entry(directory: &Path) -> PathBuf {
    let path = start_session(directory);
    SessionManager::open(&path).unwrap().append_message(message(100)).unwrap();
    path
}

fn read_only(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let disk = Mount::image(&bench.path("read-only"), "ext4", 16, &[])?;
    let path = session_with_entry(&disk.root);
    disk.remount("ro").map_err(Skipped)?;
    refused(bench, report, &path, "a read-only disk", |command| command);
    disk.remount("rw").map_err(Skipped)?;
    tool("chattr", &[&"+i", &path]).map_err(Skipped)?;
    refused(bench, report, &path, "an immutable file", |command| command);
    tool("chattr", &[&"-i", &path]).map_err(Skipped)
}

fn rights(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    require_root()?;
    let directory = bench.path("rights");
    let path = session_with_entry(&directory);
    // A copy of the program that the user `nobody` can run.
    let program = bench.path("program");
    fs::copy(&bench.program, &program).unwrap();
    for (path, mode) in [(&bench.directory, 0o755), (&directory, 0o755), (&program, 0o755), (&path, 0o444)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    tool("setpriv", &[&"--version"]).map_err(Skipped)?;
    refused(bench, report, &path, "a file of another user", |command| {
        let mut other = Command::new("setpriv");
        other
            .args(["--reuid", NOBODY_UID, "--regid", NOBODY_UID, "--clear-groups"])
            .arg(&program)
            .args(command.get_args());
        other
    });
    Ok(())
}

fn directory_gone(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let directory = bench.path("gone");
    let path = session_with_entry(&directory);
    let mut session = SessionManager::open(&path).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let appended = session.append_message(message(100));
    let is_reported = matches!(&appended, Err(SessionError::Store(error)) if error.is_not_found());
    report.check(is_reported, format!("a session without its directory: {appended:?}"));
    report.check(!directory.exists(), "a removed directory was created again");
    Ok(())
}

fn descriptors(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let directory = bench.path("descriptors");
    for n in 0..500 {
        let options = NewSession { id: Some(format!("s{n}").into()), parent_session: None };
        let mut session = Sessions::default().with_session_dir(&directory).create_with("/", &options).unwrap();
        session.append_message(message(10)).unwrap();
    }
    let output = ChildProcess::start(bench.role("list", &[&directory])).finish();
    report.check(output.acknowledged == ["500"], format!("500 sessions with 32 descriptors: {output:?}"));
    Ok(())
}
