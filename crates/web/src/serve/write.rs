//! Changes to sessions: names, labels, forks, clones, the leaf, the trash, undo.
//!
//! A change of a session says in `last` which entry the page knows as the last one. If another program has appended
//! since, nothing is written. All changes are operations of the library, with its journal and its locks.

mod failure;
mod leaf;

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path as Part, State};
use axum::response::Response;
use sessile::branch::{ForkPosition, ForkedSession};
use sessile::event::Outcome;
use sessile::json::{Json, ObjectWriter, Raw, Shape};
use sessile::message::Message;
use sessile::operations::{Annotated, Deletion, OperationKind};
use sessile::settings::resume_line;
use sessile::{EntryId, SessionError, SessionManager, Sessions};

pub use leaf::{BranchSummarizer, ResolveSummarizer};

use super::app::App;
use super::list::{Row, Snapshot, key_of};
use super::reply::json;
use crate::page::title_of;
use failure::NoChange;

/// A change that was made.
struct Done {
    answer: Json,
    /// What the list must show before the page goes on.
    awaited: Vec<Awaited>,
}

impl Done {
    fn new(answer: &mut ObjectWriter) -> Self {
        Self { answer: answer.finish(), awaited: Vec::new() }
    }
}

/// What the list shows of a session after a change.
struct Awaited {
    key: String,
    /// The title; `None` if the session is gone.
    title: Option<String>,
}

impl Awaited {
    /// What the list will show of the session at a path.
    fn at(sessions: &Sessions, path: &Path) -> Self {
        Self { key: key_of(path), title: sessions.row(path).ok().map(|info| title_of(&info)) }
    }

    fn is_shown(&self, list: &Snapshot) -> bool {
        list.find(&self.key).map(|row| &row.title) == self.title.as_ref()
    }
}

/// Answers `/api/{what}`.
pub(crate) async fn change(State(app): State<Arc<App>>, Part(what): Part<String>, body: Body) -> Response {
    let asked = match app.json_of(body).await {
        Ok(asked) => asked,
        Err(response) => return response,
    };
    let work: fn(&App, &Request<'_>) -> Result<Done, NoChange> = match what.as_str() {
        "leaf" => {
            // A summary may take long, so it does not use the threads of other requests.
            let moved = app.run_summary(move |app, cancel| leaf::move_leaf(app, &Request(asked.raw()), cancel)).await;
            return finished(&app, moved).await;
        }
        "name" => rename,
        "label" => label,
        "fork" => fork,
        "clone" => clone,
        "delete" => delete,
        "undo" => undo,
        _ => return NoChange::missing("There is no such change.").into_response(),
    };
    let made = app.result_of(move |app| work(app, &Request(asked.raw()))).await;
    finished(&app, made).await
}

async fn finished(app: &App, made: Result<Result<Done, NoChange>, Response>) -> Response {
    match made {
        Ok(Ok(done)) => {
            app.list.wait_until(|list| done.awaited.iter().all(|awaited| awaited.is_shown(list))).await;
            json(done.answer)
        }
        Ok(Err(reason)) => reason.into_response(),
        Err(response) => response,
    }
}

/// What a page asks for.
struct Request<'r>(Raw<'r>);

impl Request<'_> {
    fn value(&self, name: &str) -> Option<Raw<'_>> {
        self.0.get(name)
    }

    fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(Raw::as_bool) == Some(true)
    }

    /// A text, or `None` for `null`.
    fn text(&self, name: &'static str) -> Result<Option<String>, NoChange> {
        match self.value(name) {
            Some(value) if value.shape() == Shape::Null => Ok(None),
            Some(value) => value.as_string().map(Some).ok_or(NoChange::lacks(name)),
            None => Err(NoChange::lacks(name)),
        }
    }

    /// An entry, or `None` for `null`.
    fn id(&self, name: &'static str) -> Result<Option<EntryId>, NoChange> {
        match self.value(name) {
            Some(value) if value.shape() == Shape::Null => Ok(None),
            Some(value) => value.as_text().map(|text| Some(text.into())).ok_or(NoChange::lacks(name)),
            None => Err(NoChange::lacks(name)),
        }
    }

    fn entry(&self) -> Result<EntryId, NoChange> {
        self.id("entry")?.ok_or(NoChange::lacks("entry"))
    }

    fn row(&self, app: &App) -> Result<Arc<Row>, NoChange> {
        let key = self.text("key")?.ok_or(NoChange::lacks("key"))?;
        app.list.snapshot().find(&key).cloned().ok_or_else(|| NoChange::missing("There is no such session."))
    }

    /// The store, for a change of a session that still ends as the page has seen it.
    fn sessions(&self, app: &App) -> Result<Sessions, NoChange> {
        Ok(app.sessions.clone().expecting_last(self.id("last")?))
    }
}

fn with_operation(out: &mut ObjectWriter, operation: Option<&String>) {
    match operation {
        Some(operation) => out.string("operation", operation),
        None => out.null("operation"),
    };
}

/// `{key, last, name}`; no name if that is `null`.
fn rename(app: &App, asked: &Request<'_>) -> Result<Done, NoChange> {
    let (row, name) = (asked.row(app)?, asked.text("name")?);
    let named = asked.sessions(app)?.rename(&row.path, name.as_deref(), false)?;
    Ok(annotated(app, &row, &named))
}

