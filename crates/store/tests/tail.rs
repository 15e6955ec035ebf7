//! Follows real files that others write. Nothing here depends on timing.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at their own files")]

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use sessile_store::os::{Identity, Layer, Layered, RealOs, Stat};
use sessile_store::{Polled, StoreError, Tail, TailEvent, TailStart, Watch};
use tempfile::TempDir;

/// Long enough for any machine; a failing test waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

/// A file that a tail follows.
struct Scene {
    dir: TempDir,
    path: PathBuf,
}

impl Scene {
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
        OpenOptions::new().write(true).open(&self.path).unwrap().write_all_at(text.as_bytes(), offset).unwrap();
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
fn told(tail: &mut Tail) -> Vec<String> {
    let mut words = Vec::new();
    let is_done = (0..100).any(|_| tail.poll(&mut |event| words.push(word(event))).unwrap() == Polled::CaughtUp);
    assert!(is_done, "there is always more");
    words
}

#[test]
fn lines_come_once_they_are_whole() {
    let scene = Scene::new("one\ntwo\nthr");
    let mut tail = scene.tail(TailStart::Beginning);
    assert_eq!(told(&mut tail), ["one", "two"]);
    assert_eq!(tail.offset(), 8);
    assert!(told(&mut tail).is_empty());
    for piece in ["e", "e", "", " and a half"] {
        scene.append(piece);
        assert!(told(&mut tail).is_empty(), "{piece:?}");
    }
    scene.append("\nfour\nfi");
    assert_eq!(told(&mut tail), ["three and a half", "four"]);
    scene.append("ve\r\n\n six\r\n");
    assert_eq!(told(&mut tail), ["five\r", "", " six\r"]);
}

#[test]
fn reading_begins_where_it_is_told_to() {
    let scene = Scene::new("one\ntwo\nthr");
    assert_eq!(told(&mut scene.tail(TailStart::Offset(4))), ["two"]);
    assert_eq!(told(&mut scene.tail(TailStart::Offset(0))), ["one", "two"]);
    let mut end = scene.tail(TailStart::End);
    assert_eq!((end.offset(), told(&mut end)), (8, vec![]));
    scene.append("ee\n");
    assert_eq!(told(&mut end), ["three"]);
    let scene = Scene::new("no line yet");
    let mut end = scene.tail(TailStart::End);
    assert_eq!((end.offset(), told(&mut end)), (0, vec![]));
}

#[test]
fn an_offset_of_another_file_is_found_out() {
    let scene = Scene::new("one\ntwo\n");
    assert_eq!(told(&mut scene.tail(TailStart::Offset(99))), ["Truncated", "one", "two"]);
    assert_eq!(told(&mut scene.tail(TailStart::Offset(5))), ["Rewritten", "one", "two"]);
}

#[test]
fn lines_over_the_cap_are_passed_over_and_told() {
    let scene = Scene::new("short\na very long line\nshort again\n");
    let mut tail = scene.tail(TailStart::Beginning).with_cap(11);
    assert_eq!(told(&mut tail), ["short", "(16 bytes)", "short again"]);
    scene.append("x\n");
    assert_eq!(told(&mut tail), ["x"]);
}

#[test]
fn long_lines_and_many_lines_come_chunk_by_chunk() {
    let long = "x".repeat(700_000);
    let scene = Scene::new(&format!("{long}\n{}", "y\n".repeat(300_000)));
    let mut tail = scene.tail(TailStart::Beginning);
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
        scene.append(&long);
        assert!(told(&mut tail).is_empty());
    }
    scene.append("\n");
    assert_eq!(told(&mut tail), [long.repeat(5)]);
}

/// C7: truncated to nothing and to the end of a line, and grown again before a poll.
#[test]
fn a_file_that_was_cut_is_read_again() {
    let scene = Scene::new("one\ntwo\n");
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    fs::write(&scene.path, "").unwrap();
    assert_eq!(told(&mut tail), ["Truncated"]);
    scene.append("three\nfour\n");
    assert_eq!(told(&mut tail), ["three", "four"]);
    OpenOptions::new().write(true).open(&scene.path).unwrap().set_len(6).unwrap();
    assert_eq!(told(&mut tail), ["Truncated", "three"]);
    fs::write(&scene.path, "another file, and a longer one\n").unwrap();
    assert_eq!(told(&mut tail), ["Rewritten", "another file, and a longer one"]);
}

/// The unfinished line was not delivered, so its change needs no event.
#[test]
fn an_unfinished_line_may_change() {
    let scene = Scene::new("one\nunfinished");
    let mut tail = scene.tail(TailStart::Beginning);
    assert_eq!(told(&mut tail), ["one"]);
    OpenOptions::new().write(true).open(&scene.path).unwrap().set_len(4).unwrap();
    assert!(told(&mut tail).is_empty());
    scene.append("two\nunfin");
    assert_eq!(told(&mut tail), ["two"]);
    scene.overwrite("end\n", 9);
    scene.age(Duration::from_mins(1));
    assert_eq!(told(&mut tail), ["uend"]);
}

