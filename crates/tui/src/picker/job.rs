//! The picker's jobs on other threads.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::export::{ExportFormat, ExportOptions};
use sessile::format::cause::chain;
use sessile::list::{Archived, ListOptions, SessionInfo};
use sessile::operations::Deletion;
use sessile::search::{SearchOptions, SearchScope, Upkeep};
use sessile::text::excerpt::Excerpt;
use sessile::text::pattern::Pattern;
use sessile::text::query::Query;
use sessile::users::SessionUser;
use sessile::watch::{StoreEvent, WatchOptions};
use sessile::{Cancel, SessionError, SessionId, Sessions};
use sessile_display::measure::counted;

use super::Scope;
use super::arrange::{Row, View, arrange};
use super::preview::preview;
use super::view::below_home;
use crate::paint::Line;
use crate::row::title;
use crate::screen::{CHANGES, Job, Lane};
use crate::undo::{History, Undo, quoted};

/// The resources of the jobs.
pub(crate) struct PickerBackend {
    pub(crate) sessions: Sessions,
    pub(crate) cwd: PathBuf,
    /// The user's directory, which differs from the working directory of a made-up store.
    pub(crate) user_cwd: PathBuf,
    pub(crate) user_home: PathBuf,
    pub(crate) history: History,
}

#[derive(Debug)]
pub(crate) enum PickerJob {
    Load(Scope),
    /// Load the texts of all messages as pi does; only for small stores.
    Texts(Scope),
    Arrange {
        list: Arc<Vec<SessionInfo>>,
        view: View,
        version: u64,
    },
    Search {
        query: String,
        scope: Scope,
        shows_archived: bool,
    },
    Preview {
        path: PathBuf,
        list: Arc<Vec<SessionInfo>>,
        width: usize,
        now: Timestamp,
    },
    Watch,
    /// Find the users of the sessions in a list.
    Users(Arc<Vec<SessionInfo>>),
    Pins,
    Pin {
        id: SessionId,
        is_pinned: bool,
    },
    Rename {
        path: PathBuf,
        name: String,
    },
    Archive {
        paths: Vec<PathBuf>,
        is_archived: bool,
    },
    Delete {
        paths: Vec<PathBuf>,
    },
    Move {
        paths: Vec<PathBuf>,
        to: PathBuf,
    },
    Export {
        paths: Vec<PathBuf>,
        /// A directory as the user typed it.
        to: String,
    },
    /// Undo the last operation of this screen.
    Undo,
}

#[derive(Debug)]
pub(crate) enum PickerEvent {
    Loading {
        scope: Scope,
        loaded: usize,
        total: usize,
        list: Option<Vec<SessionInfo>>,
    },
    Loaded {
        scope: Scope,
        list: Vec<SessionInfo>,
        with_texts: bool,
    },
    Arranged {
        version: u64,
        list: Arc<Vec<SessionInfo>>,
        rows: Vec<Row>,
        /// Why the query cannot find anything.
        problem: Option<String>,
    },
    Found {
        query: String,
        hits: Vec<(PathBuf, Excerpt)>,
    },
    Previewed {
        path: PathBuf,
        lines: Vec<Line>,
    },
    Store(StoreEvent),
    /// The users of the sessions in a list. Sessions that are not in use are left out.
    Users {
        list: Arc<Vec<SessionInfo>>,
        used: HashMap<PathBuf, Vec<SessionUser>>,
    },
    Pins(HashSet<SessionId>),
    /// Something was changed: the message to show, and whether it can be undone.
    Changed {
        message: String,
        can_undo: bool,
    },
    Failed(String),
}

/// Upper bound on the sessions that a content search returns.
const MAX_HITS: usize = 200;

impl Job for PickerJob {
    type Event = PickerEvent;
    type Backend = PickerBackend;

