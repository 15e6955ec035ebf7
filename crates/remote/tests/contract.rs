//! What every server does. Each check gets a store of its own, as a way to log in to it.

mod finding;
mod many;
mod owning;
mod sharing;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sessile_remote::{Batch, Chain, Head, MAX_LINE, NewSession, OVERLAP, Position, RemoteError, Server, Tombstone};

use finding::{
    candidates_are_of_sessions_that_the_member_sees, candidates_are_read_one_after_another, candidates_have_all_terms,
    terms_go_with_their_lines,
};
use many::{many_lines_are_replaced_and_buried, many_lines_are_stored_with_few, one_of_two_large_batches_wins};
use owning::{
    a_buried_session_stays_buried, a_failed_replacement_changes_nothing, a_replaced_log_has_a_new_epoch,
    members_do_not_see_each_other,
};

pub(crate) use sharing::TEAM_CHECKS;

/// Logs a member in. The members `ada` and `bob` exist.
pub(crate) type Login<'a> = &'a dyn Fn(&str) -> Box<dyn Server>;

/// A check, with its name.
pub(crate) type Check = (&'static str, fn(Login<'_>));

/// All checks.
pub(crate) const CHECKS: &[Check] = &[
    ("a log grows", a_log_grows),
    ("lines of all kinds come back", lines_of_all_kinds_come_back),
    ("a late append gets none", a_late_append_gets_none),
    ("an append without lines changes the summary", an_append_without_lines_changes_the_summary),
    ("parts of a log are read", parts_of_a_log_are_read),
    ("chains are found", chains_are_found),
    ("creating twice gives the same log", creating_twice_gives_the_same_log),
    ("members do not see each other", members_do_not_see_each_other),
    ("a replaced log has a new epoch", a_replaced_log_has_a_new_epoch),
    ("a failed replacement changes nothing", a_failed_replacement_changes_nothing),
    ("a buried session stays buried", a_buried_session_stays_buried),
    ("changed heads are found", changed_heads_are_found),
    ("values out of bounds are refused", values_out_of_bounds_are_refused),
    ("one of many writers wins", one_of_many_writers_wins),
    ("many lines are stored with few", many_lines_are_stored_with_few),
    ("many lines are replaced and buried", many_lines_are_replaced_and_buried),
    ("one of two large batches wins", one_of_two_large_batches_wins),
    ("candidates have all terms", candidates_have_all_terms),
    ("candidates are of sessions that the member sees", candidates_are_of_sessions_that_the_member_sees),
    ("terms go with their lines", terms_go_with_their_lines),
    ("candidates are read one after another", candidates_are_read_one_after_another),
];

const HEADER: &[u8] = br#"{"type":"session","version":3,"id":"s"}"#;

pub(crate) fn create(server: &mut dyn Server, id: &str) -> Head {
    server.create(&NewSession { header_id: id, header: HEADER, ..NewSession::default() }).unwrap()
}

pub(crate) fn batch(start: Position, lines: &[&[u8]]) -> Batch {
    let mut batch = Batch::at(start);
    for line in lines {
        batch.push(line).unwrap();
    }
    batch
}

pub(crate) fn head(server: &mut dyn Server, id: &str) -> Head {
    server.head(None, id).unwrap().unwrap()
}

pub(crate) fn read(server: &mut dyn Server, head: &Head, from: u64, to: u64) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut next = from;
    let mut on_line = |line: sessile_remote::ServerLine<'_>| {
        next += 1;
        assert_eq!(line.number, next, "in order");
        assert_eq!(line.author, head.owner);
        lines.push(line.bytes.to_vec());
        ControlFlow::Continue(())
    };
    server.read(head.no, head.position.epoch, from, to, &mut on_line).unwrap();
    lines
}

fn heads(server: &mut dyn Server, since: Option<sessile_remote::ServerTime>) -> Vec<Head> {
    let mut found = Vec::new();
    let mut on_head = |head| {
        found.push(head);
        ControlFlow::Continue(())
    };
    server.heads(since, &mut on_head).unwrap();
    found
}

fn tombstones(server: &mut dyn Server) -> Vec<Tombstone> {
    let mut found = Vec::new();
    server.tombstones(None, &mut |tombstone| found.push(tombstone)).unwrap();
    found
}

fn a_log_grows(login: Login<'_>) {
    let mut ada = login("ada");
    assert_eq!(ada.about().unwrap().member, "ada");
    assert_eq!(ada.head(None, "s").unwrap(), None);
    let created = create(&mut *ada, "s");
    assert_eq!((created.position, created.bytes), (Position::start(0), 0));
    assert_eq!((created.owner.as_str(), created.header_id.as_str()), ("ada", "s"));
    assert_eq!((created.header.as_slice(), &created.summary, created.may_append), (HEADER, &None, true));

    let first = batch(created.position, &[b"one", b"two"]);
    assert_eq!(ada.append(created.no, &first, Some(b"summary")).unwrap(), Some(first.end()));
    let second = batch(first.end(), &[b"three"]);
    assert_eq!(ada.append(created.no, &second, None).unwrap(), Some(second.end()));

    let head = head(&mut *ada, "s");
    assert_eq!(head.position, Position::start(0).after(b"one").after(b"two").after(b"three"));
    assert_eq!((head.no, head.bytes, head.summary.as_deref()), (created.no, 14, Some(b"summary".as_slice())));
    assert!(head.seen_at > created.seen_at);
    assert_eq!(read(&mut *ada, &head, 0, u64::MAX), [b"one".as_slice(), b"two", b"three"]);
    assert_eq!(login("ada").head(Some("ada"), "s").unwrap(), Some(head));
}

