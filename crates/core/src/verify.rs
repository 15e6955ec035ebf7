//! Finds what is wrong with a session, with the consequences and remedies.
//!
//! An [`Oddity`] describes a single line. This module adds problems that appear only when entries are compared
//! (dangling references, tool calls without results) or when damaged lines are taken apart. Each finding has a stable
//! [`Code`], a consequence and a [`Remedy`].

use std::collections::{HashMap, HashSet};

use crate::context::ReadRow;
use crate::diagnostic::{Diagnostic, Oddity, Severity};
use crate::head::{Kind, Role};
use crate::header::Header;
use crate::id::EntryId;
use crate::json::{JsText, Raw};
use crate::outline::{Outline, Row};
use crate::salvage::{Damaged, Flaw};
use crate::tree;
use crate::version::Upgrade;

/// A problem, or a fact worth knowing, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The type of finding.
    pub code: Code,
    /// How much it matters. A note alone does not make a session unsound.
    pub severity: Severity,
    /// The line, counting from 1; 1 for findings about the file as a whole.
    pub line: u64,
    /// The byte offset in the file; 0 for findings about the file as a whole.
    pub offset: u64,
    /// A description of this case.
    pub message: String,
    /// What can be done about it.
    pub remedy: Remedy,
}

impl Finding {
    /// Creates a finding with the default severity of its code, which repair leaves alone.
    pub fn new(code: Code, line: u64, offset: u64, message: impl Into<String>) -> Self {
        let remedy = Remedy::Leave(code.why_left());
        Self { code, severity: code.severity(), line, offset, message: message.into(), remedy }
    }

    /// Replaces the remedy.
    #[must_use]
    pub fn with(self, remedy: Remedy) -> Self {
        Self { remedy, ..self }
    }

    /// What it means for a reader.
    pub fn consequence(&self) -> &'static str {
        self.code.consequence()
    }

    /// Whether it is more than a note.
    pub fn counts(&self) -> bool {
        self.severity > Severity::Note
    }
}

/// What can be done about a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Repair does this.
    Repair(String),
    /// Repair does this if asked to fix permissions.
    Permissions(String),
    /// Repair leaves it alone, for this reason.
    Leave(&'static str),
}

impl Remedy {
    /// The remedy as text.
    pub fn text(&self) -> &str {
        match self {
            Self::Repair(text) | Self::Permissions(text) => text,
            Self::Leave(text) => text,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident: $word:literal, $severity:ident, $consequence:literal, $why_left:literal;)*) => {
        /// The names of all findings. They are stable: programs may rely on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name that programs see.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The default severity.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// What it means for a reader.
            pub fn consequence(self) -> &'static str {
                match self { $(Self::$name => $consequence,)* }
            }

            /// Why repair leaves it alone, when it does.
            pub fn why_left(self) -> &'static str {
                match self { $(Self::$name => $why_left,)* }
            }
        }
    };
}

