//! Lines that go: what was removed from a log does not stay in the storage.

use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use sessile_remote::Replacement;

use super::*;

/// Replaces the log of `s`.
fn replace(server: &mut PostgresServer, lines: &[Vec<u8>]) -> Result<Option<Position>, RemoteError> {
    let now = head(server, "s");
    let mut lines = lines.iter();
    let mut next_batch = |at: Position| lines.next().map(|line| batch(at, &[line]));
    server.replace(now.no, &now.position, &Replacement { reason: "scrub", ..Replacement::default() }, &mut next_batch)
}

#[test]
fn a_scrub_removes_the_object_at_once() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let (secret, kept, clean) = (noise(1, 300_000), noise(2, 300_000), noise(3, 300_000));
    append(&mut ada, &created, &[secret.clone(), kept.clone(), secret.clone()]).unwrap();
    let new = [clean.clone(), kept.clone(), clean.clone()];
    replace(&mut ada, &new).unwrap().unwrap();
    assert_eq!(n_objects(&store, &[secret]), 0);
    assert_eq!(n_objects(&store, &[kept, clean]), 2);
    let all = head(&mut ada, "s");
    assert!(read(&mut ada, &all, 0, 9) == new);
    assert_eq!(store.admin_sql("select count(*), min(epoch) from sessile.blob").unwrap(), "2|1");
}

#[test]
fn an_object_stays_while_another_session_uses_it() {
    let store = TestServer::shared().store_with_members();
    let (mut ada, mut bob) = (connect(&store, "ada"), connect(&store, "bob"));
    let shared = [noise(1, 300_000)];
    let hers = create(&mut ada, "s");
    append(&mut ada, &hers, &shared).unwrap();
    let his = create(&mut bob, "s");
    append(&mut bob, &his, &shared).unwrap();
    replace(&mut ada, &[b"x".to_vec()]).unwrap().unwrap();
    assert_eq!(n_objects(&store, &shared), 1);
    let at_his = head(&mut bob, "s");
    assert!(read(&mut bob, &at_his, 0, 9) == shared);
    assert!(bob.bury("s").unwrap());
    assert_eq!(n_objects(&store, &shared), 0);
    assert_eq!(store.admin_sql("select count(*) from sessile.blob").unwrap(), "0");
}

#[test]
fn a_failed_replacement_removes_nothing() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let (old, new) = (noise(1, 300_000), noise(2, 300_000));
    append(&mut ada, &created, std::slice::from_ref(&old)).unwrap();
    let before = head(&mut ada, "s");
    let mut n_asked = 0;
    let mut next_batch = |at: Position| {
        n_asked += 1;
        Some(batch(if n_asked == 1 { at } else { Position::start(7) }, &[&new]))
    };
    let failed = ada.replace(created.no, &before.position, &Replacement::default(), &mut next_batch);
    assert!(matches!(failed, Err(RemoteError::Refused { .. })), "{failed:?}");
    assert!(read(&mut ada, &before, 0, 9) == [old.clone()]);
    // What it has put is on record, so that it is swept some day.
    assert_eq!(n_objects(&store, &[old, new.clone()]), 2);
    store.admin_sql("update sessile.blob set claimed_at = now() - interval '8 days'").unwrap();
    assert_eq!(ada.sweep_blobs(Duration::from_hours(7 * 24)).unwrap(), 1);
    assert_eq!(n_objects(&store, &[new]), 0);
    assert!(read(&mut ada, &before, 0, 9).len() == 1);
}

