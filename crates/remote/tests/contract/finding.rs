//! Terms, and the candidates of a search.

use std::ops::ControlFlow;

use sessile_remote::{
    Batch, Candidate, CandidatePart, Candidates, Position, RemoteError, Replacement, Server, ServerTime, SessionNo,
};

use super::{Login, batch, create, head, read};

/// Appends some lines with terms, and returns the end.
fn append(server: &mut dyn Server, no: SessionNo, at: Position, n_lines: usize, terms: &[u32]) -> Position {
    let mut batch = Batch::at(at);
    for number in 0..n_lines {
        batch.push(format!("line {number}").as_bytes()).unwrap();
    }
    batch.add_terms(terms);
    server.append(no, &batch, None).unwrap().unwrap()
}

fn found(server: &mut dyn Server, terms: &[u32]) -> Vec<(SessionNo, u64, u64)> {
    let answer = server.candidates(terms, None, 200).unwrap();
    assert_eq!(answer.until, None, "it looked at everything");
    let found = answer.found;
    assert!(found.is_sorted_by_key(|found| std::cmp::Reverse(found.at)), "{found:?}");
    found.iter().map(|Candidate { session, from, to, .. }| (*session, *from, *to)).collect()
}

pub(super) fn candidates_have_all_terms(login: Login<'_>) {
    let mut ada = login("ada");
    let (one, two) = (create(&mut *ada, "one").no, create(&mut *ada, "two").no);
    let first = append(&mut *ada, one, Position::start(0), 2, &[7, u32::MAX, 7, 0]);
    let second = append(&mut *ada, one, first, 300, &[7, 8]);
    append(&mut *ada, one, second, 1, &[]);
    append(&mut *ada, two, Position::start(0), 1, &[8, 0x8000_0000]);

    assert_eq!(found(&mut *ada, &[7]), [(one, 2, 302), (one, 0, 2)], "the newest first");
    assert_eq!(found(&mut *ada, &[8]), [(two, 0, 1), (one, 2, 302)]);
    assert_eq!(found(&mut *ada, &[8, 7]), [(one, 2, 302)]);
    assert_eq!(found(&mut *ada, &[u32::MAX, 0]), [(one, 0, 2)]);
    assert_eq!(found(&mut *ada, &[0x8000_0000]), [(two, 0, 1)]);
    assert_eq!(found(&mut *ada, &[0x8000_0000, 7]), []);
    assert_eq!(found(&mut *ada, &[9]), []);

    // An append that another client was faster than leaves no terms.
    let mut late = batch(first, &[b"late"]);
    late.add_terms(&[9]);
    assert_eq!(ada.append(one, &late, None).unwrap(), None);
    assert_eq!(found(&mut *ada, &[9]), []);

    // Page by page.
    let newest = ada.candidates(&[8], None, 1).unwrap();
    assert_eq!(newest.found.len(), 1);
    assert_eq!(newest.until, Some(newest.found[0].at));
    let older = ada.candidates(&[8], newest.until, 1).unwrap();
    assert_eq!((older.found.len(), older.found[0].session), (1, one));
    assert_eq!(ada.candidates(&[8], older.until, 1).unwrap(), Candidates::default());

    let too_many: Vec<u32> = (0..65).collect();
    for (terms, limit) in [([].as_slice(), 1), (&too_many, 1), (&[7], 0)] {
        assert!(matches!(ada.candidates(terms, None, limit), Err(RemoteError::Refused { .. })));
    }
    let many: Vec<u32> = (1000..1064).collect();
    let end = head(&mut *ada, "two").position;
    append(&mut *ada, two, end, 1, &many);
    assert_eq!(found(&mut *ada, &many), [(two, 1, 2)]);
    assert_eq!(found(&mut *ada, &[&many[1..], &[2000]].concat()), []);
}

pub(super) fn candidates_are_of_sessions_that_the_member_sees(login: Login<'_>) {
    let (mut ada, mut bob) = (login("ada"), login("bob"));
    let hers = create(&mut *ada, "s").no;
    let his = create(&mut *bob, "s").no;
    append(&mut *ada, hers, Position::start(0), 1, &[7]);
    assert_eq!(found(&mut *bob, &[7]), []);
    append(&mut *bob, his, Position::start(0), 1, &[7]);
    assert_eq!(found(&mut *bob, &[7]), [(his, 0, 1)]);
    assert_eq!(found(&mut *ada, &[7]), [(hers, 0, 1)]);
}

