//! The documents are generated from the protocol, and the transcripts in docs/rpc.md are real.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::{Environment, SessionId, Sessions};
use sessile_rpc::{Engine, Options, Start, json_schema, reference_tables, typescript};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Compares a file with its expected content, or updates it if requested.
fn check(name: &str, generated: &str) {
    if std::env::var_os("SESSILE_UPDATE_DOCS").is_some() {
        std::fs::write(file(name), generated).unwrap();
    }
    let kept = std::fs::read_to_string(file(name)).unwrap_or_default();
    assert!(kept == generated, "{name} is out of date; run `cargo xtask docs`");
}

#[test]
fn the_schema_is_current() {
    let schema = json_schema();
    let parsed: serde_json::Value = serde_json::from_str(&schema).unwrap();
    // Every referenced definition exists.
    for reference in schema.split("#/$defs/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(parsed["$defs"].get(name).is_some(), "{name} is not documented");
    }
    check("docs/rpc.schema.json", &schema);
}

#[test]
fn the_declarations_are_current() {
    check("clients/js/sessile-rpc.d.ts", &typescript());
}

#[test]
fn the_client_in_javascript_knows_every_command() {
    let client = std::fs::read_to_string(file("clients/js/sessile-rpc.js")).unwrap();
    let list = client.split_once("export const COMMANDS = [").unwrap().1.split_once(']').unwrap().0;
    let listed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    let known: Vec<&str> = sessile_rpc::catalogue::COMMANDS
        .iter()
        .filter(|command| command.origin != sessile_rpc::catalogue::Origin::Agent)
        .map(|command| command.name)
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn the_page_is_current() {
    let page = std::fs::read_to_string(file("docs/rpc.md")).unwrap();
    let (before, rest) = page.split_once("<!-- reference -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of reference -->").unwrap();
    let before = with_answers(before);
    check(
        "docs/rpc.md",
        &format!("{before}<!-- reference -->\n{}<!-- end of reference -->{after}", reference_tables()),
    );
}

/// An environment in which the clock advances a second per call and ids count up.
struct FixedEnvironment {
    now_ms: AtomicI64,
    next: AtomicU32,
    home: PathBuf,
}

impl Environment for FixedEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_ms.fetch_add(1000, Ordering::Relaxed))
    }

    fn entry_uuid(&self) -> String {
        format!("{:08x}-0000-4000-8000-000000000000", self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn session_uuid(&self) -> SessionId {
        "019a0000-0000-7000-8000-000000000000".into()
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn current_dir(&self) -> PathBuf {
        self.home.join("tidepool")
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}

/// Returns the page with the answers of a real server to the requests in its transcripts.
fn with_answers(page: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().canonicalize().unwrap();
    let environment =
        FixedEnvironment { now_ms: AtomicI64::new(1_763_164_800_000), next: AtomicU32::new(1), home: home.clone() };
    let mut options = Options::new(Sessions::new(environment));
    // A fixed path, because its length affects every offset.
    options.cwd = PathBuf::from("/home/u/tidepool");
    options.sessions = options.sessions.with_session_dir(home.join("sessions"));
    let engine = Engine::start(options, &Start::New, None).unwrap();
    let (mut client, server) = UnixStream::pair().unwrap();
    thread::spawn(move || Arc::clone(&engine).serve(server.try_clone().unwrap(), server));
    let mut text = String::new();
    let mut in_transcript = false;
    let lines: Vec<&str> = page.lines().collect();
    for (index, line) in lines.iter().copied().enumerate() {
        if line.starts_with("```") {
            in_transcript = line == "```transcript";
        }
        if in_transcript && line.starts_with('←') {
            continue;
        }
        text.push_str(line);
        text.push('\n');
        if let Some(request) = line.strip_prefix("→ ").filter(|_| in_transcript) {
            client.write_all(format!("{request}\n").as_bytes()).unwrap();
            let n_shown = lines[index + 1..].iter().take_while(|line| line.starts_with('←')).count();
            let mut records = answers(&mut client, n_shown);
            // Events of a subscription arrive at their own pace.
            records.sort_by_key(|record| record.starts_with("{\"type\":\"event\""));
            for record in records {
                text.extend(["← ", &record.replace(home.to_str().unwrap(), "/home/u"), "\n"]);
            }
        }
    }
    text
}

/// Reads this many records; when updating the page, all that arrive until the stream is quiet.
fn answers(client: &mut UnixStream, n_shown: usize) -> Vec<String> {
    let is_update = std::env::var_os("SESSILE_UPDATE_DOCS").is_some();
    client.set_read_timeout(Some(Duration::from_millis(if is_update { 700 } else { 30_000 }))).unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let n_records = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count() - 1;
    while is_update || n_records(&bytes) < n_shown {
        let Ok(n_read @ 1..) = client.read(&mut chunk) else { break };
        bytes.extend_from_slice(&chunk[..n_read]);
    }
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}
