//! What an owner does with a session, and what others see of it.

use std::ops::ControlFlow;

use sessile_remote::{NewSession, Position, RemoteError, Replacement, SessionNo};

use super::{HEADER, Login, batch, create, head, heads, read, tombstones};

pub(super) fn members_do_not_see_each_other(login: Login<'_>) {
    let (mut ada, mut bob) = (login("ada"), login("bob"));
    let hers = create(&mut *ada, "s");
    let first = batch(hers.position, &[b"secret"]);
    ada.append(hers.no, &first, None).unwrap();

    // Everything about her session is as if it did not exist.
    let missing = SessionNo(hers.no.0 ^ 0x5555);
    for no in [hers.no, missing] {
        let is_hidden = |result: Result<(), RemoteError>| match result {
            Err(RemoteError::NoSuchSession { session, .. }) => assert_eq!(session, no),
            other => panic!("{other:?}"),
        };
        is_hidden(bob.append(no, &batch(first.end(), &[b"x"]), None).map(drop));
        is_hidden(bob.append(no, &batch(hers.position, &[b"x"]), None).map(drop));
        is_hidden(bob.read(no, 0, 0, 9, &mut |_| ControlFlow::Continue(())));
        is_hidden(bob.chains(no, 0, &[1]).map(drop));
        is_hidden(bob.replace(no, &first.end(), &Replacement::default(), &mut |_| None).map(drop));
    }
    assert_eq!(bob.head(Some("ada"), "s").unwrap(), None);
    assert_eq!(bob.head(Some("carol"), "s").unwrap(), None);
    assert_eq!(heads(&mut *bob, None), []);
    assert!(!bob.bury("s").unwrap());

    // He has a session of his own with the same id.
    let his = create(&mut *bob, "s");
    assert_ne!(his.no, hers.no);
    assert_eq!(his.position, Position::start(0));
    assert!(bob.bury("s").unwrap());
    assert_eq!(tombstones(&mut *ada), []);
    assert_eq!(head(&mut *ada, "s").position, first.end());
}

pub(super) fn a_replaced_log_has_a_new_epoch(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let old = batch(created.position, &[b"a", b"secret", b"c"]);
    ada.append(created.no, &old, Some(b"secret")).unwrap();

    let replacement = Replacement { header: Some(b"{\"id\":\"s\"}"), summary: None, reason: "scrub" };
    assert_eq!(ada.replace(created.no, &created.position, &replacement, &mut |_| None).unwrap(), None, "not there");
    let mut parts = [[b"a".as_slice()], [b"[removed]"]].into_iter();
    let mut next_batch = |at: Position| parts.next().map(|lines| batch(at, &lines));
    let end = ada.replace(created.no, &old.end(), &replacement, &mut next_batch).unwrap().unwrap();
    assert_eq!(end, Position::start(1).after(b"a").after(b"[removed]"));

    let head = head(&mut *ada, "s");
    assert_eq!((head.position, head.bytes, &head.summary), (end, 12, &None));
    assert_eq!(head.header, b"{\"id\":\"s\"}");
    assert_eq!(read(&mut *ada, &head, 0, 99), [b"a".as_slice(), b"[removed]"]);
    assert_eq!(ada.append(created.no, &batch(old.end(), &[b"d"]), None).unwrap(), None);
    let of_old = ada.read(created.no, 0, 0, 99, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(of_old, Err(RemoteError::Replaced { .. })));
    assert!(ada.append(created.no, &batch(end, &[b"d"]), None).unwrap().is_some());
}

pub(super) fn a_failed_replacement_changes_nothing(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let old = batch(created.position, &[b"a", b"b"]);
    ada.append(created.no, &old, None).unwrap();
    let mut n_asked = 0;
    let mut next_batch = |at: Position| {
        n_asked += 1;
        Some(batch(if n_asked == 1 { at } else { Position::start(7) }, &[b"x"]))
    };
    let failed = ada.replace(created.no, &old.end(), &Replacement::default(), &mut next_batch);
    assert!(matches!(failed, Err(RemoteError::Refused { .. })), "{failed:?}");
    let head = head(&mut *ada, "s");
    assert_eq!(head.position, old.end());
    assert_eq!(read(&mut *ada, &head, 0, 99), [b"a".as_slice(), b"b"]);
}

pub(super) fn a_buried_session_stays_buried(login: Login<'_>) {
    let mut ada = login("ada");
    let created = create(&mut *ada, "s");
    let lines = batch(created.position, &[b"a"]);
    ada.append(created.no, &lines, None).unwrap();
    assert!(ada.bury("s").unwrap());
    assert!(!ada.bury("s").unwrap());
    assert_eq!(ada.head(None, "s").unwrap(), None);
    assert_eq!(heads(&mut *ada, None), []);
    let late = ada.append(created.no, &batch(lines.end(), &[b"b"]), None);
    assert!(matches!(late, Err(RemoteError::NoSuchSession { .. })));

    let found = tombstones(&mut *ada);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].owner.as_str(), found[0].header_id.as_str()), ("ada", "s"));
    assert_eq!((found[0].by.as_str(), found[0].epoch), ("ada", 0));

    let new = NewSession { header_id: "s", header: HEADER, ..NewSession::default() };
    assert!(matches!(ada.create(&new), Err(RemoteError::Buried { .. })));
    // Another member neither sees the tombstone nor lifts it: its session of the same id is another one.
    let mut bob = login("bob");
    assert_eq!(tombstones(&mut *bob), []);
    let other = bob.create(&NewSession { restore: true, ..new }).unwrap();
    assert_eq!((other.owner.as_str(), other.position), ("bob", Position::start(0)));
    assert!(bob.bury("s").unwrap());
    assert_eq!(tombstones(&mut *ada), found);
    assert!(matches!(ada.create(&new), Err(RemoteError::Buried { .. })));
    let restored = ada.create(&NewSession { restore: true, ..new }).unwrap();
    assert_eq!(restored.position, Position::start(1));
    assert_ne!(restored.no, created.no);
    assert_eq!(tombstones(&mut *ada), []);
}
