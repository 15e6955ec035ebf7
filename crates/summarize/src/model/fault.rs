//! Failures of one attempt.

use std::time::Duration;

use sessile_core::compaction::SummaryFailure;

use super::question::Question;

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The caller cancelled.
    Cancelled,
    /// A retry may succeed.
    Transient {
        what: String,
        /// How long the server asks the client to wait.
        retry_after: Option<Duration>,
    },
    /// A retry will not succeed.
    Permanent(String),
    /// The answer cannot be used.
    Unusable(SummaryFailure),
}

impl Fault {
    pub(super) fn transient(what: impl Into<String>) -> Self {
        Self::Transient { what: what.into(), retry_after: None }
    }

    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Describes the fault, without the key.
    pub(super) fn description(&self, question: &Question<'_>) -> String {
        match self {
            Self::Transient { what, .. } | Self::Permanent(what) => question.without_key(what),
            Self::Cancelled => "cancelled".to_owned(),
            Self::Unusable(failure) => question.without_key(&failure.to_string()),
        }
    }

    pub(super) fn into_failure(self, question: &Question<'_>) -> SummaryFailure {
        let retry_after = self.retry_after();
        match self {
            Self::Cancelled => SummaryFailure::Cancelled,
            Self::Unusable(SummaryFailure::Refused { reason }) => {
                SummaryFailure::Refused { reason: question.without_key(&reason) }
            }
            Self::Unusable(failure) => failure,
            Self::Transient { what, .. } | Self::Permanent(what) => {
                let wait = retry_after
                    .map_or_else(String::new, |delay| format!("; the server asks to wait {} s", delay.as_secs()));
                let name = format!("{}/{}", question.provider.name, question.model);
                let message = format!("{name}: {}{wait}", question.without_key(&what));
                SummaryFailure::Failed { message, source: None }
            }
        }
    }
}

/// How many characters of a server's message are shown.
const MAX_SHOWN_CHARACTERS: usize = 300;

/// Prepares a server's text for a message: one line, shortened, without control characters.
pub(super) fn quoted(text: &str) -> String {
    let words: String = text
        .split_whitespace()
        .flat_map(|word| [word, " "])
        .flat_map(str::chars)
        .take(8 * MAX_SHOWN_CHARACTERS)
        .collect();
    let words: String = words.trim().chars().filter(|it| !it.is_control()).collect();
    let mut shown: String = words.chars().take(MAX_SHOWN_CHARACTERS).collect();
    if shown.len() < words.len() {
        shown.push('…');
    }
    shown
}
