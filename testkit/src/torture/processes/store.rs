//! A store to operate on, and a simple reader of it.
//!
//! The reader does not use the engine: it walks directories and parses lines with `serde_json`. It returns a
//! [`StoreSnapshot`]; the pictures of two stores with the same content are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sessile::format::location::is_session_file_name;

use super::Bench;

/// The session that operations are about.
pub(super) const ALPHA: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// A named session that operations leave alone.
pub(super) const BETA: &str = "bbbbbbbb-0000-4000-8000-000000000002";
/// An old session without a name.
pub(super) const GAMMA: &str = "cccccccc-0000-4000-8000-000000000003";
/// A session outside the store, to be imported.
pub(super) const IOTA: &str = "dddddddd-0000-4000-8000-000000000004";

/// A made-up key in the format of a provider, for operations that remove secrets.
pub(super) const SECRET: &str = "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";

/// How long a command may take before it counts as stuck.
const STUCK_AFTER: Duration = Duration::from_mins(1);

/// A home with a store in it.
pub(super) struct TestStore {
    pub(super) home: PathBuf,
    program: PathBuf,
    first_args: Vec<OsString>,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub(crate) struct CommandResult {
    /// Its exit code; `None` if a signal ended it or it was stuck.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) is_stuck: bool,
}

impl CommandResult {
    pub(crate) fn is_done(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns its output in one short line.
    pub(crate) fn words(&self) -> String {
        let words = if self.err.trim().is_empty() { self.out.trim() } else { self.err.trim() };
        let words: Vec<&str> = words.split_whitespace().map(short).collect();
        let words: String = words.join(" ").chars().take(240).collect();
        match self.code {
            Some(code) => format!("exit {code}: {words}"),
            None if self.is_stuck => "stuck".to_owned(),
            None => format!("killed: {words}"),
        }
    }
}

/// Writes a file and sets its modification time to an hour ago, so that no program seems to use it.
pub(super) fn write_old(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().append(true).open(path).unwrap().set_modified(hour_ago).unwrap();
}

/// Returns the beginning of an id.
fn first(id: &str, n_bytes: usize) -> &str {
    id.get(..n_bytes).unwrap_or(id)
}

/// Removes the directories from a path in a word.
fn short(word: &str) -> &str {
    word.rsplit_once('/').map_or(word, |(_, name)| name)
}

impl TestStore {
    /// Creates a home with the sessions that every test store has.
    pub(super) fn new(bench: &Bench, name: &str) -> Self {
        let home = bench.path(name);
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(home.join("proj")).unwrap();
        let (program, first_args) = bench.command_line();
        let store = Self { home, program, first_args };
        fs::create_dir_all(store.sessions()).unwrap();
        for id in [ALPHA, BETA, GAMMA] {
            write_old(&store.file(id), store.content(id));
        }
        fs::create_dir(store.home.join("elsewhere")).unwrap();
        fs::write(store.outside(IOTA), store.content(IOTA)).unwrap();
        store
    }

    /// Returns the path of a session outside the store.
    pub(super) fn outside(&self, id: &str) -> PathBuf {
        self.home.join(format!("elsewhere/2025-01-01T00-00-00-000Z_{id}.jsonl"))
    }

    /// Returns the directory of the project's sessions.
    fn sessions(&self) -> PathBuf {
        let name = self.home.join("proj").to_string_lossy().trim_start_matches('/').replace('/', "-");
        self.home.join(".pi/agent/sessions").join(format!("--{name}--"))
    }

    /// Returns the initial path of a session.
    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("2025-01-01T00-00-00-000Z_{id}.jsonl"))
    }

    /// Returns [`file`](Self::file) as an argument.
    pub(super) fn path(&self, id: &str) -> String {
        self.file(id).to_string_lossy().into_owned()
    }

