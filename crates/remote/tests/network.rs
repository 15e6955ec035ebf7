//! A network that fails: connections that are cut at any byte, and connections on which nothing moves any more.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use sessile_remote::postgres::PostgresServer;
use sessile_remote::{Batch, Chain, Position, RemoteError, Server, ServerLine, SessionNo};

use crate::contract::{batch, create, head, read};
use crate::servers::{TestServer, login};

/// Stands between client and server.
pub(crate) struct Network {
    pub(crate) port: u16,
    state: Arc<State>,
}

struct State {
    /// How many bytes may still pass before all connections are cut; negative for any number.
    budget: AtomicI64,
    is_stalled: AtomicBool,
}

impl Network {
    pub(crate) fn to(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { budget: AtomicI64::new(-1), is_stalled: AtomicBool::new(false) });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server_port))) else {
                    continue;
                };
                for (from, to) in [(client.try_clone(), server.try_clone()), (server.try_clone(), client.try_clone())] {
                    let (from, to, state) = (from.unwrap(), to.unwrap(), Arc::clone(&shared));
                    std::thread::spawn(move || pass(from, to, &state));
                }
            }
        });
        Self { port, state }
    }

    pub(crate) fn cut_after(&self, n_bytes: i64) {
        self.state.budget.store(n_bytes, Ordering::SeqCst);
    }

    pub(crate) fn stall(&self, is_stalled: bool) {
        self.state.is_stalled.store(is_stalled, Ordering::SeqCst);
    }
}

/// Passes bytes on in one direction, as far as the network permits.
fn pass(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let mut buffer = [0; 4096];
    while let Ok(n_read @ 1..) = from.read(&mut buffer) {
        while state.is_stalled.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let n_read = i64::try_from(n_read).unwrap();
        let take = |budget: i64| (budget >= 0).then(|| (budget - n_read).max(0));
        let before = state.budget.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).unwrap_or(i64::MAX);
        let n_passed = usize::try_from(before.min(n_read)).unwrap();
        if to.write_all(&buffer[..n_passed]).is_err() || before <= n_read {
            break;
        }
    }
    drop(from.shutdown(Shutdown::Both));
    drop(to.shutdown(Shutdown::Both));
}

/// Appends a line, whatever happens, by the recipe of [`Server`]. Returns the position after it.
fn append_surely(
    server: &mut PostgresServer,
    session: SessionNo,
    at: Position,
    line: &[u8],
    heal: &dyn Fn(),
) -> Position {
    let one = batch(at, &[line]);
    loop {
        match server.append(session, &one, None) {
            Ok(Some(end)) => return end,
            Ok(None) => panic!("there is one writer"),
            Err(error) => assert!(error.is_ambiguous(), "{error}"),
        }
        heal();
        server.reconnect().unwrap();
        let now = head(server, "s").position;
        if now == one.end() {
            return now;
        }
        assert_eq!(now, at);
    }
}

#[test]
fn connections_that_are_cut_at_any_byte_lose_and_double_nothing() {
    let store = TestServer::shared().store_with_members();
    let network = Network::to(store.running.port());
    let config = login(&format!("postgres://ada@127.0.0.1:{}/{}", network.port, store.database));
    let mut server = PostgresServer::connect(&config).unwrap();
    let created = create(&mut server, "s");
    let mut at = created.position;
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut n_cuts = 0;
    // A request has some 500 bytes and an answer some 100, so this meets every place in both, and long lines.
    for round in 0..120_u32 {
        let line = format!("{round} {}", "x".repeat(round as usize % 3 * 700)).into_bytes();
        network.cut_after(i64::from(round) * 11 % 1500);
        at = append_surely(&mut server, created.no, at, &line, &|| network.cut_after(-1));
        n_cuts += u32::from(network.state.budget.load(Ordering::SeqCst) < 0);
        network.cut_after(-1);
        lines.push(line);
    }
    assert!(n_cuts > 40, "{n_cuts}");
    network.cut_after(-1);
    server.reconnect().unwrap();
    let head = head(&mut server, "s");
    assert_eq!(head.position, at);
    assert!(read(&mut server, &head, 0, u64::MAX) == lines);
    assert_eq!(at.chain, Chain::EMPTY.after_all(lines.iter().map(Vec::as_slice)));
}

#[test]
fn a_connection_on_which_nothing_moves_is_given_up() {
    let store = TestServer::shared().store_with_members();
    let network = Network::to(store.running.port());
    let url = format!("postgres://ada@127.0.0.1:{}/{}", network.port, store.database);
    let config = login(&url).with_answer_limit(Duration::from_millis(500));
    let mut server = PostgresServer::connect(&config).unwrap();
    let created = create(&mut server, "s");
    let mut large = Batch::at(created.position);
    large.push(&[b'x'; 900]).unwrap();
    network.stall(true);
    let error = server.append(created.no, &large, None).unwrap_err();
    assert!(matches!(error, RemoteError::Timeout { .. }) && error.is_ambiguous(), "{error}");
    assert!(server.head(None, "s").unwrap_err().is_disconnected());
    network.stall(false);
    let mut server = PostgresServer::connect(&login(&url)).unwrap();
    let now = head(&mut server, "s").position;
    assert!(now == large.start() || now == large.end());
}

#[test]
fn what_a_server_should_not_have_is_refused() {
    let store = TestServer::shared().store_with_members();
    let mut server = store.connect("ada");
    let created = create(&mut server, "s");
    server.append(created.no, &batch(created.position, &[b"a", b"b", b"c"]), None).unwrap();
    let mut n_seen = 0;
    let mut on_line = |_: ServerLine<'_>| {
        n_seen += 1;
        std::ops::ControlFlow::Continue(())
    };
    // 32 MiB and one byte of zeros, compressed, as an administrator could put it there.
    let changes = [
        "update sessile.line set codec = 1, data = '\\x28b52ffda00100000254000000000100'::bytea where seq = 2",
        "update sessile.line set codec = 3 where seq = 2",
        "update sessile.line set codec = 0, data = 'a\nb' where seq = 2",
        "update sessile.line set seq = 9 where seq = 2",
    ];
    for change in changes {
        store.admin_sql(change).unwrap();
        let error = server.read(created.no, 0, 0, 99, &mut on_line).unwrap_err();
        assert!(matches!(error, RemoteError::BadData { .. }), "{change}: {error}");
        assert!(!error.to_string().contains('\n'));
    }
    assert_eq!(n_seen, changes.len(), "the line before was fine");
}