fn lines_of_all_kinds_come_back(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let mut lines: Vec<Vec<u8>> =
        vec![b"".into(), b"\0\r".into(), vec![0xff, 0xfe], "Grüße 🦀".into(), vec![b'a'; 1023], vec![b'a'; 1025]];
    // Neither compressible nor small.
    let mut state = 7_u64;
    let mut noise = |n: usize| {
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        (0..n).map(byte).filter(|byte| *byte != b'\n').collect::<Vec<u8>>()
    };
    lines.extend([noise(1500), noise(3000), noise(300_000), vec![b'x'; 5_000_000], noise(2_000_000)]);
    let mut position = created.position;
    for line in &lines {
        let one = batch(position, &[line]);
        position = ada.append(created.no, &one, None).unwrap().unwrap();
    }
    let head = head(&mut *ada, "s");
    assert_eq!(head.position, position);
    assert_eq!(head.bytes, lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>());
    assert!(read(&mut *ada, &head, 0, head.position.n_lines) == lines);
}

fn a_late_append_gets_none(login: Login<'_>) {
    let (mut one, mut other) = (login("ada"), login("ada"));
    let created = create(&mut *one, "s");
    let mine = batch(created.position, &[b"mine"]);
    let theirs = batch(created.position, &[b"theirs"]);
    assert_eq!(other.append(created.no, &theirs, None).unwrap(), Some(theirs.end()));
    assert_eq!(one.append(created.no, &mine, Some(b"lost")).unwrap(), None);
    let wrong_chain = batch(Position { chain: Chain::EMPTY.after(b"x"), ..theirs.end() }, &[b"mine"]);
    assert_eq!(one.append(created.no, &wrong_chain, None).unwrap(), None);
    let wrong_epoch = batch(Position { epoch: 1, ..theirs.end() }, &[b"mine"]);
    assert_eq!(one.append(created.no, &wrong_epoch, None).unwrap(), None);
    let head = head(&mut *one, "s");
    assert_eq!((head.position, head.summary), (theirs.end(), None));
}

fn an_append_without_lines_changes_the_summary(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let nothing = Batch::at(created.position);
    assert_eq!(ada.append(created.no, &nothing, Some(b"note")).unwrap(), Some(created.position));
    let head = head(&mut *ada, "s");
    assert_eq!((head.position, head.summary.as_deref()), (created.position, Some(b"note".as_slice())));
    let elsewhere = Batch::at(Position::start(0).after(b"x"));
    assert_eq!(ada.append(created.no, &elsewhere, Some(b"other")).unwrap(), None);
}

fn parts_of_a_log_are_read(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let lines: Vec<Vec<u8>> = (0..5000_u32).map(|n| n.to_string().into_bytes()).collect();
    let mut position = created.position;
    for part in lines.chunks(3000) {
        let part: Vec<&[u8]> = part.iter().map(Vec::as_slice).collect();
        position = ada.append(created.no, &batch(position, &part), None).unwrap().unwrap();
    }
    let head = head(&mut *ada, "s");
    assert!(read(&mut *ada, &head, 0, u64::MAX) == lines);
    assert!(read(&mut *ada, &head, 4990, 5000) == lines[4990..]);
    assert!(read(&mut *ada, &head, 17, 19) == lines[17..19]);
    assert!(read(&mut *ada, &head, 5000, 9000).is_empty());
    assert!(read(&mut *ada, &head, 20, 10).is_empty());

    let mut n_seen = 0;
    let mut on_line = |_: sessile_remote::ServerLine<'_>| {
        n_seen += 1;
        if n_seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    ada.read(head.no, 0, 0, u64::MAX, &mut on_line).unwrap();
    assert_eq!(n_seen, 3);
    assert!(read(&mut *ada, &head, 0, 2) == lines[..2], "the connection works after a break");
}

fn chains_are_found(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let three = batch(created.position, &[b"a", b"b", b"c"]);
    ada.append(created.no, &three, None).unwrap();
    let chains: Vec<Chain> = three.lines().map(|(_, chain)| chain).collect();
    let expected = [Some(chains[2]), None, Some(Chain::EMPTY), Some(chains[0]), Some(chains[2]), None];
    assert_eq!(ada.chains(created.no, 0, &[3, 4, 0, 1, 3, u64::MAX]).unwrap(), expected);
    assert_eq!(ada.chains(created.no, 0, &[]).unwrap(), []);
    assert!(matches!(ada.chains(created.no, 1, &[0]), Err(RemoteError::Replaced { .. })));
}

