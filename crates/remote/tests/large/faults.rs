//! Storages that fail, and members who lose their rights.

use std::time::Duration;

use super::*;
use crate::crash::kill;
use crate::network::Network;
use crate::servers::login;

fn read_error(server: &mut PostgresServer, head: &Head) -> RemoteError {
    server.read(head.no, head.position.epoch, 0, u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap_err()
}

/// Everything about a failed append is as it was before, and nothing needs to be healed.
#[track_caller]
fn assert_not_appended(store: &TestStore, failed: &Result<Position, RemoteError>, at: Position) {
    let error = failed.as_ref().unwrap_err();
    assert!(matches!(error, RemoteError::Blob(_)), "{error}");
    assert!(!error.is_ambiguous() && !error.is_disconnected(), "{error}");
    assert_eq!(head(&mut store.connect("ada"), "s").position, at);
}

#[test]
fn a_client_that_dies_between_object_and_row_leaves_no_row() {
    let store = TestServer::shared().store_with_members();
    let storage = objects(&store.database);
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000), noise(2, 300_000)];
    // The second object is never put: the first is there, the row is not.
    let n_puts = AtomicUsize::new(0);
    let before = move |_| match n_puts.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(BlobError::Unreachable { place: "x".to_owned(), reason: "the test".to_owned() }),
    };
    let mut dying = connect_with(&store, "ada", Arc::new(Watched { storage, before }));
    let both = batch(created.position, &[&lines[0], &lines[1]]);
    let failed = dying.append(created.no, &both, None).map(|end| end.unwrap());
    assert!(failed.as_ref().unwrap_err().is_temporary());
    assert_not_appended(&store, &failed, created.position);
    assert_eq!(n_objects(&store, &lines), 1);
    assert_eq!(store.admin_sql("select count(*) from sessile.line").unwrap(), "0");
    // Young orphans stay, because their row may follow.
    assert_eq!(ada.sweep_blobs(Duration::ZERO).unwrap(), 0);
    assert_eq!(ada.append(created.no, &both, None).unwrap(), Some(both.end()));
    let all = head(&mut ada, "s");
    assert!(read(&mut ada, &all, 0, 9) == lines);
}

#[test]
fn orphans_are_swept_after_a_week() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000), noise(2, 300_000)];
    let late = batch(Position { n_lines: 7, ..created.position }, &[&lines[0]]);
    assert_eq!(ada.append(created.no, &late, None).unwrap(), None, "another client was first");
    append(&mut ada, &created, &lines[1..]).unwrap();
    let week = Duration::from_hours(7 * 24);
    let age = |days: u32| {
        store.admin_sql(&format!("update sessile.blob set claimed_at = now() - interval '{days} days'")).unwrap();
    };
    age(6);
    assert_eq!(ada.sweep_blobs(week).unwrap(), 0);
    assert_eq!(n_objects(&store, &lines), 2);
    age(8);
    assert_eq!(connect(&store, "bob").sweep_blobs(week).unwrap(), 0, "they are not his");
    assert_eq!(store.connect("ada").sweep_blobs(week).unwrap(), 0, "without a storage");
    assert_eq!(ada.sweep_blobs(week).unwrap(), 1);
    assert_eq!((n_objects(&store, &lines[..1]), n_objects(&store, &lines[1..])), (0, 1));
    assert_eq!(ada.sweep_blobs(week).unwrap(), 0);
    assert_eq!(store.admin_sql("select count(*) from sessile.blob").unwrap(), "1");
}

