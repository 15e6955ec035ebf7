//! A temporary status line.

use crate::theme::Ink;
use sessile::date::Timestamp;

/// The message for users whose terminal cannot draw pictures.
pub(crate) const NO_PICTURES: &str =
    "This terminal cannot show pictures; kitty, Ghostty, iTerm2 and WezTerm can, but not inside tmux or screen";

#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    message: Option<(Ink, String, Timestamp)>,
}

impl Status {
    /// Shows a message for some seconds.
    pub(crate) fn show(&mut self, text: impl Into<String>, now: Timestamp, seconds: i64) {
        self.message = Some((Ink::ACCENT, text.into(), now.saturating_add_ms(seconds * 1000)));
    }

    /// Shows an error.
    pub(crate) fn show_error(&mut self, text: impl Into<String>, now: Timestamp) {
        self.message = Some((Ink::BAD, text.into(), now.saturating_add_ms(6000)));
    }

    /// Removes the message unless it is an error.
    pub(crate) fn dismiss(&mut self) {
        self.message = self.message.take().filter(|(ink, ..)| *ink == Ink::BAD);
    }

    pub(crate) fn expire(&mut self, now: Timestamp) {
        if self.message.as_ref().is_some_and(|(_, _, until)| now >= *until) {
            self.message = None;
        }
    }

    pub(crate) fn message(&self) -> Option<(Ink, &str)> {
        self.message.as_ref().map(|(ink, text, _)| (*ink, text.as_str()))
    }
}
