//! Finding and listing sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sessile_core::date::to_iso;
use sessile_core::head::{Kind, Parsed, read};
use sessile_core::header::Header;
use sessile_core::info::{Info, InfoScan};
use sessile_core::json::{JsText, Json, ObjectWriter};
use sessile_store::{Found, StoreError, find_sessions, read_head, subdirectories};

use crate::environment::Zone;
use crate::error::SessionError;
use crate::place::{CwdFilter, given_dir, sessions_root};
use crate::world::World;

/// A session as a row of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// The working directory its header names, or nothing.
    pub cwd: String,
    /// The name somebody gave it.
    pub name: Option<JsText<'static>>,
    /// The file it was forked from.
    pub parent_session_path: Option<String>,
    /// When it was created, in milliseconds, if its header tells.
    pub created: Option<i64>,
    /// When somebody last said something in it, in milliseconds.
    pub modified: i64,
    /// Messages of every role on every branch.
    pub message_count: usize,
    /// The first text of the user.
    pub first_message: JsText<'static>,
    /// All texts of user and assistant; empty unless asked for.
    pub all_messages_text: JsText<'static>,
}

impl SessionInfo {
    /// The row as JSON, in pi's key order; the texts of all messages only `with_texts`.
    ///
    /// What is absent is left out; a creation time nobody knows is `null`.
    pub fn to_json(&self, with_texts: bool) -> Json {
        let mut row = ObjectWriter::new();
        row.string("path", &self.path.to_string_lossy()).string("id", &self.id).string("cwd", &self.cwd);
        if let Some(name) = &self.name {
            row.text("name", name);
        }
        if let Some(parent) = &self.parent_session_path {
            row.string("parentSessionPath", parent);
        }
        match self.created {
            Some(created) => row.string("created", &to_iso(created)),
            None => row.null("created"),
        };
        row.string("modified", &to_iso(self.modified))
            .integer("messageCount", i64::try_from(self.message_count).unwrap_or(i64::MAX))
            .text("firstMessage", &self.first_message);
        if with_texts {
            row.text("allMessagesText", &self.all_messages_text);
        }
        row.finish()
    }
}

/// Stops a list that is under way, or a wait for news, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A flag that something else sets, say a handler of signals.
impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// How far a list has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    /// Files read.
    pub loaded: usize,
    /// Files in all.
    pub total: usize,
    /// The list so far, now and then.
    pub partial: Option<&'p [SessionInfo]>,
}

/// What a list should do besides listing.
#[derive(Default)]
pub struct ListOptions<'o> {
    /// Whether to collect the texts of all messages, for searching.
    pub texts: bool,
    /// Told after each file.
    pub progress: Option<&'o mut dyn FnMut(Progress<'_>)>,
    /// Looked at before each file.
    pub cancel: Option<Cancel>,
}

/// The sessions of a working directory in one directory.
pub(crate) fn list(
    world: &World,
    cwd: &Path,
    given: Option<&Path>,
    dir: &Path,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    let mut files = find_sessions(world.os(), dir)?;
    files.reverse();
    let filter = CwdFilter::new(world.environment(), cwd, given_dir(world.environment(), given).as_deref());
    load(world, &files, &filter, 10, options)
}

/// All sessions: of one directory, or of every directory below the root.
pub(crate) fn list_all(
    world: &World,
    dir: Option<&Path>,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    if let Some(dir) = dir {
        let mut files = find_sessions(world.os(), dir)?;
        files.reverse();
        return load(world, &files, &CwdFilter::All, 10, options);
    }
    let mut files: Vec<Found> = Vec::new();
    for dir in subdirectories(world.os(), &sessions_root(world.environment()))? {
        // A directory that cannot be listed does not hide the others.
        files.extend(find_sessions(world.os(), &dir).unwrap_or_default());
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.modified));
    load(world, &files, &CwdFilter::All, 100, options)
}

/// Reads files in the given order and shows the list so far after the first, the last, and every so many; a file that cannot be read hides only itself.
fn load(
    world: &World,
    files: &[Found],
    filter: &CwdFilter,
    partial_every: usize,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    let mut sessions = Vec::new();
    for (n_before, file) in files.iter().enumerate() {
        if options.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Err(SessionError::Cancelled);
        }
        let info = read_info(world, file, options.texts).ok().flatten();
        sessions.extend(info.filter(|info| filter.admits(world.environment(), &info.cwd)));
        if let Some(progress) = &mut options.progress {
            let (loaded, total) = (n_before + 1, files.len());
            let is_due = loaded == 1 || loaded.is_multiple_of(partial_every) || loaded == total;
            if is_due {
                sort_by_activity(&mut sessions);
            }
            progress(Progress { loaded, total, partial: is_due.then_some(&sessions) });
        }
    }
    sort_by_activity(&mut sessions);
    Ok(sessions)
}

