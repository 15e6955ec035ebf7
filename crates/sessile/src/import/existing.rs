//! The session of an earlier import, for the next one.

use sessile_agents::Existing;
use sessile_core::EntryId;
use sessile_core::head::Kind;
use sessile_core::json::Raw;
use sessile_core::outline::{Outline, Row};
use sessile_core::version::StableIds;
use sessile_store::{FileLog, Log};

use crate::error::SessionError;

/// A session that an import continues.
pub(super) struct Imported<'l> {
    log: &'l FileLog,
    pub(super) outline: Outline,
    name: Option<(EntryId, String)>,
}

impl<'l> Imported<'l> {
    pub(super) fn read(log: &'l FileLog) -> Result<Self, SessionError> {
        let mut outline = Outline::new();
        log.scan(0, &mut |line| outline.push(line, &mut StableIds))?;
        let named = outline.entries().rev().find(|row| outline.kind(*row) == Kind::SessionInfo);
        let mut name = None;
        if let Some((row, id)) = named.and_then(|row| Some((row, outline.id(row)?))) {
            let line = log.read(outline.span(row))?;
            let text = Raw::parse(&line).ok().and_then(|line| line.get("name")).and_then(Raw::as_string);
            name = Some((id, text.unwrap_or_default()));
        }
        Ok(Self { log, outline, name })
    }

    /// Whether an entry is only a note: where the conversation goes on does not depend on it.
    fn is_note(&self, row: Row) -> bool {
        matches!(
            self.outline.kind(row),
            Kind::Custom
                | Kind::SessionInfo
                | Kind::Label
                | Kind::ModelChange
                | Kind::ThinkingLevelChange
                | Kind::Usage
        )
    }
}

impl Existing<SessionError> for Imported<'_> {
    fn line(&mut self, id: &EntryId) -> Result<Option<Vec<u8>>, SessionError> {
        let row = self.outline.find(id);
        row.map(|row| Ok(self.log.read(self.outline.span(row))?)).transpose()
    }

    fn follows(&self, id: &EntryId, parent: &EntryId) -> bool {
        let mut at = self.outline.find(id).and_then(|row| self.outline.parent(row));
        while let Some(row) = at {
            if self.outline.id(row).as_ref() == Some(parent) {
                return true;
            }
            if !self.is_note(row) {
                return false;
            }
            at = self.outline.parent(row);
        }
        false
    }

    fn ending(&self) -> Vec<EntryId> {
        let mut ending = Vec::new();
        let mut at = self.outline.leaf();
        while let Some(row) = at {
            ending.extend(self.outline.id(row));
            if !self.is_note(row) {
                break;
            }
            at = self.outline.parent(row);
        }
        ending
    }

    fn last_name(&self) -> Option<(EntryId, String)> {
        self.name.clone()
    }
}
