//! The list of sessions.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use maud::{Markup, html};
use sessile::date::{LocalZone, Timestamp, parse_time_range};
use sessile::list::Archived;
use sessile::{Environment, SessionId, Sessions};
use sessile_display::measure::{age, counted, number_words};

use super::app::App;
use super::form::Form;
use super::frame::frame;
use super::list::{Row, Snapshot, short_path};
use super::status::{course, dot};
use crate::entry::cost_text;
use crate::html::Text;
use crate::page::local_text;

/// The rows of an answer.
const PAGE: usize = 100;
const MAX_PAGE: usize = 200;

/// How long after its last write a session may still change its status.
const RECENT_MS: i64 = 11 * 60 * 1000;

/// The deepest indentation of a fork.
const MAX_DEPTH: usize = 8;

/// Orders and their names.
const SORTS: [(&str, &str); 7] = [
    ("", "Recent"),
    ("family", "Families"),
    ("created", "Created"),
    ("messages", "Messages"),
    ("cost", "Cost"),
    ("size", "Size"),
    ("name", "Name"),
];

/// Times and their names.
pub(super) const SPANS: [(&str, &str); 8] = [
    ("", "Any time"),
    ("today", "Today"),
    ("this-week", "This week"),
    ("last-week", "Last week"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("365d", "1 year"),
];

/// What to do with archived sessions, and its name.
pub(super) const ARCHIVED: [(&str, &str); 3] = [("", "Not archived"), ("only", "Archived"), ("all", "All")];

/// The filters that the list and the search have in common.
pub(super) struct Filter<'f> {
    /// The key of a project, or empty.
    pub(super) project: &'f str,
    /// The time to look at; with an end if it is a day or a week.
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) archived: Archived,
}

impl<'f> Filter<'f> {
    pub(super) fn of(sessions: &Sessions, form: &'f Form) -> Self {
        let environment = sessions.environment();
        let time = parse_time_range(form.get("since"), environment.now(), &Zone(environment));
        Self {
            project: form.get("project"),
            since: time.map(|range| range.from),
            until: time.filter(|range| range.from < range.to).map(|range| range.to),
            archived: archived(form),
        }
    }

    pub(super) fn admits(&self, row: &Row, list: &Snapshot) -> bool {
        let is_of_project = |key: &str| {
            list.projects
                .of(&row.cwd)
                .and_then(|at| list.projects.rows.get(at))
                .is_some_and(|project| project.key == key)
        };
        self.archived.admits(row.is_archived)
            && self.since.is_none_or(|since| row.modified >= since)
            && self.until.is_none_or(|until| row.created.unwrap_or(row.modified) <= until)
            && (self.project.is_empty() || is_of_project(self.project))
    }
}

struct Zone<'z>(&'z dyn Environment);

impl LocalZone for Zone<'_> {
    fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
        self.0.local_offset_ms(local_ms)
    }
}

fn archived(form: &Form) -> Archived {
    match form.get("archived") {
        "only" => Archived::Only,
        "all" => Archived::Shown,
        _ => Archived::Hidden,
    }
}

/// A line of the list.
struct Item<'l> {
    row: &'l Arc<Row>,
    /// The number of generations after the first, if families are shown.
    depth: usize,
    is_pinned: bool,
    /// The index of the project whose heading is above it, if there are headings.
    group: Option<usize>,
}

