//! Queries about a whole session, named as in pi's commands.

use sessile_core::context::{Projection, Settings};
use sessile_core::head::Role;
use sessile_core::json::{JsText, Json, ObjectWriter, Raw};
use sessile_core::stats::{Share, Tally};

use super::SessionManager;
use super::view::TreeNode;
use crate::environment::Zone;
use crate::error::SessionError;

impl SessionManager {
    /// The totals over the entries of all branches.
    pub fn tally(&self) -> Result<Tally, SessionError> {
        let zone = Zone(self.world.environment());
        let mut tally = Tally::default();
        for entry in self.entries() {
            let entry = entry?;
            if let Some(share) = Share::of_line(entry.raw().as_bytes(), &zone) {
                tally.add(&share);
            }
        }
        Ok(tally)
    }

    /// The answer to pi's `get_session_stats`; includes the context usage only if the window size is known.
    pub fn stats_json(&self, window: Option<u64>) -> Result<Json, SessionError> {
        let tally = self.tally()?;
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut stats = ObjectWriter::new();
        if let Some(file) = self.session_file() {
            stats.string("sessionFile", &file.to_string_lossy());
        }
        stats
            .string("sessionId", &self.session_id())
            .integer("userMessages", number(tally.messages.of(Role::User)))
            .integer("assistantMessages", number(tally.messages.of(Role::Assistant)))
            .integer("toolCalls", number(tally.tool_calls))
            .integer("toolResults", number(tally.messages.of(Role::ToolResult)))
            .integer("totalMessages", number(tally.messages.total()));
        let mut tokens = ObjectWriter::new();
        tokens
            .number("input", tally.tokens.input)
            .number("output", tally.tokens.output)
            .number("cacheRead", tally.tokens.cache_read)
            .number("cacheWrite", tally.tokens.cache_write)
            .number("total", tally.tokens.total());
        stats.raw("tokens", tokens.finish().raw()).number("cost", tally.cost);
        let usage = window.map(|window| self.context_usage(window)).transpose()?;
        stats.optional("contextUsage", usage.map(|usage| usage.to_json()).as_ref().map(Json::raw));
        Ok(stats.finish())
    }

    /// The settings in force at the leaf: model and thinking level.
    pub fn context_settings(&self) -> Result<Settings, SessionError> {
        self.settings()
    }

    /// The number of messages in the context at the leaf. Reads little of each message.
    pub fn message_count(&self) -> Result<usize, SessionError> {
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        let mut n_messages = 0;
        for place in 0..rows.len() {
            n_messages += projection.n_messages(place, &mut reading)?;
        }
        Ok(n_messages)
    }

    /// Appends the messages of the context at the leaf to `out` as a JSON array. They are the messages of
    /// [`build_session_context`](Self::build_session_context), written one at a time so that memory holds only one
    /// copy.
    pub fn write_messages(&self, out: &mut Vec<u8>) -> Result<(), SessionError> {
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        let mut is_first = true;
        let n_bytes: u64 = rows.iter().map(|row| self.session.outline.span(*row).len).sum();
        // A message is no longer than its line, except for text that edits and summaries add.
        out.reserve(usize::try_from(n_bytes).unwrap_or_default());
        out.push(b'[');
        for place in 0..rows.len() {
            for message in projection.messages(place, &mut reading)? {
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                out.extend_from_slice(message.raw().as_bytes());
            }
        }
        out.push(b']');
        Ok(())
    }

    /// The text of the last answer in the context; `None` if there is no answer.
    ///
    /// Skips an answer that was aborted before it had any content.
    pub fn last_assistant_text(&self) -> Result<Option<JsText<'static>>, SessionError> {
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        for place in (0..rows.len()).rev() {
            if self.session.outline.role(rows[place]) != Role::Assistant {
                continue;
            }
            for message in projection.messages(place, &mut reading)?.iter().rev() {
                if Role::of(message.raw().get("role")) == Role::Assistant && !is_stopped_in_silence(message.raw()) {
                    let text = answer_text(message.raw());
                    return Ok(Some(text).filter(|text| !text.is_empty()));
                }
            }
        }
        Ok(None)
    }

    /// Appends the whole tree to `out`, nested as in pi's `get_tree`: `[{entry, children, label?, labelTimestamp?}]`.
    ///
    /// Keeps a list of open nodes instead of recursing, so depth costs memory and not stack.
    pub fn write_tree(&self, out: &mut Vec<u8>) -> Result<(), SessionError> {
        let nodes = self.tree()?;
        let mut open: Vec<&TreeNode> = Vec::new();
        out.push(b'[');
        for (n_before, node) in nodes.iter().enumerate() {
            let is_first_child = open.len() == node.depth;
            while open.len() > node.depth {
                open.pop().into_iter().for_each(|done| end_node(done, out));
            }
            if n_before > 0 && !is_first_child {
                out.push(b',');
            }
            out.extend_from_slice(br#"{"entry":"#);
            out.extend_from_slice(self.entry_at(node.row)?.raw().as_bytes());
            out.extend_from_slice(br#","children":["#);
            open.push(node);
        }
        open.into_iter().rev().for_each(|done| end_node(done, out));
        out.push(b']');
        Ok(())
    }
}

fn end_node(node: &TreeNode, out: &mut Vec<u8>) {
    out.push(b']');
    if let Some(label) = &node.label {
        out.extend_from_slice(br#","label":"#);
        out.extend_from_slice(label.value.raw().as_bytes());
        if let Some(timestamp) = &label.timestamp {
            out.extend_from_slice(br#","labelTimestamp":"#);
            out.extend_from_slice(timestamp.raw().as_bytes());
        }
    }
    out.push(b'}');
}

/// Whether an answer was aborted before it had any content.
fn is_stopped_in_silence(message: Raw<'_>) -> bool {
    let is_stopped = message.get("stopReason").and_then(Raw::as_text).is_some_and(|reason| reason == "aborted");
    is_stopped && message.get("content").is_none_or(|content| content.items().next().is_none())
}

/// The text blocks of an answer, joined and trimmed.
fn answer_text(message: Raw<'_>) -> JsText<'static> {
    let mut text = JsText::from("");
    for block in message.get("content").into_iter().flat_map(Raw::items) {
        let is_text = block.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "text");
        if let Some(part) = block.get("text").and_then(Raw::as_text).filter(|_| is_text) {
            text.push(&part);
        }
    }
    text.trim().into_owned()
}
