//! Follows real files that other programs write. Nothing here depends on timing.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use sessile_store::os::{Identity, Layer, Layered, Os, RealOs, Stat};
use sessile_store::{Polled, StoreError, Tail, TailEvent, TailStart, Watch};
use tempfile::TempDir;

/// Long enough for any machine; a failing test waits this long.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A file that a tail follows.
struct FollowedFile {
    dir: TempDir,
    path: PathBuf,
}

impl FollowedFile {
    fn new(text: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, text).unwrap();
        Self { dir, path }
    }

    fn tail(&self, from: TailStart) -> Tail {
        Tail::open(Arc::new(RealOs), &self.path, from).unwrap()
    }

    fn append(&self, text: &str) {
        OpenOptions::new().append(true).open(&self.path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Overwrites existing bytes.
    fn overwrite(&self, text: &str, offset: u64) {
        let mut file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.seek(SeekFrom::Start(offset)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Makes the file look as if it was last modified this long ago.
    fn age(&self, age: Duration) {
        let time = SystemTime::now() - age;
        File::options().append(true).open(&self.path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    }
}

fn word(event: TailEvent<'_>) -> String {
    match event {
        TailEvent::Line(line) => {
            assert!(line.terminated);
            match line.bytes {
                Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                None => format!("({} bytes)", line.span.len),
            }
        }
        TailEvent::Restarted { reason } => format!("{reason:?}"),
        TailEvent::Gone => "Gone".to_owned(),
    }
}

/// Returns all events of a tail up to now.
fn poll_all(tail: &mut Tail) -> Vec<String> {
    let mut words = Vec::new();
    let is_done = (0..100).any(|_| tail.poll(&mut |event| words.push(word(event))).unwrap() == Polled::CaughtUp);
    assert!(is_done, "the tail never catches up");
    words
}

#[test]
fn only_whole_lines_are_delivered() {
    let file = FollowedFile::new("one\ntwo\nthr");
    let mut tail = file.tail(TailStart::Beginning);
    assert_eq!(poll_all(&mut tail), ["one", "two"]);
    assert_eq!(tail.offset(), 8);
    assert!(poll_all(&mut tail).is_empty());
    for piece in ["e", "e", "", " and a half"] {
        file.append(piece);
        assert!(poll_all(&mut tail).is_empty(), "{piece:?}");
    }
    file.append("\nfour\nfi");
    assert_eq!(poll_all(&mut tail), ["three and a half", "four"]);
    file.append("ve\r\n\n six\r\n");
    assert_eq!(poll_all(&mut tail), ["five\r", "", " six\r"]);
}

#[test]
fn reading_begins_at_the_requested_offset() {
    let file = FollowedFile::new("one\ntwo\nthr");
    assert_eq!(poll_all(&mut file.tail(TailStart::Offset(4))), ["two"]);
    assert_eq!(poll_all(&mut file.tail(TailStart::Offset(0))), ["one", "two"]);
    let mut end = file.tail(TailStart::End);
    assert_eq!((end.offset(), poll_all(&mut end)), (8, vec![]));
    file.append("ee\n");
    assert_eq!(poll_all(&mut end), ["three"]);
    let file = FollowedFile::new("no line yet");
    let mut end = file.tail(TailStart::End);
    assert_eq!((end.offset(), poll_all(&mut end)), (0, vec![]));
}

#[test]
fn an_offset_of_another_file_is_detected() {
    let file = FollowedFile::new("one\ntwo\n");
    assert_eq!(poll_all(&mut file.tail(TailStart::Offset(99))), ["Truncated", "one", "two"]);
    assert_eq!(poll_all(&mut file.tail(TailStart::Offset(5))), ["Rewritten", "one", "two"]);
}

#[test]
fn lines_over_the_cap_are_skipped_and_reported() {
    let file = FollowedFile::new("short\na very long line\nshort again\n");
    let mut tail = file.tail(TailStart::Beginning).with_cap(11);
    assert_eq!(poll_all(&mut tail), ["short", "(16 bytes)", "short again"]);
    file.append("x\n");
    assert_eq!(poll_all(&mut tail), ["x"]);
}

#[test]
fn long_lines_and_many_lines_are_read_in_chunks() {
    let long = "x".repeat(700_000);
    let file = FollowedFile::new(&format!("{long}\n{}", "y\n".repeat(300_000)));
    let mut tail = file.tail(TailStart::Beginning);
    let mut n_polls = 0;
    let mut n_lines = 0;
    loop {
        n_polls += 1;
        if tail.poll(&mut |_| n_lines += 1).unwrap() == Polled::CaughtUp {
            break;
        }
    }
    assert_eq!(n_lines, 300_001);
    assert!(n_polls > 2, "{n_polls}");
    // A long line in pieces is not buffered, and arrives whole.
    for _ in 0..5 {
        file.append(&long);
        assert!(poll_all(&mut tail).is_empty());
    }
    file.append("\n");
    assert_eq!(poll_all(&mut tail), [long.repeat(5)]);
}

/// C7: truncated to nothing and to the end of a line, and grown again before a poll.
#[test]
fn a_truncated_file_is_read_again() {
    let file = FollowedFile::new("one\ntwo\n");
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    fs::write(&file.path, "").unwrap();
    assert_eq!(poll_all(&mut tail), ["Truncated"]);
    file.append("three\nfour\n");
    assert_eq!(poll_all(&mut tail), ["three", "four"]);
    OpenOptions::new().write(true).open(&file.path).unwrap().set_len(6).unwrap();
    assert_eq!(poll_all(&mut tail), ["Truncated", "three"]);
    fs::write(&file.path, "another file, and a longer one\n").unwrap();
    assert_eq!(poll_all(&mut tail), ["Rewritten", "another file, and a longer one"]);
}

/// The unfinished line was not delivered, so its change needs no event.
#[test]
fn an_unfinished_line_may_change() {
    let file = FollowedFile::new("one\nunfinished");
    let mut tail = file.tail(TailStart::Beginning);
    assert_eq!(poll_all(&mut tail), ["one"]);
    OpenOptions::new().write(true).open(&file.path).unwrap().set_len(4).unwrap();
    assert!(poll_all(&mut tail).is_empty());
    file.append("two\nunfin");
    assert_eq!(poll_all(&mut tail), ["two"]);
    file.overwrite("end\n", 9);
    file.age(Duration::from_mins(1));
    assert_eq!(poll_all(&mut tail), ["uend"]);
}

/// C7: replaced by rename, also with a file that begins with the same bytes.
#[test]
fn a_replaced_file_is_read_again() {
    let file = FollowedFile::new("one\ntwo\n");
    let mut tail = file.tail(TailStart::End);
    for text in ["one\ntwo\n", "one\ntwo\nthree\n", "x\n"] {
        let other = file.dir.path().join("other");
        fs::write(&other, text).unwrap();
        RealOs.rename(&other, &file.path).unwrap();
        let expected: Vec<_> = ["Replaced"].into_iter().chain(text.lines()).collect();
        assert_eq!(poll_all(&mut tail), expected);
    }
}

/// C7: deleted and created again, with and without a poll in between.
#[test]
fn a_recreated_file_is_read_again() {
    let file = FollowedFile::new("one\n");
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    for is_noticed in [true, false] {
        RealOs.remove(&file.path).unwrap();
        if is_noticed {
            assert_eq!(poll_all(&mut tail), ["Gone"]);
            assert!(poll_all(&mut tail).is_empty());
        }
        fs::write(&file.path, "one\n").unwrap();
        assert_eq!(poll_all(&mut tail), ["Replaced", "one"]);
    }
}

#[test]
fn a_missing_file_is_awaited() {
    let file = FollowedFile::new("");
    let path = file.dir.path().join("later/s.jsonl");
    let mut tail = Tail::open(Arc::new(RealOs), &path, TailStart::End).unwrap();
    assert_eq!(poll_all(&mut tail), ["Gone"]);
    fs::create_dir(path.parent().unwrap()).unwrap();
    assert!(poll_all(&mut tail).is_empty());
    fs::write(&path, "one\n").unwrap();
    assert_eq!(poll_all(&mut tail), ["Replaced", "one"]);
}

#[test]
fn a_path_that_is_not_a_regular_file_is_refused_until_it_is_removed() {
    let file = FollowedFile::new("one\n");
    let refused = Tail::open(Arc::new(RealOs), file.dir.path(), TailStart::End);
    assert!(matches!(refused, Err(StoreError::NotRegular { .. })));
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    RealOs.remove(&file.path).unwrap();
    fs::create_dir(&file.path).unwrap();
    assert!(matches!(tail.poll(&mut |_| ()), Err(StoreError::NotRegular { .. })));
    fs::remove_dir(&file.path).unwrap();
    fs::write(&file.path, "two\n").unwrap();
    assert_eq!(poll_all(&mut tail), ["Replaced", "two"]);
}

/// C7: overwritten in place, so that the file is longer, shorter or as long as before.
#[test]
fn an_overwritten_file_is_read_again() {
    for text in ["ONE\ntwo\nthree\n", "one\nTWO\nthree\n", "ONE\ntwo\n", "one\nTWO\n"] {
        let file = FollowedFile::new("one\ntwo\n");
        let mut tail = file.tail(TailStart::Beginning);
        poll_all(&mut tail);
        file.overwrite(text, 0);
        let expected: Vec<_> = ["Rewritten"].into_iter().chain(text.lines()).collect();
        assert_eq!(poll_all(&mut tail), expected);
    }
    let file = FollowedFile::new("one\ntwo\n");
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    fs::write(&file.path, "ONE\n").unwrap();
    assert_eq!(poll_all(&mut tail), ["Truncated", "ONE"]);
}

/// A megabyte of different lines.
fn megabyte() -> String {
    let lines: Vec<_> = (0..65_536).map(|number| format!("line {number:010}\n")).collect();
    lines.concat()
}

/// C7: as long as before, far from both ends: detected when the file has been quiet for a while.
#[test]
fn a_change_in_the_middle_is_detected_once_the_file_is_quiet() {
    let file = FollowedFile::new(&megabyte());
    file.age(Duration::from_mins(2));
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    poll_all(&mut tail);
    file.overwrite("LINE", 600_000);
    file.age(Duration::from_mins(1));
    let found: Vec<_> = poll_all(&mut tail).into_iter().chain(poll_all(&mut tail)).collect();
    assert_eq!((found[0].as_str(), found.len()), ("Rewritten", 65_537));
}

/// C7: the same change followed by an append, so that it stats like one: detected block by block.
#[test]
fn a_change_in_the_middle_of_a_busy_file_is_detected_eventually() {
    let file = FollowedFile::new(&megabyte());
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    file.overwrite("LINE", 600_000);
    let restarted = (0..20).find_map(|_| {
        file.append("more\n");
        poll_all(&mut tail).into_iter().find(|word| word == "Rewritten")
    });
    assert!(restarted.is_some());
}

#[test]
fn touching_a_file_does_not_restart_the_tail() {
    let file = FollowedFile::new(&megabyte());
    let mut tail = file.tail(TailStart::Beginning);
    poll_all(&mut tail);
    for age in [0, 1, 60, 0] {
        file.age(Duration::from_secs(age));
        assert!(poll_all(&mut tail).is_empty());
        assert!(poll_all(&mut tail).is_empty());
    }
    file.append("more\n");
    assert_eq!(poll_all(&mut tail), ["more"]);
}

/// Gives all files the same inode, and counts metadata reads and reads.
#[derive(Debug, Default)]
struct SameInode {
    stats: AtomicUsize,
    reads: AtomicUsize,
}

impl Layer for SameInode {
    fn before_stat(&self) {
        self.stats.fetch_add(1, Ordering::Relaxed);
    }

    fn before_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn map_stat(&self, stat: Stat) -> Stat {
        Stat { identity: Identity::default(), ..stat }
    }
}

/// C7: the new file has the inode of the old one.
#[cfg_attr(windows, ignore = "wine does not say that an open file was removed")]
#[test]
fn a_reused_inode_number_is_detected() {
    let file = FollowedFile::new("one\n");
    let mut tail =
        Tail::open(Arc::new(Layered::new(Arc::new(SameInode::default()))), &file.path, TailStart::Beginning).unwrap();
    poll_all(&mut tail);
    for text in ["two\n", "two\nthree\n", "x\n"] {
        RealOs.remove(&file.path).unwrap();
        fs::write(&file.path, text).unwrap();
        let expected: Vec<_> = ["Replaced"].into_iter().chain(text.lines()).collect();
        assert_eq!(poll_all(&mut tail), expected);
    }
}

#[test]
fn a_quiet_file_costs_one_stat_per_poll() {
    let file = FollowedFile::new(&megabyte());
    file.age(Duration::from_mins(1));
    let layer = Arc::new(SameInode::default());
    let mut tail = Tail::open(Arc::new(Layered::new(Arc::clone(&layer))), &file.path, TailStart::Beginning).unwrap();
    poll_all(&mut tail);
    poll_all(&mut tail);
    let counts = || [&layer.stats, &layer.reads].map(|count| count.load(Ordering::Relaxed));
    let before = counts();
    for _ in 0..10 {
        assert!(poll_all(&mut tail).is_empty());
    }
    assert_eq!(counts(), [before[0] + 10, before[1]]);
}

/// Follows the file until all lines were seen, and checks that they arrive in order.
fn follow_to_end(path: &Path, n_lines: u64, is_polling: bool) {
    let mut watch = if is_polling { Watch::polling() } else { Watch::new(path) };
    let mut tail = Tail::open(Arc::new(RealOs), path, TailStart::Beginning).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    let mut n_seen = 0;
    while n_seen < n_lines {
        let polled = tail.poll(&mut |event| {
            assert_eq!(word(event), storm_line(n_seen));
            n_seen += 1;
        });
        if polled.unwrap() == Polled::CaughtUp && n_seen < n_lines {
            assert!(Instant::now() < deadline, "{n_seen} of {n_lines}");
            watch.wait(Duration::from_secs(1));
        }
    }
}

fn storm_line(number: u64) -> String {
    let length = usize::try_from(number % 97).unwrap();
    format!(
        "{{\"number\":{number},\"text\":\"{}\"}}",
        "é".repeat(length * if number.is_multiple_of(500) { 999 } else { 1 })
    )
}

/// C8: eight readers while one writer appends as fast as it can, some lines in two writes.
#[test]
fn readers_during_heavy_writes_see_all_lines_whole_and_in_order() {
    let n_lines = 30_000;
    let file = FollowedFile::new("");
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let path = &file.path;
            scope.spawn(move || follow_to_end(path, n_lines, reader % 2 == 0));
        }
        scope.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&file.path).unwrap();
            for number in 0..n_lines {
                let line = storm_line(number) + "\n";
                let (first, second) = line.as_bytes().split_at(if number % 7 == 0 { line.len() / 3 } else { 0 });
                file.write_all(first).unwrap();
                file.write_all(second).unwrap();
            }
        });
    });
}

