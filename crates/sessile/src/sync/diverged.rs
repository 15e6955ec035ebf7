//! A session and its log that were both continued.

use std::io::Write;
use std::path::{Path, PathBuf};

use sessile_core::date::to_iso;
use sessile_merge::{MergeOptions as Rules, Merger, Plan};
use sessile_remote::{Chain, Head};
use sessile_store::os::Os;
use sessile_store::{Expect, Log, StoreError, ToolLock, create_directory, create_file, remove_if_there};

use super::SyncState;
use super::gate::{ForeignLines, Settled, check_loops, is_entry};
use super::guarded::GuardedLines;
use super::reading::read_log;
use super::replica::{Attempt, CHUNK, Replica};
use crate::error::SessionError;
use crate::known::leftovers::DIRECTORY;
use crate::known::lines::SessionLines;
use crate::merge::{FileCopy, MergeOptions, Reading, error_of};
use crate::session_file::lock_session;

/// A file that is removed when this is dropped.
pub(super) struct Spool<'o> {
    os: &'o dyn Os,
    pub(super) path: PathBuf,
    /// Whether members other than the owner have appended some of the lines that were read.
    pub(super) has_foreign: bool,
    /// How much of the log the file may have without these members' consent.
    pub(super) settled: Settled,
}

impl Drop for Spool<'_> {
    fn drop(&mut self) {
        // A file that cannot be removed is a leftover in a directory of its own, and does no harm.
        drop(self.os.remove(&self.path));
    }
}

impl<'r> Replica<'r> {
    /// Gives each side the entries that it lacks.
    pub(super) fn join(&mut self, lines: &SessionLines, head: &Head, n_common: u64) -> Result<Attempt, SessionError> {
        if let Some(found) = self.secrets_after(lines, n_common)? {
            return Ok(Attempt::Done(SyncState::Secrets(found)));
        }
        let is_used = self.is_used()?;
        if is_used && lines.is_torn() {
            // Another program may be writing its last line.
            return Ok(Attempt::Done(SyncState::Diverged));
        }
        let Some(mark) = lines.mark(n_common) else {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        };
        let copy = self.spool(lines, head, n_common, mark.chain)?;
        let (options, os) = (MergeOptions::default(), self.sessions.world.os());
        let reading = Reading::new(&options, 2);
        let copies = [FileCopy::open(os, &copy.path, &reading)?, FileCopy::open(os, &self.path, &reading)?];
        if copies[1].length() != lines.opened.length {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        }
        let merger = Merger::read(&copies, Rules { align: false }).map_err(|error| error_of(error, &copies))?;
        let ours = merger.absorb(0);
        // The log ends with the lines that are pushed now.
        let mut ends_with_ours = copy.settled.n_lines == head.position.n_lines;
        let each_line = &mut |push: &mut dyn FnMut(&[u8]) -> Result<bool, SessionError>| {
            plan_lines(&ours, &copies, &mut |line| {
                ends_with_ours |= is_entry(line);
                push(line)
            })
        };
        if !self.push(head, each_line)? {
            return Ok(Attempt::Again);
        }
        self.done.n_renamed += ours.renamed().count();
        // While another program uses the file, their lines would come last.
        if copy.has_foreign && !self.accepts_members() && (is_used || !ends_with_ours) {
            return Ok(Attempt::Done(SyncState::Others));
        }
        if is_used {
            self.append_missing(lines, &merger.absorb(1), &copies)?;
            return Ok(Attempt::Done(SyncState::OtherOrder));
        }
        self.take_order(lines, &copy.path, &ours, &copies)?;
        self.done.n_pulled += head.position.n_lines - n_common;
        // Compares the hashes of both sides again.
        Ok(Attempt::Again)
    }

    /// Gives the file the entries of a log to which this member may not append. The session stays at its leaf.
    pub(super) fn absorb(&mut self, lines: &SessionLines, head: &Head, n_common: u64) -> Result<Attempt, SessionError> {
        let Some(mark) = lines.mark(n_common) else {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        };
        let copy = self.spool(lines, head, n_common, mark.chain)?;
        let options = MergeOptions { only_ids: true, cancel: self.options.cancel.clone(), ..MergeOptions::default() };
        let merged = self.sessions.merge_into(&self.path, std::slice::from_ref(&copy.path), &options)?;
        self.done.n_pulled += merged.n_written as u64;
        Ok(Attempt::Done(SyncState::Ahead))
    }

