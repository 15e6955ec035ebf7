//! F8: two laptops go on from the same leaf, offline, with the genuine pi where it is installed.

use sessile::EntryId;

use super::Bench;
use super::check::check;
use super::client::{Client, Written};
use super::outcome::{Outcome, Skipped};
use crate::oracle::{Oracle, quoted};
use crate::{call, static_call};

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let n_entries = bench.count(100, 1000);
    let has_pi = std::env::var_os("SESSILE_ORACLE_DIR").is_some();
    let mut clients = bench.clients(2, &["s1"]);
    for (index, client) in clients.iter_mut().enumerate() {
        if has_pi {
            write_with_pi(client, n_entries, index);
        } else {
            (0..n_entries).for_each(|_| client.append("s1").unwrap());
        }
    }
    let leaves: Vec<EntryId> = clients.iter().map(leaf).collect();
    let before: Vec<Vec<String>> = clients.iter().zip(&leaves).map(|(client, leaf)| context(client, leaf)).collect();
    check(&mut clients, &mut outcome);
    for client in &clients {
        for (leaf, before) in leaves.iter().zip(&before) {
            outcome.check(context(client, leaf) == *before, || format!("the context at {leaf} differs"));
        }
    }
    let both = if has_pi { "pi wrote" } else { "pi is not installed, so Sessile wrote" };
    outcome.fact(format!("{both} {n_entries} entries on each"));
    outcome.check(before[0].len() == n_entries as usize + 2, || format!("a context of {}", before[0].len()));
    Ok(outcome)
}

fn write_with_pi(client: &mut Client, n_entries: u32, index: usize) {
    let mut pi = Oracle::start(&client.home);
    let path = quoted(&client.path("s1").to_string_lossy());
    let mut requests = vec![
        format!(r#"{{"cmd":"reset","clock":{},"idSeed":"{}"}}"#, client.now, 77 + index),
        static_call("open", &[&path]),
    ];
    for _ in 0..n_entries {
        let text = format!("{}-{}", client.name, client.written.len());
        // pi writes nothing before an assistant has answered.
        let message = format!(r#"{{"role":"assistant","content":"{text}","timestamp":1}}"#);
        requests.push(call("appendMessage", &[&message]));
        client.written.push(Written { session: "s1".to_owned(), text, is_acknowledged: false });
    }
    for answer in pi.ask_all(&requests) {
        assert_eq!(answer.error(), None, "pi refused");
    }
}

fn leaf(client: &Client) -> EntryId {
    client.sessions().read_only().open(client.path("s1")).unwrap().last_id().unwrap()
}

/// The messages of the context at an entry.
fn context(client: &Client, leaf: &EntryId) -> Vec<String> {
    let mut session = client.sessions().read_only().open(client.path("s1")).unwrap();
    session.branch(leaf.clone()).unwrap();
    let messages = session.build_session_context().unwrap().messages;
    messages.iter().map(|message| message.to_text().into_owned()).collect()
}
