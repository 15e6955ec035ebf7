//! F15: a secret is scrubbed here, while a laptop that is offline has it. The deletions are in `buried`.

use std::borrow::Cow;
use std::path::Path;

use sessile::scrub::{ScrubOptions, Scrubber};

use super::Bench;
use super::check::check;
use super::client::{Client, entry};
use super::outcome::{Outcome, Skipped};

const SECRET: &str = "zqxsecret1234";

/// Replaces the secret.
struct Word;

impl Scrubber for Word {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        Ok(Cow::Owned(String::from_utf8_lossy(line).replace(SECRET, "[gone]").into_bytes()))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        Cow::Owned(text.replace(SECRET, "[gone]"))
    }
}

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let n_rounds = bench.count(3, 50);
    for round in 0..n_rounds {
        let mut random = bench.random(1500 + u64::from(round));
        let config = bench.member();
        let mut clients: Vec<Client> = (0..3).map(|_| bench.client(&config)).collect();
        clients[0].create("s1");
        let path = clients[0].path("s1");
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str(&entry("third", "second", &format!("the key is {SECRET}")));
        text.push('\n');
        std::fs::write(&path, text).unwrap();
        for client in &mut clients {
            client.sync().unwrap();
        }
        // The laptop is offline and goes on; another machine pushes in the middle.
        (0..random.below(4)).for_each(|_| clients[1].append("s1").unwrap());
        clients[0].sessions().scrub(&path, ScrubOptions::default(), &mut Word).unwrap();
        (0..random.below(3)).for_each(|_| clients[2].append("s1").unwrap());
        if random.one_in(2) {
            clients[2].sync().unwrap();
        }
        (0..=random.below(3)).for_each(|_| clients[0].append("s1").unwrap());
        clients[0].sync().unwrap();
        outcome.check(n_rows(bench) == "0", || format!("round {round}: the server has the secret after the scrub"));
        clients[1].sync().unwrap();
        check(&mut clients, &mut outcome);
        outcome.check(n_rows(bench) == "0", || format!("round {round}: the secret came back to the server"));
        for client in &clients {
            for file in files_with_secret(&client.home) {
                outcome.problem(format!("round {round}: the secret is in {file}"));
            }
        }
    }
    outcome.fact(format!("{n_rounds} scrubs"));
    super::buried::run(bench, &mut outcome);
    Ok(outcome)
}

/// The number of rows of the server that have the secret.
fn n_rows(bench: &Bench) -> String {
    bench.cluster().sql(&format!(
        "select (select count(*) from sessile.line where position('{SECRET}'::bytea in data) > 0) \
         + (select count(*) from sessile.session where position('{SECRET}'::bytea in header || coalesce(summary, '')) > 0)"
    ))
}

fn files_with_secret(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with_secret(&path));
        } else if std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(SECRET)) {
            found.push(path.display().to_string());
        }
    }
    found
}
