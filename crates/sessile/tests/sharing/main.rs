//! Several programs share one session: who sees what, who waits, and what is never lost.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

mod machine;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::event::{FileChange, RecoveryReason, SessionEvent};
use sessile::operations::Deletion;
use sessile::os::{Layer, Layered, Lock, Os};
use sessile::write::{Busy, Durability, Durable, SharedSession, StoreError, WriteOptions};
use sessile::{NewSession, SessionError, SessionManager, Sessions, draft};
use sessile_store::replace;
use sessile_testkit::sim::{CallKind, Errno, SimOs};
use sessile_testkit::{Notices, Replay};
use tempfile::TempDir;

fn user(text: &str) -> draft::UserMessage {
    draft::UserMessage::new(text, Timestamp::from_ms(1))
}

/// Sessions with their own directory and ids.
fn sessions(seed: u64) -> Sessions {
    let environment = Replay::new(1_735_689_600_000, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment)
}

fn started(sessions: &Sessions, dir: &Path) -> (SessionManager, PathBuf) {
    let mut session = sessions.clone().with_session_dir(dir).create("/proj").unwrap();
    session.append_message(user("first")).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    (session, path)
}

fn sidecar(path: &Path, kind: &str) -> PathBuf {
    path.with_file_name(format!(".{}.sessile-{kind}", path.file_name().unwrap().to_string_lossy()))
}

fn append_raw(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// C11: both append to the same entry.
#[test]
fn concurrent_siblings_are_reported() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let events = Notices::of(&mut ours);
    let first = ours.leaf_id().unwrap();
    let mut theirs = sessions(2).open(&path).unwrap();
    let other = theirs.append_message(user("theirs")).unwrap();
    let own = ours.append_message(user("ours")).unwrap();
    let divergence = SessionEvent::Divergence {
        leaf_id: own.clone(),
        foreign_leaf_id: other.clone(),
        common_ancestor_id: Some(first),
    };
    assert_eq!(events.take(), [divergence]);
    // Reported once; continuing from there is not reported again.
    ours.append_message(user("on")).unwrap();
    assert_eq!(events.take(), []);
    theirs.refresh().unwrap();
    assert_eq!(theirs.leaf_id(), Some(other));
    theirs.follow_leaf().unwrap();
    assert_eq!(theirs.leaf_id(), ours.leaf_id());
    let after = theirs.append_message(user("behind")).unwrap();
    assert_eq!(sessions(3).open(&path).unwrap().leaf_id(), Some(after));
}

#[test]
fn an_expected_leaf_is_compared_and_set() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let first = ours.leaf_id().unwrap();
    let mut theirs = sessions(2).open(&path).unwrap();
    let other = theirs.append_message(user("theirs")).unwrap();

    let refused = ours.append_to_last(Some(&first), |session| session.append_message(user("late"))).unwrap_err();
    let SessionError::LeafMoved { expected, actual } = refused else { panic!("{refused}") };
    assert_eq!((expected, actual), (Some(first.clone()), Some(other.clone())));
    assert_eq!(ours.leaf_id(), Some(first));
    assert!(matches!(
        ours.append_to_last(None, |session| session.append_message(user("late"))),
        Err(SessionError::LeafMoved { expected: None, .. })
    ));
    // On top of the expected entry, wherever our own leaf was.
    let own = ours.append_to_last(Some(&other), |session| session.append_message(user("now"))).unwrap();
    assert_eq!(ours.entry(&own).unwrap().unwrap().parent_id(), Some(other));

    let mut empty = SessionManager::in_memory("/proj");
    empty.append_to_last(None, |session| session.append_message(user("first"))).unwrap();
    assert!(empty.append_to_last(None, |session| session.append_message(user("second"))).is_err());
}

