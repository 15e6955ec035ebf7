//! Locks, syncs and files of other users, on a simulated machine and on this one.

use super::*;

/// C15: if several machines may write, there is one writer at a time, and none without a lock.
#[test]
fn a_network_file_system_has_one_writer() {
    let os = SimOs::new();
    os.make_directories("/s");
    os.set_shared(true);
    let (mut ours, path) = started(&simulated(&os, 1), Path::new("/s"));
    ours.append_message(user("ours")).unwrap();
    let other = os.process(2);
    let mut theirs = simulated(&other, 2).open(&path).unwrap();
    let refused = theirs.append_message(user("theirs")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Busy { .. })), "{refused}");
    drop(ours);
    theirs.append_message(user("theirs")).unwrap();
    drop(theirs);

    os.set_lock_error(Some(Errno::NOLCK));
    let mut third = simulated(&os.process(3), 3).open(&path).unwrap();
    let refused = third.append_message(user("x")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::SharedFileSystem { .. })), "{refused}");
}

/// The sidecars are removed when the last user closes a session whose entries are safe.
#[test]
fn sidecars_are_removed_with_the_last_user() {
    let os = SimOs::new();
    os.make_directories("/s");
    let (mut ours, path) = started(&simulated(&os, 1), Path::new("/s"));
    let n_files = || os.snapshot().keys().filter(|path| path.parent() == Some(Path::new("/s"))).count();
    let mut theirs = simulated(&os.process(2), 2).open(&path).unwrap();
    theirs.append_message(user("theirs")).unwrap();
    assert_eq!(n_files(), 3);
    os.advance(10_000);
    drop(theirs);
    assert_eq!(n_files(), 3, "the other process still uses them");
    ours.append_message(user("ours")).unwrap();
    drop(ours);
    assert_eq!(n_files(), 3, "the last entry is not safe yet");
    os.advance(10_000);
    let mut last = simulated(&os.process(3), 3).open(&path).unwrap();
    last.refresh().unwrap();
    drop(last);
    let mut last = simulated(&os.process(4), 4).open(&path).unwrap();
    last.append_message(user("last")).unwrap();
    os.advance(10_000);
    drop(last);
    assert_eq!(n_files(), 1);
}

/// D10: after a failed sync nothing is acknowledged until the file was reopened.
#[test]
fn a_failed_sync_is_never_reported_as_durable() {
    let os = SimOs::new();
    os.make_directories("/s");
    os.settle();
    let options = WriteOptions { durability: Durability::Sync, ..WriteOptions::default() };
    let (mut ours, path) = started(&simulated(&os, 1).writing(options), Path::new("/s"));
    let first = ours.leaf_id();
    os.fail_from(1, Errno::IO, CallKind::is_sync);
    let failed = ours.append_message(user("lost?")).unwrap_err();
    assert!(matches!(failed, SessionError::Store(StoreError::SyncFailed { .. })), "{failed}");
    assert_eq!(ours.leaf_id(), first);
    os.heal();
    let refused = ours.append_message(user("no")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Poisoned { .. })), "{refused}");
    ours.reopen().unwrap();
    assert_eq!(ours.leaf_id(), first);
    let good = ours.append_message(user("good")).unwrap();
    // Whatever happened to the uncertain entry, the acknowledged one has a parent that is on disk.
    for seed in 0..50 {
        let after = os.power_loss(seed);
        let seen = simulated(&after, 9).open(&path).unwrap();
        let rows = seen.branch_path_to(&good).unwrap();
        assert_eq!(rows.len(), 2, "seed {seed}");
    }
}

/// D10: an append refused after a failed sync is not in the file either, where it could appear later.
#[test]
fn an_append_that_is_refused_after_a_failed_sync_writes_nothing() {
    let os = SimOs::new();
    os.make_directories("/s");
    let options = WriteOptions { durability: Durability::Sync, ..WriteOptions::default() };
    let (mut ours, path) = started(&simulated(&os, 1).writing(options), Path::new("/s"));
    os.fail_from(1, Errno::IO, CallKind::is_sync);
    ours.append_message(user("lost?")).unwrap_err();
    os.heal();
    let before = os.read_file(&path).unwrap();
    let refused = ours.append_message(user("no")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Poisoned { .. })), "{refused}");
    assert_eq!(os.read_file(&path).unwrap(), before);
}

/// D10: after a failed sync, only the caller's `reopen` allows appends again. Reopening after a foreign rewrite does
/// not.
#[test]
fn a_failed_sync_is_remembered_when_another_writer_rewrites_the_file() {
    let os = SimOs::new();
    os.make_directories("/s");
    let options = WriteOptions { durability: Durability::Sync, ..WriteOptions::default() };
    let (mut ours, path) = started(&simulated(&os, 1).writing(options), Path::new("/s"));
    let stale = os.read_file(&path).unwrap();
    ours.append_message(user("on disk")).unwrap();
    os.fail_from(1, Errno::IO, CallKind::is_sync);
    ours.append_message(user("lost?")).unwrap_err();
    os.heal();
    os.foreign_rewrite(&path, &stale);
    let events = Notices::of(&mut ours);
    ours.refresh().unwrap();
    let reported = events.take();
    assert!(
        reported.iter().any(|event| matches!(event, SessionEvent::FileChanged { .. })),
        "the file was not opened again: {reported:?}"
    );
    let refused = ours.append_message(user("no")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Poisoned { .. })), "{refused}");
    ours.reopen().unwrap();
    ours.append_message(user("good")).unwrap();
}

