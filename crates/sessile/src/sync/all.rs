//! All sessions of a member.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::SessionId;
use sessile_core::date::{parse_utc_iso, to_iso};
use sessile_core::header::Header;
use sessile_core::json::Json;
use sessile_core::location::{check_session_id, file_name};
use sessile_core::version::CURRENT_VERSION;
use sessile_remote::{Head, OVERLAP, Position, RemoteError, Server, ServerTime, Tombstone};

use super::buried::is_waiting;
use super::created::{ReplicaLines, create_replica};
use super::first_push::Progress;
use super::replica::KnownReplica;
use super::summary::Whereabouts;
use super::{Direction, SyncOptions, SyncState, Synced};
use crate::error::SessionError;
use crate::journal::lock_activity;
use crate::known::leftovers::{LEFTOVER_MS, remove_leftovers};
use crate::known::{DIRECTORY, KnownSession, KnownSessions};
use crate::list::SessionInfo;
use crate::sessions::Sessions;

/// Which sessions to synchronize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// Those that were synchronized before, and those that other machines have pushed.
    Known,
    /// All sessions of this machine, and those that other machines have pushed.
    All,
    /// These files.
    Files(Vec<PathBuf>),
    /// The sessions with these ids, wherever they are.
    Ids(Vec<String>),
}

/// A session that was looked at.
#[derive(Debug)]
pub struct SyncResult {
    /// Its id.
    pub id: SessionId,
    /// Its file; `None` if there is none on this machine.
    pub path: Option<PathBuf>,
    /// What was done, or why not.
    pub result: Result<Synced, SessionError>,
    /// The number of sessions that were looked at until now.
    pub n_done: usize,
    /// The number of all sessions.
    pub n_all: usize,
}

/// How long an object without a line may be in a storage for large lines.
const ORPHAN_AGE: Duration = Duration::from_hours(7 * 24);

/// For how long nothing was appended to a session that is sealed.
const QUIET_AGE: Duration = Duration::from_hours(7 * 24);

/// How often a machine seals sessions.
const SEALING_PAUSE: Duration = Duration::from_hours(24);

/// A store on a server after all sessions were looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncSummary {
    /// The id of the store.
    pub store: String,
    /// The name of the member.
    pub member: String,
    /// The number of sessions in which nothing has changed on either side.
    pub n_unchanged: usize,
    /// The sessions of the store that were deleted on this machine, and stay on the server.
    pub deleted_here: Vec<SessionId>,
    /// Why what no session uses any more could not be removed from the server. The next synchronization tries again.
    pub not_swept: Option<String>,
    /// Why lines of quiet sessions could not be stored in less space. The next synchronization tries again.
    pub not_sealed: Option<String>,
}

impl Sessions {
    /// Makes sessions of this member equal to their logs on a server. Calls `on_session` for each that changed, or could
    /// not be synchronized; a failure does not affect the others.
    ///
    /// Costs what has changed: sessions that are the same on both sides are not read.
    pub fn sync(
        &self,
        server: &mut dyn Server,
        scope: &SyncScope,
        options: &SyncOptions,
        on_session: &mut dyn FnMut(SyncResult),
    ) -> Result<SyncSummary, SessionError> {
        let _turn = lock_activity(&self.world, "sync")?;
        remove_leftovers(&self.world, LEFTOVER_MS);
        let about = server.about()?;
        let directory = self.world.operations_dir.as_ref().ok_or(SessionError::NoStateDirectory)?;
        let directory = directory.join(DIRECTORY).join(&about.store);
        let os = self.world.os();
        let mut known = KnownSessions::load(os, &directory);
        let mut heads = BTreeMap::new();
        // A server that lost its last changes lists none of the sessions that have to be pushed again.
        let newest = known.witness_time(server)?;
        let since = newest.and(known.seen).filter(|_| !options.is_thorough).map(|seen| seen.minus(OVERLAP));
        // First: a session that was made again after its deletion is then known by its head.
        let mut tombstones = BTreeMap::new();
        server.tombstones(since, &mut |tombstone| {
            if tombstone.owner == about.member {
                tombstones.insert(tombstone.header_id.clone(), tombstone);
            }
        })?;
        let seen = server.heads(since, &mut |head: Head| {
            if head.owner == about.member {
                heads.insert(head.header_id.clone(), head);
            }
            ControlFlow::Continue(())
        })?;
        let local = self.list_all()?;
        let mut summary = SyncSummary {
            store: about.store,
            member: about.member,
            n_unchanged: 0,
            deleted_here: Vec::new(),
            not_swept: None,
            not_sealed: None,
        };
        let mut run = Run {
            sessions: self,
            server: &mut *server,
            options,
            notes: Notes { sessions: self, known: &mut known, heads: &heads, newest },
            tombstones: &tombstones,
            has_all_heads: since.is_none(),
            local: &local,
        };
        let mut has_failed = false;
        let done = run.all(scope, &mut summary, &mut |result| {
            has_failed |= result.result.as_ref().map_or(true, is_waiting);
            on_session(result);
        });
        // A session that could not be pulled is looked at again.
        let is_complete = done.is_ok() && !has_failed;
        if is_complete && options.direction == Direction::Both && matches!(scope, SyncScope::Known | SyncScope::All) {
            known.seen = Some(seen);
        }
        let is_pushing = matches!(options.direction, Direction::Both | Direction::Push);
        let is_due = known.sealed.is_none_or(|sealed| sealed < about.now.minus(SEALING_PAUSE));
        if is_complete && is_pushing && is_due {
            match server.seal(QUIET_AGE) {
                Ok(_) => known.sealed = Some(about.now),
                Err(error) => summary.not_sealed = Some(error.to_string()),
            }
        }
        known.save(os)?;
        done?;
        if is_pushing {
            let failed = server.sweep(ORPHAN_AGE).err().filter(|error| !error.is_disconnected());
            summary.not_swept = failed.map(|error| error.to_string());
        }
        Ok(summary)
    }
}

