//! Extracts the searchable texts of a line.

use crate::date::Timestamp;
use crate::head::{self, Head, Kind, Parsed, Role};
use crate::json::{Raw, Shape};

/// The kind of a document, which decides its weight and whether a filter admits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DocumentKind {
    /// A message from the user.
    User,
    /// Text, thinking and tool calls of the model.
    Assistant,
    /// The result of a tool.
    ToolResult,
    /// A command that the user ran, and its output.
    BashExecution,
    /// A message from an extension.
    Custom,
    /// A summary of a branch or of the earlier conversation.
    Summary,
    /// A name for an entry.
    Label,
    /// A name for the session.
    Name,
    /// Instructions to the model.
    System,
    /// A replacement that the model sees instead of earlier content.
    Edit,
}

impl DocumentKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::User,
        Self::Assistant,
        Self::ToolResult,
        Self::BashExecution,
        Self::Custom,
        Self::Summary,
        Self::Label,
        Self::Name,
        Self::System,
        Self::Edit,
    ];

    /// The code it is stored as.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind stored as this code.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name used by filters. For messages this is the role in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolResult => "toolResult",
            Self::BashExecution => "bashExecution",
            Self::Custom => "custom",
            Self::Summary => "summary",
            Self::Label => "label",
            Self::Name => "name",
            Self::System => "system",
            Self::Edit => "edit",
        }
    }

    /// The kind with this name, in any case. Also accepts the type names of other entries.
    pub fn of_word(word: &str) -> Option<Self> {
        let same = |kind: &&Self| kind.word().eq_ignore_ascii_case(word);
        match word.to_ascii_lowercase().as_str() {
            "tool" | "result" => Some(Self::ToolResult),
            "bash" => Some(Self::BashExecution),
            "compaction" | "branch_summary" | "branchsummary" | "compactionsummary" => Some(Self::Summary),
            "session_info" => Some(Self::Name),
            "custom_message" | "hookmessage" => Some(Self::Custom),
            "context_edit" => Some(Self::Edit),
            _ => Self::ALL.iter().find(same).copied(),
        }
    }
}

/// Receives the texts of a line.
pub trait Texts {
    /// A separate text. A phrase never continues from one text into the next.
    fn text(&mut self, text: &str);

    /// A tool that was called, or that returned a result.
    fn tool(&mut self, name: &str);

    /// The model that answered, with its provider: `anthropic/claude`.
    fn model(&mut self, name: &str);
}

/// The properties of a line besides its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// The kind.
    pub kind: DocumentKind,
    /// The time, if it is in pi's format.
    pub time: Option<Timestamp>,
}

/// Adds the texts of a line to `out`. Returns `None` if it is not an entry with text.
pub fn read_texts(line: &[u8], out: &mut impl Texts) -> Option<Document> {
    let Parsed::Value(head) = head::read(line) else { return None };
    texts_of(&head, Raw::trusted(line.trim_ascii()), out)
}

/// Like [`read_texts`], for a line whose head is known.
pub fn texts_of(head: &Head<'_>, entry: Raw<'_>, out: &mut impl Texts) -> Option<Document> {
    let kind = match head.kind {
        Kind::Message => message_texts(head.role, entry.get("message")?, out)?,
        Kind::Compaction | Kind::BranchSummary => {
            string(entry.get("summary"), out);
            DocumentKind::Summary
        }
        Kind::CustomMessage => {
            content(entry.get("content"), out);
            DocumentKind::Custom
        }
        Kind::ContextEdit => {
            content(entry.get("replacement").and_then(|replacement| replacement.get("content")), out);
            DocumentKind::Edit
        }
        Kind::Label => {
            string(entry.get("label"), out);
            DocumentKind::Label
        }
        Kind::SessionInfo => {
            string(entry.get("name"), out);
            DocumentKind::Name
        }
        Kind::Header
        | Kind::ThinkingLevelChange
        | Kind::ModelChange
        | Kind::Usage
        | Kind::Custom
        | Kind::Unknown
        | Kind::NotObject => return None,
    };
    Some(Document { kind, time: head.time })
}

fn message_texts(role: Role, message: Raw<'_>, out: &mut impl Texts) -> Option<DocumentKind> {
    let kind = match role {
        Role::User => DocumentKind::User,
        Role::Assistant => {
            assistant(message, out);
            return Some(DocumentKind::Assistant);
        }
        Role::ToolResult => {
            if let Some(name) = message.get("toolName").and_then(Raw::as_text) {
                out.tool(&name.to_str());
            }
            DocumentKind::ToolResult
        }
        Role::BashExecution => {
            string(message.get("command"), out);
            string(message.get("output"), out);
            return Some(DocumentKind::BashExecution);
        }
        Role::BranchSummary | Role::CompactionSummary => {
            string(message.get("summary"), out);
            return Some(DocumentKind::Summary);
        }
        Role::Custom | Role::HookMessage => DocumentKind::Custom,
        Role::System => DocumentKind::System,
        Role::None | Role::Other => return None,
    };
    content(message.get("content"), out);
    Some(kind)
}

fn assistant(message: Raw<'_>, out: &mut impl Texts) {
    let (mut content_value, mut provider, mut model, mut error) = (None, None, None, None);
    for member in message.members() {
        let slot = match member.key.as_bytes() {
            br#""content""# => &mut content_value,
            br#""provider""# => &mut provider,
            br#""model""# => &mut model,
            br#""errorMessage""# => &mut error,
            _ => continue,
        };
        *slot = Some(member.value);
    }
    if let Some(model) = model.and_then(Raw::as_text) {
        let provider = provider.and_then(Raw::as_string).unwrap_or_default();
        out.model(&format!("{provider}/{}", model.to_str()));
    }
    content(content_value, out);
    string(error, out);
}

