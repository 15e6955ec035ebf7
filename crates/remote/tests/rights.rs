//! What members may do with the tables, generated from the catalogue, so that a new table is covered at once.

use sessile_remote::Server;

use crate::contract::{batch, create};
use crate::servers::{TestServer, TestStore};

/// A store in which each table has a row, some of them of each member.
fn store() -> TestStore {
    let store = TestServer::shared().store_with_members();
    for name in ["ada", "bob"] {
        let config = store.config(name).on_device("laptop");
        let mut server = sessile_remote::postgres::PostgresServer::connect(&config).unwrap();
        for id in ["kept", "buried"] {
            let created = create(&mut server, id);
            let mut few = batch(created.position, &[b"x", b"y"]);
            few.add_terms(&[1, 2]);
            let end = server.append(created.no, &few, Some(b"summary")).unwrap().unwrap();
            server.append(created.no, &batch(end, &vec![b"z".as_slice(); 200]), None).unwrap();
        }
        server.bury("buried").unwrap();
    }
    let rows = "insert into sessile.project (name, made_by) values ('p', 'ada'); \
                insert into sessile.access (member, project, may, granted_by) select 'ada', no, 'read', 'ada' from sessile.project";
    store.admin_sql(rows).unwrap();
    store
}

fn tables(store: &TestStore) -> Vec<String> {
    let tables = "select relname from pg_class where relnamespace = 'sessile'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S', 'f') \
                  order by 1";
    store.admin_sql(tables).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn members_cannot_write_to_any_table() {
    let store = store();
    let tables = tables(&store);
    assert_eq!(
        tables,
        [
            "access",
            "audit",
            "blob",
            "device",
            "line",
            "member",
            "pack",
            "project",
            "session",
            "store",
            "terms",
            "tombstone"
        ],
        "add new tables to the list and to the documentation"
    );
    let mut n_denied = 0;
    for table in &tables {
        let column =
            format!("select attname from pg_attribute where attrelid = 'sessile.{table}'::regclass and attnum = 1");
        let column = store.admin_sql(&column).unwrap();
        let attempts = [
            format!("insert into sessile.{table} select * from sessile.{table}"),
            format!("insert into sessile.{table} default values"),
            format!("update sessile.{table} set {column} = {column}"),
            format!("delete from sessile.{table}"),
            format!("truncate sessile.{table}"),
            format!("drop table sessile.{table}"),
            format!("alter table sessile.{table} disable row level security"),
            format!("copy sessile.{table} from stdin"),
            format!("begin; lock sessile.{table} in exclusive mode; commit"),
        ];
        let refused = store.refusals("ada", &attempts);
        let is_denied = |line: &&str| line.contains("permission denied") || line.contains("must be owner");
        let n_refused = refused.lines().filter(is_denied).count();
        assert_eq!(n_refused, attempts.len(), "{table}: {refused}");
        n_denied += n_refused;
    }
    assert_eq!(n_denied, tables.len() * 9);
    let made = store.sql("ada", "create table sessile.mine ()").unwrap_err();
    assert!(made.contains("permission denied"), "{made}");
    let rows = "select (select count(*) from sessile.line), (select count(*) from sessile.session)";
    assert_eq!(store.admin_sql(rows).unwrap(), "4|2", "nothing has changed");
}

#[test]
fn members_see_their_own_rows_only() {
    let store = store();
    let count = |user: &str, table: &str| store.sql(user, &format!("select count(*) from sessile.{table}"));
    let expected = [
        ("access", "1", "0"),
        ("audit", "1", "1"),
        ("device", "1", "1"),
        ("line", "2", "2"),
        ("member", "1", "1"),
        ("pack", "1", "1"),
        ("project", "1", "0"),
        ("session", "1", "1"),
        ("tombstone", "1", "1"),
    ];
    for (table, of_ada, of_bob) in expected {
        assert_eq!(count("ada", table).unwrap(), of_ada, "{table}");
        assert_eq!(count("bob", table).unwrap(), of_bob, "{table}");
    }
    for hidden in ["blob", "store", "terms"] {
        assert!(count("ada", hidden).unwrap_err().contains("permission denied"));
    }
    assert_eq!(store.admin_sql("select count(*) from sessile.terms").unwrap(), "2");
    let all = store.admin_sql("select (select count(*) from sessile.line), (select count(*) from sessile.audit)");
    assert_eq!(all.unwrap(), "4|4");
}

#[test]
fn every_table_has_forced_walls_and_every_function_a_fixed_search_path() {
    let store = store();
    let open = "select relname from pg_class where relnamespace = 'sessile'::regnamespace and relkind = 'r' \
                and not (relrowsecurity and relforcerowsecurity)";
    assert_eq!(store.admin_sql(open).unwrap(), "");
    // Functions that run as the member may do without, because they only do what the member may do.
    let loose = "select proname from pg_proc where pronamespace = 'sessile'::regnamespace \
                 and not coalesce(proconfig::text like '%search_path=pg_catalog, pg_temp%', false) \
                 and (prosecdef or proname not in ('heads', 'head', 'tombstones'))";
    assert_eq!(store.admin_sql(loose).unwrap(), "");
    let public = "select proname from pg_proc where pronamespace = 'sessile'::regnamespace \
                  and has_function_privilege('public', oid, 'execute')";
    assert_eq!(store.admin_sql(public).unwrap(), "");
    let internals = ["require_session('ada', 1)", "require_epoch(1, 1)", "random_no()", "blob_lock('x')"];
    for internal in internals {
        let refused = store.sql("ada", &format!("select sessile.{internal}")).unwrap_err();
        assert!(refused.contains("permission denied"), "{refused}");
    }
}

#[test]
fn the_record_cannot_be_changed_even_by_the_owner() {
    let store = store();
    let changed = store.admin_sql("with u as (update sessile.audit set act = 'x' returning 1) select count(*) from u");
    assert_eq!(changed.unwrap(), "0");
    let removed = store.admin_sql("with d as (delete from sessile.audit returning 1) select count(*) from d");
    assert_eq!(removed.unwrap(), "0");
}

#[test]
fn values_that_no_client_of_ours_sends_are_refused() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let no = create(&mut ada, "s").no;
    let zeros = format!("'\\x{}'::bytea", "0".repeat(32));
    let append = |chains: &str, codecs: &str, data: &str, bytes: &str| {
        let lines = format!("array[{chains}]::bytea[], array[{codecs}]::smallint[], array[{data}]::bytea[]");
        store.sql("ada", &format!("select sessile.append({no}, 0, 0, {zeros}, {lines}, {bytes}, null, null)"))
    };
    let refused = [
        append("", "0", "'x'", "2"),
        append(&zeros, "", "'x'", "2"),
        append(&zeros, "0", "", "2"),
        append("'short'", "0", "'x'", "2"),
        append("null", "0", "'x'", "2"),
        append(&zeros, "2", "'x'", "2"),
        append(&zeros, "null", "'x'", "2"),
        append(&zeros, "0", "null", "2"),
        append(&zeros, "0", "'x'", "null"),
        append(&zeros, "0", "'x'", "-1"),
        append(&zeros, "0", "convert_to(repeat('x', 33554433), 'UTF8')", "33554434"),
    ];
    for (index, result) in refused.into_iter().enumerate() {
        let refused = result.unwrap_err();
        assert!(refused.contains("a batch has") || refused.contains("a line has"), "{index}: {refused}");
    }
    assert_eq!(append(&zeros, "0", "'x'", "2").unwrap(), "1");
}

