//! Swaps in the scrubbed session.

use std::path::PathBuf;

use sessile_store::{FileLog, Log, LogName, NewTurn, StoreError, ToolLock, remove_if_there};

use super::plan::Plan;
use super::{ScrubbedKind, Scrubber};
use crate::error::SessionError;
use crate::splice::{Spliced, Stored, Text, write};
use crate::world::World;

/// How often the file is swapped because another program keeps appending to it.
const MAX_PASSES: usize = 8;

/// The result of a swap. Dropping it releases the lock on the new file.
#[derive(Default)]
pub(super) struct Swapped {
    /// The files that were replaced, under their new names, with the lengths up to which the new file has their lines.
    originals: Vec<(PathBuf, u64)>,
    /// The number of changed lines that other programs appended meanwhile.
    pub(super) n_late: usize,
    /// Held for their locks.
    turns: Vec<NewTurn>,
}

/// Replaces a session's file by its scrubbed version, under the lock that `log` holds.
///
/// The file is swapped as by a repair, and the original gets another name for now. Lines that other programs append
/// until the swap are carried over as they are; if the scrubber changes them, the file is swapped once more.
pub(super) fn swap(
    world: &World,
    log: &FileLog,
    plan: Plan,
    stamp: &str,
    scrubber: &mut dyn Scrubber,
) -> Result<Swapped, SessionError> {
    let path = log.path();
    let lock = ToolLock::take(&world.os, path)?;
    let mut swapped = Swapped::default();
    let mut plan = plan;
    let mut newest: Option<FileLog> = None;
    for _ in 0..MAX_PASSES {
        let log = newest.as_ref().unwrap_or(log);
        let stored = Stored::up_to(log, plan.length);
        let new = Spliced::new(&stored, &plan.splices);
        let rewritten = lock.replace(stored.length(), stamp, &mut |out| {
            write(&new, out, path)?;
            // If another file has replaced it by now, this fails, and that file stays.
            let (actual, expected) = (log.length()?, stored.length());
            if actual < expected {
                let log = LogName::File(path.to_path_buf());
                return Err(SessionError::from(StoreError::Truncated { log, expected, actual }));
            }
            Ok(())
        })?;
        let (known, written) = (stored.length(), new.length());
        let next = FileLog::open(&world.os, path, world.writing)?;
        let length = next.length()?;
        swapped.originals.push((rewritten.original, known + length.saturating_sub(written)));
        swapped.turns.extend(rewritten.turn);
        if length <= written {
            return Ok(swapped);
        }
        let late = Stored::new(&next)?;
        // A line that was torn before may have been completed.
        plan = Plan::new(path, &late, written - plan.torn, ScrubbedKind::Session, scrubber)?;
        if plan.splices.is_empty() {
            return Ok(swapped);
        }
        swapped.n_late += plan.splices.len();
        newest = Some(next);
    }
    Err(SessionError::WrittenMeanwhile { path: path.to_path_buf() })
}

/// Whether the file that `log` has open is no longer the session's.
pub(super) fn is_swapped(world: &World, log: &FileLog) -> bool {
    let there = world.os().link_stat(log.path()).ok().map(|stat| stat.identity);
    there.is_none() || there != log.stat().ok().map(|stat| stat.identity)
}

impl Swapped {
    /// Removes the files that were replaced; the first one stays if it is wanted. Returns it.
    ///
    /// A file to which another program has added lines stays too, and is scrubbed like any other original.
    pub(super) fn settle_originals(&self, world: &World, keeps_first: bool) -> Result<Option<PathBuf>, SessionError> {
        for (path, length) in self.originals.iter().skip(usize::from(keeps_first)) {
            let stat = world.os().link_stat(path).map_err(|error| StoreError::io_at("access", path, error))?;
            if stat.length <= *length {
                remove_if_there(world.os(), path)?;
            }
        }
        Ok(self.originals.first().filter(|_| keeps_first).map(|(path, _)| path.clone()))
    }
}