pub(super) struct Run<'r> {
    pub(super) sessions: &'r Sessions,
    pub(super) server: &'r mut dyn Server,
    pub(super) options: &'r SyncOptions,
    pub(super) notes: Notes<'r>,
    /// The sessions that were deleted everywhere since the last time.
    pub(super) tombstones: &'r BTreeMap<String, Tombstone>,
    /// Whether these are all heads that the server has.
    has_all_heads: bool,
    local: &'r [SessionInfo],
}

/// What is known about the sessions of both sides, and grows with each that was looked at.
pub(super) struct Notes<'r> {
    sessions: &'r Sessions,
    pub(super) known: &'r mut KnownSessions,
    /// The heads that have changed on the server since the last time.
    pub(super) heads: &'r BTreeMap<String, Head>,
    /// When the witness has changed on the server.
    newest: Option<ServerTime>,
}

impl Notes<'_> {
    /// Remembers what was done with a session, and the end of its lines.
    pub(super) fn note_synced(
        &mut self,
        id: &str,
        path: &Path,
        synced: Result<(Synced, u64), SessionError>,
    ) -> Result<Synced, SessionError> {
        let (synced, end) = match synced {
            Err(SessionError::Remote(RemoteError::Buried { .. })) => {
                return Ok(Synced { path: path.to_owned(), state: SyncState::Buried, ..Synced::new(id.into()) });
            }
            synced => synced?,
        };
        if synced.state == SyncState::Equal {
            self.remember(id, path, synced.position, end)?;
            self.note_change(id, synced.n_pushed > 0);
        } else if synced.state == SyncState::Others
            && let Some(known) = self.known.sessions.get_mut(id)
        {
            // So that it is looked at again, and the user can accept the lines later.
            known.revision = None;
        }
        Ok(synced)
    }

    fn remember(&mut self, id: &str, path: &Path, position: Position, end: u64) -> Result<(), SessionError> {
        let known = KnownSession::of(self.sessions.world.os(), path, position, end)?;
        self.known.sessions.insert(id.to_owned(), known);
        Ok(())
    }

    /// Makes a session the witness, if nothing that is known has reached the server later.
    fn note_change(&mut self, id: &str, is_pushed: bool) {
        // What was pushed now is later than anything that was there at the beginning of this run.
        let changed = self.heads.get(id).map(|head| head.seen_at);
        if is_pushed {
            self.newest = Some(ServerTime(i64::MAX));
        } else if changed > self.newest {
            self.newest = changed;
        } else {
            return;
        }
        self.known.witness = Some(id.to_owned());
    }
}

