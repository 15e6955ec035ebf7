//! Removing files that interrupted programs and rewrites have left over.

pub use sessile_store::LeftoverKind;

use std::path::PathBuf;

use sessile_core::diagnostic::Severity;
use sessile_store::{Leftover, StoreError, find_leftovers, subdirectories};

use crate::directory::sessions_root;
use crate::error::SessionError;
use crate::sessions::Sessions;

/// The minimum age of files that may hold lines of a session, in milliseconds: 30 days.
pub const MIN_AGE_WITH_LINES_MS: i64 = 30 * 24 * 3_600_000;

/// The minimum age of all other files, in milliseconds: an hour.
pub const MIN_AGE_MS: i64 = 3_600_000;

/// What to clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanOptions {
    /// The minimum age of files in milliseconds; else [`MIN_AGE_WITH_LINES_MS`] for originals and guards with lines,
    /// and [`MIN_AGE_MS`] for the rest.
    pub older_than: Option<i64>,
}

/// Why a file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// It is not old enough.
    Young,
    /// A process may need it, or its session exists.
    InUse,
    /// It is the original of a session that is gone or unreadable, so it may be the only copy.
    Needed,
}

impl KeepReason {
    /// The reason as text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::InUse => "in use",
            Self::Needed => "its session is gone or damaged",
        }
    }
}

/// A leftover file, and whether it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: LeftoverKind,
    /// The file it was created for.
    pub of: PathBuf,
    /// Its size.
    pub size: u64,
    /// The time of its last modification, in milliseconds since 1970.
    pub modified_ms: i64,
    /// The start of its age: its last modification or, for an original, the rewrite that left it.
    pub since_ms: i64,
    /// Why it is kept; `None` if it is removed.
    pub keep_reason: Option<KeepReason>,
}

/// The result of cleaning or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Whether files were removed, and not only listed.
    pub applied: bool,
    /// The leftover files, by path. Locks and guards of existing sessions are not included.
    pub files: Vec<LeftOver>,
}

impl Cleaned {
    /// The files that are or would be removed.
    pub fn removed(&self) -> impl Iterator<Item = &LeftOver> {
        self.files.iter().filter(|file| file.keep_reason.is_none())
    }
}

impl Sessions {
    /// Finds leftover files in the store, in the caches and state directories, and in the current directory, where
    /// exports go; removes them if `apply` is set.
    ///
    /// Keeps files that a running process may need, and the originals of unreadable sessions.
    pub fn clean(&self, options: &CleanOptions, apply: bool) -> Result<Cleaned, SessionError> {
        let os = self.world.os();
        let now_ms = os.now_ms();
        let mut cleaned = Cleaned { applied: apply, files: Vec::new() };
        for directory in self.directories_to_clean()? {
            for found in find_leftovers(os, &directory) {
                let is_sidecar = matches!(found.kind, LeftoverKind::Lock | LeftoverKind::Guard);
                if is_sidecar && found.is_in_use(os) {
                    continue;
                }
                let mut keep_reason = self.keep_reason_of(options, &found, now_ms);
                if apply && keep_reason.is_none() {
                    let removed = found.remove(os).map_err(StoreError::io("remove", &found.path))?;
                    keep_reason = (!removed).then_some(KeepReason::InUse);
                }
                cleaned.files.push(LeftOver {
                    size: found.stat.length,
                    modified_ms: found.stat.modified_ms,
                    since_ms: since_ms(&found),
                    path: found.path,
                    kind: found.kind,
                    of: found.of,
                    keep_reason,
                });
            }
        }
        cleaned.files.sort_by(|one, other| one.path.cmp(&other.path));
        cleaned.files.dedup_by(|one, other| one.path == other.path);
        Ok(cleaned)
    }

    fn keep_reason_of(&self, options: &CleanOptions, found: &Leftover, now_ms: i64) -> Option<KeepReason> {
        let os = self.world.os();
        let usual = if found.has_lines(os) { MIN_AGE_WITH_LINES_MS } else { MIN_AGE_MS };
        let is_old = now_ms.saturating_sub(since_ms(found)) >= options.older_than.unwrap_or(usual);
        match () {
            () if found.is_in_use(os) => Some(KeepReason::InUse),
            () if !is_old => Some(KeepReason::Young),
            () if found.kind == LeftoverKind::Original && !self.is_sound(found) => Some(KeepReason::Needed),
            () => None,
        }
    }

    /// Whether the session of an original can be read without loss.
    fn is_sound(&self, original: &Leftover) -> bool {
        let verified = self.clone().read_only().verify(&original.of);
        verified.is_ok_and(|report| report.findings.iter().all(|finding| finding.severity != Severity::Error))
    }

    fn directories_to_clean(&self) -> Result<Vec<PathBuf>, SessionError> {
        let (os, environment) = (self.world.os(), self.environment());
        let mut directories = vec![environment.current_dir()];
        if let Some(directory) = &self.world.session_dir {
            directories.push(directory.clone());
        } else {
            let root = sessions_root(environment);
            directories.extend(subdirectories(os, &root)?);
            directories.push(root);
        }
        for own in [&self.world.cache_dir, &self.world.operations_dir, &self.world.state_dir].into_iter().flatten() {
            directories.extend(subdirectories(os, own).unwrap_or_default());
            directories.push(own.clone());
        }
        directories.sort();
        directories.dedup();
        Ok(directories)
    }
}

/// The time from which the age of a leftover file counts.
fn since_ms(found: &Leftover) -> i64 {
    // An original is younger than its content: it was created when the session was rewritten.
    let made_ms = if found.kind == LeftoverKind::Original { found.stat.changed_ns / 1_000_000 } else { i64::MIN };
    found.stat.modified_ms.max(made_ms)
}
