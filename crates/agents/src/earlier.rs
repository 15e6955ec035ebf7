//! The session of an earlier import, for the next one.

use sessile_core::EntryId;
use sessile_core::head::Kind;
use sessile_core::json::Raw;
use sessile_core::line::Span;
use sessile_core::outline::{Outline, Row};

use crate::entry::Existing;

/// A session that an import continues: its outline, and a function that reads a span of it.
#[derive(Debug)]
pub struct Earlier<R> {
    /// The outline of the session.
    pub outline: Outline,
    read: R,
    name: Option<(EntryId, String)>,
}

impl<E, R: FnMut(Span) -> Result<Vec<u8>, E>> Earlier<R> {
    /// Finds out the name of the session.
    pub fn new(outline: Outline, mut read: R) -> Result<Self, E> {
        let named = outline.entries().rev().find(|row| outline.kind(*row) == Kind::SessionInfo);
        let mut name = None;
        if let Some((row, id)) = named.and_then(|row| Some((row, outline.id(row)?))) {
            let line = read(outline.span(row))?;
            let text = Raw::parse(&line).ok().and_then(|line| line.get("name")).and_then(Raw::as_string);
            name = Some((id, text.unwrap_or_default()));
        }
        Ok(Self { outline, read, name })
    }
}

/// Whether an entry is only a note: where the conversation goes on does not depend on it.
fn is_note(outline: &Outline, row: Row) -> bool {
    matches!(
        outline.kind(row),
        Kind::Custom | Kind::SessionInfo | Kind::Label | Kind::ModelChange | Kind::ThinkingLevelChange | Kind::Usage
    )
}

/// The last entries of a session: notes, and the entry before them, where the conversation stops.
fn ending(outline: &Outline) -> Vec<EntryId> {
    let mut ending = Vec::new();
    let mut at = outline.leaf();
    while let Some(row) = at {
        ending.extend(outline.id(row));
        if !is_note(outline, row) {
            break;
        }
        at = outline.parent(row);
    }
    ending
}

impl<E, R: FnMut(Span) -> Result<Vec<u8>, E>> Existing<E> for Earlier<R> {
    fn line(&mut self, id: &EntryId) -> Result<Option<Vec<u8>>, E> {
        let row = self.outline.find(id);
        row.map(|row| (self.read)(self.outline.span(row))).transpose()
    }

    fn follows(&self, id: &EntryId, parent: &EntryId) -> bool {
        let mut at = self.outline.find(id).and_then(|row| self.outline.parent(row));
        while let Some(row) = at {
            if self.outline.id(row).as_ref() == Some(parent) {
                return true;
            }
            if !is_note(&self.outline, row) {
                return false;
            }
            at = self.outline.parent(row);
        }
        false
    }

    fn ending(&self) -> Vec<EntryId> {
        ending(&self.outline)
    }

    fn last_name(&self) -> Option<(EntryId, String)> {
        self.name.clone()
    }
}
