//! The page of a session, and the parts that its script asks for.

mod find;
mod open;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use maud::{PreEscaped, html};
use sessile::format::outline::Row;
use sessile::json::ObjectWriter;
use sessile::message::{Block, Content};
use sessile::team::Authors;
use sessile::{Cancel, SessionError, SessionManager};

use open::survey;
pub(crate) use open::{OpenSessions, Opened};

use super::app::App;
use super::assets::{SESSION_ASSET, STYLE_ASSET};
use super::form::Form;
use super::reply::{attachment, json, refusal, reply};
use super::stream::{StreamSender, stream};
use super::write;
use crate::facts::Facts;
use crate::image::raster_bytes;
use crate::page::{self, Card, END_OF_ENTRIES, PageKind, start_of_page};
use crate::reader::{Reader, SEPARATOR, TITLES_PER_CHUNK, title};
use crate::tree::{FILTERS, structure};

/// The entries that a page may ask for at once.
const MAX_ROWS: usize = 200;

/// Why a part of a session is not answered.
pub(crate) enum NoPart {
    /// There is no such session or part.
    Missing,
    /// The session cannot be read.
    Failed(SessionError),
}

impl From<SessionError> for NoPart {
    fn from(error: SessionError) -> Self {
        if error.is_not_found() { Self::Missing } else { Self::Failed(error) }
    }
}

impl NoPart {
    fn into_response(self) -> Response {
        match self {
            Self::Missing => refusal(
                StatusCode::NOT_FOUND,
                "There is no such session or part of one. If the session was deleted, it is in the trash.",
            ),
            Self::Failed(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }
}

/// Runs work on a session that the list contains.
fn with_session(
    app: &App,
    key: &str,
    work: impl FnOnce(&mut Opened) -> Result<Response, NoPart>,
) -> Result<Response, NoPart> {
    let list = app.list.snapshot();
    let row = list.find(key).ok_or(NoPart::Missing)?;
    app.open_sessions.with(&app.sessions, &row.path, work)
}

fn answered(result: Result<Response, NoPart>) -> Response {
    result.unwrap_or_else(NoPart::into_response)
}

/// Answers `/s/{key}`.
pub(crate) fn show(app: &App, key: &str) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return NoPart::Missing.into_response() };
    let has_family = row.is_fork() || list.forked().contains(row.path.as_path());
    let family = has_family.then(|| format!("/s/{key}/family"));
    answered(app.open_sessions.with(&app.sessions, &row.path, |opened| {
        let session = &opened.session;
        let environment = app.sessions.environment();
        let card = Card::short(row.info.clone(), session)?;
        let kind = PageKind::Served { style: &STYLE_ASSET.path, family: family.as_deref() };
        let mut page = start_of_page(&card, environment, kind, session.outline().n_entries());
        let authors = authors_of(app, session);
        page.push_str(&Reader { session, environment, authors: authors.as_ref() }.last_entries()?);
        page.push_str(END_OF_ENTRIES);
        let mut index = ObjectWriter::new();
        let leaf = session.path().last().map_or(-1.0, |row| as_number(row.index()));
        index
            .string("base", &format!("/s/{key}/"))
            .string("id", session.session_id().as_str())
            .number("rows", as_number(session.outline().rows().len()))
            .string("cursor", &opened.cursor().to_string())
            .number("titles", as_number(TITLES_PER_CHUNK))
            .number("leaf", leaf)
            .bool("writes", !app.is_read_only);
        let index = index.finish().to_text().replace('<', "\\u003c");
        let end = html! {
            script #index type="application/json" { (PreEscaped(index)) }
            script src=(SESSION_ASSET.path) defer {}
        };
        page.push_str(&end.into_string());
        page.push_str("</body></html>\n");
        Ok(reply(StatusCode::OK, "text/html; charset=utf-8", page))
    }))
}

/// Answers `/s/{key}/card`: the header card, as the list knows the session now.
pub(crate) fn card(app: &App, key: &str) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return NoPart::Missing.into_response() };
    answered(app.open_sessions.with(&app.sessions, &row.path, |opened| {
        let card = Card::short(row.info.clone(), &opened.session)?;
        Ok(text(page::card(&card, app.sessions.environment()).into_string()))
    }))
}

