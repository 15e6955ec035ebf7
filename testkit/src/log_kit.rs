//! What every log must do, in any kind of storage.
//!
//! [`check`] runs all laws against one implementation. A law is a function that panics if the log breaks it. The laws
//! use nothing but [`Place`] and [`Log`]; the last one runs whole sessions on the log. `testkit/tests/logs.rs` runs the
//! kit against files, memory and the example `custom_log`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, UserMessage};
use sessile::log::{Appended, Durable, Expect, FileState, Log, Notice, Place, Span, StoreError, Turn, WriteOptions};
use sessile::write::Durability;
use sessile::{SessionError, Sessions, System};

/// An implementation to check.
pub trait LogSubject: Sync {
    /// Creates an empty place, and returns it as two processes see it.
    fn fresh(&self) -> [Arc<dyn Place>; 2];

    /// Runs `act` in an empty place, in a process that dies at its step `n_step`, counted from 1. Returns whether it
    /// died, and the place as the next process finds it. None if such logs do not outlive a process.
    fn crash(&self, n_step: u64, act: &mut dyn FnMut(&dyn Place)) -> Option<(bool, Arc<dyn Place>)>;
}

/// Checks every law.
pub fn check(subject: &dyn LogSubject) {
    creating(subject);
    reading(subject);
    appending(subject);
    comparing(subject);
    taking_turns(subject);
    acknowledging(subject);
    marking_revisions(subject);
    writing_at_once(subject);
    following(subject);
    crashing(subject);
    serving_sessions(subject);
}

/// The address of the session in most laws.
const PATH: &str = "/kit/session.jsonl";

fn path() -> &'static Path {
    Path::new(PATH)
}

fn create(place: &dyn Place, bytes: &[u8]) -> Box<dyn Log> {
    place.create(path(), bytes, WriteOptions::default()).unwrap()
}

fn open(place: &dyn Place) -> Box<dyn Log> {
    place.open(path(), WriteOptions::default()).unwrap()
}

/// All bytes of a log.
fn bytes(log: &dyn Log) -> Vec<u8> {
    log.read(Span { offset: 0, len: log.length().unwrap() }).unwrap()
}

/// The lines from an offset on: where each begins, its bytes, and whether a newline ends it.
fn lines(log: &dyn Log, from: u64) -> Vec<(u64, Vec<u8>, bool)> {
    let mut lines = Vec::new();
    log.scan(from, &mut |line| lines.push((line.span.offset, line.bytes.unwrap().to_vec(), line.terminated))).unwrap();
    lines
}

/// A new log has exactly the bytes it was created with, and no second one gets its path.
fn creating(subject: &dyn LogSubject) {
    let [place, other] = subject.fresh();
    assert_eq!(place.state(path()).unwrap(), FileState::Missing);
    let missing = place.open(path(), WriteOptions::default()).err().expect("a log that does not exist was opened");
    assert!(missing.is_not_found(), "{missing}");
    create(place.as_ref(), b"first\n");
    assert_eq!(other.state(path()).unwrap(), FileState::File);
    let taken = other.create(path(), b"second\n", WriteOptions::default()).err().expect("a log was replaced");
    assert!(matches!(taken, StoreError::Exists { .. }), "{taken}");
    assert_eq!(bytes(open(other.as_ref()).as_ref()), b"first\n");
}