codes! {
    /// A line that ends in the middle of a record.
    Torn: "torn", Error, "readers do not see the record, which was never complete",
        "left unchanged: the missing part exists nowhere else; readers skip the line";
    /// A line with more than one record, or with a whole record after half of one.
    Fused: "fused", Error, "readers see none of the records on the line",
        "left unchanged: the file already has these records, or the rest of the line would be read as an entry";
    /// A line with NUL bytes, as left by power failures.
    NulBytes: "nul-bytes", Error, "readers see nothing on the line",
        "left unchanged: what the NUL bytes replaced exists nowhere else; readers skip the line";
    /// A record that is broken by a newline inside a string.
    RawNewline: "raw-newline", Error, "readers do not see the record",
        "left unchanged: the file already has this record, or another program may still be writing the line";
    /// A line that is not JSON for any other reason.
    Malformed: "malformed", Error, "readers do not see the line",
        "left unchanged: it does not contain a complete record; readers skip the line";
    /// A line over the line cap.
    TooLong: "too-long", Error, "readers do not parse the line",
        "left unchanged: the line is kept and copied";
    /// A missing or unreadable header.
    NoHeader: "no-header", Error, "pi does not recognise the file as a session and does not open it",
        "left unchanged: the file has no entries";
    /// A header that repair has rebuilt.
    RebuiltHeader: "rebuilt-header", Note, "none",
        "left unchanged: the original header is lost";
    /// A record that repair has marked as incomplete.
    Incomplete: "incomplete", Note, "the record is not in the context",
        "left unchanged: the missing part exists nowhere else";
    /// A header that is not the first.
    ExtraHeader: "extra-header", Warning, "the line is ignored; older programs may start over there",
        "left unchanged: repair cannot know which one is right";
    /// A byte order mark before the header.
    ByteOrderMark: "byte-order-mark", Warning, "pi does not open the file",
        "left unchanged";
    /// A file of a version that this library does not know.
    NewerVersion: "newer-version", Warning, "the file is read-only here",
        "left unchanged: a newer program wrote it, and what looks wrong may be intended";
    /// A file of version 1 or 2.
    OlderVersion: "older-version", Note, "nothing is lost; the first write upgrades the file",
        "left unchanged: the first write upgrades it";
    /// A version that is not a number.
    OddVersion: "odd-version", Warning, "programs may disagree about the version; pi may rewrite the file each time it is opened",
        "left unchanged: repair cannot know which version is meant";
    /// An id that a later entry uses again.
    DuplicateId: "duplicate-id", Warning, "readers see only the last entry with that id",
        "left unchanged: repair cannot know which one is right";
    /// Parents that form a loop.
    Cycle: "cycle", Warning, "pi never finishes with this session; Sessile cuts the loop and treats the entry as a root",
        "left unchanged: repair cannot know which of the parents is wrong";
    /// An entry that is its own parent.
    OwnParent: "own-parent", Warning, "pi never finishes with this session; Sessile treats the entry as a root",
        "left unchanged: repair cannot know which parent is meant";
    /// An entry whose parent is not in the file.
    MissingParent: "missing-parent", Warning, "everything before the entry is cut off from it",
        "left unchanged: there is no earlier entry to attach it to";
    /// A `parentId` that is neither null nor the id of anything.
    OddParent: "odd-parent", Warning, "the entry is a root",
        "left unchanged: repair cannot know which parent is meant";
    /// An entry without an id.
    NoId: "no-id", Warning, "nothing can refer to the entry; for pi the conversation starts over after it",
        "left unchanged: repair would have to invent an id";
    /// A line that is a value but not an object.
    NotObject: "not-object", Warning, "the line is ignored; for pi the conversation starts over after it",
        "left unchanged: repair cannot know what it was";
    /// A line that is `null`, `false`, zero or `""`.
    EmptyValue: "empty-value", Note, "none",
        "left unchanged: it is harmless";
    /// A time that is missing or in an unusual form.
    OddTime: "odd-time", Note, "the entry may be shown in an unexpected place",
        "left unchanged: repair cannot know the time";
    /// A last line without its newline.
    Unterminated: "unterminated", Note, "none; the next append adds the newline first",
        "left unchanged: another program may be writing to it right now";
    /// A label on an entry that is not in the file.
    DanglingLabel: "dangling-label", Warning, "the label is not shown",
        "left unchanged: its target is not in the file";
    /// A compaction whose first kept entry is not before it.
    DanglingFirstKept: "dangling-first-kept", Warning, "the context keeps only the summary of everything before the compaction",
        "left unchanged: repair cannot know which entry was meant";
    /// A context edit of an entry that is not before it.
    DanglingEdit: "dangling-edit", Warning, "the edit changes nothing",
        "left unchanged: its target is not on its branch";
    /// A tool result without its call.
    OrphanToolResult: "orphan-tool-result", Warning, "models refuse a conversation with a result that belongs to no call",
        "left unchanged: the call is not in the file";
    /// A second result for one call.
    DuplicateToolResult: "duplicate-tool-result", Warning, "models refuse a conversation with two results for one call",
        "left unchanged: repair cannot know which one is right";
    /// Tool calls without results, although the conversation continued.
    MissingToolResult: "missing-tool-result", Warning, "models refuse a conversation in which a call has no result",
        "left unchanged: repair cannot invent results";
    /// Tool calls without results yet at the end of a branch, or interrupted by a compaction.
    PendingToolCall: "pending-tool-call", Note, "none as long as the results can still arrive",
        "left unchanged: the results may still arrive";
    /// A file or a directory that other users can read.
    Permissions: "permissions", Warning, "other users of this machine can read the conversation",
        "left unchanged";
    /// Entries that were acknowledged but are no longer in the file.
    Vanished: "vanished", Error, "another program has destroyed acknowledged entries",
        "left unchanged";
    /// A directory that holds sessions of two working directories.
    DirectoryCollision: "directory-collision", Warning, "pi lists and continues the sessions of both as if they were one",
        "left unchanged: Sessile tells them apart by their headers";
    /// A copy of a session: another file holds the same session.
    SameSession: "same-session", Note, "the id stands for several files; each continues separately",
        "left unchanged: repair cannot know which file is wanted";
    /// A redacted copy of a session.
    Redacted: "redacted", Note, "texts are missing or replaced; it is not the original",
        "left unchanged: what was removed exists only in the original";
}

