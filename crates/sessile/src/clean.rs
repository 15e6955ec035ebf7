//! Taking away what interrupted programs and rewrites have left over.

use std::path::PathBuf;

use sessile_core::date::to_iso;
use sessile_core::diagnostic::Severity;
use sessile_core::json::{Json, ObjectWriter};
use sessile_store::{Leftover, LeftoverKind, StoreError, find_leftovers, subdirectories};

use crate::error::SessionError;
use crate::manager::Sessions;
use crate::place::{given_dir, sessions_root};

/// How old what may hold lines of a session must be, in milliseconds: 30 days.
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// How old everything else must be, in milliseconds: an hour.
pub const TEMPORARY_MS: i64 = 3_600_000;

/// What to clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaning {
    /// How old files must be, in milliseconds; else [`KEPT_MS`] for originals and guards with lines, and
    /// [`TEMPORARY_MS`] for the rest.
    pub older_than: Option<i64>,
    /// The directory of sessions; else all of the store.
    pub session_dir: Option<PathBuf>,
}

/// Why a file stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It is not old enough.
    Young,
    /// Some process may need it, or the session it belongs to is there.
    InUse,
    /// It is the original of a session that is gone or cannot be read, so it may be all that is left.
    Needed,
}

impl Stays {
    /// The reason in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::InUse => "in use",
            Self::Needed => "its session is gone or damaged",
        }
    }
}

/// A file that is left over, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: LeftoverKind,
    /// The file it was made for.
    pub of: PathBuf,
    /// How large it is.
    pub size: u64,
    /// When it was last written, in milliseconds.
    pub modified_ms: i64,
    /// Why it stays; none if it goes.
    pub stays: Option<Stays>,
}

/// What was found, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Whether files were removed, rather than only looked for.
    pub applied: bool,
    /// What is left over, by path. Locks and guards of sessions that exist are not.
    pub files: Vec<LeftOver>,
}

impl Cleaned {
    /// The files that go, or are gone.
    pub fn removed(&self) -> impl Iterator<Item = &LeftOver> {
        self.files.iter().filter(|file| file.stays.is_none())
    }

    /// It as JSON: `{applied, bytes, files: [{path, kind, of, size, modified, stays?}]}`; bytes are those that go.
    pub fn to_json(&self) -> Json {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let files: Vec<Json> = (self.files.iter())
            .map(|file| {
                let mut json = ObjectWriter::new();
                json.string("path", &file.path.to_string_lossy())
                    .string("kind", file.kind.word())
                    .string("of", &file.of.to_string_lossy())
                    .integer("size", number(file.size))
                    .string("modified", &to_iso(file.modified_ms));
                if let Some(stays) = file.stays {
                    json.string("stays", stays.word());
                }
                json.finish()
            })
            .collect();
        let mut json = ObjectWriter::new();
        json.bool("applied", self.applied).integer("bytes", number(self.removed().map(|file| file.size).sum()));
        json.array("files", files.iter().map(Json::raw)).finish()
    }
}

impl Sessions {
    /// Finds what is left over in the store, among the caches and notes, and in the current directory, where exports
    /// go; removes it if `apply` says so.
    ///
    /// What a running process may need stays, and so does the original of a session that cannot be read.
    pub fn clean(&self, cleaning: &Cleaning, apply: bool) -> Result<Cleaned, SessionError> {
        let os = self.world.os();
        let now_ms = os.now_ms();
        let mut cleaned = Cleaned { applied: apply, files: Vec::new() };
        for directory in self.littered_directories(cleaning)? {
            for found in find_leftovers(os, &directory) {
                let is_sidecar = matches!(found.kind, LeftoverKind::Lock | LeftoverKind::Guard);
                if is_sidecar && found.is_in_use(os) {
                    continue;
                }
                let mut stays = self.why_it_stays(cleaning, &found, now_ms);
                if apply && stays.is_none() {
                    let removed = found.remove(os).map_err(StoreError::io("remove", &found.path))?;
                    stays = (!removed).then_some(Stays::InUse);
                }
                cleaned.files.push(LeftOver {
                    size: found.stat.length,
                    modified_ms: found.stat.modified_ms,
                    path: found.path,
                    kind: found.kind,
                    of: found.of,
                    stays,
                });
            }
        }
        cleaned.files.sort_by(|one, other| one.path.cmp(&other.path));
        cleaned.files.dedup_by(|one, other| one.path == other.path);
        Ok(cleaned)
    }

    fn why_it_stays(&self, cleaning: &Cleaning, found: &Leftover, now_ms: i64) -> Option<Stays> {
        let os = self.world.os();
        let usual = if found.has_lines(os) { KEPT_MS } else { TEMPORARY_MS };
        // An original is younger than what is in it: it was made when the session got another version.
        let made_ms = if found.kind == LeftoverKind::Original { found.stat.changed_ns / 1_000_000 } else { i64::MIN };
        let newest_ms = found.stat.modified_ms.max(made_ms);
        let is_old = now_ms.saturating_sub(newest_ms) >= cleaning.older_than.unwrap_or(usual);
        match () {
            () if found.is_in_use(os) => Some(Stays::InUse),
            () if !is_old => Some(Stays::Young),
            () if found.kind == LeftoverKind::Original && !self.is_sound(found) => Some(Stays::Needed),
            () => None,
        }
    }

    /// Whether the session that an original belongs to can be read without loss.
    fn is_sound(&self, original: &Leftover) -> bool {
        let verified = self.clone().read_only().verify(&original.of);
        verified.is_ok_and(|report| report.findings.iter().all(|finding| finding.severity != Severity::Error))
    }

    fn littered_directories(&self, cleaning: &Cleaning) -> Result<Vec<PathBuf>, SessionError> {
        let (os, environment) = (self.world.os(), self.environment());
        let mut directories = vec![environment.current_dir()];
        if let Some(directory) = given_dir(environment, cleaning.session_dir.as_deref()) {
            directories.push(directory);
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
