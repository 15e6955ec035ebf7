//! Texts of a session in the state directory.

use std::path::PathBuf;

use sessile_store::{MAX_NOTES, read_whole, remove_if_there};

use super::Scrubber;
use super::copies::Known;
use crate::error::SessionError;
use crate::journal::rewrite_texts;
use crate::sessions::Sessions;

/// The directories of notes: saved leaf positions, and the last lists.
const NOTES: [&str; 2] = ["leaves", "lists"];

/// Replaces texts in the log of operations, and removes notes that hold text to remove. Returns the number of both.
///
/// A missing note has no effect: a session then opens at its last entry, and a list is made again. Unless `applies`,
/// nothing changes.
pub(super) fn clean(
    sessions: &Sessions,
    known: &Known,
    applies: bool,
    scrubber: &mut dyn Scrubber,
) -> Result<usize, SessionError> {
    let world = &sessions.world;
    let is_meant = |id: &str, path: &std::path::Path| known.is_meant(id, path);
    let mut n_changed = rewrite_texts(world, &is_meant, applies, &mut |text, is_directory| {
        if is_directory { scrubber.directory(text) } else { scrubber.text(text) }
    })?;
    let own = [world.operations_dir.clone(), world.state_dir.clone(), sessions.environment().state_dir()];
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in own.into_iter().flatten() {
        files.push(directory.join("last-change.json"));
        files.extend(NOTES.iter().flat_map(|notes| world.os().list(&directory.join(notes)).unwrap_or_default()));
    }
    files.sort();
    files.dedup();
    for path in files {
        let text = match read_whole(world.os(), &path, MAX_NOTES) {
            Err(error) if error.is_not_found() => continue,
            text => text?,
        };
        let text = String::from_utf8_lossy(&text);
        if scrubber.drops_note(&text) {
            if applies {
                remove_if_there(world.os(), &path)?;
            }
            n_changed += 1;
        }
    }
    Ok(n_changed)
}