/// Findings from the outline alone, except damaged lines and missing parents, whose remedies need more information.
pub fn oddities(outline: &Outline) -> Vec<Finding> {
    outline.diagnostics().into_iter().filter_map(|odd| oddity(&odd)).collect()
}

fn oddity(odd: &Diagnostic) -> Option<Finding> {
    let code = match &odd.oddity {
        Oddity::UnknownParent { parent } if *parent == "" => Code::OddParent,
        Oddity::Malformed | Oddity::UnknownParent { .. } => return None,
        Oddity::TooLong { .. } => Code::TooLong,
        Oddity::Empty => Code::EmptyValue,
        Oddity::NotObject => Code::NotObject,
        Oddity::NoId => Code::NoId,
        Oddity::DuplicateId { .. } => Code::DuplicateId,
        Oddity::OddParent => Code::OddParent,
        Oddity::OwnParent => Code::OwnParent,
        Oddity::Loop => Code::Cycle,
        Oddity::ExtraHeader => Code::ExtraHeader,
        Oddity::ByteOrderMark => Code::ByteOrderMark,
        Oddity::Unterminated => Code::Unterminated,
        Oddity::OddTime => Code::OddTime,
        Oddity::NewerVersion => Code::NewerVersion,
    };
    Some(Finding::new(code, odd.line, odd.offset, odd.oddity.to_string()))
}

/// The note that a file is a redacted copy, if it is one.
pub fn redacted(outline: &Outline, header: &Header) -> Option<Finding> {
    let (row, redaction) = (outline.header()?, header.redaction()?);
    Some(Finding::new(Code::Redacted, outline.line_number(row), outline.span(row).offset, redaction.words()))
}

/// A finding about the header's version, if any.
pub fn version(outline: &Outline, header: &Header) -> Option<Finding> {
    let row = outline.header()?;
    let report =
        |code, message: String| Finding::new(code, outline.line_number(row), outline.span(row).offset, message);
    match outline.upgrade() {
        Upgrade::FromV1 => Some(report(Code::OlderVersion, "the file has version 1".to_owned())),
        Upgrade::FromV2 => Some(report(Code::OlderVersion, "the file has version 2".to_owned())),
        Upgrade::None if header.version() != Some(3.0) => {
            let version = header.json().raw().get("version").map(|version| version.to_text().into_owned());
            Some(report(Code::OddVersion, format!("unexpected version {}", version.unwrap_or_default())))
        }
        Upgrade::None | Upgrade::Newer => None,
    }
}

