//! A temporary status line.

use crate::theme::Ink;

/// The message for users whose terminal cannot draw pictures.
pub(crate) const NO_PICTURES: &str =
    "This terminal draws no pictures, as kitty, Ghostty, iTerm2 and WezTerm do when nothing stands between";

#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    said: Option<(Ink, String, i64)>,
}

impl Status {
    /// Shows a message for some seconds.
    pub(crate) fn say(&mut self, words: impl Into<String>, now_ms: i64, seconds: i64) {
        self.said = Some((Ink::ACCENT, words.into(), now_ms + seconds * 1000));
    }

    /// Shows an error.
    pub(crate) fn complain(&mut self, words: impl Into<String>, now_ms: i64) {
        self.said = Some((Ink::BAD, words.into(), now_ms + 6000));
    }

    /// Removes the message unless it is an error.
    pub(crate) fn dismiss(&mut self) {
        self.said = self.said.take().filter(|(ink, ..)| *ink == Ink::BAD);
    }

    pub(crate) fn at(&mut self, now_ms: i64) {
        if self.said.as_ref().is_some_and(|(_, _, until)| now_ms >= *until) {
            self.said = None;
        }
    }

    pub(crate) fn shown(&self) -> Option<(Ink, &str)> {
        self.said.as_ref().map(|(ink, words, _)| (*ink, words.as_str()))
    }
}
