//! A store of sessions.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sessile::follow::FollowFrom;
use sessile::list::{ListOptions, Selection, SessionInfo};
use sessile::os::RealOs;
use sessile::sample::keep_sample;
use sessile::search::{OnPath, SearchOptions, SearchScope};
use sessile::settings::Settings;
use sessile::stats::{Grouping, StatsOptions};
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;
use sessile::write::WriteOptions;
use sessile::{Cancel, NewSession, OpenOptions, SessionError, Sessions, System};

use crate::choices::{ARCHIVED, CHILDREN, DURABILITIES, GROUPINGS, SORTS, choice, document_kind};
use crate::examine;
use crate::failure::Failure;
use crate::follow::Follower;
use crate::given::{GivenEntry, GivenTime, Words};
use crate::interrupt::interruptible;
use crate::records;
use crate::session::Session;

/// A store of sessions. By default the one that the agent and the command ``sessile`` use.
///
/// ``session_dir`` is a directory with session files. With ``read_only``, sessions are never written. ``cache=False``
/// neither reads nor writes caches. ``durability`` says what an acknowledged entry survives: ``"buffered"`` the end of the
/// process, ``"group"`` and ``"sync"`` a power failure; ``"memory"`` keeps appends in memory.
#[pyclass(frozen, module = "sessile")]
pub(crate) struct Store {
    sessions: Sessions,
}

impl Store {
    fn since(&self, time: Option<GivenTime>) -> PyResult<Option<sessile::time::Timestamp>> {
        time.map(|time| time.since(self.sessions.environment())).transpose()
    }

    fn until(&self, time: Option<GivenTime>) -> PyResult<Option<sessile::time::Timestamp>> {
        time.map(|time| time.until(self.sessions.environment())).transpose()
    }

    /// The file of a session: a path, an id or its beginning, a name, or `@latest`.
    fn find_path(&self, py: Python<'_>, session: PathBuf) -> PyResult<PathBuf> {
        let sessions = self.sessions.clone();
        interruptible(py, &Cancel::default(), move || find(&sessions, &session))
    }
}

fn find(sessions: &Sessions, session: &std::path::Path) -> Result<PathBuf, Failure> {
    Ok(sessions.find_session(session, sessions.environment().current_dir())?)
}