pub(super) fn terms_go_with_their_lines(login: Login<'_>) {
    let mut ada = login("ada");
    let no = create(&mut *ada, "s").no;
    let end = append(&mut *ada, no, Position::start(0), 3, &[7, 8]);
    let mut parts = vec![[8].as_slice(), &[]];
    let mut next_batch = |at: Position| {
        let mut batch = batch(at, &[b"new"]);
        batch.add_terms(parts.pop()?);
        Some(batch)
    };
    ada.replace(no, &end, &Replacement::default(), &mut next_batch).unwrap().unwrap();
    assert_eq!(found(&mut *ada, &[7]), []);
    assert_eq!(found(&mut *ada, &[8]), [(no, 1, 2)]);
    assert_eq!(ada.candidates(&[8], None, 1).unwrap().found[0].epoch, 1);
    assert_eq!(head(&mut *ada, "s").position.n_lines, 2);
    ada.bury("s").unwrap();
    assert_eq!(found(&mut *ada, &[8]), []);
}

pub(super) fn candidates_are_read_one_after_another(login: Login<'_>) {
    let mut ada = login("ada");
    let (small, large) = (create(&mut *ada, "small").no, create(&mut *ada, "large").no);
    append(&mut *ada, small, Position::start(0), 300, &[7]);
    // Random lines of 3 MiB, so that one answer does not have all of them.
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 56 == u64::from(b'\n') { b'x' } else { (state >> 56) as u8 }
    };
    let lines: Vec<Vec<u8>> = (0..3).map(|_| (0..3 << 20).map(|_| random()).collect()).collect();
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let mut end = Position::start(0);
    for line in &lines {
        end = ada.append(large, &batch(end, &[line]), None).unwrap().unwrap();
    }

    let part = |session, from, to, epoch| Candidate { session, epoch, from, to, at: ServerTime(0) };
    let wanted = [
        part(large, 0, 3, 0),
        part(small, 10, 200, 0),
        part(small, 0, 300, 1),
        part(SessionNo(i64::MAX), 0, 300, 0),
        part(large, 2, 3, 0),
        part(small, 299, 300, 0),
        part(small, 300, 400, 0),
    ];
    // Reads until that many lines have come.
    let mut read_until = |n_lines: usize| {
        let mut read: Vec<Vec<Vec<u8>>> = vec![Vec::new(); wanted.len()];
        let mut ends = Vec::new();
        let mut n_left = n_lines;
        let mut take = |place: usize, part: CandidatePart<'_>| {
            assert_eq!(place, ends.len(), "in order");
            match part {
                CandidatePart::Line(line) => {
                    assert_eq!(line.number, wanted[place].from + 1 + read[place].len() as u64);
                    read[place].push(line.bytes.to_vec());
                    n_left -= 1;
                }
                CandidatePart::End(end) => ends.push(end),
            }
            if n_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        ada.read_candidates(&wanted, &mut take).unwrap();
        (read, ends)
    };
    let (all, ends) = read_until(usize::MAX);
    let is_replaced = |end: &Result<(), RemoteError>| matches!(end, Err(RemoteError::Replaced { .. }));
    let is_missing = |end: &Result<(), RemoteError>| matches!(end, Err(RemoteError::NoSuchSession { .. }));
    assert!(ends.len() == 7 && is_replaced(&ends[2]) && is_missing(&ends[3]), "{ends:?}");
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 5);
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 190, 0, 0, 1, 1, 0]);
    assert!(all[0] == lines && all[4] == lines[2..]);
    // The last of these was asked for, and is not wanted.
    for (n_lines, n_ends) in [(1, 0), (4, 1), (194, 4)] {
        let (some, ends) = read_until(n_lines);
        assert_eq!(some.iter().map(Vec::len).sum::<usize>(), n_lines);
        assert!(some.iter().zip(&all).all(|(some, all)| all.starts_with(some)));
        assert_eq!(ends.len(), n_ends);
    }
    // The connection is as good as before.
    let head = head(&mut *ada, "small");
    assert_eq!(read(&mut *ada, &head, 10, 200), all[1]);
}
