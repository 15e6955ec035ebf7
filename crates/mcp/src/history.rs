//! Which sessions an agent may see.

mod private;

use std::path::{Path, PathBuf};

use sessile::date::Timestamp;
use sessile::format::location::{normalise, resolve};
use sessile::list::{Archived, ListOptions, Selection, SessionInfo};
use sessile::reference::ReferenceError;
use sessile::{Cancel, SessionManager, Sessions};

use crate::failure::Failure;
use crate::names::attribute;
use crate::options::Options;
use crate::outgoing::{Outgoing, Secrets};
use private::PrivateSessions;

/// The most candidates for an ambiguous reference.
const MAX_CANDIDATES: usize = 5;

/// A session that was written this recently is probably the one that asks.
const LIVE_MS: i64 = 60_000;

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The working directory.
    Project,
    /// The repository around it with all its worktrees.
    Repo,
    /// All directories.
    All,
}

impl Scope {
    pub(crate) const WORDS: [(&'static str, Self); 3] =
        [("project", Self::Project), ("repo", Self::Repo), ("all", Self::All)];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Repo => "repo",
            Self::All => "all",
        }
    }
}

/// The sessions that an agent may see.
pub(crate) struct History {
    pub(crate) options: Options,
    pub(crate) secrets: Secrets,
    private: PrivateSessions,
}

impl History {
    pub(crate) fn new(mut options: Options) -> Self {
        options.sessions = options.sessions.read_only();
        Self { options, secrets: Secrets::default(), private: PrivateSessions::default() }
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.options.sessions
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.sessions().environment().now()
    }

    /// The widest scope.
    pub(crate) fn widest(&self) -> Scope {
        if self.options.shows_all { Scope::All } else { Scope::Repo }
    }

    /// The scope that a call asks for.
    pub(crate) fn scope(&self, asked: Option<Scope>) -> Result<Scope, Failure> {
        match asked {
            None => Ok(self.widest()),
            Some(Scope::All) if !self.options.shows_all => {
                Err(Failure::told("this server shows only the sessions of this repository; use scope \"repo\""))
            }
            Some(scope) => Ok(scope),
        }
    }

    /// The sessions in a scope, most recently active first, with archived ones.
    pub(crate) fn list(&self, scope: Scope, cancel: &Cancel) -> Result<Vec<SessionInfo>, Failure> {
        let mut options = ListOptions { cancel: cancel.clone(), ..ListOptions::default() };
        let (sessions, cwd) = (self.sessions(), &self.options.cwd);
        let mut listed = match scope {
            Scope::Project => sessions.list_with(cwd, &mut options)?,
            Scope::Repo => sessions.list_project_with(cwd, &mut options)?,
            Scope::All => sessions.list_all_with(&mut options)?,
        };
        listed.retain(|session| !self.is_excluded(session));
        self.private.remove_from(sessions, &mut listed, cancel)?;
        Ok(listed)
    }

    /// The sessions in a scope that lists show: without archived ones.
    pub(crate) fn list_shown(&self, scope: Scope, cancel: &Cancel) -> Result<Vec<SessionInfo>, Failure> {
        let mut listed = self.list(scope, cancel)?;
        Selection { archived: Archived::Hidden, ..Selection::default() }.apply(&mut listed);
        Ok(listed)
    }

    /// Whether the user excludes a session, by its directory, its id or its name.
    fn is_excluded(&self, session: &SessionInfo) -> bool {
        let environment = self.sessions().environment();
        let (home, base) = (environment.home(), environment.current_dir());
        let full = |path: &Path| resolve(path, &base, &home);
        let name = session.name.as_ref().map(|name| name.to_str().trim().to_owned());
        self.options.excluded.iter().any(|excluded| {
            let is_path = excluded.contains('/') || excluded.starts_with('~');
            if !is_path {
                let is_prefix = excluded.len() >= 4 && session.id.as_str().starts_with(excluded.as_str());
                return is_prefix || name.as_deref() == Some(excluded.trim());
            }
            let directory = full(&normalise(Path::new(excluded), &home));
            let is_inside = |path: &Path| full(path).starts_with(&directory);
            (!session.cwd.is_empty() && is_inside(Path::new(&session.cwd))) || is_inside(&session.path)
        })
    }

    /// Whether a session was written just now.
    pub(crate) fn is_live(&self, session: &SessionInfo) -> bool {
        self.now().as_ms() - session.written.as_ms() < LIVE_MS
    }

    /// Resolves a reference to a session that the agent may see.
    pub(crate) fn find(&self, word: &str, outgoing: &Outgoing<'_>, cancel: &Cancel) -> Result<SessionInfo, Failure> {
        let listed = self.list(self.widest(), cancel)?;
        if word == "@latest" {
            let newest = listed.into_iter().find(|session| !session.is_archived);
            return newest.ok_or_else(|| Failure::told("there are no sessions"));
        }
        let row_of = |path: &PathBuf| listed.iter().find(|session| session.path == *path);
        // A session that the agent may not see answers like one that does not exist.
        let meant: Vec<&SessionInfo> = match self.sessions().find_session(word, &self.options.cwd) {
            Ok(path) if row_of(&path).is_some() => row_of(&path).into_iter().collect(),
            Err(ReferenceError::AmbiguousSession { candidates, .. }) => {
                candidates.iter().filter_map(|candidate| row_of(&candidate.path)).collect()
            }
            Err(ReferenceError::Session(error)) => return Err(error.into()),
            Ok(_) | Err(_) => visible_matches(&listed, word),
        };
        match meant.as_slice() {
            [] => Err(Failure::told("no such session; list_sessions shows the sessions")),
            [session] => Ok((*session).clone()),
            several => Err(ambiguous(several, outgoing)),
        }
    }

    /// Opens a session.
    pub(crate) fn open(&self, session: &SessionInfo) -> Result<SessionManager, Failure> {
        Ok(self.sessions().open(&session.path)?)
    }
}

/// The sessions that a word means, if the one that it means to the user is not among them.
fn visible_matches<'l>(listed: &'l [SessionInfo], word: &str) -> Vec<&'l SessionInfo> {
    let is_named =
        |session: &SessionInfo| session.name.as_ref().is_some_and(|name| name.to_str().trim() == word.trim());
    let ways: [&dyn Fn(&SessionInfo) -> bool; 3] = [&|session| session.id.as_str() == word, &is_named, &|session| {
        word.len() >= 4 && session.id.as_str().starts_with(word)
    }];
    let all = ways.iter().map(|is_meant| listed.iter().filter(|session| is_meant(session)).collect::<Vec<_>>());
    all.into_iter().find(|meant| !meant.is_empty()).unwrap_or_default()
}

fn ambiguous(several: &[&SessionInfo], outgoing: &Outgoing<'_>) -> Failure {
    let mut lines = vec![format!("the reference matches {} sessions; use a full id:", several.len())];
    for session in several.iter().take(MAX_CANDIDATES) {
        let title = session.name.as_ref().unwrap_or(&session.first_message);
        let title = attribute(outgoing.line(&title.to_str(), 60).as_str());
        lines.push(format!("{} \"{title}\"", attribute(session.id.as_str())));
    }
    Failure::told(lines.join(
        "
",
    ))
}