/// C5: the caller's options while another process holds the lock.
#[test]
fn a_busy_session_is_waited_for_refused_or_written_to() {
    let dir = TempDir::new().unwrap();
    let (ours, path) = started(&sessions(1), dir.path());
    drop(ours);
    let lock = File::create(sidecar(&path, "lock")).unwrap();
    lock.lock().unwrap();
    fs::write(sidecar(&path, "lock"), "4711 1735689600000 elsewhere\n").unwrap();
    let with = |busy| sessions(2).writing(WriteOptions { busy, ..WriteOptions::default() });

    let mut refused = with(Busy::Fail(Duration::ZERO)).open(&path).unwrap();
    let before = fs::read(&path).unwrap();
    let error = refused.append_message(user("x")).unwrap_err();
    let SessionError::Store(StoreError::Busy { holder: Some(holder), .. }) = &error else { panic!("{error}") };
    assert_eq!((holder.pid, holder.host.as_str(), holder.since_ms), (4711, "elsewhere", 1_735_689_600_000));
    assert!(error.to_string().ends_with("is in use by process 4711 on elsewhere"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let mut goes_on = with(Busy::Continue(Duration::ZERO)).open(&path).unwrap();
    let events = Notices::of(&mut goes_on);
    let id = goes_on.append_message(user("y")).unwrap();
    assert!(
        matches!(&events.take()[..], [SessionEvent::WrittenUnlocked { holder: Some(holder) }] if holder.pid == 4711)
    );

    let mut waits = with(Busy::Wait).open(&path).unwrap();
    let waiter = std::thread::spawn(move || waits.append_message(user("z")).map(|id| (id, waits)));
    assert!(!waiter.is_finished());
    drop(lock);
    let (last, waits) = waiter.join().unwrap().unwrap();
    assert_eq!(waits.entry(&last).unwrap().unwrap().parent_id(), Some(id));
    // The refused writer can continue now.
    refused.append_message(user("x")).unwrap();
}

/// C2: a program that writes back an old copy destroys newer entries; they are restored in order.
#[test]
fn entries_lost_in_a_rewrite_are_recovered() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let events = Notices::of(&mut ours);
    let stale = fs::read(&path).unwrap();
    let lost: Vec<_> = (0..3).map(|index| ours.append_message(user(&format!("lost {index}"))).unwrap()).collect();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &stale).unwrap();

    let next = ours.append_message(user("next")).unwrap();
    let reported = events.take();
    assert!(
        reported.contains(&SessionEvent::Recovered { entry_ids: lost.clone(), reason: RecoveryReason::Truncated }),
        "{reported:?}"
    );
    assert!(reported.iter().any(|event| matches!(event, SessionEvent::FileChanged { change: FileChange::Truncated })));
    assert!(fs::read(&path).unwrap().starts_with(&whole), "the same lines in the same order");
    let reopened = sessions(2).open(&path).unwrap();
    assert_eq!(reopened.leaf_id(), Some(next));
    assert_eq!(reopened.entry_count(), 5);
}

/// C2 after our own process has died: the next writer restores them.
#[test]
fn entries_lost_after_our_death_are_recovered_by_the_next_writer() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let stale = fs::read(&path).unwrap();
    let lost = ours.append_message(user("lost")).unwrap();
    let whole = fs::read(&path).unwrap();
    // Not closed: as after a kill, the guard stays.
    drop(ours);
    assert!(sidecar(&path, "guard").exists());
    fs::write(&path, &stale).unwrap();

    let looking = sessions(2).read_only().open(&path).unwrap();
    assert_eq!(looking.entry_count(), 1, "a read-only open changes nothing");
    assert_eq!(fs::read(&path).unwrap(), stale);
    let report = sessions(2).verify(&path).unwrap();
    assert!(
        report.findings.iter().any(|finding| finding.code == sessile::verify::Code::Vanished),
        "{:?}",
        report.findings
    );

    let mut next = sessions(2).open(&path).unwrap();
    let events = Notices::of(&mut next);
    next.refresh().unwrap();
    assert_eq!((next.entry_count(), events.take()), (1, Vec::new()), "opening changes nothing");
    assert_eq!(fs::read(&path).unwrap(), stale);
    let id = next.append_message(user("next")).unwrap();
    let recovered = SessionEvent::Recovered { entry_ids: vec![lost.clone()], reason: RecoveryReason::Missing };
    assert_eq!(events.take(), [recovered]);
    assert_eq!(next.entry(&id).unwrap().unwrap().parent_id(), Some(lost), "the entry continues from the restored one");
    assert!(fs::read(&path).unwrap().starts_with(&whole));
}

#[test]
fn a_file_that_was_emptied_gets_its_header_back() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, "").unwrap();
    ours.append_message(user("next")).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(&whole));
}

#[test]
fn a_file_with_other_content_is_left_unchanged() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let first = ours.leaf_id();
    fs::write(&path, "a shopping list\n").unwrap();
    assert!(ours.append_message(user("next")).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"a shopping list\n");
    assert_eq!(ours.leaf_id(), first);
}

