//! How long a call may take.

use std::cell::Cell;
use std::time::{Duration, Instant};

use sessile::Cancel;

/// Receives the number of bytes done and the total.
pub(crate) type OnProgress<'d> = dyn Fn(u64, u64) + Sync + 'd;

/// The time that a call has, and what it could not read in this time.
pub(crate) struct Deadline<'d> {
    pub(crate) cancel: &'d Cancel,
    /// Notified while an index is built.
    pub(crate) on_progress: Option<&'d OnProgress<'d>>,
    end: Instant,
    /// The number of files that were not read in time.
    n_unread_files: Cell<usize>,
    /// The number of bytes that were not searched in time.
    n_unread_bytes: Cell<u64>,
}

impl<'d> Deadline<'d> {
    pub(crate) fn new(cancel: &'d Cancel, on_progress: Option<&'d OnProgress<'d>>, time: Duration) -> Self {
        let (n_unread_files, n_unread_bytes) = (Cell::default(), Cell::default());
        Self { cancel, on_progress, end: Instant::now() + time, n_unread_files, n_unread_bytes }
    }

    /// A function that says whether the time is up, for any thread.
    pub(crate) fn is_late(&self) -> impl Fn() -> bool + Sync + use<> {
        let end = self.end;
        move || Instant::now() >= end
    }

    pub(crate) fn note_unread_files(&self, n_files: usize) {
        self.n_unread_files.set(n_files);
    }

    pub(crate) fn n_unread_files(&self) -> usize {
        self.n_unread_files.get()
    }

    pub(crate) fn note_unread_bytes(&self, n_bytes: u64) {
        self.n_unread_bytes.set(n_bytes);
    }

    pub(crate) fn n_unread_bytes(&self) -> u64 {
        self.n_unread_bytes.get()
    }

    /// Whether something was not read in time.
    pub(crate) fn has_unread(&self) -> bool {
        self.n_unread_files() > 0 || self.n_unread_bytes() > 0
    }
}