/// Classifies a damaged line. `line` and `offset` are those of its first byte.
pub fn damage(damaged: &Damaged, line: u64, offset: u64) -> Finding {
    let (code, what) = match (damaged.broken.len(), damaged.flaw, damaged.records.len()) {
        (1.., _, _) => (Code::RawNewline, "a record is broken by a newline inside it"),
        (_, Flaw::Nuls, 0) => (Code::NulBytes, "NUL bytes"),
        (_, Flaw::Nuls, _) => (Code::NulBytes, "is surrounded by NUL bytes"),
        (_, _, 1..) => (Code::Fused, "is not on its own line"),
        (_, Flaw::Torn, 0) => (Code::Torn, "the line ends in the middle of a record"),
        (_, Flaw::Other, 0) => (Code::Malformed, "not valid JSON"),
    };
    let message = match damaged.records.as_slice() {
        _ if code == Code::RawNewline => what.to_owned(),
        [] => what.to_owned(),
        [record] => format!("record {} {what}", record.id),
        records => format!("{} records ({}) on one damaged line", records.len(), ids(records.iter().map(|it| &it.id))),
    };
    Finding::new(code, line, offset, message)
}

/// Formats ids for people to read.
pub fn ids<'i>(ids: impl IntoIterator<Item = &'i EntryId>) -> String {
    ids.into_iter().map(EntryId::to_string).collect::<Vec<_>>().join(", ")
}

/// Finds dangling references, and tool calls and results that do not match.
pub fn references<E>(outline: &Outline, read: &mut ReadRow<'_, E>) -> Result<Vec<Finding>, E> {
    let mut walk = Walk::new(outline);
    for row in outline.entries().filter(|row| outline.kind(*row) == Kind::Label) {
        walk.label(row, read(row)?.raw());
    }
    let nodes = tree::forest(outline, &mut |_| Ok(None))?;
    // A repeated row is checked at the place where it counts.
    let mut nodes = nodes.into_iter().filter(|node| !node.repeated).peekable();
    while let Some(node) = nodes.next() {
        walk.leave_to(node.depth);
        walk.enter(node.row, read)?;
        if nodes.peek().is_none_or(|next| next.depth <= node.depth) {
            walk.end_branch();
        }
    }
    Ok(walk.finish())
}

/// A walk down the branches that tracks the current path.
struct Walk<'o> {
    outline: &'o Outline,
    findings: Vec<Finding>,
    /// Whether each row is on the current path.
    on_path: Vec<bool>,
    /// The current path, and how to undo each step.
    steps: Vec<(Row, Change)>,
    /// The last assistant message, if no user or assistant message has followed.
    turn: Option<Turn>,
    /// Messages whose calls have no result although the conversation continued.
    unanswered: HashSet<Row>,
    /// Messages whose calls have no result at the end of a branch.
    pending: HashSet<Row>,
}

/// An assistant message and its tool calls.
struct Turn {
    row: Row,
    /// Whether each call has its result.
    calls: HashMap<JsText<'static>, bool>,
    n_open: usize,
    /// Whether the answer was cut short. The calls of such an answer are not executed, so no results are expected.
    is_cut_short: bool,
    /// Whether a compaction came before the results. pi stops running calls for a compaction.
    is_interrupted: bool,
}

/// What a step changed.
enum Change {
    Nothing,
    /// The turn was replaced; this is the previous one.
    Turn(Option<Turn>),
    /// This call got its result.
    Answered(JsText<'static>),
    /// The turn was interrupted.
    Interrupted,
}

impl<'o> Walk<'o> {
    fn new(outline: &'o Outline) -> Self {
        Self {
            outline,
            findings: Vec::new(),
            on_path: vec![false; outline.rows().len()],
            steps: Vec::new(),
            turn: None,
            unanswered: HashSet::new(),
            pending: HashSet::new(),
        }
    }

    fn report(&mut self, code: Code, row: Row, message: impl Into<String>) {
        let (line, offset) = (self.outline.line_number(row), self.outline.span(row).offset);
        self.findings.push(Finding::new(code, line, offset, message));
    }

