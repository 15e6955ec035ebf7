//! What a redaction did, and why it refuses.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::TooManyNames;

/// What a redaction did. It holds no secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of lines.
    pub lines: u64,
    /// The number of lines that changed.
    pub changed_lines: u64,
    /// The number of secrets found, by rule. Secrets in removed thoughts and pictures count.
    pub rules: BTreeMap<Arc<str>, usize>,
    /// The number of names, addresses and numbers replaced.
    pub names: usize,
    /// The number of thoughts removed with their signatures.
    pub removed_thoughts: usize,
    /// The number of signatures removed from blocks that stay.
    pub removed_signatures: usize,
    /// The number of calls whose ids lost the item that they named.
    pub cut_calls: usize,
    /// The number of pictures replaced.
    pub replaced_pictures: usize,
    /// Files that the session names and that hold the whole output of a command. They are not part of a copy.
    pub full_outputs: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// The number of secrets found.
    pub fn findings(&self) -> usize {
        self.rules.values().sum()
    }
}

/// What the user of a copy should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The copy ends in the middle of a turn, and calls of that turn lost signatures that the model demands.
    #[error(
        "the session ends between a call and its answer, and calls lost their signatures: \
        Gemini 3 refuses to go on from here; go on from an earlier entry, or with another model"
    )]
    SignatureDemanded,
}

/// Why a session cannot be copied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An id or a word of the format is a secret, and no copy changes those.
    #[error("{pointer} is a secret ({rule}), but a copy keeps it")]
    SecretKept {
        /// The id of the entry, if it has one and the id is not the secret.
        entry_id: Option<String>,
        /// The JSON pointer of the string.
        pointer: String,
        /// The rule that found it.
        rule: Arc<str>,
    },
    /// The names to replace are too many.
    #[error(transparent)]
    TooManyNames(#[from] TooManyNames),
    /// The lines do not begin with a header.
    #[error("not a session")]
    NotASession,
}