    fn lane(&self) -> Lane {
        match self {
            Self::Load(Scope::Here) => 1,
            Self::Load(Scope::All) => 2,
            Self::Texts(_) => 3,
            Self::Arrange { .. } => 4,
            Self::Search { .. } => SEARCH,
            Self::Preview { .. } => 6,
            Self::Watch => 7,
            Self::Pins => 8,
            Self::Users(_) => 9,
            Self::Pin { .. }
            | Self::Rename { .. }
            | Self::Archive { .. }
            | Self::Delete { .. }
            | Self::Move { .. }
            | Self::Export { .. }
            | Self::Undo => CHANGES,
        }
    }

    fn is_brief(&self) -> bool {
        matches!(self, Self::Arrange { .. } | Self::Preview { .. })
    }

    fn run(self, backend: &PickerBackend, cancel: &Cancel, send: &mut dyn FnMut(PickerEvent)) {
        let done = match self {
            Self::Load(scope) => backend.load(scope, false, cancel, send),
            Self::Texts(scope) => backend.load(scope, true, cancel, send),
            Self::Arrange { list, view, version } => {
                let rows = arrange(&backend.sessions, &list, &view);
                let problem = problem_of(&view.query);
                send(PickerEvent::Arranged { version, list, rows, problem });
                Ok(())
            }
            Self::Search { query, scope, shows_archived } => {
                backend.search(query, (scope, shows_archived), cancel, send)
            }
            Self::Preview { path, list, width, now } => {
                let lines = preview(&backend.sessions, &path, &list, width, now);
                send(PickerEvent::Previewed { path, lines });
                Ok(())
            }
            Self::Watch => backend.watch(cancel, send),
            Self::Users(list) => {
                let users = backend.sessions.users_of_all(&list);
                let paths = list.iter().map(|session| session.path.clone());
                let used = paths.zip(users).filter(|(_, users)| !users.is_empty()).collect();
                send(PickerEvent::Users { list, used });
                Ok(())
            }
            Self::Pins => {
                send(PickerEvent::Pins(backend.sessions.pins()));
                Ok(())
            }
            Self::Pin { id, is_pinned } => backend.sessions.pin(&id, is_pinned),
            Self::Rename { path, name } => backend.rename(&path, &name, send),
            Self::Archive { paths, is_archived } => backend.archive(&paths, is_archived, send),
            Self::Delete { paths } => backend.delete(&paths, send),
            Self::Move { paths, to } => backend.relocate(&paths, &to, send),
            Self::Export { paths, to } => backend.export(&paths, &to, send),
            Self::Undo => {
                backend.undo(send);
                Ok(())
            }
        };
        match done {
            Err(SessionError::Cancelled) | Ok(()) => {}
            Err(error) => send(PickerEvent::Failed(chain(&error))),
        }
    }
}

/// The lane of searches, which are stopped when the query changes or becomes empty.
pub(super) const SEARCH: Lane = 5;

