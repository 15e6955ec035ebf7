//! Saved outlines: what would otherwise take reading a whole session.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use sessile_core::location::fingerprint;
use sessile_core::outline::{Outline, SAVED_VERSION, SavedBytes};
use sessile_store::StoreError;
use sessile_store::os::{OsFile, Stat};

use crate::cache::{Caches, Kind};
use crate::mark::{Freshness, Mark};

pub(crate) const OUTLINES: Kind = Kind { directory: "outlines", tag: *b"OUTL", version: SAVED_VERSION };

/// No path is as long as this.
const LONGEST_PATH: usize = 1 << 20;

/// An outline as it was saved.
#[derive(Debug)]
pub struct SavedOutline {
    /// The outline.
    pub outline: Outline,
    /// Whether the file may have been changed since, at a place that was not looked at.
    pub is_doubtful: bool,
}

impl Caches {
    /// The outline of a session as it was saved, if what it is about is still there.
    ///
    /// It reaches to [`Outline::end`]; what stands behind that in the file is
    /// for the caller to add. `stat` describes the file as it is. If it is
    /// doubtful, each line has to be compared with its row when it is read.
    pub fn outline(&self, path: &Path, file: &dyn OsFile, stat: &Stat) -> Option<SavedOutline> {
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
        let freshness = if stat.length < mark.end() { Freshness::Other } else { mark.freshness(file, stat) };
        if freshness == Freshness::Other {
            return None;
        }
        let outline = Outline::load_from(&mut saved)?;
        let is_whole = outline.end() == mark.end() && saved.is_sound();
        is_whole.then(|| SavedOutline { outline, is_doubtful: mark.is_doubtful(freshness) })
    }

    /// Takes the saved outline of a session away.
    pub fn drop_outline(&self, path: &Path) {
        self.remove(OUTLINES, &name(path));
    }

    /// The sessions whose outlines are saved.
    pub(crate) fn outlined(&self) -> Vec<PathBuf> {
        let path = |saved: &PathBuf| {
            let mut saved = self.reader(OUTLINES, saved.file_name()?.to_str()?)?;
            saved.read(&mut [0; Mark::LEN])?;
            let mut length = [0; 8];
            saved.read(&mut length)?;
            let length = usize::try_from(u64::from_le_bytes(length)).ok().filter(|length| *length < LONGEST_PATH)?;
            let mut path = vec![0; length];
            saved.read(&mut path)?;
            Some(PathBuf::from(OsString::from_vec(path)))
        };
        self.files(OUTLINES).iter().filter_map(path).collect()
    }

    /// Saves an outline for the next time. `stat` describes the file as it was before it was read.
    ///
    /// Doubtful is one that was itself made of a doubtful one.
    /// An outline whose last line is not complete, or whose ids are not in the file, is not saved.
    pub fn save_outline(
        &self,
        path: &Path,
        file: &dyn OsFile,
        stat: &Stat,
        outline: &Outline,
        is_doubtful: bool,
    ) -> Result<(), StoreError> {
        if outline.upgrade().is_needed() {
            return Ok(());
        }
        let mark = Mark::of(file, stat, outline.end(), self.os().now_ms());
        let Some((mark, saved)) = mark.zip(outline.save()) else { return Ok(()) };
        let mark = mark.doubted_if(is_doubtful);
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
