//! The guarantees of logs, on real files and in memory.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::line::Span;
use sessile_store::os::{Layer, Layered, Os, RealOs};
use sessile_store::{
    Durability, Durable, Expect, FileLog, FileState, FoundFile, Log, LogName, MemoryLog, Notice, Overlay, Rewritten,
    StoreError, WriteOptions, create_directory, create_file, file_state, find_sessions, replace, subdirectories,
};
use tempfile::TempDir;

fn os() -> Arc<dyn Os> {
    Arc::new(RealOs)
}

fn open(path: impl Into<PathBuf>) -> Result<FileLog, StoreError> {
    FileLog::open(&os(), path, WriteOptions::default())
}

fn create(path: impl Into<PathBuf>, bytes: &[u8]) -> Result<FileLog, StoreError> {
    FileLog::create(&os(), path, bytes, WriteOptions::default())
}

fn make_directory(path: &Path) -> Result<(), StoreError> {
    create_directory(&RealOs, path, true)
}

fn make_file(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> Result<(), StoreError>) -> Result<(), StoreError> {
    create_file(&RealOs, path, true, write)
}

fn swap(
    path: &Path,
    known: u64,
    stamp: &str,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), StoreError>,
) -> Result<Rewritten, StoreError> {
    replace(&os(), path, known, stamp, write)
}

fn find(path: &Path) -> Result<Vec<FoundFile>, StoreError> {
    find_sessions(&RealOs, path)
}

fn directories(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    subdirectories(&RealOs, path)
}

fn state(path: &Path) -> Result<FileState, StoreError> {
    file_state(&RealOs, path)
}

fn file_log(bytes: &[u8]) -> (TempDir, FileLog) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, bytes).unwrap();
    let log = open(path).unwrap();
    (dir, log)
}

fn lines(log: &dyn Log, from: u64) -> Vec<String> {
    let mut lines = Vec::new();
    log.scan(from, &mut |line| lines.push(String::from_utf8_lossy(line.bytes.unwrap()).into_owned())).unwrap();
    lines
}

/// A scenario that runs for every kind of log.
fn check_log(log: &mut dyn Log) {
    assert_eq!(lines(log, 0), ["one", "torn"]);
    let appended = log.append(b"two\nthree\n", Expect::Length(8)).unwrap();
    // The torn line was sealed first.
    assert_eq!((appended.offset, appended.end), (9, 19));
    assert_eq!(lines(log, 0), ["one", "torn", "two", "three"]);
    assert_eq!(lines(log, appended.offset), ["two", "three"]);
    assert_eq!(log.read(Span { offset: 9, len: 3 }).unwrap(), b"two");
    assert!(matches!(log.read(Span { offset: 18, len: 9 }), Err(StoreError::Truncated { .. })));
    let refused = log.append(b"four\n", Expect::Length(8)).unwrap_err();
    assert!(matches!(refused, StoreError::Grown { expected: 8, actual: 19, .. }), "{refused}");
    assert_eq!(log.length().unwrap(), 19);
    assert_eq!(log.append(b"four\n", Expect::Anything).unwrap().offset, 19);
}

#[test]
fn all_kinds_of_logs_behave_alike() {
    check_log(&mut MemoryLog::new(b"one\ntorn".to_vec()));
    let (_dir, mut log) = file_log(b"one\ntorn");
    check_log(&mut log);
    let (_dir, log) = file_log(b"one\ntorn");
    check_log(&mut Overlay::new(Box::new(log)).unwrap());
}

#[test]
fn an_empty_log_needs_no_seal() {
    let (_dir, mut log) = file_log(b"");
    assert_eq!(log.append(b"a\n", Expect::Length(0)).unwrap().offset, 0);
    assert_eq!(MemoryLog::default().append(b"a\n", Expect::Length(0)).unwrap().offset, 0);
}

