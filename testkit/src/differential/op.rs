//! The operations, and the requests that make pi perform them.

use std::fmt;

use crate::oracle::quoted;

/// An operation and the time that passes before it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Milliseconds.
    pub tick: i64,
    /// The operation.
    pub op: Op,
}

/// Bytes of a file, shown as text where they are text.
#[derive(Clone)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

/// An entry, by its index among all entries (wrapping around), or a missing one.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The entry at this index.
    At(usize),
    /// A missing entry.
    Missing,
}

impl Target {
    fn request(self) -> String {
        match self {
            Self::At(index) => format!(r#"{{"$entry":{index}}}"#),
            Self::Missing => r#""missing0""#.to_owned(),
        }
    }
}

/// An operation on a session. Fields named after JSON contain JSON text.
#[derive(Clone, Debug)]
pub enum Op {
    /// Creates a session with a file.
    Create,
    /// Creates a session in memory.
    InMemory,
    /// Opens a file with this content.
    Start(Bytes),
    /// Opens the current file again.
    Reopen,
    /// Opens the current file again with the same manager.
    SetFile,
    /// Starts a new session with the same manager.
    NewSession,
    /// `appendMessage`
    Message(String),
    /// `appendThinkingLevelChange`
    Thinking(String),
    /// `appendModelChange`
    Model(String, String),
    /// `appendUsage`
    Usage(String, String, Option<String>),
    /// `appendCompaction`: summary, first kept, tokens, details, from hook, usage.
    Compaction(String, Option<Target>, String, Option<String>, Option<bool>, Option<String>),
    /// `appendCustomEntry`
    Custom(String, Option<String>),
    /// `appendCustomMessageEntry`: type, content, display, details.
    CustomMessage(String, String, bool, Option<String>),
    /// `appendSessionInfo`
    Name(String),
    /// `appendLabelChange`
    Label(Target, Option<String>),
    /// `appendContextEdit`
    ContextEdit(Target, String),
    /// `branch`
    Branch(Target),
    /// `resetLeaf`
    Reset,
    /// `branchWithSummary`: onto, summary, details, from hook, usage.
    BranchSummary(Option<Target>, String, Option<String>, Option<bool>, Option<String>),
    /// `createBranchedSession`
    Extract(Target),
    /// `forkFrom` the current file.
    Fork,
    /// The other engine appends a message to the file, and both open it again.
    Foreign(String),
    /// The other engine appends a message to the file, and ours appends one without opening it again.
    Meanwhile(String, String),
    /// The file is damaged, and both open it again.
    Damage(Damage),
}

/// A way to damage a file.
#[derive(Clone, Debug)]
pub enum Damage {
    /// The last bytes are lost.
    CutEnd(usize),
    /// A line is inserted before the line at this index.
    Insert(usize, Bytes),
    /// The line at this index is duplicated.
    Duplicate(usize),
    /// The line at this index is removed.
    Remove(usize),
    /// Bytes without a newline are appended.
    TornTail(Bytes),
    /// All lines end in CR LF.
    CrLf,
    /// One bit of this byte is flipped.
    FlipBit(usize, u8),
    /// Two lines are swapped.
    Swap(usize, usize),
}

impl Damage {
    /// Returns the damaged file.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        if lines.is_empty() {
            return bytes.to_vec();
        }
        let n_lines = lines.len();
        match self {
            Self::CutEnd(n_bytes) => return bytes[..bytes.len() - n_bytes % bytes.len()].to_vec(),
            Self::Insert(index, line) => lines.insert(index % (n_lines + 1), [&line.0, &b"\n"[..]].concat()),
            Self::Duplicate(index) => lines.insert(index % n_lines, lines[index % n_lines].clone()),
            Self::Remove(index) => drop(lines.remove(index % n_lines)),
            Self::TornTail(tail) => lines.push(tail.0.clone()),
            Self::CrLf => {
                for line in lines.iter_mut().filter(|line| line.ends_with(b"\n")) {
                    line.insert(line.len() - 1, b'\r');
                }
            }
            Self::FlipBit(index, bit) => {
                let mut flipped = bytes.to_vec();
                flipped[index % bytes.len()] ^= 1 << (bit % 8);
                return flipped;
            }
            Self::Swap(one, other) => lines.swap(one % n_lines, other % n_lines),
        }
        lines.concat()
    }
}

fn call(method: &str, args: &[String]) -> String {
    format!(r#"{{"cmd":"call","method":"{method}","args":[{}]}}"#, args.join(","))
}

fn optional(json: Option<&String>) -> String {
    json.cloned().unwrap_or_else(|| r#"{"$undefined":true}"#.to_owned())
}

fn flag(value: Option<bool>) -> String {
    optional(value.map(|value| value.to_string()).as_ref())
}

impl Op {
    /// Returns the request that makes pi perform it; `None` if it takes several steps.
    pub(crate) fn request(&self, session_dir: &str) -> Option<String> {
        Some(match self {
            Self::Create => {
                format!(r#"{{"cmd":"static","method":"create","args":["/proj/dir",{}]}}"#, quoted(session_dir))
            }
            Self::InMemory => r#"{"cmd":"static","method":"inMemory","args":["/proj/dir"]}"#.to_owned(),
            Self::NewSession => call("newSession", &[]),
            Self::Message(message) => call("appendMessage", std::slice::from_ref(message)),
            Self::Thinking(level) => call("appendThinkingLevelChange", &[quoted(level)]),
            Self::Model(provider, model) => call("appendModelChange", &[quoted(provider), quoted(model)]),
            Self::Usage(kind, usage, note) => call(
                "appendUsage",
                &[
                    quoted(kind),
                    quoted("p"),
                    quoted("m"),
                    usage.clone(),
                    optional(note.as_deref().map(quoted).as_ref()),
                ],
            ),
            Self::Compaction(summary, kept, tokens, details, from_hook, usage) => call(
                "appendCompaction",
                &[
                    quoted(summary),
                    kept.map_or_else(|| "null".to_owned(), Target::request),
                    tokens.clone(),
                    optional(details.as_ref()),
                    flag(*from_hook),
                    optional(usage.as_ref()),
                ],
            ),
            Self::Custom(kind, data) => call("appendCustomEntry", &[quoted(kind), optional(data.as_ref())]),
            Self::CustomMessage(kind, content, display, details) => call(
                "appendCustomMessageEntry",
                &[quoted(kind), content.clone(), display.to_string(), optional(details.as_ref())],
            ),
            Self::Name(name) => call("appendSessionInfo", &[quoted(name)]),
            Self::Label(target, label) => {
                call("appendLabelChange", &[target.request(), optional(label.as_deref().map(quoted).as_ref())])
            }
            Self::ContextEdit(target, replacement) => {
                call("appendContextEdit", &[target.request(), replacement.clone()])
            }
            Self::Branch(target) => call("branch", &[target.request()]),
            Self::Reset => call("resetLeaf", &[]),
            Self::BranchSummary(onto, summary, details, from_hook, usage) => call(
                "branchWithSummary",
                &[
                    onto.map_or_else(|| "null".to_owned(), Target::request),
                    quoted(summary),
                    optional(details.as_ref()),
                    flag(*from_hook),
                    optional(usage.as_ref()),
                ],
            ),
            Self::Extract(target) => call("createBranchedSession", &[target.request()]),
            Self::Start(_)
            | Self::Reopen
            | Self::SetFile
            | Self::Fork
            | Self::Foreign(_)
            | Self::Meanwhile(..)
            | Self::Damage(_) => {
                return None;
            }
        })
    }
}
