//! A session as a Markdown document, entry by entry.

mod text;

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};

use crate::date::{Timestamp, to_iso};
use crate::entry::{Entry, Payload};
use crate::header::Header;
use crate::json::{Raw, print};
use crate::message::{
    AssistantMessage, BashExecutionMessage, Block, Content, ImageBlock, Message, TextEdit, ThinkingBlock, ToolCall,
    ToolResultMessage,
};
use crate::picture::{Picture, raster_type};
use text::{code, fenced, flowing, plain, quoted};

/// Additional information about an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryNotes<'b> {
    /// Its label.
    pub label: Option<&'b str>,
    /// Its time, shown in UTC.
    pub time: Option<Timestamp>,
    /// Show only so many lines of each tool output.
    pub max_output_lines: Option<usize>,
    /// Put images into the document instead of a description.
    pub with_images: bool,
}

/// The beginning of the document, which describes the session.
pub fn head(header: &Header, name: Option<&str>) -> String {
    let mut out = format!("# {}\n\n", name.map_or_else(|| "Session".to_owned(), plain));
    let created = header.timestamp().unwrap_or_default();
    for (what, value) in [
        ("Session", header.id().into()),
        ("Directory", header.cwd().unwrap_or_default()),
        ("Created", created),
        ("Forked from", header.parent_session().unwrap_or_default()),
    ] {
        if !value.is_empty() {
            // Writing to a string cannot fail.
            writeln!(out, "- {what}: {}", code(&value)).ok();
        }
    }
    if let Some(redaction) = header.redaction() {
        writeln!(out, "- Redacted: {}", plain(&redaction.words())).ok();
    }
    out
}

/// A line that names the start of another branch, in a document with several branches.
pub fn branch(from: Option<&str>) -> String {
    let details = from.map_or_else(|| "the beginning".to_owned(), code);
    format!("\n---\n\n*Another branch, starting at {details}*\n")
}

/// Formats an entry; empty for entries that matter only to extensions and lists.
pub fn entry(entry: &Entry, notes: EntryNotes<'_>) -> String {
    let some = Option::<String>::unwrap_or_default;
    match entry.payload() {
        Payload::Message(it) => it.message().map(|it| message(it, entry, notes)).unwrap_or_default(),
        Payload::CustomMessage(custom) => {
            let name = custom.custom_type().unwrap_or_else(|| "custom".to_owned());
            heading(&name, entry, notes) + &content(&custom.content(), notes)
        }
        Payload::Compaction(compaction) => {
            let thousands = (compaction.tokens_before().unwrap_or_default() / 1000.0).round();
            let what = format!("Compaction, {thousands}k tokens before");
            format!("\n---\n{}", heading(&what, entry, notes)) + &quoted(&flowing(&some(compaction.summary())))
        }
        Payload::BranchSummary(summary) => {
            heading("Summary of another branch", entry, notes) + &quoted(&flowing(&some(summary.summary())))
        }
        Payload::ModelChange(change) => note("model", &some(change.model_id())),
        Payload::ThinkingLevelChange(change) => note("thinking", &some(change.thinking_level())),
        Payload::SessionInfo(info) => note("name", &some(info.name())),
        Payload::ContextEdit(edit) => {
            let what = if edit.replacement().is_some_and(Raw::is_null) { "context omits" } else { "context replaces" };
            note(what, &edit.target_id().map(|id| id.to_string()).unwrap_or_default())
        }
        Payload::Usage(_) | Payload::Custom(_) | Payload::Label(_) | Payload::Unknown(_) => String::new(),
    }
}

fn message(message: Message<'_>, entry: &Entry, notes: EntryNotes<'_>) -> String {
    match message {
        Message::System(system) => heading("System", entry, notes) + &quoted(&flowing(&system.content().text())),
        Message::User(user) => heading("User", entry, notes) + &content(&user.content(), notes),
        Message::Assistant(it) => answer(it, entry, notes),
        Message::ToolResult(it) => result(it, notes),
        Message::BashExecution(it) => heading("Shell", entry, notes) + &execution(it, notes),
        other => {
            let role = other.raw().get("role").and_then(Raw::as_string).unwrap_or_else(|| "Message".to_owned());
            heading(&role, entry, notes) + &content(&other.content(), notes)
        }
    }
}

