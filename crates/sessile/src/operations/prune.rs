//! Pruning sessions that are unused or large.
//!
//! A session counts as used when any session of its family was used: a fork in use protects its parent. Named and
//! labelled sessions are kept unless the caller includes them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::ObjectWriter;
use sessile_store::planted::{self, Bug};
use sessile_store::{StoreError, append_notes};

use super::delete::{Deletion, delete_if};
use crate::error::SessionError;
use crate::group::SessionRef;
use crate::journal::{Recording, settle_dead};
use crate::list::SessionInfo;
use crate::record::{OperationKind, SessionLocation, TrashedTo};
use crate::sessions::Sessions;
use crate::world::World;

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// A family used within this time is in use, unless the caller gives an age.
const RECENT: i64 = 7 * DAY;

/// What to prune.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// Sessions of families that have not been used for this many milliseconds.
    pub older_than: Option<i64>,
    /// Sessions whose files are longer than this many bytes.
    pub larger_than: Option<u64>,
    /// Sessions outside of this many most recently used families in scope.
    pub keep: Option<usize>,
    /// Include named sessions.
    pub named: bool,
    /// Include labelled sessions.
    pub labelled: bool,
    /// The sessions to consider. Families are always considered as a whole, in all directories.
    pub scope: PruneScope,
}

/// Which sessions may be pruned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PruneScope {
    /// Those of all working directories.
    #[default]
    All,
    /// Those that a list of this working directory contains.
    Cwd(PathBuf),
    /// Those of the repository around a working directory with all its worktrees, or else of the directory.
    Project(PathBuf),
}

/// Why a matching session is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneExemption {
    /// It has a name.
    Named,
    /// It has labels.
    Labelled,
    /// It cannot be read, so it is unknown what would be lost.
    Unreadable,
    /// It was written to after it was selected, or a process is using it.
    InUse,
}

impl PruneExemption {
    /// The name of the reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Labelled => "labelled",
            Self::Unreadable => "unreadable",
            Self::InUse => "in-use",
        }
    }
}

/// A session that is kept although it matches.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptSession {
    /// The session.
    pub session: SessionInfo,
    /// Why it stays.
    pub reason: PruneExemption,
}

/// A pruning: done, or planned in a dry run.
#[derive(Clone, Debug, PartialEq)]
pub struct Pruned {
    /// The operation's id, for undo; `None` if nothing was done.
    pub operation: Option<String>,
    /// The pruned sessions, least recently used first, each with the time its family was last used.
    pub sessions: Vec<(SessionInfo, Timestamp)>,
    /// The matching sessions that are kept.
    pub kept: Vec<KeptSession>,
}

impl Pruned {
    /// The total size of the sessions in bytes.
    pub fn size(&self) -> u64 {
        self.sessions.iter().map(|(session, _)| session.size).sum()
    }
}

impl Sessions {
    /// Moves unused or large sessions to the trash, or only selects them.
    ///
    /// Without a criterion nothing is pruned. If only size or number is given,
    /// sessions of families used in the last seven days are kept.
    pub fn prune(&self, pruning: &PruneOptions, apply: bool) -> Result<Pruned, SessionError> {
        if apply {
            settle_dead(&self.world);
        }
        let mut pruned = self.prunable(pruning)?;
        if !apply || pruned.sessions.is_empty() {
            return Ok(pruned);
        }
        for (session, _) in &pruned.sessions {
            if let Err(error) = self.deletable(&session.path)
                && !self.is_elsewhere(session)
            {
                return Err(error);
            }
        }
        let chosen = std::mem::take(&mut pruned.sessions);
        let recording = Recording::begin(&self.world, OperationKind::Prune, chosen.len(), None)?;
        for (session, last_used) in chosen {
            let location = SessionLocation { path: session.path.clone(), id: session.id.clone() };
            let check = || self.check_unchanged(&session);
            let deleted = self
                .refuse_users(&session.path)
                .and_then(|()| delete_if(&self.world, &recording, &location, Deletion::ToTrash, &check));
            match deleted {
                Ok(to) => {
                    write_audit(&self.world, &recording.id, &session, last_used, &to)?;
                    pruned.sessions.push((session, last_used));
                }
                // A session that was used or moved after it was selected is kept, and the others go.
                Err(SessionError::Store(StoreError::Busy { .. }) | SessionError::InUse { .. }) => {
                    pruned.kept.push(KeptSession { session, reason: PruneExemption::InUse });
                }
                Err(_) if self.is_elsewhere(&session) => {
                    pruned.kept.push(KeptSession { session, reason: PruneExemption::InUse });
                }
                Err(error) => return Err(error),
            }
        }
        pruned.operation = Some(recording.id.clone());
        recording.done();
        Ok(pruned)
    }

