//! The server in memory.

use sessile_remote::{Fault, MemoryServer, Position, Server};

use crate::contract::{CHECKS, TEAM_CHECKS, batch, create, head};

#[test]
fn it_does_what_every_server_does() {
    for (name, check) in CHECKS {
        println!("{name}");
        let store = MemoryServer::new("ada");
        check(&|member| Box::new(store.login(member)));
    }
}

#[test]
fn its_members_do_what_members_of_every_store_do() {
    for (name, check) in TEAM_CHECKS {
        println!("{name}");
        let store = MemoryServer::new("chief");
        store.make_admin("chief");
        for member in ["ada", "bob", "eve"] {
            drop(store.login(member));
        }
        check(&|member| Box::new(store.login(member)));
    }
}

#[test]
fn a_revoked_member_sees_nothing() {
    let mut ada = MemoryServer::new("ada");
    let created = create(&mut ada, "s");
    ada.revoke_member("ada");
    let one = batch(created.position, &[b"a"]);
    assert!(matches!(ada.append(created.no, &one, None), Err(sessile_remote::RemoteError::NotAMember { .. })));
    assert!(matches!(ada.login("ada").about(), Err(sessile_remote::RemoteError::NotAMember { .. })));
}

#[test]
fn faults_lose_the_connection_before_or_after_the_write() {
    let mut server = MemoryServer::new("ada");
    let created = create(&mut server, "s");
    let one = batch(created.position, &[b"a"]);
    server.fail_next(Fault::BeforeCommit);
    assert!(server.append(created.no, &one, None).unwrap_err().is_ambiguous());
    assert!(server.head(None, "s").unwrap_err().is_disconnected());
    server.reconnect().unwrap();
    assert_eq!(head(&mut server, "s").position, Position::start(0));

    server.fail_next(Fault::AfterCommit);
    assert!(server.append(created.no, &one, None).unwrap_err().is_ambiguous());
    server.reconnect().unwrap();
    assert_eq!(head(&mut server, "s").position, one.end());
    assert_eq!(server.append(created.no, &one, None).unwrap(), None, "never twice");

    server.lose_tail("s", 0);
    assert_eq!(head(&mut server, "s").position, Position::start(0));
    assert_eq!(server.append(created.no, &one, None).unwrap(), Some(one.end()));
}
