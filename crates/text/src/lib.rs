//! Full text: which words occur in which entries of which sessions.
//!
//! The index consists of immutable segments and a manifest, which names them and records which prefix of which session
//! they cover. Everything is derived, and everything is verified when it is read: a manifest as a whole, a segment page
//! by page. Data that is not covered or not valid is read from the sessions themselves, so a result never depends on
//! the index. `docs/text-index.md` describes the files.

mod builder;
mod codec;
mod dictionary;
mod document;
mod evaluate;
mod find;
mod forget;
mod frequencies;
mod hits;
mod lines;
mod manifest;
mod merge;
mod opening;
mod options;
mod page;
mod phrase;
mod positions;
mod postings;
mod segment;
mod survey;
mod turns;
mod update;
mod upkeep;
mod worker;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_index::Caches;
use sessile_store::os::Os;

pub use find::{Admits, Findings, Hit, Request};
pub use options::{MEMORY, Progress, UpdateOptions};
pub use survey::{SurveyedFile, survey};
pub use turns::{HitCounts, Paging};
pub use update::Updated;

use manifest::{KIND, Manifest};
use segment::SegmentInfo;

/// The index of all texts at the time it was opened.
#[derive(Debug)]
pub struct TextIndex {
    caches: Caches,
    manifest: Manifest,
    /// The names of invalid segments.
    damaged: HashSet<String>,
    /// The sessions that are in one of them.
    corrupt_files: HashSet<u32>,
    /// The coverage of the files of the last query.
    covered: Option<Vec<find::Coverage>>,
}

impl TextIndex {
    /// Opens the index, or an empty one if there is no valid one.
    pub fn open(caches: Caches) -> Self {
        let manifest = Manifest::read(&caches);
        Self { caches, manifest, damaged: HashSet::new(), corrupt_files: HashSet::new(), covered: None }
    }

    /// Creates an empty index: everything is read.
    pub fn none(os: Arc<dyn Os>) -> Self {
        Self::unread(Caches::new(os, PathBuf::new()))
    }

    /// Creates an index that is only updated: an update reads it anyway.
    pub fn unread(caches: Caches) -> Self {
        Self {
            caches,
            manifest: Manifest::default(),
            damaged: HashSet::new(),
            corrupt_files: HashSet::new(),
            covered: None,
        }
    }

    /// Stops using what the index holds for a session.
    pub fn ignore_session(&mut self, path: &Path) {
        let known = self.manifest.find(path).map(|index| self.manifest.records[index].number);
        self.corrupt_files.extend(known);
    }

    /// Returns the size of the index on disk in bytes, without its manifest.
    pub fn size(&self) -> u64 {
        self.manifest.segments.iter().map(SegmentInfo::file_length).sum()
    }

    /// Returns the number of entries, including those of deleted sessions until they are swept out.
    pub fn n_entries(&self) -> u64 {
        self.manifest.segments.iter().map(|segment| u64::from(segment.n_documents())).sum()
    }

    /// Returns the number of segments.
    pub fn n_segments(&self) -> usize {
        self.manifest.segments.len()
    }

    fn segment_path(&self, name: &str) -> PathBuf {
        self.caches.path(KIND, name)
    }

    /// Gives up an invalid segment and its coverage.
    fn drop_segment(&mut self, index: usize) {
        let name = self.manifest.segments[index].name.clone();
        // The next update finds it missing and continues without it.
        self.caches.remove(KIND, &name);
        self.damaged.insert(name);
        // Another process may have updated the index since and removed segments that it no longer needs.
        self.manifest = Manifest::read(&self.caches);
        let (damaged, whole) =
            std::mem::take(&mut self.manifest.segments).into_iter().partition(|it| self.damaged.contains(&it.name));
        let damaged: Vec<SegmentInfo> = damaged;
        self.manifest.segments = whole;
        self.corrupt_files = damaged.iter().flat_map(|segment| &segment.runs).map(|run| run.session).collect();
    }
}
