//! Programs that speak JSON lines: pi's RPC mode and ours, side by side.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::oracle::{DEADLINE, Lines, NoLine, node, node_command, oracle_dir};

/// A program that speaks JSON lines, in its own home.
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    /// Its home, for files of the test.
    pub home: PathBuf,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The events before the response.
    pub events: Vec<Value>,
    /// The response.
    pub response: Value,
}

impl Peer {
    /// Starts pi with these arguments.
    pub fn pi(home: &Path, args: &[&str]) -> Self {
        Self::pi_in(&home.join("proj"), home, args)
    }

    /// Starts pi in a directory with these arguments.
    pub fn pi_in(directory: &Path, home: &Path, args: &[&str]) -> Self {
        let mut command = node_command();
        command.arg(oracle_dir().join("pi/dist/bundle/cli.js")).args(["--mode", "rpc", "--offline"]).args(args);
        Self::start(command, directory, home)
    }

    /// Starts our program with these arguments.
    pub fn ours(program: &str, home: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(["--mode", "rpc", "--context-window", "200000", "--provider", "mock", "--model", "mock-1"])
            .args(args);
        Self::start(command, &home.join("proj"), home)
    }

    fn start(mut command: Command, directory: &Path, home: &Path) -> Self {
        fs::create_dir_all(directory).unwrap();
        let mut child = command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("TZ", "UTC")
            .env("PI_OFFLINE", "1")
            .env("PI_SKIP_VERSION_CHECK", "1")
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = Lines::of(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, output, home: home.to_path_buf() }
    }

    /// Sends raw bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush())
    }

    /// Returns the next record; `None` at the end.
    pub fn record(&mut self) -> Option<Value> {
        Some(serde_json::from_slice(&self.line()?).unwrap())
    }

    /// Returns the next line; `None` at the end.
    fn line(&mut self) -> Option<Vec<u8>> {
        match self.output.next(DEADLINE) {
            Ok(line) => Some(line),
            Err(NoLine::Ended) => None,
            Err(NoLine::Late) => panic!("no record within {DEADLINE:?}"),
        }
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, request: &Value) -> Exchange {
        let mut text = request.to_string();
        text.push('\n');
        self.ask_raw(text.as_bytes())
    }

    /// Sends a raw record and waits for the next answer.
    pub fn ask_raw(&mut self, record: &[u8]) -> Exchange {
        self.send(record);
        self.answer().unwrap_or_else(|| panic!("ended at {}", String::from_utf8_lossy(record)))
    }

    /// Sends a request and waits for its answer; `None` if the program has ended.
    pub fn try_ask(&mut self, request: &Value) -> Option<Exchange> {
        self.try_send(format!("{request}\n").as_bytes()).ok()?;
        self.answer()
    }

    /// Returns the next answer; `None` at the end.
    fn answer(&mut self) -> Option<Exchange> {
        let mut events = Vec::new();
        loop {
            let record = self.record()?;
            if record["type"] == "response" {
                return Some(Exchange { events, response: record });
            }
            events.push(record);
        }
    }

    /// Returns the data of an answer to a request that must succeed.
    #[track_caller]
    pub fn data(&mut self, request: &Value) -> Value {
        let answered = self.ask(request);
        assert_eq!(answered.response["success"], true, "{request}: {}", answered.response);
        answered.response["data"].clone()
    }

    /// Closes its input and waits for its end. Returns its exit code.
    pub fn finish(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }

    /// Skips the next record, then sends a request.
    pub fn ask_after_skip(&mut self, request: &Value) -> Value {
        self.line();
        self.ask(request).response
    }

    /// Returns its input, for another thread.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    /// Returns its process id, for sending signals.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for it to end.
    pub fn wait(mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// pi and our program, each in its own home with the same files.
pub struct Peers {
    /// pi.
    pub pi: Peer,
    /// Our program.
    pub ours: Peer,
    normal: Normal,
    _directory: TempDir,
}

/// Removes from records what may differ between two runs: fresh ids and times, homes, and what the contract exempts.
#[derive(Default)]
pub struct Normal {
    /// All texts in the initial files; any other text was generated during the run.
    known: HashSet<String>,
    homes: Vec<String>,
}

/// Returns the Node that pi runs on.
pub fn node_program() -> PathBuf {
    node()
}

/// Returns the folder in which pi is installed.
pub fn pi_folder() -> &'static Path {
    oracle_dir()
}

/// The model that both know, as in pi's models.json.
pub const MODEL: &str = r#"{"providers":{"mock":{"baseUrl":"http://127.0.0.1:9/v1","apiKey":"k","api":"openai-completions","models":[{"id":"mock-1","contextWindow":200000,"maxTokens":4096,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}"#;

