//! F18: local commands make no connection.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Bench;
use super::outcome::{Outcome, Skipped};

/// Commands that work without a remote. Each must succeed.
const COMMANDS: [&[&str]; 13] = [
    &["list", "--all"],
    &["list", "--all", "--json"],
    &["info", "s1"],
    &["show", "s1"],
    &["tree", "s1"],
    &["context", "s1"],
    &["search", "--all", "hello"],
    &["stats", "--all"],
    &["verify", "--all"],
    &["name", "s1", "a name"],
    &["fork", "s1"],
    &["delete", "s2", "--yes", "--force"],
    &["undo"],
];

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let n_seen = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&n_seen);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
            drop(connection);
        }
    });
    let client = bench.client(&bench.member());
    client.create("s1");
    client.create("s2");
    let config = client.home.join("config");
    std::fs::create_dir_all(&config).unwrap();
    let remote = format!("[remote.work]\nurl = \"postgres://ada@127.0.0.1:{port}/sessile\"\n");
    std::fs::write(config.join("config.toml"), remote).unwrap();
    let run = |args: &[&str]| {
        Command::new(&bench.program)
            .args(["part", "sessile"])
            .args(args)
            .env("HOME", &client.home)
            .env("SESSILE_CONFIG_DIR", &config)
            .env("SESSILE_STATE_DIR", client.home.join("state"))
            .env("SESSILE_CACHE_DIR", client.home.join("cache"))
            .current_dir(&client.home)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for args in COMMANDS {
        let output = run(args);
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        outcome.check(output.status.success(), || format!("{args:?}: {} {words}", output.status));
        let n_seen = n_seen.swap(0, Ordering::SeqCst);
        outcome.check(n_seen == 0, || format!("{args:?} made {n_seen} connections"));
    }
    // The same socket sees a command that uses the remote.
    let output = run(&["sync"]);
    outcome.check(!output.status.success(), || "sync worked without a server".to_owned());
    outcome.check(n_seen.load(Ordering::SeqCst) > 0, || "the socket sees nothing".to_owned());
    outcome.fact(format!("{} commands, 0 connections", COMMANDS.len()));
    Ok(outcome)
}
