//! What the store promises on Windows in spite of mandatory locks, drives, and names that open files keep.
#![cfg(windows)]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests act as other programs and panic on failure")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use sessile_store::os::{FileKind, Lock, Mode, Os, OsFile, RealOs};
use tempfile::TempDir;

fn open(path: &Path, mode: Mode) -> Box<dyn OsFile> {
    RealOs.open(path, mode).unwrap()
}

#[test]
fn a_lock_excludes_our_processes_and_hinders_no_other_program() {
    let dir = TempDir::new().unwrap();
    let (path, moved) = (dir.path().join("s.jsonl"), dir.path().join("moved.jsonl"));
    fs::write(&path, "one\n").unwrap();
    let [ours, theirs] = [Mode::Append, Mode::Read].map(|mode| open(&path, mode));
    assert!(ours.try_lock(Lock::Exclusive).unwrap());
    assert!(ours.try_lock(Lock::Exclusive).unwrap(), "it has it already");
    assert!(!theirs.try_lock(Lock::Shared).unwrap());
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"two\n").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    fs::rename(&path, &moved).unwrap();
    assert!(!open(&moved, Mode::Read).try_lock(Lock::Shared).unwrap(), "the lock belongs to the file");
    ours.unlock().unwrap();
    ours.unlock().unwrap();
    assert!(theirs.try_lock(Lock::Shared).unwrap() && ours.try_lock(Lock::Shared).unwrap());
    assert!(!ours.try_lock(Lock::Exclusive).unwrap());
    drop(theirs);
    assert!(ours.try_lock(Lock::Exclusive).unwrap(), "closing a file releases its lock");
}

#[test]
fn appends_go_to_the_end_whatever_is_read_in_between() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    let (one, two) = (open(&path, Mode::New), open(&path, Mode::Append));
    assert_eq!((one.append(b"a\n").unwrap(), one.position().unwrap()), (2, 2));
    assert_eq!((two.append(b"bb\n").unwrap(), two.position().unwrap()), (3, 5));
    let mut bytes = [0; 4];
    assert_eq!((one.read_at(&mut bytes, 1).unwrap(), &bytes), (4, b"\nbb\n"));
    assert_eq!(one.position().unwrap(), 2);
    assert_eq!((one.append(b"c\n").unwrap(), one.position().unwrap()), (2, 7));
    assert_eq!(fs::read(&path).unwrap(), b"a\nbb\nc\n");
}

#[test]
fn files_that_are_open_are_replaced_and_removed() {
    let dir = TempDir::new().unwrap();
    let (path, new) = (dir.path().join("guard"), dir.path().join("new"));
    let [old, reader] = [Mode::Sidecar, Mode::Read].map(|mode| open(&path, mode));
    old.write_at(b"old", 0).unwrap();
    fs::write(&new, "new").unwrap();
    RealOs.rename(&new, &path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(old.stat().unwrap().n_links, 0, "it shows that it was replaced");
    let mut bytes = [0; 3];
    assert_eq!((reader.read_at(&mut bytes, 0).unwrap(), &bytes), (3, b"old"));

    let removed = open(&path, Mode::Sidecar);
    RealOs.remove(&path).unwrap();
    assert_eq!(removed.stat().unwrap().n_links, 0);
    assert_eq!(RealOs.stat(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    open(&path, Mode::New).append(b"another").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"another", "the name was free at once");
    drop((old, reader, removed));
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["guard"], "nothing is left");
}

#[test]
fn a_name_that_is_taken_stays_with_its_file() {
    let dir = TempDir::new().unwrap();
    let [one, two, free] = ["one", "two", "free"].map(|name| dir.path().join(name));
    fs::write(&one, "1").unwrap();
    fs::write(&two, "2").unwrap();
    assert_eq!(RealOs.rename_new(&one, &two).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(RealOs.link(&one, &two).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!((fs::read(&one).unwrap(), fs::read(&two).unwrap()), (b"1".to_vec(), b"2".to_vec()));
    RealOs.rename_new(&one, &free).unwrap();
    RealOs.link(&free, &one).unwrap();
    let [there, again] = [&free, &one].map(|path| RealOs.stat(path).unwrap());
    assert_eq!((there.identity, there.n_links), (again.identity, 2));
    assert_ne!(there.identity, RealOs.stat(&two).unwrap().identity);
}

#[test]
fn directories_and_times_are_known() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, "x").unwrap();
    assert_eq!(RealOs.stat(dir.path()).unwrap().kind, FileKind::Directory);
    assert_eq!(open(dir.path(), Mode::Read).stat().unwrap().kind, FileKind::Directory);
    assert!(RealOs.open(dir.path(), Mode::Append).is_err());
    RealOs.set_modified(&path, 1_700_000_000_123).unwrap();
    assert_eq!(RealOs.stat(&path).unwrap().modified_ms, 1_700_000_000_123);
    RealOs.touch(dir.path()).unwrap();
    RealOs.sync_directory(dir.path()).unwrap();
    assert!(RealOs.sync_directory(&dir.path().join("none")).is_err());
    assert!(open(&path, Mode::Read).free_space().unwrap() > 0);
    assert!(!RealOs.is_shared(&path).unwrap());
    assert!(RealOs.is_running(std::process::id()) && !RealOs.is_running(u32::MAX - 3));
    assert!(RealOs.boot_ms() > 0);
}

#[test]
fn resolved_paths_are_spelled_as_other_programs_spell_them() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, "x").unwrap();
    let real = RealOs.real_path(&dir.path().join(".").join("s.jsonl")).unwrap();
    assert!(!real.to_string_lossy().starts_with(r"\\"), "{}", real.display());
    assert_eq!(RealOs.stat(&real).unwrap().identity, RealOs.stat(&path).unwrap().identity);
    let long = dir.path().join("x".repeat(200)).join("y".repeat(200));
    fs::create_dir_all(&long).unwrap();
    fs::write(long.join("a"), "x").unwrap();
    RealOs.rename_new(&long.join("a"), &long.join("b")).unwrap();
    assert!(RealOs.stat(&long.join("b")).is_ok());
}