#[test]
fn a_file_replaced_by_the_same_session_is_adopted() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let events = Notices::of(&mut ours);
    let stale = fs::read(&path).unwrap();
    let lost = ours.append_message(user("lost")).unwrap();
    fs::write(dir.path().join("copy"), &stale).unwrap();
    fs::rename(dir.path().join("copy"), &path).unwrap();
    let next = ours.append_message(user("next")).unwrap();
    let reported = events.take();
    assert!(reported.contains(&SessionEvent::FileChanged { change: FileChange::Replaced }), "{reported:?}");
    assert!(
        reported.contains(&SessionEvent::Recovered { entry_ids: vec![lost.clone()], reason: RecoveryReason::Replaced }),
        "{reported:?}"
    );
    assert_eq!(ours.entry(&next).unwrap().unwrap().parent_id(), Some(lost));
}

#[test]
fn a_deleted_file_is_an_event() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let events = Notices::of(&mut ours);
    fs::remove_file(&path).unwrap();
    assert!(matches!(ours.append_message(user("x")), Err(SessionError::Store(StoreError::Gone { .. }))));
    assert_eq!(events.take(), [SessionEvent::FileGone]);
    assert!(!path.exists());
}

#[test]
fn each_acknowledgement_names_its_durability() {
    let dir = TempDir::new().unwrap();
    for (durability, durable) in [
        (Durability::Buffered, Durable::PageCache),
        (Durability::Interval(Duration::from_millis(5)), Durable::PageCache),
        (Durability::Group, Durable::Disk),
        (Durability::Sync, Durable::Disk),
        (Durability::Memory, Durable::Memory),
    ] {
        let options = WriteOptions { durability, ..WriteOptions::default() };
        let sessions = sessions(1).writing(options);
        let mut session = sessions.clone().with_session_dir(dir.path().join("new")).create("/proj").unwrap();
        for text in ["made", "appended"] {
            let id = session.append_message(user(text)).unwrap();
            let acknowledged = session.last_acknowledgement().unwrap();
            assert_eq!((&acknowledged.entry_id, acknowledged.durable), (&id, durable), "{durability:?}");
        }
        assert_eq!(session.session_file().is_some_and(Path::exists), durable != Durable::Memory);
    }
}

/// Reports each sync.
#[derive(Debug)]
struct Syncs(mpsc::Sender<()>);

impl Layer for Syncs {
    fn before_sync(&self) {
        self.0.send(()).unwrap();
    }
}

/// A session is created by its first messages, and they must reach the disk even if nothing follows.
#[test]
fn a_new_file_is_synced_periodically_too() {
    let make = |interval| {
        let (sender, syncs) = mpsc::channel();
        let options = WriteOptions { durability: Durability::Interval(interval), ..WriteOptions::default() };
        let sessions = sessions(1).on(Arc::new(Layered::new(Arc::new(Syncs(sender))))).writing(options);
        let dir = TempDir::new().unwrap();
        let (session, _) = started(&sessions, dir.path());
        (dir, syncs, session)
    };
    // Closing a session before the interval has passed syncs it.
    let (_dir, syncs, session) = make(Duration::from_hours(1));
    assert_eq!(syncs.try_iter().count(), 0);
    drop(session);
    assert_eq!(syncs.try_iter().count(), 1);
    // While it is open, a thread does so. The delay is not guaranteed, so this waits long only if the sync never
    // happens.
    let (_dir, syncs, _session) = make(Duration::from_millis(1));
    syncs.recv_timeout(Duration::from_mins(1)).unwrap();
}