impl Peers {
    /// Starts both on the same session files, whose working directory becomes theirs. `HOME` in arguments is the home.
    ///
    /// A file is its name and its lines. `settings` is pi's settings file.
    pub fn start(program: &str, files: &[(&str, String)], settings: &Value, args: &[&str], of_pi: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let homes = ["pi", "ours"].map(|name| root.join(name));
        let mut normal = Normal::default();
        for home in &homes {
            normal.add_home(home.to_str().unwrap());
            fs::create_dir_all(home.join(".pi/agent")).unwrap();
            fs::create_dir_all(home.join("proj")).unwrap();
            fs::create_dir_all(home.join("sess")).unwrap();
            fs::write(home.join(".pi/agent/models.json"), MODEL).unwrap();
            fs::write(home.join(".pi/agent/settings.json"), settings.to_string()).unwrap();
            for (name, text) in files {
                fs::write(home.join("sess").join(name), text.replace("HOME", home.to_str().unwrap())).unwrap();
                normal.add_file(text);
            }
        }
        let at = |home: &Path, args: &[&str]| -> Vec<String> {
            args.iter().map(|arg| arg.replace("HOME", home.to_str().unwrap())).collect()
        };
        let pi_args: Vec<String> = at(&homes[0], args).into_iter().chain(at(&homes[0], of_pi)).collect();
        let our_args = at(&homes[1], args);
        Self {
            pi: Peer::pi(&homes[0], &pi_args.iter().map(String::as_str).collect::<Vec<_>>()),
            ours: Peer::ours(program, &homes[1], &our_args.iter().map(String::as_str).collect::<Vec<_>>()),
            normal,
            _directory: directory,
        }
    }

    /// Sends both the same request, in which `HOME` is the home of each, and compares all their records.
    ///
    /// Returns our response.
    #[track_caller]
    pub fn same(&mut self, request: &Value) -> Value {
        let text = request.to_string();
        let ask = |peer: &mut Peer| {
            let text = text.replace("HOME", peer.home.to_str().unwrap());
            peer.ask_raw(format!("{text}\n").as_bytes())
        };
        let (pi, ours) = (ask(&mut self.pi), ask(&mut self.ours));
        self.compare(&text, &pi, &ours);
        ours.response
    }

    /// Like [`same`](Self::same), for a record that is not a valid request.
    #[track_caller]
    pub fn same_raw(&mut self, record: &[u8]) {
        let (pi, ours) = (self.pi.ask_raw(record), self.ours.ask_raw(record));
        self.compare(&String::from_utf8_lossy(record), &pi, &ours);
    }

    #[track_caller]
    fn compare(&self, request: &str, pi: &Exchange, ours: &Exchange) {
        let of = |answered: &Exchange| {
            let events: Vec<Value> = answered.events.iter().map(|event| self.normal.of(event)).collect();
            json!({ "events": events, "response": self.normal.of(&answered.response) })
        };
        let (pi, ours) = (of(pi), of(ours));
        assert!(pi == ours, "{request}\n  pi:   {}\n  ours: {}", shortened(&pi, &ours), shortened(&ours, &pi));
    }
}

impl Normal {
    /// Keeps all texts of a session file unchanged.
    pub fn add_file(&mut self, text: &str) {
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.for_each(|line: Value| collect_texts(&line, &mut self.known));
    }

    /// Gives a home the same placeholder as all others.
    pub fn add_home(&mut self, home: &str) {
        self.homes.push(home.to_owned());
    }

    /// Returns a record without the parts that may differ.
    pub fn of(&self, record: &Value) -> Value {
        let mut record = self.renamed(record, "");
        if let Some(response) = record.as_object_mut() {
            response.remove("code");
            let is_parse = response.get("command").is_some_and(|command| command == "parse");
            if let Some(error) = response.get_mut("error").filter(|_| is_parse) {
                // Each engine words this error differently.
                *error = json!(error.as_str().unwrap_or_default().split(": ").next());
            }
            if let Some(data) = response.get_mut("data") {
                Self::exempt(data);
            }
        }
        record
    }

    /// Removes what the contract exempts from equality.
    fn exempt(data: &mut Value) {
        if let Some(model) = data.get_mut("model").and_then(Value::as_object_mut) {
            model.retain(|key, _| key == "provider" || key == "id");
        }
        for list in ["entries", "tree"] {
            let Some(items) = data.get_mut(list).and_then(Value::as_array_mut) else { continue };
            let was_setting = last(items).is_some_and(is_fresh_setting);
            *items = items.drain(..).flat_map(without_settings).collect();
            let leaf = last(items).map_or(Value::Null, |entry| entry["id"].clone());
            if was_setting && data["leafId"] == "<id>" {
                data["leafId"] = leaf;
            }
        }
    }

