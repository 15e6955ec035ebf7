//! Notes about the last survey of a region, so that the next one can be shorter.
//!
//! A note belongs to one manifest and one region. While it is young enough for the caller, no file is examined. After
//! that, directories without new or removed names are not listed again; only their files are examined.

use std::ffi::OsStr;
use std::hash::BuildHasher;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxBuildHasher;
use sessile_store::os::{FileKind, Identity, Os, Stat};
use sessile_store::threads;
use sessile_store::{StoreError, subdirectories};

use super::TextIndex;
use super::codec::{Bytes, put, put_bytes};
use super::find::{Coverage, coverage_of};
use super::manifest::path_bytes;
use super::survey::{Surveyed, survey_all};
use crate::Kind;
use crate::mark::is_racy;

/// Notes are separate from the index: each belongs to one region of the store.
pub(crate) const KIND: Kind = Kind { directory: "survey", tag: *b"SURV", version: 1 };

/// Where to look for sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Region {
    /// In one directory.
    In(PathBuf),
    /// In all direct subdirectories of this one.
    Below(PathBuf),
}

impl Region {
    fn key(&self) -> Vec<u8> {
        match self {
            Self::In(path) => [b"in ", path_bytes(path)].concat(),
            Self::Below(path) => [b"below ", path_bytes(path)].concat(),
        }
    }

    fn name(&self) -> String {
        format!("{:016x}", FxBuildHasher.hash_one(self.key()))
    }

    /// Examines every file.
    pub fn survey(&self, os: &dyn Os) -> Result<(Vec<Surveyed>, Seen), StoreError> {
        let now_ms = os.now_ms();
        let mut marks = Vec::new();
        let mut is_complete = true;
        // A directory is examined before it is listed: later changes make it look different.
        let directories = match self {
            Self::In(path) => vec![path.clone()],
            Self::Below(root) => {
                marks.push(DirectoryMark::new(os, root, now_ms));
                let directories = subdirectories(os, root)?;
                is_complete = os.list(root).is_ok_and(|all| {
                    let is_link = |path: &PathBuf| os.link_stat(path).map_or(true, |stat| stat.kind == FileKind::Other);
                    all.len() == directories.len() || !all.iter().any(is_link)
                });
                directories
            }
        };
        marks.extend(directories.iter().map(|path| DirectoryMark::new(os, path, now_ms)));
        let (files, is_all) = survey_all(os, &directories);
        Ok((files, Seen { now_ms, directories, marks, is_complete: is_complete && is_all }))
    }
}

/// The state of a region when every file was examined.
#[derive(Debug)]
pub struct Seen {
    now_ms: i64,
    directories: Vec<PathBuf>,
    /// Marks of the parent directory, if the region has one, and of the directories.
    marks: Vec<Option<DirectoryMark>>,
    /// False if something may become a session without a change of its directory.
    is_complete: bool,
}

/// The state of a directory before it was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DirectoryMark {
    identity: Identity,
    changed_ns: i64,
    /// Whether it was so new that its time proves nothing.
    is_racy: bool,
}

impl DirectoryMark {
    fn new(os: &dyn Os, path: &Path, now_ms: i64) -> Option<Self> {
        os.stat(path).ok().map(|stat| Self::of(&stat, now_ms))
    }

    fn of(stat: &Stat, now_ms: i64) -> Self {
        Self { identity: stat.identity, changed_ns: stat.changed_ns, is_racy: is_racy(stat.changed_ns, now_ms) }
    }

    /// Whether the directory still has the same names.
    fn is_same(&self, os: &dyn Os, path: &Path) -> bool {
        let look = |stat: Stat| (stat.identity, stat.changed_ns) == (self.identity, self.changed_ns);
        !self.is_racy && os.stat(path).is_ok_and(look)
    }
}

/// A stored note.
struct Note {
    checksum: u32,
    now_ms: i64,
    /// The directories of the region, preceded by their parent if the region has one.
    directories: Vec<(PathBuf, DirectoryMark)>,
    /// The places of sessions that are in the manifest but were deleted.
    gone: Vec<u32>,
    /// The places and lengths of sessions that are longer than their coverage.
    tails: Vec<(u32, u64)>,
}