/// The text, or the texts of blocks: text, thinking and tool arguments.
fn content(value: Option<Raw<'_>>, out: &mut impl Texts) {
    let Some(value) = value else { return };
    if value.shape() == Shape::String {
        return string(Some(value), out);
    }
    for block in value.items() {
        let (mut kind, mut text, mut thinking, mut name, mut arguments) = (None, None, None, None, None);
        for member in block.members() {
            let slot = match member.key.as_bytes() {
                br#""type""# => &mut kind,
                br#""text""# => &mut text,
                br#""thinking""# => &mut thinking,
                br#""name""# => &mut name,
                br#""arguments""# => &mut arguments,
                _ => continue,
            };
            *slot = Some(member.value);
        }
        match kind.map(Raw::as_bytes) {
            Some(br#""text""#) => string(text, out),
            Some(br#""thinking""#) => string(thinking, out),
            Some(br#""toolCall""#) => {
                if let Some(name) = name.and_then(Raw::as_text) {
                    out.tool(&name.to_str());
                    out.text(&name.to_str());
                }
                scalars(arguments, out);
            }
            _ => {}
        }
    }
}

fn string(value: Option<Raw<'_>>, out: &mut impl Texts) {
    if let Some(text) = value.and_then(Raw::as_text)
        && !text.is_empty()
    {
        out.text(&text.to_str());
    }
}

/// Adds every string and number inside a value to `out` as a separate text, without keys.
fn scalars(value: Option<Raw<'_>>, out: &mut impl Texts) {
    let Some(value) = value else { return };
    let bytes = value.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            b'"' => string_end(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| at + length)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let scalar = &bytes[at..end];
        at = end;
        if byte != b'"' {
            out.text(&String::from_utf8_lossy(scalar));
        } else if bytes[at..].trim_ascii_start().first() != Some(&b':') {
            string(Some(Raw::trusted(scalar)), out);
        }
    }
}

/// The end of a string in valid JSON, including quotes.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(length) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += length;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct CollectedTexts(Vec<String>);

    impl Texts for CollectedTexts {
        fn text(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
        fn tool(&mut self, name: &str) {
            self.0.push(format!("tool {name}"));
        }
        fn model(&mut self, name: &str) {
            self.0.push(format!("model {name}"));
        }
    }

    #[track_caller]
    fn check(line: &str, kind: Option<DocumentKind>, texts: &[&str]) {
        let mut collected = CollectedTexts::default();
        let document = read_texts(line.as_bytes(), &mut collected);
        assert_eq!(
            (document.map(|document| document.kind), collected.0),
            (kind, texts.iter().map(|it| (*it).to_owned()).collect())
        );
    }

    #[test]
    fn every_kind_of_entry_has_its_texts() {
        let message = |rest: &str| format!(r#"{{"type":"message","id":"a","message":{{{rest}}}}}"#);
        check(&message(r#""role":"user","content":"hi""#), Some(DocumentKind::User), &["hi"]);
        check(
            &message(r#""role":"user","content":[{"type":"text","text":"a\nb"},{"type":"image","data":"AAAA"},null]"#),
            Some(DocumentKind::User),
            &["a\nb"],
        );
        check(
            &message(
                r#""role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"XX"},{"type":"toolCall","id":"c","name":"edit","arguments":{"path":"a.rs","edits":[{"old":"\"x","n": -1.5e3}],"b":true}}],"provider":"p","model":"m","errorMessage":"oh""#,
            ),
            Some(DocumentKind::Assistant),
            &["model p/m", "hm", "tool edit", "edit", "a.rs", "\"x", "-1.5e3", "oh"],
        );
        check(
            &message(
                r#""role":"toolResult","toolName":"read","content":[{"type":"text","text":"x"}],"details":{"y":"z"}"#,
            ),
            Some(DocumentKind::ToolResult),
            &["tool read", "x"],
        );
        check(
            &message(r#""role":"bashExecution","command":"ls","output":"a""#),
            Some(DocumentKind::BashExecution),
            &["ls", "a"],
        );
        check(&message(r#""role":"whoever","content":"a""#), None, &[]);
        check(r#"{"type":"compaction","summary":"s"}"#, Some(DocumentKind::Summary), &["s"]);
        check(r#"{"type":"label","label":"l"}"#, Some(DocumentKind::Label), &["l"]);
        check(r#"{"type":"session_info","name":"n"}"#, Some(DocumentKind::Name), &["n"]);
        check(r#"{"type":"custom_message","content":"c"}"#, Some(DocumentKind::Custom), &["c"]);
        check(r#"{"type":"context_edit","replacement":{"content":"c"}}"#, Some(DocumentKind::Edit), &["c"]);
        check(r#"{"type":"session","id":"c"}"#, None, &[]);
        check(r#"{"type":"label","label":"l""#, None, &[]);
        check("", None, &[]);
    }

    #[test]
    fn nesting_costs_no_stack() {
        let deep = format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","name":"t","arguments":{}"in"{}}}]}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        check(&deep, Some(DocumentKind::Assistant), &["tool t", "t", "in"]);
    }
}