/// `{key, last, entry, label}`; no label if that is `null`.
fn label(app: &App, asked: &Request<'_>) -> Result<Done, NoChange> {
    let (row, label) = (asked.row(app)?, asked.text("label")?);
    let label = label.as_deref().map(str::trim);
    let labelled = asked.sessions(app)?.relabel(&row.path, &asked.entry()?, label, false)?;
    Ok(annotated(app, &row, &labelled))
}

fn annotated(app: &App, row: &Row, made: &Annotated) -> Done {
    app.open_sessions.forget(&row.path);
    let awaited = Awaited::at(&app.sessions, &row.path);
    let mut out = ObjectWriter::new();
    with_operation(&mut out, made.operation.as_ref());
    out.bool("changed", made.is_change).string("title", awaited.title.as_deref().unwrap_or_default());
    Done { awaited: vec![awaited], ..Done::new(&mut out) }
}

/// `{key, entry}`. A fork does not change the session, so it does not matter how that ends.
fn fork(app: &App, asked: &Request<'_>) -> Result<Done, NoChange> {
    let (row, entry) = (asked.row(app)?, asked.entry()?);
    let session = app.sessions.clone().read_only().open(&row.path)?;
    let position = if is_question(&session, &entry)? { ForkPosition::Before } else { ForkPosition::At };
    drop(session);
    forked(app, app.sessions.fork_session(&row.path, Some(&entry), position, OperationKind::Fork)?)
}

/// `{key, last}`
fn clone(app: &App, asked: &Request<'_>) -> Result<Done, NoChange> {
    let row = asked.row(app)?;
    forked(app, asked.sessions(app)?.fork_session(&row.path, None, ForkPosition::At, OperationKind::Clone)?)
}

fn forked(app: &App, outcome: Outcome<ForkedSession>) -> Result<Done, NoChange> {
    let forked = match outcome {
        Outcome::Done(forked) => forked,
        Outcome::Cancelled { by } => return Err(NoChange::vetoed(&by)),
    };
    let awaited = Awaited::at(&app.sessions, &forked.path);
    let mut out = ObjectWriter::new();
    with_operation(&mut out, forked.operation.as_ref());
    out.string("key", &awaited.key);
    if let Some(text) = &forked.text {
        out.string("text", text);
    }
    Ok(Done { awaited: vec![awaited], ..Done::new(&mut out) })
}

/// Whether an entry is a message of the user, which a fork leaves out so that the user can change it.
fn is_question(session: &SessionManager, entry: &EntryId) -> Result<bool, SessionError> {
    let entry = session.entry(entry)?;
    Ok(entry.is_some_and(|entry| matches!(entry.message(), Some(Message::User(_)))))
}

/// `{key, last, force?}`
fn delete(app: &App, asked: &Request<'_>) -> Result<Done, NoChange> {
    let row = asked.row(app)?;
    let sessions = asked.sessions(app)?;
    let sessions = if asked.flag("force") { sessions.ignoring_users() } else { sessions };
    let deleted = sessions.delete(std::slice::from_ref(&row.path), Deletion::ToTrash, false)?;
    app.open_sessions.forget(&row.path);
    let mut out = ObjectWriter::new();
    with_operation(&mut out, deleted.operation.as_ref());
    out.string("title", &row.title);
    Ok(Done { awaited: vec![Awaited { key: row.key.clone(), title: None }], ..Done::new(&mut out) })
}

/// `{operation, force?}`; the last operation if that is `null`.
fn undo(app: &App, asked: &Request<'_>) -> Result<Done, NoChange> {
    let operation = asked.text("operation")?;
    let sessions = if asked.flag("force") { app.sessions.clone().ignoring_users() } else { app.sessions.clone() };
    let undone = sessions.undo(operation.as_deref(), false)?;
    let mut out = ObjectWriter::new();
    with_operation(&mut out, undone.id.as_ref());
    out.string("kind", undone.operation.kind.word());
    let mut awaited = Vec::new();
    for step in &undone.steps {
        let path = &step.session().path;
        app.open_sessions.forget(path);
        awaited.push(Awaited::at(&app.sessions, path));
    }
    if let Some(first) = awaited.first() {
        out.string("key", &first.key).bool("removed", first.title.is_none());
        out.string("title", first.title.as_deref().unwrap_or_default());
    }
    Ok(Done { awaited, ..Done::new(&mut out) })
}

/// What a page must know before it asks for a change: `{rows, last, name, entry?, label?}`, with the entry of a row.
pub(crate) fn state(session: &SessionManager, row: Option<usize>) -> Result<Response, SessionError> {
    let mut out = ObjectWriter::new();
    let id = |out: &mut ObjectWriter, name: &str, id: Option<EntryId>| match id {
        Some(id) => drop(out.raw(name, id.to_json().raw())),
        None => drop(out.null(name)),
    };
    let outline = session.outline();
    out.integer("rows", i64::try_from(outline.rows().len()).unwrap_or(i64::MAX));
    id(&mut out, "last", session.last_id());
    id(&mut out, "leaf", session.leaf_id());
    out.string("name", &session.session_name()?.unwrap_or_default());
    if let Some(entry) = row.and_then(|row| outline.rows().nth(row)).and_then(|row| outline.id(row)) {
        out.string("label", &session.label(&entry)?.unwrap_or_default());
        id(&mut out, "entry", Some(entry));
    }
    Ok(json(out.finish()))
}

/// The line for a shell that continues a session.
pub(crate) fn resume(app: &App, row: &Row) -> String {
    let cwd = Path::new(&row.cwd);
    resume_line(&app.resume_command, &row.path, Some(cwd).filter(|cwd| cwd.is_dir()))
}
