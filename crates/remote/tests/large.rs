//! Large lines in a real storage.

mod faults;
mod removing;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sessile_core::date::Timestamp;
use sessile_remote::blobs::{BlobError, LARGE_LINE, ObjectHash, Objects, PutResult, S3Address, S3Keys, S3Storage};
use sessile_remote::postgres::PostgresServer;
use sessile_remote::{Batch, Head, Position, RemoteError, Server};

use crate::contract::{batch, create, head, read};
use crate::on_postgres::check_all;
use crate::servers::{TestServer, TestStore};
use crate::storage::{ACCESS_KEY, SECRET_KEY, TestStorage};

/// Returns bytes without newlines that cannot be compressed. The first byte is the seed.
fn noise(seed: u8, length: usize) -> Vec<u8> {
    let mut state = u64::from(seed);
    let mut line = vec![seed.max(b' ')];
    while line.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        line.extend(state.to_be_bytes()[..4].iter().filter(|byte| **byte != b'\n'));
    }
    line.truncate(length);
    line
}

/// Returns a client for a bucket, with a prefix.
fn client(port: u16, path: &str, secret_key: &str) -> S3Storage {
    let address = S3Address::from_url(&format!("http://127.0.0.1:{port}/{path}")).unwrap();
    S3Storage::new(address, S3Keys::new(ACCESS_KEY, secret_key), now)
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap())
}

/// Returns a client for the shared storage, for objects below a prefix.
fn objects(prefix: &str) -> Arc<dyn Objects> {
    Arc::new(client(TestStorage::shared().port(), &format!("bucket/{prefix}"), SECRET_KEY))
}

/// Connects as a member, with the shared storage. Each database has a prefix of its own.
fn connect(store: &TestStore, name: &str) -> PostgresServer {
    connect_with(store, name, objects(&store.database))
}

fn connect_with(store: &TestStore, name: &str, objects: Arc<dyn Objects>) -> PostgresServer {
    PostgresServer::connect(&store.config(name).with_blobs(objects)).unwrap()
}

/// Appends lines to a session in as many batches as it takes.
fn append(server: &mut PostgresServer, head: &Head, lines: &[Vec<u8>]) -> Result<Position, RemoteError> {
    let mut at = head.position;
    for line in lines {
        at = server.append(head.no, &batch(at, &[line]), None)?.unwrap();
    }
    Ok(at)
}

fn n_objects(store: &TestStore, lines: &[Vec<u8>]) -> usize {
    let storage = objects(&store.database);
    lines.iter().filter(|line| storage.head(&ObjectHash::of(line)).unwrap().is_some()).count()
}

/// A real storage, with something that happens before each request.
struct Watched<F> {
    storage: Arc<dyn Objects>,
    before: F,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Put,
    Get,
    Head,
    Delete,
}

impl<F: Fn(Asked) -> Result<(), BlobError> + Send + Sync> Objects for Watched<F> {
    fn place(&self) -> &str {
        self.storage.place()
    }

    fn put(&self, hash: &ObjectHash, body: &[u8], overwrite: bool) -> Result<PutResult, BlobError> {
        (self.before)(Asked::Put)?;
        self.storage.put(hash, body, overwrite)
    }

    fn get(&self, hash: &ObjectHash, limit: usize) -> Result<Option<Vec<u8>>, BlobError> {
        (self.before)(Asked::Get)?;
        self.storage.get(hash, limit)
    }

    fn head(&self, hash: &ObjectHash) -> Result<Option<u64>, BlobError> {
        (self.before)(Asked::Head)?;
        self.storage.head(hash)
    }

    fn delete(&self, hash: &ObjectHash) -> Result<(), BlobError> {
        (self.before)(Asked::Delete)?;
        self.storage.delete(hash)
    }

    fn check(&self) -> Result<(), BlobError> {
        self.storage.check()
    }
}

#[test]
fn a_store_with_a_storage_does_what_every_server_does() {
    check_all(|store, name| store.config(name).with_blobs(objects(&store.database)));
}

