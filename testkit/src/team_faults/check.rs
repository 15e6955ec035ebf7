//! What must hold in the end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use serde_json::Value;
use sessile::sync::remote::Server;

use super::client::{Client, Moved};
use super::outcome::Outcome;

/// How often all clients synchronize before nothing must move any more.
const ROUNDS: usize = 6;

/// Lets all clients synchronize until nothing moves, and compares everything.
pub(super) fn check(clients: &mut [Client], outcome: &mut Outcome) {
    outcome.n_acknowledged += clients.iter().map(Client::n_acknowledged).sum::<u64>();
    if !settle(clients) {
        outcome.diverged("the clients never came to rest");
    }
    compare(clients, outcome);
}

/// Synchronizes all clients until nothing moves.
pub(super) fn settle(clients: &mut [Client]) -> bool {
    (0..ROUNDS).any(|_| {
        let moved: Vec<Moved> = clients.iter_mut().map(Client::sync_surely).collect();
        moved.iter().all(|moved| *moved == Moved::default())
    })
}

/// Compares the replicas with the log, and the log with what was written.
pub(super) fn compare(clients: &[Client], outcome: &mut Outcome) {
    let ids: BTreeSet<&str> =
        clients.iter().flat_map(|client| &client.written).map(|line| line.session.as_str()).collect();
    for id in ids {
        let log = log_of(&clients[0], id);
        for client in clients {
            if client.lines(id) != log.iter().flat_map(|line| [line, b"\n".as_slice()].concat()).collect::<Vec<u8>>() {
                outcome.diverged(format!("{}'s replica of {id} is not the log", client.name));
            }
            match client.sessions().verify(client.path(id)) {
                Ok(report) if report.is_sound() => {}
                Ok(report) => outcome.problem(format!("verify finds {:?} in {id}", report.findings)),
                Err(error) => outcome.problem(format!("verify of {id}: {error}")),
            }
        }
        compare_history(clients, id, &log, outcome);
    }
}

fn compare_history(clients: &[Client], id: &str, log: &[Vec<u8>], outcome: &mut Outcome) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut ids = HashSet::new();
    for (place, line) in log.iter().enumerate() {
        let entry: Value = serde_json::from_slice(line).unwrap_or_default();
        if let Some(text) = entry["message"]["content"].as_str() {
            places.entry(text.to_owned()).or_default().push(place);
        }
        if let Some(entry) = entry["id"].as_str()
            && !ids.insert(entry.to_owned())
        {
            outcome.problem(format!("{id} has two entries {entry}"));
        }
    }
    for client in clients {
        let mut last = None;
        for line in client.written.iter().filter(|line| line.session == id) {
            let found = places.get(&line.text).map(Vec::as_slice).unwrap_or_default();
            match found {
                [] => {
                    outcome.n_lost += 1;
                    outcome.problem(format!("{id} lost {}", line.text));
                }
                [place] => {
                    outcome.check(last < Some(*place), || format!("{} is not in the order of its writer", line.text));
                    last = Some(*place);
                }
                more => {
                    outcome.n_duplicated += 1;
                    outcome.problem(format!("{id} has {} {} times", line.text, more.len()));
                }
            }
        }
    }
}

/// The lines of a log.
pub(super) fn log_of(client: &Client, id: &str) -> Vec<Vec<u8>> {
    let mut server = client.connect().unwrap();
    let head = server.head(None, id).unwrap().unwrap();
    let mut lines = Vec::new();
    let mut on_line = |line: sessile::sync::remote::ServerLine<'_>| {
        lines.push(line.bytes.to_vec());
        ControlFlow::Continue(())
    };
    server.read(head.no, head.position.epoch, 0, head.position.n_lines, &mut on_line).unwrap();
    lines
}
