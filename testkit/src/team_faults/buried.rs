//! F15: a session is deleted everywhere, while a laptop that is offline goes on with it.

use sessile::Cancel;
use sessile::sync::remote::Server;
use sessile::sync::{Direction, SyncOptions, SyncScope, SyncState};

use super::Bench;
use super::check::check;
use super::client::Client;
use super::outcome::Outcome;

pub(super) fn run(bench: &Bench, outcome: &mut Outcome) {
    let n_rounds = bench.count(3, 50);
    for round in 0..n_rounds {
        let mut random = bench.random(1550 + u64::from(round));
        let mut clients = bench.clients(3, &["s1", "s2"]);
        // The laptop has lines that it alone has, and one of another machine is only in the log.
        (0..=random.below(4)).for_each(|_| clients[1].append("s1").unwrap());
        if random.one_in(2) {
            clients[2].append("s1").unwrap();
            clients[2].sync().unwrap();
        }
        let before = clients[1].lines("s1");
        let path = clients[0].path("s1");
        let mut server = clients[0].connect().unwrap();
        let deleted = clients[0].sessions().delete_everywhere(&mut server, &[path], false, &Cancel::default());
        outcome.check(deleted.is_ok_and(|deleted| deleted.sessions[0].is_on_remote), || {
            format!("round {round}: not deleted")
        });
        for index in [1, 2, 0] {
            clients[index].sync().unwrap();
            clients[index].sync().unwrap();
            let head = server.head(None, "s1").unwrap();
            outcome.check(head.is_none(), || format!("round {round}: client {index} pushed what was deleted"));
            let is_gone = !clients[index].path("s1").exists() && clients[index].path("s2").exists();
            outcome.check(is_gone, || format!("round {round}: client {index} did not follow"));
        }
        // The offline edits are in the trash, and come back with an undo.
        restore(&mut clients[1], outcome);
        outcome.check(clients[1].lines("s1") == before, || format!("round {round}: offline edits were lost"));
        // What only another machine had in its trash comes back, too, and joins the new log.
        clients[2].sessions().restore("s1", false).unwrap();
        check(&mut clients, outcome);
    }
    outcome.fact(format!("{n_rounds} deletions"));
}

/// Takes the session out of the trash, and pushes it again.
fn restore(client: &mut Client, outcome: &mut Outcome) {
    let trashed = client.sessions().in_trash().unwrap();
    outcome.check(trashed.len() == 1, || format!("{} sessions are in the trash", trashed.len()));
    client.sessions().restore("s1", false).unwrap();
    let mut states = Vec::new();
    client.sync_each(&SyncOptions::default(), &mut |result| states.push(result.result.map(|it| it.state))).unwrap();
    let is_left = states.iter().any(|state| matches!(state, Ok(SyncState::Buried)));
    outcome.check(is_left, || format!("the restored session was not left alone: {states:?}"));
    let options = SyncOptions { direction: Direction::Push, restores: true, ..SyncOptions::default() };
    let scope = SyncScope::Files(vec![client.path("s1")]);
    client.sessions().sync(&mut client.connect().unwrap(), &scope, &options, &mut drop).unwrap();
}
