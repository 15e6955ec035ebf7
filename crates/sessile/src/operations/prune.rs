//! Sessions that nobody has used for long, or that take much room.
//!
//! What counts is when somebody last used any session of a family: a fork that
//! is in use keeps what it was forked from. What has a name or a label was
//! worth one, and stays unless its owner says otherwise.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sessile_core::date::to_iso;
use sessile_core::json::{Json, ObjectWriter};
use sessile_store::planted::{self, Bug};
use sessile_store::{StoreError, append_notes};

use super::delete::{Deletion, delete_if};
use super::log::{OperationKind, Recording, settle_dead};
use super::step::{SessionPlace, TrashedTo};
use crate::error::SessionError;
use crate::group::Who;
use crate::list::{ListOptions, SessionInfo};
use crate::manager::Sessions;
use crate::world::World;

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// A family that somebody used since so long is in use, unless the caller says how old is old.
const RECENT: i64 = 7 * DAY;

/// What to prune.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruning {
    /// Those of families that nobody used since so many milliseconds.
    pub older_than: Option<i64>,
    /// Those whose files are longer than so many bytes.
    pub larger_than: Option<u64>,
    /// All but those of the so many families in scope that were used last.
    pub keep: Option<usize>,
    /// Those that have a name too.
    pub named: bool,
    /// Those that have labels too.
    pub labelled: bool,
    /// Of which sessions. Families are looked at as a whole, wherever their sessions are.
    pub scope: PruneScope,
    /// Where the sessions are, if not in the usual place.
    pub session_dir: Option<PathBuf>,
}

/// Which sessions may be pruned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PruneScope {
    /// Those of all working directories.
    #[default]
    All,
    /// Those of a working directory, as a list of it has them.
    Cwd(PathBuf),
    /// Those of the repository around a working directory with all its worktrees, or of the directory.
    Project(PathBuf),
}

/// Why a session that would otherwise go stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has a name.
    Named,
    /// It has labels.
    Labelled,
    /// It cannot be read, so what would be lost is not known.
    Unreadable,
    /// It was written to since it was chosen, or a process is using it.
    InUse,
}

impl Reason {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Labelled => "labelled",
            Self::Unreadable => "unreadable",
            Self::InUse => "in-use",
        }
    }
}

/// A session that stays although it is old or large enough to go.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The session.
    pub session: SessionInfo,
    /// Why it stays.
    pub reason: Reason,
}

/// What was pruned, or would be.
#[derive(Clone, Debug, PartialEq)]
pub struct Pruned {
    /// The operation, by which it can be undone; none if nothing was done.
    pub operation: Option<String>,
    /// The sessions that go, the least recently used first, each with when its family was last used.
    pub sessions: Vec<(SessionInfo, i64)>,
    /// Those that stay all the same.
    pub kept: Vec<Kept>,
}

impl Pruned {
    /// How many bytes the sessions have.
    pub fn size(&self) -> u64 {
        self.sessions.iter().map(|(session, _)| session.size).sum()
    }

    /// The pruning as JSON: `{operation?, bytes, sessions: [{path, id, size, modified, familyModified}], kept: [{path, id, reason}]}`.
    pub fn to_json(&self) -> Json {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let row = |(session, last_used): &(SessionInfo, i64)| {
            let mut row = ObjectWriter::new();
            row.string("path", &session.path.to_string_lossy())
                .string("id", &session.id)
                .integer("size", number(session.size))
                .string("modified", &to_iso(session.modified))
                .string("familyModified", &to_iso(*last_used));
            row.finish()
        };
        let kept = |kept: &Kept| {
            let mut row = ObjectWriter::new();
            row.string("path", &kept.session.path.to_string_lossy())
                .string("id", &kept.session.id)
                .string("reason", kept.reason.word());
            row.finish()
        };
        let sessions: Vec<Json> = self.sessions.iter().map(row).collect();
        let kept: Vec<Json> = self.kept.iter().map(kept).collect();
        let mut json = ObjectWriter::new();
        if let Some(operation) = &self.operation {
            json.string("operation", operation);
        }
        json.integer("bytes", number(self.size()))
            .array("sessions", sessions.iter().map(Json::raw))
            .array("kept", kept.iter().map(Json::raw))
            .finish()
    }
}

