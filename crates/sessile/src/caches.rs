//! The status of the caches, and rebuilding and clearing them.

pub use sessile_index::{CacheUsage, Dropped};
pub use sessile_text::Updated;

use std::path::PathBuf;

use sessile_core::cancel::Cancel;
use sessile_index::{CATALOGUE, Catalogue, OUTLINES};
use sessile_store::find_sessions;
use sessile_text::{TextIndex, survey};

use crate::error::SessionError;
use crate::import::FOREIGN;
use crate::list::ListOptions;
use crate::search::{IndexOptions, SearchScope};
use crate::sessions::Sessions;

/// What the caches cover, and the space they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStatus {
    /// The directory of all caches; `None` if there are none.
    pub root: Option<PathBuf>,
    /// The disk usage of each kind.
    pub usages: Vec<CacheUsage>,
    /// The number of sessions.
    pub n_sessions: usize,
    /// The number of sessions that a list need not read.
    pub n_listed: usize,
    /// The number of sessions that the text index covers completely.
    pub n_searchable: usize,
    /// The number of bytes of sessions that a search would have to read.
    pub n_uncovered: u64,
    /// The number of segments of the text index.
    pub n_segments: usize,
    /// The number of entries in the text index.
    pub n_entries: u64,
}

/// The progress of rebuilding caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilding {
    /// Reading sessions for the list.
    Listing {
        /// Files read.
        n_done: usize,
        /// The total number of files.
        n_files: usize,
    },
    /// Reading sessions for the search.
    Indexing {
        /// Bytes read.
        n_done: u64,
        /// The total number of bytes.
        n_bytes: u64,
    },
}

impl Sessions {
    /// The status of the caches for all sessions.
    pub fn cache_status(&self) -> Result<CacheStatus, SessionError> {
        let directories = self.world.session_dirs()?;
        let Some(caches) = self.world.caches() else {
            return Ok(CacheStatus {
                root: None,
                usages: Vec::new(),
                n_sessions: survey(self.world.os(), &directories).len(),
                n_listed: 0,
                n_searchable: 0,
                n_uncovered: 0,
                n_segments: 0,
                n_entries: 0,
            });
        };
        let mut n_listed = 0;
        for directory in &directories {
            let catalogue = Catalogue::load(&caches, directory);
            // A directory that cannot be listed has no known sessions.
            for found in find_sessions(self.world.os(), directory).unwrap_or_default() {
                let row = found.path.file_name().and_then(|name| catalogue.row(name));
                n_listed += usize::from(row.is_some_and(|row| row.is_current(&found.stat)));
            }
        }
        let files = survey(self.world.os(), &directories);
        let index = TextIndex::open(caches.clone());
        let (n_searchable, n_uncovered) = index.coverage_of_files(&files);
        Ok(CacheStatus {
            root: Some(caches.root().to_path_buf()),
            usages: vec![
                caches.usage(CATALOGUE),
                caches.usage(OUTLINES),
                TextIndex::usage(&caches),
                caches.usage(FOREIGN),
            ],
            n_sessions: files.len(),
            n_listed,
            n_searchable,
            n_uncovered,
            n_segments: index.n_segments(),
            n_entries: index.n_entries(),
        })
    }

    /// Removes all caches of all sessions; returns false if another process is writing one now. Does not change any
    /// results.
    pub fn clear_caches(&self) -> Result<bool, SessionError> {
        let Some(caches) = self.world.caches() else { return Ok(true) };
        if !TextIndex::clear(&caches)? {
            return Ok(false);
        }
        caches.clear(CATALOGUE);
        caches.clear(OUTLINES);
        caches.clear(FOREIGN);
        Ok(true)
    }

    /// Rebuilds the caches of all sessions.
    ///
    /// If cancelled, keeps the caches rebuilt by then.
    pub fn rebuild_caches(
        &self,
        cancel: &Cancel,
        on_progress: &(dyn Fn(Rebuilding) + Sync),
    ) -> Result<Updated, SessionError> {
        if !self.clear_caches()? {
            return Ok(Updated::Busy);
        }
        let mut listing = |progress: crate::list::Progress<'_>| {
            on_progress(Rebuilding::Listing { n_done: progress.loaded, n_files: progress.total });
        };
        let mut options =
            ListOptions { progress: Some(&mut listing), cancel: cancel.clone(), ..ListOptions::default() };
        self.list_all_with(&mut options)?;
        let indexing = |n_done, n_bytes| on_progress(Rebuilding::Indexing { n_done, n_bytes });
        let options = IndexOptions { cancel: cancel.clone(), on_progress: Some(&indexing), ..IndexOptions::default() };
        match self.update_text_index(&SearchScope::All, &options)? {
            Updated::Cancelled => Err(SessionError::Cancelled),
            updated => Ok(updated),
        }
    }

    /// Compares all caches with every byte of the sessions, and drops the wrong ones.
    ///
    /// Returns `None` if another process is writing a cache now. If cancelled, wrong caches found by then are still
    /// dropped.
    pub fn check_caches(&self, cancel: &Cancel) -> Result<Option<Vec<Dropped>>, SessionError> {
        let Some(caches) = self.world.caches() else { return Ok(Some(Vec::new())) };
        let mut dropped = caches.check(&|| cancel.is_cancelled());
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let Some(unproven) = TextIndex::drop_unproven(&caches)? else { return Ok(None) };
        dropped.extend(unproven.into_iter().map(|path| Dropped { cache: "text", path, is_wrong: false }));
        Ok(Some(dropped))
    }
}
