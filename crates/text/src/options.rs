//! Options and progress of an update.

use std::path::Path;

/// Options of an update.
pub struct UpdateOptions<'u> {
    /// Whether a session that is not among the files was deleted, rather than not requested.
    pub is_gone: &'u (dyn Fn(&Path) -> bool + Sync),
    /// Called regularly; returns true to stop. Work done by then is kept.
    pub is_cancelled: &'u (dyn Fn() -> bool + Sync),
    /// Called regularly.
    pub on_progress: &'u (dyn Fn(Progress) + Sync),
    /// The approximate memory to use, in bytes.
    pub memory: usize,
    /// Whether to merge segments of any size.
    pub merges_all: bool,
    /// The most bytes to merge at once, because a merge cannot be interrupted. More is left to an update that may.
    pub max_merged: u64,
}

/// The default memory of an update, in bytes.
pub const MEMORY: usize = 192 << 20;

impl Default for UpdateOptions<'_> {
    fn default() -> Self {
        Self {
            is_gone: &|_| false,
            is_cancelled: &|| false,
            on_progress: &|_| {},
            memory: MEMORY,
            merges_all: false,
            max_merged: u64::MAX,
        }
    }
}

/// The progress of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of sessions read so far.
    pub n_done: u64,
    /// Bytes of sessions to read in total.
    pub n_bytes: u64,
}
