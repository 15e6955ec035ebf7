//! Calls of tools, and their results.

use maud::{Render, html};
use sessile::json::Raw;
use sessile::message::{BashExecutionMessage, Block, Content, NestedCalls, ToolCall, ToolResultMessage};
use sessile_display::text::{call_text, start};

use super::{Format, Head, View, duration_text, usage_text};
use crate::diff::{push_diff, push_written_diff};
use crate::html::Text;
use crate::image::ImageFacts;
use crate::json::indented;

/// The changed lines of an edit that are shown. A reader who needs more opens the session's file.
const MAX_DIFF_LINES: usize = 2000;

impl View<'_> {
    pub(super) fn call(&mut self, call: ToolCall<'_>) {
        let name = call.name().unwrap_or_else(|| "tool".to_owned());
        let title = call_text(call);
        let title = title.strip_prefix('[').and_then(|title| title.strip_suffix(']')).unwrap_or(&title);
        let target = title.strip_prefix(&name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or_default();
        let markup = html! {
            p.call { span.tool { (Text(&name)) } " " @if name != "bash" { code { (Text(target)) } } }
        };
        markup.render_to(&mut self.out);
        let is_drawn = match name.as_str() {
            "bash" => self.text_argument(call, "command", "command", "x.sh"),
            "write" => {
                let path = call.path().unwrap_or_default();
                self.text_argument(call, "content", "code", &path)
            }
            "edit" => self.edits(call),
            "read" => call.path().is_some(),
            "ls" => call.arguments().is_some_and(|arguments| arguments.members().count() <= 1),
            _ => false,
        };
        if !is_drawn {
            self.arguments(call);
        }
        if let Some(error) = call.arguments_error() {
            self.problem(&error);
        }
    }

    /// Writes an argument that is a text; returns whether there is one.
    fn text_argument(&mut self, call: ToolCall<'_>, key: &str, class: &str, file: &str) -> bool {
        let Some(text) = call.text_argument(key) else { return false };
        self.folded(class, Format::Code(file.to_owned()), &text);
        true
    }

    fn edits(&mut self, call: ToolCall<'_>) -> bool {
        let edits = call.edits();
        for edit in &edits {
            let mut lines = String::new();
            let n_lines = push_diff(&mut lines, &edit.old, &edit.new);
            if n_lines > MAX_DIFF_LINES {
                self.folded("output", Format::Output, &edit.old);
                self.folded("output", Format::Output, &edit.new);
            } else {
                self.out.push_str("<pre class=diff tabindex=0>");
                self.out.push_str(&lines);
                self.out.push_str("</pre>");
            }
        }
        !edits.is_empty()
    }

    /// Writes all arguments, one per line.
    fn arguments(&mut self, call: ToolCall<'_>) {
        let Some(arguments) = call.arguments() else { return self.odd("tool call", call.raw()) };
        let members: Vec<(String, String)> = arguments
            .members()
            .map(|member| {
                let value = member.value.as_string().unwrap_or_else(|| indented(member.value));
                (member.key.as_string().unwrap_or_default(), value)
            })
            .collect();
        if members.is_empty() && arguments.to_text() != "{}" {
            return self.odd("tool call", call.raw());
        }
        let text: Vec<String> = members.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        self.folded("arguments", Format::Output, &text.join("\n"));
    }

    pub(super) fn result(&mut self, result: ToolResultMessage<'_>) -> Head {
        let name = result.tool_name().unwrap_or_else(|| "a tool".to_owned());
        let is_error = result.is_error() == Some(true);
        if !self.context.has_call {
            self.aside("The call that this result belongs to is not in the session.");
        }
        let format = match self.context.call_path.as_deref() {
            Some(path) if name == "read" && !is_error => Format::Code(path.to_owned()),
            _ => Format::Output,
        };
        self.output(&result.content(), &format, result.raw());
        if let Some(diff) = result.details().and_then(|details| details.get("diff")).and_then(Raw::as_string) {
            self.out
                .push_str("<details class=rest><summary>Diff with line numbers</summary><pre class=diff tabindex=0>");
            push_written_diff(&mut self.out, &start(&diff, 64 << 10));
            self.out.push_str("</pre></details>");
        }
        if let Some(nested) = result.nested_calls() {
            self.nested(&nested);
        }
        Head::new(if is_error { "result failed" } else { "result" }, format!("Result of {name}"))
            .note(is_error.then(|| "failed".to_owned()))
            .note(self.context.call_path.clone())
            .note(usage_text(result.usage()))
            .note(result.duration_ms().map(duration_text))
    }

    fn output(&mut self, content: &Content<'_>, format: &Format, owner: Raw<'_>) {
        let class = if matches!(format, Format::Code(_)) { "code" } else { "output" };
        match content {
            Content::Text(text) => self.folded(class, format.clone(), text),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        Block::Text(text) => match text.text() {
                            Some(text) => self.folded(class, format.clone(), &text),
                            None => self.odd("text block", text.raw()),
                        },
                        Block::Image(image) => self.image(&ImageFacts::new(*image)),
                        other => self.odd("block", other.raw()),
                    }
                }
            }
            Content::Missing | Content::Odd(_) => self.odd("result", owner),
        }
    }

    /// Writes the calls that a tool made to other tools.
    fn nested(&mut self, nested: &NestedCalls<'_>) {
        let calls = nested.calls();
        if calls.is_empty() {
            return;
        }
        let markup = html! {
            details.rest { summary { "Nested calls (" (calls.len()) ")" }
                ul { @for call in calls.iter().take(500) {
                    li { span.tool { (Text(&call.name().unwrap_or_default())) } " "
                        code { (Text(&start(&call.arguments().map(|it| it.to_text().into_owned()).unwrap_or_default(), 500))) }
                        @for note in [call.status(), call.duration_ms().map(duration_text),
                            call.error().map(|error| start(&error.to_text(), 500))].into_iter().flatten() {
                            " · " (Text(&note))
                        } }
                } } }
        };
        markup.render_to(&mut self.out);
    }

    pub(super) fn execution(&mut self, run: BashExecutionMessage<'_>) -> Head {
        let (command, output) = (run.command(), run.output());
        match &command {
            Some(command) => self.folded("command", Format::Code("x.sh".to_owned()), command),
            None => self.odd("command", run.raw()),
        }
        match output {
            Some(output) => self.folded("output", Format::Output, &output),
            None if command.is_some() => self.odd("output", run.raw()),
            None => {}
        }
        let exit_code = run.raw().get("exitCode").filter(|code| !code.is_null() && code.as_number() != Some(0.0));
        Head::new("shell", "Shell")
            .note(exit_code.map(|code| format!("exit code {}", start(&code.to_text(), 40))))
            .note((run.cancelled() == Some(true)).then(|| "cancelled".to_owned()))
            .note((run.truncated() == Some(true)).then(|| "truncated".to_owned()))
            .note((run.exclude_from_context() == Some(true)).then(|| "not in the context".to_owned()))
    }
}