impl Note {
    fn encode(&self, key: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, key);
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out.extend_from_slice(&self.now_ms.to_le_bytes());
        put(&mut out, self.directories.len() as u64);
        for (path, mark) in &self.directories {
            put_bytes(&mut out, path_bytes(path));
            put(&mut out, mark.identity.device);
            put(&mut out, mark.identity.inode);
            out.extend_from_slice(&mark.changed_ns.to_le_bytes());
            put(&mut out, u64::from(mark.is_racy));
        }
        put(&mut out, self.gone.len() as u64);
        self.gone.iter().for_each(|place| put(&mut out, u64::from(*place)));
        put(&mut out, self.tails.len() as u64);
        for (place, length) in &self.tails {
            put(&mut out, u64::from(*place));
            put(&mut out, *length);
        }
        out
    }

    fn decode(bytes: &[u8], key: &[u8]) -> Option<Self> {
        let mut bytes = Bytes::new(bytes);
        (bytes.bytes()? == key).then_some(())?;
        let (checksum, now_ms) = (bytes.fixed()?, bytes.fixed_long()?.cast_signed());
        let mut note = Self { checksum, now_ms, directories: Vec::new(), gone: Vec::new(), tails: Vec::new() };
        for _ in 0..bytes.place()? {
            let path = PathBuf::from(OsStr::from_bytes(bytes.bytes()?));
            let identity = Identity { device: bytes.number()?, inode: bytes.number()? };
            let changed_ns = bytes.fixed_long()?.cast_signed();
            let is_racy = bytes.number()? != 0;
            note.directories.push((path, DirectoryMark { identity, changed_ns, is_racy }));
        }
        for _ in 0..bytes.place()? {
            note.gone.push(bytes.small()?);
        }
        for _ in 0..bytes.place()? {
            note.tails.push((bytes.small()?, bytes.number()?));
        }
        bytes.is_empty().then_some(note)
    }
}

/// The known files of a region: each is covered by the index, at least in part.
#[derive(Debug)]
pub struct Recalled {
    pub(super) coverage: Vec<Coverage>,
}

impl Recalled {
    /// Returns how many bytes the index does not cover.
    pub fn n_uncovered(&self) -> u64 {
        let uncovered = |coverage: &Coverage| match coverage {
            Coverage::Known { end, length, .. } => length.saturating_sub(*end),
            Coverage::Unknown => 0,
        };
        self.coverage.iter().map(uncovered).sum()
    }
}

impl TextIndex {
    /// Returns the files of a region, if a note makes this possible without listing every directory.
    ///
    /// If the note is younger than `max_age_ms`, no file is examined.
    pub fn recall(&self, region: &Region, max_age_ms: i64) -> Option<Recalled> {
        let os = self.caches.os().as_ref();
        let checksum = self.manifest.checksum()?;
        let (key, name) = (region.key(), region.name());
        let stored = self.caches.read(KIND, &name)?;
        let mut note = Note::decode(&stored, &key).filter(|note| note.checksum == checksum)?;
        let now_ms = os.now_ms();
        // A note from the future says nothing about the present.
        if (0..max_age_ms).contains(&now_ms.saturating_sub(note.now_ms)) {
            return Some(self.remember(region, &note));
        }
        let recalled = self.look(region, &note)?;
        if max_age_ms > 0 {
            note.now_ms = now_ms;
            note.tails = tails(&recalled.coverage);
            // If this fails, the next search works without the note.
            drop(self.caches.write(KIND, &name, &note.encode(&key)));
        }
        Some(recalled)
    }

