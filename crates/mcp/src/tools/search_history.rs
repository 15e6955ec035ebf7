//! `search_history`

use std::collections::HashSet;
use std::path::Path;

use sessile::date::to_iso;
use sessile::json::ObjectWriter;
use sessile::list::SessionInfo;
use sessile::search::{SearchHit, SearchOptions, SearchPage, SearchResult, SearchScope, Upkeep};
use sessile::text::excerpt::Excerpt;
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;

use super::{is_cut, put};
use crate::budget::{Answer, Row};
use crate::call::{Call, minute, number};
use crate::failure::Failure;
use crate::history::{Listed, Scope};
use crate::names::attribute;
use crate::outgoing::{ROOM, framed};
use crate::render::trust_of;

/// The hits of a session before other sessions get their turn.
const PER_TURN: usize = 3;

/// The characters of an excerpt. The engine's excerpts have about as many bytes.
const MAX_EXCERPT: usize = 240;

/// The memory for an update of the index: a server stays small.
const INDEX_MEMORY: usize = 12 << 20;

/// The characters of the session's name beside a hit.
const MAX_NAME: usize = 60;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let query = Query::parse(&call.arguments.required("query")?);
    let query = query.map_err(|error| Failure::explained(format!("the query cannot be read: {error}")))?;
    let limit = call.arguments.limit(10, 50)?;
    let scope = call.scope()?;
    let wanted = Wanted::of(call, scope)?;
    let result = search(call, &query, limit, scope, &wanted)?;
    let counts = result.counts.unwrap_or_default();
    if counts.is_lost {
        return Err(Failure::list_changed());
    }
    let mut page = call.page("hits", &format!("{} hits in scope {}.", counts.total, scope.word()))?;
    if matches!(query, Query::Pattern(_)) && result.unread_bytes > 0 {
        // What an index does not answer, a later call would have to read again.
        page.fact("unreadBytes", number(usize::try_from(result.unread_bytes).unwrap_or(usize::MAX)));
        page.mark_cut();
    } else {
        call.deadline.note_unread_bytes(result.unread_bytes);
    }
    let mut has_more = counts.left > 0;
    for hit in &result.hits {
        let Some(session) = wanted.session(&hit.session_path) else { continue };
        if !page.push(MAX_EXCERPT, &mut |max| row(call, session, hit, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, counts.total, has_more, false))
}

/// The sessions to search.
struct Wanted {
    candidates: Candidates,
    /// The indexes of those that have touched a file; all if none.
    touched: Option<HashSet<usize>>,
}

enum Candidates {
    /// The session that the call names.
    One(Box<SessionInfo>),
    /// Those of its scope.
    Listed(Listed),
}

impl Wanted {
    fn of(call: &Call<'_>, scope: Scope) -> Result<Self, Failure> {
        let candidates = match call.arguments.text("session")? {
            Some(_) => Candidates::One(Box::new(call.session()?)),
            None => Candidates::Listed(call.history.list_shown(scope, &call.deadline)?),
        };
        let mut wanted = Self { candidates, touched: None };
        if let Some(file) = call.arguments.text("file")? {
            let changes = call.history.sessions().file_history(wanted.candidates(), &file, call.deadline.cancel)?;
            wanted.touched = Some(changes.into_iter().map(|change| change.session).collect());
        }
        Ok(wanted)
    }

    fn candidates(&self) -> &[SessionInfo] {
        match &self.candidates {
            Candidates::One(session) => std::slice::from_ref(session),
            Candidates::Listed(listed) => listed,
        }
    }

    /// The session with this file.
    fn session(&self, path: &Path) -> Option<&SessionInfo> {
        let index = match &self.candidates {
            Candidates::One(session) => (session.path == path).then_some(0),
            Candidates::Listed(listed) => listed.index_of(path),
        };
        let is_wanted = |index: &usize| self.touched.as_ref().is_none_or(|touched| touched.contains(index));
        index.filter(is_wanted).and_then(|index| self.candidates().get(index))
    }
}