/// C7: replaced by rename, also with a file that begins with the same bytes.
#[test]
fn a_file_that_was_replaced_is_read_again() {
    let scene = Scene::new("one\ntwo\n");
    let mut tail = scene.tail(TailStart::End);
    for text in ["one\ntwo\n", "one\ntwo\nthree\n", "x\n"] {
        let other = scene.dir.path().join("other");
        fs::write(&other, text).unwrap();
        fs::rename(&other, &scene.path).unwrap();
        let expected: Vec<_> = ["Replaced"].into_iter().chain(text.lines()).collect();
        assert_eq!(told(&mut tail), expected);
    }
}

/// C7: deleted and created again, with and without a poll in between.
#[test]
fn a_file_that_was_made_again_is_read_again() {
    let scene = Scene::new("one\n");
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    for is_noticed in [true, false] {
        fs::remove_file(&scene.path).unwrap();
        if is_noticed {
            assert_eq!(told(&mut tail), ["Gone"]);
            assert!(told(&mut tail).is_empty());
        }
        fs::write(&scene.path, "one\n").unwrap();
        assert_eq!(told(&mut tail), ["Replaced", "one"]);
    }
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for() {
    let scene = Scene::new("");
    let path = scene.dir.path().join("later/s.jsonl");
    let mut tail = Tail::open(Arc::new(RealOs), &path, TailStart::End).unwrap();
    assert_eq!(told(&mut tail), ["Gone"]);
    fs::create_dir(path.parent().unwrap()).unwrap();
    assert!(told(&mut tail).is_empty());
    fs::write(&path, "one\n").unwrap();
    assert_eq!(told(&mut tail), ["Replaced", "one"]);
}

#[test]
fn what_is_not_a_file_is_refused_as_long_as_it_is_there() {
    let scene = Scene::new("one\n");
    let refused = Tail::open(Arc::new(RealOs), scene.dir.path(), TailStart::End);
    assert!(matches!(refused, Err(StoreError::NotRegular { .. })));
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    fs::remove_file(&scene.path).unwrap();
    fs::create_dir(&scene.path).unwrap();
    assert!(matches!(tail.poll(&mut |_| ()), Err(StoreError::NotRegular { .. })));
    fs::remove_dir(&scene.path).unwrap();
    fs::write(&scene.path, "two\n").unwrap();
    assert_eq!(told(&mut tail), ["Replaced", "two"]);
}

/// C7: overwritten in place, so that the file is longer, shorter or as long as before.
#[test]
fn a_file_that_was_written_over_is_read_again() {
    for text in ["ONE\ntwo\nthree\n", "one\nTWO\nthree\n", "ONE\ntwo\n", "one\nTWO\n"] {
        let scene = Scene::new("one\ntwo\n");
        let mut tail = scene.tail(TailStart::Beginning);
        told(&mut tail);
        scene.overwrite(text, 0);
        let expected: Vec<_> = ["Rewritten"].into_iter().chain(text.lines()).collect();
        assert_eq!(told(&mut tail), expected);
    }
    let scene = Scene::new("one\ntwo\n");
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    fs::write(&scene.path, "ONE\n").unwrap();
    assert_eq!(told(&mut tail), ["Truncated", "ONE"]);
}

/// A megabyte of different lines.
fn megabyte() -> String {
    let lines: Vec<_> = (0..65_536).map(|number| format!("line {number:010}\n")).collect();
    lines.concat()
}

/// C7: as long as before, far from both ends: detected when the file has been quiet for a while.
#[test]
fn a_change_in_the_middle_is_found_once_the_file_is_quiet() {
    let scene = Scene::new(&megabyte());
    scene.age(Duration::from_mins(2));
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    told(&mut tail);
    scene.overwrite("LINE", 600_000);
    scene.age(Duration::from_mins(1));
    let found: Vec<_> = told(&mut tail).into_iter().chain(told(&mut tail)).collect();
    assert_eq!((found[0].as_str(), found.len()), ("Rewritten", 65_537));
}

/// C7: the same change followed by an append, so that it looks like one: detected block by block.
#[test]
fn a_change_in_the_middle_of_a_busy_file_is_found_in_turn() {
    let scene = Scene::new(&megabyte());
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    scene.overwrite("LINE", 600_000);
    let restarted = (0..20).find_map(|_| {
        scene.append("more\n");
        told(&mut tail).into_iter().find(|word| word == "Rewritten")
    });
    assert!(restarted.is_some());
}

#[test]
fn a_touched_file_is_the_same_file() {
    let scene = Scene::new(&megabyte());
    let mut tail = scene.tail(TailStart::Beginning);
    told(&mut tail);
    for age in [0, 1, 60, 0] {
        scene.age(Duration::from_secs(age));
        assert!(told(&mut tail).is_empty());
        assert!(told(&mut tail).is_empty());
    }
    scene.append("more\n");
    assert_eq!(told(&mut tail), ["more"]);
}

/// Gives all files the same inode, and counts metadata reads and reads.
#[derive(Debug, Default)]
struct OneNumber {
    looks: AtomicUsize,
    reads: AtomicUsize,
}

impl Layer for OneNumber {
    fn before_stat(&self) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }

    fn before_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn seen(&self, stat: Stat) -> Stat {
        Stat { identity: Identity::default(), ..stat }
    }
}

