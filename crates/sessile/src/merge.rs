//! Merging copies of a session that were continued separately.
//!
//! `sessile_merge` decides what the result is. This module reads the copies, which never change, and publishes the
//! result: as a new file that is complete or not there, or as lines that are appended to one of the copies.

mod into;
mod source;

use std::io::Write;
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
pub use sessile_merge::Renamed;
use sessile_merge::{MergeError, MergeOptions as Rules, Merger, Plan, Summary};
use sessile_store::{StoreError, prepare_file, replace_file};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::publish_current;
use crate::list::read_header;
use crate::manager::is_precious;
use crate::sessions::Sessions;
pub(crate) use source::{FileCopy, Reading};

/// The number of attempts to read copies that other programs keep writing to.
const MAX_TRIES: usize = 3;

/// How to merge.
#[derive(Default)]
pub struct MergeOptions<'o> {
    /// Whether to match copies by ids alone. Otherwise, copies without common ids whose first entries are equal get the
    /// same ids: programs that upgrade a file of version 1 give its entries random ids.
    pub only_ids: bool,
    /// Whether to only find out what would be done.
    pub dry_run: bool,
    /// Ends the merge early.
    pub cancel: Cancel,
    /// Called with the number of bytes that were read, and the number to be read.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// A merge, or what a dry run would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The operation's id; `None` if nothing was appended to a session.
    pub operation: Option<String>,
    /// The session's id.
    pub id: SessionId,
    /// The file with the result.
    pub path: Option<PathBuf>,
    /// The copy that the result is equal to, byte for byte, because it has everything.
    pub same_as: Option<PathBuf>,
    /// The copies, in the order in which they were given.
    pub copies: Vec<MergedCopy>,
    /// The number of different entries in all copies.
    pub n_entries: usize,
    /// The number of entries that were written: all, or those that the session lacked.
    pub n_written: usize,
    /// Entries that were written with another id, because several entries had the same.
    pub renamed: Vec<Renamed>,
    /// The number of lines that are not entries and were kept.
    pub n_odd: usize,
    /// The number of incomplete lines that were left out, because they are there whole.
    pub n_torn: usize,
    /// The number of entries whose lost parent another copy has.
    pub n_healed: usize,
    /// The number of entries whose parents form a loop.
    pub n_loops: usize,
}

/// One of the copies that were merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedCopy {
    /// Its file.
    pub path: PathBuf,
    /// The length of the file.
    pub size: u64,
    /// The number of different entries in it.
    pub n_entries: usize,
    /// The number of entries that only this copy has.
    pub n_own: usize,
    /// The number of entries that only other copies have.
    pub n_missing: usize,
    /// The number of entries that a later one with the same id hid.
    pub n_shadowed: usize,
    /// Whether it has everything that the other copies have.
    pub is_complete: bool,
    /// The copy whose ids its first entries have, and the number of these entries.
    pub aligned: Option<(PathBuf, usize)>,
}

/// Copies and what a merge found in them.
type FileMerger<'c> = Merger<'c, FileCopy<'c>>;

impl Sessions {
    /// Merges copies of a session into a new file of mode 0600, or replaces an existing file if `overwrite` is set.
    ///
    /// If a copy has everything that the others have, the result is that copy, byte for byte. Otherwise, it has every
    /// entry of every copy once, in an order that depends on the entries alone: on every machine, the same entries give
    /// the same lines after the header. The file is complete or not there. Never overwrites one of the copies, or a
    /// session in a directory of sessions.
    pub fn merge(
        &self,
        copies: &[PathBuf],
        target: Option<&Path>,
        overwrite: bool,
        options: &MergeOptions<'_>,
    ) -> Result<Merged, SessionError> {
        let paths: Vec<PathBuf> = copies.iter().map(|path| absolute(self.environment(), path)).collect();
        let target = target.map(|path| absolute(self.environment(), path));
        let replaces = match &target {
            Some(target) => self.is_replaced(target, &paths, overwrite)?,
            None => false,
        };
        let mut n_left = MAX_TRIES;
        loop {
            n_left -= 1;
            match self.try_merge(&paths, target.as_deref(), replaces, options) {
                Err(SessionError::WrittenMeanwhile { .. }) if n_left > 0 => {}
                merged => return merged,
            }
        }
    }

