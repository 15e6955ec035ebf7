//! Upgrading an old file to the current version before the first write.

use sessile_core::date::to_iso;
use sessile_store::{StoreError, Turn, replace};

use super::SessionManager;
use crate::error::SessionError;
use crate::journal::rewriting;
use crate::record::{OperationKind, SessionLocation};
use crate::session::Session;
use crate::world::World;

impl SessionManager {
    /// Prepares a file for appending: refuses a newer version, restores what was destroyed, upgrades an older version.
    ///
    /// The upgrade may change entry ids, so call this before using any id.
    pub(super) fn prepare_write(&mut self) -> Result<(), SessionError> {
        if self.world.is_read_only {
            return Err(SessionError::ReadOnly);
        }
        self.session.check_writable()?;
        self.session.resume(&self.world)?;
        upgrade_file(&mut self.session, &self.world)
    }
}

/// Upgrades a file of version 1 or 2 to the current version before the first write.
fn upgrade_file(session: &mut Session, world: &World) -> Result<(), SessionError> {
    if !session.backing.is_stored() || !session.outline.upgrade().is_needed() {
        return Ok(());
    }
    let turn = session.begin_turn()?;
    let upgraded = match turn {
        Turn::Ours => upgrade_in_turn(session, world),
        // Never swap a file while another program may be writing to it.
        Turn::Unlocked => Err(StoreError::Busy { log: session.backing.name(), holder: None }.into()),
    };
    // The log may have been reopened since the turn began; ending a turn that was not begun does nothing.
    session.end_turn();
    upgraded
}

fn upgrade_in_turn(session: &mut Session, world: &World) -> Result<(), SessionError> {
    let log = session.backing.log();
    let Some(path) = log.local_path() else { return Err(SessionError::OldVersion { log: log.name() }) };
    let path = path.to_path_buf();
    if !session.has_known_header() || matches!(log.length(), Err(StoreError::Replaced { .. })) {
        // Another process has upgraded the file, so all known offsets are wrong.
        session.reload(world, &path)?;
        return upgrade_file(session, world);
    }
    session.catch_up(world)?;
    let log = session.backing.log();
    let stamp = to_iso(world.environment().now()).replace([':', '.'], "-");
    let known = session.outline.end();
    let location = SessionLocation { path: path.clone(), id: session.header.id() };
    let replaced =
        rewriting(world, world.recorded_as.filter(|kind| *kind == OperationKind::Migrate), location, &stamp, || {
            replace(&world.os, &path, known, &stamp, &mut |out| {
                session.write_lines(&path, out, &|_| true)?;
                // Another program may have rewritten the file while it was being copied.
                log.length().map(drop).map_err(SessionError::from)
            })
        });
    // Even after an error the new file may be in place. If it is, continue with it.
    if replaced.is_ok() || matches!(log.length(), Err(StoreError::Replaced { .. })) {
        session.reload(world, &path)?;
    }
    session.retained.original = Some(replaced?.original);
    Ok(())
}