    fn renamed(&self, value: &Value, key: &str) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.renamed(item, key)).collect(),
            Value::Object(members) => {
                let renamed = |(key, value): (&String, &Value)| (key.clone(), self.renamed(value, key));
                Value::Object(members.iter().map(renamed).collect::<Map<_, _>>())
            }
            Value::String(text) => Value::String(self.renamed_text(text)),
            Value::Number(number)
                if key == "timestamp" && number.as_i64().is_some_and(|ms| !self.known.contains(&ms.to_string())) =>
            {
                json!("<ms>")
            }
            other => other.clone(),
        }
    }

    fn renamed_text(&self, text: &str) -> String {
        let first = text.chars().next().unwrap_or_default();
        // As in the recordings.
        if text.len() > 1000 && text.chars().all(|character| character == first) {
            return format!("{first}*{}", text.len());
        }
        if text.starts_with("<x*") {
            return text.trim_matches(['<', '>']).to_owned();
        }
        let is_at_home = self.homes.iter().any(|home| text.contains(home));
        if self.known.contains(text) && !is_at_home {
            return text.to_owned();
        }
        let text = self.homes.iter().fold(text.to_owned(), |text, home| text.replace(home, "<home>"));
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if text.len() == 8 && is_hex(&text) {
            return "<id>".to_owned();
        }
        if text.len() == 36 && is_hex(&text) {
            return "<uuid>".to_owned();
        }
        if text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T' {
            return "<time>".to_owned();
        }
        // The name of a new file is its time and id.
        match text.rsplit_once('/') {
            Some((directory, name)) if name.len() == 67 && name.split('.').next_back() == Some("jsonl") => {
                format!("{directory}/<new>")
            }
            _ => text,
        }
    }
}

/// Removes fresh entries of the kinds that pi adds when it opens a session; their children take their place.
fn without_settings(mut item: Value) -> Vec<Value> {
    let children = item.get_mut("children").and_then(Value::as_array_mut).map(std::mem::take);
    let below: Option<Vec<Value>> = children.map(|children| children.into_iter().flat_map(without_settings).collect());
    let entry = if item.get("entry").is_some() { &mut item["entry"] } else { &mut item };
    if entry["id"] == "<id>" {
        if is_fresh_setting(entry) {
            return below.unwrap_or_default();
        }
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("parentId");
        }
    }
    if let Some(below) = below {
        item["children"] = Value::Array(below);
    }
    vec![item]
}

fn is_fresh_setting(entry: &Value) -> bool {
    entry["id"] == "<id>" && (entry["type"] == "model_change" || entry["type"] == "thinking_level_change")
}

/// Returns the last entry of a list, or of the last branch of a tree.
fn last(items: &[Value]) -> Option<&Value> {
    let mut item = items.last()?;
    while let Some(below) = item["children"].as_array().and_then(|children| children.last()) {
        item = below;
    }
    Some(item.get("entry").unwrap_or(item))
}

/// Collects every text and number of a value.
fn collect_texts(value: &Value, known: &mut HashSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, known)),
        Value::Object(members) => members.values().for_each(|member| collect_texts(member, known)),
        Value::String(text) => drop(known.insert(text.clone())),
        Value::Number(number) => drop(known.insert(number.to_string())),
        _ => {}
    }
}

/// Describes the difference between pi's value and ours.
pub fn difference(pi: &Value, ours: &Value) -> String {
    format!("  pi:   {}\n  ours: {}", shortened(pi, ours), shortened(ours, pi))
}

/// Returns the part of a value that differs from another one.
fn shortened(value: &Value, other: &Value) -> String {
    match (value, other) {
        (Value::Object(members), Value::Object(others)) => {
            let differing = members.iter().filter(|(key, value)| others.get(*key) != Some(value));
            let parts = differing.map(|(key, value)| {
                format!("{key}: {}", others.get(key).map_or_else(|| value.to_string(), |other| shortened(value, other)))
            });
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let differing = items.iter().zip(others).enumerate().filter(|(_, (item, other))| item != other);
            let parts = differing.take(3).map(|(index, (item, other))| format!("{index}: {}", shortened(item, other)));
            format!("[{}]", parts.collect::<Vec<_>>().join(", "))
        }
        (Value::Array(items), Value::Array(_)) => format!("{} items: {value:.600}", items.len()),
        _ => value.to_string(),
    }
}
