//! The server as a process: odd input of any size, clients that do not read, signals, sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sessile_testkit::rpc::Peer;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sessile-under-test");

fn peer(args: &[&str]) -> (TempDir, Peer) {
    let home = tempfile::tempdir().unwrap();
    let peer = Peer::ours(PROGRAM, home.path(), args);
    (home, peer)
}

/// Returns the peak memory of a process, in KiB.
fn peak_memory(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn no_input_ends_the_server() {
    let (_home, mut peer) = peer(&["--no-session"]);
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mut records: Vec<Vec<u8>> = vec![
        b"null".to_vec(),
        b"".to_vec(),
        b"\0\0".to_vec(),
        b"\xff\xfe{}".to_vec(),
        b"{\"type\":\"\xc3\x28\"}".to_vec(),
        b"{\"type\":{\"type\":1}}".to_vec(),
        deep(1_000_000).into_bytes(),
        "[".repeat(1_000_000).into_bytes(),
        format!("{{\"type\":\"get_state\",\"sessionPath\":{}}}", deep(100_000)).into_bytes(),
        b"{\"type\":\"fork\",\"entryId\":\"\\ud800\"}".to_vec(),
        b"{\"type\":\"append_message\",\"message\":{}}".to_vec(),
        b"{\"type\":\"get_entries\",\"since\":{}}".to_vec(),
    ];
    records.push(vec![b'x'; 100 << 20]);
    for mut record in records {
        record.push(b'\n');
        let answered = peer.ask_raw(&record);
        assert_eq!(answered.response["success"], false, "{:.100}", String::from_utf8_lossy(&record));
        assert!(answered.response["code"].is_string());
    }
    let mut deep_id = format!("{{\"id\":{},\"type\":\"abort\"}}", deep(50_000)).into_bytes();
    deep_id.push(b'\n');
    peer.send(&deep_id);
    // Our test's parser cannot read an answer nested this deeply, so only the next one is checked.
    let state = peer.ask_after_skip(&json!({"id":"last","type":"get_state"}));
    assert_eq!(state["id"], "last");
    assert!(peak_memory(peer.id()) < 200 << 10, "{} KiB", peak_memory(peer.id()));
    assert_eq!(peer.finish(), Some(0));
}

#[test]
fn a_last_line_without_line_feed_is_a_record() {
    let home = tempfile::tempdir().unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["rpc", "--no-session"])
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\":1,\"type\":\"abort\"}\n{\"id\":2,\"type\":\"abort\"}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_client_that_never_reads_costs_no_memory() {
    let (home, mut peer) = peer(&[]);
    let message =
        json!({"type":"append_message","message":{"role":"user","content":"x".repeat(100_000),"timestamp":1}});
    for _ in 0..20 {
        peer.data(&message);
    }
    let before = peak_memory(peer.id());
    // Ten thousand answers of 2 MB each: the server stops reading long before it has sent them all.
    let mut input = peer.take_input();
    let writing = std::thread::spawn(move || {
        for _ in 0..10_000 {
            if input.write_all(b"{\"type\":\"get_messages\"}\n").is_err() {
                break;
            }
        }
    });
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let after = peak_memory(peer.id());
    assert!(after < before + (64 << 10), "{before} KiB, then {after} KiB");
    drop(peer);
    writing.join().unwrap();
    drop(home);
}

#[test]
fn signals_end_it_as_they_end_pi() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let (_home, mut peer) = peer(&["--no-session"]);
        peer.data(&json!({"type":"get_state"}));
        let sent = Command::new("kill").args([&format!("-{signal}"), &peer.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(peer.wait().code(), Some(code), "SIG{signal}");
    }
}

/// A server that listens on a socket.
struct Listening {
    child: Child,
    home: TempDir,
}

impl Listening {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let child = Self::child(home.path());
        Self { child, home }
    }

    /// Starts a server and waits until it accepts clients.
    fn child(home: &Path) -> Child {
        let mut child = Command::new(PROGRAM)
            .args(["rpc", "--listen", "s.sock"])
            .env("HOME", home)
            .current_dir(home)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut output).unwrap();
        let output: Value = serde_json::from_str(&output).unwrap();
        assert_eq!(output, json!({"type":"listening","socket":home.join("s.sock")}));
        child
    }

    fn path(&self) -> std::path::PathBuf {
        self.home.path().join("s.sock")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ask(stream: &mut UnixStream, request: &Value) -> Value {
    stream.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).unwrap();
        if byte[0] == b'\n' {
            let record: Value = serde_json::from_slice(&bytes).unwrap();
            if record["type"] == "response" {
                return record;
            }
            bytes.clear();
        } else {
            bytes.push(byte[0]);
        }
    }
}

#[test]
fn two_clients_at_one_socket_see_each_other() {
    let mut listening = Listening::start();
    let found = std::fs::symlink_metadata(listening.path()).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.mode() & 0o777, 0o600);
    let mut one = UnixStream::connect(listening.path()).unwrap();
    let mut other = UnixStream::connect(listening.path()).unwrap();
    let message = |text: &str| json!({"type":"append_message","message":{"role":"user","content":text,"timestamp":1}});
    for place in 0..10 {
        ask(&mut one, &message(&format!("one {place}")));
        ask(&mut other, &message(&format!("other {place}")));
    }
    for client in [&mut one, &mut other] {
        assert_eq!(ask(client, &json!({"type":"get_messages"}))["data"]["messages"].as_array().unwrap().len(), 20);
    }
    // One client changes its session, the other stays.
    ask(&mut one, &json!({"type":"new_session"}));
    assert_eq!(ask(&mut one, &json!({"type":"get_state"}))["data"]["messageCount"], 0);
    assert_eq!(ask(&mut other, &json!({"type":"get_state"}))["data"]["messageCount"], 20);
    // A second server does not replace a running one.
    let second = Command::new(PROGRAM)
        .args(["rpc", "--listen"])
        .arg(listening.path())
        .env("HOME", listening.home.path())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(second.code(), Some(3));
    let id = listening.child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert_eq!(listening.child.wait().unwrap().code(), Some(143));
    assert!(!listening.path().exists());
}

#[test]
fn a_client_that_never_reads_does_not_block_other_disconnects() {
    let mut listening = Listening::start();
    let mut stuck = UnixStream::connect(listening.path()).unwrap();
    let mut other = UnixStream::connect(listening.path()).unwrap();
    ask(&mut stuck, &json!({"type":"subscribe"}));
    let long = json!({"type":"append_message","message":{"role":"user","content":"x".repeat(100_000),"timestamp":1}});
    for _ in 0..50 {
        ask(&mut other, &long);
    }
    // By now the thread that writes to the first client waits for it; no other thread does.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ask(&mut other, &json!({"type":"new_session"}))["data"]["cancelled"], false);
    let id = listening.child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert_eq!(listening.child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_stale_socket_is_replaced() {
    let mut listening = Listening::start();
    listening.child.kill().unwrap();
    listening.child.wait().unwrap();
    assert!(listening.path().exists());
    let home = listening.home.path();
    listening.child = Listening::child(home);
    UnixStream::connect(listening.path()).unwrap();
    std::fs::write(home.join("file"), "x").unwrap();
    let refused = Command::new(PROGRAM)
        .args(["rpc", "--listen", "file"])
        .env("HOME", home)
        .current_dir(home)
        .stderr(Stdio::null())
        .status();
    assert_eq!(refused.unwrap().code(), Some(3));
    assert_eq!(std::fs::read_to_string(home.join("file")).unwrap(), "x");
}
