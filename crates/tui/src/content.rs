//! Renders a whole entry as lines.

mod code;
mod markdown;
mod pictures;

use sessile::entry::{Entry, Payload};
use sessile::format::picture::Picture;
use sessile::json::Raw;
use sessile::message::{AssistantMessage, Block, Content, Message, ToolCall};
use sessile_display::code::Highlighter;
use sessile_display::measure::number_words;
use sessile_display::picture::picture_text;
use sessile_display::text::{call_text, role_name, start};
use sessile_display::wrapped;
use similar::{ChangeTag, TextDiff};

use crate::paint::Line;
use crate::theme::Ink;
use code::highlighted;
pub(crate) use pictures::{Drawable, entry_pictures};

/// How much of an entry to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Detail {
    /// Whether to show all tool output rather than only its beginning.
    pub(crate) tools: bool,
    pub(crate) thinking: bool,
    /// Upper bound on the lines shown per entry.
    pub(crate) max_lines: usize,
}

/// Lines of tool output shown when output is folded.
const MAX_FOLDED_LINES: usize = 8;

/// Upper bound on the characters of a text that are processed.
const MAX_TEXT_CHARS: usize = 1 << 20;

/// Assumed bytes per line of output; decides how much text to read for a number of lines.
const BYTES_PER_LINE: usize = 80;

/// Renders an entry as lines of at most `width` columns.
pub(crate) fn entry_lines(entry: &Entry, width: usize, detail: Detail) -> Vec<Line> {
    let mut page = Page { width: width.max(8), detail, lines: Vec::new() };
    page.entry(entry);
    let n_more = page.lines.len().saturating_sub(detail.max_lines);
    page.lines.truncate(detail.max_lines);
    if n_more > 0 {
        page.lines.push(more(n_more));
    }
    page.lines
}

fn more(n_lines: usize) -> Line {
    let lines = if n_lines == 1 { "line" } else { "lines" };
    Line::new().ink(Ink::DIM, &format!("… {} more {lines}", number_words(n_lines as u64)))
}

/// Returns the text of an entry for the clipboard.
pub(crate) fn entry_text(entry: &Entry) -> String {
    let or_empty = Option::<String>::unwrap_or_default;
    match entry.payload() {
        Payload::Message(message) => match message.message() {
            Some(Message::BashExecution(run)) => format!("$ {}\n{}", or_empty(run.command()), or_empty(run.output())),
            Some(message) => message.text(),
            None => String::new(),
        },
        Payload::CustomMessage(custom) => custom.content().text(),
        Payload::Compaction(compaction) => or_empty(compaction.summary()),
        Payload::BranchSummary(summary) => or_empty(summary.summary()),
        Payload::Label(label) => or_empty(label.label()),
        Payload::SessionInfo(info) => or_empty(info.name()),
        Payload::ThinkingLevelChange(_)
        | Payload::ModelChange(_)
        | Payload::Usage(_)
        | Payload::Custom(_)
        | Payload::ContextEdit(_)
        | Payload::Unknown(_) => entry.json().to_text().into_owned(),
    }
}