/// The most recently active first; the order of equals stays.
fn sort_by_activity(sessions: &mut [SessionInfo]) {
    sessions.sort_by_key(|session| std::cmp::Reverse(session.modified));
}

fn read_info(world: &World, file: &Found, texts: bool) -> Result<Option<SessionInfo>, StoreError> {
    let zone = Zone(world.environment());
    let mut scan = if texts { InfoScan::with_texts() } else { InfoScan::default() };
    read_head(world.os(), &file.path, &mut |line| {
        scan.push(line, &zone);
        !scan.is_hopeless()
    })?;
    Ok(scan.finish(&zone).map(|info| row(file, info)))
}

fn row(file: &Found, info: Info) -> SessionInfo {
    SessionInfo {
        path: file.path.clone(),
        id: info.id,
        cwd: info.cwd,
        name: info.name,
        parent_session_path: info.parent_session,
        created: info.created,
        modified: info.modified.unwrap_or(file.modified),
        message_count: info.message_count,
        first_message: info.first_message,
        all_messages_text: info.all_messages_text,
    }
}

/// The file written last whose header is valid and whose working directory fits.
pub(crate) fn most_recent(
    world: &World,
    cwd: &Path,
    given: Option<&Path>,
    dir: &Path,
) -> Result<Option<PathBuf>, SessionError> {
    let filter = CwdFilter::new(world.environment(), cwd, given_dir(world.environment(), given).as_deref());
    let mut files = find_sessions(world.os(), dir)?;
    files.sort_by_key(|file| std::cmp::Reverse(file.modified));
    let fits = |file: &Found| {
        read_header(world, &file.path)
            .is_some_and(|header| filter.admits(world.environment(), &header.cwd().unwrap_or_default()))
    };
    Ok(files.into_iter().find(fits).map(|file| file.path))
}

/// The first file by name whose header has exactly this id and whose working directory fits.
pub(crate) fn find_by_id(world: &World, cwd: &Path, id: &str, given: Option<&Path>, dir: &Path) -> Option<PathBuf> {
    let filter = CwdFilter::new(world.environment(), cwd, given_dir(world.environment(), given).as_deref());
    let fits = |file: &Found| {
        read_header(world, &file.path).is_some_and(|header| {
            header.id() == id && filter.admits(world.environment(), &header.cwd().unwrap_or_default())
        })
    };
    find_sessions(world.os(), dir).ok()?.into_iter().find(fits).map(|file| file.path)
}

/// The header of a file, read no further than needed; none if the file is no session.
pub(crate) fn read_header(world: &World, path: &Path) -> Option<Header> {
    let mut header = None;
    read_head(world.os(), path, &mut |line| {
        let Some(bytes) = line.without_bom().bytes else { return true };
        match read(bytes) {
            Parsed::Kept(head) => {
                let is_header = head.kind == Kind::Header && head.id.is_some();
                header = is_header.then(|| Json::parse(bytes).ok().map(Header::new)).flatten();
                false
            }
            _ => line.span.end() < MOST_JUNK,
        }
    })
    .ok()?;
    header
}

/// How much that is no header may stand before one; more than that is no session worth waiting for.
const MOST_JUNK: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_omit_what_is_absent() {
        let session = SessionInfo {
            path: "/s/a.jsonl".into(),
            id: "a".to_owned(),
            cwd: String::new(),
            name: None,
            parent_session_path: None,
            created: None,
            modified: 0,
            message_count: 2,
            first_message: "hi\u{1b}".into(),
            all_messages_text: "hi ho".into(),
        };
        let bare = r#"{"path":"/s/a.jsonl","id":"a","cwd":"","created":null,"modified":"1970-01-01T00:00:00.000Z","messageCount":2,"firstMessage":"hi\u001b"}"#;
        assert_eq!(session.to_json(false).to_text(), bare);
        let name = Json::parse(r#""\ud800""#).unwrap().raw().as_text().map(JsText::into_owned);
        let session = SessionInfo { name, parent_session_path: Some("/p".into()), created: Some(1), ..session };
        let full = r#"{"path":"/s/a.jsonl","id":"a","cwd":"","name":"\ud800","parentSessionPath":"/p","created":"1970-01-01T00:00:00.001Z","modified":"1970-01-01T00:00:00.000Z","messageCount":2,"firstMessage":"hi\u001b","allMessagesText":"hi ho"}"#;
        assert_eq!(session.to_json(true).to_text(), full);
    }
}