    /// Goes back up until only this many entries are on the path.
    fn leave_to(&mut self, depth: usize) {
        while self.steps.len() > depth
            && let Some((row, change)) = self.steps.pop()
        {
            self.on_path[row.index()] = false;
            match change {
                Change::Nothing => {}
                Change::Turn(before) => self.turn = before,
                Change::Interrupted => self.turn.iter_mut().for_each(|turn| turn.is_interrupted = false),
                Change::Answered(call) => {
                    if let Some(turn) = &mut self.turn {
                        turn.n_open += 1;
                        turn.calls.insert(call, false);
                    }
                }
            }
        }
    }

    fn enter<E>(&mut self, row: Row, read: &mut ReadRow<'_, E>) -> Result<(), E> {
        let change = match (self.outline.kind(row), self.outline.role(row)) {
            (Kind::Message, Role::User) => self.begin_turn(None),
            (Kind::Message, Role::Assistant) => {
                let turn = Turn::new(row, read(row)?.raw());
                self.begin_turn(Some(turn))
            }
            (Kind::Message, Role::ToolResult) => self.result(row, read(row)?.raw()),
            (Kind::Compaction, _) => self.compaction(row, read(row)?.raw()),
            (Kind::ContextEdit, _) => self.edit(row, read(row)?.raw()),
            _ => Change::Nothing,
        };
        self.on_path[row.index()] = true;
        self.steps.push((row, change));
        Ok(())
    }

    fn begin_turn(&mut self, turn: Option<Turn>) -> Change {
        let before = std::mem::replace(&mut self.turn, turn);
        match before.as_ref().filter(|before| before.is_open()) {
            Some(before) if before.is_interrupted => drop(self.pending.insert(before.row)),
            Some(before) if self.unanswered.insert(before.row) => {
                let (row, message) = (before.row, before.message());
                self.report(Code::MissingToolResult, row, message);
            }
            _ => {}
        }
        Change::Turn(before)
    }

    fn end_branch(&mut self) {
        self.pending.extend(self.turn.as_ref().filter(|turn| turn.is_open()).map(|turn| turn.row));
    }

    fn result(&mut self, row: Row, entry: Raw<'_>) -> Change {
        let call = entry.get("message").and_then(|message| message.get("toolCallId")).and_then(Raw::as_text);
        let Some(call) = call.map(JsText::into_owned) else {
            self.report(Code::OrphanToolResult, row, "tool result without a call id");
            return Change::Nothing;
        };
        let known = self.turn.as_mut().and_then(|turn| Some((turn.calls.get_mut(&call)?, &mut turn.n_open)));
        match known {
            Some((is_answered @ false, n_open)) => {
                *is_answered = true;
                *n_open -= 1;
                return Change::Answered(call);
            }
            Some(_) => self.report(Code::DuplicateToolResult, row, format!("second result for call {call}")),
            None => {
                self.report(
                    Code::OrphanToolResult,
                    row,
                    format!("result for {call}, but no earlier entry makes this call"),
                );
            }
        }
        Change::Nothing
    }

    fn compaction(&mut self, row: Row, entry: Raw<'_>) -> Change {
        let kept = entry.get("firstKeptEntryId").and_then(Raw::as_text).map(EntryId::from);
        // Its own id means that nothing before it stays.
        if let Some(kept) = kept.filter(|kept| self.outline.find(kept) != Some(row)) {
            self.check_target(Code::DanglingFirstKept, row, "the compaction keeps entries from", &kept);
        }
        match self.turn.as_mut().filter(|turn| !turn.is_interrupted) {
            Some(turn) => {
                turn.is_interrupted = true;
                Change::Interrupted
            }
            None => Change::Nothing,
        }
    }

    fn edit(&mut self, row: Row, entry: Raw<'_>) -> Change {
        match entry.get("targetId").and_then(Raw::as_text).map(EntryId::from) {
            Some(target) => self.check_target(Code::DanglingEdit, row, "context edit of", &target),
            None => self.report(Code::DanglingEdit, row, "context edit without a target"),
        }
        Change::Nothing
    }

