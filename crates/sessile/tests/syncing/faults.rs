//! Machines that lose power, connections that break, and servers that lie.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sessile::SessionError;
use sessile::sync::SyncOptions;
use sessile::sync::remote::{
    About, AuthorRun, Batch, Candidates, Chain, Fault, Head, MemoryServer, NewSession, Position, RemoteError,
    Replacement, Server, ServerLine, ServerTime, SessionNo, Tombstone,
};
use sessile_testkit::sim::{Errno, Tear};

use crate::stage::{Machine, entry, ids, log_of};

/// A machine whose session and log have both grown, and the server.
fn diverged() -> (Machine, MemoryServer) {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    one.add(&entry("c", "b", 10, "here"));
    one.sync(&server).unwrap();
    two.add(&entry("e", "b", 5, "there"));
    two.add(&entry("f", "e", 6, "there, too"));
    (two, server)
}

/// Everything is on the server and on the machine, once.
#[track_caller]
fn assert_whole(machine: &Machine, server: &MemoryServer) {
    assert_eq!(log_of(server), machine.lines());
    let found = ids(&machine.lines());
    let unique: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found.len(), unique.len(), "{found:?}");
    assert_eq!(unique, BTreeSet::from(["a", "b", "c", "e", "f", "odd"]));
}

#[test]
fn a_machine_may_die_anywhere() {
    for tear in Tear::EVERY {
        for n in 1.. {
            let (machine, server) = diverged();
            machine.os.crash_at(n, tear);
            let synced = machine.sync(&server);
            if !machine.os.crashed() {
                synced.unwrap();
                assert!(n > 20, "too few calls to crash in");
                break;
            }
            for os in [machine.os.process(2000), machine.os.power_loss(n)] {
                let (next, server) = (machine.on(os), fork(&server));
                next.rest();
                next.sync(&server).unwrap();
                assert_whole(&next, &server);
            }
        }
    }
}

/// A server with the same logs.
fn fork(server: &MemoryServer) -> MemoryServer {
    let text = log_of(server);
    let mut forked = MemoryServer::new("alice");
    let head = server.clone().head(None, "s1").unwrap().unwrap();
    let new = NewSession { header_id: "s1", header: &head.header, ..NewSession::default() };
    let head = forked.create(&new).unwrap();
    let mut batch = Batch::at(head.position);
    text.lines().for_each(|line| batch.push(line.as_bytes()).unwrap());
    forked.append(head.no, &batch, None).unwrap().unwrap();
    forked
}

#[test]
fn any_call_may_fail() {
    let n_calls = {
        let (machine, server) = diverged();
        machine.os.clear_calls();
        machine.sync(&server).unwrap();
        machine.os.calls().len() as u64
    };
    for errno in [Errno::IO, Errno::NOSPC] {
        for n in 1..=n_calls {
            let (machine, server) = diverged();
            machine.os.fail_call(n, errno);
            drop(machine.sync(&server));
            machine.os.heal();
            machine.rest();
            machine.sync(&server).unwrap();
            assert_whole(&machine, &server);
        }
    }
}

#[test]
fn the_connection_may_break_before_and_after_a_commit() {
    for fault in [Fault::BeforeCommit, Fault::AfterCommit] {
        let (machine, server) = diverged();
        let mut client = server.clone();
        client.fail_next(fault);
        machine.sync_on(&mut client, &SyncOptions::default()).unwrap();
        assert_whole(&machine, &server);
    }
}

/// A server that changes the lines it delivers, or their author.
struct Liar {
    inner: MemoryServer,
    lie: Lie,
    author: Option<&'static str>,
}

/// What becomes of a line.
type Lie = fn(&[u8]) -> Vec<u8>;

impl Server for Liar {
    fn about(&mut self) -> Result<About, RemoteError> {
        self.inner.about()
    }

    fn heads(
        &mut self,
        since: Option<ServerTime>,
        on_head: &mut dyn FnMut(Head) -> ControlFlow<()>,
    ) -> Result<ServerTime, RemoteError> {
        self.inner.heads(since, on_head)
    }

    fn head(&mut self, owner: Option<&str>, header_id: &str) -> Result<Option<Head>, RemoteError> {
        self.inner.head(owner, header_id)
    }

    fn create(&mut self, new: &NewSession<'_>) -> Result<Head, RemoteError> {
        self.inner.create(new)
    }

    fn append(
        &mut self,
        session: SessionNo,
        batch: &Batch,
        summary: Option<&[u8]>,
    ) -> Result<Option<Position>, RemoteError> {
        self.inner.append(session, batch, summary)
    }

