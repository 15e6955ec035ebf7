//! Who may do what with each table and function of a store: asked of a real server, from its catalogue, and compared with
//! the tables in `docs/team.md`. A new table or function is in the answer at once, so it needs a row there.
//! `SESSILE_UPDATE_DOCS=1` writes the answer to the document.

mod asking;

use std::collections::HashMap;

use sessile_remote::postgres::PostgresServer;
use sessile_remote::{May, Server, Team};

use asking::{ask, grouped, lines, rows_of, word};

use crate::contract::{batch, create};
use crate::servers::{PASSWORD, TestServer, TestStore};

/// The columns of the tables: their headings and the logins that stand for them.
const ROLES: [(&str, &str); 9] = [
    ("admin", "m_admin"),
    ("owner", "m_owner"),
    ("reader", "m_reader"),
    ("writer", "m_writer"),
    ("by project", "m_project"),
    ("stranger", "m_stranger"),
    ("revoked", "m_revoked"),
    ("not a member", "m_foreign"),
    ("other login", "m_outside"),
];

/// The number of those that are members at first.
const N_MEMBERS: usize = 7;

/// Which rows a word means, for a member `R` and the session `S`.
const ROWS: [(&str, &str, &str); 13] = [
    ("access", "own", "t.member = R"),
    ("audit", "own", "t.member = R"),
    ("device", "own", "t.member = R"),
    ("line", "own", "t.session in (select no from sessile.session where owner = R)"),
    ("line", "own, shared", "t.session = S or t.session in (select no from sessile.session where owner = R)"),
    ("member", "own", "t.name = R"),
    ("pack", "own", "t.session in (select no from sessile.session where owner = R)"),
    ("pack", "own, shared", "t.session = S or t.session in (select no from sessile.session where owner = R)"),
    ("project", "own", "t.made_by = R"),
    ("project", "shared", "t.no in (select project from sessile.access where member = R)"),
    ("session", "own", "t.owner = R"),
    ("session", "own, shared", "t.no = S or t.owner = R"),
    ("tombstone", "own", "t.owner = R"),
];

/// The arguments of the functions, by the names of their parameters.
const ARGUMENTS: [(&str, &str); 43] = [
    ("_session", "S"),
    ("_owner", "'m_owner'"),
    ("_member", "'m_stranger'"),
    ("_name", "'m_stranger'"),
    ("_project", "'p'"),
    ("_may", "'read'"),
    ("_is_admin", "null"),
    ("_header_id", "'kept'"),
    ("_header", "'{}'"),
    ("_restore", "false"),
    ("_epoch", "0"),
    ("_n", "0"),
    ("_chain", "'\\x00000000000000000000000000000000'"),
    ("_chains", "'{}'"),
    ("_codecs", "'{}'"),
    ("_data", "'{}'"),
    ("_bytes", "0"),
    ("_summary", "null"),
    ("_device", "null"),
    ("_since", "null"),
    ("_limit", "9"),
    ("_from", "0"),
    ("_to", "9"),
    ("_at", "'{1}'"),
    ("_reason", "'x'"),
    ("_me", "'m_owner'"),
    ("_act", "'x'"),
    ("_whom", "null"),
    ("_detail", "null"),
    ("_hash", "'\\x00'"),
    ("_hashes", "'{}'"),
    ("_seconds", "3600"),
    ("_use", "null"),
    ("_counts", "'{}'"),
    ("_filter", "''"),
    ("_blocks", "'{0}'"),
    ("_bits", "'{0,1,2,3,4,5,6}'"),
    ("_before", "null"),
    ("_look", "9"),
    ("_lines", "2"),
    ("_seqs", "'{}'"),
    ("_filters", "'{}'"),
    ("_sealed", "0"),
];