#[test]
fn in_memory_mode_a_file_is_only_read() {
    let dir = TempDir::new().unwrap();
    let (ours, path) = started(&sessions(1), dir.path());
    drop(ours);
    append_raw(&path, "torn");
    let before = fs::read(&path).unwrap();
    let options = WriteOptions { durability: Durability::Memory, ..WriteOptions::default() };
    let mut trial = sessions(2).writing(options).open(&path).unwrap();
    let first = trial.leaf_id();
    let id = trial.append_message(user("what if")).unwrap();
    assert_eq!(trial.entry(&id).unwrap().unwrap().parent_id(), first);
    trial.append_label_change(&id, Some("tried")).unwrap();
    assert_eq!(trial.build_session_context().unwrap().messages.len(), 2);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn reading_creates_and_writes_nothing() {
    let dir = TempDir::new().unwrap();
    let (ours, path) = started(&sessions(1), dir.path());
    drop(ours);
    fs::remove_file(sidecar(&path, "guard")).unwrap();
    fs::remove_file(sidecar(&path, "lock")).unwrap();
    let mut looking = sessions(2)
        .read_only()
        .open_with(&path, &sessile::OpenOptions::new().session_dir(dir.path().join("none")))
        .unwrap();
    assert!(matches!(looking.append_message(user("x")), Err(SessionError::ReadOnly)));
    assert!(matches!(looking.persist_now(), Err(SessionError::ReadOnly)));
    append_raw(&path, &fs::read_to_string(&path).unwrap().lines().nth(1).unwrap().replace("first", "more"));
    looking.refresh().unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Writers wait for the disk outside of the lock, so one sync serves many.
#[test]
fn threads_share_a_session_and_its_syncs() {
    let dir = TempDir::new().unwrap();
    let options = WriteOptions { durability: Durability::Group, ..WriteOptions::default() };
    let (session, path) = started(&sessions(1).writing(options), dir.path());
    let shared = SharedSession::new(session);
    let ids: Vec<_> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let shared = shared.clone();
            move || {
                let append = |index| shared.write(|session| session.append_message(user(&format!("{writer} {index}"))));
                (0..20).map(|index| append(index).unwrap()).collect::<Vec<_>>()
            }
        };
        let writers: Vec<_> = (0..8).map(|writer| scope.spawn(write(writer))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|(_, durable)| *durable == Durable::Disk));
    let reopened = sessions(2).open(&path).unwrap();
    assert_eq!(reopened.entry_count(), 161);
    assert!(ids.iter().all(|(id, _)| reopened.entry(id).unwrap().is_some()));
}

#[test]
fn several_messages_are_written_as_one() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let first = ours.leaf_id();
    let ids = ours.append_messages(["a", "b", "c"].map(user)).unwrap();
    let parents: Vec<_> = ids.iter().map(|id| ours.entry(id).unwrap().unwrap().parent_id()).collect();
    assert_eq!(parents, [first, Some(ids[0].clone()), Some(ids[1].clone())]);
    assert_eq!(sessions(2).open(&path).unwrap().leaf_id(), ids.last().cloned());
    assert!(ours.append_messages(Vec::<draft::UserMessage>::new()).unwrap().is_empty());
}

#[test]
fn the_leaf_is_remembered_until_the_next_append() {
    let dir = TempDir::new().unwrap();
    let remembering = |seed| sessions(seed).remembering_leaves(dir.path().join("state"));
    let (mut ours, path) = started(&remembering(1), &dir.path().join("sessions"));
    let first = ours.leaf_id().unwrap();
    let second = ours.append_message(user("second")).unwrap();
    ours.branch(&first).unwrap();
    drop(ours);
    assert_eq!(remembering(2).open(&path).unwrap().leaf_id(), Some(first.clone()));
    assert_eq!(
        sessions(2).open(&path).unwrap().leaf_id(),
        Some(second),
        "the leaf position is not remembered by default"
    );

    // Another program appends: sessions now open at its entry.
    let other = sessions(3).open(&path).unwrap().append_message(user("other")).unwrap();
    let mut ours = remembering(4).open(&path).unwrap();
    assert_eq!(ours.leaf_id(), Some(other));
    // Our own append and following also reset the saved position.
    ours.reset_leaf();
    assert_eq!(remembering(5).open(&path).unwrap().leaf_id(), None);
    let root = ours.append_message(user("root")).unwrap();
    assert_eq!(remembering(5).open(&path).unwrap().leaf_id(), Some(root.clone()));
    ours.branch(&first).unwrap();
    ours.follow_leaf().unwrap();
    assert_eq!(remembering(5).open(&path).unwrap().leaf_id(), Some(root));
    assert_eq!(fs::read_dir(dir.path().join("state/leaves")).unwrap().count(), 0);
    // A permanent deletion also removes the position.
    ours.branch(&first).unwrap();
    drop(ours);
    assert_eq!(fs::read_dir(dir.path().join("state/leaves")).unwrap().count(), 1);
    remembering(6).ignoring_users().delete(&[path], Deletion::Permanent, false).unwrap();
    assert_eq!(fs::read_dir(dir.path().join("state/leaves")).unwrap().count(), 0);
}

