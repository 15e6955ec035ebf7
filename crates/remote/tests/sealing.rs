//! Lines that came one by one become packs. Readers notice no difference.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sessile_core::search::terms::LineTerms;
use sessile_remote::local_server;
use sessile_remote::postgres::PostgresServer;
use sessile_remote::{Batch, Chain, May, Position, Server, SessionNo, Team};

use crate::contract::{create, head, read};
use crate::crash::kill;
use crate::servers::{TestServer, TestStore};

/// A line of a session with some words.
fn line(number: usize, length: usize) -> Vec<u8> {
    let filler = "lorem ipsum ".repeat(length / 12);
    let text = format!("word{number} {filler}");
    let content = format!(r#"{{"role":"user","content":"{text}","timestamp":1}}"#);
    format!(
        r#"{{"type":"message","id":"{number:08x}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{content}}}"#
    )
    .into_bytes()
}

fn append(server: &mut dyn Server, session: SessionNo, at: Position, line: &[u8]) -> Position {
    let mut batch = Batch::at(at);
    batch.push(line).unwrap();
    batch.add_terms(LineTerms::default().of(line));
    server.append(session, &batch, None).unwrap().unwrap()
}

/// What readers see of a line.
#[derive(PartialEq)]
struct Seen {
    number: u64,
    author: String,
    device: Option<String>,
    bytes: Vec<u8>,
    chain: Option<Chain>,
}

fn seen(server: &mut PostgresServer, id: &str) -> Vec<Seen> {
    let head = head(server, id);
    let mut lines = Vec::new();
    let read = server.read(head.no, head.position.epoch, 0, u64::MAX, &mut |line| {
        let (author, device) = (line.author.to_owned(), line.device.map(str::to_owned));
        lines.push(Seen { number: line.number, author, device, bytes: line.bytes.to_vec(), chain: None });
        ControlFlow::Continue(())
    });
    read.unwrap();
    let numbers: Vec<u64> = (1..=head.position.n_lines).collect();
    let chains = server.chains(head.no, head.position.epoch, &numbers).unwrap();
    assert_eq!(lines.len(), chains.len());
    for (line, chain) in lines.iter_mut().zip(chains) {
        line.chain = chain;
    }
    lines
}

fn count(store: &TestStore, table: &str) -> u64 {
    store.admin_sql(&format!("select count(*) from sessile.{table}")).unwrap().parse().unwrap()
}

fn finds(server: &mut PostgresServer, text: &str) -> Vec<(u64, u64)> {
    let query = sessile_core::search::query::Query::parse(text).unwrap();
    let terms = sessile_core::search::terms::query_terms(&query).remove(0);
    let found = server.candidates(&terms, None, 200).unwrap().found;
    found.into_iter().map(|candidate| (candidate.from + 1, candidate.to)).collect()
}

#[test]
fn quiet_sessions_are_stored_as_packs_and_read_the_same() {
    let store = TestServer::shared().store_with_team();
    let mut ada = PostgresServer::connect(&store.config("ada").on_device("laptop")).unwrap();
    let mut desktop = PostgresServer::connect(&store.config("ada").on_device("desktop")).unwrap();
    let mut bob = PostgresServer::connect(&store.config("bob")).unwrap();
    let created = create(&mut ada, "s");
    ada.share(created.no, "bob", May::Write).unwrap();
    let mut at = created.position;
    for number in 0..300 {
        // Runs of three writers, some lines that are longer than a pack, and a pack among them.
        let length = if number % 97 == 50 { 300_000 } else { number * 61 % 5000 };
        let mut text = line(number, length);
        if number % 97 == 50 {
            // Random enough to stay long.
            let noise = (0..300_000_u32).map(|n| b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26);
            text.splice(text.len() - 20..text.len() - 20, noise);
        }
        let writer: &mut PostgresServer = match number / 40 % 4 {
            1 => &mut desktop,
            2 => &mut bob,
            _ => &mut ada,
        };
        at = append(writer, created.no, at, &text);
    }
    let before = seen(&mut ada, "s");
    let (n_lines, n_terms) = (count(&store, "line"), count(&store, "terms"));
    assert_eq!((n_lines, n_terms, count(&store, "pack")), (300, 300, 0));
    let seen_at = head(&mut ada, "s").seen_at;

    assert_eq!(ada.seal(Duration::from_hours(1)).unwrap(), 0, "it was written just now");
    assert_eq!(bob.seal(Duration::ZERO).unwrap(), 0, "it is not a session of bob");
    let n_sealed = ada.seal(Duration::ZERO).unwrap();
    assert!((290..300).contains(&n_sealed), "{n_sealed}");
    assert_eq!(count(&store, "line"), 300 - n_sealed);
    let n_packs = count(&store, "pack");
    assert!((8..24).contains(&n_packs), "{n_packs}");
    assert_eq!(count(&store, "terms"), n_packs + 300 - n_sealed);
    assert_eq!(head(&mut ada, "s").seen_at, seen_at, "nothing has changed for others");

    assert!(seen(&mut ada, "s") == before, "the same lines, authors, devices and chains");
    let all: Vec<Vec<u8>> = before.iter().map(|line| line.bytes.clone()).collect();
    let head = head(&mut ada, "s");
    for from in (0..300).step_by(7) {
        let to = (from + 45).min(300);
        let mut part = Vec::new();
        let read = ada.read(head.no, 0, from as u64, to as u64, &mut |line| {
            part.push(line.bytes.to_vec());
            ControlFlow::Continue(())
        });
        read.unwrap();
        assert!(part == all[from..to], "{from}");
    }
    for number in [0, 17, 47, 90, 201, 299_u64] {
        let found = finds(&mut ada, &format!("word{number}"));
        assert!(found.iter().any(|(from, to)| (*from..=*to).contains(&(number + 1))), "{number}: {found:?}");
    }
    assert_eq!(ada.seal(Duration::ZERO).unwrap(), 0, "all is sealed");
    for number in 300..440 {
        at = append(&mut ada, created.no, at, &line(number, 10));
    }
    assert_eq!(ada.seal(Duration::ZERO).unwrap(), 140, "what came later");
    assert_eq!(seen(&mut ada, "s").len(), 440);
}

#[test]
fn a_line_that_was_changed_stays_where_verify_finds_it() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let created = create(&mut ada, "s");
    let mut at = created.position;
    for number in 0..200 {
        at = append(&mut ada, created.no, at, &line(number, 10));
    }
    store.superuser(&store.database, "update sessile.line set data = 'other' where seq = 77").unwrap();
    assert_eq!(ada.seal(Duration::ZERO).unwrap(), 199);
    assert_eq!(store.admin_sql("select seq from sessile.line").unwrap(), "77");
    assert_eq!(seen(&mut ada, "s")[76].bytes, b"other");
}

