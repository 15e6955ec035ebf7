//! Why a scan or a copy failed. No message holds a secret.

use std::path::PathBuf;

use sessile_redact::Refusal;

use crate::settings::SettingsError;

/// Why a scan or a copy failed. No message holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactError {
    /// A rule of the user cannot be used.
    #[error("the rule {rule} cannot be used: {reason}")]
    BadRule {
        /// The name of the rule.
        rule: String,
        /// The reason.
        reason: String,
    },
    /// A line cannot be scanned, so the whole file counts as not scanned.
    #[error("{}, line {line}: {what}", path.display())]
    NotScanned {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The reason.
        what: &'static str,
    },
    /// A line cannot be copied.
    #[error("nothing was written: {}, line {line}: {source}", path.display())]
    Refused {
        /// The session.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The reason.
        source: Refusal,
    },
    /// The names to replace cannot be used.
    #[error("nothing was written: {source}")]
    BadNames {
        /// The reason.
        source: Refusal,
    },
    /// The copy still had findings, so it was removed.
    #[error(
        "nothing was written: the copy of {} still had {n_findings} findings, the first in line {line} ({rule})",
        path.display()
    )]
    SecretsLeft {
        /// The session.
        path: PathBuf,
        /// The number of findings.
        n_findings: usize,
        /// The line of the first one, counted from 1.
        line: u64,
        /// Its rule.
        rule: String,
    },
    /// A level removes more than a scrub in place may.
    #[error("a session in place cannot go to the level {level}; export a copy, or use secrets, paths or pii")]
    NotInPlace {
        /// The level.
        level: sessile_redact::Level,
    },
    /// A value in a file of known secrets cannot be used.
    #[error("{}, line {line}: {what}", path.display())]
    BadSecret {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The text is not the id of a finding.
    #[error("{id:?} is not the id of a finding: the id is the 8 hexadecimal digits at the end of a placeholder")]
    BadId {
        /// The text.
        id: String,
    },
    /// The user's settings cannot be read, so it is not known what counts as a secret.
    #[error("the settings cannot be read: {0}")]
    Settings(#[from] SettingsError),
    /// There is no place for the key of this store.
    #[error("there is no state directory for the key of this store, so there are no stable ids")]
    NoStoreKey,
    /// The system has no random numbers for a key.
    #[error("the system has no random numbers, which placeholders need")]
    NoRandom,
}
