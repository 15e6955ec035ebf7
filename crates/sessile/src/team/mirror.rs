//! Where sessions of other members are mirrored, and how they get there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::date::{parse_utc_iso, to_iso};
use sessile_core::header::Header;
use sessile_core::location::{check_session_id, encode_cwd, file_name};
use sessile_remote::Server;
use sessile_store::remove_if_there;

use crate::error::SessionError;
use crate::journal::lock_activity;
use crate::known::{KnownSession, KnownSessions};
use crate::others::{OtherSession, members, safe_name, sessions};
use crate::sessions::Sessions;
use crate::sync::{CreatedReplica, Direction, KnownReplica, ReplicaLines, SyncOptions, SyncState, create_replica};
use crate::world::World;

/// The file for a session of another member; `None` if its id cannot be part of a path.
pub(super) fn path_of(world: &World, store: &Path, owner: &str, header: &Header, here: &Path) -> Option<PathBuf> {
    let id = header.id();
    check_session_id(id.as_str()).ok()?;
    // It becomes part of a path, so nothing but a time may be in it.
    let time = header.timestamp().and_then(|time| parse_utc_iso(time.as_bytes()));
    let time = to_iso(time.unwrap_or_else(|| world.environment().now()));
    let directory = sessions(&members(store).join(safe_name(owner))).join(encode_cwd(here));
    Some(directory.join(file_name(&time, &id)))
}

impl Sessions {
    /// Brings the file of another member's session up to date. Returns false if the server has no such session for this
    /// member; the file then stays as it is.
    pub(super) fn mirror(
        &self,
        server: &mut dyn Server,
        store: &Path,
        session: &OtherSession,
        options: &SyncOptions,
    ) -> Result<bool, SessionError> {
        let mut outcome = Ok(false);
        self.mirror_some(server, store, &[session], options, &mut |_, result| outcome = result)?;
        outcome
    }

    /// Brings the files of some sessions up to date, and then remembers them. Calls `on_session` for each, until the
    /// connection is lost.
    pub(super) fn mirror_some(
        &self,
        server: &mut dyn Server,
        store: &Path,
        sessions: &[&OtherSession],
        options: &SyncOptions,
        on_session: &mut dyn FnMut(&OtherSession, Result<bool, SessionError>),
    ) -> Result<(), SessionError> {
        let _turn = lock_activity(&self.world, "sync")?;
        let os = self.world.os();
        let mut known: HashMap<&str, (KnownSessions, bool)> = HashMap::new();
        for session in sessions {
            if options.cancel.is_cancelled() {
                break;
            }
            let load = || (KnownSessions::load(os, &members(store).join(safe_name(&session.owner))), false);
            let (known, is_changed) = known.entry(&session.owner).or_insert_with(load);
            let result = self.mirror_known(server, store, session, (known, is_changed), options);
            let is_lost = matches!(&result, Err(SessionError::Remote(error)) if error.is_disconnected());
            on_session(session, result);
            if is_lost {
                break;
            }
        }
        // Files that are not remembered are compared again.
        let mut changed = known.values().filter(|(_, is_changed)| *is_changed);
        changed.try_for_each(|(known, _)| Ok(known.save(os)?))
    }

    fn mirror_known(
        &self,
        server: &mut dyn Server,
        store: &Path,
        session: &OtherSession,
        (known, is_changed): (&mut KnownSessions, &mut bool),
        options: &SyncOptions,
    ) -> Result<bool, SessionError> {
        let os = self.world.os();
        let id = session.id.as_str();
        let Some(head) = server.head(Some(&session.owner), id)? else {
            let mut catalogue = Arc::unwrap_or_clone(self.world.catalogues.read(os, store));
            catalogue.remove(&session.path);
            self.world.catalogues.save(os, catalogue)?;
            return Ok(false);
        };
        let remembered = known.sessions.get(id).cloned();
        let there = os.link_stat(&session.path).ok().map(|stat| stat.revision());
        let is_as_known = remembered.as_ref().is_some_and(|known| known.revision.is_some() && known.revision == there);
        let is_at_head = remembered.as_ref().is_some_and(|known| known.position == head.position);
        if there.is_some() && is_at_head && (is_as_known || !head.may_append) {
            return Ok(true);
        }
        let create = |server: &mut dyn Server| {
            let cwd = Path::new(&session.cwd);
            let lines = ReplicaLines::OfOther;
            let CreatedReplica { position, end } =
                create_replica(&self.world, server, &head, &session.path, cwd, lines)?;
            Ok::<_, SessionError>((position, end))
        };
        let (position, end) = if there.is_none() {
            create(server)?
        } else {
            let known = KnownReplica { known: remembered.as_ref(), row: None, owner: Some(&session.owner) };
            let direction = if head.may_append { Direction::Both } else { Direction::Pull };
            let options = SyncOptions {
                direction,
                secrets: options.secrets.clone(),
                accepts_members: true,
                restores: false,
                is_thorough: false,
                cancel: options.cancel.clone(),
            };
            match self.sync_known(server, &session.path, &known, &options) {
                Ok((synced, end)) if synced.state == SyncState::Equal => (synced.position, end),
                Ok(_) => return Ok(true),
                // The owner has replaced the log in a way that the file cannot follow, and the file has nothing else.
                Err(SessionError::RemoteReplaced { .. }) if is_as_known => {
                    remove_if_there(os, &session.path)?;
                    create(server)?
                }
                Err(error) => return Err(error),
            }
        };
        known.sessions.insert(id.to_owned(), KnownSession::of(os, &session.path, position, end)?);
        *is_changed = true;
        Ok(true)
    }
}