#[test]
fn only_the_rows_of_an_own_log_become_packs() {
    let store = TestServer::shared().store_with_team();
    let mut ada = store.connect("ada");
    let created = create(&mut ada, "s");
    let mut at = created.position;
    for number in 0..4 {
        at = append(&mut ada, created.no, at, &line(number, 10));
    }
    let no = created.no.0;
    let seal = |epoch: u32, seq: u32, n: u32, filter: &str| {
        format!(
            "select sessile.seal({no}, {epoch}, array[{seq}]::bigint[], array[{n}], array[0]::smallint[], \
             array['x']::bytea[], array[{filter}]::bytea[], 4)"
        )
    };
    let refused = |role: &str, statement: &str| store.sql(role, statement).unwrap_err();
    assert!(refused("bob", &seal(0, 1, 2, "''")).contains("no such session"));
    ada.share(created.no, "bob", May::Write).unwrap();
    assert!(refused("bob", &seal(0, 1, 2, "''")).contains("only the owner"));
    assert!(refused("ada", &seal(1, 1, 2, "''")).contains("replaced"));
    assert!(refused("ada", &seal(0, 4, 2, "''")).contains("other lines"), "one that is not there");
    assert!(refused("ada", &seal(0, 1, 1, "''")).contains("2 to 4,096"));
    assert!(refused("ada", &seal(0, 1, 2, "'abc'")).contains("2 to 4,096"));
    assert_eq!((count(&store, "line"), count(&store, "pack")), (4, 0));
    assert_eq!(store.connect("bob").seal(Duration::ZERO).unwrap(), 0);
}

/// Two machines seal, a third appends, and the server is killed in between.
#[test]
fn kills_and_other_clients_change_no_line() {
    let server = TestServer::start();
    let running = server.up();
    running.migrate().unwrap();
    let config = running.member("ada").unwrap();
    let mut ada = PostgresServer::connect(&config).unwrap();
    let session = create(&mut ada, "s").no;
    let mut at = Position::start(0);
    let mut all: Vec<Vec<u8>> = (0..1500).map(|number| line(number, 400)).collect();
    for line in &all {
        at = append(&mut ada, session, at, line);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sealers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut server, mut n_sealed) = (PostgresServer::connect(&config).unwrap(), 0);
                    while !is_over.load(Ordering::SeqCst) {
                        match server.seal(Duration::ZERO) {
                            Ok(n) => n_sealed += n,
                            Err(error) => {
                                assert!(error.is_ambiguous(), "{error}");
                                while server.reconnect().is_err() && !is_over.load(Ordering::SeqCst) {
                                    std::thread::sleep(Duration::from_millis(5));
                                }
                            }
                        }
                    }
                    n_sealed
                })
            })
            .collect();
        for round in 0..3 {
            for number in 0..130 {
                let line = line(2000 + round * 1000 + number, 300);
                at = append(&mut ada, session, at, &line);
                all.push(line);
            }
            let running = local_server::connect(&server.dir).unwrap().unwrap();
            kill(running.pid());
            server.up();
            while ada.reconnect().is_err() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // Until all is sealed.
        while ada.seal(Duration::ZERO).unwrap() > 0 {}
        is_over.store(true, Ordering::SeqCst);
        for sealer in sealers {
            sealer.join().unwrap();
        }
    });
    let head = head(&mut ada, "s");
    assert_eq!(head.position, at);
    assert!(read(&mut ada, &head, 0, u64::MAX) == all, "the same lines");
    assert_eq!(head.position.chain, Chain::EMPTY.after_all(all.iter().map(Vec::as_slice)));
}
