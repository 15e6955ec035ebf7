//! F10: a member whose membership ends in the middle of something. Its connection stays open in these tests, because the
//! administrator may not close it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use sessile_remote::postgres::{Admin, Joining, PostgresServer};
use sessile_remote::{May, RemoteError, Replacement, Secret, Server, Team};

use crate::contract::{batch, create, head, read};
use crate::servers::{PASSWORD, TestServer, login};

#[track_caller]
fn is_out<T: std::fmt::Debug>(result: &Result<T, RemoteError>) {
    assert!(matches!(result, Err(RemoteError::NotAMember { .. })), "{result:?}");
}

#[test]
fn a_push_ends_with_the_next_call_and_leaves_whole_batches() {
    let store = TestServer::shared().store_with_team();
    let mut ada = store.connect("ada");
    let session = create(&mut ada, "s");
    ada.share(session.no, "bob", May::Write).unwrap();
    let mut bob = store.connect("bob");
    let (is_revoked, is_pushing) = (AtomicBool::new(false), AtomicBool::new(false));
    let n_acknowledged = std::thread::scope(|scope| {
        let pushing = scope.spawn(|| {
            let mut at = session.position;
            for n in 0.. {
                let must_fail = is_revoked.load(Ordering::SeqCst);
                let three = batch(at, &[format!("{n} a").as_bytes(), b"b", b"c"]);
                match bob.append(session.no, &three, None) {
                    Ok(end) => {
                        assert!(!must_fail, "a call after the revocation");
                        at = end.unwrap();
                    }
                    Err(RemoteError::NotAMember { .. }) => return at.n_lines,
                    Err(error) => panic!("{error}"),
                }
                is_pushing.store(n > 3, Ordering::SeqCst);
            }
            unreachable!("the loop has no end")
        });
        while !is_pushing.load(Ordering::SeqCst) && !pushing.is_finished() {
            std::thread::yield_now();
        }
        assert!(store.admin().revoke_member("bob").unwrap());
        is_revoked.store(true, Ordering::SeqCst);
        pushing.join().unwrap()
    });
    let there = head(&mut ada, "s");
    assert_eq!(there.position.n_lines, n_acknowledged);
    assert!(n_acknowledged > 9 && n_acknowledged % 3 == 0);
    let count = format!("select count(*) from sessile.line where session = {}", session.no);
    assert_eq!(store.admin_sql(&count).unwrap(), n_acknowledged.to_string());
}

#[test]
fn a_replacement_in_the_middle_is_undone() {
    let store = TestServer::shared().store_with_team();
    let mut bob = store.connect("bob");
    let session = create(&mut bob, "s");
    let old = batch(session.position, &[b"one", b"two"]);
    bob.append(session.no, &old, None).unwrap();
    let mut n_asked = 0;
    let replaced = bob.replace(session.no, &old.end(), &Replacement::default(), &mut |at| {
        n_asked += 1;
        if n_asked == 2 {
            store.admin().revoke_member("bob").unwrap();
        }
        Some(batch(at, &[b"new"]))
    });
    is_out(&replaced);
    assert_eq!(n_asked, 2);
    store.add_member("bob");
    let there = head(&mut bob, "s");
    assert_eq!(there.position, old.end());
    assert_eq!(read(&mut bob, &there, 0, 9), [b"one", b"two"]);
}

#[test]
fn reading_ends_with_the_next_request() {
    let store = TestServer::shared().store_with_team();
    let mut ada = store.connect("ada");
    let session = create(&mut ada, "s");
    let mut at = session.position;
    for _ in 0..3 {
        at = ada.append(session.no, &batch(at, &vec![b"x".as_slice(); 3000]), None).unwrap().unwrap();
    }
    ada.share(session.no, "bob", May::Read).unwrap();
    let mut bob = store.connect("bob");
    let mut n_read = 0;
    let ended = bob.read(session.no, 0, 0, u64::MAX, &mut |_| {
        n_read += 1;
        if n_read == 1 {
            store.admin().revoke_member("bob").unwrap();
        }
        ControlFlow::Continue(())
    });
    is_out(&ended);
    assert!(n_read < 9000, "{n_read}");
    // Whatever the open connection asks for.
    is_out(&bob.about());
    is_out(&bob.heads(None, &mut |_| ControlFlow::Continue(())));
    is_out(&bob.head(Some("ada"), "s"));
    is_out(&bob.chains(session.no, 0, &[1]));
    is_out(&bob.members());
    is_out(&bob.projects());
    is_out(&bob.audit(None, 9));
    is_out(&bob.shares(session.no));
    assert!(ada.members().unwrap().iter().any(|member| member.name == "bob" && member.revoked_at.is_some()));
}

#[test]
fn shares_do_not_come_back_with_the_member() {
    let store = TestServer::shared().store_with_team();
    let (mut ada, mut bob, mut chief) = (store.connect("ada"), store.connect("bob"), store.connect("chief"));
    let session = create(&mut ada, "s");
    ada.create_project("p").unwrap();
    ada.set_project(session.no, Some("p")).unwrap();
    ada.share(session.no, "bob", May::Read).unwrap();
    ada.grant_project("p", "bob", May::Read).unwrap();
    ada.share(session.no, "chief", May::Read).unwrap();
    assert!(chief.about().unwrap().is_admin);
    for name in ["bob", "chief"] {
        assert!(store.admin().revoke_member(name).unwrap());
        let gone = ada.share(session.no, name, May::Read);
        assert!(matches!(gone, Err(RemoteError::NoSuchMember { .. })), "{gone:?}");
        // Without a password, the login stays as it is.
        store.admin().join(&Joining { name, password: None, is_admin: None }).unwrap();
    }
    assert_eq!(ada.shares(session.no).unwrap(), []);
    assert_eq!(bob.head(Some("ada"), "s").unwrap(), None);
    assert!(!chief.about().unwrap().is_admin);
    let refused = Admin::connect(&store.config("bob")).unwrap().revoke_member("ada").unwrap_err();
    assert!(matches!(refused, RemoteError::PermissionDenied { .. }), "{refused}");
}

#[test]
fn a_login_is_closed_if_the_store_has_made_it() {
    let store = TestServer::shared().store();
    store.admin().migrate().unwrap();
    let (made, found) = (format!("made_{}", store.database), format!("found_{}", store.database));
    store.superuser("postgres", &format!("create role {found} login password '{PASSWORD}'")).unwrap();
    let nameless = store.admin().join(&Joining { name: &made, password: None, is_admin: None }).unwrap_err();
    assert!(matches!(nameless, RemoteError::NoLogin { .. }), "{nameless}");
    store.admin().add_member(&made, &Secret::new(PASSWORD)).unwrap();
    store.admin().join(&Joining { name: &found, password: None, is_admin: None }).unwrap();
    for name in [&made, &found] {
        assert_eq!(store.connect(name).about().unwrap().member, **name);
        assert!(store.admin().revoke_member(name).unwrap());
    }
    let connect = |name: &str| PostgresServer::connect(&login(&store.url(name)));
    let closed = connect(&made).unwrap_err();
    assert!(matches!(closed, RemoteError::Authentication { .. }), "{closed}");
    is_out(&connect(&found).unwrap().about());
    store.admin().join(&Joining { name: &made, password: None, is_admin: None }).unwrap();
    assert_eq!(connect(&made).unwrap().about().unwrap().member, made);
}
