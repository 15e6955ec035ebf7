//! Prints messages as a conversation for people.

mod entries;

use std::io;

use anstyle::Style;
use sessile::format::picture::Picture;
use sessile::json::{Json, Raw};
use sessile::message::{
    AssistantMessage, BashExecutionMessage, Block, Content, ImageBlock, Message, SystemMessage, ThinkingBlock, Tool,
    ToolCall, ToolResultMessage,
};
use sessile_display::picture::{Protocol, picture_text};
use sessile_display::text::{Calls, call_text, role_name, start};

use crate::screen::{ACCENT, BAD, BOLD, DIM, Line, NAMED, PERSON, PLAIN, Screen, wrapped};
pub(crate) use entries::Annotation;

/// Maximum text width; longer lines are hard to read.
const WIDEST: usize = 100;
/// The indent of text below its heading.
const INDENT: &str = "  ";
/// Lines shown of a command's output, and of a summary.
const MAX_OUTPUT: usize = 8;
const MAX_SUMMARY: usize = 12;
/// Upper bound on the characters of a line that are processed; some may be invisible.
const MAX_FOLDED: usize = 500;

/// How much to show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detail {
    /// Everything: arguments and results of tools, outputs and summaries.
    pub(crate) full: bool,
    /// The thinking of models.
    pub(crate) thinking: bool,
    /// Whole summaries.
    pub(crate) summaries: bool,
    /// How to draw pictures, if at all.
    pub(crate) pictures: Option<Protocol>,
}

/// Prints messages, oldest first, with an empty line between them.
pub(crate) fn print(out: &mut Screen<'_>, messages: &[Json]) -> io::Result<()> {
    let mut transcript = Transcript::new(out, Detail { summaries: true, ..Detail::default() });
    messages.iter().try_for_each(|message| transcript.next(Message::new(message.raw()), &Annotation::default()))
}

/// Whether an answer contains only tool calls.
fn is_bare_call(message: Message<'_>) -> bool {
    let Message::Assistant(answer) = message else { return false };
    let content = answer.content();
    !content.blocks().is_empty() && content.blocks().iter().all(|block| matches!(block, Block::ToolCall(_)))
}

/// Prints a conversation message by message. Keeps a short description of each tool call.
pub(crate) struct Transcript<'t, 's> {
    out: &'t mut Screen<'s>,
    calls: Calls,
    detail: Detail,
    /// The last item printed; decides whether an empty line comes next.
    last: Last,
}

/// The last item printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Result,
    /// A line about a setting or similar.
    Note,
    Message,
}

impl<'t, 's> Transcript<'t, 's> {
    pub(crate) fn new(out: &'t mut Screen<'s>, detail: Detail) -> Self {
        Self { out, calls: Calls::default(), detail, last: Last::Nothing }
    }

    /// Prints the next message, with its label and time.
    pub(crate) fn next(&mut self, message: Message<'_>, annotation: &Annotation) -> io::Result<()> {
        // The result of a call is printed directly below it.
        let is_result = matches!(message, Message::ToolResult(_));
        let is_continuation =
            is_result || (self.last == Last::Result && is_bare_call(message) && annotation.is_empty());
        if self.last != Last::Nothing && !(is_continuation && self.last != Last::Note) {
            self.out.blank()?;
        }
        self.last = if is_result { Last::Result } else { Last::Message };
        self.message(message, annotation)
    }

    fn message(&mut self, message: Message<'_>, annotation: &Annotation) -> io::Result<()> {
        match message {
            Message::System(system) => self.system(system, annotation),
            Message::User(user) => {
                self.heading(PERSON, "user", "", annotation)?;
                self.content(&user.content())
            }
            Message::Assistant(answer) => self.answer(answer, annotation),
            Message::ToolResult(result) => self.result(result, annotation),
            Message::BashExecution(execution) => self.execution(execution, annotation),
            Message::Custom(custom) => {
                self.heading(NAMED, &custom.custom_type().unwrap_or_else(|| "custom".to_owned()), "", annotation)?;
                self.content(&custom.content())
            }
            Message::BranchSummary(summary) => {
                self.summary("summary of another branch", "", &summary.summary().unwrap_or_default(), annotation)
            }
            Message::CompactionSummary(summary) => {
                self.summary("summary of earlier entries", "", &summary.summary().unwrap_or_default(), annotation)
            }
            other => {
                self.heading(DIM, &role_name(other), "", annotation)?;
                self.content(&other.content())
            }
        }
    }