const OLD: &str = concat!(
    r#"{"type":"session","id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"old","timestamp":1}}"#,
    "\n"
);

/// C6: other tools lock a file with a directory, and touch it while they hold the lock.
#[test]
fn a_fresh_lock_directory_of_another_process_is_honoured() {
    let os = SimOs::new();
    os.foreign_append("/old.jsonl", OLD);
    os.make_directories("/old.jsonl.lock");
    let mut session = simulated(&os, 1).open("/old.jsonl").unwrap();
    let refused = session.append_message(user("x")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Busy { holder: None, .. })), "{refused}");
    assert_eq!(os.read_file("/old.jsonl").unwrap(), OLD.as_bytes());
    // Left over from a dead process: ignored, and not ours to remove.
    os.advance(11_000);
    session.append_message(user("x")).unwrap();
    assert!(os.snapshot().contains_key(Path::new("/old.jsonl.lock")));
}

/// C6: our own lock directory stays fresh. A process that takes long to write a new version is not dead.
#[test]
fn our_lock_directory_is_refreshed_during_a_replacement() {
    let os = SimOs::new();
    os.foreign_append("/s.jsonl", "old\n");
    let path = Path::new("/s.jsonl");
    let (ours, theirs): (Arc<dyn Os>, Arc<dyn Os>) = (Arc::new(os.clone()), Arc::new(os.process(2)));
    let mut write_slowly = |out: &mut dyn Write| -> Result<(), StoreError> {
        for line in ["one\n", "two\n", "three\n", "four\n", "five\n"] {
            os.advance(4_000);
            out.write_all(line.as_bytes()).unwrap();
            let rival = replace(&theirs, path, 4, "theirs", &mut |_| -> Result<(), StoreError> { Ok(()) });
            assert!(matches!(rival, Err(StoreError::Busy { .. })), "{rival:?} before {line:?}");
        }
        Ok(())
    };
    replace(&ours, path, 4, "ours", &mut write_slowly).unwrap();
    assert_eq!(os.read_file(path).unwrap(), b"one\ntwo\nthree\nfour\nfive\n");
    assert!(!os.snapshot().contains_key(Path::new("/s.jsonl.lock")));
}

/// C5: an entry can be written beside those of other processes, but a file cannot be swapped while another process
/// writes to it.
#[test]
fn an_old_file_is_not_upgraded_while_another_process_has_its_lock() {
    let os = SimOs::new();
    os.foreign_append("/old.jsonl", OLD);
    let lock = Path::new("/.old.jsonl.sessile-lock");
    os.foreign_append(lock, "");
    assert!(os.change(|world| world.foreign_lock(lock, Lock::Exclusive)));
    let options = WriteOptions { busy: Busy::Continue(Duration::ZERO), ..WriteOptions::default() };
    let mut session = simulated(&os, 1).writing(options).open("/old.jsonl").unwrap();
    let refused = session.append_message(user("x")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Busy { .. })), "{refused}");
    assert_eq!(os.read_file("/old.jsonl").unwrap(), OLD.as_bytes());
    let there: Vec<_> = os.snapshot().into_keys().filter(|path| *path != lock).collect();
    assert_eq!(there, [Path::new("/old.jsonl")], "the append left no other files");
    os.change(|world| world.foreign_unlock(lock));
    session.append_message(user("x")).unwrap();
    assert_eq!(session.entry_count(), 2);
}

/// P5: another user's file with a second name.
#[test]
fn a_second_name_of_another_users_file_is_refused() {
    let os = SimOs::new();
    os.make_directories("/s");
    let (session, path) = started(&simulated(&os, 1), Path::new("/s"));
    drop(session);
    os.link(&path, Path::new("/s/trap.jsonl")).unwrap();
    let mut own = simulated(&os, 2).open("/s/trap.jsonl").unwrap();
    own.append_message(user("own files may have two names")).unwrap();
    os.set_mode(&path, 0o666).unwrap();
    os.set_own(&path, false);
    let mut trapped = simulated(&os, 3).open("/s/trap.jsonl").unwrap();
    let refused = trapped.append_message(user("x")).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::NotRegular { .. })), "{refused}");
}

/// P8: another user guesses the name of our temporary file and puts a link there.
#[test]
fn a_temporary_file_of_another_user_is_not_written_to() {
    let os = SimOs::new();
    os.foreign_append("/old.jsonl", OLD);
    os.foreign_append("/precious", "precious\n");
    os.make_link("/.old.jsonl.sessile-tmp-2025-01-01T00-00-00-000Z", "/precious");
    let mut session = simulated(&os, 1).open("/old.jsonl").unwrap();
    session.append_message(user("x")).unwrap();
    assert_eq!(os.read_file("/precious").unwrap(), b"precious\n");
    assert_eq!(session.entry_count(), 2);
}
