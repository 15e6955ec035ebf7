//! Terms, and the candidates of a search.

use sessile_remote::{Batch, Candidate, Candidates, Position, RemoteError, Replacement, Server, SessionNo};

use super::{Login, batch, create, head};

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
