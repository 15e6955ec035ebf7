//! A program that uses sessions of a remote through RPC.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::json;

use super::syncing::{append, lines, with_server};
use super::team::{done, member};
use super::*;

/// An RPC server and its only client.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Records that came before the answer that was waited for.
    events: Vec<Value>,
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Client {
    fn start(home: &Home, words: &[&str]) -> Self {
        let mut command = home.command(&[&["rpc"], words].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, events: Vec::new() }
    }

    fn record(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The data of the answer to a request, which must succeed.
    #[track_caller]
    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input, "{request}").unwrap();
        loop {
            let mut record = self.record();
            if record["type"] == "response" {
                assert_eq!(record["success"], true, "{request}: {record}");
                return record["data"].take();
            }
            self.events.push(record);
        }
    }

    /// The next entry that a subscription names.
    fn next_entry(&mut self) -> Value {
        loop {
            let record = if self.events.is_empty() { self.record() } else { self.events.remove(0) };
            if record["event"]["type"] == "entry_appended" {
                return record["event"].clone();
            }
        }
    }

    fn append(&mut self, text: &str) -> Value {
        let message = json!({"role":"user","content":text,"timestamp":1});
        self.ask(&json!({"type":"append_message","message":message}))
    }
}

#[test]
fn a_program_reads_follows_and_writes_a_session_of_a_colleague() {
    let server = with_server();
    let ada = &server.0;
    let path = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    done(ada, &["push", "--all"]);
    let bob = member(ada, "bob");
    done(ada, &["share", "s1", "--with", "bob", "--write"]);

    let mut rpc = Client::start(&bob, &["--remote", "local", "--session", "s1"]);
    let listed = rpc.ask(&json!({"type":"list_sessions","scope":"all"}));
    let row = &listed["sessions"][0];
    assert_eq!((row["id"].as_str(), row["member"].as_str()), (Some("s1"), Some("me")), "{listed}");
    for (member, n_found) in [("me", 1), ("eve", 0)] {
        let listed = rpc.ask(&json!({"type":"list_sessions","scope":"all","member":member}));
        assert_eq!(listed["sessions"].as_array().unwrap().len(), n_found, "{listed}");
        let found = rpc.ask(&json!({"type":"search","query":"question","scope":"all","member":member}));
        assert_eq!(!found["hits"].as_array().unwrap().is_empty(), n_found > 0, "{found}");
    }
    let state = rpc.ask(&json!({"type":"get_state"}));
    assert_eq!((state["sessionId"].as_str(), state["messageCount"].as_u64()), (Some("s1"), Some(3)), "{state}");
    let mirror = PathBuf::from(state["sessionFile"].as_str().unwrap());
    assert!(mirror.starts_with(bob.dir.path().join("SESSILE_STATE_DIR/remote")), "{state}");

    // What Ada writes arrives by itself.
    rpc.ask(&json!({"type":"subscribe","events":["entry_appended"]}));
    append(&path, &user("h", Some("d"), "from Ada"));
    done(ada, &["sync"]);
    let event = rpc.next_entry();
    assert_eq!((event["entry"]["id"].as_str(), event["own"].as_bool()), (Some("h"), Some(false)), "{event}");

    // What Bob writes is on the server before it is acknowledged.
    rpc.ask(&json!({"type":"switch_session","sessionPath":mirror}));
    let written = rpc.append("from Bob");
    assert_eq!(written["durable"], "server", "{written}");
    assert!(!lines(&path).contains("from Bob"));
    done(ada, &["sync", "--accept"]);
    assert_eq!(lines(&path), lines(&mirror));
    assert!(lines(&path).contains("from Bob"));

    // Without the server, it is acknowledged as what it is, and pushed later.
    done(ada, &["remote", "down"]);
    let written = rpc.append("offline");
    assert_eq!(written["durable"], "page-cache", "{written}");
    assert!(lines(&mirror).contains("offline"));
    drop(rpc);
    done(ada, &["remote", "up"]);
    done(&bob, &["sync"]);
    done(ada, &["sync", "--accept"]);
    assert_eq!(lines(&path), lines(&mirror));
    assert_eq!(lines(&path).matches("offline").count(), 1);
}

#[test]
fn an_entry_in_a_session_of_ones_own_is_on_the_server() {
    let server = with_server();
    let home = &server.0;
    let path = home.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    let mut rpc = Client::start(home, &["--remote", "local", "--session", path.to_str().unwrap()]);
    assert_eq!(rpc.append("mine")["durable"], "server");
    drop(rpc);
    let synced = home.run(&["sync", "--all", "--json"]).json();
    assert!(synced[0]["state"] == "equal" && synced[0].get("pushed").is_none(), "{synced}");
    // Without --remote, nothing is pushed.
    let mut rpc = Client::start(home, &["--session", path.to_str().unwrap()]);
    assert_eq!(rpc.append("later")["durable"], "page-cache");
}