impl PickerBackend {
    fn load(
        &self,
        scope: Scope,
        texts: bool,
        cancel: &Cancel,
        send: &mut dyn FnMut(PickerEvent),
    ) -> Result<(), SessionError> {
        let list = {
            let mut progress = |progress: sessile::list::Progress<'_>| {
                let list = progress.partial.filter(|_| !texts).map(<[_]>::to_vec);
                send(PickerEvent::Loading { scope, loaded: progress.loaded, total: progress.total, list });
            };
            let mut options = ListOptions {
                texts,
                progress: if texts { None } else { Some(&mut progress) },
                cancel: cancel.clone(),
                ..ListOptions::default()
            };
            match scope {
                Scope::Here => self.sessions.list_with(&self.cwd, &mut options)?,
                Scope::All => self.sessions.list_all_with(&mut options)?,
            }
        };
        send(PickerEvent::Loaded { scope, list, with_texts: texts });
        Ok(())
    }

    fn search(
        &self,
        query: String,
        (scope, shows_archived): (Scope, bool),
        cancel: &Cancel,
        send: &mut dyn FnMut(PickerEvent),
    ) -> Result<(), SessionError> {
        let Ok(parsed) = Query::parse(&as_prefixes(&query)) else {
            // Nothing can match, but the screen waits for an answer.
            send(PickerEvent::Found { query, hits: Vec::new() });
            return Ok(());
        };
        let options = SearchOptions {
            scope: match scope {
                Scope::Here => SearchScope::Cwd(self.cwd.clone()),
                Scope::All => SearchScope::All,
            },
            archived: if shows_archived { Archived::Only } else { Archived::Hidden },
            per_session: true,
            limit: MAX_HITS,
            upkeep: Upkeep::IfCheap,
            cancel: cancel.clone(),
            ..SearchOptions::default()
        };
        let results = self.sessions.search(&parsed, &options)?;
        let hits = results.hits.into_iter().map(|hit| (hit.session_path, hit.excerpt)).collect();
        send(PickerEvent::Found { query, hits });
        Ok(())
    }

    fn watch(&self, cancel: &Cancel, send: &mut dyn FnMut(PickerEvent)) -> Result<(), SessionError> {
        let options = WatchOptions { reports_absent: true, cancel: cancel.clone(), ..WatchOptions::default() };
        let mut watcher = self.sessions.watch_store(options)?;
        loop {
            if let Some(event) = watcher.next(Duration::from_mins(1))? {
                send(PickerEvent::Store(event));
            }
        }
    }

    /// Adds an operation to the history, and reports it to the screen.
    fn changed(&self, message: String, operation: Option<&String>, send: &mut dyn FnMut(PickerEvent)) {
        self.history.push(operation);
        send(PickerEvent::Changed { message, can_undo: operation.is_some() });
    }

    fn rename(&self, path: &Path, name: &str, send: &mut dyn FnMut(PickerEvent)) -> Result<(), SessionError> {
        let renamed = self.sessions.rename(path, Some(name), false)?;
        self.changed(format!("Renamed to {name}"), renamed.operation.as_ref(), send);
        Ok(())
    }

    fn archive(
        &self,
        paths: &[PathBuf],
        is_archived: bool,
        send: &mut dyn FnMut(PickerEvent),
    ) -> Result<(), SessionError> {
        let (operation, n_sessions) = self.sessions.archive_sessions(paths, is_archived)?;
        let what = match paths {
            [path] => self.sessions.row(path).map_or_else(|_| "Session".to_owned(), |info| quoted(&title(&info))),
            _ => counted(n_sessions, "session", "sessions"),
        };
        let message = format!("{what} {}", if is_archived { "archived" } else { "unarchived" });
        self.changed(message, operation.as_ref(), send);
        Ok(())
    }

    fn delete(&self, paths: &[PathBuf], send: &mut dyn FnMut(PickerEvent)) -> Result<(), SessionError> {
        // The confirmation has already named the programs that use them.
        let deleted = self.sessions.clone().ignoring_users().delete(paths, Deletion::ToTrash, false)?;
        let message = match deleted.sessions.len() {
            1 => "Session moved to the trash".to_owned(),
            n_sessions => format!("{n_sessions} sessions moved to the trash"),
        };
        self.changed(message, deleted.operation.as_ref(), send);
        Ok(())
    }

    fn relocate(&self, paths: &[PathBuf], to: &Path, send: &mut dyn FnMut(PickerEvent)) -> Result<(), SessionError> {
        let mut can_undo = false;
        for path in paths {
            let moved = self.sessions.move_session(path, to, false)?;
            self.history.push(moved.operation.as_ref());
            can_undo |= moved.operation.is_some();
        }
        let message = format!("{} moved to {}", counted(paths.len(), "session", "sessions"), to.display());
        send(PickerEvent::Changed { message, can_undo });
        Ok(())
    }

    fn export(&self, paths: &[PathBuf], to: &str, send: &mut dyn FnMut(PickerEvent)) -> Result<(), SessionError> {
        let to = match below_home(to) {
            Some(rest) => self.user_home.join(rest),
            None if to == "~" => self.user_home.clone(),
            None => self.user_cwd.join(to),
        };
        // Removes redundant `.` components.
        let to: PathBuf = to.components().collect();
        let options = ExportOptions { format: ExportFormat::Markdown, ..ExportOptions::default() };
        let write = |path: &PathBuf| {
            let session = self.sessions.clone().read_only().open(path)?;
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            session.export_to(&options, &to.join(format!("{stem}.md")), false)
        };
        self.sessions.make_export_directory(&to)?;
        for (n_written, path) in paths.iter().enumerate() {
            if let Err(error) = write(path) {
                let done = format!("{n_written} of {} exported", counted(paths.len(), "session", "sessions"));
                let why = format!("{}: {}", path.display(), chain(&error));
                send(PickerEvent::Failed(if paths.len() == 1 { chain(&error) } else { format!("{done}; {why}") }));
                return Ok(());
            }
        }
        let message = format!("{} exported to {}", counted(paths.len(), "session", "sessions"), to.display());
        send(PickerEvent::Changed { message, can_undo: false });
        Ok(())
    }

    fn undo(&self, send: &mut dyn FnMut(PickerEvent)) {
        send(match self.history.undo(&self.sessions) {
            Undo::Done { message, .. } => PickerEvent::Changed { message, can_undo: false },
            Undo::Failed(message) => PickerEvent::Failed(message),
        });
    }
}