/// A store in which each table has rows of each member, and the number of the session that the columns are about: it
/// belongs to the owner, is shared with the reader and the writer, and is in a project to which a third has access.
fn store() -> (TestStore, String) {
    let store = TestServer::shared().store();
    store.admin().migrate().unwrap();
    for (index, (_, login)) in ROLES.iter().take(N_MEMBERS).enumerate() {
        store.join(login, index == 0);
        let config = store.config(login).on_device("laptop");
        let mut server = PostgresServer::connect(&config).unwrap();
        for id in ["kept", "buried"] {
            let created = create(&mut server, id);
            let end = server.append(created.no, &batch(created.position, &[b"x", b"y"]), Some(b"summary")).unwrap();
            // Many lines become a pack.
            server.append(created.no, &batch(end.unwrap(), &[b"z".as_slice(); 200]), None).unwrap();
        }
        server.bury("buried").unwrap();
    }
    let mut owner = store.connect("m_owner");
    let session = create(&mut owner, "shared");
    let end = owner.append(session.no, &batch(session.position, &[b"x"]), None).unwrap();
    owner.append(session.no, &batch(end.unwrap(), &[b"z".as_slice(); 200]), None).unwrap();
    owner.create_project("p").unwrap();
    owner.set_project(session.no, Some("p")).unwrap();
    owner.share(session.no, "m_reader", May::Read).unwrap();
    owner.share(session.no, "m_writer", May::Write).unwrap();
    owner.grant_project("p", "m_project", May::Read).unwrap();
    for stale in ["m_revoked", "m_stranger"] {
        owner.share(session.no, stale, May::Write).unwrap();
    }
    owner.unshare(session.no, "m_stranger").unwrap();
    store.connect("m_stranger").create_project("q").unwrap();
    // The membership ends, and the login stays open.
    store.admin_sql("select sessile.revoke_member('m_revoked')").unwrap();
    let foreign = format!(
        "create role m_foreign login password '{PASSWORD}'; grant sessile_member to m_foreign; \
         create role m_outside login password '{PASSWORD}'"
    );
    store.superuser("postgres", &foreign).unwrap();
    (store, session.no.to_string())
}

/// The tables, each with the name of its first column.
fn tables(store: &TestStore) -> Vec<(String, String)> {
    let tables = "select relname, (select attname from pg_attribute where attrelid = c.oid and attnum = 1) from pg_class as c \
                  where relnamespace = 'sessile'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S', 'f') order by 1";
    let tables = store.admin_sql(tables).unwrap();
    lines(&tables).map(|mut row| (row.remove(0), row.remove(0))).collect()
}

/// What each role reads of each table.
fn reading(store: &TestStore, session: &str) -> Vec<String> {
    let tables: Vec<String> = tables(store).into_iter().map(|(table, _)| table).collect();
    // The rows that each word means, as the superuser sees them.
    let mut meanings = Vec::new();
    for table in &tables {
        for (_, login) in ROLES {
            let condition =
                |rows: &str| rows.replace(" R", &format!(" '{login}'")).replace(" S", &format!(" {session}"));
            let special = ROWS.iter().filter(|(of, ..)| of == table).map(|(_, word, rows)| (*word, condition(rows)));
            let words = [("none", "false".to_owned()), ("all", "true".to_owned())].into_iter().chain(special);
            meanings.extend(
                words.map(|(word, rows)| format!("select '{table}', '{login}', '{word}', ({})", rows_of(table, &rows))),
            );
        }
    }
    let meanings = store.superuser(&store.database, &meanings.join(" union all ")).unwrap();
    let mut words: HashMap<(String, String, String), String> = HashMap::new();
    for row in lines(&meanings) {
        let [table, login, word, rows] = row.try_into().unwrap();
        words.entry((table, login, format!("ok{rows}"))).or_insert(word);
    }
    let named: Vec<_> = tables.iter().map(|table| (format!("`{table}`"), rows_of(table, "true"))).collect();
    let cells = ask(store, &named, |name, login, outcome| match outcome {
        "42501" => "denied".to_owned(),
        rows => {
            let key = (name.trim_matches('`').to_owned(), login.to_owned(), rows.to_owned());
            words.get(&key).map_or_else(|| "some".to_owned(), Clone::clone)
        }
    });
    cells.into_iter().flat_map(|cell| grouped(&[cell])).collect()
}

/// What each role may do to each table.
fn writing(store: &TestStore) -> Vec<String> {
    const OPERATIONS: [&str; 4] = ["insert", "update", "delete", "truncate"];
    let tables = tables(store);
    let statements = |operation: &'static str| {
        tables.iter().map(move |(table, column)| {
            let statement = match operation {
                "insert" => format!("insert into sessile.{table} default values"),
                "update" => format!("update sessile.{table} set {column} = {column}"),
                "delete" => format!("delete from sessile.{table}"),
                _ => format!("truncate sessile.{table} cascade"),
            };
            (format!("`{table}`"), statement)
        })
    };
    let named: Vec<_> = OPERATIONS.into_iter().flat_map(statements).collect();
    let cells = ask(store, &named, |_, _, outcome| word(outcome));
    let rows = |(operation, cells): (&str, &[(String, Vec<String>)])| {
        grouped(cells).into_iter().map(|row| row.replacen("| ", &format!("| {operation}: "), 1)).collect::<Vec<_>>()
    };
    OPERATIONS.into_iter().zip(cells.chunks(tables.len())).flat_map(rows).collect()
}