    /// Returns the initial content of a session.
    pub(super) fn content(&self, id: &str) -> String {
        let cwd = self.home.join("proj");
        let mut text = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":{}}}"#,
            Value::from(cwd.to_string_lossy())
        );
        let mut parent = "null".to_owned();
        for (number, role) in ["user", "assistant", "user", "assistant"].into_iter().enumerate() {
            let entry = entry_id(id, number);
            let message = message(id, number, role);
            write!(
                text,
                "\n{{\"type\":\"message\",\"id\":\"{entry}\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:0{number}.000Z\",\"message\":{message}}}"
            )
            .unwrap();
            parent = format!("\"{entry}\"");
        }
        if id == BETA {
            write!(
                text,
                "\n{{\"type\":\"session_info\",\"id\":\"b00000ff\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:09.000Z\",\"name\":\"kept\"}}"
            )
            .unwrap();
        }
        text.push('\n');
        text
    }

    /// Returns a session of version 1 with the same messages.
    pub(super) fn old_content(&self, id: &str) -> String {
        let cwd = self.home.join("proj");
        let mut text = format!(
            r#"{{"type":"session","id":"{id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":{}}}"#,
            Value::from(cwd.to_string_lossy())
        );
        for (number, role) in ["user", "assistant", "user", "assistant"].into_iter().enumerate() {
            let message = message(id, number, role);
            write!(
                text,
                "\n{{\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:0{number}.000Z\",\"message\":{message}}}"
            )
            .unwrap();
        }
        text.push('\n');
        text
    }

    /// Returns one of our commands in this home.
    pub(super) fn command(&self, args: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.first_args).args(args);
        self.at_home(&mut command);
        command
    }

    /// Returns such a command under `strace`, with options for `strace`.
    pub(super) fn traced(&self, options: &[&str], args: &[String]) -> Command {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq"]).args(options).arg(&self.program).args(&self.first_args).args(args);
        self.at_home(&mut command);
        command
    }

    fn at_home(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("TZ", "UTC")
            .current_dir(self.home.join("proj"))
            .stdin(Stdio::null());
    }

    /// Runs one of our commands to its end.
    pub(super) fn run(&self, args: &[String]) -> CommandResult {
        finish(self.command(args))
    }

    /// Runs a command that must succeed.
    pub(super) fn must(&self, args: &[&str]) {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let ended = self.run(&args);
        assert!(ended.is_done(), "cannot prepare a store: {args:?}: {}", ended.words());
    }

    /// Ages the locks that a dead process left behind, so that other programs need not wait.
    pub(super) fn age(&self) {
        let long_ago = std::time::SystemTime::now() - Duration::from_hours(1);
        for path in files_below(&self.home) {
            if path.to_string_lossy().ends_with(".jsonl.lock")
                && let Ok(directory) = fs::File::open(&path)
            {
                drop(directory.set_modified(long_ago));
            }
        }
    }

    /// Returns the operations in the log, newest first: kind, state, id.
    pub(super) fn operations(&self) -> Result<Vec<(String, String, String)>, String> {
        let ended = self.run(&["undo", "--list", "--json"].map(str::to_owned));
        if ended.code == Some(1) {
            return Ok(Vec::new());
        }
        let list: Value =
            serde_json::from_str(&ended.out).map_err(|error| format!("undo --list: {error}: {}", ended.words()))?;
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let rows = list.as_array().cloned().unwrap_or_default();
        Ok(rows.iter().map(|row| (text(row, "kind"), text(row, "state"), text(row, "id"))).collect())
    }

    /// Returns the current content of the store.
    pub(super) fn snapshot(&self) -> StoreSnapshot {
        let root = self.home.join(".pi/agent/sessions");
        let trash = self.home.join(".local/share/Trash/files");
        let mut snapshot = StoreSnapshot::default();
        for path in files_below(&root) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_session_file_name(name.as_ref()) && !name.starts_with('.') && path.is_file() {
                snapshot.add(&path, &root, false);
            }
        }
        for path in files_below(&trash) {
            snapshot.add(&path, &trash, true);
        }
        snapshot.sessions.sort();
        snapshot
    }

    /// Returns the paths that `list` shows, archived or not.
    pub(super) fn listed(&self) -> Result<BTreeSet<PathBuf>, String> {
        let mut listed = self.listed_by(&["list", "--all", "--json"])?;
        listed.extend(self.listed_by(&["list", "--all", "--archived", "--json"])?);
        Ok(listed)
    }

    fn listed_by(&self, words: &[&str]) -> Result<BTreeSet<PathBuf>, String> {
        let ended = self.run(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        if ended.code == Some(1) {
            return Ok(BTreeSet::new());
        }
        let list: Value =
            serde_json::from_str(&ended.out).map_err(|error| format!("list: {error}: {}", ended.words()))?;
        let rows = list.as_array().cloned().unwrap_or_default();
        Ok(rows.iter().filter_map(|row| row["path"].as_str()).map(PathBuf::from).collect())
    }
}