/// Waits until the expected events have arrived.
fn wait_until(watch: &mut Watch, tail: &mut Tail, expected: &[&str]) {
    let deadline = Instant::now() + TIMEOUT;
    let mut words = Vec::new();
    while words.len() < expected.len() {
        words.extend(poll_all(tail));
        assert!(Instant::now() < deadline, "{words:?} instead of {expected:?}");
        watch.wait(Duration::from_millis(50));
    }
    assert_eq!(words, expected);
}

/// C7, C16: the same scenario with system events and with polling.
#[test]
fn every_line_is_seen_however_the_watch_wakes() {
    for is_polling in [false, true] {
        let file = FollowedFile::new("one\n");
        let mut watch = if is_polling { Watch::polling() } else { Watch::new(&file.path) };
        assert!(!is_polling || watch.is_polling());
        let mut tail = file.tail(TailStart::Beginning);
        wait_until(&mut watch, &mut tail, &["one"]);
        file.append("two\n");
        wait_until(&mut watch, &mut tail, &["two"]);
        fs::rename(&file.path, file.dir.path().join("away")).unwrap();
        wait_until(&mut watch, &mut tail, &["Gone"]);
        fs::write(&file.path, "three\n").unwrap();
        wait_until(&mut watch, &mut tail, &["Replaced", "three"]);
    }
}

