//! F11: another member, who may write to a session, means harm.

use std::process::{Command, Stdio};

use sessile::SessionError;
use sessile::sync::SyncOptions;
use sessile::sync::remote::postgres::PostgresServer;
use sessile::sync::remote::{Batch, Server};

use super::Bench;
use super::client::{Client, SECOND, entry};
use super::outcome::{Outcome, Skipped};
use crate::oracle::{Oracle, quoted};
use crate::static_call;

/// What must become of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The lines are harmless, and arrive.
    Taken,
    /// The line with this number in the file is refused.
    Refused(u64),
    /// The line with this number is not what its chain says.
    Damaged(u64),
}

/// Lines that the member appends to the session of this name, and what must become of it. A session begins with two
/// entries, so the first new line is line 4 of the file.
fn poison() -> Vec<(&'static str, Vec<Vec<u8>>, Fate)> {
    let lines = |lines: &[&[u8]]| lines.iter().map(|line| line.to_vec()).collect::<Vec<_>>();
    let good = entry("new", "second", "hello");
    let hostile = r#"{"type":"message","id":"esc","parentId":"second","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"\u001b]0;evil\u0007\u001b[2J\u202e"}}"#;
    let proto = r#"{"type":"message","id":"__proto__","parentId":"second","timestamp":"2025-01-01T00:00:01.000Z","__proto__":{"type":"session"},"message":{"role":"user","content":"x","__proto__":{"polluted":true}}}"#;
    let header = r#"{"type":"session","version":3,"id":"other","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#;
    vec![
        ("good", lines(&[good.as_bytes()]), Fate::Taken),
        ("again", lines(&[entry("second", "first", SECOND).as_bytes()]), Fate::Taken),
        ("escapes", lines(&[hostile.as_bytes()]), Fate::Taken),
        ("proto", lines(&[proto.as_bytes()]), Fate::Taken),
        ("self", lines(&[entry("l", "l", "x").as_bytes()]), Fate::Refused(4)),
        (
            "loop",
            lines(&[good.as_bytes(), entry("a", "b", "x").as_bytes(), entry("b", "a", "x").as_bytes()]),
            Fate::Refused(5),
        ),
        ("reused", lines(&[entry("second", "first", "other words").as_bytes()]), Fate::Refused(4)),
        ("turned", lines(&[entry("first", "second", "x").as_bytes()]), Fate::Refused(4)),
        ("orphan", lines(&[entry("o", "nowhere", "x").as_bytes()]), Fate::Refused(4)),
        ("header", lines(&[good.as_bytes(), header.as_bytes()]), Fate::Refused(5)),
        ("nul", lines(&[b"{\"type\":\"message\",\"id\":\"n\",\"parentId\":null,\"x\":\"\0\"}"]), Fate::Refused(4)),
        (
            "utf8",
            lines(&[b"{\"type\":\"message\",\"id\":\"n\",\"parentId\":null,\"x\":\"\xff\xfe\"}"]),
            Fate::Refused(4),
        ),
        ("nothing", lines(&[b""]), Fate::Refused(4)),
        ("array", lines(&[b"[1]"]), Fate::Refused(4)),
        ("unnamed", lines(&[br#"{"type":"message","parentId":"second"}"#]), Fate::Refused(4)),
        ("chain", Vec::new(), Fate::Damaged(4)),
        ("bomb", Vec::new(), Fate::Damaged(4)),
    ]
}

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let poison = poison();
    let ids: Vec<&str> = poison.iter().map(|(id, ..)| *id).collect();
    let mut clients = bench.clients(2, &ids);
    let owner = clients[0].config.user().to_owned();
    append(bench, &owner, &poison);
    // One machine has nothing of its own, one has, and one is new.
    for id in &ids {
        clients[1].append(id).unwrap();
    }
    let config = clients[0].config.clone();
    clients.push(bench.client(&config));
    let mut pi = std::env::var_os("SESSILE_ORACLE_DIR").map(|_| Oracle::start(&bench.directory));
    for (client, kind) in clients.iter_mut().zip(["behind", "diverged", "new"]) {
        let before: Vec<Vec<u8>> = ids.iter().map(|id| client.lines(id)).collect();
        let mut results = std::collections::HashMap::new();
        let mut take = |result: sessile::sync::SyncResult| drop(results.insert(result.id.to_string(), result.result));
        // Without this, no line of another member reaches a file.
        let options = SyncOptions { accepts_members: true, ..SyncOptions::default() };
        client.sync_each(&options, &mut take).unwrap();
        for ((id, _, fate), before) in poison.iter().zip(&before) {
            let is_right = match (fate, results.get(*id)) {
                (Fate::Taken, Some(Ok(_))) => client.lines(id) != *before,
                (Fate::Refused(number), Some(Err(SessionError::RemoteRefused { path, line, .. })))
                | (Fate::Damaged(number), Some(Err(SessionError::RemoteDamaged { path, line, .. }))) => {
                    line == number && path.to_string_lossy().contains(id) && client.lines(id) == *before
                }
                _ => false,
            };
            outcome.check(is_right, || format!("{id}, {kind}: {:?} instead of {fate:?}", results.get(*id)));
            open(client, id, pi.as_mut(), &mut outcome);
        }
    }
    outcome.n_acknowledged = clients[1].n_acknowledged();
    let n_taken = poison.iter().filter(|(.., fate)| *fate == Fate::Taken).count();
    outcome.check(clients[1].n_acknowledged() == n_taken as u64, || "a healthy session was not pushed".to_owned());
    outcome.fact(format!("{} attacks on 3 machines, {n_taken} of them harmless", poison.len()));
    outcome.fact(if pi.is_some() { "pi opens every file" } else { "pi is not installed" });
    Ok(outcome)
}

/// Lets the member append what it wants to.
fn append(bench: &Bench, owner: &str, poison: &[(&str, Vec<Vec<u8>>, Fate)]) {
    let cluster = bench.cluster();
    let member = bench.member();
    let user = member.user().to_owned();
    cluster.sql(&format!(
        "insert into sessile.access (member, session, may, granted_by) \
         select '{user}', no, 'write', '{owner}' from sessile.session where owner = '{owner}'"
    ));
    let mut server = PostgresServer::connect(&member).unwrap();
    for (id, lines, _) in poison {
        let head = server.head(Some(owner), id).unwrap().unwrap();
        if lines.is_empty() {
            let (codec, data) = match *id {
                "bomb" => (1, "\\x28b52ffda00100000254000000000100"),
                _ => (0, "{\"type\":\"message\",\"id\":\"n\",\"parentId\":null}"),
            };
            let statement = format!(
                "select sessile.append(s.no, s.epoch, s.n, s.chain, array[decode(repeat('ab', 16), 'hex')], \
                 array[{codec}::smallint], array['{data}'::bytea], 40, null, null) \
                 from sessile.session as s where s.owner = '{owner}' and s.header_id = '{id}'"
            );
            as_member(bench, &user, &statement);
            continue;
        }
        let mut batch = Batch::at(head.position);
        for line in lines {
            batch.push(line).unwrap();
        }
        server.append(head.no, &batch, None).unwrap().unwrap();
    }
}

/// Runs a statement as a member who does not use Sessile.
fn as_member(bench: &Bench, user: &str, statement: &str) {
    let done = Command::new("psql")
        .args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--host=127.0.0.1", "--dbname=sessile"])
        .args([format!("--port={}", bench.cluster().running().port()), format!("--username={user}")])
        .args(["--command", statement])
        .env("PGPASSWORD", bench.cluster().password(user))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Opens a file with Sessile, and with pi.
fn open(client: &Client, id: &str, pi: Option<&mut Oracle>, outcome: &mut Outcome) {
    let path = client.path(id);
    if !path.exists() {
        return;
    }
    match client.sessions().verify(&path) {
        // The same line twice is a note, not damage; so are odd ids.
        Ok(report) => outcome.check(report.is_sound() || id == "again", || format!("{id}: {:?}", report.findings)),
        Err(error) => outcome.problem(format!("{id}: {error}")),
    }
    if let Some(pi) = pi {
        let path = quoted(&path.to_string_lossy());
        let opened = pi.ask(static_call("open", &[&path]));
        outcome.check(opened.error().is_none(), || format!("{id}: pi cannot open it: {:?}", opened.error()));
        let context = pi.ask(r#"{"cmd":"observe","what":"context"}"#);
        let seen = context.error().map_or_else(|| context.observation("context"), Err);
        outcome.check(seen.is_ok(), || format!("{id}: pi cannot read it: {seen:?}"));
    }
}
