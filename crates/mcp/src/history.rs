//! Which sessions an agent may see.

mod known;
mod private;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sessile::date::Timestamp;
use sessile::format::location::{normalise, resolve};
use sessile::label::is_private;
use sessile::list::{ListOptions, SessionInfo};
use sessile::reference::ReferenceError;
use sessile::search::SearchScope;
use sessile::stats::{Ledger, LedgerOptions};
use sessile::{SessionManager, Sessions};

use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::names::attribute;
use crate::options::Options;
use crate::outgoing::{Outgoing, Secrets};
pub(crate) use known::Listed;
use known::{KnownList, KnownLists};
use private::{PrivateSessions, has_private_label};

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
    known: KnownLists,
    /// The last usage by day and model.
    ledger: Mutex<Arc<Ledger>>,
}

impl History {
    pub(crate) fn new(mut options: Options) -> Self {
        options.sessions = options.sessions.read_only();
        Self {
            options,
            secrets: Secrets::default(),
            private: PrivateSessions::default(),
            known: KnownLists::default(),
            ledger: Mutex::default(),
        }
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
                Err(Failure::explained("this server shows only the sessions of this repository; use scope \"repo\""))
            }
            Some(scope) => Ok(scope),
        }
    }

    /// Where a search in a scope looks.
    pub(crate) fn search_scope(&self, scope: Scope) -> SearchScope {
        match scope {
            Scope::Project => SearchScope::Cwd(self.options.cwd.clone()),
            Scope::Repo | Scope::All => SearchScope::All,
        }
    }

    /// The sessions in a scope, most recently active first, with archived ones.
    ///
    /// If there is not enough time to read those that the catalogue does not have, they are missing; the next call goes on.
    pub(crate) fn list(&self, scope: Scope, deadline: &Deadline<'_>) -> Result<Listed, Failure> {
        Ok(self.known_list(scope, deadline)?.all.clone())
    }

    /// The sessions in a scope that lists show: without archived ones.
    pub(crate) fn list_shown(&self, scope: Scope, deadline: &Deadline<'_>) -> Result<Listed, Failure> {
        Ok(self.known_list(scope, deadline)?.shown.clone())
    }

    fn known_list(&self, scope: Scope, deadline: &Deadline<'_>) -> Result<Arc<KnownList>, Failure> {
        let (sessions, cwd) = (self.sessions(), &self.options.cwd);
        // Before the list, so that a change between the two is a change of the files.
        let survey = sessions.survey(&self.search_scope(scope))?;
        let project = sessions.project_of(cwd);
        if let Some(known) = self.known.current(scope, &survey, |cwd| project.holds(cwd)) {
            return Ok(known);
        }
        let is_late = deadline.is_late();
        let mut options =
            ListOptions { cancel: deadline.cancel.clone(), is_late: Some(&is_late), ..ListOptions::default() };
        let mut listed = match scope {
            Scope::Project => sessions.list_with(cwd, &mut options)?,
            Scope::Repo | Scope::All => sessions.list_all_with(&mut options)?,
        };
        let mut members = BTreeMap::new();
        if scope == Scope::Repo {
            members.extend(listed.iter().map(|session| (session.cwd.clone(), project.holds(&session.cwd))));
            listed.retain(|session| project.holds(&session.cwd));
        }
        let is_complete = options.n_unread == 0;
        deadline.note_unread_files(options.n_unread);
        let excluded = self.excluded();
        listed.retain(|session| !excluded.has(session) && !self.private.contains(sessions, session));
        let list = Arc::new(KnownList::new(scope, survey, members, listed));
        // The sessions of other members change without a file here.
        if is_complete && !sessions.has_other_members() {
            self.known.keep(&list);
        }
        Ok(list)
    }

    /// The usage of sessions by day and model. If there is not enough time to read all of them, some are missing; the next
    /// call goes on.
    pub(crate) fn ledger(&self, sessions: &[SessionInfo], deadline: &Deadline<'_>) -> Result<Arc<Ledger>, Failure> {
        let is_late = deadline.is_late();
        let options = LedgerOptions { cancel: deadline.cancel.clone(), is_late: Some(&is_late), on_progress: None };
        let before = Arc::clone(&self.ledger.lock().unwrap_or_else(PoisonError::into_inner));
        let ledger = Arc::new(self.sessions().ledger(sessions.to_vec(), &before, &options)?);
        deadline.note_unread_files(deadline.n_unread_files() + ledger.n_left());
        *self.ledger.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&ledger);
        Ok(ledger)
    }

    fn excluded(&self) -> Excluded<'_> {
        let environment = self.sessions().environment();
        Excluded { words: &self.options.excluded, home: environment.home(), base: environment.current_dir() }
    }

    /// Whether a session was written just now.
    pub(crate) fn is_live(&self, session: &SessionInfo) -> bool {
        self.now().as_ms() - session.written.as_ms() < LIVE_MS
    }

    /// Resolves a reference to a session that the agent may see.
    pub(crate) fn find(
        &self,
        word: &str,
        outgoing: &Outgoing<'_>,
        deadline: &Deadline<'_>,
    ) -> Result<SessionInfo, Failure> {
        let listed = self.list(self.widest(), deadline)?;
        if word == "@latest" {
            let newest = listed.iter().find(|session| !session.is_archived).cloned();
            return newest.ok_or_else(|| Failure::explained("there are no sessions"));
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
            [] if deadline.has_unread() => {
                Err(Failure::explained(format!("{} sessions are not read yet; ask again", deadline.n_unread_files())))
            }
            [] => Err(no_such_session()),
            [session] => Ok((*session).clone()),
            several => Err(ambiguous(several, outgoing)),
        }
    }

    /// Opens a session. Checks again that it is not private: its file may have grown since it was listed.
    pub(crate) fn open(&self, session: &SessionInfo) -> Result<SessionManager, Failure> {
        let opened = self.sessions().open(&session.path)?;
        let is_private_name = opened.session_name()?.is_some_and(|name| is_private(&name));
        if is_private_name || has_private_label(&opened)? {
            return Err(no_such_session());
        }
        Ok(opened)
    }
}

/// What the user excludes.
struct Excluded<'e> {
    words: &'e [String],
    home: PathBuf,
    base: PathBuf,
}

impl Excluded<'_> {
    /// Whether the user excludes a session, by its directory, its id or its name.
    fn has(&self, session: &SessionInfo) -> bool {
        let full = |path: &Path| resolve(path, &self.base, &self.home);
        self.words.iter().any(|word| {
            let is_path = word.contains('/') || word.starts_with('~');
            if !is_path {
                let name = session.name.as_ref().map(|name| name.to_str().trim().to_owned());
                let is_prefix = word.len() >= 4 && session.id.as_str().starts_with(word.as_str());
                return is_prefix || name.as_deref() == Some(word.trim());
            }
            let directory = full(&normalise(Path::new(word), &self.home));
            let is_inside = |path: &Path| full(path).starts_with(&directory);
            (!session.cwd.is_empty() && is_inside(Path::new(&session.cwd))) || is_inside(&session.path)
        })
    }
}

/// A session that the agent may not see answers like one that does not exist.
fn no_such_session() -> Failure {
    Failure::explained("no such session; list_sessions shows the sessions")
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
    Failure::explained(lines.join(
        "
",
    ))
}