impl Run<'_> {
    fn all(
        &mut self,
        scope: &SyncScope,
        summary: &mut SyncSummary,
        on_session: &mut dyn FnMut(SyncResult),
    ) -> Result<(), SessionError> {
        let mut by_id: HashMap<&str, &SessionInfo> = HashMap::new();
        for info in self.local {
            by_id.entry(info.id.as_str()).or_insert(info);
        }
        let mut ids: BTreeSet<&str> = BTreeSet::new();
        match scope {
            SyncScope::Known => ids.extend(by_id.keys().filter(|id| self.notes.known.sessions.contains_key(**id))),
            SyncScope::All => ids.extend(by_id.keys()),
            SyncScope::Ids(wanted) => ids.extend(wanted.iter().map(String::as_str)),
            SyncScope::Files(files) => {
                ids.extend(self.local.iter().filter(|info| files.contains(&info.path)).map(|info| info.id.as_str()));
            }
        }
        self.note_burials(&by_id);
        let is_open = matches!(scope, SyncScope::Known | SyncScope::All);
        if is_open && self.options.direction != Direction::Push {
            ids.extend(self.notes.heads.keys().map(String::as_str));
        }
        let mut progress = Progress { n_done: 0, n_all: ids.len(), on_session };
        let new: Vec<(&str, &SessionInfo)> =
            ids.iter().filter_map(|id| Some((*id, *by_id.get(id)?))).filter(|(id, _)| self.is_new(id)).collect();
        let pushed = self.push_new(&new, &mut progress)?;
        for id in ids.into_iter().filter(|id| !pushed.contains(id)) {
            if self.options.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let info = by_id.get(id).copied();
            let burial = info.and_then(|info| self.burial(id, info));
            progress.n_done += 1;
            let is_known = self.notes.known.sessions.get(id).is_some_and(|known| !known.is_buried);
            if is_open && info.is_none() && is_known {
                summary.deleted_here.push(id.into());
            } else if burial.is_none() && info.is_some_and(|info| self.is_unchanged(id, info)) {
                summary.n_unchanged += 1;
                self.notes.note_change(id, false);
            } else {
                let result = match (burial, info) {
                    (Some(result), _) => result,
                    (None, Some(info)) => self.one(id, info),
                    (None, None) => self.create(id),
                };
                let path = result.as_ref().ok().map(|synced| synced.path.clone());
                let path = path.or_else(|| info.map(|info| info.path.clone()));
                // Without the server, the others cannot be synchronized either, and each would wait for it.
                if result.as_ref().is_err_and(SessionError::is_remote_down) {
                    return result.map(drop);
                }
                progress.report(id, path, result);
            }
        }
        Ok(())
    }

    /// Whether neither side has changed since they were equal.
    fn is_unchanged(&self, id: &str, info: &SessionInfo) -> bool {
        let Some(known) = self.notes.known.sessions.get(id).filter(|_| !self.options.is_thorough) else { return false };
        let there = self.sessions.world.os().link_stat(&info.path).ok().map(|stat| stat.revision());
        let is_file_same = known.path == info.path && known.revision.is_some() && known.revision == there;
        let is_log_same = self.notes.heads.get(id).map_or(!self.has_all_heads, |head| head.position == known.position);
        is_file_same && is_log_same
    }

    fn one(&mut self, id: &str, row: &SessionInfo) -> Result<Synced, SessionError> {
        let path = &row.path;
        let known = self.notes.known.sessions.get(id).filter(|known| known.path == *path);
        let known = KnownReplica { known, row: Some(row), owner: None };
        let synced = self.sessions.sync_known(self.server, path, &known, self.options);
        self.notes.note_synced(id, path, synced)
    }

    /// Creates the file of a session that only the server has.
    fn create(&mut self, id: &str) -> Result<Synced, SessionError> {
        let head = match self.notes.heads.get(id) {
            Some(head) => head.clone(),
            None => self.server.head(None, id)?.ok_or_else(|| SessionError::NotOnRemote { id: id.into() })?,
        };
        let header = header_of(&head).ok_or_else(|| SessionError::BadRemoteHeader { id: id.into() })?;
        let session = SessionId::from(id);
        check_session_id(id).map_err(|source| SessionError::BadSessionId { id: session.clone(), source })?;
        let world = &self.sessions.world;
        let cwd = header.cwd().unwrap_or_default();
        let whereabouts = Whereabouts::read(head.summary.as_deref().unwrap_or_default(), &cwd);
        let mut known = self.local.iter().map(|info| PathBuf::from(&info.cwd));
        let here = whereabouts.here(world, &mut known);
        let directory = world.session_dir_of(&here);
        // It becomes part of a path, so nothing but a time may be in it.
        let time = header.timestamp().and_then(|time| parse_utc_iso(time.as_bytes()));
        let time = to_iso(time.unwrap_or_else(|| world.environment().now()));
        let path = directory.join(file_name(&time, &session));
        if self.options.direction == Direction::Compare {
            let state = SyncState::Behind;
            return Ok(Synced { path, state, position: head.position, ..Synced::new(session) });
        }
        let lines = if self.options.accepts_members { ReplicaLines::All } else { ReplicaLines::Settled };
        let created = create_replica(world, self.server, &head, &path, &here, lines)?;
        self.notes.remember(id, &path, created.position, created.end)?;
        self.notes.note_change(id, false);
        let mut synced =
            Synced { path, n_pulled: created.position.n_lines, position: head.position, ..Synced::new(session) };
        if created.position != head.position {
            synced.state = SyncState::Others;
            if let Some(known) = self.notes.known.sessions.get_mut(id) {
                known.revision = None;
            }
        }
        Ok(synced)
    }
}

/// The header of a log, if it is one that this version understands and has the right id.
pub(crate) fn header_of(head: &Head) -> Option<Header> {
    let header = Header::new(Json::parse(&head.header).ok()?);
    let is_current = header.version() == Some(f64::from(CURRENT_VERSION));
    (is_current && header.id().as_str() == head.header_id).then_some(header)
}