impl Sessions {
    /// Moves sessions to the trash that nobody needs any more, or only says which.
    ///
    /// Without a criterion nothing is pruned. Of sessions that were asked for
    /// by size or number alone, those of families used in the last seven days stay.
    pub fn prune(&self, pruning: &Pruning, apply: bool) -> Result<Pruned, SessionError> {
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
            let place = SessionPlace { path: session.path.clone(), id: session.id.clone() };
            let check = || self.check_unchanged(&session);
            let deleted = self
                .refuse_users(&session.path)
                .and_then(|()| delete_if(&self.world, &recording, &place, Deletion::ToTrash, &check));
            match deleted {
                Ok(to) => {
                    write_audit(&self.world, &recording.id, &session, last_used, &to)?;
                    pruned.sessions.push((session, last_used));
                }
                // A session that came into use or went elsewhere since it was chosen stays, and the others go.
                Err(SessionError::Store(StoreError::Busy { .. }) | SessionError::InUse { .. }) => {
                    pruned.kept.push(Kept { session, reason: Reason::InUse });
                }
                Err(_) if self.is_elsewhere(&session) => {
                    pruned.kept.push(Kept { session, reason: Reason::InUse });
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

    /// Refuses a session whose file is not the one that was chosen to be pruned. To be called in its turn.
    fn check_unchanged(&self, session: &SessionInfo) -> Result<(), SessionError> {
        let path = &session.path;
        let stat = self.world.os().link_stat(path).map_err(|source| StoreError::io_at("look at", path, source))?;
        if stat.length == session.size || planted::has(Bug::NoRecheckInPrune) {
            return Ok(());
        }
        let users =
            vec![format!("it was written to since it was chosen: it has {} bytes, not {}", stat.length, session.size)];
        Err(SessionError::InUse { path: path.clone(), users })
    }

    fn prunable(&self, pruning: &Pruning) -> Result<Pruned, SessionError> {
        let mut pruned = Pruned { operation: None, sessions: Vec::new(), kept: Vec::new() };
        if pruning.older_than.is_none() && pruning.larger_than.is_none() && pruning.keep.is_none() {
            return Ok(pruned);
        }
        let all = self.list_all(pruning.session_dir.as_deref(), &mut ListOptions::default())?;
        let in_scope = self.in_scope(&all, pruning)?;
        let last_used = self.last_used(&all, &in_scope, pruning.keep);
        let used_until = self.environment().now_ms().saturating_sub(pruning.older_than.unwrap_or(RECENT));
        for (place, session) in all.into_iter().enumerate() {
            let Some(last_used) = last_used.get(&place).copied().filter(|used| *used < used_until) else { continue };
            let is_large = pruning.larger_than.is_none_or(|limit| session.size > limit);
            if !is_large || !in_scope[place] {
                continue;
            }
            match self.reason_to_stay(&session, pruning) {
                Some(reason) => pruned.kept.push(Kept { session, reason }),
                None => pruned.sessions.push((session, last_used)),
            }
        }
        pruned.sessions.sort_by_key(|(session, last_used)| (*last_used, session.modified));
        self.keep_used(&mut pruned)?;
        Ok(pruned)
    }

    /// Keeps those of the chosen sessions that other programs use.
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
                pruned.kept.push(Kept { session, reason: Reason::InUse });
            }
        }
        Ok(())
    }

    /// Which sessions of a store may be pruned.
    fn in_scope(&self, sessions: &[SessionInfo], pruning: &Pruning) -> Result<Vec<bool>, SessionError> {
        let dir = pruning.session_dir.as_deref();
        Ok(match &pruning.scope {
            PruneScope::All => vec![true; sessions.len()],
            PruneScope::Cwd(cwd) => {
                let here = self.list(cwd, dir, &mut ListOptions::default())?;
                let here: HashSet<PathBuf> = here.into_iter().map(|session| session.path).collect();
                sessions.iter().map(|session| here.contains(&session.path)).collect()
            }
            PruneScope::Project(cwd) => {
                let project = self.project_of(cwd);
                sessions.iter().map(|session| project.holds(&session.cwd)).collect()
            }
        })
    }

    /// When the family of each session was last used, without the families that are to be kept.
    fn last_used(&self, sessions: &[SessionInfo], in_scope: &[bool], keep: Option<usize>) -> HashMap<usize, i64> {
        let mut last_used = HashMap::new();
        let is_member_in_scope = |who: &Who| matches!(who, Who::Listed(place) if in_scope[*place]);
        let families = self.families(sessions).into_iter();
        let families = families.filter(|family| family.members.iter().any(|member| is_member_in_scope(&member.who)));
        for family in families.skip(keep.unwrap_or_default()) {
            // A name or a label that somebody gave is a use as well, and so is every other entry.
            let used =
                |place: usize| sessions[place].modified.max(sessions[place].facts.newest_entry.unwrap_or(i64::MIN));
            let listed: Vec<usize> = (family.members.iter())
                .filter_map(|member| match &member.who {
                    Who::Listed(place) => Some(*place),
                    Who::Missing(_) => None,
                })
                .collect();
            let newest = listed.iter().map(|place| used(*place)).max().unwrap_or(i64::MAX);
            last_used.extend(listed.into_iter().map(|place| (place, newest)));
        }
        last_used
    }

    fn reason_to_stay(&self, session: &SessionInfo, pruning: &Pruning) -> Option<Reason> {
        if session.name.is_some() && !pruning.named {
            return Some(Reason::Named);
        }
        if pruning.labelled {
            return None;
        }
        let labels = self
            .clone()
            .read_only()
            .open(&session.path, None, None)
            .and_then(|manager| Ok(!manager.labelled()?.is_empty()));
        match labels {
            Ok(false) => None,
            Ok(true) => Some(Reason::Labelled),
            Err(_) => Some(Reason::Unreadable),
        }
    }
}

/// Writes down what was pruned and why, for whoever wonders later. It never becomes shorter.
fn write_audit(
    world: &World,
    operation: &str,
    session: &SessionInfo,
    last_used: i64,
    to: &TrashedTo,
) -> Result<(), SessionError> {
    let Some(directory) = &world.operations_dir else { return Ok(()) };
    let mut line = ObjectWriter::new();
    line.string("time", &to_iso(world.environment().now_ms()))
        .string("operation", operation)
        .string("path", &session.path.to_string_lossy())
        .string("id", &session.id)
        .integer("size", i64::try_from(session.size).unwrap_or(i64::MAX))
        .string("modified", &to_iso(session.modified))
        .string("familyModified", &to_iso(last_used));
    if let TrashedTo::Trash(place) = to {
        line.string("trashed", &place.file.to_string_lossy());
    }
    let mut line = line.finish().into_bytes();
    line.push(b'\n');
    Ok(append_notes(world.os(), &directory.join("prune.jsonl"), &line)?)
}
