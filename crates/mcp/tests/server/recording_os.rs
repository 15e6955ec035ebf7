//! The real operating system, which records what changes or locks a file of the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sessile::os::{Change, Layer, Layered, Os};

/// Records the calls that change or lock something below a directory.
#[derive(Debug)]
pub(crate) struct Recorder {
    store: PathBuf,
    /// How far the clock is ahead. Caches trust only files that were not written just now.
    ahead_ms: i64,
    changes: Mutex<Vec<String>>,
    n_opened: AtomicUsize,
}

impl Recorder {
    pub(crate) fn new(store: PathBuf, ahead_ms: i64) -> Arc<Self> {
        Arc::new(Self { store, ahead_ms, changes: Mutex::default(), n_opened: AtomicUsize::new(0) })
    }

    /// The system that it records.
    pub(crate) fn os(self: &Arc<Self>) -> Arc<dyn Os> {
        Arc::new(Layered::new(Arc::clone(self)))
    }

    /// The changes so far.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.changes.lock().unwrap().clone()
    }

    /// How often a file of the store was opened.
    pub(crate) fn n_opened(&self) -> usize {
        self.n_opened.load(Ordering::Relaxed)
    }
}

impl Layer for Recorder {
    fn before_open(&self, path: &Path) {
        if path.starts_with(&self.store) {
            self.n_opened.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn before_change(&self, change: Change, path: &Path) -> io::Result<()> {
        if path.starts_with(&self.store) {
            self.changes.lock().unwrap().push(format!("{change:?} {}", path.display()));
        }
        Ok(())
    }

    fn map_now(&self, now_ms: i64) -> i64 {
        now_ms + self.ahead_ms
    }
}
