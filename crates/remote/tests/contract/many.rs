//! Many lines at once, and the lines before and after them.

use std::ops::ControlFlow;

use sessile_remote::{Batch, Chain, Position, Replacement, Server};

use super::{Login, batch, create, head, read};

/// Lines of all lengths, with long ones among them; some batches are large, some are small.
fn batches() -> Vec<Vec<Vec<u8>>> {
    let mut number = 0_u32;
    let mut line = |length: usize| {
        number += 1;
        let mut line = format!("{number} ").into_bytes();
        line.resize(line.len().max(length), b'a' + (number % 23) as u8);
        line
    };
    let mut batches = vec![vec![line(5)]];
    batches.push((0..700).map(|n| line(n * 37 % 3000)).collect());
    batches.push(vec![line(9), line(10)]);
    let mut mixed: Vec<Vec<u8>> = (0..150).map(|n| line(n * 91 % 4000)).collect();
    mixed.extend([line(300_000), line(262_143), line(262_144), line(7)]);
    mixed.extend((0..150).map(|n| line(n * 17 % 900)));
    batches.push(mixed);
    batches.push(vec![line(400_000), line(400_000), Vec::new()]);
    batches.push((0..300).map(|_| line(0)).collect());
    batches.push(vec![line(1)]);
    batches
}

pub(super) fn many_lines_are_stored_with_few(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let mut position = created.position;
    let batches = batches();
    for lines in &batches {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let late = batch(Position { chain: Chain::EMPTY.after(b"other"), ..position }, &lines);
        assert_eq!(ada.append(created.no, &late, None).unwrap(), None);
        let many = batch(position, &lines);
        position = ada.append(created.no, &many, Some(b"note")).unwrap().unwrap();
        assert_eq!(position, many.end());
    }
    let all = batches.concat();
    let head = head(&mut *ada, "s");
    assert_eq!((head.position, head.summary.as_deref()), (position, Some(b"note".as_slice())));
    assert_eq!(head.bytes, all.iter().map(|line| line.len() as u64 + 1).sum::<u64>());
    assert!(read(&mut *ada, &head, 0, u64::MAX) == all);

    // From and to any line, at the bounds of batches too.
    let n_lines = all.len();
    for from in (0..n_lines).step_by(61).chain([1, 2, 700, 701, 702, 703, n_lines - 1]) {
        for length in [0, 1, 2, 150, 5000] {
            let to = (from + length).min(n_lines);
            assert!(read(&mut *ada, &head, from as u64, (from + length) as u64) == all[from..to], "{from}+{length}");
        }
    }
    assert!(read(&mut *ada, &head, 500, 400).is_empty());

    let numbers: Vec<u64> = (0..=n_lines as u64 + 2).rev().collect();
    let mut chains = vec![Chain::EMPTY];
    for line in &all {
        chains.push(chains.last().unwrap().after(line));
    }
    let expected: Vec<_> = numbers.iter().map(|n| chains.get(usize::try_from(*n).unwrap()).copied()).collect();
    assert!(ada.chains(head.no, 0, &numbers).unwrap() == expected);
    assert_eq!(ada.chains(head.no, 0, &[300, 300]).unwrap(), [Some(chains[300]); 2]);

    let mut n_seen = 0;
    let mut on_line = |line: sessile_remote::ServerLine<'_>| {
        n_seen += 1;
        if line.number == 333 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    ada.read(head.no, 0, 300, u64::MAX, &mut on_line).unwrap();
    assert_eq!(n_seen, 33);
    assert!(read(&mut *ada, &head, 0, 2) == all[..2], "the connection works after a break");
}

pub(super) fn many_lines_are_replaced_and_buried(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let lines: Vec<Vec<u8>> = (0..2000_u32).map(|n| format!("{n} {}", "x".repeat(200)).into_bytes()).collect();
    let many = |at: Position, lines: &[Vec<u8>]| batch(at, &lines.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let old = many(created.position, &lines);
    ada.append(created.no, &old, None).unwrap().unwrap();
    let mut parts: Vec<&[Vec<u8>]> = vec![&lines[1500..1501], &lines[..1500]];
    let mut next_batch = |at: Position| parts.pop().map(|part| many(at, part));
    let end = ada.replace(created.no, &old.end(), &Replacement::default(), &mut next_batch).unwrap().unwrap();
    assert_eq!(end.n_lines, 1501);
    let replaced = head(&mut *ada, "s");
    assert_eq!(replaced.position, end);
    assert!(read(&mut *ada, &replaced, 0, u64::MAX) == lines[..1501]);
    assert_eq!(ada.chains(created.no, 1, &[1501, 1502, 1999]).unwrap(), [Some(end.chain), None, None]);
    assert!(ada.bury("s").unwrap());
    let restored = ada.create(&sessile_remote::NewSession {
        header_id: "s",
        header: b"{}",
        restore: true,
        ..sessile_remote::NewSession::default()
    });
    let restored = restored.unwrap();
    assert_eq!(restored.position, Position::start(2));
    assert!(read(&mut *ada, &restored, 0, u64::MAX).is_empty());
}

/// Two clients append many lines at the same place, again and again. One of them wins each time.
pub(super) fn one_of_two_large_batches_wins(login: Login<'_>) {
    let created = create(&mut *login("ada"), "s");
    let won = std::thread::scope(|scope| {
        let write = |mut server: Box<dyn Server>, name: &'static str| {
            let mut won = Vec::new();
            for round in 0..12 {
                let at = head(&mut *server, "s").position;
                let lines: Vec<Vec<u8>> =
                    (0..300).map(|n| format!("{name} {round} {n} {}", "y".repeat(150)).into_bytes()).collect();
                let mut one = Batch::at(at);
                for line in &lines {
                    one.push(line).unwrap();
                }
                if server.append(created.no, &one, None).unwrap().is_some() {
                    won.extend(lines);
                }
            }
            won
        };
        let threads = ["one", "two"].map(|name| {
            let server = login("ada");
            scope.spawn(move || write(server, name))
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let mut ada = login("ada");
    let head = head(&mut *ada, "s");
    let log = read(&mut *ada, &head, 0, u64::MAX);
    assert_eq!(log.len(), won[0].len() + won[1].len());
    assert!(!log.is_empty());
    assert_eq!(head.position.chain, Chain::EMPTY.after_all(log.iter().map(Vec::as_slice)));
    for (name, lines) in ["one", "two"].iter().zip(&won) {
        let own: Vec<&Vec<u8>> = log.iter().filter(|line| line.starts_with(name.as_bytes())).collect();
        assert!(own.into_iter().eq(lines));
    }
}