    fn system(&mut self, system: SystemMessage<'_>, annotation: &Annotation) -> io::Result<()> {
        self.heading(DIM, "system", "", annotation)?;
        self.dim("", &system.content().text())?;
        for (name, text) in system.sections().into_iter().flat_map(Raw::properties) {
            self.dim(&format!("{}: ", name.to_str()), &text.as_string().unwrap_or_default())?;
        }
        let names = |tools: Vec<Tool<'_>>| tools.into_iter().filter_map(Tool::name).collect::<Vec<_>>().join(", ");
        for (lead, tools) in [("tools: ", names(system.tools_added())), ("without: ", names(system.tools_removed()))] {
            if !tools.is_empty() {
                self.dim(lead, &tools)?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, answer: AssistantMessage<'_>, annotation: &Annotation) -> io::Result<()> {
        let content = answer.content();
        self.calls.note(&content);
        if !is_bare_call(Message::Assistant(answer)) || !annotation.is_empty() {
            self.heading(ACCENT, "assistant", &answer.model().unwrap_or_default(), annotation)?;
        }
        self.content(&content)?;
        match answer.stop_reason().as_deref() {
            Some("aborted") => self.fold(BAD, "", "(aborted)"),
            Some("error") => self.fold(BAD, "error: ", &answer.error_message().unwrap_or_default()),
            Some("length") => self.fold(BAD, "", "(cut off)"),
            _ => Ok(()),
        }
    }

    fn result(&mut self, result: ToolResultMessage<'_>, annotation: &Annotation) -> io::Result<()> {
        let call = self.calls.answered(result.tool_call_id(), result.tool_name());
        let content = result.content();
        let text = content.text();
        let lead = annotation.put_before(Line::new().text(INDENT));
        let lead =
            if result.is_error() == Some(true) { lead.styled(BAD, "← failed ") } else { lead.styled(DIM, "← ") };
        let lead = annotation.append_to(lead.styled(DIM, &call));
        if self.detail.full {
            self.print(lead)?;
            return self.each_block(&content, DIM);
        }
        let n_lines = text.trim_end().lines().count();
        let size = if n_lines == 1 { "1 line".to_owned() } else { format!("{n_lines} lines") };
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let is_picture_alone = n_lines == 0 && content.blocks().iter().any(|block| matches!(block, Block::Image(_)));
        self.print(if is_picture_alone {
            lead
        } else {
            lead.styled(DIM, &format!(" {size}: ")).styled(DIM, &start(first.trim(), MAX_FOLDED))
        })?;
        let pictures = content.blocks().iter().filter_map(|block| match block {
            Block::Image(image) => Some(*image),
            _ => None,
        });
        pictures.into_iter().try_for_each(|image| self.picture(image))
    }

    fn execution(&mut self, execution: BashExecutionMessage<'_>, annotation: &Annotation) -> io::Result<()> {
        let note = if execution.exclude_from_context() == Some(true) { "not shown to the model" } else { "" };
        self.heading(PERSON, "shell", note, annotation)?;
        self.paragraph(BOLD, &format!("$ {}", execution.command().unwrap_or_default()))?;
        let output = execution.output().unwrap_or_default();
        let lines: Vec<&str> = output.trim_end().lines().collect();
        let max_lines = if self.detail.full { usize::MAX } else { MAX_OUTPUT };
        for line in lines.iter().take(max_lines) {
            self.dim("", line)?;
        }
        if lines.len() > max_lines {
            self.fold(DIM, "", &format!("… {} more lines", lines.len() - max_lines))?;
        }
        match execution.exit_code() {
            _ if execution.cancelled() == Some(true) => self.fold(BAD, "", "(cancelled)"),
            Some(code) if code != 0.0 => self.fold(BAD, "", &format!("(exit code {code})")),
            _ => Ok(()),
        }
    }

    /// Prints a summary; only the beginning of a long one.
    fn summary(&mut self, title: &str, note: &str, text: &str, annotation: &Annotation) -> io::Result<()> {
        self.heading(ACCENT, title, note, annotation)?;
        let lines = wrapped(text, self.text_width());
        let is_whole = self.detail.full || self.detail.summaries;
        let max_lines = if is_whole { usize::MAX } else { MAX_SUMMARY };
        for line in lines.iter().take(max_lines) {
            self.out.print(Line::new().text(INDENT).text(line))?;
        }
        match lines.len().checked_sub(max_lines).filter(|n_more| *n_more > 0) {
            Some(n_more) => self.fold(DIM, "", &format!("… {n_more} more lines")),
            None => Ok(()),
        }
    }

    fn content(&mut self, content: &Content<'_>) -> io::Result<()> {
        self.each_block(content, PLAIN)
    }

    fn each_block(&mut self, content: &Content<'_>, style: Style) -> io::Result<()> {
        match content {
            Content::Text(text) => self.paragraph(style, text),
            Content::Blocks(blocks) => blocks.iter().try_for_each(|block| self.block(*block, style)),
            Content::Missing => Ok(()),
            Content::Odd(value) => self.dim("", &start(&value.to_text(), 200)),
        }
    }

    fn block(&mut self, block: Block<'_>, style: Style) -> io::Result<()> {
        match block {
            Block::Text(text) => self.paragraph(style, &text.text().unwrap_or_default()),
            Block::Thinking(thought) => self.thought(thought),
            Block::ToolCall(call) => self.call(call),
            Block::Image(image) => self.picture(image),
            other if self.detail.full => self.paragraph(DIM, &other.raw().to_text()),
            other => self.fold(DIM, "", &start(&other.raw().to_text(), 200)),
        }
    }

    fn thought(&mut self, thought: ThinkingBlock<'_>) -> io::Result<()> {
        let text = match thought.thinking().filter(|text| !text.trim().is_empty()) {
            Some(text) => text,
            None if thought.redacted() == Some(true) => "(withheld by the provider)".to_owned(),
            None => return Ok(()),
        };
        if self.detail.thinking || self.detail.full {
            self.paragraph(DIM, &format!("thinking: {text}"))
        } else {
            self.fold(DIM, "thinking: ", &text)
        }
    }

    fn call(&mut self, call: ToolCall<'_>) -> io::Result<()> {
        if !self.detail.full {
            return self.fold(ACCENT, "→ ", &call_text(call));
        }
        self.fold(ACCENT, "→ ", &call.name().unwrap_or_else(|| "tool".to_owned()))?;
        for argument in call.arguments().into_iter().flat_map(Raw::members) {
            let name = argument.key.as_string().unwrap_or_default();
            let value = argument.value.as_string().unwrap_or_else(|| argument.value.to_text().into_owned());
            let separator = if value.contains('\n') { ":\n" } else { ": " };
            self.paragraph(DIM, &format!("{name}{separator}{value}"))?;
        }
        Ok(())
    }

    /// Draws a picture if the terminal can show it, else describes it.
    fn picture(&mut self, image: ImageBlock<'_>) -> io::Result<()> {
        if let Some(protocol) = self.detail.pictures
            && let Some(data) = image.data()
            && self.out.picture(protocol, &image.mime_type().unwrap_or_default(), &data)?
        {
            return Ok(());
        }
        self.fold(DIM, "", &picture_text(&Picture::new(image)))
    }

    fn heading(&mut self, style: Style, title: &str, note: &str, annotation: &Annotation) -> io::Result<()> {
        let line = annotation.put_before(Line::new()).styled(style.bold(), title);
        let line = if note.is_empty() { line } else { line.styled(DIM, " · ").styled(DIM, note) };
        self.print(annotation.append_to(line))
    }

    /// Prints wrapped text in full.
    fn paragraph(&mut self, style: Style, text: &str) -> io::Result<()> {
        let lines = wrapped(text, self.text_width());
        lines.iter().try_for_each(|line| self.out.print(Line::new().text(INDENT).styled(style, line)))
    }

    /// Prints less important text: in one line, or in full if everything is wanted.
    fn dim(&mut self, lead: &str, text: &str) -> io::Result<()> {
        if self.detail.full { self.paragraph(DIM, &format!("{lead}{text}")) } else { self.fold(DIM, lead, text) }
    }

    /// Prints text in one line, as much as fits.
    fn fold(&mut self, style: Style, lead: &str, text: &str) -> io::Result<()> {
        // The rest is not processed; it may be megabytes.
        self.print(Line::new().text(INDENT).styled(style, lead).styled(style, &start(text, MAX_FOLDED)))
    }

    fn print(&mut self, line: Line) -> io::Result<()> {
        self.out.print(match self.out.room() {
            Some(width) => line.cut(width.min(WIDEST)),
            None => line,
        })
    }

    fn text_width(&self) -> usize {
        self.out.width().min(WIDEST) - INDENT.len()
    }
}