/// Returns, in one line, why a query cannot find anything; `None` if it can.
fn problem_of(query: &str) -> Option<String> {
    let pattern = query.trim().strip_prefix("re:")?.trim();
    if pattern.is_empty() {
        return Some("Type a regular expression after re:".to_owned());
    }
    let error = Pattern::new(pattern).err()?.to_string();
    // The first lines of the message repeat the expression, which the query line already shows.
    let reason = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    Some(format!("{INVALID_REGEX}{}", reason.strip_prefix("error: ").unwrap_or(reason)))
}

/// The prefix of the reason.
pub(super) const INVALID_REGEX: &str = "Invalid regular expression: ";

/// Interprets a query that is still being typed: every word may be the beginning of a longer one.
fn as_prefixes(query: &str) -> String {
    let query = query.trim();
    if query.starts_with("re:") {
        return query.to_owned();
    }
    let mut is_quoted = false;
    let mut out = String::new();
    for piece in query.split_inclusive(['"', ' ']) {
        let (word, end) = match piece.strip_suffix(['"', ' ']) {
            Some(word) => (word, piece.get(word.len()..).unwrap_or_default()),
            None => (piece, ""),
        };
        let is_word = word.chars().next_back().is_some_and(char::is_alphanumeric);
        out.push_str(word);
        if is_word && !is_quoted {
            out.push('*');
        }
        out.push_str(end);
        is_quoted ^= end == "\"";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_regular_expression_is_explained() {
        for query in ["tide", "re:tide", " re: ^tide$", "re:[a-z]+", "", "re", "a re:["] {
            assert_eq!(problem_of(query), None, "{query}");
        }
        for (query, message) in [
            ("re:[", "Invalid regular expression: unclosed character class"),
            ("re: (tide", "Invalid regular expression: unclosed group"),
            ("re:", "Type a regular expression after re:"),
        ] {
            assert_eq!(problem_of(query).as_deref(), Some(message), "{query}");
        }
        let huge = problem_of("re:(((a{1000}){1000}){1000})").unwrap();
        assert!(!huge.contains('\n'), "{huge}");
    }

    #[test]
    fn query_words_match_as_prefixes() {
        for (query, meant) in [
            ("tide", "tide*"),
            (" two words", "two* words*"),
            ("\"a phrase\" more", "\"a phrase\" more*"),
            ("re: a b", "re: a b"),
            ("->", "->"),
        ] {
            assert_eq!(as_prefixes(query), meant);
        }
    }
}
