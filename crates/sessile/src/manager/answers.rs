//! Queries about a whole session, named as in pi's commands.

use sessile_core::context::{Projection, Settings};
use sessile_core::head::Role;
use sessile_core::json::{JsText, Raw};
use sessile_core::outline::Row;
use sessile_core::stats::{Share, Tally};

use super::SessionManager;
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
        for index in 0..rows.len() {
            n_messages += projection.n_messages(index, &mut reading)?;
        }
        Ok(n_messages)
    }

    /// Calls `visit` with each message of the context, oldest first. `rows` are its
    /// [`context_rows`](Self::context_rows).
    ///
    /// They are the messages of [`build_session_context`](Self::build_session_context), read one row at a time, so that
    /// memory need not hold all of them.
    pub fn each_message(&self, rows: &[Row], visit: &mut dyn FnMut(Raw<'_>)) -> Result<(), SessionError> {
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, rows, &zone, &mut reading)?;
        for index in 0..rows.len() {
            projection.messages(index, &mut reading)?.iter().for_each(|message| visit(message.raw()));
        }
        Ok(())
    }

    /// The API through which a model gave the last answer in the context; `None` if another model gave it.
    pub fn model_api(&self, provider: &str, id: &str) -> Result<Option<String>, SessionError> {
        let rows = self.context_rows()?;
        let is_answer = |row: &Row| self.session.outline.role(*row) == Role::Assistant;
        let Some(last) = rows.iter().rposition(is_answer) else { return Ok(None) };
        let rows = &rows[last..=last];
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, rows, &zone, &mut reading)?;
        let messages = projection.messages(0, &mut reading)?;
        let text = |message: Raw<'_>, key: &str| message.get(key).and_then(Raw::as_string);
        let answer = messages.iter().rev().map(|message| message.raw()).find(|message| {
            text(*message, "provider").as_deref() == Some(provider) && text(*message, "model").as_deref() == Some(id)
        });
        Ok(answer.and_then(|message| text(message, "api")))
    }

    /// The text of the last answer in the context; `None` if there is no answer.
    ///
    /// Skips an answer that was aborted before it had any content.
    pub fn last_assistant_text(&self) -> Result<Option<JsText<'static>>, SessionError> {
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        for index in (0..rows.len()).rev() {
            if self.session.outline.role(rows[index]) != Role::Assistant {
                continue;
            }
            for message in projection.messages(index, &mut reading)?.iter().rev() {
                if Role::of(message.raw().get("role")) == Role::Assistant && !is_stopped_in_silence(message.raw()) {
                    let text = answer_text(message.raw());
                    return Ok(Some(text).filter(|text| !text.is_empty()));
                }
            }
        }
        Ok(None)
    }
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
