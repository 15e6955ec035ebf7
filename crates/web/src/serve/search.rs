//! The search over all sessions.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use maud::{Markup, html};
use sessile::list::Archived;
use sessile::search::{SearchHit, SearchOptions, SearchScope, Upkeep};
use sessile::text::excerpt::Excerpt;
use sessile::text::filter::Filter as EntryFilter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;
use sessile::time::Timestamp;
use sessile::{Cancel, SessionError};
use sessile_display::measure::{age, counted};

use super::app::App;
use super::form::Form;
use super::frame::frame;
use super::home::{ARCHIVED, Filter, SPANS, choice};
use super::list::{Row, Snapshot, short_path};
use crate::entry::anchor_of;
use crate::html::Text;
use crate::page::local_text;

/// The most hits on a page.
const MAX_HITS: usize = 60;

/// The most hits shown of one session.
const MAX_PER_SESSION: usize = 5;

/// Roles and their names.
const ROLES: [(&str, &str); 7] = [
    ("", "All entries"),
    ("user", "Prompts"),
    ("assistant", "Answers"),
    ("toolResult", "Tool results"),
    ("summary", "Summaries"),
    ("label", "Labels"),
    ("name", "Names"),
];

/// The page with the search.
pub(crate) fn page(app: &App, form: &Form, cancel: &Cancel) -> Markup {
    let list = app.list.snapshot();
    let filter = Filter::of(&app.sessions, form);
    let mut projects: Vec<(&str, &str)> = vec![("", "All projects")];
    projects.extend(list.projects.rows.iter().map(|project| (project.key.as_str(), project.name.as_str())));
    let content = html! {
        h1.offscreen { "Search" }
        form.filters #filters action="/search" method="get" role="search" {
            input #q type="search" name="q" value=(Text(form.get("q"))) placeholder="Search in all messages (/)" aria-label="Search in all sessions" autocomplete="off" spellcheck="false";
            (choice("role", "Entries", &ROLES, form))
            select name="project" aria-label="Project" {
                @for (key, name) in projects {
                    option value=(key) selected[key == filter.project] { (Text(name)) }
                }
            }
            (choice("since", "Time", &SPANS, form))
            (choice("archived", "Archived sessions", &ARCHIVED, form))
            button.without-script type="submit" { "Search" }
        }
        section #hits aria-label="Results" aria-live="polite" { (hits(app, form, cancel)) }
    };
    frame("Search", "/search", &content)
}

/// The hits of a search.
pub(crate) fn hits(app: &App, form: &Form, cancel: &Cancel) -> Markup {
    let words = form.get("q");
    if words.is_empty() {
        return html! { p.aside { (syntax()) } };
    }
    let query = match Query::parse(words) {
        Ok(query) => query,
        Err(error) => return html! { p.problem role="alert" { (Text(&error.to_string())) } },
    };
    let list = app.list.snapshot();
    let by_path: HashMap<&Path, &Arc<Row>> = list.rows.iter().map(|row| (row.path.as_path(), row)).collect();
    let mut filter = Filter::of(&app.sessions, form);
    // The time is that of entries, not of sessions.
    let (since, until) = (filter.since.take(), filter.until.take());
    let is_wanted = |path: &Path, _cwd: &str| by_path.get(path).is_some_and(|row| filter.admits(row, &list));
    let options = SearchOptions {
        scope: SearchScope::All,
        filter: EntryFilter {
            kinds: DocumentKind::of_word(form.get("role")).into_iter().collect(),
            since,
            until,
            ..EntryFilter::default()
        },
        admits: Some(&is_wanted),
        // The list in memory knows which sessions are archived.
        archived: Archived::Shown,
        limit: MAX_HITS,
        upkeep: Upkeep::IfCheap,
        cancel: cancel.clone(),
        ..SearchOptions::default()
    };
    match app.sessions.search(&query, &options) {
        Ok(result) => shown(app, &list, &by_path, &result.hits),
        Err(SessionError::Cancelled) => html! {},
        Err(error) => html! { p.problem role="alert" { (Text(&error.to_string())) } },
    }
}

/// How to write a query.
fn syntax() -> Markup {
    html! {
        "Words match whole words, in any order. " code { "\"a phrase\"" } ", " code { "begin*" } ", "
        code { "-without" } ", " code { "a OR b" } " and " code { "re:pattern" } " work, too."
    }
}

/// A hit, its session, and the number of its copies in other sessions.
type Found<'f> = (&'f SearchHit, &'f Arc<Row>, usize);

