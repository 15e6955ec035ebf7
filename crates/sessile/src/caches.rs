//! What the caches hold of the sessions, making them anew, and taking them away.

use std::path::{Path, PathBuf};

use sessile_core::cancel::Cancel;
use sessile_core::json::{Json, ObjectWriter};
use sessile_index::text::{TextIndex, Updated, survey};
use sessile_index::{Catalogue, Dropped, Usage};
use sessile_store::{find_sessions, subdirectories};

use crate::error::SessionError;
use crate::list::ListOptions;
use crate::manager::Sessions;
use crate::place::{given_dir, sessions_root};
use crate::search::{IndexOptions, SearchScope};

/// What the caches hold of the sessions, and what they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStatus {
    /// The directory of all caches; none if there are none.
    pub root: Option<PathBuf>,
    /// What each kind takes on disk.
    pub usages: Vec<Usage>,
    /// How many sessions there are.
    pub n_sessions: usize,
    /// How many of them a list knows without reading them.
    pub n_listed: usize,
    /// How many of them the text index covers as they are.
    pub n_searchable: usize,
    /// How many bytes of sessions a search would have to read.
    pub n_uncovered: u64,
    /// How many segments the text index has.
    pub n_segments: usize,
    /// How many entries are in it.
    pub n_entries: u64,
}

impl CacheStatus {
    /// The status as JSON.
    pub fn to_json(&self) -> Json {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let count = |value: usize| number(value as u64);
        let usages: Vec<Json> = self.usages.iter().map(usage_json).collect();
        let mut json = ObjectWriter::new();
        if let Some(root) = &self.root {
            json.string("root", &root.to_string_lossy());
        }
        json.array("kinds", usages.iter().map(Json::raw));
        json.integer("sessions", count(self.n_sessions))
            .integer("listed", count(self.n_listed))
            .integer("searchable", count(self.n_searchable))
            .integer("unsearchableBytes", number(self.n_uncovered))
            .integer("segments", count(self.n_segments))
            .integer("entries", number(self.n_entries));
        json.finish()
    }
}

fn usage_json(usage: &Usage) -> Json {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let mut json = ObjectWriter::new();
    json.string("kind", usage.directory).integer("files", number(usage.n_files as u64));
    json.integer("bytes", number(usage.n_bytes));
    if let Some(newest) = usage.newest_ms {
        json.string("updated", &sessile_core::date::to_iso(newest));
    }
    json.finish()
}

/// What is done while caches are made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilding {
    /// Reading sessions for the list: so many of so many.
    Listing {
        /// Files read.
        n_done: usize,
        /// Files in all.
        n_files: usize,
    },
    /// Reading sessions for the search: so many bytes of so many.
    Indexing {
        /// Bytes read.
        n_done: u64,
        /// Bytes in all.
        n_bytes: u64,
    },
}

impl Sessions {
    /// What the caches hold of the sessions in a directory, or in all.
    pub fn cache_status(&self, session_dir: Option<&Path>) -> Result<CacheStatus, SessionError> {
        let directories = self.cached_directories(session_dir)?;
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
            // A directory that cannot be listed has no sessions that anybody could know.
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
            usages: caches.usage(),
            n_sessions: files.len(),
            n_listed,
            n_searchable,
            n_uncovered,
            n_segments: index.n_segments(),
            n_entries: index.n_entries(),
        })
    }

    /// Removes all caches, of all sessions; false if somebody is writing one now. No answer changes by it.
    pub fn clear_caches(&self) -> Result<bool, SessionError> {
        Ok(self.world.caches().map_or(Ok(true), |caches| caches.clear())?)
    }

    /// Makes the caches of the sessions in a directory, or of all, anew.
    ///
    /// What was done when somebody stops it stays done.
    pub fn rebuild_caches(
        &self,
        session_dir: Option<&Path>,
        cancel: &Cancel,
        on_progress: &(dyn Fn(Rebuilding) + Sync),
    ) -> Result<Updated, SessionError> {
        if !self.clear_caches()? {
            return Ok(Updated::Busy);
        }
        let mut listing = |progress: crate::Progress<'_>| {
            on_progress(Rebuilding::Listing { n_done: progress.loaded, n_files: progress.total });
        };
        let mut options =
            ListOptions { progress: Some(&mut listing), cancel: Some(cancel.clone()), ..ListOptions::default() };
        self.list_all(session_dir, &mut options)?;
        let indexing = |n_done, n_bytes| on_progress(Rebuilding::Indexing { n_done, n_bytes });
        let options = IndexOptions { cancel: Some(cancel.clone()), on_progress: Some(&indexing), merges_all: false };
        let scope = SearchScope::All { dir: session_dir.map(Path::to_path_buf) };
        match self.update_text_index(&scope, &options)? {
            Updated::Cancelled => Err(SessionError::Cancelled),
            updated => Ok(updated),
        }
    }

    /// Compares all caches with the sessions, every byte of them, and drops those that are wrong.
    ///
    /// None if somebody is writing one now. What was found when somebody stops it is dropped all the same.
    pub fn check_caches(&self, cancel: &Cancel) -> Result<Option<Vec<Dropped>>, SessionError> {
        let Some(caches) = self.world.caches() else { return Ok(Some(Vec::new())) };
        let dropped = caches.check(&|| cancel.is_cancelled())?;
        if cancel.is_cancelled() { Err(SessionError::Cancelled) } else { Ok(dropped) }
    }

    fn cached_directories(&self, session_dir: Option<&Path>) -> Result<Vec<PathBuf>, SessionError> {
        match given_dir(self.environment(), session_dir) {
            Some(directory) => Ok(vec![directory]),
            None => Ok(subdirectories(self.world.os(), &sessions_root(self.environment()))?),
        }
    }
}