/// The page with the list.
pub(crate) fn page(app: &App, form: &Form) -> Markup {
    // Read before the list, so that the page learns of every change after it.
    let generation = *app.list.changes().borrow();
    let list = app.list.snapshot();
    let filter = Filter::of(&app.sessions, form);
    let projects = project_links(&list, &filter, form);
    let content = html! {
        h1.offscreen { "Sessions" }
        form.filters #filters action="/" method="get" role="search" {
            input #q type="search" name="q" value=(Text(form.get("q"))) placeholder="Filter by title, first message or directory (/)" aria-label="Filter sessions" autocomplete="off" spellcheck="false";
            (choice("since", "Time", &SPANS, form))
            (choice("archived", "Archived sessions", &ARCHIVED, form))
            (choice("sort", "Order", &SORTS, form))
            (choice("group", "Group", &[("", "No groups"), ("project", "By project")], form))
            @if !filter.project.is_empty() { input type="hidden" name="project" value=(Text(filter.project)); }
            button.without-script type="submit" { "Show" }
        }
        div.shelves {
            nav.projects aria-label="Projects" { (projects) }
            section aria-label="Sessions" {
                ol #rows data-generation=(generation) data-writes=[(!app.is_read_only).then_some("")] { (rows(app, form)) }
            }
        }
    };
    let path = if form.pairs().next().is_none() { "/" } else { "" };
    frame("Sessions", path, &content)
}

/// A choice in a form.
pub(super) fn choice(name: &str, label: &str, options: &[(&str, &str)], form: &Form) -> Markup {
    let given = form.get(name);
    let is_known = options.iter().any(|(value, _)| *value == given);
    html! {
        select name=(name) aria-label=(label) {
            @for (value, text) in options { option value=(value) selected[*value == given] { (text) } }
            @if !is_known { option value=(Text(given)) selected { (Text(given)) } }
        }
    }
}

/// The projects with links to their sessions.
pub(super) fn project_links(list: &Snapshot, filter: &Filter<'_>, form: &Form) -> Markup {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let all = Filter { project: "", ..*filter };
    for row in list.rows.iter().filter(|row| all.admits(row, list)) {
        if let Some(project) = list.projects.of(&row.cwd) {
            *counts.entry(project).or_default() += 1;
        }
    }
    let n_all: usize = counts.values().sum();
    let form = form.with("from", "");
    let link = |key: &str| form.with("project", key).url("/");
    let is_current = |key: &str| (filter.project == key).then_some("true");
    let projects = list.projects.rows.iter().enumerate();
    html! {
        h2 { "Projects" }
        ul {
            li { a href=(link("")) aria-current=[is_current("")] { span { "All" } span.count { (number_words(n_all as u64)) } } }
            @for (at, project) in projects {
                @if let Some(count) = counts.get(&at) {
                    li {
                        a href=(link(&project.key)) aria-current=[is_current(&project.key)] {
                            span {
                                (Text(&project.name))
                                @if project.is_missing { " " small { "(missing)" } }
                                @if !project.branches.is_empty() { " " small { (Text(&project.branches)) } }
                            }
                            span.count { (number_words(*count as u64)) }
                        }
                    }
                }
            }
        }
    }
}

/// Some rows of the list, and a link to the next ones.
pub(crate) fn rows(app: &App, form: &Form) -> Markup {
    let list = app.list.snapshot();
    let pins = app.sessions.pins();
    let items = arrange(app, &list, form, &pins);
    let from = form.get("from").parse::<usize>().unwrap_or_default().min(items.len());
    let wanted = form.get("n").parse::<usize>().unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let shown = items.get(from..).unwrap_or_default();
    let shown = shown.get(..wanted.min(shown.len())).unwrap_or_default();
    let next = from + shown.len();
    let forked = list.forked();
    let page_of = |from: usize| form.with("from", &if from == 0 { String::new() } else { from.to_string() }).url("/");
    let mut group_before = from.checked_sub(1).and_then(|before| items.get(before)).and_then(|item| item.group);
    html! {
        @if list.is_partial && from == 0 {
            li.aside { "Sessile is still reading: " (counted(list.rows.len(), "session", "sessions")) " so far." }
        }
        @if from > 0 { li.earlier { a href=(page_of(from.saturating_sub(wanted))) rel="prev" { "Earlier rows" } } }
        @for item in shown {
            @if item.group.is_some() && std::mem::replace(&mut group_before, item.group) != item.group {
                (heading(&list, item.group))
            }
            (session_row(app, &list, item, forked.contains(item.row.path.as_path())))
        }
        @if items.is_empty() { li.empty { (nothing(&list, form)) } }
        @if next < items.len() {
            li.next {
                a.more href=(page_of(next)) rel="next" {
                    "More: " (counted(items.len() - next, "session", "sessions"))
                }
            }
        }
    }
}

