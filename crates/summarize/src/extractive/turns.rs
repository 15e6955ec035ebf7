//! Splits a conversation into turns: a request, and what was said and done about it.

use std::collections::{HashMap, HashSet};

use sessile_core::compaction::{Conversation, ConversationPart, Speaker};

use super::failing::looks_failed;

/// The prefix of a message that stands for a command in the user's shell.
const SHELL_OPENING: &str = "Ran `";

/// A request and its results.
#[derive(Debug, Default)]
pub(super) struct Turn<'c> {
    /// The text of the user; empty for the part before the first request.
    pub(super) request: &'c str,
    /// What was said and done, in order.
    pub(super) steps: Vec<TurnStep<'c>>,
}

/// A step of a turn.
#[derive(Debug)]
pub(super) enum TurnStep<'c> {
    /// Text from the model.
    Text(&'c str),
    /// A tool call by the model, or a shell command by the user.
    Call(Call<'c>),
    /// A note from an extension.
    Note(&'c str),
    /// A summary of something else.
    Summary(&'c str),
}

/// A tool call or shell command.
#[derive(Debug)]
pub(super) struct Call<'c> {
    /// The tool's name; `None` for the user's own shell.
    pub(super) tool: Option<&'c str>,
    /// The command it ran, if it is a shell.
    pub(super) command: Option<String>,
    /// The file it worked on.
    pub(super) path: Option<String>,
    /// The outcome.
    pub(super) outcome: CallOutcome,
    /// The beginning of its output.
    pub(super) output: &'c str,
    /// The end of its output.
    pub(super) ending: &'c str,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// Not known.
    Unknown,
    /// Success.
    Fine,
    /// Failure.
    Failed,
}

impl<'c> Turn<'c> {
    /// The calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call<'c>> {
        self.steps.iter().filter_map(|step| match step {
            TurnStep::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The texts from the model.
    pub(super) fn texts(&self) -> impl DoubleEndedIterator<Item = &'c str> {
        self.steps.iter().filter_map(|step| match step {
            TurnStep::Text(text) if !text.trim().is_empty() => Some(*text),
            _ => None,
        })
    }

    /// The final text from the model, with no tool call after it.
    pub(super) fn answer(&self) -> Option<&'c str> {
        match self.steps.iter().rev().find(|step| !matches!(step, TurnStep::Note(_)))? {
            TurnStep::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// Files that were written or edited, each once, in order of the first change.
    pub(super) fn changed(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let changing = self.calls().filter(|call| call.changes_file());
        changing.filter_map(|call| call.path.as_deref()).filter(|path| seen.insert(*path)).collect()
    }
}

impl Call<'_> {
    /// Whether it apparently wrote a file.
    pub(super) fn changes_file(&self) -> bool {
        self.outcome != CallOutcome::Failed && matches!(self.tool, Some("write" | "edit"))
    }
}

/// The turns of a conversation, oldest first. Text before the first request forms a turn without a request.
pub(super) fn turns(conversation: &Conversation) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let mut pending = Pending::default();
    for part in conversation.parts() {
        let text = conversation.text_of(part);
        if part.speaker == Speaker::User {
            turns.push(Turn { request: text, steps: Vec::new() });
            continue;
        }
        if turns.is_empty() {
            turns.push(Turn::default());
        }
        let at_turn = turns.len() - 1;
        let steps = &mut turns[at_turn].steps;
        match part.speaker {
            Speaker::User => {}
            Speaker::Assistant => steps.push(TurnStep::Text(text)),
            Speaker::Extension => steps.push(TurnStep::Note(text)),
            Speaker::Summary => steps.push(TurnStep::Summary(unwrapped(text))),
            Speaker::Shell => steps.push(TurnStep::Call(shell_call(part, text))),
            Speaker::ToolCall => {
                pending.add(part, (at_turn, steps.len()));
                steps.push(TurnStep::Call(tool_call(conversation, part)));
            }
            Speaker::ToolResult => {
                let position = pending.take(part);
                let step = position.and_then(|(turn, step)| turns.get_mut(turn)?.steps.get_mut(step));
                if let Some(TurnStep::Call(call)) = step {
                    (call.output, call.ending) = (text, conversation.ending_of(part));
                    call.outcome = outcome(part, call);
                }
            }
        }
    }
    turns
}

/// Calls whose results have not arrived yet.
#[derive(Default)]
struct Pending<'c> {
    by_id: HashMap<&'c str, (usize, usize)>,
    /// Calls without an id, with their tools.
    others: Vec<(&'c str, (usize, usize))>,
}

impl<'c> Pending<'c> {
    fn add(&mut self, part: &'c ConversationPart, position: (usize, usize)) {
        match part.call_id.as_deref() {
            Some(id) => {
                self.by_id.insert(id, position);
            }
            None => self.others.push((part.tool.as_deref().unwrap_or_default(), position)),
        }
    }

    /// The position of the call that this result belongs to.
    fn take(&mut self, part: &ConversationPart) -> Option<(usize, usize)> {
        if let Some(id) = part.call_id.as_deref() {
            return self.by_id.remove(id);
        }
        let tool = part.tool.as_deref();
        let at = self.others.iter().position(|(called, _)| tool.is_none_or(|tool| tool == *called))?;
        Some(self.others.remove(at).1)
    }
}

fn tool_call<'c>(conversation: &'c Conversation, part: &'c ConversationPart) -> Call<'c> {
    let arguments = conversation.arguments_of(part);
    let text = |names: &[&str]| {
        let found = arguments.iter().find(|(name, _)| names.contains(name));
        found.and_then(|(_, value)| value.as_string()).filter(|text| !text.trim().is_empty())
    };
    Call {
        tool: part.tool.as_deref(),
        command: text(&["command", "cmd"]),
        path: text(&["path", "file_path"]),
        outcome: CallOutcome::Unknown,
        output: "",
        ending: "",
    }
}

/// A shell command by the user, extracted from the text in which the model sees it.
fn shell_call<'c>(part: &'c ConversationPart, text: &'c str) -> Call<'c> {
    let rest = text.strip_prefix(SHELL_OPENING).unwrap_or(text);
    let (command, output) = rest.split_once("`\n").unwrap_or((rest, ""));
    Call {
        tool: None,
        command: Some(command.to_owned()),
        path: None,
        outcome: if part.is_error { CallOutcome::Failed } else { CallOutcome::Fine },
        output,
        ending: output,
    }
}

fn outcome(result: &ConversationPart, call: &Call<'_>) -> CallOutcome {
    // It was stopped, so its outcome is unknown.
    if call.ending.trim_end().ends_with("aborted") {
        return CallOutcome::Unknown;
    }
    let has_failed = result.is_error || (call.command.is_some() && looks_failed(call.output, call.ending));
    if has_failed { CallOutcome::Failed } else { CallOutcome::Fine }
}

/// A summary without the text around it.
fn unwrapped(text: &str) -> &str {
    let inner = text.split_once("<summary>\n").map_or(text, |(_, inner)| inner);
    inner.trim_end().trim_end_matches("</summary>").trim_end()
}

#[cfg(test)]
mod tests {
    use sessile_core::compaction::serialize;
    use sessile_core::json::Raw;

    use super::CallOutcome::{Failed, Fine};
    use super::*;

    #[test]
    fn results_are_matched_to_their_calls() {
        let messages = [
            r#"{"role":"assistant","content":"Hello."}"#,
            r#"{"role":"user","content":"Fix it"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Let me see:"},
                {"type":"toolCall","id":"1","name":"bash","arguments":{"command":"make"}},
                {"type":"toolCall","id":"2","name":"edit","arguments":{"path":"a.rs"}}]}"#,
            r#"{"role":"toolResult","toolCallId":"2","toolName":"edit","isError":true,"content":[{"type":"text","text":"no match"}]}"#,
            r#"{"role":"toolResult","toolCallId":"1","toolName":"bash","content":[{"type":"text","text":"error: boom"}]}"#,
            r#"{"role":"bashExecution","command":"ls","output":"x","exitCode":0}"#,
            r#"{"role":"assistant","content":[{"type":"toolCall","name":"edit","arguments":{"path":"a.rs"}}]}"#,
            r#"{"role":"toolResult","toolName":"edit","content":[{"type":"text","text":"ok"}]}"#,
            r#"{"role":"toolResult","toolCallId":"9","content":[{"type":"text","text":"to nobody"}]}"#,
            r#"{"role":"branchSummary","summary":"other way"}"#,
        ];
        let conversation = serialize(messages.iter().map(|message| Raw::parse(message.as_bytes()).unwrap())).finish();
        let turns = turns(&conversation);
        assert_eq!((turns.len(), turns[0].request, turns[0].answer()), (2, "", Some("Hello.")));
        let calls_seen: Vec<_> = turns[1].calls().map(|call| (call.command.as_deref(), call.outcome)).collect();
        assert_eq!(calls_seen, [(Some("make"), Failed), (None, Failed), (Some("ls"), Fine), (None, Fine)]);
        assert_eq!(turns[1].changed(), ["a.rs"]);
        assert_eq!(turns[1].answer(), None);
        assert!(matches!(turns[1].steps.last(), Some(TurnStep::Summary("other way"))));
    }
}