    fn read(
        &mut self,
        session: SessionNo,
        epoch: u32,
        from: u64,
        to: u64,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        let (lie, author) = (self.lie, self.author);
        self.inner.read(session, epoch, from, to, &mut |line| {
            on_line(ServerLine { bytes: &lie(line.bytes), author: author.unwrap_or(line.author), ..line })
        })
    }

    fn chains(&mut self, session: SessionNo, epoch: u32, at: &[u64]) -> Result<Vec<Option<Chain>>, RemoteError> {
        self.inner.chains(session, epoch, at)
    }

    fn authors(&mut self, session: SessionNo, epoch: u32) -> Result<Vec<AuthorRun>, RemoteError> {
        self.inner.authors(session, epoch)
    }

    fn candidates(&mut self, terms: &[u32], before: Option<ServerTime>, limit: u32) -> Result<Candidates, RemoteError> {
        self.inner.candidates(terms, before, limit)
    }

    fn replace(
        &mut self,
        session: SessionNo,
        at: &Position,
        replacement: &Replacement<'_>,
        next_batch: &mut dyn FnMut(Position) -> Option<Batch>,
    ) -> Result<Option<Position>, RemoteError> {
        self.inner.replace(session, at, replacement, next_batch)
    }

    fn bury(&mut self, header_id: &str) -> Result<bool, RemoteError> {
        self.inner.bury(header_id)
    }

    fn tombstones(
        &mut self,
        since: Option<ServerTime>,
        on_tombstone: &mut dyn FnMut(Tombstone),
    ) -> Result<(), RemoteError> {
        self.inner.tombstones(since, on_tombstone)
    }

    fn reconnect(&mut self) -> Result<(), RemoteError> {
        self.inner.reconnect()
    }
}

#[test]
fn lines_that_are_not_what_was_pushed_are_refused() {
    let lies: [Lie; 3] = [
        |line| String::from_utf8_lossy(line).replace("here", "evil").into_bytes(),
        |line| [line, b"\n{}"].concat(),
        |_| Vec::new(),
    ];
    for lie in lies {
        for is_diverged in [true, false] {
            let server = MemoryServer::new("alice");
            let (one, two) = (Machine::new(1), Machine::new(2));
            one.add(&entry("c", "b", 10, "here"));
            one.sync(&server).unwrap();
            if is_diverged {
                two.add(&entry("e", "b", 5, "there"));
            }
            let before = (two.text(), log_of(&server));
            let mut liar = Liar { inner: server.clone(), lie, author: None };
            let error = two.sync_on(&mut liar, &SyncOptions::default()).unwrap_err();
            assert!(matches!(error, SessionError::RemoteDamaged { line: 5, .. }), "{error}");
            assert_eq!((two.text(), log_of(&server)), before);
        }
    }
}

/// Lines that pi does not survive, or that hide an entry.
const HOSTILE: [&str; 4] = [
    r#"{"type":"message","id":"b","parentId":null,"timestamp":"2025-01-01T00:00:09.000Z"}"#,
    r#"{"type":"message","id":"l","parentId":"l","timestamp":"2025-01-01T00:00:09.000Z"}"#,
    r#"{"type":"session","version":3,"id":"s9","timestamp":"2025-01-01T00:00:09.000Z","cwd":"/"}"#,
    "[]",
];

#[test]
fn hostile_lines_of_another_member_are_refused_and_odd_own_ones_are_kept() {
    for hostile in HOSTILE {
        for is_diverged in [true, false] {
            let server = MemoryServer::new("alice");
            let (one, two) = (Machine::new(1), Machine::new(2));
            one.add(&entry("c", "b", 10, "here"));
            one.add(hostile);
            one.sync(&server).unwrap();
            if is_diverged {
                two.add(&entry("e", "b", 5, "there"));
            }
            let before = two.text();
            let mut foreign = Liar { inner: server.clone(), lie: <[u8]>::to_vec, author: Some("mallory") };
            let error = two.sync_on(&mut foreign, &SyncOptions::default()).unwrap_err();
            assert!(matches!(error, SessionError::RemoteRefused { line: 6, .. }), "{hostile}: {error}");
            assert_eq!(two.text(), before);
            // The same lines of the same person come back byte for byte.
            two.sync(&server).unwrap();
            assert!(two.lines().contains(hostile));
            assert_eq!(two.lines(), log_of(&server));
        }
    }
}
