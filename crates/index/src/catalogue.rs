//! The list data of every session in a directory, kept between runs.
//!
//! There is one file for each directory that holds sessions, so that a list of one working directory reads one small
//! file. A row holds what was collected from a prefix of a session, and its [`Mark`] identifies that prefix and the
//! file. A file that looks unchanged is not even opened; one that has grown is read from where the row ends. Files that
//! are not sessions have rows as well, so that they are not read again and again.
//!
//! Several processes may write the same file: the last one wins, and the rows it did not know are collected again.

mod reading;
mod state;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sessile_core::info::{Collected, FirstValue, HeaderInfo};
use sessile_core::location::{fingerprint, path_text};
use sessile_store::os::Stat;

use crate::bytes::{Reader, Writer};
use crate::cache::{Cached, Caches, Kind};
use crate::mark::Mark;
pub use reading::{Gathered, Gatherer};

/// The cache files of this module.
pub const CATALOGUE: Kind = Kind { directory: "catalogue", tag: *b"CTLG", version: 5, files: &[] };

/// The saved rows of one directory.
#[derive(Debug, Default)]
pub struct Catalogue {
    body: Cached,
    /// Sorted by name.
    row_positions: Vec<RowPosition>,
    /// How often text was removed from the caches before they were loaded.
    n_removals: u64,
}

/// The position of a row in the body.
#[derive(Debug)]
struct RowPosition {
    name: Range<usize>,
    mark: Mark,
    state: Range<usize>,
}

/// A new row, for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRow {
    mark: Mark,
    state: Vec<u8>,
}

/// A saved row, of one file.
#[derive(Clone, Copy, Debug)]
pub struct SavedRow<'c> {
    mark: Mark,
    state: &'c [u8],
}

impl Catalogue {
    /// Loads the rows of a directory; empty if there are none or they are invalid.
    pub fn load(caches: &Caches, directory: &Path) -> Self {
        let n_removals = caches.n_removals();
        let body = caches.read(CATALOGUE, &file_name(directory)).unwrap_or_default();
        let row_positions = row_positions(&body, directory).unwrap_or_default();
        Self { body, row_positions, n_removals }
    }

    /// Returns the row of a file in the directory.
    pub fn row(&self, name: &OsStr) -> Option<SavedRow<'_>> {
        let found = self
            .row_positions
            .binary_search_by(|position| self.body[position.name.clone()].cmp(name.as_encoded_bytes()));
        found.ok().map(|index| self.row_at(&self.row_positions[index]))
    }

    fn row_at(&self, position: &RowPosition) -> SavedRow<'_> {
        SavedRow { mark: position.mark, state: &self.body[position.state.clone()] }
    }

    /// Returns the directories that have saved rows.
    pub(crate) fn directories(caches: &Caches) -> Vec<PathBuf> {
        caches.files(CATALOGUE).iter().filter_map(|file| Self::directory_of(caches, file)).collect()
    }

    /// Returns the directory whose rows a file holds; none if it is not a saved catalogue.
    pub(crate) fn directory_of(caches: &Caches, file: &Path) -> Option<PathBuf> {
        let body = caches.read(CATALOGUE, file.file_name()?.to_str()?)?;
        Some(PathBuf::from(path_text(Reader::new(&body).bytes()?)))
    }

    /// Removes the saved rows of a directory.
    pub(crate) fn drop_all(caches: &Caches, directory: &Path) {
        caches.remove(CATALOGUE, &file_name(directory));
    }

    /// Returns the files that have rows, with their rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&OsStr, SavedRow<'_>)> {
        let name = |position: &RowPosition| path_text(&self.body[position.name.clone()]);
        self.row_positions.iter().map(move |position| (name(position), self.row_at(position)))
    }

    /// Returns the number of files that have rows.
    pub fn len(&self) -> usize {
        self.row_positions.len()
    }

    /// Whether no file has a row.
    pub fn is_empty(&self) -> bool {
        self.row_positions.is_empty()
    }

    /// Replaces the rows of the files in `new`, and drops the rows and outlines of files that are not in `present`.
    ///
    /// `present` must be sorted by name. Writes the cache only if something has changed. Ignores a failed write: the
    /// next listing then reads the session files again.
    pub fn update(&self, caches: &Caches, directory: &Path, present: &[&OsStr], new: &HashMap<&OsStr, NewRow>) {
        let mut rows = Vec::with_capacity(present.len());
        let mut is_changed = false;
        for name in present {
            let old = self.row(name);
            let renewed = new.get(name).map(NewRow::borrow);
            is_changed |= renewed.is_some_and(|row| old.is_none_or(|old| !old.is_alike(row)));
            rows.extend(renewed.or(old).map(|row| (*name, row)));
        }
        if is_changed || rows.len() != self.row_positions.len() {
            // If the cache cannot be written, the next list works without it.
            let is_current = || caches.n_removals() == self.n_removals;
            drop(caches.write_if(CATALOGUE, &file_name(directory), &body(directory, &rows), &is_current));
            for (gone, _) in self.rows().filter(|(name, _)| present.binary_search(name).is_err()) {
                caches.drop_outline(&directory.join(gone));
            }
        }
    }
}