/// The statuses of sessions that were written lately, by key. All others stay as they are.
pub(crate) fn statuses(app: &App) -> String {
    let now = app.sessions.environment().now();
    let list = app.list.snapshot();
    let is_recent = |row: &&Arc<Row>| now.as_ms().saturating_sub(row.info.written.as_ms()) < RECENT_MS;
    let recent = list.rows.iter().filter(is_recent);
    let recent = recent.map(|row| format!("\"{}\":{}", row.key, course(row.info.activity(), now)));
    format!("{{{}}}", recent.collect::<Vec<_>>().join(","))
}

fn nothing(list: &Snapshot, form: &Form) -> Markup {
    let query = form.get("q");
    html! {
        @if list.rows.is_empty() { "There are no sessions yet." } @else { "No session matches." }
        @if !query.is_empty() { " " a href=(Form::of([("q", query)]).url("/search")) { "Search in all messages" } }
    }
}

fn heading(list: &Snapshot, group: Option<usize>) -> Markup {
    let project = group.and_then(|at| list.projects.rows.get(at));
    html! {
        li.group {
            h2 {
                @if let Some(project) = project {
                    (Text(&project.name))
                    @if project.is_missing { " (missing)" }
                    @if !project.branches.is_empty() { " " small { (Text(&project.branches)) } }
                } @else { "(no directory)" }
            }
        }
    }
}

fn session_row(app: &App, list: &Snapshot, item: &Item<'_>, has_forks: bool) -> Markup {
    let row = item.row;
    let environment = app.sessions.environment();
    let top = item.group.and_then(|at| list.projects.rows.get(at)).and_then(|project| project.top.as_deref());
    let inside = top.and_then(|top| Path::new(&row.cwd).strip_prefix(top).ok());
    let directory = match inside {
        Some(inside) => inside.to_string_lossy().into_owned(),
        None => short_path(&app.sessions, Path::new(&row.cwd)),
    };
    let depth = item.depth.min(MAX_DEPTH);
    html! {
        li.s data-key=(row.key) data-depth=[(depth > 0).then_some(depth)] {
            a.title class=[row.is_named.then_some("named")] href={ "/s/" (row.key) } { (Text(&row.title)) }
            span.facts {
                (dot(row.info.activity(), environment.now()))
                @if item.is_pinned { span.mark { "pinned" } }
                @if row.is_archived { span.mark { "archived" } }
                @if row.is_redacted { span.mark { "redacted" } }
                @if let Some(agent) = &row.info.imported_from { span.mark { (Text(agent)) } }
                @if let Some(member) = &row.info.member { span.mark { (Text(member)) } }
                @if item.depth > 0 || list.parents.contains_key(&row.path) { span.mark { "fork" } }
                @if row.is_fork() || has_forks {
                    a.mark href={ "/s/" (row.key) "/family" } aria-label={ "Family of " (Text(&row.title)) } { "family" }
                }
                @if !directory.is_empty() { span.dir { (Text(&directory)) } }
                @if !row.models.is_empty() { span.models { (Text(&row.models)) } }
                span { (counted(row.n_messages, "message", "messages")) }
                @if row.cost > 0.0 { span { (cost_text(row.cost)) } }
                time datetime=(row.modified) title=(local_text(environment, row.modified)) {
                    (age(environment.now(), row.modified))
                }
            }
            button.actions type="button" aria-haspopup="menu" aria-expanded="false" aria-label={ "Actions for " (Text(&row.title)) } { "⋯" }
            @if !app.is_read_only {
                button.pin type="button" aria-pressed=(item.is_pinned) aria-label={ "Pin " (Text(&row.title)) } { "⚑" }
            }
        }
    }
}

