//! Entries as plain text, with their role and whom to trust.
//!
//! What is shortened here goes through [`Outgoing`] first: no rule recognises a secret of which a cut has left a part.

use std::collections::HashMap;

use sessile::entry::{Entry, Payload};
use sessile::format::head::{Kind, Role};
use sessile::format::picture::Picture;
use sessile::json::Raw;
use sessile::message::{AssistantMessage, BashExecutionMessage, Block, Content, Message, ToolCall, ToolResultMessage};
use sessile_display::picture::picture_text;
use sessile_display::text::{Calls, headline, role_name};

use crate::outgoing::{Outgoing, Trust};

/// How much of an entry to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Detail {
    /// The user and the answers, with one line for each call of a tool.
    Brief,
    /// Also the beginning of results.
    Messages,
    /// Everything.
    Full,
}

impl Detail {
    pub(crate) const WORDS: [(&'static str, Self); 3] =
        [("brief", Self::Brief), ("messages", Self::Messages), ("full", Self::Full)];
}

/// The characters of a result, unless everything is shown.
const MAX_RESULT: usize = 600;

/// The characters of the argument that stands for a call.
const MAX_ARGUMENT: usize = 80;

/// The calls whose results may still come.
const MAX_CALLS: usize = 4096;

/// The text of an entry. It still is what the file says, so it goes out only through `outgoing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) role: String,
    pub(crate) trust: Trust,
    pub(crate) text: String,
}

/// Turns entries into text.
pub(crate) struct Renderer<'r> {
    outgoing: &'r Outgoing<'r>,
    /// Each call in a few words, by the id that its result refers to.
    calls: HashMap<String, String>,
    detail: Detail,
    hides_tool_output: bool,
}

impl<'r> Renderer<'r> {
    pub(crate) fn new(outgoing: &'r Outgoing<'r>, detail: Detail, hides_tool_output: bool) -> Self {
        Self { outgoing, calls: HashMap::new(), detail, hides_tool_output }
    }

    /// Remembers the calls of an answer, so that results can name theirs.
    pub(crate) fn note(&mut self, entry: &Entry) {
        if let Some(Message::Assistant(answer)) = entry.message() {
            self.note_answer(answer);
        }
    }

    /// Like [`note`](Self::note).
    pub(crate) fn note_answer(&mut self, answer: AssistantMessage<'_>) {
        for block in answer.content().blocks() {
            if let Block::ToolCall(call) = block
                && let Some(id) = call.id()
            {
                if self.calls.len() >= MAX_CALLS {
                    self.calls.clear();
                }
                self.calls.insert(id, self.call_line(*call));
            }
        }
    }

    /// The beginning of an entry, for a line of a tree.
    pub(crate) fn line(&self, entry: &Entry, role: &str) -> String {
        let text = match (entry.payload(), entry.message()) {
            (_, Some(Message::ToolResult(result))) => {
                return self.answered(result);
            }
            (_, Some(message)) => self.message(message).map(|rendered| rendered.text),
            (Payload::CustomMessage(custom), _) => Some(self.content(&custom.content())),
            (Payload::Compaction(compaction), _) => compaction.summary(),
            (Payload::BranchSummary(summary), _) => summary.summary(),
            _ => None,
        };
        match text {
            Some(text) if text.trim().is_empty() => format!("{role}: (no text)"),
            Some(text) => format!("{role}: {text}"),
            None => note_text(entry),
        }
    }

    /// The text of an entry; `None` if it is not shown at this level of detail.
    pub(crate) fn render(&mut self, entry: &Entry) -> Option<Rendered> {
        self.note(entry);
        let is_full = self.detail == Detail::Full;
        let rendered = |role: &str, trust, text| Some(Rendered { role: role.to_owned(), trust, text });
        match entry.payload() {
            Payload::Message(message) => self.message(message.message()?),
            Payload::Compaction(compaction) => {
                rendered("compaction", Trust::Model, compaction.summary().unwrap_or_default())
            }
            Payload::BranchSummary(summary) => {
                rendered("branchSummary", Trust::Model, summary.summary().unwrap_or_default())
            }
            Payload::CustomMessage(custom) if self.detail >= Detail::Messages => {
                rendered("custom", Trust::Untrusted, self.content(&custom.content()))
            }
            Payload::CustomMessage(_) => None,
            Payload::Label(_) | Payload::SessionInfo(_) if is_full => rendered("note", Trust::User, note_text(entry)),
            Payload::Unknown(raw) if is_full => rendered("unknown", Trust::Untrusted, raw.to_text().into_owned()),
            Payload::Custom(custom) if is_full => {
                let data = custom.data().map(|data| data.to_text().into_owned()).unwrap_or_default();
                rendered("custom", Trust::Untrusted, format!("{} {data}", note_text(entry)))
            }
            _ if is_full => rendered("note", Trust::Untrusted, note_text(entry)),
            _ => None,
        }
    }

    fn message(&self, message: Message<'_>) -> Option<Rendered> {
        let is_full = self.detail == Detail::Full;
        let (trust, text) = match message {
            Message::User(user) => (Trust::User, self.content(&user.content())),
            Message::Assistant(answer) => (Trust::Model, self.answer(answer)),
            Message::ToolResult(result) => (Trust::Untrusted, self.result(result)?),
            Message::BashExecution(execution) => (Trust::Untrusted, self.execution(execution)),
            Message::BranchSummary(summary) => (Trust::Model, summary.summary().unwrap_or_default()),
            Message::CompactionSummary(summary) => (Trust::Model, summary.summary().unwrap_or_default()),
            other if is_full => (Trust::Untrusted, self.content(&other.content())),
            _ => return None,
        };
        Some(Rendered { role: role_name(message), trust, text })
    }

