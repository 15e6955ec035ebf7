//! Builds the outline of a log from its cached part and the rest of the file.

use std::path::Path;

use sessile_core::outline::Outline;
use sessile_index::SavedOutline;
use sessile_store::{Log, StoreError};

use crate::directory::absolute;
use crate::environment::Migrated;
use crate::error::SessionError;
use crate::world::World;

/// Reading a smaller file is as fast as reading its saved outline.
const WORTH_SAVING: u64 = 256 << 10;

/// A saved outline is saved again once this much was added to the file and the addition is a significant part of it:
/// saving costs in proportion to the whole file, reading again only in proportion to the addition.
const WORTH_SAVING_AGAIN: u64 = 1 << 20;
const PART_WORTH_SAVING_AGAIN: u64 = 256;

/// The outline of a file: the saved part plus what was added since.
///
/// If much had to be read, the outline is saved for the next time. A failure to save only makes the next time slower.
pub(super) fn outline_of(world: &World, log: &dyn Log, path: &Path) -> Result<ReadOutline, SessionError> {
    let revision = log.revision()?.filter(|revision| revision.length >= WORTH_SAVING);
    let Some((caches, revision)) = world.caches().zip(revision) else { return scan(world, log).map(ReadOutline::read) };
    let path = absolute(world.environment(), path);
    let saved = caches.outline(&path, log, revision).filter(|saved| !saved.is_doubtful || has_header(saved, log));
    let known = saved.as_ref().map_or(0, |saved| saved.outline.end());
    let (outline, is_doubtful) = match saved {
        Some(SavedOutline { mut outline, is_doubtful }) => {
            let mut ids = Migrated(world.environment());
            log.scan(known, &mut |line| outline.push(line, &mut ids))?;
            (outline, is_doubtful)
        }
        None => (scan(world, log)?, false),
    };
    if known == 0 || outline.end() - known >= WORTH_SAVING_AGAIN.max(known / PART_WORTH_SAVING_AGAIN) {
        drop(caches.save_outline(&path, log, revision, &outline, is_doubtful));
    }
    Ok(ReadOutline { outline, doubted: if is_doubtful { known } else { 0 } })
}

/// Whether a doubtful outline has the right header, without which there is no session.
fn has_header(saved: &SavedOutline, log: &dyn Log) -> bool {
    let header = saved.outline.header();
    header.is_some_and(|row| log.read(saved.outline.span(row)).is_ok_and(|line| saved.outline.is_line_of(row, &line)))
}

/// The outline of a file, and how much of it may be out of date.
pub(super) struct ReadOutline {
    pub(super) outline: Outline,
    /// Rows before this offset must be compared with their lines.
    pub(super) doubted: u64,
}

impl ReadOutline {
    /// An outline that was just read.
    pub(super) fn read(outline: Outline) -> Self {
        Self { outline, doubted: 0 }
    }
}

/// Saves the outline of a new file, if that is worthwhile, so that opening it need not read the file.
pub(super) fn save_outline(world: &World, path: &Path, outline: &Outline) {
    let Some(caches) = world.caches().filter(|_| outline.end() >= WORTH_SAVING) else { return };
    // If saving fails, the next open reads the file.
    if let Ok(log) = world.place.open(path, world.writing)
        && let Ok(Some(revision)) = log.revision()
    {
        drop(caches.save_outline(path, log.as_ref(), revision, outline, false));
    }
}

/// Reads a whole log into an outline.
pub(super) fn scan(world: &World, log: &dyn Log) -> Result<Outline, SessionError> {
    let mut ids = Migrated(world.environment());
    let mut outline = Outline::new();
    match log.scan_parts(0, &mut |part| outline.push_part(&part, &mut ids)) {
        // A single reader from beginning to end always produces an outline.
        Err(StoreError::Rewritten { .. }) => outline = Outline::new(),
        scanned => return scanned.map(|()| outline).map_err(SessionError::from),
    }
    log.scan(0, &mut |line| outline.push(line, &mut ids))?;
    Ok(outline)
}
