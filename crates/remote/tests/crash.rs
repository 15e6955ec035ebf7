//! A server that is killed while clients write: what was acknowledged is there, once.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sessile_remote::local_server;
use sessile_remote::postgres::{Config, PostgresServer};
use sessile_remote::{Batch, Chain, Position, Server, SessionNo};

use crate::contract::{create, head, read};
use crate::servers::TestServer;

const ROUNDS: u64 = 4;
const WRITERS: usize = 3;

#[test]
fn what_was_acknowledged_before_a_kill_is_there_once() {
    let server = TestServer::start();
    let running = server.up();
    running.migrate().unwrap();
    let config = running.member("ada").unwrap();
    let session = create(&mut PostgresServer::connect(&config).unwrap(), "s").no;
    let (is_over, n_acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut written: Vec<Vec<Vec<u8>>> = Vec::new();
    std::thread::scope(|scope| {
        let (config, is_over, n_acknowledged) = (&config, &is_over, &n_acknowledged);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(config, session, writer, is_over, n_acknowledged)))
            .collect();
        for round in 1..=ROUNDS {
            // Kill in the middle of the work, not before it.
            while n_acknowledged.load(Ordering::SeqCst) < round * 40 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let running = local_server::connect(&server.dir).unwrap().unwrap();
            kill(running.pid());
            let again = server.up();
            assert_eq!(again.port(), running.port(), "clients find it again");
            assert_ne!(again.pid(), running.pid());
        }
        is_over.store(true, Ordering::SeqCst);
        written.extend(writers.into_iter().map(|writer| writer.join().unwrap()));
    });
    let mut ada = PostgresServer::connect(&config).unwrap();
    let head = head(&mut ada, "s");
    let log = read(&mut ada, &head, 0, u64::MAX);
    assert_eq!(head.position.n_lines, log.len() as u64);
    assert_eq!(head.position.chain, Chain::EMPTY.after_all(log.iter().map(Vec::as_slice)));
    let n_written: usize = written.iter().map(Vec::len).sum();
    assert_eq!(log.len(), n_written, "each acknowledged line once, and no other");
    for (writer, lines) in written.iter().enumerate() {
        let own: Vec<&Vec<u8>> = log.iter().filter(|line| line.starts_with(format!("{writer} ").as_bytes())).collect();
        assert!(own.into_iter().eq(lines), "in the order of its writer");
    }
    assert!(n_written as u64 >= ROUNDS * 40);
}

/// Appends lines until the test is over, and returns those that the server has. Follows the recipe of [`Server`].
fn write(
    config: &Config,
    session: SessionNo,
    writer: usize,
    is_over: &AtomicBool,
    n_acknowledged: &AtomicU64,
) -> Vec<Vec<u8>> {
    let mut server = PostgresServer::connect(config).unwrap();
    let mut acknowledged: Vec<Vec<u8>> = Vec::new();
    let mut at = Position::start(0);
    while !is_over.load(Ordering::SeqCst) {
        let line = format!("{writer} {}", acknowledged.len()).into_bytes();
        let mut batch = Batch::at(at);
        batch.push(&line).unwrap();
        let is_there = match server.append(session, &batch, None) {
            Ok(Some(_)) => true,
            Ok(None) => false,
            Err(error) => {
                assert!(error.is_ambiguous(), "{error}");
                reconnect(&mut server);
                server.chains(session, 0, &[batch.end().n_lines]).unwrap() == [Some(batch.end().chain)]
            }
        };
        if is_there {
            at = batch.end();
            acknowledged.push(line);
            n_acknowledged.fetch_add(1, Ordering::SeqCst);
        } else {
            match server.head(None, "s") {
                Ok(head) => at = head.unwrap().position,
                Err(error) => {
                    assert!(error.is_disconnected(), "{error}");
                    reconnect(&mut server);
                }
            }
        }
    }
    acknowledged
}

fn reconnect(server: &mut PostgresServer) {
    while let Err(error) = server.reconnect() {
        assert!(error.is_temporary(), "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_lost_connection_fails_each_call_until_the_client_reconnects() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let created = create(&mut ada, "s");
    let close = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}'", store.database);
    store.superuser("postgres", &close).unwrap();
    assert!(ada.about().unwrap_err().is_disconnected());
    assert!(ada.head(None, "s").unwrap_err().is_disconnected());
    assert!(ada.read(created.no, 0, 0, 1, &mut |_| ControlFlow::Continue(())).unwrap_err().is_disconnected());
    ada.reconnect().unwrap();
    assert_eq!(head(&mut ada, "s").position, created.position);
}