    fn check_target(&mut self, code: Code, row: Row, what: &str, target: &EntryId) {
        match self.outline.find(target) {
            None => self.report(code, row, format!("{what} {target}, which is not in the file")),
            Some(found) if !self.on_path[found.index()] => {
                self.report(code, row, format!("{what} {target}, which is not before it on its branch"));
            }
            Some(_) => {}
        }
    }

    fn label(&mut self, row: Row, entry: Raw<'_>) {
        if !entry.get("label").is_some_and(Raw::is_truthy) {
            return;
        }
        match entry.get("targetId").and_then(Raw::as_text).map(EntryId::from) {
            None => self.report(Code::DanglingLabel, row, "label without a target"),
            Some(target) if self.outline.find(&target).is_none() => {
                self.report(Code::DanglingLabel, row, format!("label on {target}, which is not in the file"));
            }
            Some(_) => {}
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        let pending = std::mem::take(&mut self.pending);
        for row in pending.difference(&std::mem::take(&mut self.unanswered)) {
            self.report(Code::PendingToolCall, *row, "tool calls without results yet");
        }
        self.findings
    }
}

impl Turn {
    fn new(row: Row, entry: Raw<'_>) -> Self {
        let message = entry.get("message");
        let text = |value: Option<Raw<'_>>| value.and_then(Raw::as_text).map(JsText::into_owned);
        let is_call = |block: &Raw<'_>| text(block.get("type")).is_some_and(|kind| kind == "toolCall");
        let blocks = message.and_then(|message| message.get("content")).into_iter().flat_map(Raw::items);
        let calls = blocks.filter(is_call).filter_map(|block| text(block.get("id")));
        let calls: HashMap<_, _> = calls.map(|id| (id, false)).collect();
        let reason = text(message.and_then(|message| message.get("stopReason")));
        let is_cut_short = reason.is_some_and(|reason| reason == "aborted" || reason == "error");
        Self { row, n_open: calls.len(), calls, is_cut_short, is_interrupted: false }
    }

    /// Whether results are missing.
    fn is_open(&self) -> bool {
        self.n_open > 0 && !self.is_cut_short
    }

