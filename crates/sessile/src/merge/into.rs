//! Appending to a session what it lacks.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::date::to_iso;
use sessile_core::json::{Json, ObjectWriter};
use sessile_core::line::{Span, split};
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_merge::{Plan, Source};
use sessile_store::{Expect, FileLog, Log, StoreError};

use super::source::{FileCopy, Reading};
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

/// How many bytes are appended at a time. Up to this size, the entries and the mark are one append.
const CHUNK: usize = 32 << 20;

/// Where the session continues after the merge.
struct Leaf {
    /// The entry; `None` for the start.
    id: Option<EntryId>,
    /// Up to where no entry changes this: the end of what was there before, or of what this merge has appended.
    end: u64,
    /// Whether this merge has appended entries.
    has_appended: bool,
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
        let identity = |path: &Path| self.world.os().stat(path).ok().map(|stat| stat.identity);
        let own = identity(&path);
        let others = others.iter().map(|path| absolute(self.environment(), path));
        // The session by another name lacks nothing.
        let others = others.filter(|other| own.is_none() || identity(other) != own);
        let paths: Vec<PathBuf> = std::iter::once(path.clone()).chain(others).collect();
        let (mut planned, is_old, mark) = self.planned_into(&paths, options)?;
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
        let mut leaf = Leaf { id: manager.leaf_id(), end: manager.outline().end(), has_appended: false };
        drop(manager);
        let recording = Recording::begin(&self.world, OperationKind::Merge, 1, None)?;
        let step = Step::Merge { session: location, from: paths[1..].to_vec(), mark: mark.clone() };
        let mut merged =
            recording.step(&step, || self.append_missing_entries(&paths, &mark, &mut leaf, &planned, options))?;
        merged.path = Some(path);
        if leaf.has_appended {
            merged.operation = Some(recording.id.clone());
            recording.done();
        }
        Ok(merged)
    }

    /// What would be appended, whether the session is in an older version's form, and an id for the mark.
    fn planned_into(
        &self,
        paths: &[PathBuf],
        options: &MergeOptions<'_>,
    ) -> Result<(Merged, bool, EntryId), SessionError> {
        let mut n_left = MAX_TRIES;
        loop {
            n_left -= 1;
            let reading = Reading::new(options, 1);
            let copies = self.open_copies(paths, &reading)?;
            let union = read(&copies, options)?;
            let plan = union.absorb(0);
            let planned = self.merged(&copies, &union.summary(), &plan);
            let mark = self.unused_id(&plan);
            match check_unchanged(&copies) {
                Err(SessionError::WrittenMeanwhile { .. }) if n_left > 0 => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok((planned, union.is_old(0), mark)),
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
        let union = read(&copies, options)?;
        let plan = union.absorb(0);
        let mut merged = self.merged(&copies, &union.summary(), &plan);
        if leaf.has_appended {
            // An earlier attempt has appended a part.
            merged.n_written = merged.n_written.max(planned.n_written);
            merged.renamed.clone_from(&planned.renamed);
        }
        check_unchanged(&copies)?;
        if merged.n_written == 0 && merged.n_odd == 0 {
            // Another process has merged the same copies in the meantime.
            return Ok(merged);
        }
        leaf.follow(log)?;
        leaf.end = copies[0].length();
        let mut lines = Vec::new();
        let written = plan.write(&mut |line| {
            lines.extend_from_slice(line);
            // A line over the cap comes in parts, so only a newline ends one.
            if lines.len() >= CHUNK && lines.last() == Some(&b'\n') {
                copies[1..].iter().try_for_each(FileCopy::refuse_replaced)?;
                leaf.append(log, &lines)?;
                lines.clear();
            }
            Ok(())
        });
        written.map_err(|error| error_of(error, &copies))?;
        // The other copies, too, were the same from the first byte read to the last.
        check_unchanged(&copies[1..])?;
        let data = mark_data(&merged, paths);
        lines.extend_from_slice(&self.mark_line(mark, leaf, &data));
        while leaf.append(log, &lines)? {
            let another = self.unused_id(&plan);
            lines = self.mark_line(&another, leaf, &data);
        }
        log.make_durable()?;
        Ok(merged)
    }

    /// An id that no copy has. Unlike eight digits, a whole id cannot be one that a program writes in the meantime.
    fn unused_id<S: Source>(&self, plan: &Plan<'_, '_, S>) -> EntryId {
        let draw = || EntryId::from(self.environment().entry_uuid());
        std::iter::repeat_with(draw).take(100).find(|id| !plan.has_id(id)).unwrap_or_else(draw)
    }

    /// The line of a mark under the leaf.
    fn mark_line(&self, id: &EntryId, leaf: &Leaf, data: &Json) -> Vec<u8> {
        let timestamp = to_iso(self.environment().now());
        let base = Base { id, parent: leaf.id.as_ref(), timestamp: &timestamp };
        let mut line = compose::custom(&base, CUSTOM_TYPE, Some(data.raw())).into_bytes();
        line.push(b'\n');
        line
    }
}

impl Leaf {
    /// Moves to the last entry that another program has appended in the meantime.
    fn follow(&mut self, log: &FileLog) -> Result<(), SessionError> {
        if log.length()? > self.end {
            let mut newer = Outline::new();
            log.scan(self.end, &mut |line| newer.push(line, &mut StableIds))?;
            self.move_to_leaf_of(&newer);
        }
        Ok(())
    }

    /// Appends lines at the known end. Returns whether this has moved to an entry that a program without the lock has
    /// written just before them.
    fn append(&mut self, log: &mut FileLog, lines: &[u8]) -> Result<bool, SessionError> {
        let appended = log.append(lines, Expect::Length(self.end))?;
        let between = log.read(Span { offset: self.end, len: appended.offset.saturating_sub(self.end) })?;
        let mut others = Outline::new();
        for line in split(&between) {
            others.push(line, &mut StableIds);
        }
        self.end = appended.end;
        self.has_appended = true;
        Ok(self.move_to_leaf_of(&others))
    }

    /// Moves to the leaf of lines that another program has written, if they have any.
    fn move_to_leaf_of(&mut self, others: &Outline) -> bool {
        let leaf = others.leaf().and_then(|row| others.id(row));
        let has_moved = leaf.is_some();
        self.id = leaf.or(self.id.take());
        has_moved
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