#[test]
fn a_deleted_file_does_not_come_back_without_its_header() {
    let (dir, mut log) = file_log(b"header\n");
    let path = dir.path().join("s.jsonl");
    RealOs.remove(&path).unwrap();
    assert!(matches!(log.append(b"x\n", Expect::Anything), Err(StoreError::Gone { .. })));
    assert!(!path.exists());
    fs::write(&path, "another\n").unwrap();
    assert!(matches!(log.append(b"x\n", Expect::Anything), Err(StoreError::Replaced { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"another\n");
}

#[test]
fn a_truncated_file_is_detected() {
    let (dir, mut log) = file_log(b"one\ntwo\n");
    fs::write(dir.path().join("s.jsonl"), "one\n").unwrap();
    let error = log.append(b"x\n", Expect::Length(8)).unwrap_err();
    assert!(matches!(error, StoreError::Truncated { expected: 8, actual: 4, .. }), "{error}");
}

#[test]
fn links_and_directories_are_not_written_to() {
    let (dir, _log) = file_log(b"one\n");
    // On Windows, only some users may make links.
    #[cfg(unix)]
    {
        let link = dir.path().join("link.jsonl");
        symlink(dir.path().join("s.jsonl"), &link).unwrap();
        let mut log = open(&link).unwrap();
        assert!(matches!(log.append(b"x\n", Expect::Anything), Err(StoreError::NotRegular { .. })));
    }
    assert_eq!(fs::read(dir.path().join("s.jsonl")).unwrap(), b"one\n");
    assert!(matches!(open(dir.path()), Err(StoreError::NotRegular { .. })));
    assert_eq!(state(dir.path()).unwrap(), FileState::Other);
    assert_eq!(state(&dir.path().join("none")).unwrap(), FileState::Missing);
}

/// The mode of a file, which Windows does not have.
fn mode(path: &Path) -> u32 {
    #[cfg(unix)]
    return fs::metadata(path).unwrap().permissions().mode() & 0o777;
    #[cfg(not(unix))]
    return RealOs.stat(path).unwrap().mode;
}

#[test]
fn new_files_and_directories_are_private() {
    let dir = TempDir::new().unwrap();
    let deep = dir.path().join("a/b");
    make_directory(&deep).unwrap();
    assert_eq!((mode(&dir.path().join("a")), mode(&deep)), (0o700, 0o700));
    create(deep.join("f"), b"x").unwrap();
    assert_eq!(mode(&deep.join("f")), 0o600);
    assert!(matches!(create(deep.join("f"), b"y"), Err(StoreError::Exists { .. })));
    assert_eq!(fs::read(deep.join("f")).unwrap(), b"x");
}

#[test]
fn a_file_whose_first_write_fails_leaves_its_name_free() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("f");
    let failed: Result<(), StoreError> = make_file(&path, &mut |out| {
        out.write_all(b"half").unwrap();
        Err(StoreError::Gone { log: LogName::file(&path) })
    });
    assert!(failed.is_err());
    assert!(!path.exists());
    let mut log = create(path, b"whole\n").unwrap();
    assert_eq!(log.append(b"more\n", Expect::Length(6)).unwrap().end, 11);
}

#[test]
fn a_replacement_keeps_the_original_and_late_lines() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, "old\n").unwrap();
    let rewritten = swap(&path, 4, "now", &mut |out| {
        out.write_all(b"new\n").unwrap();
        // Another program appends while we write.
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"late\n").unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new\nlate\n");
    assert_eq!(rewritten.original, dir.path().join("s.jsonl.orig-now"));
    assert_eq!(fs::read(&rewritten.original).unwrap(), b"old\nlate\n");
    assert_eq!(mode(&path), 0o600);
    // A second one at the same instant keeps its original as well.
    let again = swap(&path, 9, "now", &mut |out| {
        out.write_all(b"newer\n").unwrap();
        Ok(())
    });
    assert_eq!(again.unwrap().original, dir.path().join("s.jsonl.orig-now-1"));
    drop(rewritten);
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    // The guard counts the swaps; no temporary file stays.
    let expected = [".s.jsonl.sessile-guard", "s.jsonl", "s.jsonl.orig-now", "s.jsonl.orig-now-1"];
    assert_eq!(names, expected);
}

#[test]
fn a_replacement_keeps_holes_and_the_modification_time() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, b"old\n").unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_700_000_000_123);
    fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let zeros = vec![0; 300 << 10];
    swap(&path, 4, "t", &mut |out| {
        out.write_all(b"new\n").unwrap();
        (0..200).for_each(|_| out.write_all(&zeros).unwrap());
        out.write_all(b"end\n").unwrap();
        Ok(())
    })
    .unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 8 + 200 * zeros.len());
    let (first, last) = (&bytes[..4], &bytes[bytes.len() - 4..]);
    assert_eq!((first, last), (&b"new\n"[..], &b"end\n"[..]));
    assert!(bytes[4..bytes.len() - 4].iter().all(|byte| *byte == 0));
    let metadata = fs::metadata(&path).unwrap();
    #[cfg(unix)]
    assert!(metadata.blocks() * 512 < 8 << 20, "{} blocks", metadata.blocks());
    assert_eq!(metadata.modified().unwrap(), long_ago);
}

#[cfg(unix)]
#[test]
fn a_kept_original_is_private() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, "old\n").unwrap();
    // pi uses this mode. The original holds most of the new content, so it must become private too.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let rewritten = swap(&path, 4, "now", &mut |out| {
        out.write_all(b"new\n").unwrap();
        Ok(())
    });
    assert_eq!((mode(&path), mode(&rewritten.unwrap().original)), (0o600, 0o600));
}

