//! Messages as a conversation for people.

use std::io;

use anstyle::Style;
use sessile::json::{Json, Raw};
use sessile::message::{
    AssistantMessage, BashExecutionMessage, Block, Content, Message, SystemMessage, ToolResultMessage,
};

use crate::describe::{Calls, call_words, role_word, start};
use crate::screen::{ACCENT, BAD, BOLD, DIM, Line, NAMED, PERSON, PLAIN, Screen, wrapped};

/// How wide text may become; longer lines are hard to read.
const WIDEST: usize = 100;
/// How far text stands in from its heading.
const INDENT: &str = "  ";
/// How many lines of a command's output are shown.
const MOST_OUTPUT: usize = 8;

/// Prints messages, oldest first, with an empty line between them.
pub(crate) fn print(out: &mut Screen<'_>, messages: &[Json]) -> io::Result<()> {
    let mut transcript = Transcript { out, calls: Calls::default() };
    let mut was_result = false;
    for (n_before, message) in messages.iter().enumerate() {
        let message = Message::new(message.raw());
        // What came of a call stands right below it.
        let is_result = matches!(message, Message::ToolResult(_));
        if n_before > 0 && !(is_result || (was_result && is_bare_call(message))) {
            transcript.out.blank()?;
        }
        transcript.message(message)?;
        was_result = is_result;
    }
    Ok(())
}

/// Whether an answer does nothing but call tools.
fn is_bare_call(message: Message<'_>) -> bool {
    let Message::Assistant(answer) = message else { return false };
    let content = answer.content();
    !content.blocks().is_empty() && content.blocks().iter().all(|block| matches!(block, Block::ToolCall(_)))
}

struct Transcript<'t, 's> {
    out: &'t mut Screen<'s>,
    calls: Calls,
}

impl Transcript<'_, '_> {
    fn message(&mut self, message: Message<'_>) -> io::Result<()> {
        match message {
            Message::System(system) => self.system(system),
            Message::User(user) => {
                self.heading(PERSON, "user", "")?;
                self.content(&user.content())
            }
            Message::Assistant(answer) => self.answer(answer),
            Message::ToolResult(result) => self.result(result),
            Message::BashExecution(execution) => self.execution(execution),
            Message::Custom(custom) => {
                self.heading(NAMED, &custom.custom_type().unwrap_or_else(|| "custom".to_owned()), "")?;
                self.content(&custom.content())
            }
            Message::BranchSummary(summary) => {
                self.heading(ACCENT, "summary of another branch", "")?;
                self.paragraph(PLAIN, &summary.summary().unwrap_or_default())
            }
            Message::CompactionSummary(summary) => {
                self.heading(ACCENT, "summary of what came before", "")?;
                self.paragraph(PLAIN, &summary.summary().unwrap_or_default())
            }
            other => {
                self.heading(DIM, &role_word(other), "")?;
                self.content(&other.content())
            }
        }
    }