    fn answer(&self, answer: AssistantMessage<'_>) -> String {
        let mut text = self.content(&answer.content());
        let end = match answer.stop_reason().as_deref() {
            Some("aborted") => "(aborted)".to_owned(),
            Some("error") => {
                format!("(error: {})", self.short(&answer.error_message().unwrap_or_default(), MAX_RESULT))
            }
            Some("length") => "(cut off)".to_owned(),
            _ => return text,
        };
        add_line(&mut text, &end);
        text
    }

    fn result(&self, result: ToolResultMessage<'_>) -> Option<String> {
        let lead = self.answered(result);
        let text = if self.hides_tool_output { "(hidden)".to_owned() } else { self.content(&result.content()) };
        match self.detail {
            Detail::Full => Some(format!("{lead}:\n{text}")),
            Detail::Messages => Some(format!("{lead}:\n{}", self.beginning(&text))),
            Detail::Brief if result.is_error() == Some(true) => {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                Some(format!("{lead}: {}", self.short(first, 200)))
            }
            Detail::Brief => None,
        }
    }

    fn execution(&self, execution: BashExecutionMessage<'_>) -> String {
        let mut text = format!("$ {}", execution.command().unwrap_or_default());
        if self.detail > Detail::Brief {
            let output = if self.hides_tool_output { Some("(hidden)".to_owned()) } else { execution.output() };
            add_line(&mut text, &self.beginning(&output.unwrap_or_default()));
        }
        match execution.exit_code() {
            Some(code) if code != 0.0 => add_line(&mut text, &format!("(exit code {code})")),
            _ => {}
        }
        text
    }

    /// The beginning of a result, with its length if there is more.
    fn beginning(&self, text: &str) -> String {
        if self.detail == Detail::Full || text.chars().nth(MAX_RESULT).is_none() {
            return text.to_owned();
        }
        let end = text.char_indices().nth(MAX_RESULT).map_or(text.len(), |(at, _)| at);
        format!("{}…\n[{} bytes in all]", self.outgoing.start(text, end).as_str(), text.len())
    }

    /// The beginning of a text on one line.
    fn short(&self, text: &str, max_chars: usize) -> String {
        self.outgoing.line(text, max_chars).as_str().to_owned()
    }

    /// The call that a result belongs to, and whether it failed.
    fn answered(&self, result: ToolResultMessage<'_>) -> String {
        let known = result.tool_call_id().and_then(|id| self.calls.get(&id).cloned());
        let call = known.unwrap_or_else(|| {
            format!("[{}]", self.short(&result.tool_name().unwrap_or_else(|| "tool".to_owned()), MAX_ARGUMENT))
        });
        if result.is_error() == Some(true) { format!("{call} failed") } else { call }
    }

    /// A call in a few words: its tool, and the argument that says most.
    fn call_line(&self, call: ToolCall<'_>) -> String {
        let name = self.short(&call.name().unwrap_or_else(|| "tool".to_owned()), MAX_ARGUMENT);
        let text = ["command", "pattern", "query", "url"].iter().find_map(|key| call.text_argument(key));
        let text = text.or_else(|| call.path()).or_else(|| Some(call.arguments()?.to_text().into_owned()));
        format!("[{name}: {}]", self.short(&text.unwrap_or_default(), MAX_ARGUMENT))
    }

    fn content(&self, content: &Content<'_>) -> String {
        match content {
            Content::Text(text) => text.clone(),
            Content::Missing => String::new(),
            Content::Odd(value) => value.to_text().into_owned(),
            Content::Blocks(blocks) => {
                let mut text = String::new();
                for block in blocks {
                    add_line(&mut text, &self.block(*block));
                }
                text
            }
        }
    }

    fn block(&self, block: Block<'_>) -> String {
        let is_full = self.detail == Detail::Full;
        match block {
            Block::Text(text) => text.text().unwrap_or_default(),
            Block::Thinking(thought) if is_full => {
                let thought = thought.thinking().filter(|thought| !thought.trim().is_empty());
                thought.map(|thought| format!("(thinking) {thought}")).unwrap_or_default()
            }
            Block::Thinking(_) => String::new(),
            Block::ToolCall(call) if is_full => whole_call(call),
            Block::ToolCall(call) => self.call_line(call),
            Block::Image(image) => picture_text(&Picture::new(image)),
            other if is_full => other.raw().to_text().into_owned(),
            other => self.short(&other.raw().to_text(), 200),
        }
    }
}

/// An entry that is not a message in one line.
fn note_text(entry: &Entry) -> String {
    let headline = headline(entry, &Calls::default());
    format!("{}{}", headline.lead, headline.text)
}

/// A call with all its arguments.
fn whole_call(call: ToolCall<'_>) -> String {
    let mut text = format!("[call {}]", call.name().unwrap_or_else(|| "tool".to_owned()));
    for argument in call.arguments().into_iter().flat_map(Raw::members) {
        let name = argument.key.as_string().unwrap_or_default();
        let value = argument.value.as_string().unwrap_or_else(|| argument.value.to_text().into_owned());
        let gap = if value.contains('\n') { "\n" } else { " " };
        add_line(&mut text, &format!("{name}:{gap}{value}"));
    }
    text
}

/// Adds a text on a line of its own, unless it is empty.
fn add_line(text: &mut String, line: &str) {
    if line.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Whom the text of an entry comes from.
pub(crate) fn trust_of(kind: Kind, role: Role) -> Trust {
    match (kind, role) {
        (Kind::Label | Kind::SessionInfo, _) | (_, Role::User) => Trust::User,
        (Kind::Compaction | Kind::BranchSummary, _) | (_, Role::Assistant) => Trust::Model,
        _ => Trust::Untrusted,
    }
}
