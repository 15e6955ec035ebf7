//! F13 and F16: a server that replays, reorders, rolls back, changes and drops lines.

use std::borrow::Cow;

use sessile::SessionError;
use sessile::scrub::{ScrubOptions, Scrubber};
use sessile::sync::SyncOptions;
use sessile::sync::remote::{Batch, Server};

use super::Bench;
use super::check::{check, log_of};
use super::client::{Client, SECOND};
use super::outcome::{Outcome, Skipped};

/// The result of a synchronization for one session.
type Results = Vec<(String, Result<(), SessionError>)>;

fn results(client: &mut Client) -> Results {
    let mut results = Vec::new();
    let mut take = |result: sessile::sync::SyncResult| results.push((result.id.to_string(), result.result.map(drop)));
    client.sync_each(&SyncOptions::default(), &mut take).unwrap();
    results
}

/// Changes the logs of some sessions, and lets a new machine pull them. `wrong` names the line that is wrong, as the file
/// counts them.
fn pull_after(bench: &Bench, changes: &[(&str, &str, u64)], outcome: &mut Outcome) {
    let ids: Vec<&str> = changes.iter().map(|(id, ..)| *id).chain(["good", "other"]).collect();
    let mut clients = bench.clients(1, &ids);
    for id in &ids {
        (0..4).for_each(|_| clients[0].append(id).unwrap());
    }
    clients[0].sync().unwrap();
    let user = clients[0].config.user().to_owned();
    let no = |id: &str| {
        let found = format!("select no from sessile.session where owner = '{user}' and header_id = '{id}'");
        bench.cluster().sql(&found)
    };
    let other = no("other");
    for (id, change, _) in changes {
        bench.cluster().sql(&change.replace("$no", &no(id)).replace("$other", &other));
    }
    let mut fresh = bench.client(&clients[0].config.clone());
    let results = results(&mut fresh);
    for (id, change, wrong) in changes {
        let result = results.iter().find(|(found, _)| found == id).map(|(_, result)| result);
        match result {
            Some(Err(SessionError::RemoteDamaged { path, line, .. })) => {
                outcome.check(line == wrong, || format!("{change}: line {line} instead of {wrong}"));
                outcome.check(path.to_string_lossy().contains(id), || format!("{change}: {}", path.display()));
            }
            other => outcome.problem(format!("{change}: {other:?}")),
        }
        outcome.check(!fresh.path(id).exists(), || format!("{change}: a file was made"));
    }
    let good = results.iter().find(|(found, _)| found == "good").is_some_and(|(_, result)| result.is_ok());
    outcome.check(good, || "the session that nothing is wrong with was not pulled".to_owned());
    outcome.fact(format!("{} changes detected", changes.len()));
    // The machine that has the lines keeps them.
    for id in &ids {
        let text = String::from_utf8(clients[0].lines(id)).unwrap();
        for line in clients[0].written.iter().filter(|line| line.session == *id) {
            outcome.n_acknowledged += 1;
            outcome.n_lost += u64::from(text.matches(&format!("\"{}\"", line.text)).count() != 1);
        }
    }
}

/// F16: an administrator changes, forges and drops lines. The header is line 1, and `seq` counts from 1 after it.
pub(super) fn changed(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let changes = [
        (
            "updated",
            "update sessile.line set data = replace(encode(data, 'escape'), 'first', 'forged')::bytea where session = $no and seq = 1",
            2,
        ),
        (
            "forged",
            "update sessile.line set data = '{\"type\":\"message\",\"id\":\"x\",\"parentId\":null}', chain = substr(sha256(decode(repeat('00', 16), 'hex') || '{\"type\":\"message\",\"id\":\"x\",\"parentId\":null}'::bytea), 1, 16) where session = $no and seq = 3",
            4,
        ),
        ("dropped", "delete from sessile.line where session = $no and seq = 4", 5),
        ("cut", "delete from sessile.line where session = $no and seq = 6", 7),
        ("newline", "update sessile.line set data = '{}\n{}' where session = $no and seq = 2", 3),
        ("codec", "update sessile.line set codec = 3 where session = $no and seq = 5", 6),
        (
            "bomb",
            "update sessile.line set codec = 1, data = '\\x28b52ffda00100000254000000000100' where session = $no and seq = 2",
            3,
        ),
        ("claimed", "update sessile.session set chain = decode(repeat('ab', 16), 'hex') where no = $no", 7),
    ];
    pull_after(bench, &changes, &mut outcome);
    super::verified::run(bench, &mut outcome);
    Ok(outcome)
}

/// Replaces a word.
struct Word;

impl Scrubber for Word {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        Ok(Cow::Owned(String::from_utf8_lossy(line).replace(SECOND, "[gone]").into_bytes()))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        Cow::Owned(text.replace(SECOND, "[gone]"))
    }
}

/// F13: an old push again, lines in another order, an older epoch, a line of another session.
pub(super) fn replayed(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let swap = "update sessile.line as l set data = o.data, codec = o.codec from sessile.line as o \
                where l.session = $no and o.session = $no and l.seq + o.seq = 7 and l.seq in (3, 4)";
    let moved = "update sessile.line set session = $other, seq = 100 where session = $no and seq = 2";
    let exchanged = "update sessile.line as l set data = o.data from sessile.line as o \
                     where l.session = $no and o.session = $other and l.seq = 5 and o.seq = 5";
    pull_after(bench, &[("swapped", swap, 4), ("moved", moved, 3), ("exchanged", exchanged, 6)], &mut outcome);
    replay(bench, &mut outcome);
    roll_back(bench, &mut outcome);
    Ok(outcome)
}

/// The same batch again does nothing.
fn replay(bench: &Bench, outcome: &mut Outcome) {
    let mut clients = bench.clients(2, &["s1"]);
    let mut server = clients[0].connect().unwrap();
    let before = server.head(None, "s1").unwrap().unwrap();
    (0..3).for_each(|_| clients[0].append("s1").unwrap());
    clients[0].sync().unwrap();
    let mut batch = Batch::at(before.position);
    for line in log_of(&clients[0], "s1").iter().skip(usize::try_from(before.position.n_lines).unwrap()) {
        batch.push(line).unwrap();
    }
    let again = server.append(before.no, &batch, None).unwrap();
    outcome.check(again.is_none() && batch.len() == 3, || format!("a replayed push was taken: {again:?}"));
    outcome.fact("replay refused");
    check(&mut clients, outcome);
}

/// An epoch that goes back is refused, and nothing changes.
fn roll_back(bench: &Bench, outcome: &mut Outcome) {
    let mut clients = bench.clients(2, &["s1"]);
    let path = clients[0].path("s1");
    clients[0].sessions().scrub(&path, ScrubOptions::default(), &mut Word).unwrap();
    for client in &mut clients {
        client.sync().unwrap();
    }
    clients[0].append("s1").unwrap();
    let user = clients[0].config.user();
    let set = |epoch: u32| {
        bench.cluster().sql(&format!("update sessile.session set epoch = {epoch} where owner = '{user}'"));
    };
    set(0);
    for client in &mut clients {
        let before = client.lines("s1");
        match results(client).as_slice() {
            [(id, Err(SessionError::RemoteReplaced { epoch: 0, known: 1, .. }))] if id == "s1" => {}
            other => outcome.problem(format!("an older epoch: {other:?}")),
        }
        outcome.check(client.lines("s1") == before, || "an older epoch changed a file".to_owned());
    }
    let user = clients[0].config.user();
    bench.cluster().sql(&format!("update sessile.session set epoch = 1 where owner = '{user}'"));
    outcome.fact("older epoch refused");
    check(&mut clients, outcome);
}
