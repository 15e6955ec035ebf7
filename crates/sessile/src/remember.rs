//! Where somebody was in a session, for the next time it is opened.
//!
//! Moving the leaf writes nothing to the session, so a program that ends
//! forgets where it was. Those that want to go on there (the command line, the
//! terminal UI) keep a note per session in the state directory. It counts only
//! while the session's last entry is still the one it was: once somebody has
//! added to the session, that is the place to go on.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::json::{Edit, Json, ObjectWriter, Raw};
use sessile_core::location::fingerprint;
use sessile_store::{MOST_NOTES, create_directory, read_head, read_whole, swap_in};

use crate::error::SessionError;
use crate::session::Session;
use crate::world::World;

/// A place in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The leaf; none for before all entries.
    pub(crate) leaf: Option<EntryId>,
}

/// Notes where a session's leaf is. Nothing to note if it is the last entry, where everybody goes on anyway.
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
    text.string("path", &path.to_string_lossy()).string("sessionId", &session.header.id());
    put_id(&mut text, "lastEntryId", last_entry(session).as_ref());
    put_id(&mut text, "leafId", session.leaf_id().as_ref());
    let mut line = text.finish().into_bytes();
    line.push(b'\n');
    Ok(swap_in(world.os(), &note, &line)?)
}

/// Throws the note about a session away.
pub(crate) fn forget(world: &World, session: &Session) {
    if let Some((note, _)) = note_path(world, session.backing.path()) {
        // If it cannot be removed, the next append makes it worthless.
        drop(world.os().remove(&note));
    }
}

/// Takes the note about a session along to the session's new place.
pub(crate) fn follow(world: &World, from: &Path, to: &Path) {
    let notes = note_path(world, Some(from)).zip(note_path(world, Some(to)));
    let Some(((old, _), (new, path))) = notes else { return };
    let Ok(text) = read_whole(world.os(), &old, MOST_NOTES) else { return };
    let Ok(text) = Raw::parse(&text) else { return };
    let path = Json::string(&path.to_string_lossy());
    let mut line = text.edited(&[Edit::Set("path", path.raw())]).into_bytes();
    line.push(b'\n');
    // Without its note a session opens at its last entry, as it does everywhere else.
    if swap_in(world.os(), &new, &line).is_ok() {
        drop(world.os().remove(&old));
    }
}

/// Where somebody was in a session, if that still means anything.
pub(crate) fn recall(world: &World, session: &Session) -> Option<Place> {
    let (note, path) = note_path(world, session.backing.path())?;
    let mut found = None;
    let read = read_head(world.os(), &note, &mut |line| {
        found = line.bytes.and_then(|bytes| Raw::parse(bytes).ok()).map(Raw::to_json);
        false
    });
    let text: Json = read.ok().and(found)?;
    let text = text.raw();
    let is = |key: &str, value: &str| text.get(key).and_then(Raw::as_text).is_some_and(|text| text == value);
    let is_meant = is("path", &path.to_string_lossy()) && is("sessionId", &session.header.id());
    let is_current = id_of(text, "lastEntryId") == last_entry(session);
    let leaf = id_of(text, "leafId");
    let is_there = leaf.as_ref().is_none_or(|leaf| session.outline.find(leaf).is_some());
    (is_meant && is_current && is_there).then_some(Place { leaf })
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

/// The note of a session, if notes are kept, and the session's path.
///
/// The name is made of the path alone, and the note repeats the path, so that
/// two sessions that share a name are told apart.
fn note_path<'s>(world: &World, session: Option<&'s Path>) -> Option<(PathBuf, &'s Path)> {
    let session = session?;
    let state = world.state_dir.as_ref()?;
    let name = format!("{:016x}.json", fingerprint(session.as_os_str().as_encoded_bytes()));
    Some((state.join("leaves").join(name), session))
}