/// What each role gets from each function.
fn calling(store: &TestStore, session: &str) -> Vec<String> {
    let functions = "select proname, array_to_string(proargnames[1:pronargs], ','), \
                     array_to_string(proargtypes::regtype[], ',') from pg_proc where pronamespace = 'sessile'::regnamespace order by 1";
    let functions = store.admin_sql(functions).unwrap();
    let call = |row: Vec<String>| {
        let argument = |(name, kind): (&str, &str)| {
            let known = ARGUMENTS.iter().find(|(parameter, _)| *parameter == name);
            let value = known.unwrap_or_else(|| panic!("give the parameter {name} of {} a value here", row[0])).1;
            format!("({})::{kind}", if value == "S" { session } else { value })
        };
        let pairs = row[1].split(',').zip(row[2].split(',')).filter(|(name, _)| !name.is_empty());
        let arguments: Vec<String> = pairs.map(argument).collect();
        (format!("`{}`", row[0]), format!("select * from sessile.{}({})", row[0], arguments.join(", ")))
    };
    let named: Vec<_> = lines(&functions).map(call).collect();
    grouped(&ask(store, &named, |_, _, outcome| word(outcome)))
}

/// The tables of the document: the first words of their headings, and how to make their rows.
type Part = (&'static str, fn(&TestStore, &str) -> Vec<String>);
const PARTS: [Part; 3] = [("| reads of", reading), ("| writes to", |store, _| writing(store)), ("| calls", calling)];

/// The rows of the table with such a heading, and which lines they are.
fn documented<'d>(document: &'d str, heading: &str) -> (std::ops::Range<usize>, Vec<&'d str>) {
    let lines: Vec<&str> = document.lines().collect();
    let at = lines.iter().position(|line| line.starts_with(heading));
    let at = at.unwrap_or_else(|| panic!("docs/team.md has no table {heading:?}"));
    let titles: Vec<&str> = lines[at].split('|').map(str::trim).skip(2).take(ROLES.len()).collect();
    assert_eq!(titles, ROLES.map(|(title, _)| title), "the columns of {heading:?}");
    let rows: Vec<&str> = lines[at + 2..].iter().copied().take_while(|line| line.starts_with('|')).collect();
    (at + 2..at + 2 + rows.len(), rows)
}

#[test]
fn the_document_says_who_may_do_what() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/team.md");
    let mut document = std::fs::read_to_string(path).unwrap();
    let (store, session) = store();
    let mut found = PARTS.map(|(heading, rows)| (heading, rows(&store, &session)));
    if std::env::var_os("SESSILE_UPDATE_DOCS").is_some() {
        for (heading, rows) in &found {
            let (range, _) = documented(&document, heading);
            let mut lines: Vec<&str> = document.lines().collect();
            lines.splice(range, rows.iter().map(String::as_str));
            document = lines.join("\n") + "\n";
        }
        std::fs::write(path, &document).unwrap();
    }
    for (heading, rows) in &found {
        let missing: Vec<_> = rows.iter().filter(|row| row.contains("error ") || row.contains(" some ")).collect();
        assert!(missing.is_empty(), "no word for {missing:#?}");
        assert_eq!(&documented(&document, heading).1, rows, "docs/team.md against the server, {heading:?}");
    }

    // Each of these holes changes the answer, so the comparison can fail.
    let holes = [
        ("drop policy visible on sessile.line", 0),
        ("create policy hole on sessile.tombstone for select to sessile_member using (true)", 0),
        ("drop policy visible on sessile.audit", 0),
        ("grant update on sessile.member to sessile_member", 1),
        ("grant execute on function sessile.require_session(text, bigint) to sessile_member", 2),
        (
            "create or replace function sessile.require_own(_me text, _session bigint) returns void language sql as ''",
            2,
        ),
        ("create table sessile.forgotten (no bigint)", 0),
        ("create function sessile.forgotten() returns void language sql as ''", 2),
    ];
    for (hole, part) in holes {
        store.admin_sql(hole).unwrap();
        let after = PARTS[part].1(&store, &session);
        assert_ne!(found[part].1, after, "{hole}");
        found[part].1 = after;
    }
}