    /// Returns the places of all sessions of a note, by directory.
    fn places<'n>(&self, region: &Region, note: &'n Note) -> Vec<(&'n Path, Vec<usize>)> {
        let n_roots = usize::from(matches!(region, Region::Below(_)));
        let mut gone = vec![false; self.manifest.records.len()];
        for place in &note.gone {
            if let Some(gone) = gone.get_mut(*place as usize) {
                *gone = true;
            }
        }
        let directories = note.directories.iter().skip(n_roots);
        let mut places: Vec<(&Path, Vec<usize>)> = directories
            .map(|(path, _)| (path.as_path(), self.manifest.in_directory(path).filter(|place| !gone[*place]).collect()))
            .collect();
        places.sort_unstable_by_key(|(_, places)| places.first().copied());
        places
    }

    /// Returns the state that the note recorded.
    fn remember(&self, region: &Region, note: &Note) -> Recalled {
        let places = self.places(region, note);
        let mut tails = note.tails.iter().peekable();
        let mut coverage = Vec::with_capacity(self.manifest.records.len());
        for place in places.into_iter().flat_map(|(_, places)| places) {
            let end = self.manifest.records[place].mark.end();
            let is_tail = |tail: &&(u32, u64)| tail.0 as usize == place;
            let length = tails.next_if(is_tail).map_or(end, |(_, length)| *length);
            coverage.push(Coverage::Known { place, end, length });
        }
        Recalled { coverage }
    }

    /// Returns the current state; none if a name was added or removed, or a file is no longer the one that is covered.
    fn look(&self, region: &Region, note: &Note) -> Option<Recalled> {
        let os = self.caches.os().as_ref();
        if !note.directories.iter().all(|(path, mark)| mark.is_same(os, path)) {
            return None;
        }
        let places = self.places(region, note);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((directory, places)) = places.get(at) else { return Some(done) };
                done.push((at, self.look_into(os, directory, places)?));
            }
        };
        let n_files: usize = places.iter().map(|(_, places)| places.len()).sum();
        let mut done = if n_files < MANY || !os.has_threads() {
            work()?
        } else {
            let (mine, other) = threads::both(work, work);
            let mut done = mine?;
            done.append(&mut other?);
            done
        };
        done.sort_unstable_by_key(|(at, _)| *at);
        Some(Recalled { coverage: done.into_iter().flat_map(|(_, coverage)| coverage).collect() })
    }

    fn look_into(&self, os: &dyn Os, directory: &Path, places: &[usize]) -> Option<Vec<Coverage>> {
        let names: Vec<&OsStr> =
            places.iter().map(|place| OsStr::from_bytes(self.manifest.name(&self.manifest.records[*place]))).collect();
        let mut coverage = Vec::with_capacity(places.len());
        let mut changed = Vec::new();
        os.stat_names(directory, &names, &mut |at, stat| {
            let (place, mark) = (places[at], &self.manifest.records[places[at]].mark);
            coverage.push(Coverage::Known { place, end: mark.end(), length: stat.length });
            if stat.kind != FileKind::Regular {
                return false;
            }
            if !mark.is_same(&stat) {
                changed.push((at, stat));
            }
            true
        })
        .ok()?;
        if coverage.len() < places.len() {
            return None;
        }
        for (at, stat) in changed {
            let place = places[at];
            let file = Surveyed { path: self.manifest.path_at(place), stat };
            coverage[at] = coverage_of(os, &file, place, &self.manifest.records[place].mark);
        }
        (!coverage.contains(&Coverage::Unknown)).then_some(coverage)
    }

    /// Saves a note about a region, if the index covers all of its files, at least in part.
    pub fn note(&self, region: &Region, seen: Seen, files: &[Surveyed]) {
        let Some(checksum) = self.manifest.checksum().filter(|_| seen.is_complete && self.damaged.is_empty()) else {
            return;
        };
        let coverage = match &self.covered {
            Some(covered) if covered.len() == files.len() => covered.clone(),
            _ => self.coverage(files),
        };
        if coverage.contains(&Coverage::Unknown) {
            return;
        }
        let Some(marks) = seen.marks.into_iter().collect::<Option<Vec<_>>>() else { return };
        let root = match region {
            Region::Below(root) => Some(root.clone()),
            Region::In(_) => None,
        };
        let mut is_there = vec![false; self.manifest.records.len()];
        for coverage in &coverage {
            if let Coverage::Known { place, .. } = coverage {
                is_there[*place] = true;
            }
        }
        let known = seen.directories.iter().flat_map(|directory| self.manifest.in_directory(directory));
        let gone = known.filter(|place| !is_there[*place]).filter_map(|place| u32::try_from(place).ok()).collect();
        let directories = root.into_iter().chain(seen.directories).zip(marks).collect();
        let note = Note { checksum, now_ms: seen.now_ms, directories, gone, tails: tails(&coverage) };
        // If this fails, the next search works without the note.
        drop(self.caches.write(KIND, &region.name(), &note.encode(&region.key())));
    }

    /// Returns the path of a recalled file.
    pub fn recalled_path(&self, recalled: &Recalled, file: usize) -> PathBuf {
        match recalled.coverage.get(file) {
            Some(Coverage::Known { place, .. }) => self.manifest.path_at(*place),
            _ => PathBuf::new(),
        }
    }
}

fn tails(coverage: &[Coverage]) -> Vec<(u32, u64)> {
    let tail = |coverage: &Coverage| match coverage {
        Coverage::Known { place, end, length } if end < length => Some((u32::try_from(*place).ok()?, *length)),
        _ => None,
    };
    coverage.iter().filter_map(tail).collect()
}

/// From this many files on, a second thread pays off.
const MANY: usize = 500;