#[test]
fn a_storage_that_is_down_or_full_loses_nothing() {
    let store = TestServer::shared().store_with_members();
    let storage = TestStorage::start();
    let objects = || client(storage.port(), "bucket/down", SECRET_KEY);
    let patient = || connect_with(&store, "ada", Arc::new(objects()));
    let hasty = || connect_with(&store, "ada", Arc::new(objects().with_answer_limit(Duration::from_secs(1))));
    let mut ada = patient();
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000), noise(2, 300_000), noise(3, 300_000)];
    let first = append(&mut ada, &created, &lines[..1]).unwrap();
    let at_first = head(&mut ada, "s");

    storage.kill();
    let failed = append(&mut ada, &at_first, &lines[1..]);
    assert!(matches!(failed, Err(RemoteError::Blob(BlobError::Unreachable { .. }))), "{failed:?}");
    assert!(failed.as_ref().unwrap_err().is_temporary());
    assert_not_appended(&store, &failed, first);
    assert!(matches!(read_error(&mut ada, &at_first), RemoteError::Blob(BlobError::Unreachable { .. })));
    // Small lines need no storage.
    let small = ada.append(created.no, &batch(first, &[b"small"]), None).unwrap().unwrap();

    storage.up(&["-volume.minFreeSpace=100"]);
    let at_small = head(&mut ada, "s");
    let failed = append(&mut hasty(), &at_small, &lines[1..]);
    assert!(failed.as_ref().unwrap_err().is_temporary(), "{failed:?}");
    assert_not_appended(&store, &failed, small);

    storage.kill();
    storage.up(&[]);
    let mut ada = patient();
    append(&mut ada, &at_small, &lines[1..]).unwrap();
    let all = head(&mut ada, "s");
    assert!(read(&mut ada, &all, 0, 9) == [lines[0].clone(), b"small".to_vec(), lines[1].clone(), lines[2].clone()]);
}

#[test]
fn a_storage_on_which_nothing_moves_is_given_up() {
    let store = TestServer::shared().store_with_members();
    let network = Network::to(TestStorage::shared().port());
    let path = format!("bucket/{}", store.database);
    let objects = Arc::new(client(network.port, &path, SECRET_KEY).with_answer_limit(Duration::from_millis(500)));
    let mut ada = connect_with(&store, "ada", objects);
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000)];
    network.stall(true);
    let failed = append(&mut ada, &created, &lines);
    assert!(matches!(failed, Err(RemoteError::Blob(BlobError::Timeout { .. }))), "{failed:?}");
    assert_not_appended(&store, &failed, created.position);
    network.stall(false);
    // Connections that are cut at any byte of a request or an answer.
    for n_bytes in [0, 100, 600, 5_000, 250_000, 300_700] {
        network.cut_after(n_bytes);
        let failed = append(&mut ada, &created, &lines);
        network.cut_after(-1);
        if let Err(error) = failed {
            assert!(error.is_temporary() && !error.is_ambiguous(), "{error}");
            continue;
        }
        break;
    }
    network.cut_after(-1);
    let now = head(&mut ada, "s");
    if now.position == created.position {
        append(&mut ada, &now, &lines).unwrap();
    }
    let all = head(&mut ada, "s");
    assert!(read(&mut ada, &all, 0, 9) == lines);
}

#[test]
fn wrong_keys_and_buckets_are_named_and_keys_are_not_printed() {
    let port = TestStorage::shared().port();
    let wrong = client(port, "bucket/x", "Tr0ub4dor&3");
    let error = wrong.check().unwrap_err();
    assert!(matches!(error, BlobError::Denied { .. }), "{error}");
    let store = TestServer::shared().store_with_members();
    let mut ada = connect_with(&store, "ada", Arc::new(wrong));
    let created = create(&mut ada, "s");
    let failed = append(&mut ada, &created, &[noise(1, 300_000)]);
    assert_not_appended(&store, &failed, created.position);
    let text = format!("{} {error:?} {:?}", failed.unwrap_err(), store.config("ada"));
    assert!(text.contains("wrong keys") && !text.contains("Tr0ub4dor") && !text.contains("test-access"), "{text}");
    let nowhere = client(port, "nowhere/x", SECRET_KEY).check().unwrap_err();
    assert!(matches!(nowhere, BlobError::NoBucket { .. }), "{nowhere}");
    objects("x").check().unwrap();
}

