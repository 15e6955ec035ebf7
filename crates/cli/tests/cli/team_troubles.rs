//! A remote that is gone, hangs, or lets a member in no more.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Child;

use super::syncing::{lines, with_server};
use super::team::{done, member};
use super::*;

/// A program that runs until it is stopped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The first line that has something.
fn line_with(from: &mut impl BufRead, what: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(from.read_line(&mut line).unwrap(), 0, "there was no {what:?}");
        if line.contains(what) {
            return line;
        }
    }
}

/// Ada's session, which Bob has fetched.
fn fetched(ada: &Home) -> (Home, PathBuf) {
    ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    done(ada, &["push", "--all"]);
    let bob = member(ada, "bob");
    done(ada, &["share", "s1", "--with", "bob"]);
    let listed = bob.run(&["list", "--all", "--remote", "local", "--json"]).json();
    done(&bob, &["entries", "s1", "--remote", "local"]);
    (bob, listed[0]["path"].as_str().unwrap().into())
}

#[test]
fn a_follower_learns_that_it_may_not_read_any_more() {
    let server = with_server();
    let ada = &server.0;
    let (bob, mirror) = fetched(ada);
    let before = lines(&mirror);
    for (end, words) in [
        (["share", "s1", "--stop", "bob"].as_slice(), "does not share the session s1 with you any more"),
        (&["remote", "revoke", "bob"], "user bob"),
    ] {
        // Bob may read it, perhaps already.
        assert!(ada.run(&["share", "s1", "--with", "bob"]).code <= 1);
        let mut watch = bob.command(&["watch", "s1", "--remote", "local", "--jsonl", "--from-start"]);
        let mut watch = Running(watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let mut out = BufReader::new(watch.0.stdout.take().unwrap());
        line_with(&mut out, "\"id\":\"e\"");
        done(ada, end);
        let told = line_with(&mut BufReader::new(watch.0.stderr.take().unwrap()), "warning: local: ");
        assert!(told.contains(words), "{told}");
        assert_eq!(lines(&mirror), before);
    }
}

#[test]
fn a_remote_that_hangs_does_not_stop_anything() {
    let server = with_server();
    let ada = &server.0;
    let (bob, mirror) = fetched(ada);
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let streams: Vec<_> = silent.incoming().collect();
        drop(streams);
    });
    let config = bob.dir.path().join("SESSILE_CONFIG_DIR/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let there = text.split_once("@127.0.0.1:").unwrap().1.split_once('/').unwrap().0.to_owned();
    std::fs::write(&config, text.replace(&format!(":{there}/"), &format!(":{port}/"))).unwrap();

    let listed = bob.run(&["list", "--all", "--remote", "local", "--json"]);
    let rows: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!((rows[0]["id"].as_str(), rows[0]["member"].as_str()), (Some("s1"), Some("me")), "{rows}");
    assert!(listed.err.contains("no answer within 5 seconds; using what is known of local"), "{}", listed.err);
    let entries = bob.run(&["entries", "s1", "--remote", "local", "--jsonl"]);
    assert_eq!((entries.code, entries.out.lines().count()), (0, 5), "{}", entries.err);
    assert_eq!(bob.run(&["search", "question", "--all", "--remote", "local"]).code, 0);

    let mut rpc = bob.command(&["rpc", "--remote", "local", "--session", "s1"]);
    let mut rpc = Running(rpc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let message = r#"{"type":"append_message","message":{"role":"user","content":"offline","timestamp":1}}"#;
    writeln!(rpc.0.stdin.as_mut().unwrap(), "{message}").unwrap();
    let answer = line_with(&mut BufReader::new(rpc.0.stdout.take().unwrap()), "\"response\"");
    assert!(answer.contains("\"durable\":\"page-cache\""), "{answer}");
    assert!(lines(&mirror).contains("offline"));
    line_with(&mut BufReader::new(rpc.0.stderr.take().unwrap()), "using what is known of local");

    let mut serve = bob.command(&["serve", "--json", "--remote", "local"]);
    let mut serve = Running(serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    line_with(&mut BufReader::new(serve.0.stdout.take().unwrap()), "/login?token=");
}

#[test]
fn the_status_is_json_too() {
    let server = with_server();
    let home = &server.0;
    let path = home.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    done(home, &["sync", "--all"]);
    done(home, &["append", path.to_str().unwrap(), "pushed at once", "--remote", "local"]);
    // It is equal, so there is nothing to say about it.
    let synced = home.run(&["sync"]);
    assert_eq!((synced.out.as_str(), synced.err.as_str()), ("", "local: 0 sessions synchronized, 1 unchanged\n"));
    let status = home.run(&["remote", "status", "--json"]).json();
    assert_eq!((status["name"].as_str(), status["member"].as_str()), (Some("local"), Some("me")), "{status}");
    assert_eq!((status["equal"].as_u64(), status["different"].as_array().unwrap().len()), (Some(1), 0), "{status}");
    assert!(status["admin"] == true && status["version"].is_u64() && status["store"].as_str().unwrap().len() == 36);
    super::syncing::append(&path, &user("h", Some("d"), "not yet"));
    let status = home.run(&["remote", "status", "--json"]);
    let different: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!((status.code, different["different"][0]["state"].as_str()), (1, Some("ahead")), "{different}");
}
