//! What killed imports have left.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sessile_store::os::{Os, OsFile};
use sessile_store::{Leftover, LeftoverKind, find_leftovers};

/// Removes the hidden, incomplete files of imports that were killed.
///
/// Only imports make such a file for a session that does not exist, and only the one with the turn runs. A file stays if
/// a process with the number in its name runs.
pub(super) struct Abandoned {
    /// The turn at importing. Without it, another import can be running.
    turn: Option<Box<dyn OsFile>>,
    /// What was found in each directory. A directory can have many sessions, so it is listed once.
    found: Mutex<HashMap<PathBuf, Vec<Leftover>>>,
}

impl Abandoned {
    /// Keeps the turn, until it is dropped.
    pub(super) fn new(turn: Option<Box<dyn OsFile>>) -> Self {
        Self { turn, found: Mutex::default() }
    }

    /// Removes what was left of a new session.
    pub(super) fn remove(&self, os: &dyn Os, path: &Path) {
        let Some(directory) = path.parent().filter(|_| self.turn.is_some()) else { return };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.entry(directory.to_path_buf()).or_insert_with(|| find_leftovers(os, directory));
        for leftover in found.iter().filter(|it| it.kind == LeftoverKind::Temporary && it.of == path) {
            // What cannot be removed does no harm, and `clean` finds it.
            drop(leftover.remove(os));
        }
    }
}
