//! Restoring deleted sessions.

use std::path::Path;

use sessile_core::date::Timestamp;
use sessile_store::{HeldTurn, TrashSlot};

use super::reunite::clear_path;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, settle_dead};
use crate::record::{OperationKind, SessionLocation, Step, TrashedTo};
use crate::session_file::LOCK_TIMEOUT;
use crate::sessions::Sessions;

/// A session in the trash that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashedSession {
    /// The operation that deleted it.
    pub operation: String,
    /// The time of that operation.
    pub time: Timestamp,
    /// The session with its former path.
    pub session: SessionLocation,
    /// Its place in the trash.
    pub slot: TrashSlot,
}

impl Sessions {
    /// The sessions that were deleted here and are still in the trash, most recently deleted first.
    pub fn in_trash(&self) -> Result<Vec<TrashedSession>, SessionError> {
        let mut found: Vec<TrashedSession> = Vec::new();
        for operation in self.operations()?.into_iter().rev() {
            for step in operation.steps.into_iter().rev() {
                let Step::Delete { session, to: TrashedTo::Trash(slot) } = step else { continue };
                let is_there = self.world.os().link_stat(&slot.file).is_ok();
                if is_there && found.iter().all(|other| other.slot.file != slot.file) {
                    found.push(TrashedSession { operation: operation.id.clone(), time: operation.time, session, slot });
                }
            }
        }
        Ok(found)
    }

    /// Restores a session from the trash to its former path. Never overwrites a file there.
    ///
    /// `wanted` is its id or a prefix of it, its path or its file name.
    pub fn restore(&self, wanted: &str, dry_run: bool) -> Result<(TrashedSession, Option<String>), SessionError> {
        if !dry_run {
            settle_dead(&self.world);
        }
        let found = self.find_in_trash(wanted)?;
        if dry_run {
            return Ok((found, None));
        }
        let operation = self.bring_back(&found)?;
        Ok((found, Some(operation)))
    }

    /// Restores exactly this deleted session, even if the same one was deleted again later. Returns the operation's id.
    pub fn restore_deleted(&self, deleted: &TrashedSession) -> Result<String, SessionError> {
        settle_dead(&self.world);
        self.bring_back(deleted)
    }

    fn bring_back(&self, deleted: &TrashedSession) -> Result<String, SessionError> {
        let recording = Recording::begin(&self.world, OperationKind::Restore, 1, None)?;
        self.restore_one(&recording, &deleted.session, &deleted.slot)?;
        let operation = recording.id.clone();
        recording.done();
        Ok(operation)
    }

    pub(super) fn restore_one(
        &self,
        recording: &Recording<'_>,
        session: &SessionLocation,
        slot: &TrashSlot,
    ) -> Result<(), SessionError> {
        clear_path(
            self,
            recording,
            &session.path,
            &SessionLocation { path: slot.file.clone(), id: session.id.clone() },
        )?;
        // The lock belongs to the file, so this waits for a process that is deleting the session right now.
        let _turn = HeldTurn::take(&self.world.os, &slot.file, LOCK_TIMEOUT)?;
        let length = self.world.os().link_stat(&slot.file).ok().map(|stat| stat.length);
        let step = Step::Restore { session: session.clone(), from: slot.clone(), length };
        recording.step(&step, || Ok(slot.restore(self.world.os(), &session.path)?))
    }

    fn find_in_trash(&self, wanted: &str) -> Result<TrashedSession, SessionError> {
        let all = self.in_trash()?;
        let path = absolute(self.environment(), Path::new(wanted));
        let is_exact = |it: &&TrashedSession| {
            let name = it.session.path.file_name().and_then(|name| name.to_str());
            it.session.id == wanted || it.session.path == path || name == Some(wanted)
        };
        // If a session was deleted several times, use the last deletion.
        if let Some(found) = all.iter().find(is_exact) {
            return Ok(found.clone());
        }
        let mut beginning: Vec<&TrashedSession> =
            all.iter().filter(|it| it.session.id.as_str().starts_with(wanted)).collect();
        beginning.dedup_by(|one, other| one.session.id == other.session.id);
        match beginning.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(SessionError::NotInTrash { wanted: wanted.to_owned() }),
            several => Err(SessionError::Ambiguous {
                wanted: wanted.to_owned(),
                what: "sessions in the trash",
                candidates: several.iter().map(|it| it.session.id.to_string()).collect(),
            }),
        }
    }
}