/// Filters and orders the list. Pinned sessions come first, as in the picker.
fn arrange<'l>(app: &App, list: &'l Snapshot, form: &Form, pins: &HashSet<SessionId>) -> Vec<Item<'l>> {
    let filter = Filter::of(&app.sessions, form);
    let words: Vec<String> = form.get("q").split_whitespace().map(str::to_lowercase).collect();
    let is_wanted = |row: &&Arc<Row>| filter.admits(row, list) && row.has_words(&words);
    let mut rows: Vec<&Arc<Row>> = list.rows.iter().filter(is_wanted).collect();
    let item = |row, depth, is_pinned| Item { row, depth, is_pinned, group: None };
    match form.get("sort") {
        "created" => rows.sort_by_key(|row| Reverse(row.created)),
        "messages" => rows.sort_by_key(|row| Reverse(row.n_messages)),
        "cost" => rows.sort_by(|one, other| other.cost.total_cmp(&one.cost)),
        "size" => rows.sort_by_key(|row| Reverse(row.size)),
        "name" => rows.sort_by_cached_key(|row| (!row.is_named, row.title.to_lowercase())),
        _ => {}
    }
    let (pinned, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| pins.contains(&row.id));
    let mut items: Vec<Item<'l>> = pinned.into_iter().map(|row| item(row, 0, true)).collect();
    let n_pinned = items.len();
    if form.get("sort") == "family" {
        items.extend(threads(&others, list).into_iter().map(|(row, depth)| item(row, depth, false)));
    } else {
        items.extend(others.into_iter().map(|row| item(row, 0, false)));
    }
    if form.get("group") == "project" {
        let unpinned = items.get_mut(n_pinned..).unwrap_or_default();
        for item in unpinned.iter_mut() {
            item.group = Some(list.projects.of(&item.row.cwd).unwrap_or(usize::MAX));
        }
        // Projects are ordered by their newest activity. The sort is stable, so the order within them stays.
        let mut rank: HashMap<Option<usize>, usize> = HashMap::new();
        for row in &list.rows {
            let next = rank.len();
            rank.entry(Some(list.projects.of(&row.cwd).unwrap_or(usize::MAX))).or_insert(next);
        }
        unpinned.sort_by_key(|item| rank.get(&item.group).copied());
    }
    items
}

/// Puts forks below their parents. Siblings are ordered by the newest activity of their descendants.
fn threads<'l>(rows: &[&'l Arc<Row>], list: &Snapshot) -> Vec<(&'l Arc<Row>, usize)> {
    let at: HashMap<&Path, usize> = rows.iter().enumerate().map(|(at, row)| (row.path.as_path(), at)).collect();
    let parent_of = |row: &Row| list.parents.get(&row.path).and_then(|parent| at.get(parent.as_path())).copied();
    let parents: Vec<Option<usize>> = rows.iter().map(|row| parent_of(row)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut roots = Vec::new();
    for (index, parent) in parents.iter().enumerate() {
        parent.and_then(|parent| children.get_mut(parent)).unwrap_or(&mut roots).push(index);
    }
    let mut order = Vec::with_capacity(rows.len());
    let mut todo = roots.clone();
    // The engine has cut cycles of parents.
    while let Some(index) = todo.pop() {
        order.push(index);
        todo.extend(children.get(index).into_iter().flatten());
    }
    let mut newest: Vec<Timestamp> = rows.iter().map(|row| row.modified).collect();
    for index in order.into_iter().rev() {
        let below = newest.get(index).copied().unwrap_or_default();
        if let Some(above) = parents.get(index).copied().flatten().and_then(|parent| newest.get_mut(parent)) {
            *above = (*above).max(below);
        }
    }
    let by_newest = |index: &usize| Reverse(newest.get(*index).copied());
    roots.sort_by_key(by_newest);
    for siblings in &mut children {
        siblings.sort_by_key(by_newest);
    }
    let mut found = Vec::with_capacity(rows.len());
    let mut todo: Vec<(usize, usize)> = roots.into_iter().rev().map(|root| (root, 0)).collect();
    while let Some((index, depth)) = todo.pop() {
        found.extend(rows.get(index).map(|row| (*row, depth)));
        todo.extend(children.get(index).into_iter().flatten().rev().map(|child| (*child, depth + 1)));
    }
    found
}