    /// Whether another process has moved or deleted a session.
    fn is_elsewhere(&self, session: &SessionInfo) -> bool {
        self.world.os().link_stat(&session.path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Refuses a session whose file changed after it was selected. Call this while holding its lock.
    fn check_unchanged(&self, session: &SessionInfo) -> Result<(), SessionError> {
        let path = &session.path;
        let stat = self.world.os().link_stat(path).map_err(|source| StoreError::io_at("access", path, source))?;
        if stat.length == session.size || planted::has(Bug::NoRecheckInPrune) {
            return Ok(());
        }
        let users = vec![format!(
            "it was written to after it was selected: it has {} bytes, not {}",
            stat.length, session.size
        )];
        Err(SessionError::InUse { path: path.clone(), users })
    }

    fn prunable(&self, pruning: &PruneOptions) -> Result<Pruned, SessionError> {
        let mut pruned = Pruned { operation: None, sessions: Vec::new(), kept: Vec::new() };
        if pruning.older_than.is_none() && pruning.larger_than.is_none() && pruning.keep.is_none() {
            return Ok(pruned);
        }
        let all = self.list_all()?;
        let in_scope = self.in_scope(&all, pruning)?;
        let last_used = self.last_used(&all, &in_scope, pruning.keep);
        let used_until = self.environment().now().saturating_sub_ms(pruning.older_than.unwrap_or(RECENT));
        for (index, session) in all.into_iter().enumerate() {
            let Some(last_used) = last_used.get(&index).copied().filter(|used| *used < used_until) else { continue };
            let is_large = pruning.larger_than.is_none_or(|limit| session.size > limit);
            if !is_large || !in_scope[index] {
                continue;
            }
            match self.exemption(&session, pruning) {
                Some(reason) => pruned.kept.push(KeptSession { session, reason }),
                None => pruned.sessions.push((session, last_used)),
            }
        }
        pruned.sessions.sort_by_key(|(session, last_used)| (*last_used, session.modified));
        self.keep_used(&mut pruned)?;
        Ok(pruned)
    }

    /// Keeps the chosen sessions that other programs use.
    fn keep_used(&self, pruned: &mut Pruned) -> Result<(), SessionError> {
        if self.world.ignores_users || pruned.sessions.is_empty() {
            return Ok(());
        }
        let (chosen, last_used): (Vec<_>, Vec<_>) = std::mem::take(&mut pruned.sessions).into_iter().unzip();
        let users = self.users_of_sessions(&chosen, &self.lengths_made()?);
        for ((session, last_used), users) in chosen.into_iter().zip(last_used).zip(users) {
            if users.is_empty() {
                pruned.sessions.push((session, last_used));
            } else {
                pruned.kept.push(KeptSession { session, reason: PruneExemption::InUse });
            }
        }
        Ok(())
    }

    /// For each session of a store, whether it may be pruned.
    fn in_scope(&self, sessions: &[SessionInfo], pruning: &PruneOptions) -> Result<Vec<bool>, SessionError> {
        Ok(match &pruning.scope {
            PruneScope::All => vec![true; sessions.len()],
            PruneScope::Cwd(cwd) => {
                let here = self.list(cwd)?;
                let here: HashSet<PathBuf> = here.into_iter().map(|session| session.path).collect();
                sessions.iter().map(|session| here.contains(&session.path)).collect()
            }
            PruneScope::Project(cwd) => {
                let project = self.project_of(cwd);
                sessions.iter().map(|session| project.holds(&session.cwd)).collect()
            }
        })
    }

    /// The time each session's family was last used, without the families to keep.
    fn last_used(&self, sessions: &[SessionInfo], in_scope: &[bool], keep: Option<usize>) -> HashMap<usize, Timestamp> {
        let mut last_used = HashMap::new();
        let is_member_in_scope =
            |session: &SessionRef| matches!(session, SessionRef::Listed(index) if in_scope[*index]);
        let families = self.families(sessions).into_iter();
        let families =
            families.filter(|family| family.members.iter().any(|member| is_member_in_scope(&member.session)));
        for family in families.skip(keep.unwrap_or_default()) {
            // Every entry counts as a use, including names and labels.
            let used = |index: usize| {
                sessions[index].modified.max(sessions[index].facts.newest_entry.unwrap_or(Timestamp::MIN))
            };
            let listed: Vec<usize> = (family.members.iter())
                .filter_map(|member| match &member.session {
                    SessionRef::Listed(index) => Some(*index),
                    SessionRef::Missing(_) => None,
                })
                .collect();
            let newest = listed.iter().map(|index| used(*index)).max().unwrap_or(Timestamp::MAX);
            last_used.extend(listed.into_iter().map(|index| (index, newest)));
        }
        last_used
    }

    fn exemption(&self, session: &SessionInfo, pruning: &PruneOptions) -> Option<PruneExemption> {
        if session.name.is_some() && !pruning.named {
            return Some(PruneExemption::Named);
        }
        if pruning.labelled {
            return None;
        }
        let labels =
            self.clone().read_only().open(&session.path).and_then(|manager| Ok(!manager.labelled()?.is_empty()));
        match labels {
            Ok(false) => None,
            Ok(true) => Some(PruneExemption::Labelled),
            Err(_) => Some(PruneExemption::Unreadable),
        }
    }
}

/// Logs what was pruned and why, for later audits. This file is never shortened.
fn write_audit(
    world: &World,
    operation: &str,
    session: &SessionInfo,
    last_used: Timestamp,
    to: &TrashedTo,
) -> Result<(), SessionError> {
    let Some(directory) = &world.operations_dir else { return Ok(()) };
    let mut line = ObjectWriter::new();
    line.string("time", &to_iso(world.environment().now()))
        .string("operation", operation)
        .string("path", &session.path.to_string_lossy())
        .string("id", session.id.as_str())
        .integer("size", i64::try_from(session.size).unwrap_or(i64::MAX))
        .string("modified", &to_iso(session.modified))
        .string("familyModified", &to_iso(last_used));
    if let TrashedTo::Trash(slot) = to {
        line.string("trashed", &slot.file.to_string_lossy());
    }
    let mut line = line.finish().into_bytes();
    line.push(b'\n');
    Ok(append_notes(world.os(), &directory.join("prune.jsonl"), &line)?)
}
