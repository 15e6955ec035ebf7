//! The last change that cannot be undone, so that an undo does not revert an older one instead.
//!
//! Sessions only grow: appended entries stay. So each command that appends records that. An undo right after it would
//! revert an older change, which the user does not expect.

use std::path::{Path, PathBuf};

use sessile_core::date::Timestamp;
use sessile_core::json::{ObjectWriter, Raw};
use sessile_store::{MAX_NOTES, create_directory, read_whole, swap_in};

use crate::error::SessionError;
use crate::record::LastChange;
use crate::sessions::Sessions;

impl Sessions {
    /// Records that a user's command has appended to a session.
    ///
    /// Records nothing if operations are not logged. This is best effort: if it fails, the change is still valid.
    pub fn note_change(&self, command: &str, session: &Path) {
        drop(self.write_change(command, session));
    }

    fn write_change(&self, command: &str, session: &Path) -> Result<(), SessionError> {
        let Some(note) = self.change_note() else { return Ok(()) };
        let mut text = ObjectWriter::new();
        text.integer("time", self.environment().now().as_ms())
            .string("command", command)
            .string("session", &session.to_string_lossy());
        let mut line = text.finish().into_bytes();
        line.push(b'\n');
        if let Some(directory) = note.parent() {
            create_directory(self.world.os(), directory, false)?;
        }
        Ok(swap_in(self.world.os(), &note, &line)?)
    }

    /// The last change recorded by a command.
    pub(crate) fn last_change(&self) -> Option<LastChange> {
        let text = read_whole(self.world.os(), &self.change_note()?, MAX_NOTES).ok()?;
        let note = Raw::parse(&text).ok()?;
        Some(LastChange {
            #[expect(clippy::cast_possible_truncation, reason = "times are far below 2^53")]
            time: Timestamp::from_ms(note.get("time")?.as_number()? as i64),
            command: note.get("command")?.as_string()?,
            session: note.get("session")?.as_string()?.into(),
        })
    }

    fn change_note(&self) -> Option<PathBuf> {
        self.world.operations_dir.as_ref().map(|directory| directory.join("last-change.json"))
    }
}
