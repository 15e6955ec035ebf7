//! Texts of sessions on their way to another program.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use sessile_redact::{Level, Names, Rewriter, RunKey, is_secret_source};

use super::finder::{Finder, Learned};
use super::names::names;
use super::options::{SecretOptions, random_key};
use super::quiet::quietly;
use crate::error::SessionError;
use crate::redact_error::RedactError;
use crate::sessions::Sessions;

/// Replaces secrets in texts. Equal secrets have equal placeholders while it exists.
pub struct OutgoingTexts {
    finder: Finder,
    key: RunKey,
    level: Level,
    names: Mutex<Names>,
}

/// A text without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutgoingText {
    /// The text. Empty if a rule failed on it.
    pub text: String,
    /// The number of replaced secrets and names.
    pub n_replaced: usize,
    /// Whether a rule failed, so that the text is withheld.
    pub is_withheld: bool,
}

impl Sessions {
    /// Prepares the replacement of secrets in single texts. At the levels `outputs` and `skeleton`, the caller
    /// leaves out what these levels leave out.
    pub fn outgoing_texts(&self, level: Level, secrets: &SecretOptions) -> Result<OutgoingTexts, SessionError> {
        let store_key = if secrets.allowed.is_empty() { None } else { Some(self.saved_store_key()?) };
        let names = names(self.environment(), self.world.os(), level, &[])
            .map_err(|error| RedactError::BadNames { source: error.into() })?;
        Ok(OutgoingTexts {
            finder: Finder::new(secrets, Learned::default(), store_key.as_ref())?,
            key: random_key()?,
            level: level.min(Level::Pii),
            names: Mutex::new(names),
        })
    }
}

impl OutgoingTexts {
    /// A text without secrets.
    pub fn text(&self, text: &str) -> OutgoingText {
        self.part(text, 0..text.len())
    }

    /// A part of a text without secrets. The rest of the text says whether the part is, or belongs to, a secret.
    pub fn part(&self, text: &str, part: Range<usize>) -> OutgoingText {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let rewritten = quietly(|| {
            let mut rewriter = Rewriter::new(&self.finder, &is_secret_source, &self.key, self.level, &mut names);
            let text = rewriter.part(text, part);
            let report = rewriter.report();
            (text, report.rules.values().sum::<usize>() + report.names)
        });
        match rewritten {
            Some((text, n_replaced)) => OutgoingText { text, n_replaced, is_withheld: false },
            None => OutgoingText { is_withheld: true, ..OutgoingText::default() },
        }
    }
}