fn creating_twice_gives_the_same_log(login: Login<'_>) {
    let (mut one, mut other) = (login("ada"), login("ada"));
    let created = create(&mut *one, "s");
    let first = batch(created.position, &[b"a"]);
    one.append(created.no, &first, None).unwrap();
    let again =
        other.create(&NewSession { header_id: "s", header: b"{}", summary: Some(b"new"), restore: true }).unwrap();
    assert_eq!((again.no, again.position), (created.no, first.end()));
    assert_eq!((again.header.as_slice(), again.summary), (HEADER, None));
    assert_ne!(create(&mut *one, "t").no, created.no);
}

fn changed_heads_are_found(login: Login<'_>) {
    let mut ada = login("ada");
    let created: Vec<Head> = ["r", "s", "t"].iter().map(|id| create(&mut *ada, id)).collect();
    let ids = |heads: &[Head]| heads.iter().map(|head| head.header_id.clone()).collect::<BTreeSet<_>>();
    assert_eq!(ids(&heads(&mut *ada, None)), ids(&created));
    let before = created.iter().map(|head| head.seen_at).max().unwrap();
    ada.append(created[1].no, &batch(created[1].position, &[b"a"]), None).unwrap();
    let after = head(&mut *ada, "s").seen_at;
    assert!(after > before);
    assert_eq!(ids(&heads(&mut *ada, Some(after))), BTreeSet::from(["s".to_owned()]));
    assert_eq!(ids(&heads(&mut *ada, Some(after.minus(OVERLAP)))).len(), 3);
    let now = ada.heads(None, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(now >= after);
    assert_eq!(heads(&mut *ada, None).len(), 3, "the connection works after a break");
}

fn values_out_of_bounds_are_refused(login: Login<'_>) {
    let mut ada = login("ada");
    let new = NewSession { header_id: "s", header: HEADER, ..NewSession::default() };
    let long_id = "x".repeat(201);
    let large = vec![b'x'; (1 << 20) + 1];
    let refused = [
        NewSession { header_id: "", ..new },
        NewSession { header_id: "a\0b", ..new },
        NewSession { header_id: &long_id, ..new },
        NewSession { header: b"a\nb", ..new },
        NewSession { header: &large, ..new },
        NewSession { summary: Some(&large), ..new },
    ];
    for new in &refused {
        assert!(matches!(ada.create(new), Err(RemoteError::Refused { .. })), "{}", new.header_id);
    }
    let created = create(&mut *ada, "s");
    let longest = vec![b'x'; MAX_LINE];
    let one = batch(created.position, &[&longest]);
    assert!(matches!(ada.append(created.no, &one, Some(&large)), Err(RemoteError::Refused { .. })));
    assert_eq!(ada.append(created.no, &one, None).unwrap(), Some(one.end()));
    let head = head(&mut *ada, "s");
    assert!(read(&mut *ada, &head, 0, 9) == [longest]);
}

/// Eight writers append to one log. It must be linear, with each acknowledged line once and none that was refused.
fn one_of_many_writers_wins(login: Login<'_>) {
    const WRITERS: usize = 8;
    const LINES: usize = 12;
    let created = create(&mut *login("ada"), "s");
    let servers: Vec<Box<dyn Server>> = (0..WRITERS).map(|_| login("ada")).collect();
    let results: Vec<(Vec<Vec<u8>>, usize)> = std::thread::scope(|scope| {
        let write = |(writer, mut server): (usize, Box<dyn Server>)| {
            let (mut acknowledged, mut n_lost) = (Vec::new(), 0);
            let mut n_tries = 0;
            while acknowledged.len() < LINES {
                let at = head(&mut *server, "s").position;
                n_tries += 1;
                let line = format!("{writer} {n_tries}").into_bytes();
                let one = batch(at, &[&line]);
                match server.append(created.no, &one, None).unwrap() {
                    Some(end) => {
                        assert_eq!(end, one.end());
                        acknowledged.push(line);
                    }
                    None => n_lost += 1,
                }
            }
            (acknowledged, n_lost)
        };
        let threads: Vec<_> =
            servers.into_iter().enumerate().map(|server| scope.spawn(move || write(server))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut ada = login("ada");
    let head = head(&mut *ada, "s");
    let log = read(&mut *ada, &head, 0, u64::MAX);
    assert_eq!(log.len(), WRITERS * LINES);
    assert_eq!(head.position.chain, Chain::EMPTY.after_all(log.iter().map(Vec::as_slice)));
    for (acknowledged, _) in &results {
        let own: Vec<&Vec<u8>> = log.iter().filter(|line| acknowledged.contains(line)).collect();
        assert!(own.into_iter().eq(acknowledged), "each acknowledged line once, in the order of its writer");
    }
}