#[test]
fn what_could_not_be_removed_is_reported_and_removed_later() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let secret = [noise(1, 300_000)];
    append(&mut ada, &created, &secret).unwrap();
    let before = |asked| match asked {
        Asked::Delete => Err(BlobError::Unreachable { place: "x".to_owned(), reason: "the test".to_owned() }),
        _ => Ok(()),
    };
    let storage = objects(&store.database);
    let mut failing = connect_with(&store, "ada", Arc::new(Watched { storage, before }));
    let error = replace(&mut failing, &[b"x".to_vec()]).unwrap_err();
    assert!(matches!(error, RemoteError::NotErased { .. }), "{error}");
    assert!(!error.is_ambiguous());
    let all = head(&mut ada, "s");
    assert_eq!((all.position.epoch, n_objects(&store, &secret)), (1, 1));
    assert!(read(&mut ada, &all, 0, 9) == [b"x"]);
    // Another machine, without a storage.
    let error = replace(&mut store.connect("ada"), &[b"y".to_vec()]).unwrap_err();
    assert!(error.to_string().contains("it is not configured here"), "{error}");
    assert_eq!(ada.sweep(Duration::from_hours(7 * 24)).unwrap(), 1);
    assert_eq!(n_objects(&store, &secret), 0);
}

#[test]
fn a_reader_of_a_replaced_log_is_told_so() {
    let store = Arc::new(TestServer::shared().store_with_members());
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000), noise(2, 300_000)];
    append(&mut ada, &created, &lines).unwrap();
    let replacing = Mutex::new(Some(ada));
    let before = move |_| {
        if let Some(mut ada) = replacing.lock().unwrap().take() {
            replace(&mut ada, &[b"x".to_vec()]).unwrap();
        }
        Ok(())
    };
    let storage = objects(&store.database);
    let mut reading = connect_with(&store, "ada", Arc::new(Watched { storage, before }));
    let error = reading.read(created.no, 0, 0, 9, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, RemoteError::Replaced { .. }), "{error}");
}

/// An object becomes unused, and while a client deletes it, another client needs it again.
#[test]
fn a_deletion_and_a_new_line_do_not_meet() {
    let store = Arc::new(TestServer::shared().store_with_members());
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = vec![noise(1, 300_000)];
    append(&mut ada, &created, &lines).unwrap();
    let (done, is_done) = mpsc::channel();
    let (done, is_done) = (Mutex::new(done), Mutex::new(is_done));
    let threads = Arc::new(Mutex::new(Vec::new()));
    let before = {
        let (store, lines, threads) = (Arc::clone(&store), lines.clone(), Arc::clone(&threads));
        move |asked| {
            if asked == Asked::Delete {
                let (store, lines, done) = (Arc::clone(&store), lines.clone(), done.lock().unwrap().clone());
                threads.lock().unwrap().push(std::thread::spawn(move || {
                    let mut bob = connect(&store, "bob");
                    let his = create(&mut bob, "s");
                    append(&mut bob, &his, &lines).unwrap();
                    done.send(()).unwrap_or_default();
                }));
                // If nothing makes him wait, he is ready before the object goes.
                let is_ready = is_done.lock().unwrap().recv_timeout(Duration::from_secs(2)).is_ok();
                assert!(!is_ready, "he did not wait");
            }
            Ok(())
        }
    };
    let storage = objects(&store.database);
    let mut deleting = connect_with(&store, "ada", Arc::new(Watched { storage, before }));
    replace(&mut deleting, &[b"x".to_vec()]).unwrap().unwrap();
    for thread in threads.lock().unwrap().drain(..) {
        thread.join().unwrap();
    }
    let mut bob = connect(&store, "bob");
    let his = head(&mut bob, "s");
    assert!(read(&mut bob, &his, 0, 9) == lines);
}

#[test]
fn batches_of_large_lines_are_bounded() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let mut full = Batch::at(created.position);
    let mut lines = Vec::new();
    while !full.is_full() {
        let line = noise(u8::try_from(lines.len() + 1).unwrap(), LARGE_LINE + 1);
        full.push(&line).unwrap();
        lines.push(line);
    }
    assert!(ada.append(created.no, &full, None).unwrap().is_some());
    let all = head(&mut ada, "s");
    assert!(read(&mut ada, &all, 0, 99) == lines);
}
