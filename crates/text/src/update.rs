//! Updates the index: reads what it does not cover, and keeps the number of segments small.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use sessile_store::{StoreError, create_directory};

use crate::TextIndex;
use crate::find::Coverage;
use crate::manifest::KIND;
use crate::merge::{Unmerged, merge};
use crate::options::UpdateOptions;
use crate::segment::{Segment, SegmentInfo};
use crate::survey::SurveyedFile;
use crate::upkeep::{LOCK, lock};
use crate::worker::{Job, State, Workers, new_name};

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// The index covers the files as they were.
    Done,
    /// The update was cancelled; work done by then is kept.
    Cancelled,
    /// Another process is updating.
    Busy,
}

impl TextIndex {
    /// Updates the index to cover these files.
    ///
    /// Only one update runs at a time: if another process is updating, nothing happens. Updates and readers never wait
    /// for each other.
    pub fn update(&mut self, files: &[SurveyedFile], options: &UpdateOptions<'_>) -> Result<Updated, StoreError> {
        create_directory(self.caches.os().as_ref(), &self.caches.root().join(KIND.directory), false)?;
        let Some(lock) = lock(&self.caches)? else { return Ok(Updated::Busy) };
        *self = Self::open(self.caches.clone());
        let is_changed = self.forget(files, options);
        let jobs = self.jobs(files);
        let updated = self.index(files, &jobs, is_changed, options);
        drop(lock);
        updated
    }

    fn index(
        &mut self,
        files: &[SurveyedFile],
        jobs: &[Job],
        is_changed: bool,
        options: &UpdateOptions<'_>,
    ) -> Result<Updated, StoreError> {
        let manifest = std::mem::take(&mut self.manifest);
        let state = State::new(manifest, is_changed);
        let workers = Workers {
            caches: &self.caches,
            files,
            jobs,
            options,
            next: AtomicUsize::new(0),
            next_number: AtomicU32::new(state.manifest.next_number),
            n_done: AtomicU64::new(0),
            n_bytes: jobs.iter().map(|job| job.to - job.from).sum(),
            state: Mutex::new(state),
        };
        let done = workers.run();
        let mut state = workers.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.manifest.next_number = workers.next_number.into_inner();
        self.manifest = state.manifest;
        let is_changed = state.is_changed | self.merge_some(options)?;
        if is_changed {
            self.manifest.sort();
            self.manifest.write(&self.caches)?;
        }
        self.sweep();
        done?;
        Ok(if (options.is_cancelled)() { Updated::Cancelled } else { Updated::Done })
    }

