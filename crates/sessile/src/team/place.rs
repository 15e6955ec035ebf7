//! Opening a session of another member brings its file up to date first.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use sessile_store::{FileState, Log, Place, StoreError, WriteOptions};

use super::fetcher::Fetcher;
use super::log::PushedLog;

/// A place that brings the files of other members' sessions up to date.
pub(super) struct TeamPlace {
    pub(super) files: Arc<dyn Place>,
    pub(super) fetcher: Arc<Fetcher>,
}

impl TeamPlace {
    fn pushed(&self, file: Box<dyn Log>, path: &Path) -> Box<dyn Log> {
        Box::new(PushedLog { file, fetcher: Arc::clone(&self.fetcher), path: path.to_path_buf() })
    }
}

impl fmt::Debug for TeamPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TeamPlace").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Place for TeamPlace {
    fn state(&self, path: &Path) -> Result<FileState, StoreError> {
        self.fetcher.open(path)?;
        self.files.state(path)
    }

    fn open(&self, path: &Path, options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        self.fetcher.open(path)?;
        Ok(self.pushed(self.files.open(path, options)?, path))
    }

    fn create(&self, path: &Path, bytes: &[u8], options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        Ok(self.pushed(self.files.create(path, bytes, options)?, path))
    }
}