/// The heading of an entry, and a line with its time and id.
fn heading(author: &str, entry: &Entry, notes: EntryNotes<'_>) -> String {
    let label = notes.label.map(|label| format!(" · {}", plain(label))).unwrap_or_default();
    let time = notes.time.map(to_iso);
    let time = time.and_then(|time| Some(format!("{} {} UTC", time.get(..10)?, time.get(11..16)?)));
    let details: Vec<String> = time.into_iter().chain(entry.id().map(|id| code(&id.to_string()))).collect();
    let details = if details.is_empty() { String::new() } else { format!("*{}*\n\n", details.join(" · ")) };
    format!("\n## {}{label}\n\n{details}", plain(author))
}

fn note(what: &str, value: &str) -> String {
    format!("\n*{what}: {}*\n", plain(value))
}

fn answer(answer: AssistantMessage<'_>, entry: &Entry, notes: EntryNotes<'_>) -> String {
    let author = answer.model().map_or_else(|| "Assistant".to_owned(), |model| format!("Assistant ({model})"));
    let answer_content = answer.content();
    let is_call = |block: &Block<'_>| matches!(block, Block::ToolCall(_));
    let only_calls = !answer_content.blocks().is_empty() && answer_content.blocks().iter().all(is_call);
    // To a reader, consecutive calls are one answer.
    let begin = if only_calls && notes.label.is_none() { "\n".to_owned() } else { heading(&author, entry, notes) };
    let mut out = begin + &content(&answer_content, notes);
    match answer.stop_reason().as_deref() {
        Some("aborted") => out.push_str("\n*aborted*\n"),
        Some("error") => out.push_str(&note("error", &answer.error_message().unwrap_or_default())),
        Some("length") => out.push_str("\n*truncated*\n"),
        _ => {}
    }
    out
}

fn result(result: ToolResultMessage<'_>, notes: EntryNotes<'_>) -> String {
    let what = if result.is_error() == Some(true) { "tool error" } else { "tool result" };
    let label = notes.label.map(|label| format!(" · {}", plain(label))).unwrap_or_default();
    let name = code(&result.tool_name().unwrap_or_else(|| "tool".to_owned()));
    let content = result.content();
    let mut out = format!("\n*{what}* {name}{label}\n\n");
    let text = content.text();
    if !text.is_empty() {
        out.push_str(&output("", &text, notes));
    }
    for block in content.blocks() {
        if let Block::Image(image) = block {
            out.push_str(&picture(*image, notes));
        }
    }
    out
}

fn execution(execution: BashExecutionMessage<'_>, notes: EntryNotes<'_>) -> String {
    let command = execution.command().unwrap_or_default();
    let text = format!("$ {command}\n{}", execution.output().unwrap_or_default());
    let mut out = output("console", &text, notes);
    if execution.cancelled() == Some(true) {
        out.push_str("\n*cancelled*\n");
    } else if let Some(exit_code) = execution.exit_code().filter(|exit_code| *exit_code != 0.0) {
        out.push_str(&note("exit code", &exit_code.to_string()));
    }
    out
}

fn content(content: &Content<'_>, notes: EntryNotes<'_>) -> String {
    match content {
        Content::Text(text) => flowing(text),
        Content::Blocks(blocks) => blocks.iter().map(|it| block(*it, notes)).collect::<Vec<_>>().join("\n"),
        Content::Missing => String::new(),
        Content::Odd(value) => fenced("json", &value.to_text()),
    }
}

fn block(block: Block<'_>, notes: EntryNotes<'_>) -> String {
    match block {
        Block::Text(text) => flowing(&text.text().unwrap_or_default()),
        Block::Thinking(thought) => thinking(thought),
        Block::ToolCall(it) => call(it),
        Block::Image(image) => picture(image, notes),
        other => fenced("json", &other.raw().to_text()),
    }
}

