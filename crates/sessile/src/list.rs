//! Finding and listing sessions.

pub(crate) mod absent;
mod copies;
mod find;
mod load;
mod select;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
use sessile_core::date::Timestamp;
use sessile_core::info::SessionFacts;
use sessile_core::json::JsText;
use sessile_index::Caches;

use crate::directory::{CwdFilter, absolute};
use crate::error::SessionError;
use crate::sessions::Sessions;
use crate::world::World;
use absent::row_of_other;
pub(crate) use copies::Candidate;
pub use copies::Copies;
pub use find::SessionCandidate;
use find::most_recent_in;
pub(crate) use find::{find_by_id, identified, most_recent, read_header};
use load::Survey;
pub(crate) use load::row_of;
pub use select::{Archived, Children, Selection, SortBy};

/// One session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: SessionId,
    /// The working directory in its header, or empty.
    pub cwd: String,
    /// Its name, if it has one.
    pub name: Option<JsText<'static>>,
    /// Whether the whole session is archived.
    pub is_archived: bool,
    /// Whether it is a redacted copy of another session.
    pub is_redacted: bool,
    /// The agent that it was imported from.
    pub imported_from: Option<String>,
    /// The member of a team's store that owns it; `None` for the user's own session.
    pub member: Option<String>,
    /// The project of a team's store that it is in, if that store is in use and the user sees the project.
    pub project: Option<String>,
    /// The repository that its working directory belongs to, as host and path of the remote `origin`; only if a team's
    /// store is in use.
    pub repository: Option<String>,
    /// The file it was forked from.
    pub parent_session_path: Option<String>,
    /// Its creation time, if its header has it.
    pub created: Option<Timestamp>,
    /// The time of its last message.
    pub modified: Timestamp,
    /// The number of messages of every role on every branch.
    pub message_count: usize,
    /// The first text of the user.
    pub first_message: JsText<'static>,
    /// All texts of user and assistant; empty unless requested.
    pub all_messages_text: JsText<'static>,
    /// The length of its file in bytes.
    pub size: u64,
    /// When its file was last written.
    pub written: Timestamp,
    /// Further figures.
    pub facts: SessionFacts,
}

/// The progress of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    /// Files done: read, or known without reading.
    pub loaded: usize,
    /// The total number of files.
    pub total: usize,
    /// The list so far, from time to time.
    pub partial: Option<&'p [SessionInfo]>,
}

/// Options for a listing.
#[derive(Default)]
pub struct ListOptions<'o> {
    /// Whether to collect the texts of all messages, for searching.
    pub texts: bool,
    /// Called once for all files that are already known, then after each file that had to be read.
    pub progress: Option<&'o mut dyn FnMut(Progress<'_>)>,
    /// Checked before each file.
    pub cancel: Cancel,
    /// Returns true when the list is needed; files that must be read are then left out. Checked after each such file.
    pub is_late: Option<&'o dyn Fn() -> bool>,
    /// Receives the number of files that were left out because it was too late.
    pub n_unread: usize,
    /// Receives the files that are named like sessions but cannot be read as sessions.
    pub skipped: Option<&'o mut Vec<PathBuf>>,
}

/// A file that is named like a session and cannot be read as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFile {
    /// The file.
    pub path: PathBuf,
    /// Its length in bytes, if known.
    pub size: Option<u64>,
    /// Why a list does not show it.
    pub reason: String,
    /// What repair would do with it.
    pub repair: String,
    /// Whether repair would turn it into a session.
    pub is_repairable: bool,
}

impl Sessions {
    /// The file of the working directory's session with exactly this id.
    pub fn find_by_id(&self, cwd: impl AsRef<Path>, id: impl Into<SessionId>) -> Option<PathBuf> {
        find_by_id(&self.world, &absolute(self.environment(), cwd.as_ref()), &id.into())
    }

    /// The most recently written session of the directory that [`with_session_dir`](Self::with_session_dir) has set, of
    /// any working directory; `None` without such a directory.
    pub fn most_recent_of_any(&self) -> Result<Option<PathBuf>, SessionError> {
        match self.session_dir() {
            Some(dir) => most_recent_in(&self.world, dir, &CwdFilter::All),
            None => Ok(None),
        }
    }

    /// The sessions of a working directory, most recently active first.
    pub fn list(&self, cwd: impl AsRef<Path>) -> Result<Vec<SessionInfo>, SessionError> {
        self.list_with(cwd, &mut ListOptions::default())
    }

    /// Like [`list`](Self::list), with progress, cancellation and more.
    pub fn list_with(
        &self,
        cwd: impl AsRef<Path>,
        options: &mut ListOptions<'_>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        let cwd = absolute(self.environment(), cwd.as_ref());
        let (directory, filter) = (self.world.session_dir_of(&cwd), self.world.filter_of(&cwd));
        let Some(others) = &self.world.others else {
            return of_one_directory(&self.world, &directory, &filter, options);
        };
        let mut directories = others.session_dirs_of(self.world.os(), &cwd);
        directories.push(directory);
        let survey = Survey::new(&self.world, directories, caches(&self.world, options));
        let sessions = survey.load(&filter, 10, options)?;
        Ok(with_absent(&self.world, &self.world.filter_of_others(&cwd), sessions))
    }

    /// The sessions of all working directories, most recently active first.
    pub fn list_all(&self) -> Result<Vec<SessionInfo>, SessionError> {
        self.list_all_with(&mut ListOptions::default())
    }

    /// Like [`list_all`](Self::list_all), with progress, cancellation and more.
    pub fn list_all_with(&self, options: &mut ListOptions<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        list_all(&self.world, self.session_dir(), options)
    }
}

/// All sessions: in one directory, or in every directory below the root.
pub(crate) fn list_all(
    world: &World,
    dir: Option<&Path>,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    if let Some(dir) = dir {
        return of_one_directory(world, dir, &CwdFilter::All, options);
    }
    let mut survey = Survey::new(world, world.session_dirs()?, caches(world, options));
    survey.files.sort_by_cached_key(|file| Reverse(file.found.stat.modified_ms));
    let sessions = survey.load(&CwdFilter::All, 100, options)?;
    Ok(with_absent(world, &CwdFilter::All, sessions))
}

/// Adds the sessions of other members whose lines are not on this machine.
fn with_absent(world: &World, filter: &CwdFilter, mut sessions: Vec<SessionInfo>) -> Vec<SessionInfo> {
    if let Some(others) = &world.others {
        let catalogue = others.catalogue(world.os());
        absent::describe(&catalogue, world.os(), &mut sessions);
        sessions.extend(catalogue.absent(world.os(), world.environment(), filter).map(row_of_other));
        sessions.sort_by_key(|session| Reverse(session.modified));
    }
    sessions
}

fn of_one_directory(
    world: &World,
    dir: &Path,
    filter: &CwdFilter,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    let mut survey = Survey::of(world, dir, caches(world, options))?;
    survey.files.reverse();
    survey.load(filter, 10, options)
}

/// The caches that a listing may use. No cache has the texts of messages.
fn caches(world: &World, options: &ListOptions<'_>) -> Option<Caches> {
    world.caches().filter(|_| !options.texts)
}