/// Bytes are read by span and by line, from any line on. The last line is delivered even if no newline ends it.
fn reading(subject: &dyn LogSubject) {
    let [place, _] = subject.fresh();
    let log = create(place.as_ref(), b"one\n\ntwo \xff\xfe\nunfinished");
    assert_eq!(log.length().unwrap(), 22);
    assert_eq!(log.read(Span { offset: 5, len: 3 }).unwrap(), b"two");
    assert_eq!(log.read(Span { offset: 22, len: 0 }).unwrap(), b"");
    for beyond in [Span { offset: 20, len: 3 }, Span { offset: 99, len: 1 }] {
        let refused = log.read(beyond);
        assert!(matches!(refused, Err(StoreError::Truncated { .. })), "{beyond:?}: {refused:?}");
    }
    let all = [
        (0, b"one".to_vec(), true),
        (4, Vec::new(), true),
        (5, b"two \xff\xfe".to_vec(), true),
        (12, b"unfinished".to_vec(), false),
    ];
    for n_skipped in 0..all.len() {
        assert_eq!(lines(log.as_ref(), all[n_skipped].0), all[n_skipped..], "from line {n_skipped}");
    }
    assert!(lines(log.as_ref(), 22).is_empty());
    let mut end = 0;
    log.scan_parts(0, &mut |part| end = part.end()).unwrap();
    assert_eq!(end, 22, "parts and a scan end at different offsets");
    assert!(!log.name().to_string().is_empty());
}

/// Lines are added in order, as they are, at the end; an unfinished line is ended first.
fn appending(subject: &dyn LogSubject) {
    let [place, other] = subject.fresh();
    let mut log = create(place.as_ref(), b"torn");
    let reader = open(other.as_ref());
    let appended = log.append(b"a\nb\n", Expect::Length(4)).unwrap();
    assert_eq!(appended, Appended { offset: 5, end: 9 });
    assert_eq!(log.append(b"c\n", Expect::Anything).unwrap(), Appended { offset: 9, end: 11 });
    assert_eq!(bytes(log.as_ref()), b"torn\na\nb\nc\n");
    assert_eq!(bytes(reader.as_ref()), b"torn\na\nb\nc\n", "an open reader does not see new lines");
    let large = [vec![b'x'; 3 << 20], b"\n".to_vec()].concat();
    let appended = log.append(&large, Expect::Length(11)).unwrap();
    assert_eq!((appended.offset, appended.end), (11, 11 + large.len() as u64));
    assert!(lines(reader.as_ref(), 11)[0].1 == large[..large.len() - 1]);
    assert!(log.take_notices().iter().all(|notice| !matches!(notice, Notice::Recovered { .. })));
}

/// An append with an outdated expectation fails, changes nothing, and says what the length is.
fn comparing(subject: &dyn LogSubject) {
    let [place, other] = subject.fresh();
    let mut one = create(place.as_ref(), b"head\n");
    let mut two = open(other.as_ref());
    two.append(b"theirs\n", Expect::Length(5)).unwrap();
    let refused = one.append(b"ours\n", Expect::Length(5)).unwrap_err();
    assert!(matches!(refused, StoreError::Grown { expected: 5, actual: 12, .. }), "{refused:?}");
    let refused = one.append(b"ours\n", Expect::Length(99)).unwrap_err();
    assert!(matches!(refused, StoreError::Truncated { expected: 99, actual: 12, .. }), "{refused:?}");
    assert_eq!(bytes(one.as_ref()), b"head\ntheirs\n");
    one.append(b"ours\n", Expect::Length(12)).unwrap();
    assert_eq!(bytes(two.as_ref()), b"head\ntheirs\nours\n");
}

/// Turns are nested, and appends work within them. Ending more turns than were begun does nothing.
fn taking_turns(subject: &dyn LogSubject) {
    let [place, other] = subject.fresh();
    let mut log = create(place.as_ref(), b"head\n");
    for _ in 0..2 {
        assert_eq!(log.begin_turn().unwrap(), Turn::Ours);
    }
    log.append(b"a\n", Expect::Length(5)).unwrap();
    log.end_turn();
    log.append(b"b\n", Expect::Length(7)).unwrap();
    log.end_turn();
    log.end_turn();
    log.begin_turn().unwrap();
    log.abandon_turn();
    open(other.as_ref()).append(b"c\n", Expect::Length(9)).unwrap();
    assert_eq!(bytes(log.as_ref()), b"head\na\nb\nc\n");
}