    /// A file with the first `n_common` lines of the session's file, and the lines of the log after as many, up to which
    /// the log has this chain.
    pub(super) fn spool(
        &mut self,
        lines: &SessionLines,
        head: &Head,
        n_common: u64,
        chain: Chain,
    ) -> Result<Spool<'r>, SessionError> {
        let world = &self.sessions.world;
        let directory = world.operations_dir.clone().unwrap_or_else(std::env::temp_dir).join(DIRECTORY);
        create_directory(world.os(), &directory, false)?;
        let path = directory.join(format!("{}.jsonl", world.environment().entry_uuid()));
        let Some(mark) = lines.mark(n_common) else {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        };
        let mut foreign = ForeignLines::after(n_common, chain);
        create_file(world.os(), &path, false, &mut |out: &mut dyn Write| {
            let failed = |source| SessionError::from(StoreError::io_at("write", &path, source));
            lines.copy(0, mark.end, &mut |bytes| out.write_all(bytes).map_err(failed))?;
            foreign = read_log(self.server, &self.path, head, n_common, chain, &mut |line| {
                out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(failed)
            })?;
            Ok::<(), SessionError>(())
        })?;
        let spool = Spool { os: world.os(), path, has_foreign: !foreign.is_empty(), settled: foreign.settled() };
        foreign.check(world.os(), &spool.path, self.first_line(), &self.path)?;
        if self.owner.is_some() {
            check_loops(world.os(), &spool.path, self.first_line(), &self.path)?;
        }
        Ok(spool)
    }

    /// Appends the entries that only the log has to the file.
    fn append_missing(
        &mut self,
        lines: &SessionLines,
        missing: &Plan<'_, '_, FileCopy<'_>>,
        copies: &[FileCopy<'_>],
    ) -> Result<(), SessionError> {
        let mut log = lock_session(&self.sessions.world, &self.path)?;
        let mut end = lines.opened.length;
        let mut text = Vec::new();
        let mut n_lines = 0;
        let mut append = |text: &mut Vec<u8>| -> Result<(), SessionError> {
            if !text.is_empty() {
                end = log.append(text, Expect::Length(end))?.end;
                text.clear();
            }
            Ok(())
        };
        plan_lines(missing, copies, &mut |line| {
            text.extend_from_slice(line);
            text.push(b'\n');
            n_lines += 1;
            if text.len() >= CHUNK {
                append(&mut text)?;
            }
            Ok(true)
        })?;
        append(&mut text)?;
        log.make_durable()?;
        self.done.n_pulled += n_lines;
        Ok(())
    }

    /// Replaces the file by one with the lines of the log, which is the copy and the lines that were pushed.
    fn take_order(
        &mut self,
        lines: &SessionLines,
        copy: &Path,
        pushed: &Plan<'_, '_, FileCopy<'_>>,
        copies: &[FileCopy<'_>],
    ) -> Result<(), SessionError> {
        let world = &self.sessions.world;
        let path = &self.path;
        let mut log = lock_session(world, path)?;
        lines.check_unchanged(world.os())?;
        let known = lines.opened.length;
        let stamp = to_iso(world.environment().now()).replace([':', '.'], "-");
        let lock = ToolLock::take(&world.os, path)?;
        let mut guarded = GuardedLines::of(&world.os, path)?;
        if !guarded.is_empty() {
            // First: a guard with the new lines restores nothing that a merge does not recognize.
            let log = SessionLines::open(world.os(), copy, self.first_line())?;
            log.lines_after(0, &mut |line| {
                guarded.note(line);
                Ok(true)
            })?;
            plan_lines(pushed, copies, &mut |line| {
                guarded.note(line);
                Ok(true)
            })?;
            guarded.rewrite(&world.os, path)?;
        }
        let rewritten = lock.replace(known, &stamp, &mut |out: &mut dyn Write| {
            let failed = |source| SessionError::from(StoreError::io_at("write", path, source));
            copies[0].write_to(out, copy)?;
            plan_lines(pushed, copies, &mut |line| {
                out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(failed)?;
                Ok(true)
            })
        })?;
        // The new file has all its entries. Another program may have written to it until now.
        let original = rewritten.original.as_path();
        let is_whole = world.os().link_stat(original).is_ok_and(|stat| stat.length <= known);
        if is_whole {
            remove_if_there(world.os(), original)?;
        }
        log.end_turn();
        Ok(())
    }
}

/// Passes on the lines of a plan.
fn plan_lines(
    plan: &Plan<'_, '_, FileCopy<'_>>,
    copies: &[FileCopy<'_>],
    on_line: &mut dyn FnMut(&[u8]) -> Result<bool, SessionError>,
) -> Result<(), SessionError> {
    let mut line = Vec::new();
    let mut goes_on = true;
    // A part is a piece of a line, or many lines that stay as they are.
    let written = plan.write(&mut |mut part| {
        while let Some(end) = memchr::memchr(b'\n', part) {
            line.extend_from_slice(&part[..end]);
            goes_on = goes_on && on_line(&line)?;
            line.clear();
            part = &part[end + 1..];
        }
        line.extend_from_slice(part);
        Ok(())
    });
    written.map_err(|error| error_of(error, copies))
}
