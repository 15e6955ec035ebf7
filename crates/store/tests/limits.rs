//! Files of absurd sizes, files with holes, and things that are not regular files.
//!
//! Only on Unix: elsewhere, files have no holes, and other things have no names in a directory.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests act as other programs and panic on failure")]

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use sessile_core::line::LINE_CAP;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_store::os::{Mode, Os, RealOs};
use sessile_store::{
    FileLog, LineReader, Log, StoreError, Tail, TailEvent, TailStart, WriteOptions, after_hole, begins_with, read_whole,
};

const HUGE: u64 = 200 << 30;

/// Creates a file that has these bytes at these offsets, and holes elsewhere.
fn sparse(path: &Path, length: u64, parts: &[(u64, &[u8])]) {
    let file = File::create(path).unwrap();
    file.set_len(length).unwrap();
    for (at, bytes) in parts {
        file.write_all_at(bytes, *at).unwrap();
    }
}

#[test]
fn a_hole_is_skipped_and_the_lines_around_it_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let (first, second) = (b"{\"id\":\"00000001\"}\n{\"id\":\"00000002\"", b"}\n{\"id\":\"00000003\"}\n");
    sparse(&path, HUGE, &[(0, first), (HUGE - second.len() as u64, second)]);
    let os: Arc<dyn Os> = Arc::new(RealOs);
    let file = os.open(&path, Mode::Read).unwrap();
    let mut lines = Vec::new();
    LineReader::default()
        .read(file.as_ref(), &path, 0, &mut |line| {
            lines.push((line.span.offset, line.span.len, line.bytes.is_some(), line.terminated));
            true
        })
        .unwrap();
    let begin = first.len() as u64 - 16;
    let third = HUGE - 18;
    assert_eq!(lines, [(0, 17, true, true), (18, third - 19, false, true), (third, 17, true, true)], "{begin}");
    // Reading on all cores gives the same result.
    let log = FileLog::open(&os, &path, WriteOptions::default()).unwrap();
    let mut outline = Outline::new();
    log.scan_parts(0, &mut |part| outline.push_part(&part, &mut StableIds)).unwrap();
    assert_eq!((outline.n_entries(), outline.n_lines(), outline.end()), (2, 3, HUGE));
    // A tail that starts at the end finds the end.
    let mut tail = Tail::open(os, &path, TailStart::End).unwrap();
    let mut n_lines = 0;
    tail.poll(&mut |event| n_lines += usize::from(matches!(event, TailEvent::Line(_)))).unwrap();
    assert_eq!(n_lines, 0);
}

#[test]
fn files_with_holes_are_compared_without_reading_the_holes() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, length: u64, parts: &[(u64, &[u8])]| {
        let path = dir.path().join(name);
        sparse(&path, length, parts);
        path
    };
    let one = file("one", HUGE, &[(0, b"{}\n"), (HUGE - 3, b"end")]);
    let same = file("same", HUGE, &[(0, b"{}\n"), (HUGE - 3, b"end")]);
    let longer = file("longer", 2 * HUGE, &[(0, b"{}\n"), (HUGE - 3, b"end and more")]);
    let different = file("different", HUGE, &[(0, b"{}\n"), (HUGE / 2, b"x"), (HUGE - 3, b"end")]);
    let shorter = file("shorter", HUGE - 1, &[(0, b"{}\n")]);
    for (path, other, expected) in [
        (&one, &same, true),
        (&longer, &one, true),
        (&one, &longer, false),
        (&one, &different, false),
        (&different, &one, false),
        (&shorter, &one, false),
        (&one, &shorter, false),
    ] {
        assert_eq!(begins_with(&RealOs, path, other).unwrap(), expected, "{path:?} {other:?}");
    }
}

#[test]
fn a_hole_within_the_cap_reads_like_written_zeros() {
    let dir = tempfile::tempdir().unwrap();
    let (holed, written) = (dir.path().join("holed"), dir.path().join("written"));
    let end = (3 << 20) + 5;
    sparse(&holed, end + 3, &[(0, b"one\ntw"), (end, b"o\nx")]);
    fs::write(&written, fs::read(&holed).unwrap()).unwrap();
    let lines = |path: &Path| {
        let file = RealOs.open(path, Mode::Read).unwrap();
        let mut lines = Vec::new();
        let mut on_line = |line: sessile_core::line::Line<'_>| {
            lines.push((line.span, line.bytes.map(<[u8]>::to_vec), line.terminated));
            true
        };
        LineReader::default().read(file.as_ref(), path, 0, &mut on_line).unwrap();
        lines
    };
    assert_eq!(lines(&holed), lines(&written));
    assert_eq!(lines(&holed).len(), 3);
    assert!(end < LINE_CAP as u64);
}

#[test]
fn finding_holes_does_not_move_the_append_position() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    fs::write(&path, "one\n").unwrap();
    let file = RealOs.open(&path, Mode::Append).unwrap();
    file.append(b"two\n").unwrap();
    let place = file.position().unwrap();
    after_hole(file.as_ref(), &[0; 10], 1).unwrap();
    assert_eq!((file.position().unwrap(), place), (8, 8));
}

#[test]
fn a_note_that_is_too_long_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("note");
    sparse(&path, HUGE, &[]);
    let error = read_whole(&RealOs, &path, 1000).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { length: HUGE, limit: 1000, .. }), "{error}");
    fs::write(&path, "short").unwrap();
    assert_eq!(read_whole(&RealOs, &path, 1000).unwrap(), b"short");
}

#[test]
fn a_guard_that_is_too_long_is_ignored_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let guard = dir.path().join(".s.jsonl.sessile-guard");
    fs::write(&path, "{\"type\":\"session\",\"id\":\"s\"}\n").unwrap();
    let os: Arc<dyn Os> = Arc::new(RealOs);
    let mut log = FileLog::open(&os, &path, WriteOptions::default()).unwrap();
    log.append(b"{\"id\":\"1\"}\n", sessile_store::Expect::Anything).unwrap();
    drop(log);
    OpenOptions::new().write(true).open(&guard).unwrap().set_len(HUGE).unwrap();
    let mut log = FileLog::open(&os, &path, WriteOptions::default()).unwrap();
    drop(log.resume());
    log.append(b"{\"id\":\"2\"}\n", sessile_store::Expect::Anything).unwrap();
    let notices = log.take_notices();
    assert!(notices.iter().any(|notice| matches!(notice, sessile_store::Notice::Unguarded { .. })), "{notices:?}");
    drop(log);
    assert_eq!(fs::metadata(&guard).unwrap().len(), HUGE);
    assert!(sessile_store::missing_lines(&RealOs, &path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
}

#[test]
fn only_regular_files_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let odd = ["/proc/self/maps", "/proc/kmsg", "/proc/self/mem", "/dev/zero", "/dev/tty", "/sys/kernel/notes"];
    for path in odd.iter().map(Path::new).chain([pipe.as_path()]) {
        if fs::symlink_metadata(path).is_ok() {
            assert!(RealOs.open(path, Mode::Read).is_err(), "{}", path.display());
        }
    }
    assert_eq!(read_whole(&RealOs, Path::new("/dev/null"), 10).unwrap(), b"");
}