    fn system(&mut self, system: SystemMessage<'_>) -> io::Result<()> {
        self.heading(DIM, "system", "")?;
        self.fold(DIM, "", &system.content().text())?;
        for section in system.sections().into_iter().flat_map(Raw::members) {
            let name = section.key.as_string().unwrap_or_default();
            self.fold(DIM, &format!("{name}: "), &section.value.as_string().unwrap_or_default())?;
        }
        let names = |tools: Vec<sessile::message::Tool<'_>>| -> String {
            tools.into_iter().filter_map(sessile::message::Tool::name).collect::<Vec<_>>().join(", ")
        };
        for (lead, tools) in [("tools: ", names(system.tools_added())), ("without: ", names(system.tools_removed()))] {
            if !tools.is_empty() {
                self.fold(DIM, lead, &tools)?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, answer: AssistantMessage<'_>) -> io::Result<()> {
        let content = answer.content();
        self.calls.note(&content);
        if !is_bare_call(Message::Assistant(answer)) {
            self.heading(ACCENT, "assistant", &answer.model().unwrap_or_default())?;
        }
        self.content(&content)?;
        match answer.stop_reason().as_deref() {
            Some("aborted") => self.fold(BAD, "", "(aborted)"),
            Some("error") => self.fold(BAD, "error: ", &answer.error_message().unwrap_or_default()),
            Some("length") => self.fold(BAD, "", "(cut off)"),
            _ => Ok(()),
        }
    }

    fn result(&mut self, result: ToolResultMessage<'_>) -> io::Result<()> {
        let call = self.calls.answered(result.tool_call_id(), result.tool_name());
        let text = result.content().text();
        let n_lines = text.trim_end().lines().count();
        let size = if n_lines == 1 { "1 line".to_owned() } else { format!("{n_lines} lines") };
        let lead = Line::new().text(INDENT);
        let lead =
            if result.is_error() == Some(true) { lead.styled(BAD, "← failed ") } else { lead.styled(DIM, "← ") };
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line = lead.styled(DIM, &call).styled(DIM, &format!(" {size}: ")).styled(DIM, first.trim());
        self.print(line)
    }

    fn execution(&mut self, execution: BashExecutionMessage<'_>) -> io::Result<()> {
        let note = if execution.exclude_from_context() == Some(true) { "not shown to the model" } else { "" };
        self.heading(PERSON, "shell", note)?;
        self.paragraph(BOLD, &format!("$ {}", execution.command().unwrap_or_default()))?;
        let output = execution.output().unwrap_or_default();
        let lines: Vec<&str> = output.trim_end().lines().collect();
        for line in lines.iter().take(MOST_OUTPUT) {
            self.fold(DIM, "", line)?;
        }
        if lines.len() > MOST_OUTPUT {
            self.fold(DIM, "", &format!("… {} more lines", lines.len() - MOST_OUTPUT))?;
        }
        match execution.exit_code() {
            _ if execution.cancelled() == Some(true) => self.fold(BAD, "", "(cancelled)"),
            Some(code) if code != 0.0 => self.fold(BAD, "", &format!("(exit code {code})")),
            _ => Ok(()),
        }
    }

    fn content(&mut self, content: &Content<'_>) -> io::Result<()> {
        match content {
            Content::Text(text) => self.paragraph(PLAIN, text),
            Content::Blocks(blocks) => blocks.iter().try_for_each(|block| self.block(*block)),
            Content::Missing => Ok(()),
            Content::Odd(value) => self.fold(DIM, "", &start(&value.to_text(), 200)),
        }
    }

    fn block(&mut self, block: Block<'_>) -> io::Result<()> {
        match block {
            Block::Text(text) => self.paragraph(PLAIN, &text.text().unwrap_or_default()),
            Block::Thinking(thought) => self.fold(DIM, "thinking: ", &thought.thinking().unwrap_or_default()),
            Block::ToolCall(call) => self.fold(ACCENT, "→ ", &call_words(call)),
            Block::Image(image) => self.fold(DIM, "", &format!("[image: {}]", image.mime_type().unwrap_or_default())),
            other => self.fold(DIM, "", &start(&other.raw().to_text(), 200)),
        }
    }

    fn heading(&mut self, style: Style, who: &str, note: &str) -> io::Result<()> {
        let line = Line::new().styled(style.bold(), who);
        self.print(if note.is_empty() { line } else { line.styled(DIM, " · ").styled(DIM, note) })
    }

    /// Text in full, broken into lines.
    fn paragraph(&mut self, style: Style, text: &str) -> io::Result<()> {
        let width = self.out.width().min(WIDEST) - INDENT.len();
        wrapped(text, width).iter().try_for_each(|line| self.out.print(Line::new().text(INDENT).styled(style, line)))
    }

    /// Text in one line, as much as fits.
    fn fold(&mut self, style: Style, lead: &str, text: &str) -> io::Result<()> {
        self.print(Line::new().text(INDENT).styled(style, lead).styled(style, text))
    }

    fn print(&mut self, line: Line) -> io::Result<()> {
        let width = self.out.width().min(WIDEST);
        self.out.print(line.cut(width))
    }
}