/// Splits a text after at most `max_lines` lines and about `max_bytes` bytes; returns the start and the rest.
fn split_at_line(text: &str, max_lines: usize, max_bytes: usize) -> (&str, Option<&str>) {
    let by_lines = text.match_indices('\n').nth(max_lines.saturating_sub(1)).map(|(at, _)| at);
    let by_bytes = (text.len() > max_bytes).then(|| {
        let from = (0..=max_bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        // A single line that is too long is cut in two.
        text.get(..from).and_then(|start| start.rfind('\n')).unwrap_or(from)
    });
    let Some(at) = by_lines.into_iter().chain(by_bytes).min() else { return (text, None) };
    let (displayed, rest) = text.split_at(at);
    (displayed, Some(rest.strip_prefix('\n').unwrap_or(rest)))
}

struct Page {
    width: usize,
    detail: Detail,
    lines: Vec<Line>,
}

impl Page {
    fn entry(&mut self, entry: &Entry) {
        match entry.payload() {
            Payload::Message(message) => match message.message() {
                Some(message) => self.message(message),
                None => self.raw(entry),
            },
            Payload::CustomMessage(custom) => {
                self.head(Ink::NAMED, &custom.custom_type().unwrap_or_else(|| "custom".to_owned()), "");
                self.content(&custom.content(), false);
            }
            Payload::Compaction(compaction) => {
                let tokens = (compaction.tokens_before().unwrap_or_default() / 1000.0).round();
                self.head(Ink::ACCENT, "compaction", &format!("{tokens}k tokens before"));
                self.markdown(&compaction.summary().unwrap_or_default());
            }
            Payload::BranchSummary(summary) => {
                self.head(Ink::ACCENT, "summary of another branch", "");
                self.markdown(&summary.summary().unwrap_or_default());
            }
            Payload::ThinkingLevelChange(_)
            | Payload::ModelChange(_)
            | Payload::Usage(_)
            | Payload::Custom(_)
            | Payload::ContextEdit(_)
            | Payload::Label(_)
            | Payload::SessionInfo(_)
            | Payload::Unknown(_) => self.raw(entry),
        }
    }

    fn message(&mut self, message: Message<'_>) {
        match message {
            Message::User(user) => {
                self.head(Ink::PERSON, "you", "");
                self.content(&user.content(), false);
            }
            Message::Assistant(answer) => self.answer(answer),
            Message::ToolResult(result) => {
                let is_bad = result.is_error() == Some(true);
                let ink = if is_bad { Ink::BAD } else { Ink::DIM };
                let note = if is_bad { "failed" } else { "" };
                self.head(
                    ink,
                    &format!("result of {}", result.tool_name().unwrap_or_else(|| "a tool".to_owned())),
                    note,
                );
                self.output(&result.content());
            }
            Message::BashExecution(run) => {
                self.head(Ink::PERSON, "shell", "");
                let command = run.command().unwrap_or_default().replace('\n', " ⏎ ");
                let command = highlighted(&mut Highlighter::new("sh"), &command);
                self.lines.extend(Line::new().ink(Ink::DIM, "$ ").join(command).wrapped(self.width, 2));
                self.folded(&run.output().unwrap_or_default());
            }
            Message::Custom(custom) => {
                self.head(Ink::NAMED, &custom.custom_type().unwrap_or_else(|| "custom".to_owned()), "");
                self.content(&custom.content(), false);
            }
            other => {
                self.head(Ink::DIM, &role_name(other), "");
                self.content(&other.content(), true);
            }
        }
    }

    fn answer(&mut self, answer: AssistantMessage<'_>) {
        self.head(Ink::ACCENT, "model", &answer.model().unwrap_or_default());
        self.content(&answer.content(), false);
        if let Some(error) = answer.error_message() {
            self.plain(Ink::BAD, &error);
        }
        if let Some(reason) = answer.stop_reason().filter(|reason| reason != "stop" && reason != "toolUse") {
            self.plain(Ink::BAD, &format!("({reason})"));
        }
    }

    fn head(&mut self, ink: Ink, who: &str, note: &str) {
        let line = Line::new().ink(ink.bold(), who);
        self.lines.push(if note.is_empty() { line } else { line.ink(Ink::DIM, &format!(" · {note}")) }.cut(self.width));
    }

    fn content(&mut self, content: &Content<'_>, is_plain: bool) {
        match content {
            Content::Text(text) if is_plain => self.folded(text),
            Content::Text(text) => self.markdown(text),
            Content::Blocks(blocks) => blocks.iter().for_each(|block| self.block(*block)),
            Content::Missing => {}
            Content::Odd(value) => self.plain(Ink::DIM, &start(&value.to_text(), 2000)),
        }
    }

    fn block(&mut self, block: Block<'_>) {
        match block {
            Block::Text(text) => self.markdown(&text.text().unwrap_or_default()),
            Block::Thinking(thought) => {
                let text = thought.thinking().unwrap_or_default();
                if self.detail.thinking {
                    self.plain(Ink::DIM, &format!("thinking: {text}"));
                } else if !text.trim().is_empty() {
                    self.lines
                        .push(Line::new().ink(Ink::DIM, &start(&format!("thinking: {text}"), 300)).cut(self.width));
                }
            }
            Block::ToolCall(call) => self.call(call),
            Block::Image(image) => {
                self.plain(Ink::DIM, &picture_text(&Picture::new(image)));
            }
            other => self.plain(Ink::DIM, &start(&other.raw().to_text(), 2000)),
        }
    }

    fn call(&mut self, call: ToolCall<'_>) {
        self.lines.push(Line::new().ink(Ink::ACCENT, "→ ").ink(Ink::ACCENT, &call_text(call)).cut(self.width));
        let arguments = call.arguments();
        match call.name().as_deref() {
            Some("edit") => call.edits().iter().for_each(|edit| self.change(&edit.old, &edit.new)),
            Some("write") => {
                let path = call.path().unwrap_or_default();
                self.code(&path, &call.text_argument("content").unwrap_or_default());
            }
            Some("bash") => self.code("x.sh", &call.text_argument("command").unwrap_or_default()),
            _ if self.detail.tools => {
                for argument in arguments.into_iter().flat_map(Raw::members) {
                    let value = argument.value.as_string().unwrap_or_else(|| argument.value.to_text().into_owned());
                    self.plain(Ink::DIM, &format!("  {}: {value}", argument.key.as_string().unwrap_or_default()));
                }
            }
            _ => {}
        }
    }

    /// Shows the removed and added lines of an edit.
    fn change(&mut self, old: &str, new: &str) {
        let (old, new) = (start(old, MAX_TEXT_CHARS), start(new, MAX_TEXT_CHARS));
        let diff = TextDiff::from_lines(&old, &new);
        let mut lines = Vec::new();
        for change in diff.iter_all_changes() {
            let (ink, sign) = match change.tag() {
                ChangeTag::Delete => (Ink::BAD, "- "),
                ChangeTag::Insert => (Ink::ADDED, "+ "),
                ChangeTag::Equal => (Ink::DIM, "  "),
            };
            let text = change.value().trim_end_matches(['\n', '\r']).replace('\t', "    ");
            lines.push(Line::new().ink(ink, sign).ink(ink, &text).cut(self.width));
        }
        self.extend_folded(lines);
    }

    fn code(&mut self, path: &str, text: &str) {
        let mut highlighter = Highlighter::for_file(path);
        let text = start(text, MAX_TEXT_CHARS);
        let lines = text
            .lines()
            .map(|line| Line::new().text("  ").join(highlighted(&mut highlighter, line)).cut(self.width))
            .collect();
        self.extend_folded(lines);
    }

    fn output(&mut self, content: &Content<'_>) {
        match content {
            Content::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        Block::Text(text) => self.folded(&text.text().unwrap_or_default()),
                        other => self.block(*other),
                    }
                }
            }
            Content::Text(text) => self.folded(text),
            other => self.content(other, true),
        }
    }

    /// Shows output that may be folded. Only the part that fits is broken into lines; the lines of the rest are only
    /// counted.
    fn folded(&mut self, text: &str) {
        let text = text.trim_end();
        let max_lines = if self.detail.tools { self.detail.max_lines } else { MAX_FOLDED_LINES };
        let (displayed, rest) = split_at_line(text, max_lines, max_lines.saturating_mul(BYTES_PER_LINE).max(1 << 16));
        let mut lines: Vec<Line> =
            wrapped(displayed, self.width).iter().map(|line| Line::new().ink(Ink::DIM, line)).collect();
        let n_more = rest.map_or(0, |rest| rest.matches('\n').count() + 1) + lines.len().saturating_sub(max_lines);
        lines.truncate(max_lines);
        self.lines.extend(lines);
        if n_more > 0 {
            self.lines.push(more(n_more));
        }
    }

    fn extend_folded(&mut self, lines: Vec<Line>) {
        let max_lines = if self.detail.tools { usize::MAX } else { MAX_FOLDED_LINES };
        let n_more = lines.len().saturating_sub(max_lines);
        self.lines.extend(lines.into_iter().take(max_lines));
        if n_more > 0 {
            self.lines.push(more(n_more));
        }
    }

    fn markdown(&mut self, text: &str) {
        self.lines.extend(markdown::lines(&start(text, MAX_TEXT_CHARS), self.width));
    }

    fn plain(&mut self, ink: Ink, text: &str) {
        let text = start(text, MAX_TEXT_CHARS);
        self.lines.extend(wrapped(&text, self.width).iter().map(|line| Line::new().ink(ink, line)));
    }

    /// Shows the properties of an entry that is not part of the conversation.
    fn raw(&mut self, entry: &Entry) {
        let kind = entry.raw().get("type").and_then(Raw::as_string).unwrap_or_else(|| "?".to_owned());
        self.head(Ink::DIM, &start(&kind, 100), "");
        for (key, value) in entry.raw().properties() {
            let key = key.to_str();
            if ["type", "id", "parentId", "timestamp"].contains(&key.as_ref()) {
                continue;
            }
            let value = value.as_string().unwrap_or_else(|| value.to_text().into_owned());
            self.plain(Ink::DIM, &format!("{key}: {}", start(&value, 2000)));
        }
    }
}

