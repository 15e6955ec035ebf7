//! Removes what the caches hold for single sessions.

use std::io;
use std::path::{Path, PathBuf};

use sessile_store::StoreError;

use crate::cache::{Caches, Kind};
use crate::catalogue::{CATALOGUE, Catalogue};
use crate::outlines::OUTLINES;

impl Caches {
    /// Removes the outlines and the list rows of some sessions, for good.
    ///
    /// The rows of a directory are in one file, so those of other sessions in it go too. Files that cannot be read as
    /// caches go as well, because they may hold anything. A process that read a session before does not save it later.
    /// Returns whether it was done; not while another process saves something.
    pub fn forget_sessions(&self, is_meant: &dyn Fn(&Path) -> bool) -> Result<bool, StoreError> {
        let done = self.removing(|| {
            self.remove_files(OUTLINES, &|file| self.outlined_by(file).is_none_or(|session| is_meant(&session)))?;
            self.remove_files(CATALOGUE, &|file| {
                let Some(directory) = Catalogue::directory_of(self, file) else { return true };
                let catalogue = Catalogue::load(self, &directory);
                catalogue.is_empty() || catalogue.rows().any(|(name, _)| is_meant(&directory.join(name)))
            })
        })?;
        Ok(done.is_some())
    }

    fn remove_files(&self, kind: Kind, is_removed: &dyn Fn(&Path) -> bool) -> Result<(), StoreError> {
        let removed: Vec<PathBuf> = self.files(kind).into_iter().filter(|file| is_removed(file)).collect();
        for file in &removed {
            match self.os().remove(file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(StoreError::io("remove", file))?,
            }
        }
        self.sync(kind)
    }

    /// Makes the names in the directory of a kind survive power loss, and so removed files stay removed.
    pub fn sync(&self, kind: Kind) -> Result<(), StoreError> {
        let directory = self.root().join(kind.directory);
        match self.os().sync_directory(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced.map_err(StoreError::io("sync", &directory)),
        }
    }
}