/// A session on a simulated machine.
fn simulated(os: &SimOs, seed: u64) -> Sessions {
    sessions(seed).on(Arc::new(os.clone()))
}

/// Another session, as text.
fn other_session() -> String {
    let dir = TempDir::new().unwrap();
    let mut other = sessions(77)
        .with_session_dir(dir.path())
        .create_with("/proj", &NewSession { id: Some("other".to_owned().into()), parent_session: None });
    let other = other.as_mut().unwrap();
    for index in 0..20 {
        other.append_message(user(&format!("theirs {index}"))).unwrap();
    }
    fs::read_to_string(other.session_file().unwrap()).unwrap()
}

/// Repeating the call must not make the error go away.
#[test]
fn another_session_at_our_path_is_never_written_to() {
    for is_copied in [true, false] {
        let dir = TempDir::new().unwrap();
        let (mut ours, path) = started(&sessions(1), dir.path());
        let own = ours.append_message(user("ours")).unwrap();
        let whole = fs::read(&path).unwrap();
        let theirs = other_session();
        if is_copied {
            fs::write(&path, &theirs).unwrap();
        } else {
            fs::write(dir.path().join("other"), &theirs).unwrap();
            fs::rename(dir.path().join("other"), &path).unwrap();
        }
        for _ in 0..3 {
            assert!(ours.append_message(user("no")).is_err());
            assert!(ours.refresh().is_err());
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        assert_eq!(ours.leaf_id(), Some(own.clone()));
        // Our session comes back, and everything continues.
        fs::write(&path, &whole).unwrap();
        let next = ours.append_message(user("yes")).unwrap();
        assert_eq!(ours.entry(&next).unwrap().unwrap().parent_id(), Some(own));
    }
}

#[test]
fn a_lost_leaf_is_an_error_on_every_append() {
    let os = SimOs::new();
    os.make_directories("/s");
    let (mut ours, path) = started(&simulated(&os, 1), Path::new("/s"));
    let stale = os.read_file(&path).unwrap();
    ours.append_message(user("soon safe")).unwrap();
    // Long ago, so that the guard no longer has it.
    os.advance(20_000);
    let other = ours.append_message(user("other")).unwrap();
    os.advance(20_000);
    ours.append_message(user("another")).unwrap();
    os.advance(20_000);
    drop(ours);
    let mut ours = simulated(&os.process(2), 2).open(&path).unwrap();
    ours.branch(&other).unwrap();
    let mut longer = stale.clone();
    for line in other_session().lines().skip(1) {
        longer.extend_from_slice(line.as_bytes());
        longer.push(b'\n');
    }
    os.foreign_rewrite(&path, &longer);
    for _ in 0..3 {
        let refused = ours.append_message(user("no")).unwrap_err();
        assert!(matches!(refused, SessionError::LeafGone { .. }), "{refused}");
    }
    ours.follow_leaf().unwrap();
    ours.append_message(user("yes")).unwrap();
}

/// Entries written while another process held the lock are guarded once we have it.
#[test]
fn entries_written_without_the_lock_are_guarded_too() {
    let os = SimOs::new();
    os.make_directories("/s");
    let options = WriteOptions { busy: Busy::Continue(Duration::ZERO), ..WriteOptions::default() };
    let (mut ours, path) = started(&simulated(&os, 1).writing(options), Path::new("/s"));
    let stale = os.read_file(&path).unwrap();
    let lock = path.clone();
    assert!(os.change(|world| world.foreign_lock(&lock, Lock::Exclusive)));
    let unlocked = ours.append_message(user("unlocked")).unwrap();
    os.change(|world| world.foreign_unlock(&lock));
    os.foreign_rewrite(&path, &stale);
    ours.append_message(user("next")).unwrap();
    let seen = simulated(&os.process(2), 2).open(&path).unwrap();
    assert!(seen.entry(&unlocked).unwrap().is_some());

    // Also if we close before the next write.
    let stale = os.read_file(&path).unwrap();
    assert!(os.change(|world| world.foreign_lock(&lock, Lock::Exclusive)));
    let unlocked = ours.append_message(user("unlocked again")).unwrap();
    os.change(|world| world.foreign_unlock(&lock));
    drop(ours);
    os.foreign_rewrite(&path, &stale);
    let mut seen = simulated(&os.process(3), 3).open(&path).unwrap();
    assert!(seen.entry(&unlocked).unwrap().is_none(), "opening restores nothing");
    seen.recover().unwrap();
    assert!(seen.entry(&unlocked).unwrap().is_some());
}

#[test]
fn several_entries_may_follow_an_expected_leaf() {
    let dir = TempDir::new().unwrap();
    let (mut ours, _) = started(&sessions(1), dir.path());
    let first = ours.leaf_id().unwrap();
    let ids = ours
        .append_to_last(Some(&first), |session| {
            Ok([session.append_message(user("a"))?, session.append_message(user("b"))?])
        })
        .unwrap();
    assert_eq!(ours.leaf_id().as_ref(), Some(&ids[1]));
    assert!(ours.append_to_last(Some(&first), |session| session.append_message(user("late"))).is_err());
    assert_eq!(ours.leaf_id().as_ref(), Some(&ids[1]));
}

#[test]
fn a_panic_while_a_leaf_is_expected_leaves_no_lock() {
    let dir = TempDir::new().unwrap();
    let options = WriteOptions { durability: Durability::Group, ..WriteOptions::default() };
    let (ours, path) = started(&sessions(1).writing(options), dir.path());
    let first = ours.leaf_id();
    let shared = SharedSession::new(ours);
    let theirs = shared.clone();
    let panicked = std::thread::spawn(move || {
        theirs.write(|session| session.append_to_last(first.as_ref(), |_| -> Result<(), SessionError> { panic!("oh") }))
    });
    assert!(panicked.join().is_err());
    let other = WriteOptions { busy: Busy::Fail(Duration::ZERO), ..WriteOptions::default() };
    sessions(2).writing(other).open(&path).unwrap().append_message(user("free")).unwrap();
    let (_, durable) = shared.write(|session| session.append_message(user("on"))).unwrap();
    assert_eq!(durable, Durable::Disk);
}

/// An editor removes the last newline: nothing is missing, and nothing is restored again and again.
#[test]
fn a_missing_last_newline_is_not_a_missing_entry() {
    let dir = TempDir::new().unwrap();
    let (ours, path) = started(&sessions(1), dir.path());
    drop(ours);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let mut ours = sessions(2).open(&path).unwrap();
    ours.recover().unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole, "its newline is back");
    ours.append_message(user("next")).unwrap();
    assert_eq!(ours.entry_count(), 2);
}