fn thinking(thought: ThinkingBlock<'_>) -> String {
    match thought.thinking().filter(|text| !text.trim().is_empty()) {
        Some(text) => quoted(&format!("*thinking*\n\n{}", flowing(&text))),
        None => String::new(),
    }
}

/// A tool call with all its arguments.
fn call(call: ToolCall<'_>) -> String {
    let name = call.name().unwrap_or_else(|| "tool".to_owned());
    let arguments = call.arguments();
    let command = call.text_argument("command");
    if let Some(edit) = edit(call).filter(|_| name == "edit") {
        return format!("*tool call* {} {edit}", code(&name));
    }
    if let (Some(path), Some(text)) = (call.path(), call.text_argument("content").filter(|_| name == "write")) {
        return format!("*tool call* {} {}\n\n{}", code(&name), code(&path), fenced("", &text));
    }
    let body = match command.filter(|_| name == "bash") {
        Some(command) => fenced("sh", &command),
        None => arguments.map(|arguments| fenced("json", &print(arguments).to_text())).unwrap_or_default(),
    };
    format!("*tool call* {}\n\n{body}", code(&name))
}

/// The file that an edit changes, and its changes as a diff; `None` if the arguments are not those of an edit.
fn edit(call: ToolCall<'_>) -> Option<String> {
    let path = call.path()?;
    let edits = call.edits();
    if edits.is_empty() {
        return None;
    }
    let mut diff = String::new();
    for TextEdit { old, new } in edits {
        let mut push = |sign: char, line: &str| {
            diff.push(sign);
            diff.push_str(line.trim_end_matches(['\n', '\r']));
            diff.push('\n');
        };
        if old.lines().count().max(new.lines().count()) > MAX_COMPARED {
            old.lines().for_each(|line| push('-', line));
            new.lines().for_each(|line| push('+', line));
        } else {
            for change in TextDiff::from_lines(&old, &new).iter_all_changes() {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                push(sign, change.value());
            }
        }
        diff.push('\n');
    }
    Some(format!("{}\n\n{}", code(&path), fenced("diff", &diff)))
}

/// Longer texts are not compared line by line, because that may take quadratic time.
const MAX_COMPARED: usize = 5000;

/// The output of a tool, cut if the reader wants only some lines.
fn output(language: &str, text: &str, notes: EntryNotes<'_>) -> String {
    let max_lines = notes.max_output_lines.unwrap_or(usize::MAX);
    let n_lines = text.trim_end().lines().count();
    if n_lines <= max_lines {
        return fenced(language, text);
    }
    let shown: Vec<&str> = text.lines().take(max_lines).collect();
    let n_more = n_lines - max_lines;
    let lines = if n_more == 1 { "line" } else { "lines" };
    let shown = if shown.is_empty() { String::new() } else { fenced(language, &shown.join("\n")) + "\n" };
    format!("{shown}*{n_more} more {lines}*\n")
}