#[test]
fn large_lines_are_objects_and_come_back() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    let lines = [
        b"small".to_vec(),
        noise(1, LARGE_LINE),
        noise(2, LARGE_LINE + 1),
        vec![b'z'; 300_000],
        b"small, too".to_vec(),
        noise(3, 5_000_000),
        vec![b'y'; 5_000_000],
        // Looks compressed.
        [[0x28, 0xb5, 0x2f, 0xfd].as_slice(), &noise(4, 300_000)].concat(),
        vec![b'a'; 2000],
    ];
    let end = append(&mut ada, &created, &lines).unwrap();
    let head = head(&mut ada, "s");
    assert_eq!(head.position, end);
    assert_eq!(head.bytes, lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>());
    assert!(read(&mut ada, &head, 0, u64::MAX) == lines);
    for from in 0..lines.len() {
        assert!(
            read(&mut ada, &head, from as u64, from as u64 + 3) == lines[from..lines.len().min(from + 3)],
            "{from}"
        );
    }
    let mut n_seen = 0;
    let stop_at_the_third = &mut |_: sessile_remote::ServerLine<'_>| {
        n_seen += 1;
        if n_seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    ada.read(head.no, 0, 0, u64::MAX, stop_at_the_third).unwrap();
    assert_eq!(n_seen, 3);

    let rows = store.admin_sql("select codec, octet_length(data) from sessile.line order by seq").unwrap();
    let is_object: Vec<bool> = rows.lines().map(|row| row == "2|40").collect();
    assert_eq!(is_object, lines.iter().map(|line| line.len() > LARGE_LINE).collect::<Vec<_>>(), "{rows}");
    let storage = objects(&store.database);
    let length = |line: &[u8]| storage.head(&ObjectHash::of(line)).unwrap();
    assert_eq!(length(&lines[1]), None);
    assert_eq!(length(&lines[2]), Some(LARGE_LINE as u64 + 1));
    assert!(length(&lines[6]).unwrap() < 10_000, "compressed");

    // A batch with several, two of them equal.
    let several = batch(end, &[&lines[2], b"x", &lines[3], &lines[2]]);
    ada.append(created.no, &several, None).unwrap().unwrap();
    assert!(read(&mut ada, &head, 9, 13) == [lines[2].clone(), b"x".to_vec(), lines[3].clone(), lines[2].clone()]);
}

#[test]
fn equal_lines_are_one_object() {
    let store = TestServer::shared().store_with_members();
    let n_puts = Arc::new(AtomicUsize::new(0));
    let counted = |n_puts: &Arc<AtomicUsize>| {
        let n_puts = Arc::clone(n_puts);
        let before = move |asked| {
            n_puts.fetch_add(usize::from(asked == Asked::Put), Ordering::SeqCst);
            Ok(())
        };
        Arc::new(Watched { storage: objects(&store.database), before })
    };
    let mut ada = connect_with(&store, "ada", counted(&n_puts));
    let lines = [noise(1, 300_000)];
    for id in ["r", "s", "t"] {
        let created = create(&mut ada, id);
        append(&mut ada, &created, &lines).unwrap();
    }
    assert_eq!(n_puts.load(Ordering::SeqCst), 1, "the server knows that her sessions have it");
    let mut bob = connect_with(&store, "bob", counted(&n_puts));
    let his = create(&mut bob, "s");
    append(&mut bob, &his, &lines).unwrap();
    assert_eq!(n_puts.load(Ordering::SeqCst), 2, "and does not tell him");
    assert_eq!(store.admin_sql("select count(*), count(distinct hash) from sessile.blob").unwrap(), "4|1");
    assert_eq!(TestStorage::shared().n_objects(&store.database), 1);
    for (server, id) in [(&mut ada, "t"), (&mut bob, "s")] {
        let head = head(server, id);
        assert!(read(server, &head, 0, 9) == lines);
    }
}