#[cfg(test)]
mod tests {
    use sessile::json::Json;

    use super::*;

    fn displayed(entry: &str, tools: bool) -> Vec<String> {
        let entry = Entry::new(Json::parse(entry).unwrap());
        entry_lines(&entry, 60, Detail { tools, thinking: false, max_lines: 1000 }).iter().map(Line::to_text).collect()
    }

    #[test]
    fn omitted_lines_are_counted() {
        let message_entry = |text: &str| {
            let text = Json::string(text).raw().to_text().into_owned();
            format!(
                "{{\"type\":\"message\",\"message\":{{\"role\":\"toolResult\",\"toolName\":\"t\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}}}"
            )
        };
        let numbers: Vec<String> = (0..100_000).map(|number| format!("{number}")).collect();
        let lines = displayed(&message_entry(&numbers.join("\n")), false);
        assert_eq!((lines.len(), lines[1].as_str(), lines[9].as_str()), (10, "0", "… 99,992 more lines"));
        let lines = displayed(&message_entry(&numbers.join("\n")), true);
        assert_eq!((lines[1000 - 1].as_str(), lines[1000].as_str()), ("998", "… 2 more lines"));
        let lines = displayed(&message_entry(&"x".repeat(1 << 20)), false);
        assert!(lines[8].starts_with("xxx") && lines[9].contains(" more lines"), "{}", lines[9]);
        assert_eq!(displayed(&message_entry("one\ntwo\n"), false).len(), 3);
    }

