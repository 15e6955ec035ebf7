//! What a scrub of secrets is asked for, and what it reports.

use std::path::PathBuf;

use sessile_core::cancel::Cancel;
use sessile_core::date::Timestamp;
use sessile_redact::{Level, Report};

use super::options::SecretOptions;
use super::scan::SecretFinding;
use crate::error::SessionError;
use crate::scrub::Scrubbed;

/// How to remove secrets from sessions in place.
#[derive(Clone, Default)]
pub struct SecretScrubOptions<'o> {
    /// How much goes: `secrets`, `paths` or `pii`. Headers lose only secrets, because pi finds a session by them.
    pub level: Level,
    /// What counts as a secret.
    pub secrets: SecretOptions,
    /// Whether the other sessions that have the same entries are scrubbed, too: parents, forks and copies.
    pub with_sharing: bool,
    /// Report what would be done, and do nothing.
    pub dry_run: bool,
    /// Keep the originals beside the sessions, with the removed text in them.
    pub keep_original: bool,
    /// Checked before each line, until the first session changes.
    pub cancel: Cancel,
    /// Called with the number of bytes done and the expected total of all passes.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// What a scrub did, or would do. It holds no secret.
#[derive(Debug, Default)]
pub struct SecretScrub {
    /// How much went.
    pub level: Level,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// The sessions, with those that had nothing to remove.
    pub sessions: Vec<ScrubbedSecrets>,
    /// The other sessions that have the same entries and still have text to remove.
    pub sharing: Vec<SharingSession>,
    /// Why sessions could not be scrubbed, or not completely.
    pub failed: Vec<SessionError>,
}

/// A scrubbed session, or one that a dry run would scrub.
#[derive(Clone, Debug)]
pub struct ScrubbedSecrets {
    /// What happened to its files.
    pub scrubbed: Scrubbed,
    /// What happened in its lines.
    pub report: Report,
    /// Its findings before the scrub.
    pub findings: Vec<SecretFinding>,
    /// Files with the whole output of commands that the session names and that still have secrets. They stay.
    pub full_outputs: Vec<PathBuf>,
    /// When the session was created: since then, its secrets may have been on disk.
    pub created: Option<Timestamp>,
}

/// A session that has entries of a scrubbed one, and text to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharingSession {
    /// Its file.
    pub path: PathBuf,
    /// The number of lines with text to remove; `None` if they cannot be read.
    pub n_lines: Option<usize>,
}

impl SecretScrub {
    /// Whether there was anything to do.
    pub fn is_needed(&self) -> bool {
        self.sessions.iter().any(|session| session.scrubbed.is_needed())
    }

    /// The number of secrets found in the sessions.
    pub fn n_findings(&self) -> usize {
        self.sessions.iter().map(|session| session.report.findings()).sum()
    }
}
