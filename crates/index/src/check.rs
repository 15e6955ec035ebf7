//! Compares caches with the complete content of their sessions.

use std::path::{Path, PathBuf};

use sessile_core::date::Utc;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_store::{FileLog, Log, WriteOptions};

use crate::cache::Caches;
use crate::catalogue::{Catalogue, Gatherer};
use crate::outlines::SavedOutline;

/// A cache that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The cache: `outline`, `catalogue` or `text`.
    pub cache: &'static str,
    /// The session that it belongs to.
    pub path: PathBuf,
    /// Whether it was wrong. If false, only rebuilding it could prove it right or wrong.
    pub is_wrong: bool,
}

impl Caches {
    /// Compares outlines and catalogues with their sessions, and drops the wrong ones.
    ///
    /// Cached data of sessions that are gone or were rewritten is never used, and stays untouched.
    pub fn check(&self, is_cancelled: &dyn Fn() -> bool) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        for path in self.outlined().into_iter().take_while(|_| !is_cancelled()) {
            if !self.check_outline(&path) {
                dropped.push(Dropped { cache: "outline", path, is_wrong: true });
            }
        }
        let mut gatherer = Gatherer::new(self.os().as_ref(), Utc);
        for directory in Catalogue::directories(self).into_iter().take_while(|_| !is_cancelled()) {
            let catalogue = Catalogue::load(self, &directory);
            // Sessions that cannot be read now are not shown either.
            let mut is_wrong = |path: &Path, row| !gatherer.is_correct(path, row).unwrap_or(true);
            let wrong = catalogue.rows().map(|(name, row)| (directory.join(name), row));
            let wrong: Vec<PathBuf> = wrong.filter(|(path, row)| is_wrong(path, *row)).map(|(path, _)| path).collect();
            if !wrong.is_empty() {
                Catalogue::drop_all(self, &directory);
            }
            dropped.extend(wrong.into_iter().map(|path| Dropped { cache: "catalogue", path, is_wrong: true }));
        }
        dropped
    }

    /// Compares the saved outline of a session, if it is in use, with the session. Drops a wrong one and returns false.
    pub fn check_outline(&self, path: &Path) -> bool {
        let Ok(log) = FileLog::open(self.os(), path, WriteOptions::default()) else { return true };
        let Ok(Some(revision)) = log.revision() else { return true };
        let Some(SavedOutline { outline, is_doubtful }) = self.outline(path, &log, revision) else { return true };
        let mut read = Outline::new();
        let scanned = log.scan(0, &mut |line| {
            if line.span.end() < outline.end() {
                read.push(line, &mut StableIds);
            }
        });
        let is_correct = scanned.is_err() || read.save() == outline.save();
        if !is_correct {
            self.drop_outline(path);
        } else if is_doubtful && scanned.is_ok() && read.end() == revision.length {
            // It has now been verified, so it is saved again without doubt.
            drop(self.save_outline(path, &log, revision, &read, false));
        }
        is_correct
    }
}