/// C7: the new file has the inode of the old one.
#[test]
fn a_process_id_that_is_used_again_is_not_mistaken() {
    let scene = Scene::new("one\n");
    let mut tail =
        Tail::open(Arc::new(Layered::new(Arc::new(OneNumber::default()))), &scene.path, TailStart::Beginning).unwrap();
    told(&mut tail);
    for text in ["two\n", "two\nthree\n", "x\n"] {
        fs::remove_file(&scene.path).unwrap();
        fs::write(&scene.path, text).unwrap();
        let expected: Vec<_> = ["Replaced"].into_iter().chain(text.lines()).collect();
        assert_eq!(told(&mut tail), expected);
    }
}

#[test]
fn a_quiet_file_costs_one_look() {
    let scene = Scene::new(&megabyte());
    scene.age(Duration::from_mins(1));
    let layer = Arc::new(OneNumber::default());
    let mut tail = Tail::open(Arc::new(Layered::new(Arc::clone(&layer))), &scene.path, TailStart::Beginning).unwrap();
    told(&mut tail);
    told(&mut tail);
    let counts = || [&layer.looks, &layer.reads].map(|count| count.load(Ordering::Relaxed));
    let before = counts();
    for _ in 0..10 {
        assert!(told(&mut tail).is_empty());
    }
    assert_eq!(counts(), [before[0] + 10, before[1]]);
}

/// Follows the file until all lines were seen, and checks that they arrive in order.
fn follow_storm(path: &Path, n_lines: u64, is_polling: bool) {
    let mut watch = if is_polling { Watch::polling() } else { Watch::new(path) };
    let mut tail = Tail::open(Arc::new(RealOs), path, TailStart::Beginning).unwrap();
    let deadline = Instant::now() + PATIENCE;
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
fn readers_in_a_storm_see_whole_lines_in_order_and_in_the_end_all_of_them() {
    let n_lines = 30_000;
    let scene = Scene::new("");
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let path = &scene.path;
            scope.spawn(move || follow_storm(path, n_lines, reader % 2 == 0));
        }
        scope.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&scene.path).unwrap();
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
    let deadline = Instant::now() + PATIENCE;
    let mut words = Vec::new();
    while words.len() < expected.len() {
        words.extend(told(tail));
        assert!(Instant::now() < deadline, "{words:?} instead of {expected:?}");
        watch.wait(Duration::from_millis(50));
    }
    assert_eq!(words, expected);
}

/// C7, C16: the same scenario with system events and with polling.
#[test]
fn everything_is_seen_however_the_watch_wakes() {
    for is_polling in [false, true] {
        let scene = Scene::new("one\n");
        let mut watch = if is_polling { Watch::polling() } else { Watch::new(&scene.path) };
        assert!(!is_polling || watch.is_polling());
        let mut tail = scene.tail(TailStart::Beginning);
        wait_until(&mut watch, &mut tail, &["one"]);
        scene.append("two\n");
        wait_until(&mut watch, &mut tail, &["two"]);
        fs::rename(&scene.path, scene.dir.path().join("away")).unwrap();
        wait_until(&mut watch, &mut tail, &["Gone"]);
        fs::write(&scene.path, "three\n").unwrap();
        wait_until(&mut watch, &mut tail, &["Replaced", "three"]);
    }
}

/// C16: a directory that is removed takes its watch along; after it is created again, there is none.
#[test]
fn a_directory_that_is_made_again_is_followed_by_the_clock() {
    let scene = Scene::new("");
    let dir = scene.dir.path().join("sessions");
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

#[test]
fn a_link_is_followed_to_where_it_leads() {
    let scene = Scene::new("one\n");
    let link = scene.dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&scene.path, &link).unwrap();
    let mut watch = Watch::new(&link);
    let mut tail = Tail::open(Arc::new(RealOs), &link, TailStart::End).unwrap();
    scene.append("two\n");
    wait_until(&mut watch, &mut tail, &["two"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a file is written and whenever it is polled: its whole lines, each once, in order.
    #[test]
    fn appended_pieces_become_the_lines_of_the_whole(
        pieces in proptest::collection::vec(("[ab\n\r]{0,6}", any::<bool>()), 0..30),
    ) {
        let scene = Scene::new("");
        let mut tail = scene.tail(TailStart::Beginning);
        let (mut whole, mut words) = (String::new(), Vec::new());
        for (piece, is_looked_at) in &pieces {
            scene.append(piece);
            whole.push_str(piece);
            if *is_looked_at {
                words.extend(told(&mut tail));
            }
        }
        words.extend(told(&mut tail));
        let mut expected: Vec<_> = whole.split('\n').map(str::to_owned).collect();
        expected.pop();
        prop_assert_eq!(words, expected);
    }
}
