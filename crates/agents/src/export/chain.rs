//! Sessions whose lines name the line before them, as Claude Code and Qwen Code write them.

use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::{Json, ObjectWriter};

use super::{Writing, Written};

/// A chain of lines.
pub(super) struct Chain<'c> {
    pub(super) writing: &'c Writing<'c>,
    pub(super) id: String,
    /// The version of the agent whose format this is.
    version: &'static str,
    last: Option<String>,
    pub(super) lines: Vec<Json>,
}

impl<'c> Chain<'c> {
    pub(super) fn new(writing: &'c Writing<'c>, version: &'static str) -> Self {
        Self { writing, id: writing.names.uuid("session", 0), version, last: None, lines: Vec::new() }
    }

    /// Adds a line after the last one. `rest` writes what only this kind of line has.
    pub(super) fn line(&mut self, kind: &str, time: Timestamp, rest: impl FnOnce(&mut ObjectWriter)) {
        let uuid = self.writing.names.uuid("line", self.lines.len());
        let mut line = ObjectWriter::new();
        // Claude Code's own lines begin and end with these members, and it may look for them before it reads a line.
        match &self.last {
            Some(last) => line.string("parentUuid", last),
            None => line.null("parentUuid"),
        };
        line.string("cwd", self.writing.source.cwd)
            .string("sessionId", &self.id)
            .string("version", self.version)
            .string("gitBranch", "")
            .string("type", kind);
        rest(&mut line);
        line.string("uuid", &uuid).string("timestamp", &to_iso(time));
        self.lines.push(line.finish());
        self.last = Some(uuid);
    }

    pub(super) fn finish(self) -> Written {
        let file_name = format!("{}.jsonl", self.id);
        (self.id, file_name, self.lines)
    }
}