    #[test]
    fn edits_are_shown_as_changes() {
        let entry = r#"{"type":"message","message":{"role":"assistant","model":"m","content":[{"type":"toolCall","id":"1","name":"edit","arguments":{"path":"a.rs","oldText":"one\ntwo\n","newText":"one\nthree\n"}}]}}"#;
        assert_eq!(displayed(entry, false), ["model · m", "→ [edit: a.rs]", "  one", "- two", "+ three"]);
    }

    #[test]
    fn long_output_is_folded() {
        let output = "line\\n".repeat(20);
        let entry = format!(
            r#"{{"type":"message","message":{{"role":"toolResult","toolName":"bash","content":[{{"type":"text","text":"{output}"}}]}}}}"#
        );
        let few = displayed(&entry, false);
        assert_eq!((few.len(), few.last().unwrap().as_str()), (10, "… 12 more lines"));
        assert_eq!(displayed(&entry, true).len(), 21);
    }

    #[test]
    fn every_entry_has_lines() {
        for entry in [
            r#"{"type":"message","message":{"role":"user","content":"hi \u001b[2J"}}"#,
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#,
            r#"{"type":"compaction","summary":"s","tokensBefore":41870}"#,
            r#"{"type":"label","label":"x","targetId":"y"}"#,
            r#"{"type":"message"}"#,
            "123",
        ] {
            let lines = displayed(entry, true);
            assert!(!lines.is_empty() && !lines.concat().contains('\u{1b}'), "{entry}");
        }
    }
}
