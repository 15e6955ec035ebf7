//! Pinned sessions.
//!
//! A pin is a record in the state directory, by the session's id, so it
//! survives when the session moves. Nothing is written to the session.

use std::collections::HashSet;
use std::path::PathBuf;

use sessile_core::SessionId;
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_store::{MAX_NOTES, create_directory, read_whole, swap_in};

use crate::error::SessionError;
use crate::sessions::Sessions;

impl Sessions {
    /// The ids of the pinned sessions. An unreadable file counts as no pins.
    pub fn pins(&self) -> HashSet<SessionId> {
        let Some(path) = self.pins_path() else { return HashSet::new() };
        let text = read_whole(self.world.os(), &path, MAX_NOTES).unwrap_or_default();
        let Ok(note) = Raw::parse(&text) else { return HashSet::new() };
        note.get("pinned").into_iter().flat_map(Raw::items).filter_map(Raw::as_string).map(SessionId::from).collect()
    }

    /// Pins or unpins a session. Without a state directory there are no pins.
    pub fn pin(&self, id: &SessionId, is_pinned: bool) -> Result<(), SessionError> {
        let Some(path) = self.pins_path() else { return Ok(()) };
        let mut pins = self.pins();
        let is_new = if is_pinned { pins.insert(id.clone()) } else { pins.remove(id) };
        if !is_new {
            return Ok(());
        }
        let mut pins: Vec<Json> = pins.iter().map(|id| Json::string(id.as_str())).collect();
        pins.sort_by(|one, other| one.raw().as_bytes().cmp(other.raw().as_bytes()));
        let mut note = ObjectWriter::new();
        note.array("pinned", pins.iter().map(Json::raw));
        let mut line = note.finish().into_bytes();
        line.push(b'\n');
        if let Some(directory) = path.parent() {
            create_directory(self.world.os(), directory, false)?;
        }
        Ok(swap_in(self.world.os(), &path, &line)?)
    }

    fn pins_path(&self) -> Option<PathBuf> {
        self.environment().state_dir().map(|directory| directory.join("pins.json"))
    }
}
