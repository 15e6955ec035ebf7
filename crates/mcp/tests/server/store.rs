//! A store with fixed ids and times, and a client that talks to a server over it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sessile::Sessions;
use sessile::testing::IsolatedSystem;
use sessile_mcp::{Options, Server};
use tempfile::TempDir;

/// The working directory of most sessions. It does not exist, so that answers are the same everywhere.
pub(crate) const PROJECT: &str = "/proj";

/// A store of files in a home of its own.
pub(crate) struct Store {
    home: TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn sessions(&self) -> Sessions {
        Sessions::new(IsolatedSystem::in_home(self.home.path()))
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.sessions(), PROJECT)
    }

    pub(crate) fn server(&self) -> Server {
        Server::new(self.options())
    }

    /// The directory of a working directory's sessions.
    pub(crate) fn directory(&self, cwd: &str) -> PathBuf {
        let name = format!("--{}--", cwd.trim_start_matches('/').replace('/', "-"));
        self.home.path().join(".pi/agent/sessions").join(name)
    }

    /// Writes a session that was last written an hour ago.
    pub(crate) fn write(&self, id: &str, cwd: &str, entries: &[Value]) -> PathBuf {
        let directory = self.directory(cwd);
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": time(0), "cwd": cwd});
        let lines = std::iter::once(header).chain(entries.iter().cloned());
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).unwrap();
        age(&path);
        path
    }

    /// All bytes of all session files, to see that nothing wrote to them.
    pub(crate) fn contents(&self) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
        let mut found = Vec::new();
        let mut open = vec![self.home.path().join(".pi")];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let modified = path.metadata().unwrap().modified().unwrap();
                    found.push((path.clone(), std::fs::read(&path).unwrap(), modified));
                }
            }
        }
        found.sort();
        found
    }
}

