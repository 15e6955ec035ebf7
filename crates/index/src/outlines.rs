//! Saved outlines, which avoid reading whole sessions.

use std::path::{Path, PathBuf};

use sessile_core::location::{fingerprint, path_text};
use sessile_core::outline::{Outline, SAVED_VERSION, SavedBytes};
use sessile_store::{Log, Revision, StoreError};

use crate::cache::{Caches, Kind};
use crate::mark::{Freshness, Mark};

/// The cache kind of saved outlines.
pub const OUTLINES: Kind = Kind { directory: "outlines", tag: *b"OUTL", version: SAVED_VERSION, files: &[] };

/// Longer than any path.
const LONGEST_PATH: usize = 1 << 20;

/// A saved outline.
#[derive(Debug)]
pub struct SavedOutline {
    /// The outline.
    pub outline: Outline,
    /// Whether the file may have been changed since, at a place that was not compared.
    pub is_doubtful: bool,
}

impl Caches {
    /// Loads the saved outline of a session, if the file still has the prefix that it covers.
    ///
    /// It extends to [`Outline::end`]; the caller adds what follows in the file. `revision` is the current one. If
    /// the outline is doubtful, compare each line with its row when reading it.
    pub fn outline(&self, path: &Path, log: &dyn Log, revision: Revision) -> Option<SavedOutline> {
        let mut saved = self.reader(OUTLINES, &name(path))?;
        let mut mark = [0; Mark::LEN];
        saved.read(&mut mark)?;
        let mark = Mark::from_bytes(&mark);
        let expected = of_path(path);
        let mut found = vec![0; expected.len()];
        saved.read(&mut found)?;
        if found != expected {
            return None;
        }
        // Cheaper than the checksum of a prefix, and enough to reject most stale ones.
        let is_shorter = revision.length < mark.end();
        let freshness = if is_shorter { Freshness::Other } else { mark.freshness_of_log(log, revision) };
        if freshness == Freshness::Other {
            return None;
        }
        let outline = Outline::load_from(&mut saved)?;
        let is_whole = outline.end() == mark.end() && saved.is_sound();
        is_whole.then(|| SavedOutline { outline, is_doubtful: mark.is_doubtful(freshness) })
    }

    /// Removes the saved outline of a session.
    pub fn drop_outline(&self, path: &Path) {
        self.remove(OUTLINES, &name(path));
    }

    /// Returns the sessions that have saved outlines.
    pub(crate) fn outlined(&self) -> Vec<PathBuf> {
        self.files(OUTLINES).iter().filter_map(|saved| self.outlined_by(saved)).collect()
    }

    /// Returns the session whose outline a file holds; none if it is not a saved outline.
    pub(crate) fn outlined_by(&self, saved: &Path) -> Option<PathBuf> {
        let mut saved = self.reader(OUTLINES, saved.file_name()?.to_str()?)?;
        saved.read(&mut [0; Mark::LEN])?;
        let mut length = [0; 8];
        saved.read(&mut length)?;
        let length = usize::try_from(u64::from_le_bytes(length)).ok().filter(|length| *length < LONGEST_PATH)?;
        let mut path = vec![0; length];
        saved.read(&mut path)?;
        Some(PathBuf::from(path_text(&path)))
    }

    /// Saves an outline for the next time. `revision` describes the log before it was read.
    ///
    /// An outline is doubtful if it was made from a doubtful one. An outline whose last line is incomplete, or whose
    /// ids are not in the file, is not saved.
    pub fn save_outline(
        &self,
        path: &Path,
        log: &dyn Log,
        revision: Revision,
        outline: &Outline,
        is_doubtful: bool,
    ) -> Result<(), StoreError> {
        if outline.upgrade().is_needed() {
            return Ok(());
        }
        let mark = Mark::of_log(log, revision, outline.end(), self.os().now_ms());
        let Some((mark, saved)) = mark.zip(outline.save()) else { return Ok(()) };
        let mark = mark.with_doubt(is_doubtful);
        let body = [&mark.to_bytes(), of_path(path).as_slice(), &saved].concat();
        // A scrub replaces the file before it removes the outline.
        let is_current = || self.os().stat(path).is_ok_and(|stat| stat.revision().id == revision.id);
        self.write_if(OUTLINES, &name(path), &body, &is_current)
    }
}

fn name(path: &Path) -> String {
    format!("{:016x}", fingerprint(path.as_os_str().as_encoded_bytes()))
}

/// Encodes the path with its length, to distinguish paths with the same fingerprint.
fn of_path(path: &Path) -> Vec<u8> {
    let path = path.as_os_str().as_encoded_bytes();
    [&(path.len() as u64).to_le_bytes(), path].concat()
}