fn picture(block: ImageBlock<'_>, notes: EntryNotes<'_>) -> String {
    let picture = Picture::new(block);
    let size = picture.size.map(|(width, height)| format!(", {width}×{height}")).unwrap_or_default();
    let data = block.data().unwrap_or_default();
    match raster_type(&data).filter(|_| notes.with_images) {
        Some(kind) => format!("![{kind}{size}](data:{kind};base64,{data})\n"),
        None => format!("*image: {}{size}, {} bytes*\n", plain(&picture.mime_type), picture.bytes),
    }
}

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn written(line: &str) -> String {
        let notes = EntryNotes { time: Some(Timestamp::from_ms(1_735_689_600_000)), ..EntryNotes::default() };
        entry(&Entry::new(Json::parse(line).unwrap()), notes)
    }

    #[test]
    fn entries_have_headings_and_bodies() {
        for (line, expected) in [
            (
                r##"{"type":"message","id":"a1","message":{"role":"user","content":"# Hi <b>"}}"##,
                "\n## User\n\n*2025-01-01 00:00 UTC · `a1`*\n\n### Hi &lt;b>\n",
            ),
            (
                r#"{"type":"message","message":{"role":"toolResult","toolName":"read","content":[{"type":"text","text":"```"}]}}"#,
                "\n*tool result* `read`\n\n````\n```\n````\n",
            ),
            (r#"{"type":"model_change","modelId":"m-1"}"#, "\n*model: m-1*\n"),
            (r#"{"type":"custom","customType":"x"}"#, ""),
            (r#"{"type":"message"}"#, ""),
        ] {
            assert_eq!(written(line), expected, "{line}");
        }
        let call = r#"{"type":"message","message":{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},
            {"type":"toolCall","name":"bash","arguments":{"command":"ls"}},{"type":"image","mimeType":"image/png","data":""}]}}"#;
        let expected = "\n## Assistant (m)\n\n*2025-01-01 00:00 UTC*\n\n> *thinking*\n>\n> hm\n\n*tool call* `bash`\n\n```sh\nls\n```\n\n*image: image/png, 0 bytes*\n";
        assert_eq!(written(&call.replace('\n', " ")), expected);
    }

    #[test]
    fn output_is_cut_and_images_are_included_on_request() {
        let entry_of = |content: &str| {
            let line = r#"{"type":"message","message":{"role":"toolResult","toolName":"t","content":[CONTENT]}}"#;
            Entry::new(Json::parse(line.replace("CONTENT", content)).unwrap())
        };
        let text = entry_of(r#"{"type":"text","text":"1\n2\n3\n"}"#);
        let cut = |lines: usize| entry(&text, EntryNotes { max_output_lines: Some(lines), ..EntryNotes::default() });
        assert_eq!(cut(3), "\n*tool result* `t`\n\n```\n1\n2\n3\n```\n");
        assert_eq!(cut(2), "\n*tool result* `t`\n\n```\n1\n2\n```\n\n*1 more line*\n");
        assert_eq!(cut(0), "\n*tool result* `t`\n\n*3 more lines*\n");
        let image = |data: &str, with_images| {
            let block = format!(r#"{{"type":"image","mimeType":"image/png","data":"{data}"}}"#);
            entry(&entry_of(&block), EntryNotes { with_images, ..EntryNotes::default() })
        };
        assert!(image("iVBORw0KGgoAAAA=", true).contains("![image/png](data:image/png;base64,iVBORw0KGgoAAAA=)"));
        assert!(!image("iVBORw0KGgoAAAA=", false).contains("data:"));
        assert!(!image("PHN2Zz4=", true).contains("data:"), "SVG can contain scripts");
    }

    #[test]
    fn edits_are_diffs() {
        let call = |arguments: &str| {
            let line = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","name":"edit","arguments":ARGUMENTS}]}}"#;
            written(&line.replace("ARGUMENTS", arguments)).trim_start().to_owned()
        };
        let one = r#"{"path":"a.rs","oldText":"one\ntwo\n","newText":"one\n```\n"}"#;
        assert_eq!(call(one), "*tool call* `edit` `a.rs`\n\n````diff\n one\n-two\n+```\n````\n");
        let several = r#"{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"z","newText":""}]}"#;
        assert_eq!(call(several), "*tool call* `edit` `a`\n\n```diff\n-x\n+y\n\n-z\n```\n");
        assert!(
            call(r#"{"path":"a","edits":[{"oldText":"x"}]}"#).contains("```json"),
            "incomplete edits are shown as JSON"
        );
    }

    #[test]
    fn the_head_describes_the_session() {
        let header = Header::compose("s1", "2025-01-01T00:00:00.000Z", "/p`q", None);
        let expected =
            "# A &lt;b&gt;\n\n- Session: `s1`\n- Directory: ``/p`q``\n- Created: `2025-01-01T00:00:00.000Z`\n";
        assert_eq!(head(&header, Some("A <b>")), expected);
    }
}