/// Runs a command to its end; one that does not end is killed and counts as stuck.
pub(crate) fn finish(mut command: Command) -> CommandResult {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait(child)
}

/// Waits for a child and reads its output.
pub(super) fn wait(mut child: std::process::Child) -> CommandResult {
    use std::io::Read;
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = std::thread::spawn(move || {
        let mut text = Vec::new();
        drop(err.read_to_end(&mut text));
        text
    });
    let id = child.id();
    let (ended, is_over) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let is_stuck = is_over.recv_timeout(STUCK_AFTER) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if is_stuck && let Some(id) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
            // It may have ended at this very moment.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
        is_stuck
    });
    let mut output = Vec::new();
    drop(out.read_to_end(&mut output));
    let status = child.wait().unwrap();
    // The receiver is gone if the child was stuck.
    let _ = ended.send(());
    let is_stuck = watch.join().unwrap();
    let errors = read.join().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandResult { code: status.code().filter(|_| !is_stuck), out: text(&output), err: text(&errors), is_stuck }
}

/// Returns the id of the entry with this number in a session.
pub(super) fn entry_id(session: &str, number: usize) -> String {
    format!("{}{number:07}", first(session, 1))
}

fn message(session: &str, number: usize, role: &str) -> String {
    let text = format!("{} says {number}", first(session, 4));
    let time = 1_735_689_600_000_u64 + number as u64;
    match role {
        "user" => format!(r#"{{"role":"user","content":"{text}","timestamp":{time}}}"#),
        _ => format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"provider":"p","model":"m","timestamp":{time}}}"#
        ),
    }
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

/// The content of a store, in a form that does not depend on fresh ids and times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreSnapshot {
    /// The sessions, ordered by id.
    pub(super) sessions: Vec<SessionFile>,
    /// The contents of files that are named like a session but have no header.
    pub(super) strays: Vec<String>,
}

/// A session file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionFile {
    pub(super) id: String,
    pub(super) is_in_trash: bool,
    /// Its path relative to the store or the trash.
    pub(super) relative_path: String,
    pub(super) path: PathBuf,
    pub(super) cwd: String,
    pub(super) name: String,
    /// Every name it ever had.
    pub(super) names: Vec<String>,
    pub(super) labels: BTreeMap<String, String>,
    /// The texts of all messages, in order.
    pub(super) texts: Vec<String>,
    pub(super) version: u64,
    pub(super) n_malformed: u64,
    /// The number of lines that hold the secret.
    pub(super) n_secret: u64,
}