#[test]
fn an_object_is_not_overwritten_by_chance() {
    let storage = objects("overwriting");
    let hash = ObjectHash::of(b"x");
    assert_eq!(storage.head(&hash).unwrap(), None);
    assert_eq!(storage.get(&hash, 9).unwrap(), None);
    assert_eq!(storage.put(&hash, b"first", false).unwrap(), PutResult::Stored);
    assert_eq!(storage.put(&hash, b"second", false).unwrap(), PutResult::Existed);
    assert_eq!(storage.get(&hash, 9).unwrap().unwrap(), b"first");
    assert_eq!(storage.put(&hash, b"third", true).unwrap(), PutResult::Stored);
    assert_eq!((storage.get(&hash, 5).unwrap().unwrap(), storage.head(&hash).unwrap()), (b"third".to_vec(), Some(5)));
    assert!(matches!(storage.get(&hash, 4), Err(BlobError::Damaged { .. })));
    for _ in 0..2 {
        storage.delete(&hash).unwrap();
        assert_eq!(storage.head(&hash).unwrap(), None);
    }
}

#[test]
fn without_a_storage_the_error_says_what_to_do() {
    let store = TestServer::shared().store_with_members();
    let mut ada = connect(&store, "ada");
    let created = create(&mut ada, "s");
    append(&mut ada, &created, &[b"small".to_vec(), noise(1, 300_000)]).unwrap();
    let mut plain = store.connect("ada");
    let mut seen = Vec::new();
    let error = plain.read(created.no, 0, 0, 9, &mut |line| {
        seen.push(line.bytes.to_vec());
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err();
    assert_eq!(seen, [b"small"]);
    assert!(matches!(error, RemoteError::NoStorage { line: 2, session, .. } if session == created.no), "{error}");
    let text = error.to_string();
    assert!(text.contains(&created.no.to_string()) && text.contains("remote.NAME.blobs"), "{text}");
    // Its own large lines go into the database.
    let at = head(&mut plain, "s").position;
    let large = noise(2, 300_000);
    let end = plain.append(created.no, &batch(at, &[&large]), None).unwrap().unwrap();
    let all = head(&mut ada, "s");
    assert_eq!(all.position, end);
    assert!(read(&mut ada, &all, 2, 3) == [large]);
}

#[test]
fn only_a_claimed_object_can_be_a_line() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let no = create(&mut ada, "s").no;
    let (zeros, hash) = (format!("'\\x{}'::bytea", "00".repeat(16)), "ab".repeat(32));
    let append = |data: &str| {
        let lines = format!("array[{zeros}]::bytea[], array[2]::smallint[], array['\\x{data}'::bytea]");
        store.sql("ada", &format!("select sessile.append({no}, 0, 0, {zeros}, {lines}, 300001, null, null)"))
    };
    for length in ["", "00", "0000000000000000", "ffffffffffffffff", "0000000002000001", "00000000000493e000"] {
        let refused = append(&format!("{hash}{length}")).unwrap_err();
        assert!(refused.contains("a line has at most 32 MiB"), "{length}: {refused}");
    }
    let row = format!("{hash}00000000000493e0");
    let refused = append(&row).unwrap_err();
    assert!(refused.contains("the object of a line was not claimed"), "{refused}");
    let claim = |member: &str, hash: &str| {
        let hashes = format!("array['\\x{hash}'::bytea]");
        store.sql(member, &format!("select is_known from sessile.claim_blobs({no}, {hashes})"))
    };
    assert!(claim("bob", &hash).unwrap_err().contains("no such session"));
    assert!(claim("ada", "ab").unwrap_err().contains("hashes of 32 bytes"));
    assert_eq!(claim("ada", &hash).unwrap(), "f");
    assert_eq!(append(&row).unwrap(), "1");
    assert_eq!(claim("ada", &hash).unwrap(), "t");
    // No member deletes what is used, or learns about the objects of others.
    for member in ["ada", "bob"] {
        let released = store.sql(member, &format!("select sessile.release_blob('\\x{hash}'::bytea, 0)"));
        assert_eq!(released.unwrap(), "f");
        assert_eq!(store.sql(member, "select count(*) from sessile.stale_blobs(0)").unwrap(), "0");
    }
    let missing = ada.read(no, 0, 0, 9, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(missing, Err(RemoteError::NoStorage { .. })));
}