/// Returns each hit once. A fork starts with copies of its parent's entries; the hit of the oldest session is kept.
fn without_copies<'f>(hits: &'f [SearchHit], by_path: &HashMap<&Path, &'f Arc<Row>>) -> Vec<Found<'f>> {
    let mut kept: Vec<Found<'f>> = Vec::new();
    let mut index_of = HashMap::new();
    let age = |row: &Row| row.created.unwrap_or(Timestamp::MAX);
    for hit in hits {
        let Some(row) = by_path.get(hit.session_path.as_path()).copied() else { continue };
        let (Some(id), Some(time)) = (&hit.entry_id, hit.time) else {
            kept.push((hit, row, 0));
            continue;
        };
        let index = *index_of.entry((id, time, &hit.excerpt.text)).or_insert(kept.len());
        match kept.get_mut(index) {
            Some((first, first_row, n_copies)) if first_row.path != row.path => {
                *n_copies += 1;
                if age(row) < age(first_row) {
                    (*first, *first_row) = (hit, row);
                }
            }
            _ => kept.push((hit, row, 0)),
        }
    }
    kept
}

fn shown(app: &App, list: &Snapshot, by_path: &HashMap<&Path, &Arc<Row>>, hits: &[SearchHit]) -> Markup {
    let is_all = hits.len() < MAX_HITS;
    let hits = without_copies(hits, by_path);
    let n_hits = hits.len();
    let mut sessions: Vec<(&Arc<Row>, Vec<Found<'_>>)> = Vec::new();
    for found in hits {
        match sessions.iter_mut().find(|(known, _)| known.key == found.1.key) {
            Some((_, below)) => below.push(found),
            None => sessions.push((found.1, vec![found])),
        }
    }
    html! {
        p.aside {
            @if n_hits == 0 { "Nothing found. " (syntax()) }
            @else if is_all { (counted(n_hits, "hit", "hits")) }
            @else { "The best " (counted(n_hits, "hit", "hits")) }
            @if n_hits > 0 { " in " (counted(sessions.len(), "session", "sessions")) }
        }
        ol.found {
            @for (row, hits) in &sessions {
                li {
                    h2 { a class=[row.is_named.then_some("named")] href={ "/s/" (row.key) } { (Text(&row.title)) } }
                    p.facts { (session_facts(app, list, row)) }
                    ul { @for found in hits.iter().take(MAX_PER_SESSION) { li { (one_hit(app, *found)) } } }
                    @if hits.len() > MAX_PER_SESSION { p.aside { "and " (hits.len() - MAX_PER_SESSION) " more in this session" } }
                }
            }
        }
    }
}

fn session_facts(app: &App, list: &Snapshot, row: &Row) -> Markup {
    let environment = app.sessions.environment();
    html! {
        span.dir { (Text(&short_path(&app.sessions, Path::new(&row.cwd)))) }
        @if row.is_archived { span.mark { "archived" } }
        @if row.is_redacted { span.mark { "redacted" } }
        @if let Some(agent) = &row.info.imported_from { span.mark { (Text(agent)) } }
        @if let Some(member) = &row.info.member { span.mark { (Text(member)) } }
        @if list.parents.contains_key(&row.path) { span.mark { "fork" } }
        span { (counted(row.n_messages, "message", "messages")) }
        time { (age(environment.now(), row.modified)) }
    }
}

fn one_hit(app: &App, (hit, row, n_copies): Found<'_>) -> Markup {
    // A label is found for the sake of its entry.
    let id = hit.labelled.as_ref().or(hit.entry_id.as_ref()).map(ToString::to_string);
    let fragment = id.map(|id| format!("#{}", anchor_of(&id))).unwrap_or_default();
    let kind = hit.role.word().or(hit.kind.word()).unwrap_or("entry");
    html! {
        a.hit href={ "/s/" (row.key) (fragment) } {
            span.kind { (kind) }
            span.excerpt {
                (excerpt(&hit.excerpt))
                @if n_copies > 0 { small { " Also in " (counted(n_copies, "other session", "other sessions")) "." } }
            }
            @if let Some(time) = hit.time { time { (local_text(app.sessions.environment(), time)) } }
        }
    }
}

/// The text of an excerpt with its matches marked.
fn excerpt(excerpt: &Excerpt) -> Markup {
    let piece = |range: Range<usize>| excerpt.text.get(range).unwrap_or_default();
    let ends = excerpt.ranges.iter().map(|range| range.end);
    let matches = std::iter::once(0).chain(ends).zip(&excerpt.ranges);
    let rest = excerpt.ranges.last().map_or(0, |range| range.end);
    html! {
        @for (from, range) in matches {
            (Text(piece(from..range.start)))
            mark { (Text(piece(range.clone()))) }
        }
        (Text(piece(rest..excerpt.text.len())))
    }
}