#[test]
fn a_damaged_or_missing_object_is_refused_and_healed_by_a_client_that_has_the_line() {
    let store = TestServer::shared().store_with_members();
    let storage = objects(&store.database);
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000)];
    append(&mut ada, &created, &lines).unwrap();
    let (all, hash) = (head(&mut ada, "s"), ObjectHash::of(&lines[0]));
    let compressed = zstd::bulk::compress(&vec![b'q'; 300_000], 3).unwrap();
    let longer = [lines[0].as_slice(), b"x"].concat();
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 3).unwrap();
    for other in [b"other".to_vec(), noise(2, 300_000), compressed, longer, bomb, Vec::new()] {
        storage.put(&hash, &other, true).unwrap();
        let error = read_error(&mut ada, &all);
        assert!(matches!(error, RemoteError::Blob(BlobError::Damaged { .. })), "{error}");
    }
    let healing = create(&mut ada, "t");
    append(&mut ada, &healing, &lines).unwrap();
    assert!(read(&mut ada, &all, 0, 9) == lines);
    storage.delete(&hash).unwrap();
    let error = read_error(&mut ada, &all);
    assert!(matches!(error, RemoteError::Blob(BlobError::Missing { .. })), "{error}");
    let healing = create(&mut ada, "u");
    append(&mut ada, &healing, &lines).unwrap();
    assert!(read(&mut ada, &all, 0, 9) == lines);
}

#[test]
fn a_member_who_is_revoked_while_reading_stops() {
    let store = Arc::new(TestServer::shared().store_with_members());
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = [noise(1, 300_000), noise(2, 300_000), noise(3, 300_000)];
    append(&mut ada, &created, &lines).unwrap();
    let revoking = Arc::clone(&store);
    let before = move |_| {
        revoking.admin().revoke_member("ada").unwrap();
        // Objects are small here. Large ones take this long.
        std::thread::sleep(Duration::from_millis(2100));
        Ok(())
    };
    let storage = objects(&store.database);
    let config = login(&store.url("ada")).with_blobs(Arc::new(Watched { storage, before }));
    let mut reading = PostgresServer::connect(&config).unwrap();
    let mut n_seen = 0;
    let error = reading.read(created.no, 0, 0, 9, &mut |_| {
        n_seen += 1;
        ControlFlow::Continue(())
    });
    assert!(matches!(error, Err(RemoteError::NotAMember { .. })), "{error:?}");
    assert_eq!(n_seen, 1);
    let refused = append(&mut ada, &created, &[noise(4, 300_000)]);
    assert!(matches!(refused, Err(RemoteError::NotAMember { .. })), "{refused:?}");
    assert_eq!(n_objects(&store, &[noise(4, 300_000)]), 0, "nothing was put");
}

#[test]
fn a_server_that_is_killed_while_an_object_is_put_has_no_row() {
    let server = TestServer::start();
    server.up().migrate().unwrap();
    let running = server.up();
    let (config, pid) = (running.member("ada").unwrap(), running.pid());
    let storage = objects(&format!("killed-{pid}"));
    let mut ada = PostgresServer::connect(&config.clone().with_blobs(Arc::clone(&storage))).unwrap();
    let created = create(&mut ada, "s");
    let line = noise(7, 300_000);
    let before = move |asked| {
        if asked == Asked::Put {
            kill(pid);
        }
        Ok(())
    };
    let watched = Arc::new(Watched { storage: Arc::clone(&storage), before });
    let mut dying = PostgresServer::connect(&config.with_blobs(watched)).unwrap();
    let error = dying.append(created.no, &batch(created.position, &[&line]), None).unwrap_err();
    assert!(error.is_disconnected(), "{error}");
    assert!(storage.head(&ObjectHash::of(&line)).unwrap().is_some(), "the object came first");
    server.up();
    while ada.reconnect().is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(head(&mut ada, "s").position, created.position, "no row");
    let end = append(&mut ada, &created, std::slice::from_ref(&line)).unwrap();
    let all = head(&mut ada, "s");
    assert_eq!(all.position, end);
    assert!(read(&mut ada, &all, 0, 9) == [line]);
}
