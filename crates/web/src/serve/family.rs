//! The family of a session: its parents, its forks, and theirs, across files.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use sessile::group::{Family, Relative, SessionRef};
use sessile_display::measure::{age, counted, number_words};

use super::app::App;
use super::form::Form;
use super::frame::frame;
use super::list::{Row, Snapshot, short_path};
use super::reply::{page, refusal};
use crate::entry::{anchor_of, cost_text};
use crate::html::Text;
use crate::page::local_text;

/// The members on one page.
const PAGE: usize = 100;
/// The members before the requested one on its page.
const BEFORE: usize = 30;
/// The generations that are drawn next to each other. Later ones are below each other.
const MAX_LEVEL: usize = 12;
/// The width of a generation.
const STEP: usize = 20;

/// Answers `/s/{key}/family`.
pub(crate) fn show(app: &App, key: &str, form: &Form) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return refusal(StatusCode::NOT_FOUND, "There is no such session.") };
    let infos: Vec<_> = list.rows.iter().map(|row| row.to_info()).collect();
    let is_requested = |member: &Relative| match member.session {
        SessionRef::Listed(at) => list.rows.get(at).is_some_and(|other| other.path == row.path),
        SessionRef::Missing(_) => false,
    };
    let found = app.sessions.families(&infos).into_iter().find_map(|family| {
        let at = family.members.iter().position(is_requested)?;
        Some((family, at))
    });
    drop(infos);
    let Some((family, at)) = found else { return refusal(StatusCode::NOT_FOUND, "There is no such session.") };
    page(frame(&format!("Family of {}", row.title), "", &map(app, &list, row, &family, at, form)))
}

/// Some members of a family, with lines from parents to forks.
fn map(app: &App, list: &Snapshot, row: &Row, family: &Family, requested: usize, form: &Form) -> Markup {
    let members = &family.members;
    let from = form.get("from").parse::<usize>().unwrap_or_else(|_| requested.saturating_sub(BEFORE));
    let from = from.min(members.len().saturating_sub(1));
    let to = from.saturating_add(PAGE).min(members.len());
    let link = |from: usize| form.with("from", &from.to_string()).url(&format!("/s/{}/family", row.key));
    let guides = guides(members, from, to);
    html! {
        h1 { "Family of " a href={ "/s/" (row.key) } { (Text(&row.title)) } }
        p.aside {
            @if members.len() == 1 { "This session has no relatives." }
            @else { (counted(members.len(), "session", "sessions")) ", forks below the sessions that they were forked from." }
        }
        @if from > 0 { p { a href=(link(from.saturating_sub(PAGE))) rel="prev" { "Earlier: " (counted(from, "session", "sessions")) } } }
        ol #members {
            @for (index, guide) in (from..to).zip(guides) {
                @if let Some(member) = members.get(index) {
                    (member_row(app, list, members, member, &guide, index == requested))
                }
            }
        }
        @if to < members.len() {
            p { a href=(link(to)) rel="next" { "More: " (counted(members.len() - to, "session", "sessions")) } }
        }
    }
}

fn listed<'l>(list: &'l Snapshot, member: &Relative) -> Option<&'l Row> {
    match member.session {
        SessionRef::Listed(at) => list.rows.get(at).map(|row| &**row),
        SessionRef::Missing(_) => None,
    }
}

fn member_row(
    app: &App,
    list: &Snapshot,
    members: &[Relative],
    member: &Relative,
    guide: &Guide,
    is_current: bool,
) -> Markup {
    let environment = app.sessions.environment();
    let parent = member.parent.and_then(|parent| members.get(parent)).and_then(|parent| listed(list, parent));
    html! {
        li aria-level=(member.depth.saturating_add(1)) {
            (guide.drawn(is_current))
            div.member {
                @match (listed(list, member), &member.session) {
                    (Some(row), _) => {
                        a.title.current[is_current] href={ "/s/" (row.key) } aria-current=[is_current.then_some("true")] { (Text(&row.title)) }
                        div.facts {
                            @if is_current { span.mark { "this session" } }
                            @if row.is_archived { span.mark { "archived" } }
                            @if row.is_redacted { span.mark { "redacted" } }
                            @if let Some(agent) = &row.info.imported_from { span.mark { (Text(agent)) } }
                            @if let Some(member) = &row.info.member { span.mark { (Text(member)) } }
                            @if member.depth > MAX_LEVEL { span { "generation " (number_words(member.depth as u64 + 1)) } }
                            span { (counted(row.n_messages, "message", "messages")) }
                            @if row.cost > 0.0 { span { (cost_text(row.cost)) } }
                            time datetime=(row.modified) title=(local_text(environment, row.modified)) {
                                (age(environment.now(), row.modified))
                            }
                            @if let Some(parent) = parent { (fork_point(app, row, parent)) }
                        }
                    }
                    (None, SessionRef::Missing(path)) => {
                        span.title { (Text(&short_path(&app.sessions, path))) }
                        div.facts { span.mark { "missing" } span { "Sessions name it as their parent, but it is not here." } }
                    }
                    (None, SessionRef::Listed(_)) => {}
                }
            }
        }
    }
}