impl StoreSnapshot {
    fn add(&mut self, path: &Path, root: &Path, is_in_trash: bool) {
        let bytes = fs::read(path).unwrap_or_default();
        let relative_path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let mut session = SessionFile {
            id: String::new(),
            is_in_trash,
            relative_path: if is_in_trash { String::new() } else { relative_path.clone() },
            path: path.to_path_buf(),
            cwd: String::new(),
            name: String::new(),
            names: Vec::new(),
            labels: BTreeMap::new(),
            texts: Vec::new(),
            version: 0,
            n_malformed: 0,
            n_secret: 0,
        };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            session.n_secret += u64::from(String::from_utf8_lossy(line).contains(SECRET));
            match serde_json::from_slice::<Value>(line) {
                Ok(line) => session.take(&line),
                Err(_) => session.n_malformed += 1,
            }
        }
        if session.id.is_empty() {
            self.strays.push(format!("{relative_path}: {:.300}", String::from_utf8_lossy(&bytes).replace('\n', " ")));
        } else {
            self.sessions.push(session);
        }
    }

    /// Returns all files of a session.
    pub(super) fn of<'p>(&'p self, id: &'p str) -> impl Iterator<Item = &'p SessionFile> {
        self.sessions.iter().filter(move |session| session.id == id)
    }

    /// Returns a text that is equal for two stores with the same content. Sessions with fresh ids are identified by
    /// content.
    pub(super) fn digest(&self) -> String {
        let known = [ALPHA, BETA, GAMMA, IOTA];
        let line = |session: &SessionFile| {
            let is_known = known.contains(&session.id.as_str());
            let (id, relative_path) =
                if is_known { (first(&session.id, 4), session.relative_path.as_str()) } else { ("new", "") };
            let relative_path = relative_path.rsplit('/').nth(1).unwrap_or_default();
            let labels: Vec<String> = session.labels.iter().map(|(entry, label)| format!("{entry}={label}")).collect();
            let mut texts = session.texts.clone();
            texts.sort();
            format!(
                "{id} {} {relative_path} cwd {} v{} name {:?} labels {labels:?} texts {texts:?} malformed {} secret {}",
                if session.is_in_trash { "trash" } else { "live" },
                session.cwd.rsplit('/').next().unwrap_or_default(),
                session.version,
                session.name,
                session.n_malformed,
                session.n_secret
            )
        };
        let mut lines: Vec<String> = self.sessions.iter().map(line).collect();
        lines.extend(self.strays.iter().map(|stray| format!("stray {stray}")));
        lines.sort();
        lines.join("\n")
    }

    /// Checks that each earlier session still exists with every text, except those in `may_go`. A session may have two
    /// files while an operation on it is unfinished, but each must be complete or be completed by the next process.
    pub(super) fn check_kept(&self, before: &Self, may_go: &[&str]) -> Result<(), String> {
        for id in before.sessions.iter().map(|session| session.id.as_str()).collect::<BTreeSet<_>>() {
            if may_go.contains(&id) {
                continue;
            }
            let wanted: BTreeSet<&String> = before.of(id).flat_map(|session| &session.texts).collect();
            let there: BTreeSet<&String> = self.of(id).flat_map(|session| &session.texts).collect();
            if self.of(id).next().is_none() {
                return Err(format!("session {} is missing", first(id, 4)));
            }
            if let Some(lost) = wanted.difference(&there).next() {
                return Err(format!("session {} has lost {lost:?}", first(id, 4)));
            }
        }
        Ok(())
    }

    /// Checks that no text occurs twice in a file, and no session in two files.
    pub(super) fn check_once(&self) -> Result<(), String> {
        for session in &self.sessions {
            let distinct: BTreeSet<&String> = session.texts.iter().collect();
            if distinct.len() != session.texts.len() {
                return Err(format!("{} has an entry twice: {:?}", session.relative_path, session.texts));
            }
            if self.of(&session.id).count() > 1 {
                let paths: Vec<_> = self.of(&session.id).map(|session| session.path.display().to_string()).collect();
                return Err(format!("session {} is in {} places: {paths:?}", first(&session.id, 4), paths.len()));
            }
        }
        if let Some(stray) = self.strays.first() {
            return Err(format!("a file that is not a session: {stray}"));
        }
        Ok(())
    }
}

impl SessionFile {
    fn take(&mut self, line: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match line["type"].as_str() {
            Some("session") if self.id.is_empty() => {
                self.id = text(&line["id"]);
                self.cwd = text(&line["cwd"]);
                self.version = line["version"].as_u64().unwrap_or(1);
            }
            Some("session_info") => {
                self.name = text(&line["name"]);
                self.names.push(self.name.clone());
            }
            Some("label") => {
                let (entry, label) = (text(&line["targetId"]), text(&line["label"]));
                if label.is_empty() {
                    self.labels.remove(&entry);
                } else {
                    self.labels.insert(entry, label);
                }
            }
            Some("message") => {
                let content = &line["message"]["content"];
                self.texts.push(content.as_str().map_or_else(|| text(&content[0]["text"]), str::to_owned));
            }
            _ => {}
        }
    }
}