impl SavedRow<'_> {
    /// Whether the row is complete for a file with this metadata, so that it need not be opened.
    pub fn is_current(&self, stat: &Stat) -> bool {
        let is_hopeless = self.state.first() == Some(&state::NO_HEADER);
        self.mark.is_same(stat) && (is_hopeless || self.mark.is_whole())
    }

    /// Returns what was collected.
    pub fn collected(&self) -> Option<Collected> {
        state::decode(self.state)
    }

    /// Returns the header of a file with this metadata, if the row knows it: the inner `None` means that the file is
    /// not a session.
    pub fn header(&self, stat: &Stat) -> Option<Option<HeaderInfo>> {
        if !self.mark.is_same(stat) {
            return None;
        }
        match state::decode_first(&mut Reader::new(self.state))? {
            FirstValue::Header(header) => Some(Some(header)),
            FirstValue::NoHeader => Some(None),
            // A header may be in a last line without newline, which no row covers.
            FirstValue::NotYetSeen => self.mark.is_whole().then_some(None),
        }
    }

    /// Returns a copy that is independent of the catalogue.
    pub fn to_new(&self) -> NewRow {
        NewRow { mark: self.mark, state: self.state.to_vec() }
    }

    fn is_alike(&self, other: SavedRow<'_>) -> bool {
        (self.mark, self.state) == (other.mark, other.state)
    }
}

impl NewRow {
    fn new(mark: Mark, collected: &Collected) -> Self {
        Self { mark, state: state::encode(collected) }
    }

    /// Borrows the row, as a catalogue would return it.
    pub fn borrow(&self) -> SavedRow<'_> {
        SavedRow { mark: self.mark, state: &self.state }
    }
}

/// Returns the name of a directory's cache file. Two directories may share one; the body identifies the directory.
fn file_name(directory: &Path) -> String {
    format!("{:016x}", fingerprint(directory.as_os_str().as_encoded_bytes()))
}

fn body(directory: &Path, rows: &[(&OsStr, SavedRow<'_>)]) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(directory.as_os_str().as_encoded_bytes());
    out.number(rows.len() as u64);
    for (name, row) in rows {
        out.bytes(name.as_encoded_bytes());
        out.0.extend(row.mark.to_bytes());
        out.bytes(row.state);
    }
    out.0
}

/// Returns the positions of the rows in a body; none if it belongs to another directory or is invalid.
fn row_positions(body: &[u8], directory: &Path) -> Option<Vec<RowPosition>> {
    let mut from = Reader::new(body);
    if from.bytes()? != directory.as_os_str().as_encoded_bytes() {
        return None;
    }
    let mut row_positions = Vec::new();
    for _ in 0..from.number()? {
        let name = span(&mut from)?;
        let mark = Mark::from_bytes(from.array()?);
        let state = span(&mut from)?;
        row_positions.push(RowPosition { name, mark, state });
    }
    let is_ordered = row_positions.is_sorted_by(|one, other| body[one.name.clone()] < body[other.name.clone()]);
    (from.is_at_end() && is_ordered).then_some(row_positions)
}

/// Returns the range of the bytes that come next.
fn span(from: &mut Reader<'_>) -> Option<Range<usize>> {
    let length = from.bytes()?.len();
    Some(from.position() - length..from.position())
}