/// The sessions of a working directory, or all.
fn listed(
    sessions: &Sessions,
    cwd: Option<&PathBuf>,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    match cwd {
        Some(cwd) => sessions.list_with(cwd, options),
        None => sessions.list_all_with(options),
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (session_dir=None, *, read_only=false, cache=true, durability="buffered"))]
    fn new(
        py: Python<'_>,
        session_dir: Option<PathBuf>,
        read_only: bool,
        cache: bool,
        durability: &str,
    ) -> PyResult<Self> {
        let durability = choice("durability", durability, &DURABILITIES)?;
        let mut sessions = Sessions::default().writing(WriteOptions { durability, ..WriteOptions::default() });
        let dir = match session_dir {
            Some(dir) => Some(dir),
            None => {
                Settings::load(&System, &RealOs).map_err(|error| Failure::from(error).into_exception(py))?.session_dir()
            }
        };
        if let Some(dir) = dir {
            sessions = sessions.with_session_dir(dir);
        }
        if read_only {
            sessions = sessions.read_only();
        }
        if !cache {
            sessions = sessions.caching(None);
        }
        Ok(Self { sessions })
    }

    /// Return a made-up store for trying things out, written to an empty or missing directory.
    #[staticmethod]
    fn sample(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        let path = directory.clone();
        let sample = interruptible(py, &Cancel::default(), move || Ok(keep_sample(&path)?))?;
        match sample {
            Some(sample) => Ok(Self { sessions: sample.sessions() }),
            None => Err(PyValueError::new_err(format!("{} is not empty", directory.display()))),
        }
    }

    /// Open a session: a path, an id or its beginning, a name, or ``"@latest"``.
    ///
    /// With ``create``, a path that does not exist becomes a new session, whose file is made with the first message.
    #[pyo3(signature = (session, *, create=false, read_only=false))]
    fn open(&self, py: Python<'_>, session: PathBuf, create: bool, read_only: bool) -> PyResult<Session> {
        let sessions = if read_only { self.sessions.clone().read_only() } else { self.sessions.clone() };
        let opening = sessions.clone();
        let manager = interruptible(py, &Cancel::default(), move || {
            let path = if create { session } else { find(&opening, &session)? };
            Ok(opening.open_with(path, &OpenOptions::new().create(create))?)
        })?;
        Ok(Session::new(manager, sessions))
    }

    /// Start a session for a working directory. Its file is made with the first message.
    #[pyo3(signature = (cwd, *, id=None, parent=None))]
    fn create(&self, py: Python<'_>, cwd: PathBuf, id: Option<String>, parent: Option<String>) -> PyResult<Session> {
        let options = NewSession { id: id.map(Into::into), parent_session: parent };
        let created = py.detach(|| self.sessions.create_with(cwd, &options));
        let manager = created.map_err(|error| Failure::from(error).into_exception(py))?;
        Ok(Session::new(manager, self.sessions.clone()))
    }

    /// Return the sessions of a working directory, or of all, most recently active first.
    ///
    /// ``query`` has words that must occur in the name, the first message or the working directory, or begin the id.
    /// ``children`` and ``archived`` are ``"shown"``, ``"hidden"`` or ``"only"``. ``since`` and ``until`` are times, or texts
    /// such as ``"2w"`` and ``"2026-01-31"``. With ``texts``, each row has the text of all messages.
    #[pyo3(signature = (cwd=None, *, query="", named=false, children="shown", archived="hidden", since=None, until=None, sort="recent", limit=None, texts=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn list<'py>(
        &self,
        py: Python<'py>,
        cwd: Option<PathBuf>,
        query: &str,
        named: bool,
        children: &str,
        archived: &str,
        since: Option<GivenTime>,
        until: Option<GivenTime>,
        sort: &str,
        limit: Option<usize>,
        texts: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let selection = Selection {
            words: query.split_whitespace().map(str::to_owned).collect(),
            named,
            member: None,
            project: None,
            repository: None,
            children: choice("children", children, &CHILDREN)?,
            archived: choice("archived", archived, &ARCHIVED)?,
            since: self.since(since)?,
            until: self.until(until)?,
            sort: choice("sort", sort, &SORTS)?,
            limit,
        };
        let (sessions, cancel) = (self.sessions.clone(), Cancel::default());
        let theirs = cancel.clone();
        let rows = interruptible(py, &cancel, move || {
            let mut rows =
                listed(&sessions, cwd.as_ref(), &mut ListOptions { texts, cancel: theirs, ..ListOptions::default() })?;
            selection.apply(&mut rows);
            Ok(rows)
        })?;
        records::list(py, &rows, records::session_info)
    }

    /// Return the file of a session: a path, an id or its beginning, a name, or ``"@latest"``.
    fn find(&self, py: Python<'_>, session: PathBuf) -> PyResult<PathBuf> {
        self.find_path(py, session)
    }

    /// Search the text of all branches, best hits first.
    ///
    /// All words of ``query`` must occur in one entry; ``"two words"`` in quotes must be adjacent, ``word*`` is a
    /// beginning, and ``re:`` begins a regular expression. ``files`` limits the search to these files, ``session`` to one
    /// session, ``roles`` to some kinds of entries, and ``on_path`` to the path to the last entry.
    #[pyo3(signature = (query, *, cwd=None, files=None, session=None, roles=None, tool=None, model=None, since=None, until=None, archived="shown", on_path=false, per_session=false, excerpts=true, limit=50))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        cwd: Option<PathBuf>,
        files: Option<Vec<PathBuf>>,
        session: Option<String>,
        roles: Option<Words>,
        tool: Option<String>,
        model: Option<String>,
        since: Option<GivenTime>,
        until: Option<GivenTime>,
        archived: &str,
        on_path: bool,
        per_session: bool,
        excerpts: bool,
        limit: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let query = Query::parse(query).map_err(|error| Failure::from(error).into_exception(py))?;
        let kinds = roles.map(Words::into_vec).unwrap_or_default();
        let kinds: Vec<DocumentKind> = kinds.iter().map(|word| document_kind(word)).collect::<PyResult<_>>()?;
        let filter = Filter { kinds, tool, model, since: self.since(since)?, until: self.until(until)? };
        let archived = choice("archived", archived, &ARCHIVED)?;
        let scope = match (files, cwd) {
            (Some(_), Some(_)) => return Err(PyValueError::new_err("give files or cwd, not both")),
            (Some(files), None) => SearchScope::Files(files),
            (None, Some(cwd)) => SearchScope::Cwd(cwd),
            (None, None) => SearchScope::All,
        };
        let (sessions, cancel) = (self.sessions.clone(), Cancel::default());
        let theirs = cancel.clone();
        let found = interruptible(py, &cancel, move || {
            let on_path = on_path.then_some(OnPath::Leaf);
            let options = SearchOptions {
                scope,
                filter,
                session,
                archived,
                on_path,
                per_session,
                excerpts,
                limit,
                cancel: theirs,
                ..SearchOptions::default()
            };
            Ok(sessions.search(&query, &options)?)
        })?;
        records::list(py, &found.hits, records::search_hit)
    }

    /// Follow a session that another program writes.
    ///
    /// ``start`` is ``"now"`` or ``"beginning"``; ``after`` is an entry after which to start. The file need not exist yet if
    /// you give its path. The iteration ends when no event came for ``timeout`` seconds.
    #[pyo3(signature = (session, *, start="now", after=None, timeout=None))]
    fn follow(
        &self,
        py: Python<'_>,
        session: PathBuf,
        start: &str,
        after: Option<GivenEntry>,
        timeout: Option<f64>,
    ) -> PyResult<Follower> {
        let is_now = choice("start", start, &[("now", true), ("beginning", false)])?;
        let from = match after {
            Some(after) => FollowFrom::After(after.0),
            None if is_now => FollowFrom::Now,
            None => FollowFrom::Beginning,
        };
        let is_path = sessile::reference::is_path(&session);
        let path = if is_path { session } else { self.find_path(py, session)? };
        Follower::start(py, self.sessions.clone(), path, from, timeout)
    }

    /// Count messages, tool calls, tokens and cost. Entries that forks share are counted once.
    ///
    /// ``by`` is one criterion or two: ``"model"``, ``"day"``, ``"week"``, ``"month"``, ``"project"``, ``"repository"``, ``"tool"``, ``"session"``.
    #[pyo3(signature = (cwd=None, *, by=None, since=None, until=None))]
    fn stats<'py>(
        &self,
        py: Python<'py>,
        cwd: Option<PathBuf>,
        by: Option<Words>,
        since: Option<GivenTime>,
        until: Option<GivenTime>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let by = by.map(Words::into_vec).unwrap_or_default();
        let by: Vec<Grouping> = by.iter().map(|word| choice("by", word, &GROUPINGS)).collect::<PyResult<_>>()?;
        if by.len() > 2 {
            return Err(PyValueError::new_err("by takes at most two criteria"));
        }
        let (since, until) = (self.since(since)?, self.until(until)?);
        let (sessions, cancel) = (self.sessions.clone(), Cancel::default());
        let theirs = cancel.clone();
        let stats = interruptible(py, &cancel, move || {
            let rows =
                listed(&sessions, cwd.as_ref(), &mut ListOptions { cancel: theirs.clone(), ..ListOptions::default() })?;
            Ok(sessions.stats(&rows, &StatsOptions { by, since, until, cancel: theirs, on_progress: None })?)
        })?;
        records::stats(py, &stats)
    }

    /// Return the usage and the shape of one session.
    fn session_stats<'py>(&self, py: Python<'py>, session: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let path = self.find_path(py, session)?;
        examine::session_stats(py, &self.sessions, path)
    }

    /// Find everything that is wrong with a session's file. Changes nothing.
    fn verify<'py>(&self, py: Python<'py>, session: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let path = self.find_path(py, session)?;
        examine::verify(py, &self.sessions, path)
    }

    /// Verify all sessions of the store.
    fn verify_all<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        examine::verify_all(py, &self.sessions)
    }

    /// Return the sessions that were forked from each other, the given one among them.
    fn family<'py>(&self, py: Python<'py>, session: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let path = self.find_path(py, session)?;
        examine::family(py, &self.sessions, path)
    }

    fn __repr__(&self) -> &'static str {
        if self.sessions.session_dir().is_some() { "<sessile.Store of a directory>" } else { "<sessile.Store>" }
    }
}
