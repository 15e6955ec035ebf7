//! From a log to its outline: what was saved of it, and what has to be read.

use std::path::Path;

use sessile_core::outline::Outline;
use sessile_store::{FileLog, Log, StoreError};

use crate::environment::Migrated;
use crate::error::SessionError;
use crate::place::absolute;
use crate::world::World;

/// Files smaller than this are read as fast as a saved outline of them would be.
const WORTH_SAVING: u64 = 256 << 10;

/// A saved outline is saved again once so much was added to the file, and that is also no small part of it: saving costs
/// what the file is worth, reading again only what was added.
const WORTH_SAVING_AGAIN: u64 = 1 << 20;
const PART_WORTH_SAVING_AGAIN: u64 = 256;

/// The outline of a file: what was saved of it earlier, and what was added since.
///
/// What had to be read is saved for the next time, if it was much. That saving
/// fails changes nothing but the cost of the next time.
pub(super) fn outline_of(world: &World, log: &FileLog, path: &Path) -> Result<Outline, SessionError> {
    let stat = log.stat()?;
    let caches = world.caches().filter(|_| stat.length >= WORTH_SAVING);
    let Some((caches, file)) = caches.zip(log.file()) else { return scan(world, log) };
    let path = absolute(world.environment(), path);
    let saved = caches.outline(&path, file, &stat);
    let known = saved.as_ref().map_or(0, Outline::end);
    let outline = match saved {
        Some(mut outline) => {
            let mut ids = Migrated(world.environment());
            log.scan(known, &mut |line| outline.push(line, &mut ids))?;
            outline
        }
        None => scan(world, log)?,
    };
    if known == 0 || outline.end() - known >= WORTH_SAVING_AGAIN.max(known / PART_WORTH_SAVING_AGAIN) {
        drop(caches.save_outline(&path, file, &stat, &outline));
    }
    Ok(outline)
}

/// Saves the outline of a file that was just made, if it is worth it, so that nobody has to read it.
pub(super) fn save_outline(world: &World, path: &Path, outline: &Outline) {
    let Some(caches) = world.caches().filter(|_| outline.end() >= WORTH_SAVING) else { return };
    // If it cannot be saved, whoever opens the file reads it.
    if let Ok(log) = FileLog::open(&world.os, path, world.writing)
        && let (Ok(stat), Some(file)) = (log.stat(), log.file())
    {
        drop(caches.save_outline(path, file, &stat, outline));
    }
}

/// Reads a whole log into an outline.
pub(super) fn scan(world: &World, log: &dyn Log) -> Result<Outline, SessionError> {
    let mut ids = Migrated(world.environment());
    let mut outline = Outline::new();
    match log.scan_parts(0, &mut |part| outline.push_part(&part, &mut ids)) {
        // Read by one reader from the beginning to the end there is always an outline.
        Err(StoreError::Rewritten { .. }) => outline = Outline::new(),
        scanned => return scanned.map(|()| outline).map_err(SessionError::from),
    }
    log.scan(0, &mut |line| outline.push(line, &mut ids))?;
    Ok(outline)
}
