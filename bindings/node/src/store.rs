//! Finding, listing, searching and checking sessions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use napi::Status;
use napi::bindgen_prelude::AsyncTask;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use sessile::json::{Json, ObjectWriter};
use sessile::list::{Copies, ListOptions, Progress, SessionInfo};
use sessile::search::{SearchOptions, SearchScope};
use sessile::text::query::Query;
use sessile::{Cancel, SessionError, Sessions};
use sessile_rpc::answer;

use crate::failure::{Failure, Result, caught};
use crate::surroundings::{Surroundings, session_id_at, timestamp};
use crate::work::{Cancellation, Work};

/// Receives the progress of a list as JSON: `{loaded, total, added?}`. With `added`, the rows that were read since the
/// last time, it is time to show the list so far.
type OnProgress = ThreadsafeFunction<String, (), String, Status, false>;

/// An id for a new session.
#[napi]
pub fn new_session_id(now: f64) -> String {
    session_id_at(timestamp(now))
}

/// The directory for the sessions of a working directory in pi's store.
#[napi]
pub fn default_session_dir(surroundings: Surroundings, cwd: String) -> Result<String> {
    let (sessions, _) = surroundings.store(None)?;
    let dir = sessile::directory::default_session_dir(sessions.environment(), Path::new(&cwd));
    Ok(dir.to_string_lossy().into_owned())
}

/// The file of the session with this id.
#[napi]
pub fn find_by_id(surroundings: Surroundings, cwd: String, id: String, dir: Option<String>) -> Result<Option<String>> {
    let found = caught(|| Ok(surroundings.store(dir.as_deref())?.0.find_by_id(&cwd, id)))?;
    Ok(found.map(|path| path.to_string_lossy().into_owned()))
}

/// The most recently written session in a directory, of any working directory or of one.
#[napi]
pub fn most_recent(surroundings: Surroundings, dir: String, cwd: Option<String>) -> Result<Option<String>> {
    let found = caught(|| {
        let (sessions, _) = surroundings.store(Some(&dir))?;
        Ok(match cwd {
            Some(cwd) => sessions.most_recent(&cwd)?,
            None => sessions.most_recent_of_any()?,
        })
    })?;
    Ok(found.map(|path| path.to_string_lossy().into_owned()))
}

/// A list as JSON, in pi's shape.
fn rows<'s>(sessions: impl IntoIterator<Item = &'s SessionInfo>) -> Vec<Json> {
    let no_copies = Copies::default();
    sessions.into_iter().map(|info| answer::session_info(info, true, &no_copies)).collect()
}

/// Lists sessions with all their texts.
fn list_in(
    sessions: &Sessions,
    cwd: Option<&Path>,
    cancel: Cancel,
    on_progress: Option<&OnProgress>,
) -> std::result::Result<Json, Failure> {
    let mut sent = HashSet::new();
    let mut n_reports = 0;
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let mut report = |progress: Progress<'_>| {
        let Some(on_progress) = on_progress else { return };
        n_reports += 1;
        let mut out = ObjectWriter::new();
        out.integer("loaded", count(progress.loaded)).integer("total", count(progress.total));
        if let Some(partial) = progress.partial {
            let added = partial.iter().filter(|info| sent.insert(info.path.clone()));
            out.array("added", rows(added).iter().map(Json::raw));
        }
        // This fails only if JavaScript has ended.
        let _: Status = on_progress.call(out.finish().to_text().into_owned(), ThreadsafeFunctionCallMode::NonBlocking);
    };
    let mut options = ListOptions { texts: true, progress: Some(&mut report), cancel, ..ListOptions::default() };
    let listed = match cwd {
        Some(cwd) => sessions.list_with(cwd, &mut options),
        None => sessions.list_all_with(&mut options),
    }?;
    // Reports may arrive after the answer, so JavaScript must know how many to wait for.
    let mut out = ObjectWriter::new();
    out.array("sessions", rows(&listed).iter().map(Json::raw)).integer("reports", count(n_reports));
    Ok(out.finish())
}

