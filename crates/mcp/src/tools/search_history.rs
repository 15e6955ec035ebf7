//! `search_history`

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

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
use crate::call::{Call, minute};
use crate::failure::Failure;
use crate::history::Scope;
use crate::names::attribute;
use crate::outgoing::{ROOM, framed};
use crate::render::trust_of;

/// The hits of a session before other sessions get their turn.
const PER_TURN: usize = 3;

/// The characters of an excerpt. The engine's excerpts have about as many bytes.
const MAX_EXCERPT: usize = 240;

/// The characters of the session's name beside a hit.
const MAX_NAME: usize = 60;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let query = Query::parse(&call.arguments.required("query")?);
    let query = query.map_err(|error| Failure::told(format!("the query cannot be read: {error}")))?;
    let limit = call.arguments.limit(10, 50)?;
    let (scope, sessions, is_one) = sessions(call)?;
    let by_path: HashMap<&Path, &SessionInfo> =
        sessions.iter().map(|session| (session.path.as_path(), session)).collect();
    let result = search(call, &query, limit, scope, is_one, &by_path)?;
    let counts = result.counts.unwrap_or_default();
    if counts.is_lost {
        return Err(Failure::list_changed());
    }
    let mut page = call.page("hits", &format!("{} hits in scope {}.", counts.total, scope.word()))?;
    let mut has_more = counts.left > 0;
    for hit in &result.hits {
        let Some(session) = by_path.get(hit.session_path.as_path()) else { continue };
        if !page.push(MAX_EXCERPT, &mut |max| row(call, session, hit, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, counts.total, has_more, false))
}

/// The sessions to search, and whether the call names one.
fn sessions(call: &Call<'_>) -> Result<(Scope, Vec<SessionInfo>, bool), Failure> {
    let scope = call.scope()?;
    let is_one = call.arguments.text("session")?.is_some();
    let mut sessions = if is_one { vec![call.session()?] } else { call.history.list_shown(scope, call.cancel)? };
    if let Some(file) = call.arguments.text("file")? {
        let changes = call.history.sessions().file_history(&sessions, &file, call.cancel)?;
        let touched: HashSet<usize> = changes.into_iter().map(|change| change.session).collect();
        let mut index = 0;
        sessions.retain(|_| {
            index += 1;
            touched.contains(&(index - 1))
        });
    }
    Ok((scope, sessions, is_one))
}

fn search(
    call: &Call<'_>,
    query: &Query,
    limit: usize,
    scope: Scope,
    is_one: bool,
    by_path: &HashMap<&Path, &SessionInfo>,
) -> Result<SearchResult, Failure> {
    let (since, until) = call.span()?;
    let (tool, model) = (call.arguments.text("tool")?, call.arguments.text("model")?);
    let filter = Filter { kinds: kinds(call)?, tool, model, since, until };
    let admits = |path: &Path, _: &str| by_path.contains_key(path);
    let options = SearchOptions {
        scope: match scope {
            _ if is_one => SearchScope::Files(by_path.keys().map(PathBuf::from).collect()),
            Scope::Project => SearchScope::Cwd(call.history.options.cwd.clone()),
            Scope::Repo | Scope::All => SearchScope::All,
        },
        filter,
        admits: Some(&admits),
        excerpt_room: ROOM,
        limit,
        page: Some(SearchPage { per_turn: if is_one { usize::MAX } else { PER_TURN }, after: call.after()? }),
        upkeep: Upkeep::IfWorthwhile,
        cancel: call.cancel.clone(),
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
        Some(kind) if is_hidden(&kind) => Err(Failure::told("this server hides the output of tools")),
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
