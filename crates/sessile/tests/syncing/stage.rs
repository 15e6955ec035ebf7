//! Simulated machines with copies of one session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::os::{Mode, Os, Process, append_fully};
use sessile::sync::remote::{MemoryServer, Server};
use sessile::sync::{SyncOptions, Synced};
use sessile::{EntryId, SessionError, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::sim::SimOs;

const NOW: i64 = 1_763_164_800_000;
pub(crate) const PATH: &str = "/home/u/.pi/agent/sessions/--proj--/2025-01-01T00-00-00-000Z_s1.jsonl";

pub(crate) struct Machine {
    pub(crate) os: SimOs,
    number: u64,
}

pub(crate) fn entry(id: &str, parent: &str, second: u32, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:{:02}:{:02}.000Z","message":{{"role":"user","content":"{text}"}}}}"#,
        second / 60,
        second % 60,
    )
}

fn content() -> String {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;
    let odd = r#"{"type":"odd"}"#;
    format!("{header}\n{}\n{}\n{odd}\n", entry("a", "", 1, "first"), entry("b", "a", 2, "second"))
}

/// The ids of lines, in order; `odd` for those without.
pub(crate) fn ids(lines: &str) -> Vec<String> {
    let id = |line: &str| {
        line.split_once(r#""id":""#).map_or("odd", |(_, rest)| rest.split('"').next().unwrap_or_default()).to_owned()
    };
    lines.lines().map(id).collect()
}

/// The lines of the log on the server.
pub(crate) fn log_of(server: &MemoryServer) -> String {
    let mut server = server.clone();
    let head = server.head(None, "s1").unwrap().unwrap();
    let mut text = String::new();
    server
        .read(head.no, head.position.epoch, 0, head.position.n_lines, &mut |line| {
            text.push_str(std::str::from_utf8(line.bytes).unwrap());
            text.push('\n');
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    text
}

impl Machine {
    pub(crate) fn new(number: u64) -> Self {
        Self::with(number, &content())
    }

    /// A machine whose session has this text, and was not used for long.
    pub(crate) fn with(number: u64, text: &str) -> Self {
        let machine = Self::empty(number);
        machine.write(PATH, text);
        machine
    }

    /// The same machine in a later state of its files.
    pub(crate) fn on(&self, os: SimOs) -> Self {
        Self { os, number: self.number + 100 }
    }

    /// A machine without sessions.
    pub(crate) fn empty(number: u64) -> Self {
        Self { os: SimOs::new(), number }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.os.make_directories(Path::new(path).parent().unwrap());
        append_fully(self.os.open(Path::new(path), Mode::New).unwrap().as_ref(), text.as_bytes()).unwrap();
        self.os.settle();
        self.rest();
    }

    /// Passes time, after which no program seems to use the session.
    pub(crate) fn rest(&self) {
        self.os.advance(600_000);
    }

    pub(crate) fn sessions(&self) -> Sessions {
        let environment = Replay::new(NOW + 10_000_000, self.number);
        environment.set_home("/home/u");
        environment.set_current_dir("/elsewhere");
        Sessions::new(environment).on(Arc::new(self.os.clone())).recording_operations(Some("/home/u/state".into()))
    }

    pub(crate) fn sync(&self, server: &MemoryServer) -> Result<Synced, SessionError> {
        self.sync_with(server, &SyncOptions::default())
    }

    pub(crate) fn sync_with(&self, server: &MemoryServer, options: &SyncOptions) -> Result<Synced, SessionError> {
        self.sync_on(&mut server.clone(), options)
    }

    pub(crate) fn sync_on(&self, server: &mut dyn Server, options: &SyncOptions) -> Result<Synced, SessionError> {
        self.sessions().sync_session(server, Path::new(PATH), options)
    }

    /// Another program appends a line, and ends.
    pub(crate) fn add(&self, line: &str) {
        if !self.text().ends_with('\n') {
            self.os.foreign_append(PATH, "\n");
        }
        self.os.foreign_append(PATH, format!("{line}\n"));
        self.os.settle();
        self.rest();
    }

    /// Another program dies while it appends.
    pub(crate) fn tear(&self) {
        self.os.foreign_append(PATH, r#"{"type":"mess"#);
        self.os.settle();
        self.rest();
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.os.read_file(PATH).unwrap()).unwrap()
    }

    /// The complete lines after the header.
    pub(crate) fn lines(&self) -> String {
        let text = self.text();
        let lines = text.split_once('\n').unwrap().1;
        lines.rsplit_once('\n').map_or(String::new(), |(whole, _torn)| format!("{whole}\n"))
    }

    /// The messages of the context at an entry, which may have another id now.
    pub(crate) fn context_at(&self, id: &str) -> Vec<String> {
        let mut session = self.sessions().read_only().open(PATH).unwrap();
        let outline = session.outline();
        let is_renamed = |known: &EntryId| {
            let entry = session.entry(known).unwrap().unwrap();
            entry.json().to_text().contains(&format!(r#""renamedFrom":"{id}""#))
        };
        let renamed = outline.entries().filter_map(|row| outline.id(row)).find(is_renamed);
        let id = renamed.unwrap_or_else(|| id.into());
        session.branch(id).unwrap();
        let messages = session.build_session_context().unwrap().messages;
        messages.iter().map(|message| message.to_text().into_owned()).collect()
    }

    pub(crate) fn run_pi(&self) {
        self.os.set_running(vec![Process {
            pid: 77,
            name: "pi".to_owned(),
            arguments: vec!["pi".to_owned(), "--session".to_owned(), PATH.to_owned()],
            directory: None,
            program: None,
        }]);
    }

    pub(crate) fn end_pi(&self) {
        self.os.set_running(Vec::new());
        self.rest();
    }

    /// Files beside the session that a replacement left.
    pub(crate) fn originals(&self) -> Vec<PathBuf> {
        let files = self.os.list(Path::new(PATH).parent().unwrap()).unwrap();
        files.into_iter().filter(|path| path.to_string_lossy().contains(".orig-")).collect()
    }
}