/// A log never promises more than it keeps: waiting yields what `durable` says, and tickets are numbered in order.
fn acknowledging(subject: &dyn LogSubject) {
    let [place, _] = subject.fresh();
    let mut log = create(place.as_ref(), b"head\n");
    let mut last = 0;
    for _ in 0..3 {
        log.append(b"x\n", Expect::Anything).unwrap();
        if let Some(ticket) = log.ticket() {
            assert!(ticket.number() > last, "tickets are not in order");
            last = ticket.number();
            assert_eq!(ticket.wait().unwrap(), log.durable());
            assert!(log.n_synced() >= last, "a ticket has been waited for, but does not count as synced");
        }
        log.append(b"y\n", Expect::Anything).unwrap();
        let reached = log.make_durable().unwrap();
        assert!(reached == log.durable() || reached == Durable::PageCache, "{reached:?}");
    }
}

/// If a log has revisions, they differ after each append.
fn marking_revisions(subject: &dyn LogSubject) {
    let [place, other] = subject.fresh();
    let mut log = create(place.as_ref(), b"head\n");
    let Some(before) = log.revision().unwrap() else { return };
    assert_eq!(log.revision().unwrap(), Some(before));
    assert_eq!(open(other.as_ref()).revision().unwrap(), Some(before), "another process sees another revision");
    log.append(b"x\n", Expect::Anything).unwrap();
    let after = log.revision().unwrap().unwrap();
    assert_eq!((before.id, before.length, after.length), (after.id, 5, 7));
}