#[test]
fn a_replacement_that_fails_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, "old\n").unwrap();
    let failed = swap(&path, 4, "now", &mut |out| {
        out.write_all(b"half").unwrap();
        Err(StoreError::Gone { log: LogName::file(&path) })
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old\n");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn discovery_skips_files_that_are_not_sessions() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("b.jsonl"), "x").unwrap();
    fs::write(path("a.jsonl"), "x").unwrap();
    fs::write(path("c.JSONL"), "x").unwrap();
    fs::write(path("d.jsonl.orig-1"), "x").unwrap();
    fs::create_dir(path("dir.jsonl")).unwrap();
    #[cfg(not(unix))]
    {
        let found: Vec<_> = find(dir.path()).unwrap().into_iter().map(|found| found.path).collect();
        assert_eq!(found, [path("a.jsonl"), path("b.jsonl")]);
        assert_eq!(directories(dir.path()).unwrap(), [path("dir.jsonl")]);
    }
    #[cfg(unix)]
    links_pipes_and_odd_names_are_discovered(dir.path(), &path);
    assert_eq!(find(&path("missing")).unwrap(), []);
}

#[cfg(unix)]
fn links_pipes_and_odd_names_are_discovered(dir: &Path, path: &dyn Fn(&str) -> PathBuf) {
    symlink(path("nothing"), path("dangling.jsonl")).unwrap();
    symlink(path("a.jsonl"), path("link.jsonl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path("pipe.jsonl")).status().unwrap();
    assert!(made.success());
    let not_utf8 = dir.join(std::ffi::OsStr::from_bytes(b"x\xff.jsonl"));
    fs::write(&not_utf8, "x").unwrap();
    let found: Vec<_> = find(dir).unwrap().into_iter().map(|found| found.path).collect();
    assert_eq!(found, [path("a.jsonl"), path("b.jsonl"), path("link.jsonl"), not_utf8]);
    assert!(matches!(open(path("pipe.jsonl")), Err(StoreError::NotRegular { .. })));
    symlink(path("dir.jsonl"), path("linked-dir")).unwrap();
    assert_eq!(directories(dir).unwrap(), [path("dir.jsonl"), path("linked-dir")]);
}

/// Two processes take turns with records of every size, and a third program truncates the file: everything is restored
/// in order.
#[test]
fn records_of_several_writers_are_guarded_together() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    let header = br#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}"#;
    let header = [&header[..], b"\n"].concat();
    let mut logs = [create(&path, &header).unwrap(), open(&path).unwrap()];
    let mut whole = header.clone();
    for (index, size) in [10, 40_000, 3, 300_000, 16_000, 16_384, 1_100_000, 5].into_iter().enumerate() {
        let text = "x".repeat(size);
        let line = format!("{{\"type\":\"custom\",\"id\":\"{index}\",\"parentId\":null,\"data\":\"{text}\"}}\n");
        logs[index % 2].append(line.as_bytes(), Expect::Anything).unwrap();
        whole.extend_from_slice(line.as_bytes());
    }
    fs::write(&path, &header).unwrap();
    logs[0].recover().unwrap();
    assert!(fs::read(&path).unwrap() == whole, "the same lines in the same order");
    let recovered = logs[0].take_notices();
    assert!(matches!(&recovered[..], [Notice::Recovered { lines }] if lines.len() == 8), "{recovered:?}");
}

/// A disk whose cache no sync empties.
#[derive(Debug)]
struct CachingDisk;

impl Layer for CachingDisk {
    fn lets_syncs_reach_disk(&self) -> bool {
        false
    }
}

#[test]
fn a_sync_that_does_not_reach_the_disk_promises_no_more_than_the_cache() {
    let dir = TempDir::new().unwrap();
    let durable = |os: Arc<dyn Os>, name: &str, durability| {
        let options = WriteOptions { durability, ..WriteOptions::default() };
        let mut log = FileLog::create(&os, dir.path().join(name), b"one\n", options).unwrap();
        log.append(b"two\n", Expect::Anything).unwrap();
        (log.durable(), log.make_durable().unwrap())
    };
    for (number, durability) in [Durability::Sync, Durability::Group].into_iter().enumerate() {
        let caching = Arc::new(Layered::new(Arc::new(CachingDisk)));
        let expected = (Durable::PageCache, Durable::PageCache);
        assert_eq!(durable(caching, &format!("caching-{number}"), durability), expected);
        assert_eq!(durable(os(), &format!("real-{number}"), durability), (Durable::Disk, Durable::Disk));
    }
}
