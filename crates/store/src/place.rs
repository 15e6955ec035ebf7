//! Where sessions live.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;
use crate::file::{FileLog, FileState, file_state};
use crate::log::Log;
use crate::log_name::LogName;
use crate::memory::MemoryLog;
use crate::options::WriteOptions;
use crate::os::Os;

/// Opens and creates the logs of sessions.
///
/// A session is addressed by a path, which need not lead to a file. [`Files`] is the usual place. Another place may keep
/// the bytes elsewhere, or in files that it also sends elsewhere.
pub trait Place: fmt::Debug + Send + Sync {
    /// Returns what is at a path.
    fn state(&self, path: &Path) -> Result<FileState, StoreError>;

    /// Opens the log of an existing session. Writes nothing.
    fn open(&self, path: &Path, options: WriteOptions) -> Result<Box<dyn Log>, StoreError>;

    /// Creates a log with these bytes: whole, or not at all. Fails with [`StoreError::Exists`] if the path is taken.
    fn create(&self, path: &Path, bytes: &[u8], options: WriteOptions) -> Result<Box<dyn Log>, StoreError>;
}

/// Session files.
#[derive(Clone)]
pub struct Files(Arc<dyn Os>);

impl Files {
    /// Creates the place for files of an operating system.
    pub fn new(os: Arc<dyn Os>) -> Self {
        Self(os)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

impl Place for Files {
    fn state(&self, path: &Path) -> Result<FileState, StoreError> {
        file_state(self.0.as_ref(), path)
    }

    fn open(&self, path: &Path, options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        Ok(Box::new(FileLog::open(&self.0, path, options)?))
    }

    fn create(&self, path: &Path, bytes: &[u8], options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        Ok(Box::new(FileLog::create(&self.0, path, bytes, options)?))
    }
}

/// Sessions in memory. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    logs: Arc<Mutex<HashMap<PathBuf, MemoryLog>>>,
}

impl Memory {
    fn logs(&self) -> MutexGuard<'_, HashMap<PathBuf, MemoryLog>> {
        // Ignore poisoning: no code panics in the middle of a change, so the map is always consistent.
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place for Memory {
    fn state(&self, path: &Path) -> Result<FileState, StoreError> {
        match self.logs().get(path).map(Log::length).transpose()? {
            None => Ok(FileState::Missing),
            Some(0) => Ok(FileState::Empty),
            Some(_) => Ok(FileState::File),
        }
    }

    fn open(&self, path: &Path, _options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        match self.logs().get(path) {
            Some(log) => Ok(Box::new(log.clone())),
            None => Err(StoreError::Gone { log: LogName::file(path) }),
        }
    }

    fn create(&self, path: &Path, bytes: &[u8], _options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        let mut logs = self.logs();
        if logs.contains_key(path) {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        let log = MemoryLog::new(bytes.to_vec());
        logs.insert(path.to_path_buf(), log.clone());
        Ok(Box::new(log))
    }
}