/// Several writers at once: every acknowledged line is there once, and the lines of each writer are in its order.
fn writing_at_once(subject: &dyn LogSubject) {
    const N_WRITERS: usize = 4;
    const N_LINES: usize = 30;
    let places = subject.fresh();
    drop(create(places[0].as_ref(), b"head\n"));
    thread::scope(|scope| {
        for writer in 0..N_WRITERS {
            let place = Arc::clone(&places[writer % 2]);
            scope.spawn(move || {
                let mut log = open(place.as_ref());
                for number in 0..N_LINES {
                    let line = format!("{writer} {number}\n");
                    loop {
                        let known = log.length().unwrap();
                        match log.append(line.as_bytes(), Expect::Length(known)) {
                            Ok(appended) => {
                                let span = Span { offset: appended.offset, len: line.len() as u64 };
                                assert_eq!(log.read(span).unwrap(), line.as_bytes(), "the line is at another offset");
                                break;
                            }
                            Err(StoreError::Grown { .. } | StoreError::Busy { .. }) => {}
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                }
            });
        }
    });
    let log = open(places[1].as_ref());
    let all = lines(log.as_ref(), 5);
    assert_eq!(all.len(), N_WRITERS * N_LINES);
    for writer in 0..N_WRITERS {
        let prefix = format!("{writer} ").into_bytes();
        let own: Vec<_> =
            all.iter().filter(|(_, line, _)| line.starts_with(&prefix)).map(|(_, line, _)| line).collect();
        let expected: Vec<Vec<u8>> = (0..N_LINES).map(|number| format!("{writer} {number}").into_bytes()).collect();
        assert!(own.into_iter().eq(&expected), "the lines of writer {writer}");
    }
}

/// A reader that scans from where it stopped gets every line once, in order, while other processes write.
fn following(subject: &dyn LogSubject) {
    let [place, other] = subject.fresh();
    drop(create(place.as_ref(), b"head\n"));
    let (is_over, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        scope.spawn(|| {
            let log = open(other.as_ref());
            let mut next = 5;
            loop {
                // Read before looking: what was written before the end is then seen.
                let is_last = is_over.load(Ordering::SeqCst);
                for (offset, line, is_whole) in lines(log.as_ref(), next) {
                    if is_whole {
                        assert_eq!(offset, next, "there is a gap between two lines");
                        next = offset + line.len() as u64 + 1;
                        seen.lock().unwrap().push(line);
                    }
                }
                if is_last {
                    return;
                }
            }
        });
        let mut log = open(place.as_ref());
        for number in 0..200 {
            log.append(format!("line {number}\n").as_bytes(), Expect::Anything).unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let expected: Vec<Vec<u8>> = (0..200).map(|number| format!("line {number}").into_bytes()).collect();
    assert!(*seen.lock().unwrap() == expected);
}

/// Whatever step a process dies at: acknowledged lines are there, the other lines are whole or do not count, and the
/// next process continues.
fn crashing(subject: &dyn LogSubject) {
    for n_step in 1.. {
        let (mut is_created, mut acknowledged) = (false, Vec::new());
        let crashed = subject.crash(n_step, &mut |place| {
            // As durable as the log can be: a subject may also cut the power.
            let options = WriteOptions { durability: Durability::Sync, ..WriteOptions::default() };
            let Ok(mut log) = place.create(path(), b"head\n", options) else { return };
            is_created = true;
            for number in 0..3 {
                let line = format!("line {number}");
                let written = log.append(format!("{line}\n").as_bytes(), Expect::Anything);
                if written.and_then(|_| log.make_durable()).is_err() {
                    return;
                }
                acknowledged.push(line);
            }
        });
        let Some((has_died, place)) = crashed else { return };
        if place.state(path()).unwrap() == FileState::Missing {
            assert!(!is_created, "step {n_step}: an acknowledged log is gone");
            create(place.as_ref(), b"head\n");
        }
        let mut log = open(place.as_ref());
        log.resume().unwrap();
        log.append(b"next\n", Expect::Anything).unwrap();
        let whole: Vec<String> = lines(log.as_ref(), 0)
            .into_iter()
            .filter(|(_, _, is_whole)| *is_whole)
            .map(|(_, line, _)| String::from_utf8_lossy(&line).into_owned())
            .collect();
        assert_eq!(whole.first().map(String::as_str), Some("head"), "step {n_step}");
        assert_eq!(whole.last().map(String::as_str), Some("next"), "step {n_step}: {whole:?}");
        for line in &acknowledged {
            let n_times = whole.iter().filter(|it| *it == line).count();
            assert_eq!(n_times, 1, "step {n_step}: {line} in {whole:?}");
        }
        if !has_died {
            assert_eq!(acknowledged.len(), 3);
            assert!(n_step > 1, "no step was counted");
            return;
        }
    }
}

/// Sessions work on the log as they do on files: branches, other writers, compare-and-append, reopening.
fn serving_sessions(subject: &dyn LogSubject) {
    let directory = tempfile::tempdir().unwrap();
    let address: PathBuf = directory.path().join("session.jsonl");
    let places = subject.fresh();
    let [ours, theirs] = places.map(|place| Sessions::new(System).caching(None).in_place(place));
    let user = |text: &str| UserMessage::new(text, Timestamp::from_ms(1_700_000_000_000));
    let answer = |text: &str| AssistantMessage::new("provider", "model", text, Timestamp::from_ms(1_700_000_000_000));
    let mut one = ours.open_or_create(&address).unwrap();
    let question = one.append_message(user("question")).unwrap();
    let first = one.append_message(answer("first")).unwrap();
    let mut two = theirs.open(&address).unwrap();
    assert_eq!(two.leaf_id(), Some(first.clone()));
    // A writer that does not know of the other's entry catches up and composes again.
    let foreign = two.append_message(user("from elsewhere")).unwrap();
    one.branch(&question).unwrap();
    let second = one.append_message(answer("second")).unwrap();
    let stale = two.append_to_last(Some(&foreign), |session| session.append_message(user("too late")));
    assert!(matches!(stale, Err(SessionError::LeafMoved { .. })), "{stale:?}");
    let last = two.append_to_last(Some(&second), |session| session.append_message(user("in time"))).unwrap();
    drop((one, two));
    let session = ours.open(&address).unwrap();
    let ids: Vec<_> = session.entries().map(|entry| entry.unwrap().id().unwrap()).collect();
    assert_eq!(ids, [question.clone(), first.clone(), foreign, second.clone(), last.clone()]);
    let path: Vec<_> = session.path().into_iter().filter_map(|row| session.outline().id(row)).collect();
    assert_eq!(path, [question, second, last]);
}