#[test]
fn a_rewrite_with_entries_of_other_writers_is_a_divergence() {
    let dir = TempDir::new().unwrap();
    let (mut ours, path) = started(&sessions(1), dir.path());
    let events = Notices::of(&mut ours);
    let first = ours.leaf_id().unwrap();
    let mut theirs = sessions(2).open(&path).unwrap();
    let other = theirs.append_message(user("theirs")).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(dir.path().join("copy"), whole).unwrap();
    fs::rename(dir.path().join("copy"), &path).unwrap();
    let own = ours.append_message(user("ours")).unwrap();
    let divergence = SessionEvent::Divergence { leaf_id: own, foreign_leaf_id: other, common_ancestor_id: Some(first) };
    assert!(events.take().contains(&divergence));
}

/// A program that rewrites a session in place empties it first. Another program that opens it at that moment finds an
/// empty file and starts a session in it, which the rewriter then overwrites. The entries acknowledged in between must
/// come back. The long torture run found that they did not.
#[test]
fn entries_written_while_the_file_was_empty_are_recovered() {
    let os = SimOs::new();
    os.make_directories("/s");
    let path = Path::new("/s/f.jsonl");
    let whole = other_session();
    // The state for a moment during a rewrite.
    os.foreign_append(path, "");
    let mut ours = simulated(&os, 3).open(path).unwrap();
    let ids: Vec<_> = (0..3).map(|index| ours.append_message(user(&format!("{index}"))).unwrap()).collect();
    os.foreign_rewrite(path, &whole);
    assert!(ours.append_message(user("late")).is_err(), "the file contains another session now");
    drop(ours);
    let seen = simulated(&os.process(4), 4).open(path).unwrap();
    assert!(os.read_file(path).unwrap().starts_with(whole.as_bytes()));
    assert!(ids.iter().all(|id| seen.entry(id).unwrap().is_some()));
}
