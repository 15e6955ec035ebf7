//! Full text: which words occur in which entries of which sessions.
//!
//! The index is a number of immutable segments and a manifest that names them
//! and says which prefix of which session they cover. Everything is derived,
//! and everything that is read is checked: a manifest as a whole, a segment
//! page by page. What is not covered, or not believed, is read from the
//! sessions themselves, so that an answer never depends on the index.

mod builder;
mod codec;
mod dictionary;
mod evaluate;
mod find;
mod hits;
mod lines;
mod manifest;
mod merge;
mod note;
mod page;
mod phrase;
mod positions;
mod postings;
mod segment;
mod survey;
mod update;
mod worker;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_store::os::Os;

pub use find::{Findings, Hit, Request};
pub use note::{Recalled, Region, Seen};
pub use survey::{Surveyed, survey};
pub(crate) use update::LOCK;
pub use update::{Progress, Updated, Updating};

use crate::Caches;
use manifest::{KIND, Manifest};
pub(crate) use manifest::{KIND as TEXT, NAME as MANIFEST};
pub(crate) use note::KIND as SURVEY;
use segment::SegmentInfo;

/// The index of all texts, as it was when it was opened.
#[derive(Debug)]
pub struct TextIndex {
    caches: Caches,
    manifest: Manifest,
    /// Segments that cannot be believed, by their names.
    damaged: HashSet<String>,
    /// Sessions that are in one of them.
    distrusted: HashSet<u32>,
    /// How far it covers the files that were asked about last.
    covered: Option<Vec<find::Coverage>>,
}

impl TextIndex {
    /// Opens the index, or an empty one if there is none that can be believed.
    pub fn open(caches: Caches) -> Self {
        let manifest = Manifest::read(&caches);
        Self { caches, manifest, damaged: HashSet::new(), distrusted: HashSet::new(), covered: None }
    }

    /// No index: everything is read.
    pub fn none(os: Arc<dyn Os>) -> Self {
        Self::unread(Caches::new(os, PathBuf::new()))
    }

    /// An index that is only to be updated: an update reads it anyway.
    pub fn unread(caches: Caches) -> Self {
        Self {
            caches,
            manifest: Manifest::default(),
            damaged: HashSet::new(),
            distrusted: HashSet::new(),
            covered: None,
        }
    }

    /// Does not believe any more what the index says of a session.
    pub fn doubt(&mut self, path: &Path) {
        let known = self.manifest.find(path).map(|place| self.manifest.records[place].number);
        self.distrusted.extend(known);
    }

    /// How many bytes the index takes on disk, its manifest not counted.
    pub fn size(&self) -> u64 {
        self.manifest.segments.iter().map(SegmentInfo::file_length).sum()
    }

    /// How many entries are in it, those of sessions that are gone included until they are swept out.
    pub fn n_entries(&self) -> u64 {
        self.manifest.segments.iter().map(|segment| u64::from(segment.n_documents())).sum()
    }

    /// How many segments it has.
    pub fn n_segments(&self) -> usize {
        self.manifest.segments.len()
    }

    fn segment_path(&self, name: &str) -> PathBuf {
        self.caches.path(KIND, name)
    }

    /// Gives up a segment that cannot be believed, and what is covered by it.
    fn distrust(&mut self, place: usize) {
        let name = self.manifest.segments[place].name.clone();
        // Whoever updates the index next finds it missing and does without it.
        self.caches.remove(KIND, &name);
        self.damaged.insert(name);
        // Somebody may have brought the index up to date meanwhile, and removed what it no longer needs.
        self.manifest = Manifest::read(&self.caches);
        let (damaged, whole) =
            std::mem::take(&mut self.manifest.segments).into_iter().partition(|it| self.damaged.contains(&it.name));
        let damaged: Vec<SegmentInfo> = damaged;
        self.manifest.segments = whole;
        self.distrusted = damaged.iter().flat_map(|segment| &segment.runs).map(|run| run.session).collect();
    }
}
