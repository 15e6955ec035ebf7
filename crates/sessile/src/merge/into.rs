//! Appending to a session what it lacks.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::date::to_iso;
use sessile_core::json::{Json, ObjectWriter};
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_store::{Expect, FileLog, Log, StoreError};

use super::source::Reading;
use super::{MAX_TRIES, MergeOptions, Merged, check_unchanged, error_of, read};
use crate::compose::{self, Base};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, settle_dead};
use crate::record::{OperationKind, SessionLocation, Step};
use crate::session_file::lock_session;
use crate::sessions::Sessions;

/// The type of the entry that a session gets after a merge.
const CUSTOM_TYPE: &str = "sessile.merge";

/// How many bytes are appended at a time.
const CHUNK: usize = 8 << 20;

/// Where the session continues after the merge.
struct Leaf {
    /// The entry; `None` for the start.
    id: Option<EntryId>,
    /// Up to where no entry changes this: the end of what was there before, or of what this merge has appended.
    end: u64,
}

impl Sessions {
    /// Appends to a session the entries of other copies that it lacks, in canonical order.
    ///
    /// Its lines stay, and it continues where it did: the last entry is a mark under its old leaf. If nothing is
    /// missing, nothing is written. Entries cannot be taken out again, so [`undo`](Self::undo) refuses to undo this.
    pub fn merge_into(
        &self,
        session: &Path,
        others: &[PathBuf],
        options: &MergeOptions<'_>,
    ) -> Result<Merged, SessionError> {
        let path = absolute(self.environment(), session);
        let mut paths = vec![path.clone()];
        paths.extend(others.iter().map(|path| absolute(self.environment(), path)));
        let (mut planned, is_old) = self.planned_into(&paths, options)?;
        planned.path = Some(path.clone());
        if options.dry_run || (planned.n_written == 0 && planned.n_odd == 0) {
            return Ok(planned);
        }
        settle_dead(&self.world);
        let mut manager = self.open(&path)?;
        manager.check_writable()?;
        manager.recover()?;
        if is_old {
            manager.upgrade()?;
        }
        let location = SessionLocation { path: path.clone(), id: manager.session_id() };
        let mut leaf = Leaf { id: manager.leaf_id(), end: manager.outline().end() };
        drop(manager);
        let recording = Recording::begin(&self.world, OperationKind::Merge, 1, None)?;
        // Unlike eight digits, a whole id cannot be one that the session or the other copies have.
        let mark = EntryId::from(self.environment().entry_uuid());
        let step = Step::Merge { session: location, from: paths[1..].to_vec(), mark: mark.clone() };
        let mut merged =
            recording.step(&step, || self.append_missing_entries(&paths, &mark, &mut leaf, &planned, options))?;
        merged.operation = Some(recording.id.clone());
        merged.path = Some(path);
        recording.done();
        Ok(merged)
    }

    /// What would be appended, and whether the session is in an older version's form.
    fn planned_into(&self, paths: &[PathBuf], options: &MergeOptions<'_>) -> Result<(Merged, bool), SessionError> {
        let mut n_left = MAX_TRIES;
        loop {
            n_left -= 1;
            let reading = Reading::new(options, 1);
            let copies = self.open_copies(paths, &reading)?;
            let merger = read(&copies, options)?;
            let planned = self.merged(&copies, &merger.summary(), &merger.absorb(0));
            match check_unchanged(&copies) {
                Err(SessionError::WrittenMeanwhile { .. }) if n_left > 0 => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok((planned, merger.is_old(0))),
            }
        }
    }

    /// Appends what is missing, with the session's lock held. Starts over if another program appends in between.
    fn append_missing_entries(
        &self,
        paths: &[PathBuf],
        mark: &EntryId,
        leaf: &mut Leaf,
        planned: &Merged,
        options: &MergeOptions<'_>,
    ) -> Result<Merged, SessionError> {
        let mut log = lock_session(&self.world, &paths[0])?;
        let mut n_left = MAX_TRIES;
        loop {
            n_left -= 1;
            match self.try_append(&mut log, paths, mark, leaf, planned, options) {
                Err(SessionError::Store(StoreError::Grown { .. }) | SessionError::WrittenMeanwhile { .. })
                    if n_left > 0 => {}
                appended => return appended,
            }
        }
    }

    fn try_append(
        &self,
        log: &mut FileLog,
        paths: &[PathBuf],
        mark: &EntryId,
        leaf: &mut Leaf,
        planned: &Merged,
        options: &MergeOptions<'_>,
    ) -> Result<Merged, SessionError> {
        let reading = Reading::new(options, 2);
        let copies = self.open_copies(paths, &reading)?;
        let merger = read(&copies, options)?;
        let plan = merger.absorb(0);
        let mut merged = self.merged(&copies, &merger.summary(), &plan);
        if merged.n_written < planned.n_written {
            // An earlier attempt has appended the others.
            merged.n_written = planned.n_written;
            merged.renamed.clone_from(&planned.renamed);
        }
        check_unchanged(&copies)?;
        leaf.follow(log)?;
        let mut end = copies[0].length();
        leaf.end = end;
        let mut lines = Vec::new();
        let mut append = |lines: &mut Vec<u8>| -> Result<(), SessionError> {
            if !lines.is_empty() {
                log.append(lines, Expect::Length(end))?;
                end = log.length()?;
                leaf.end = end;
                lines.clear();
            }
            Ok(())
        };
        let written = plan.write(&mut |line| {
            lines.extend_from_slice(line);
            // A line over the cap comes in parts, so only a newline ends one.
            if lines.len() >= CHUNK && lines.last() == Some(&b'\n') { append(&mut lines) } else { Ok(()) }
        });
        written.map_err(|error| error_of(error, &copies))?;
        // The other copies, too, were the same from the first byte read to the last.
        check_unchanged(&copies[1..])?;
        append(&mut lines)?;
        let timestamp = to_iso(self.environment().now());
        let base = Base { id: mark, parent: leaf.id.as_ref(), timestamp: &timestamp };
        let mut line = compose::custom(&base, CUSTOM_TYPE, Some(mark_data(&merged, paths).raw())).into_bytes();
        line.push(b'\n');
        log.append(&line, Expect::Length(leaf.end))?;
        log.make_durable()?;
        Ok(merged)
    }
}

impl Leaf {
    /// Moves to the last entry that another program has appended in the meantime.
    fn follow(&mut self, log: &FileLog) -> Result<(), SessionError> {
        let length = log.length()?;
        if length > self.end {
            let mut newer = Outline::new();
            log.scan(self.end, &mut |line| newer.push(line, &mut StableIds))?;
            self.id = newer.leaf().and_then(|row| newer.id(row)).or(self.id.take());
            self.end = length;
        }
        Ok(())
    }
}

/// What the mark says: the names of the other files, and how many entries were added and renamed.
fn mark_data(merged: &Merged, paths: &[PathBuf]) -> Json {
    let name = |path: &PathBuf| Json::string(&path.file_name().unwrap_or_default().to_string_lossy());
    let names: Vec<Json> = paths[1..].iter().map(name).collect();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let mut data = ObjectWriter::new();
    data.array("from", names.iter().map(Json::raw))
        .integer("added", count(merged.n_written))
        .integer("renamed", count(merged.renamed.len()));
    data.finish()
}
