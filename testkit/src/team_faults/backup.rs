//! F4: a backup of last week is restored, and all clients come back.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Bench;
use super::check::{check, log_of};
use super::outcome::{Outcome, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let cluster = bench.cluster();
    let mut clients = bench.clients(3, &["s1", "s2"]);
    let (data, backup) = (cluster.dir.join("data"), cluster.dir.join("backup"));
    cluster.down();
    copy(&data, &backup);
    cluster.up();
    let mut random = bench.random(4);
    // After the backup, there is also a session that it does not have.
    clients[0].create("s3");
    for _ in 0..bench.count(20, 500) {
        let client = &mut clients[random.below(2)];
        let id = random.pick(&["s1", "s1", "s3"]);
        if client.path(id).exists() {
            client.append(id).unwrap();
        }
        client.sync_surely();
    }
    for client in &mut clients {
        client.sync_surely();
    }
    let n_before = log_of(&clients[0], "s1").len() + log_of(&clients[0], "s3").len();
    cluster.down();
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&backup, &data).unwrap();
    cluster.up();
    // The backup is a week old.
    cluster.sql("update sessile.session set seen_at = seen_at - interval '7 days'");
    let n_after = log_of(&clients[0], "s1").len();
    outcome.check(n_after < n_before, || "the backup has everything".to_owned());
    // A client that has written meanwhile, and then those that only come back.
    clients[2].append("s1").unwrap();
    outcome.fact(format!("the server forgot {} lines and a session", n_before - n_after));
    check(&mut clients, &mut outcome);
    Ok(outcome)
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}