/// C16: a directory that is removed takes its watch along; after it is created again, there is none.
#[cfg_attr(windows, ignore = "wine keeps a directory whose files are open")]
#[test]
fn a_recreated_directory_is_polled() {
    let file = FollowedFile::new("");
    let dir = file.dir.path().join("sessions");
    let path = dir.join("s.jsonl");
    fs::create_dir(&dir).unwrap();
    fs::write(&path, "one\n").unwrap();
    let mut watch = Watch::new(&path);
    let mut tail = Tail::open(Arc::new(RealOs), &path, TailStart::End).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    wait_until(&mut watch, &mut tail, &["Gone"]);
    fs::create_dir(&dir).unwrap();
    fs::write(&path, "two\n").unwrap();
    wait_until(&mut watch, &mut tail, &["Replaced", "two"]);
}

#[cfg(unix)]
#[test]
fn changes_of_a_link_target_are_seen() {
    let file = FollowedFile::new("one\n");
    let link = file.dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&file.path, &link).unwrap();
    let mut watch = Watch::new(&link);
    let mut tail = Tail::open(Arc::new(RealOs), &link, TailStart::End).unwrap();
    file.append("two\n");
    wait_until(&mut watch, &mut tail, &["two"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a file is written and whenever it is polled: its whole lines, each once, in order.
    #[test]
    fn appended_pieces_are_delivered_as_whole_lines(
        pieces in proptest::collection::vec(("[ab\n\r]{0,6}", any::<bool>()), 0..30),
    ) {
        let file = FollowedFile::new("");
        let mut tail = file.tail(TailStart::Beginning);
        let (mut whole, mut words) = (String::new(), Vec::new());
        for (piece, is_looked_at) in &pieces {
            file.append(piece);
            whole.push_str(piece);
            if *is_looked_at {
                words.extend(poll_all(&mut tail));
            }
        }
        words.extend(poll_all(&mut tail));
        let mut expected: Vec<_> = whole.split('\n').map(str::to_owned).collect();
        expected.pop();
        prop_assert_eq!(words, expected);
    }
}