    fn try_merge(
        &self,
        paths: &[PathBuf],
        target: Option<&Path>,
        replaces: bool,
        options: &MergeOptions<'_>,
    ) -> Result<Merged, SessionError> {
        let n_passes = if target.is_none() || options.dry_run { 1 } else { 2 };
        let reading = Reading::new(options, n_passes);
        let copies = self.open_copies(paths, &reading)?;
        let union = read(&copies, options)?;
        let plan = union.canonical();
        let mut merged = self.merged(&copies, &union.summary(), &plan);
        let superset = union.superset().map(|copy| &copies[copy]);
        if let Some(superset) = superset {
            merged.same_as = Some(superset.path().to_path_buf());
            merged.renamed.clear();
            merged.n_torn = 0;
        }
        check_unchanged(&copies)?;
        let Some(target) = target else { return Ok(merged) };
        merged.path = Some(target.to_path_buf());
        if options.dry_run {
            return Ok(merged);
        }
        let mut write = |out: &mut dyn Write| -> Result<(), SessionError> {
            let failed = |source| SessionError::from(StoreError::io_at("write", target, source));
            match superset {
                Some(superset) => superset.write_to(out, target)?,
                None => plan
                    .write(&mut |line| out.write_all(line).map_err(failed))
                    .map_err(|error| error_of(error, &copies))?,
            }
            // The copies were the same from the first byte read to the last.
            check_unchanged(&copies)
        };
        let refuse_replaced = || copies.iter().try_for_each(FileCopy::refuse_replaced);
        let os = self.world.os();
        if replaces {
            replace_file(os, target, true, &mut write)?;
            // As for new files: a scrub that ends from now on finds this one.
            refuse_replaced().inspect_err(|_| drop(os.remove(target)))?;
        } else {
            let prepared = prepare_file(os, target, true, &mut write)?;
            publish_current(&self.world, prepared, target, &refuse_replaced)?;
        }
        Ok(merged)
    }

    /// Whether the result replaces a file. Fails if it must not.
    fn is_replaced(&self, target: &Path, copies: &[PathBuf], overwrite: bool) -> Result<bool, SessionError> {
        let os = self.world.os();
        if os.link_stat(target).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(false);
        }
        let directory = self.world.session_dir.as_deref();
        let is_precious = copies.iter().any(|copy| is_precious(&self.world, Some(copy), directory, target));
        if !overwrite || is_precious {
            return Err(StoreError::Exists { path: target.to_path_buf() }.into());
        }
        Ok(true)
    }

    fn open_copies<'c>(
        &'c self,
        paths: &[PathBuf],
        reading: &'c Reading<'c>,
    ) -> Result<Vec<FileCopy<'c>>, SessionError> {
        paths.iter().map(|path| FileCopy::open(self.world.os(), path, reading)).collect()
    }

    fn merged(&self, copies: &[FileCopy<'_>], summary: &Summary, plan: &Plan<'_, '_, FileCopy<'_>>) -> Merged {
        let aligned = |copy: usize| {
            let found = summary.aligned.iter().find(|aligned| aligned.copy == copy);
            found.map(|aligned| (copies[aligned.with].path().to_path_buf(), aligned.n_entries))
        };
        let of_copy = |(index, copy): (usize, &FileCopy<'_>)| {
            let found = &summary.copies[index];
            MergedCopy {
                path: copy.path().to_path_buf(),
                size: copy.length(),
                n_entries: found.n_entries,
                n_own: found.n_own,
                n_missing: found.n_missing,
                n_shadowed: found.n_shadowed,
                is_complete: found.is_complete,
                aligned: aligned(index),
            }
        };
        let first = copies.first().and_then(|copy| read_header(&self.world, copy.path()));
        Merged {
            operation: None,
            id: first.map(|header| header.id()).unwrap_or_default(),
            path: None,
            same_as: None,
            copies: copies.iter().enumerate().map(of_copy).collect(),
            n_entries: summary.n_entries,
            n_written: plan.n_entries(),
            renamed: plan.renamed().collect(),
            n_odd: plan.n_odd(),
            n_torn: summary.n_torn,
            n_healed: summary.n_healed,
            n_loops: summary.n_loops,
        }
    }
}

/// Reads copies.
fn read<'c>(copies: &'c [FileCopy<'c>], options: &MergeOptions<'_>) -> Result<FileMerger<'c>, SessionError> {
    let rules = Rules { align: !options.only_ids };
    Merger::read(copies, rules).map_err(|error| error_of(error, copies))
}

/// Fails if another program has written to one of the copies since it was opened.
fn check_unchanged(copies: &[FileCopy<'_>]) -> Result<(), SessionError> {
    copies.iter().try_for_each(FileCopy::check_unchanged)
}

/// An error of a merge, with the files that it is about.
pub(crate) fn error_of(error: MergeError<SessionError>, copies: &[FileCopy<'_>]) -> SessionError {
    let path = |copy: usize| copies[copy].path().to_path_buf();
    match error {
        MergeError::Source(error) => error,
        MergeError::NotASession { copy } => SessionError::NotASession { path: path(copy) },
        MergeError::OtherSession { first, other } => {
            SessionError::DifferentSessions { first: path(first), other: path(other) }
        }
        MergeError::Newer { copy } => SessionError::NewerVersion { path: path(copy), version: copies[copy].version() },
        MergeError::Changed { copy } => SessionError::WrittenMeanwhile { path: path(copy) },
        _ => SessionError::TooManyEntries,
    }
}