fn search(
    call: &Call<'_>,
    query: &Query,
    limit: usize,
    scope: Scope,
    wanted: &Wanted,
) -> Result<SearchResult, Failure> {
    let (since, until) = call.span()?;
    let (tool, model) = (call.arguments.text("tool")?, call.arguments.text("model")?);
    let filter = Filter { kinds: kinds(call)?, tool, model, since, until };
    let is_wanted = |path: &Path| wanted.session(path).is_some();
    let is_wanted: &(dyn Fn(&Path) -> bool + Sync) = &is_wanted;
    let is_late = call.deadline.is_late();
    let (search_scope, files, per_turn) = match &wanted.candidates {
        Candidates::One(session) => (SearchScope::Files(vec![session.path.clone()]), None, usize::MAX),
        Candidates::Listed(listed) => (call.history.search_scope(scope), Some(listed.files()), PER_TURN),
    };
    let options = SearchOptions {
        scope: search_scope,
        files,
        filter,
        is_wanted: wanted.touched.is_some().then_some(is_wanted),
        excerpt_room: ROOM,
        limit,
        page: Some(SearchPage { per_turn, after: call.after()? }),
        upkeep: Upkeep::IfWorthwhile,
        index_memory: INDEX_MEMORY,
        cancel: call.deadline.cancel.clone(),
        is_late: Some(&is_late),
        on_progress: call.deadline.on_progress,
        ..SearchOptions::default()
    };
    Ok(call.history.sessions().search(query, &options)?)
}

/// The kinds of entries to search; empty for all.
fn kinds(call: &Call<'_>) -> Result<Vec<DocumentKind>, Failure> {
    let is_hidden = |kind: &DocumentKind| matches!(kind, DocumentKind::ToolResult | DocumentKind::BashExecution);
    let asked = call.arguments.role()?;
    if !call.history.options.omits_tool_output() {
        return Ok(asked.into_iter().collect());
    }
    match asked {
        Some(kind) if is_hidden(&kind) => Err(Failure::explained("this server hides the output of tools")),
        Some(kind) => Ok(vec![kind]),
        None => Ok(DocumentKind::ALL.into_iter().filter(|kind| !is_hidden(kind)).collect()),
    }
}

fn row(call: &Call<'_>, session: &SessionInfo, hit: &SearchHit, max: usize) -> Row {
    let Excerpt { text, ranges } = &hit.excerpt;
    let mut window = Excerpt::window(text, ranges);
    let in_window = text.get(window.clone()).unwrap_or_default();
    let is_cut = is_cut(max, MAX_EXCERPT, [in_window]);
    if let Some((length, _)) = in_window.char_indices().nth(max.min(MAX_EXCERPT)) {
        window.end = window.start + length;
    }
    let excerpt = call.outgoing.part(text, window);
    let name = session.name.as_ref().map(|name| call.outgoing.line(&name.to_str(), max.min(MAX_NAME)));
    let name = attribute(name.unwrap_or_default().as_str());
    let (id, entry) = (attribute(session.id.as_str()), Call::entry_id(hit.entry_id.as_ref()));
    let role = hit.role.word().or(hit.kind.word()).unwrap_or("entry");
    let trust = trust_of(hit.kind, hit.role);
    let is_live = call.history.is_live(session);
    let score = (f64::from(hit.score) * 1e4).round() / 1e4;
    let time = hit.time.map(minute).unwrap_or_default();
    let lead = format!("{time} score {score:.2}{}", if is_live { " live" } else { "" });
    let attributes = [("session", id.as_str()), ("name", &name), ("entry", &entry), ("role", role)];
    let mut json = ObjectWriter::new();
    json.string("session", &id);
    put(&mut json, "name", &name);
    put(&mut json, "entryId", &entry);
    json.string("role", role).string("trust", trust.word()).number("score", score);
    if let Some(time) = hit.time {
        json.string("timestamp", &to_iso(time));
    }
    json.string("excerpt", excerpt.as_str());
    if is_live {
        json.bool("live", true);
    }
    Row {
        text: format!("{}\n{}", lead.trim(), framed(&attributes, trust, &excerpt)),
        json: json.finish(),
        item: hit.position().unwrap_or_default(),
        is_cut,
    }
}