/// Sets the time of a file to an hour ago, so that its session does not count as live.
pub(crate) fn age(path: &Path) {
    let then = SystemTime::now() - Duration::from_hours(1);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

/// A time, by minutes.
pub(crate) fn time(minute: usize) -> String {
    format!("2026-01-{:02}T{:02}:{:02}:00.000Z", 1 + minute / 1440, minute / 60 % 24, minute % 60)
}

/// Entries in a row, each the child of the one before.
#[derive(Default)]
pub(crate) struct Entries(pub(crate) Vec<Value>);

impl Entries {
    fn add(mut self, mut entry: Value) -> Self {
        let number = self.0.len() + 1;
        entry["id"] = json!(format!("{number:08x}"));
        entry["parentId"] = self.0.last().map_or(Value::Null, |last| last["id"].clone());
        entry["timestamp"] = json!(time(number));
        self.0.push(entry);
        self
    }

    fn message(self, message: Value) -> Self {
        self.add(json!({"type": "message", "message": message}))
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.message(json!({"role": "user", "content": text}))
    }

    pub(crate) fn answer(self, text: &str) -> Self {
        self.answers(json!([{"type": "text", "text": text}]))
    }

    pub(crate) fn answers(self, content: Value) -> Self {
        let usage = json!({"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120,
            "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}});
        self.message(json!({"role": "assistant", "content": content, "provider": "acme", "model": "acme-1",
            "usage": usage, "stopReason": "stop"}))
    }

    pub(crate) fn call(self, tool: &str, arguments: Value) -> Self {
        let id = format!("call{}", self.0.len());
        self.answers(json!([{"type": "toolCall", "id": id, "name": tool, "arguments": arguments}]))
    }

    /// The result of the call before.
    pub(crate) fn result(self, text: &str) -> Self {
        let id = format!("call{}", self.0.len() - 1);
        let tool = self.0.last().unwrap()["message"]["content"][0]["name"].clone();
        self.message(json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": false,
            "content": [{"type": "text", "text": text}]}))
    }

    pub(crate) fn name(self, name: &str) -> Self {
        self.add(json!({"type": "session_info", "name": name}))
    }

    pub(crate) fn label(self, target: usize, label: &str) -> Self {
        self.add(json!({"type": "label", "targetId": format!("{target:08x}"), "label": label}))
    }

    pub(crate) fn compaction(self, summary: &str, first_kept: usize) -> Self {
        let kept = format!("{first_kept:08x}");
        self.add(json!({"type": "compaction", "summary": summary, "firstKeptEntryId": kept, "tokensBefore": 5000}))
    }

    pub(crate) fn branch_summary(self, summary: &str) -> Self {
        self.add(json!({"type": "branch_summary", "fromId": "root", "summary": summary}))
    }

    pub(crate) fn custom(self, text: &str) -> Self {
        self.add(json!({"type": "custom_message", "customType": text, "content": text, "display": true}))
    }

    pub(crate) fn bash(self, command: &str, output: &str) -> Self {
        self.message(json!({"role": "bashExecution", "command": command, "output": output, "exitCode": 0,
            "cancelled": false, "truncated": false}))
    }
}

/// A small store: three sessions of the project, one of another directory.
pub(crate) fn small() -> Store {
    let store = Store::new();
    let tides = Entries::default()
        .user("Why is the tide table early?")
        .call("read", json!({"path": "src/tide.rs"}))
        .result("fn high_water() -> i64 { 42 }")
        .call("edit", json!({"path": "src/tide.rs", "oldText": "42", "newText": "  43 + offset()"}))
        .result("ok")
        .answer("The offset of the time zone was missing.")
        .compaction("The user asked about tides; the offset was missing.", 6)
        .user("Thanks. Add a test.")
        .answer("Done: `tide_is_on_time`.")
        .name("Tide tables")
        .label(6, "cause");
    store.write("0aaa0000-0000-4000-8000-000000000001", PROJECT, &tides.0);
    let build = Entries::default()
        .user("The build fails with error E0599 in tide.rs")
        .call("bash", json!({"command": "cargo build"}))
        .result("error[E0599]: no method named `early` found")
        .answer("The method is gone; use `offset`.")
        .bash("git status", "clean");
    store.write("0bbb0000-0000-4000-8000-000000000002", PROJECT, &build.0);
    store.write("0ccc0000-0000-4000-8000-000000000003", PROJECT, &Entries::default().user("Hello").answer("Hi").0);
    let other = Entries::default().user("A tide in another project").answer("Another tide.");
    store.write("0ddd0000-0000-4000-8000-000000000004", "/other", &other.0);
    store
}

/// Collects what a server writes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Sends bytes to a server, and returns the lines that it answers.
pub(crate) fn talk(server: &Server, bytes: &[u8]) -> Vec<String> {
    let written = Written::default();
    server.serve(bytes, written.clone());
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

/// Sends messages, and returns the answers.
pub(crate) fn exchange(server: &Server, messages: &[Value]) -> Vec<Value> {
    let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
    talk(server, text.as_bytes()).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A request of the stateless revision.
pub(crate) fn stateless(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Calls a tool, and returns the result.
pub(crate) fn call(server: &Server, tool: &str, arguments: &Value) -> Value {
    let answers = exchange(server, &[stateless(1, "tools/call", json!({"name": tool, "arguments": arguments}))]);
    let [answer] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// The structured answer of a tool that must succeed.
#[track_caller]
pub(crate) fn answer(server: &Server, tool: &str, arguments: &Value) -> Value {
    let result = call(server, tool, arguments);
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    result["structuredContent"].clone()
}

/// The text of an answer.
#[track_caller]
pub(crate) fn text(server: &Server, tool: &str, arguments: &Value) -> String {
    let result = call(server, tool, arguments);
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The text of the error of a tool that must fail.
#[track_caller]
pub(crate) fn error(server: &Server, tool: &str, arguments: &Value) -> String {
    let result = call(server, tool, arguments);
    assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// All rows of a tool, page by page.
#[track_caller]
pub(crate) fn all_rows(server: &Server, tool: &str, arguments: &Value, key: &str) -> Vec<Value> {
    let (mut rows, mut arguments) = (Vec::new(), arguments.clone());
    loop {
        let page = answer(server, tool, &arguments);
        rows.extend(page[key].as_array().unwrap().iter().cloned());
        let Some(next) = page.get("nextCursor") else {
            return rows;
        };
        assert_eq!(page["truncated"], true);
        arguments["cursor"] = next.clone();
        assert!(rows.len() < 100_000, "the pages do not end");
    }
}

/// Numbers that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }
}
