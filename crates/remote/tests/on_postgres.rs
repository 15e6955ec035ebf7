//! The real server.

use sessile_remote::postgres::{Admin, Config, Migrated, PostgresServer, SCHEMA_VERSION};
use sessile_remote::{RemoteError, Secret, Server};

use crate::contract::{CHECKS, TEAM_CHECKS, batch, create};
use crate::servers::{PASSWORD, TestServer, TestStore, login};

#[test]
fn it_does_what_every_server_does() {
    check_all(TestStore::config);
}

/// Runs all checks, some at a time, on connections that a function says how to make.
pub(crate) fn check_all(config: impl Fn(&TestStore, &str) -> Config + Sync) {
    let checks = std::sync::Mutex::new(CHECKS.iter());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let next = checks.lock().unwrap().next();
                    let Some((_, check)) = next else { break };
                    let store = TestServer::shared().store_with_members();
                    check(&|member| Box::new(PostgresServer::connect(&config(&store, member)).unwrap()));
                }
            });
        }
    });
}

#[test]
fn its_members_do_what_members_of_every_store_do() {
    for (name, check) in TEAM_CHECKS {
        println!("{name}");
        let store = TestServer::shared().store_with_team();
        check(&|member| Box::new(PostgresServer::connect(&store.config(member)).unwrap()));
    }
}

#[test]
fn migrating_twice_or_at_once_gives_one_store() {
    let store = TestServer::shared().store();
    let done: Vec<Migrated> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| store.admin().migrate().unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|migrated| migrated.from == 0).count(), 1, "{done:?}");
    assert!(done.iter().all(|migrated| migrated.to == SCHEMA_VERSION));
    assert_eq!(store.admin_sql("select count(*), max(version) from sessile.store").unwrap(), "1|1");
}

#[test]
fn stores_of_other_versions_are_refused() {
    let store = TestServer::shared().store();
    let connect = |store: &TestStore| PostgresServer::connect(&store.admin_config()).unwrap_err();
    assert!(matches!(connect(&store), RemoteError::SchemaMissing { .. }));
    assert!(connect(&store).to_string().contains("sessile remote migrate"));
    store.admin().migrate().unwrap();
    store.add_member("ada");
    store.admin_sql("update sessile.store set version = 0").unwrap();
    let older = PostgresServer::connect(&store.config("ada")).unwrap_err();
    assert!(matches!(older, RemoteError::SchemaOlder { found: 0, .. }), "{older}");
    store.admin_sql("update sessile.store set version = 99").unwrap();
    let newer = PostgresServer::connect(&store.config("ada")).unwrap_err();
    assert!(matches!(newer, RemoteError::SchemaNewer { found: 99, known: SCHEMA_VERSION, .. }), "{newer}");
    assert!(newer.to_string().contains("update Sessile"));
    assert!(matches!(store.admin().migrate(), Err(RemoteError::SchemaNewer { .. })));
}

#[test]
fn users_who_are_not_members_are_told_so() {
    let store = TestServer::shared().store_with_members();
    // In the group of members, but of another store.
    TestServer::shared().store_with_members().add_member("carol");
    let mut server = store.connect("carol");
    assert!(matches!(server.about(), Err(RemoteError::NotAMember { .. })));
    assert!(matches!(server.head(None, "s"), Err(RemoteError::NotAMember { .. })));
    store.superuser("postgres", &format!("create role guest login password '{PASSWORD}'")).unwrap();
    let url = store.running.url_of("guest", &store.database);
    let refused = PostgresServer::connect(&login(&url)).unwrap_err();
    assert!(matches!(&refused, RemoteError::NotAMember { user, .. } if user == "guest"), "{refused}");
}

#[test]
fn a_revoked_member_is_out_at_once() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let created = create(&mut ada, "s");
    assert!(store.admin().revoke_member("ada").unwrap());
    assert!(!store.admin().revoke_member("ada").unwrap());
    // This administrator may not close the connection, but it is of no more use.
    let refused = ada.append(created.no, &batch(created.position, &[b"x"]), None).unwrap_err();
    assert!(matches!(refused, RemoteError::NotAMember { .. }), "{refused}");
    let mut bob = store.connect("bob");
    let mut superuser = Admin::connect(&store.running.admin(&store.database).unwrap()).unwrap();
    assert!(superuser.revoke_member("bob").unwrap());
    let closed = bob.about().unwrap_err();
    assert!(closed.is_disconnected(), "{closed}");
    bob.reconnect().unwrap();
    assert!(matches!(bob.about(), Err(RemoteError::NotAMember { .. })));
    assert_eq!(store.sql("ada", "select count(*) from sessile.session").unwrap(), "0");
    let acts = store.admin_sql("select act from sessile.audit order by at").unwrap();
    assert_eq!(acts.lines().collect::<Vec<_>>(), ["add member", "add member", "revoke member", "revoke member"]);
}

#[test]
fn an_administrator_need_not_be_a_superuser() {
    let store = TestServer::shared().store();
    let mut admin = store.admin();
    admin.migrate().unwrap();
    let name = format!("o'dd \"{}\"", store.database);
    for password in ["first", PASSWORD] {
        admin.add_member(&name, &Secret::new(password)).unwrap();
    }
    let url = store.running.url_of(&format!("o'dd%20%22{}%22", store.database), &store.database);
    let mut server = PostgresServer::connect(&login(&url)).unwrap();
    assert_eq!(server.about().unwrap().member, name);
    assert!(matches!(admin.add_member(&"x".repeat(64), &Secret::new("x")), Err(RemoteError::Refused { .. })));
    assert!(matches!(admin.add_member("a\nb", &Secret::new("x")), Err(RemoteError::Refused { .. })));
}

#[test]
fn no_statement_stays_in_the_connection() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let created = create(&mut ada, "s");
    ada.append(created.no, &batch(created.position, &[b"x"]), None).unwrap();
    ada.heads(None, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    ada.read(created.no, 0, 0, 9, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    ada.chains(created.no, 0, &[1]).unwrap();
    ada.tombstones(None, &mut drop).unwrap();
    ada.about().unwrap();
    assert_eq!(ada.n_prepared_statements().unwrap(), 0);
}

#[test]
fn authors_and_devices_are_the_servers_word() {
    let store = TestServer::shared().store_with_members();
    let mut ada = PostgresServer::connect(&store.config("ada").on_device("laptop")).unwrap();
    let created = create(&mut ada, "s");
    ada.append(created.no, &batch(created.position, &[b"x"]), None).unwrap();
    let mut seen = Vec::new();
    ada.read(created.no, 0, 0, 9, &mut |line| {
        seen.push((line.author.to_owned(), line.device.map(str::to_owned)));
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, [("ada".to_owned(), Some("laptop".to_owned()))]);
    // Another member cannot write under her device.
    let device = store.admin_sql("select no from sessile.device").unwrap();
    let mut bob = store.connect("bob");
    let his = create(&mut bob, "s");
    let forged = format!(
        "select sessile.append({}, 0, 0, '\\x{zeros}', array['\\x{zeros}'::bytea], array[0::smallint], array['x'::bytea], 2, \
         null, {device})",
        his.no,
        zeros = "0".repeat(32)
    );
    let refused = store.sql("bob", &forged).unwrap_err();
    assert!(refused.contains("not a device of the member"), "{refused}");
}
