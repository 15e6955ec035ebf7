//! Saved outlines: what would otherwise take reading a whole session.

use std::path::Path;

use sessile_core::location::fingerprint;
use sessile_core::outline::{Outline, SAVED_VERSION, SavedBytes};
use sessile_store::StoreError;
use sessile_store::os::{OsFile, Stat};

use crate::cache::{Caches, Kind};
use crate::mark::{Freshness, Mark};

pub(crate) const OUTLINES: Kind = Kind { directory: "outlines", tag: *b"OUTL", version: SAVED_VERSION };

impl Caches {
    /// The outline of a session as it was saved, if what it is about is still there.
    ///
    /// It reaches to [`Outline::end`]; what stands behind that in the file is
    /// for the caller to add. `stat` describes the file as it is.
    pub fn outline(&self, path: &Path, file: &dyn OsFile, stat: &Stat) -> Option<Outline> {
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
        // Cheaper than the checksum of a prefix, and enough to throw most away.
        if stat.length < mark.end() || mark.freshness(file, stat) == Freshness::Other {
            return None;
        }
        Outline::load_from(&mut saved).filter(|outline| outline.end() == mark.end() && saved.is_sound())
    }

    /// Saves an outline for the next time. `stat` describes the file as it was before it was read.
    ///
    /// An outline whose last line is not complete, or whose ids are not in the file, is not saved.
    pub fn save_outline(
        &self,
        path: &Path,
        file: &dyn OsFile,
        stat: &Stat,
        outline: &Outline,
    ) -> Result<(), StoreError> {
        if outline.upgrade().is_needed() {
            return Ok(());
        }
        let mark = Mark::of(file, stat, outline.end(), self.os().now_ms());
        let Some((mark, saved)) = mark.zip(outline.save()) else { return Ok(()) };
        let body = [&mark.to_bytes(), of_path(path).as_slice(), &saved].concat();
        self.write(OUTLINES, &name(path), &body)
    }
}

fn name(path: &Path) -> String {
    format!("{:016x}", fingerprint(path.as_os_str().as_encoded_bytes()))
}

/// The path with its length before it, so that two paths of one fingerprint are told apart.
fn of_path(path: &Path) -> Vec<u8> {
    let path = path.as_os_str().as_encoded_bytes();
    [&(path.len() as u64).to_le_bytes(), path].concat()
}