/// Answers `/s/{key}/{part}`.
pub(crate) fn part(app: &App, key: &str, part: &str, form: &Form) -> Response {
    answered(with_session(app, key, |opened| match part {
        "structure" => Ok(bytes(structure(opened.session.outline()))),
        "entries" => entries(app, &opened.session, form.get("rows")),
        "titles" => titles(app, &opened.session, number(form.get("from"))?),
        "state" => Ok(write::state(&opened.session, form.get("row").parse().ok())?),
        "facts" => facts(&opened.session, form),
        "find" => Ok(find_entry(&opened.session, form.get("id"))),
        "long" => long_text(app, &opened.session, form),
        "image" => image(&opened.session, form),
        _ => match part.strip_prefix("tree-").and_then(|name| FILTERS.iter().find(|(filter, _)| *filter == name)) {
            Some((_, filter)) => {
                if opened.begins_survey()
                    && let Some(path) = opened.session.session_file()
                {
                    start_survey(app, path);
                }
                Ok(bytes(opened.tree(*filter)?))
            }
            None => Err(NoPart::Missing),
        },
    }))
}

/// Finds the answers without text on a thread, after which the pages of the session load their tree again.
fn start_survey(app: &App, path: &Path) {
    let (open, live, sessions) = (Arc::clone(&app.open_sessions), Arc::clone(&app.live), app.sessions.clone());
    let path = path.to_path_buf();
    let work = move || {
        survey(&open, &sessions, &path);
        live.touch(&path);
    };
    // Without a thread, the tree goes on showing these answers.
    drop(sessile::threads::spawn("survey", work));
}

#[expect(clippy::cast_precision_loss, reason = "an outline has fewer than 2^32 rows")]
fn as_number(count: usize) -> f64 {
    count as f64
}

fn bytes(bytes: Vec<u8>) -> Response {
    reply(StatusCode::OK, "application/octet-stream", bytes)
}

fn text(text: String) -> Response {
    reply(StatusCode::OK, "text/plain; charset=utf-8", text)
}

fn number(text: &str) -> Result<usize, NoPart> {
    text.parse().ok().ok_or(NoPart::Missing)
}

fn row_at(session: &SessionManager, index: usize) -> Result<Row, NoPart> {
    let outline = session.outline();
    let row = outline.rows().nth(index).ok_or(NoPart::Missing)?;
    // Only entries have HTML.
    let first = outline.entries().next().ok_or(NoPart::Missing)?;
    if row < first { Err(NoPart::Missing) } else { Ok(row) }
}

/// Who has written the entries of a session, if it is on a remote that is in use.
fn authors_of(app: &App, session: &SessionManager) -> Option<Authors> {
    app.sessions.authors(session.session_file()?)
}

/// The HTML of some entries, in the order of the request.
fn entries(app: &App, session: &SessionManager, rows: &str) -> Result<Response, NoPart> {
    let authors = authors_of(app, session);
    let reader = Reader { session, environment: app.sessions.environment(), authors: authors.as_ref() };
    let mut out = String::new();
    for (n_before, row) in rows.split(',').take(MAX_ROWS).enumerate() {
        if n_before > 0 {
            out.push(SEPARATOR);
        }
        out.push_str(&reader.render_row(row_at(session, number(row)?)?)?.html);
    }
    Ok(text(out))
}

/// The lines of the tree for a number of rows in file order.
fn titles(app: &App, session: &SessionManager, from: usize) -> Result<Response, NoPart> {
    let reader = Reader { session, environment: app.sessions.environment(), authors: None };
    let outline = session.outline();
    let mut out = String::new();
    let mut entries = outline.entries().skip_while(|row| row.index() < from).peekable();
    for (n_before, row) in outline.rows().skip(from).take(TITLES_PER_CHUNK).enumerate() {
        if n_before > 0 {
            out.push(SEPARATOR);
        }
        if entries.next_if_eq(&row).is_some() {
            let entry = session.entry_at(row)?;
            out.push_str(&title(session, &entry, &reader.calls_above(row, &entry)?)?);
        }
    }
    Ok(text(out))
}

/// A comparison does not read longer branches for their cost.
const MAX_FACTS_BYTES: u64 = 64 << 20;

/// The usage and the changed files of a branch, from the row after `top` on.
fn facts(session: &SessionManager, form: &Form) -> Result<Response, NoPart> {
    let outline = session.outline();
    let path = outline.path(row_at(session, number(form.get("leaf"))?)?);
    let top = number(form.get("top")).ok();
    let n_before = path.iter().position(|row| Some(row.index()) == top).map_or(0, |at| at + 1);
    let rows = path.get(n_before..).unwrap_or_default();
    if rows.iter().map(|row| outline.span(*row).len).sum::<u64>() > MAX_FACTS_BYTES {
        return Err(NoPart::Missing);
    }
    let mut facts = Facts::default();
    for (row, entry) in session.entries_of(rows.iter().copied()) {
        facts.push(row.index(), &entry?);
    }
    Ok(bytes(facts.bytes))
}

