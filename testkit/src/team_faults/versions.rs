//! F17: a store of the next and of the previous version.

use sessile::SessionError;
use sessile::sync::remote::RemoteError;
use sessile::sync::remote::postgres::SCHEMA_VERSION;

use super::Bench;
use super::check::check;
use super::client::Client;
use super::outcome::{Outcome, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let cluster = bench.cluster();
    let config = cluster.database("versions");
    let mut clients: Vec<Client> = (0..2).map(|_| bench.client(&config)).collect();
    clients[0].create("s1");
    for client in &mut clients {
        client.sync().unwrap();
    }
    let set = |version: u32| cluster.sql_in("versions", &format!("update sessile.store set version = {version}"));
    for (version, words) in [(SCHEMA_VERSION + 1, "update Sessile"), (SCHEMA_VERSION - 1, "sessile remote migrate")] {
        set(version);
        for client in &mut clients {
            client.log_in(config.clone());
            client.append("s1").unwrap();
            let before = client.lines("s1");
            let refused = client.sync();
            let is_typed = matches!(
                refused,
                Err(SessionError::Remote(RemoteError::SchemaNewer { .. } | RemoteError::SchemaOlder { .. }))
            );
            let sentence = refused.err().map(|error| error.to_string()).unwrap_or_default();
            outcome.check(is_typed && sentence.contains(words), || format!("version {version}: {sentence:?}"));
            outcome.check(client.lines("s1") == before, || "the file changed".to_owned());
            let listed = client.sessions().list_all().unwrap().len();
            outcome.check(listed == 1, || format!("{listed} sessions are listed"));
        }
    }
    set(SCHEMA_VERSION);
    outcome.fact("2 versions refused");
    check(&mut clients, &mut outcome);
    Ok(outcome)
}