#[test]
fn a_search_says_how_far_it_looked() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let created = create(&mut ada, "s");
    let mut at = created.position;
    for term in [5, 6, 6] {
        let mut one = batch(at, &[b"x"]);
        one.add_terms(&[term]);
        at = ada.append(created.no, &one, None).unwrap().unwrap();
    }
    let bits = "(select array_agg(i) from generate_series(0, 6) as i)";
    let none = store.sql("ada", &format!("select n, at is null from sessile.candidates('{{1}}', {bits}, null, 9, 3)"));
    assert_eq!(none.unwrap(), "|f", "there may be more");
    let all = store.sql("ada", &format!("select n, at is null from sessile.candidates('{{1}}', {bits}, null, 9, 4)"));
    assert_eq!(all.unwrap(), "", "there is no more");
    let other = store.sql("bob", &format!("select n, at is null from sessile.candidates('{{1}}', {bits}, null, 9, 1)"));
    assert_eq!(other.unwrap(), "", "not even a time of what the member does not see");
}

#[test]
fn packs_that_no_client_of_ours_sends_are_refused() {
    let store = TestServer::shared().store_with_members();
    let mut ada = store.connect("ada");
    let no = create(&mut ada, "s").no;
    let zeros = format!("'\\x{}'::bytea", "0".repeat(32));
    let push = |counts: &str, chains: &str, codecs: &str, data: &str, rest: &str| {
        let items = format!(
            "array[{counts}]::integer[], array[{chains}]::bytea[], array[{codecs}]::smallint[], array[{data}]::bytea[]"
        );
        store.sql("ada", &format!("select sessile.push({no}, 0, 0, {zeros}, {items}, {rest})"))
    };
    let rest = "9999, null, null, null";
    let two = format!("{zeros} || {zeros}");
    let large = "convert_to(repeat('x', 262145), 'UTF8')";
    let refused = [
        push("2", &two, "0", "", rest),
        push("", &two, "0", "'x'", rest),
        push("2", "", "0", "'x'", rest),
        push("2", &two, "", "'x'", rest),
        push("2", &zeros, "0", "'x'", rest),
        push("1", &two, "0", "'x'", rest),
        push("-1", &zeros, "0", "'x'", rest),
        push("null", &zeros, "0", "'x'", rest),
        push("2", "null", "0", "'x'", rest),
        push("2", &two, "2", "'x'", rest),
        push("2", &two, "null", "'x'", rest),
        push("2", &two, "0", "null", rest),
        push("2", &two, "0", large, rest),
        push("2", &two, "0", "'x'", "1, null, null, null"),
        push("2", &two, "0", "'x'", "null, null, null, null"),
        push("4097", &format!("decode(repeat('00', {}), 'hex')", 4097 * 16), "0", "'x'", rest),
        push("4096, 0", &format!("decode(repeat('00', {}), 'hex'), {zeros}", 4096 * 16), "0, 0", "'x', 'x'", rest),
        // A line among packs is checked like any other.
        push("2, 0", &format!("{two}, 'short'"), "0, 0", "'x', 'x'", rest),
        push("2, 0", &format!("{two}, {zeros}"), "0, 7", "'x', 'x'", rest),
        push("2", &two, "0", "'x'", "9, null, null, 'no block'"),
        push("2", &two, "0", "'x'", "9, null, 1, null"),
    ];
    for (index, result) in refused.into_iter().enumerate() {
        let refused = result.unwrap_err();
        let is_known =
            ["a batch has", "a line has", "a pack has", "not a device"].iter().any(|it| refused.contains(it));
        assert!(is_known, "{index}: {refused}");
    }
    assert_eq!(store.admin_sql("select count(*) from sessile.pack").unwrap(), "0");
    assert_eq!(push("2, 0, 1", &format!("{two}, {zeros}, {zeros}"), "0, 0, 1", "'x', 'x', 'x'", rest).unwrap(), "4");
    let stored = "select string_agg(seq || ' ' || n, ',' order by seq) from sessile.pack";
    assert_eq!(store.admin_sql(stored).unwrap(), "1 2,4 1");
    let search = |terms: &str| store.sql("ada", &format!("select * from sessile.candidates({terms})")).unwrap_err();
    for terms in [
        "'{}', '{}', null, 1, 1",
        "'{1}', '{1}', null, 1, 1",
        "'{1}', null, null, 1, 1",
        "'{-1}', '{1,1,1,1,1,1,1}', null, 1, 1",
        "'{null}', '{1,1,1,1,1,1,1}', null, 1, 1",
        "'{1}', '{1,1,1,1,1,1,512}', null, 1, 1",
        "'{1}', '{1,1,1,1,1,1,1}', null, 0, 1",
        "'{1}', '{1,1,1,1,1,1,1}', null, 1, null",
    ] {
        assert!(search(terms).contains("a search has"), "{terms}");
    }
    // What is not a pack is noticed when it is read.
    let read = ada.read(no, 0, 0, 9, &mut |_| std::ops::ControlFlow::Continue(()));
    assert!(matches!(read, Err(sessile_remote::RemoteError::BadData { .. })), "{read:?}");
}