/// The row of an entry: `{row}`, -1 if there is none.
fn find_entry(session: &SessionManager, id: &str) -> Response {
    let row = session.outline().find(&id.into());
    let mut out = ObjectWriter::new();
    out.number("row", row.map_or(-1.0, |row| as_number(row.index())));
    json(out.finish())
}

/// One window of a long text.
fn long_text(app: &App, session: &SessionManager, form: &Form) -> Result<Response, NoPart> {
    let reader = Reader { session, environment: app.sessions.environment(), authors: None };
    let entry = reader.render_row(row_at(session, number(form.get("row"))?)?)?;
    let long = entry.long_texts.get(number(form.get("part"))?).ok_or(NoPart::Missing)?;
    long.windows().nth(number(form.get("window"))?).map(text).ok_or(NoPart::Missing)
}

/// The bytes of a picture, with the type that they have.
fn image(session: &SessionManager, form: &Form) -> Result<Response, NoPart> {
    let entry = session.entry_at(row_at(session, number(form.get("row"))?)?)?;
    let content = match entry.message() {
        Some(message) => message.content(),
        None => Content::new(entry.raw().get("content")),
    };
    let is_image = |block: &&Block<'_>| matches!(block, Block::Image(_));
    let block = content.blocks().iter().filter(is_image).nth(number(form.get("number"))?);
    let Some(Block::Image(image)) = block else { return Err(NoPart::Missing) };
    let (kind, bytes) = raster_bytes(*image).ok_or(NoPart::Missing)?;
    Ok(reply(StatusCode::OK, kind, bytes))
}

/// The line for a shell that continues a session.
pub(crate) fn resume(app: &App, key: &str) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return NoPart::Missing.into_response() };
    text(write::resume(app, row))
}

/// Sends the original bytes as a file.
pub(crate) fn original(app: &App, key: &str) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return NoPart::Missing.into_response() };
    let opened = app.sessions.clone().read_only().open(&row.path);
    let session = match opened {
        Ok(session) => session,
        Err(error) => return NoPart::from(error).into_response(),
    };
    let (sender, body) = stream();
    let send = move || {
        let sent = session.export_original::<SessionError>(&mut |bytes| {
            if sender.send_from_thread(bytes.to_vec()) { Ok(()) } else { Err(SessionError::Cancelled) }
        });
        if sent.is_err() {
            sender.fail_from_thread();
        }
    };
    if sessile::threads::spawn("download", send).is_err() {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "The system provides no thread for the download.");
    }
    attachment(row.id.as_str(), "jsonl", "application/jsonl", body)
}

/// Searches a session, and sends `{rows, share}` in a line from time to time.
pub(crate) fn search(app: &App, key: &str, form: &Form) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return NoPart::Missing.into_response() };
    let session = match app.sessions.clone().read_only().open(&row.path) {
        Ok(session) => session,
        Err(error) => return NoPart::from(error).into_response(),
    };
    let words: Vec<String> = form.get("q").to_lowercase().split_whitespace().map(str::to_owned).collect();
    let (sender, body) = stream();
    let cancel = Cancel::default();
    if sessile::threads::spawn("find", move || send_hits(&session, &words, &sender, &cancel)).is_err() {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "The system provides no thread for the search.");
    }
    reply(StatusCode::OK, "application/jsonl", body)
}

/// The entries between two reports of a search.
const REPORTED_ENTRIES: NonZeroUsize = NonZeroUsize::new(2000).unwrap();

fn send_hits(session: &SessionManager, words: &[String], sender: &StreamSender, cancel: &Cancel) {
    let outline = session.outline();
    let n_rows = outline.rows().len().max(1);
    let mut hits: Vec<Row> = Vec::new();
    let report = |hits: &mut Vec<Row>, share: f64| {
        let rows: Vec<String> = hits.drain(..).map(|row| row.index().to_string()).collect();
        sender.send_from_thread(format!("{{\"rows\":[{}],\"share\":{share}}}\n", rows.join(",")))
    };
    for (n_read, (row, entry)) in outline.entries().zip(session.entries()).enumerate() {
        let Ok(entry) = entry else { break };
        if cancel.is_cancelled() {
            return;
        }
        if find::has_words(entry.raw(), words) {
            hits.push(row);
        }
        let is_due = n_read % REPORTED_ENTRIES == 0 && n_read > 0;
        if is_due && !report(&mut hits, as_number(row.index()) / as_number(n_rows)) {
            return;
        }
    }
    report(&mut hits, 1.0);
}