    /// Drops damaged segments and deleted sessions. True if there were any.
    fn forget(&mut self, files: &[SurveyedFile], options: &UpdateOptions<'_>) -> bool {
        let os = self.caches.os();
        let is_whole = |segment: &SegmentInfo| {
            let stat = os.stat(&self.caches.path(KIND, &segment.name));
            stat.is_ok_and(|stat| stat.length == segment.file_length())
        };
        let (whole, damaged): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.manifest.segments).into_iter().partition(is_whole);
        self.manifest.segments = whole;
        let lost = self.sessions_in(&damaged);
        let n_before = self.manifest.records.len();
        let mut is_kept = vec![false; n_before];
        let mut near = 0;
        for file in files {
            if let Some(index) = self.manifest.find_near(&file.path, near) {
                is_kept[index] = true;
                near = index + 1;
            }
        }
        let mut buffer = Vec::new();
        for (index, record) in self.manifest.records.iter().enumerate() {
            let is_there = is_kept[index] || !(options.is_gone)(self.manifest.path(record, &mut buffer));
            is_kept[index] = is_there && !is_set(&lost, record.number);
        }
        if is_kept.iter().any(|kept| !kept) {
            self.manifest.retain(|index, _| is_kept[index]);
        }
        !damaged.is_empty() || n_before > self.manifest.records.len()
    }

    /// For every number, returns whether it belongs to a session in one of these segments.
    fn sessions_in(&self, segments: &[SegmentInfo]) -> Vec<bool> {
        let mut is_in = vec![false; self.manifest.next_number as usize];
        for run in segments.iter().flat_map(|segment| &segment.runs) {
            if let Some(is_in) = is_in.get_mut(run.session as usize) {
                *is_in = true;
            }
        }
        is_in
    }

    /// Returns what has to be read, oldest modification first.
    fn jobs(&self, files: &[SurveyedFile]) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (file, coverage) in self.coverage(files).into_iter().enumerate() {
            let (known, from, to) = match coverage {
                Coverage::Unknown => (None, 0, files[file].stat.length),
                Coverage::Known { index, end, length } => (Some(index), end, length),
            };
            let is_same = known.is_some_and(|index| self.manifest.records[index].mark.is_same(&files[file].stat));
            if !is_same && (from < to || known.is_some()) {
                jobs.push(Job { file, known, from, to });
            }
        }
        jobs.sort_by_key(|job| files[job.file].stat.modified_ms);
        jobs
    }

    /// Merges segments while there are many small ones. True if any were merged.
    fn merge_some(&mut self, options: &UpdateOptions<'_>) -> Result<bool, StoreError> {
        let mut alive = vec![false; self.manifest.next_number as usize];
        for record in &self.manifest.records {
            if let Some(alive) = alive.get_mut(record.number as usize) {
                *alive = true;
            }
        }
        let n_before = self.manifest.segments.len();
        self.manifest.segments.retain(|segment| segment.runs.iter().any(|run| is_set(&alive, run.session)));
        let mut is_changed = self.manifest.segments.len() < n_before;
        for limit in TIERS.into_iter().chain(options.merges_all.then_some(u64::MAX)) {
            let small = |segment: &&SegmentInfo| segment.file_length() < limit;
            loop {
                let n_small = self.manifest.segments.iter().rev().take_while(small).count();
                let is_due = n_small >= FAN || (limit == u64::MAX && n_small > 1);
                if !is_due || (options.is_cancelled)() {
                    break;
                }
                // A merge cannot be interrupted, so each one is small unless everything is wanted.
                let n_merged = if limit == u64::MAX { n_small } else { n_small.min(MAX_MERGED) };
                let start = self.manifest.segments.len() - n_small;
                let n_merged = n_fitting(&self.manifest.segments[start..start + n_merged], options.max_merged);
                if n_merged < FAN.min(n_small) {
                    break;
                }
                self.merge_range(start..start + n_merged, &alive)?;
                is_changed = true;
            }
        }
        Ok(is_changed)
    }

    /// Merges some segments that follow each other.
    fn merge_range(&mut self, range: Range<usize>, alive: &[bool]) -> Result<(), StoreError> {
        let later = self.manifest.segments.split_off(range.end);
        let infos = self.manifest.segments.split_off(range.start);
        let merged = self.merge_infos(infos, alive);
        self.manifest.segments.extend(later);
        merged
    }

    /// Merges segments that were taken out of the manifest, and adds the result to it.
    fn merge_infos(&mut self, infos: Vec<SegmentInfo>, alive: &[bool]) -> Result<(), StoreError> {
        let os = self.caches.os().as_ref();
        let name = new_name(&self.caches);
        let mut segments = Vec::new();
        let mut merged = Ok(None);
        for (index, info) in infos.iter().enumerate() {
            match Segment::open(os, &self.caches.path(KIND, &info.name), info) {
                Ok(segment) => segments.push(segment),
                Err(_) => merged = Err(Unmerged::Corrupt(index)),
            }
        }
        if merged.is_ok() {
            let path = self.caches.path(KIND, &name);
            merged = merge(os, &segments, &|session| is_set(alive, session), &path, name);
        }
        match merged {
            Ok(segment) => self.manifest.segments.extend(segment),
            Err(Unmerged::Corrupt(index)) => {
                let lost = self.sessions_in(&infos[index..=index]);
                self.manifest.retain(|index, manifest| !is_set(&lost, manifest.records[index].number));
                let others = infos.into_iter().enumerate().filter(|(other, _)| *other != index);
                self.manifest.segments.extend(others.map(|(_, info)| info));
            }
            Err(Unmerged::Store(error)) => {
                self.manifest.segments.extend(infos);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes files that the manifest does not name: merged segments, and leftovers of interruptions.
    fn sweep(&self) {
        let named: HashSet<PathBuf> = (self.manifest.segments.iter().map(|segment| segment.name.as_str()))
            .chain([LOCK, crate::manifest::NAME])
            .map(|name| self.caches.path(KIND, name))
            .collect();
        let os = self.caches.os();
        let there = os.list(&self.caches.root().join(KIND.directory)).unwrap_or_default();
        for path in there.into_iter().filter(|path| !named.contains(path)) {
            drop(os.remove(&path));
        }
    }
}

/// How many of these segments together have at most this many bytes.
fn n_fitting(segments: &[SegmentInfo], max_bytes: u64) -> usize {
    let mut n_bytes = 0;
    let fits = |segment: &&SegmentInfo| {
        n_bytes += segment.file_length();
        n_bytes <= max_bytes
    };
    segments.iter().take_while(fits).count()
}

fn is_set(flags: &[bool], number: u32) -> bool {
    flags.get(number as usize).copied().unwrap_or(false)
}

/// If at least [`FAN`] segments at the end are smaller than one of these sizes, they are merged. Larger ones are merged
/// on request only.
const TIERS: [u64; 3] = [64 << 10, 512 << 10, 4 << 20];

/// How many segments of a size trigger a merge.
const FAN: usize = 8;

/// How many segments are merged at once. A few more than trigger a merge, so that most updates need one.
const MAX_MERGED: usize = 16;