    fn message(&self) -> String {
        match (self.n_open, self.calls.len()) {
            (1, 1) => "the tool call has no result".to_owned(),
            (open, calls) => format!("{open} of {calls} tool calls have no result"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::json::Json;
    use crate::line::split;
    use crate::version::StableIds;

    /// The findings among entries of `type id<parent fields`, as `code id`.
    fn found(entries: &[(&str, &str)]) -> Vec<String> {
        let mut lines = vec!["{\"type\":\"session\",\"version\":3,\"id\":\"s\"}".to_owned()];
        for (head, fields) in entries {
            let (kind, link) = head.split_once(' ').unwrap();
            let (id, parent) = link.split_once('<').unwrap();
            let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
            lines.push(format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},{fields}}}"));
        }
        let text = lines.join("\n");
        let mut outline = Outline::new();
        for line in split(text.as_bytes()) {
            outline.push(line, &mut StableIds);
        }
        let mut read = |row: Row| {
            let span = outline.span(row);
            let start = usize::try_from(span.offset).unwrap();
            let end = usize::try_from(span.end()).unwrap();
            Ok::<_, Infallible>(Json::parse(&text.as_bytes()[start..end]).unwrap())
        };
        let Ok(mut findings) = references(&outline, &mut read);
        findings.sort_by_key(|finding| finding.line);
        let id = |finding: &Finding| entries[usize::try_from(finding.line).unwrap() - 2].0.split([' ', '<']).nth(1);
        findings.iter().map(|finding| format!("{} {}", finding.code.word(), id(finding).unwrap())).collect()
    }

    const USER: &str = r#""message":{"role":"user","content":"x"}"#;

    fn calls(ids: &[&str], reason: &str) -> String {
        let blocks: Vec<_> = ids.iter().map(|id| format!(r#"{{"type":"toolCall","id":"{id}"}}"#)).collect();
        format!(r#""message":{{"role":"assistant","content":[{}],"stopReason":"{reason}"}}"#, blocks.join(","))
    }

    fn result(id: &str) -> String {
        format!(r#""message":{{"role":"toolResult","toolCallId":"{id}"}}"#)
    }

    #[test]
    fn calls_and_results_are_paired() {
        let (two, one, aborted) = (calls(&["1", "2"], "toolUse"), calls(&["1"], "toolUse"), calls(&["1"], "aborted"));
        let (first, second) = (result("1"), result("2"));
        let answered = [("message a<", two.as_str()), ("message b<a", &first), ("custom c<b", "\"x\":1")];
        let more = |rest: &[(&'static str, &str)]| found(&[&answered[..], rest].concat());
        assert_eq!(more(&[("message d<c", &second), ("message e<d", USER)]), [""; 0]);
        assert_eq!(more(&[]), ["pending-tool-call a"]);
        assert_eq!(more(&[("message d<c", USER)]), ["missing-tool-result a"]);
        assert_eq!(more(&[("message d<c", &first)]), ["pending-tool-call a", "duplicate-tool-result d"]);
        assert_eq!(
            more(&[("message d<c", "\"message\":{\"role\":\"toolResult\"}")]),
            ["pending-tool-call a", "orphan-tool-result d"]
        );
        // An answer that was cut short needs no results, but may have some.
        assert_eq!(found(&[("message a<", &aborted), ("message b<a", &first), ("message c<b", USER)]), [""; 0]);
        // A result on one branch does not answer the call on another.
        assert_eq!(
            more(&[("message d<c", &second), ("message e<a", &second), ("message f<e", USER)]),
            ["missing-tool-result a"]
        );
        assert_eq!(
            more(&[("message d<c", &second), ("message e<d", USER), ("message f<a", &first), ("message g<f", &second)]),
            [""; 0]
        );
        let interrupted = [("message a<", one.as_str()), ("compaction b<a", "\"x\":1"), ("message c<b", USER)];
        assert_eq!(found(&interrupted), ["pending-tool-call a"]);
        assert_eq!(found(&[&interrupted[..], &[("message d<a", USER)]].concat()), ["missing-tool-result a"]);
        assert_eq!(found(&[interrupted[0], interrupted[1], ("message c<b", &first)]), [""; 0]);
        assert_eq!(found(&[("message a<", &aborted), ("message b<a", USER)]), [""; 0]);
        assert_eq!(
            found(&[("message a<", &one), ("message b<", &first)]),
            ["pending-tool-call a", "orphan-tool-result b"]
        );
    }

    #[test]
    fn references_without_targets_are_reported() {
        let entries = [
            ("message a<", USER),
            ("label b<a", r#""targetId":"a","label":"x""#),
            ("label c<b", r#""targetId":"gone","label":"x""#),
            ("label d<c", r#""targetId":"gone""#),
            ("compaction e<d", r#""firstKeptEntryId":"a""#),
            ("compaction f<e", r#""firstKeptEntryId":"gone""#),
            ("compaction g<f", r#""firstKeptEntryId":null"#),
            ("context_edit h<g", r#""targetId":"a","replacement":null"#),
            ("message i<a", USER),
            ("context_edit j<i", r#""targetId":"h","replacement":null"#),
            ("compaction k<j", r#""firstKeptEntryId":"h""#),
        ];
        assert_eq!(
            found(&entries),
            ["dangling-label c", "dangling-first-kept f", "dangling-edit j", "dangling-first-kept k"]
        );
    }

    #[test]
    fn codes_are_words() {
        let words: HashSet<_> = Code::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        let documented = |word: &&str| include_str!("../../../docs/repair.md").contains(&format!("\n| `{word}` | "));
        assert!(words.iter().all(documented), "docs/repair.md lists every code");
        assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')));
    }
}
