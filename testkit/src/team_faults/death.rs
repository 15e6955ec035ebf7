//! F5: the client is killed at any change of a file, also between the server's commit and the change of the session.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use super::Bench;
use super::check::check;
use super::client::Client;
use super::outcome::{Outcome, Skipped};
use super::role::sync_command;

/// What the client that is killed has to do.
pub(super) const SCENES: [&str; 3] = ["diverged", "behind", "new here"];

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let step = usize::try_from(bench.count(3, 1)).unwrap();
    for (index, scene) in SCENES.iter().enumerate() {
        let (mut n_deaths, mut survived) = (0, false);
        for at in (1 + index as u64 % 3..400).step_by(step) {
            let mut clients = staged(bench, scene);
            let mut child = sync_command(&bench.program, bench.cluster(), &clients[1], at);
            let status = child.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
            survived = status.success();
            n_deaths += u32::from(status.signal() == Some(9));
            let lock = clients[1].path("s1").with_extension("jsonl.lock");
            if let Ok(lock) = std::fs::File::open(lock) {
                // A lock that other tools respect counts for ten seconds more.
                lock.set_modified(std::time::SystemTime::now() - std::time::Duration::from_mins(1)).unwrap();
            }
            outcome.check(survived || status.signal() == Some(9), || format!("{scene}, call {at}: {status}"));
            check(&mut clients, &mut outcome);
            if !outcome.is_good() {
                outcome.problem(format!("this was {scene}, call {at}"));
                return Ok(outcome);
            }
            if survived {
                break;
            }
        }
        outcome.check(survived, || format!("{scene}: the client never survived"));
        outcome.check(n_deaths > 2, || format!("{scene}: only {n_deaths} deaths"));
        outcome.fact(format!("{scene}: {n_deaths} deaths"));
    }
    Ok(outcome)
}

/// Two clients; the second has something to do.
pub(super) fn staged(bench: &Bench, scene: &str) -> Vec<Client> {
    let mut clients = if scene == "new here" {
        let config = bench.member();
        let clients = vec![bench.client(&config), bench.client(&config)];
        clients[0].create("s1");
        clients
    } else {
        bench.clients(2, &["s1"])
    };
    for _ in 0..3 {
        clients[0].append("s1").unwrap();
    }
    clients[0].sync().unwrap();
    if scene == "diverged" {
        clients[1].append("s1").unwrap();
        clients[1].append("s1").unwrap();
    }
    clients
}