/// Lists the sessions of a working directory; without one, all sessions.
#[napi]
pub fn list(
    surroundings: Surroundings,
    cwd: Option<String>,
    dir: Option<String>,
    cancellation: &Cancellation,
    on_progress: Option<OnProgress>,
) -> Result<AsyncTask<Work>> {
    let (sessions, _) = surroundings.store(dir.as_deref())?;
    let cancel = cancellation.token.clone();
    Ok(Work::start(move || {
        let cwd = cwd.map(PathBuf::from);
        list_in(&sessions, cwd.as_deref(), cancel, on_progress.as_ref())
    }))
}

/// What to search.
#[napi(object, object_to_js = false)]
pub struct SearchRequest {
    pub query: String,
    /// Only these files.
    pub files: Option<Vec<String>>,
    /// Only the sessions of this working directory.
    pub cwd: Option<String>,
    pub dir: Option<String>,
    pub limit: Option<u32>,
}

/// Searches the text of sessions: `{hits}`.
#[napi]
pub fn search(
    surroundings: Surroundings,
    request: SearchRequest,
    cancellation: &Cancellation,
) -> Result<AsyncTask<Work>> {
    let (sessions, _) = surroundings.store(request.dir.as_deref())?;
    let cancel = cancellation.token.clone();
    Ok(Work::start(move || {
        let query = Query::parse(&request.query).map_err(|error| Failure::invalid(error.to_string()))?;
        let scope = match (request.files, request.cwd) {
            (Some(files), _) => SearchScope::Files(files.into_iter().map(PathBuf::from).collect()),
            (None, Some(cwd)) => SearchScope::Cwd(PathBuf::from(cwd)),
            (None, None) => SearchScope::All,
        };
        let limit = request.limit.map_or(50, |limit| limit as usize);
        let options = SearchOptions { scope, limit, cancel, ..SearchOptions::default() };
        Ok(answer::search_result(&sessions.search(&query, &options)?))
    }))
}

/// Finds what is wrong with a session: `{path, findings}`.
#[napi]
pub fn verify(surroundings: Surroundings, path: String) -> Result<AsyncTask<Work>> {
    let (sessions, _) = surroundings.store(None)?;
    Ok(Work::start(move || Ok(answer::report(&sessions.verify(&path)?))))
}

/// The sessions that a session may be related to: those in its directory, or all of pi's store.
fn relatives(sessions: &Sessions, cancel: Cancel) -> std::result::Result<Vec<SessionInfo>, SessionError> {
    sessions.list_all_with(&mut ListOptions { cancel, ..ListOptions::default() })
}

/// The family of a session: `{root, nodes}`.
#[napi]
pub fn family(
    surroundings: Surroundings,
    path: String,
    dir: Option<String>,
    cancellation: &Cancellation,
) -> Result<AsyncTask<Work>> {
    let (sessions, _) = surroundings.store(dir.as_deref())?;
    let cancel = cancellation.token.clone();
    Ok(Work::start(move || {
        let path = PathBuf::from(path);
        let listed = relatives(&sessions, cancel)?;
        if let Some(family) = sessions.family_of(&listed, &path) {
            return Ok(answer::family(&family, &listed));
        }
        let session = sessions.clone().read_only().open(&path)?;
        let parent = session.header().parent_session();
        let is_parent_missing = parent.is_some_and(|parent| sessions.file_stat(Path::new(&parent)).is_none());
        Ok(answer::lone_family(&session, is_parent_missing))
    }))
}

/// The usage and the shape of a session.
#[napi]
pub fn stats(
    surroundings: Surroundings,
    path: String,
    dir: Option<String>,
    cancellation: &Cancellation,
) -> Result<AsyncTask<Work>> {
    let (sessions, _) = surroundings.store(dir.as_deref())?;
    let cancel = cancellation.token.clone();
    Ok(Work::start(move || {
        let listed = relatives(&sessions, cancel)?;
        Ok(answer::session_stats(&sessions.session_stats(Path::new(&path), &listed)?))
    }))
}
