//! Saved leaf positions, for the next time a session is opened.
//!
//! Moving the leaf writes nothing to the session, so the position is lost when
//! the program exits. Programs that want to continue there (the command line, the
//! terminal UI) save the position per session in the state directory. It is
//! valid only while the session's last entry is the same: after the next append,
//! the session opens at its last entry.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::json::{Edit, Json, ObjectWriter, Raw};
use sessile_core::location::fingerprint;
use sessile_store::{MAX_NOTES, create_directory, read_head, read_whole, swap_in};

use crate::error::SessionError;
use crate::session::Session;
use crate::world::World;

/// Saves a session's leaf position. Saves nothing if the leaf is the last entry, where sessions open anyway.
pub(crate) fn remember(world: &World, session: &Session) -> Result<(), SessionError> {
    let Some((note, path)) = note_path(world, session.backing.path()) else { return Ok(()) };
    if session.leaf == session.outline.leaf() {
        forget(world, session);
        return Ok(());
    }
    if let Some(directory) = note.parent() {
        create_directory(world.os(), directory, false)?;
    }
    let mut text = ObjectWriter::new();
    text.string("path", &path.to_string_lossy()).string("sessionId", session.header.id().as_str());
    put_id(&mut text, "lastEntryId", last_entry(session).as_ref());
    put_id(&mut text, "leafId", session.leaf_id().as_ref());
    let mut line = text.finish().into_bytes();
    line.push(b'\n');
    Ok(swap_in(world.os(), &note, &line)?)
}

/// Deletes the saved position of a session.
pub(crate) fn forget(world: &World, session: &Session) {
    forget_at(world, session.backing.path());
}

/// Deletes the saved position of the session at a path.
pub(crate) fn forget_at(world: &World, session: Option<&Path>) {
    if let Some((note, _)) = note_path(world, session) {
        // If it cannot be removed, the next append invalidates it.
        drop(world.os().remove(&note));
    }
}

/// Moves the saved position of a session to the session's new path.
pub(crate) fn follow(world: &World, from: &Path, to: &Path) {
    let notes = note_path(world, Some(from)).zip(note_path(world, Some(to)));
    let Some(((old, _), (new, path))) = notes else { return };
    let Ok(text) = read_whole(world.os(), &old, MAX_NOTES) else { return };
    let Ok(text) = Raw::parse(&text) else { return };
    let path = Json::string(&path.to_string_lossy());
    let mut line = text.edited(&[Edit::Set("path", path.raw())]).into_bytes();
    line.push(b'\n');
    // Without its saved position a session opens at its last entry, which is the default.
    if swap_in(world.os(), &new, &line).is_ok() {
        drop(world.os().remove(&old));
    }
}

/// Moves a session's leaf to its saved position, if that is still valid. Returns whether it is.
pub(crate) fn return_to_leaf(world: &World, session: &mut Session) -> bool {
    let saved = recall(world, session);
    if let Some(leaf) = &saved {
        session.leaf = leaf.as_ref().and_then(|leaf| session.outline.find(leaf));
    }
    saved.is_some()
}

/// The saved leaf of a session, if it is still valid; `Some(None)` means before all entries.
#[expect(clippy::option_option, reason = "a saved leaf may be before all entries")]
fn recall(world: &World, session: &Session) -> Option<Option<EntryId>> {
    let (note, path) = note_path(world, session.backing.path())?;
    let mut found = None;
    let read = read_head(world.os(), &note, &mut |line| {
        found = line.bytes.and_then(|bytes| Raw::parse(bytes).ok()).map(Raw::to_json);
        false
    });
    let text: Json = read.ok().and(found)?;
    let text = text.raw();
    let has_text = |key: &str, value: &str| text.get(key).and_then(Raw::as_text).is_some_and(|text| text == value);
    let is_this_session =
        has_text("path", &path.to_string_lossy()) && has_text("sessionId", session.header.id().as_str());
    let is_current = id_of(text, "lastEntryId") == last_entry(session);
    let leaf = id_of(text, "leafId");
    let is_there = leaf.as_ref().is_none_or(|leaf| session.outline.find(leaf).is_some());
    (is_this_session && is_current && is_there).then_some(leaf)
}

fn last_entry(session: &Session) -> Option<EntryId> {
    session.outline.leaf().and_then(|leaf| session.outline.id(leaf))
}

fn put_id(text: &mut ObjectWriter, key: &str, id: Option<&EntryId>) {
    match id {
        Some(id) => text.text(key, id.as_text()),
        None => text.null(key),
    };
}

fn id_of(text: Raw<'_>, key: &str) -> Option<EntryId> {
    text.get(key).and_then(Raw::as_text).map(EntryId::from)
}

/// The file for a session's saved position, if positions are saved, and the session's path.
///
/// The name is a hash of the path only, and the file contains the path, so
/// that two sessions with the same hash are told apart.
fn note_path<'s>(world: &World, session: Option<&'s Path>) -> Option<(PathBuf, &'s Path)> {
    let session = session?;
    let state = world.state_dir.as_ref()?;
    let name = format!("{:016x}.json", fingerprint(session.as_os_str().as_encoded_bytes()));
    Some((state.join("leaves").join(name), session))
}