/// Where a fork left its parent.
fn fork_point(app: &App, row: &Row, parent: &Row) -> Markup {
    let point = app.sessions.fork_point(&row.path, &parent.path).ok();
    let entry = point.as_ref().and_then(|point| point.entry.as_ref());
    html! {
        @match (entry, &point) {
            (Some(id), Some(point)) => {
                a href={ "/s/" (parent.key) "#" (anchor_of(&id.to_string())) } title="The last entry that the fork shares with its parent" {
                    "forked after " (counted(point.shared_entries, "entry", "entries"))
                }
            }
            _ => span { "shares no entry with its parent" },
        }
    }
}

/// The lines at the left of a member.
struct Guide {
    /// Its generation in the drawing.
    level: usize,
    /// The generations whose line goes on below it.
    is_open: Vec<bool>,
    has_forks: bool,
}

/// The lines of some members. Members are in the order of a walk, parents first.
fn guides(members: &[Relative], from: usize, to: usize) -> Vec<Guide> {
    let shown = members.get(from..to).unwrap_or_default();
    // The first generation on this page is at the left.
    let base = shown.iter().map(|member| member.depth).min().unwrap_or_default();
    let mut guides = Vec::with_capacity(shown.len());
    // From the end: for each generation whether a member of it follows before one of an earlier generation.
    let mut follows: Vec<bool> = Vec::new();
    for (index, member) in members.iter().enumerate().skip(from).rev() {
        let depth = member.depth;
        let has_forks = follows.get(depth + 1).copied().unwrap_or_default();
        follows.resize(depth + 1, false);
        if index < to {
            let is_open = |level: usize| follows.get(base + level).copied().unwrap_or_default();
            let level = (depth - base).min(MAX_LEVEL);
            guides.push(Guide { level, is_open: (0..=level).map(is_open).collect(), has_forks });
        }
        if let Some(own) = follows.get_mut(depth) {
            *own = true;
        }
    }
    guides.reverse();
    guides
}

impl Guide {
    fn drawn(&self, is_current: bool) -> Markup {
        let x = |level: usize| level * STEP + STEP / 2;
        let y = 14;
        let own = x(self.level);
        html! {
            svg.guide aria-hidden="true" width=((self.level + 1) * STEP) height="100%" {
                @for (level, is_open) in self.is_open.iter().enumerate().skip(1) {
                    @if *is_open { line x1=(x(level - 1)) x2=(x(level - 1)) y1="0" y2="100%" {} }
                }
                @if self.level > 0 {
                    line x1=(x(self.level - 1)) x2=(x(self.level - 1)) y1="0" y2=(y) {}
                    line x1=(x(self.level - 1)) x2=(own) y1=(y) y2=(y) {}
                }
                @if self.has_forks { line x1=(own) x2=(own) y1=(y) y2="100%" {} }
                circle.here[is_current] cx=(own) cy=(y) r=(if is_current { 7 } else { 5 }) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lead_from_parents_to_forks() {
        let member = |depth: usize| Relative { session: SessionRef::Listed(0), parent: None, depth };
        let members: Vec<Relative> = [0, 1, 2, 2, 1].map(member).to_vec();
        let drawn = |from: usize, to: usize| {
            let guides = guides(&members, from, to);
            let text = |guide: &Guide| {
                let open = guide.is_open.iter().map(|is_open| if *is_open { '|' } else { ' ' }).collect::<String>();
                format!("{}{open}{}", guide.level, if guide.has_forks { "v" } else { "" })
            };
            guides.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(drawn(0, 5), ["0 v", "1 |v", "2 ||", "2 | ", "1  "]);
        assert_eq!(drawn(2, 4), ["0|", "0 "]);
        let nested: Vec<Relative> = (0..5000).map(member).collect();
        let deep = guides(&nested, 4000, 4100);
        assert_eq!(
            (deep.len(), deep.first().map(|guide| guide.level), deep.last().map(|guide| guide.level)),
            (100, Some(0), Some(MAX_LEVEL))
        );
    }
}
