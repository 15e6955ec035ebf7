//! `list_sessions`

use sessile::date::to_iso;
use sessile::json::ObjectWriter;
use sessile::list::{Archived, Children, Selection, SessionInfo, SortBy};

use super::{is_cut, put};
use crate::budget::{Answer, Row};
use crate::call::{Call, minute, money};
use crate::cursor::item;
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::{Trust, framed};

/// The characters of a title.
const MAX_TITLE: usize = 120;

const SORTS: [(&str, SortBy); 6] = [
    ("recent", SortBy::Recent),
    ("created", SortBy::Created),
    ("size", SortBy::Size),
    ("cost", SortBy::Cost),
    ("messages", SortBy::Messages),
    ("name", SortBy::Name),
];

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let scope = call.scope()?;
    let limit = call.arguments.limit(20, 100)?;
    let (since, until) = call.span()?;
    let is_without_forks = call.arguments.flag("children")? == Some(false);
    let selection = Selection {
        named: call.arguments.flag("named")? == Some(true),
        children: if is_without_forks { Children::Hidden } else { Children::Shown },
        archived: Archived::Hidden,
        since,
        until,
        sort: call.arguments.word("sort", &SORTS)?.unwrap_or_default(),
        ..Selection::default()
    };
    let everything = call.history.list(scope, &call.deadline)?;
    let mut sessions = everything.to_vec();
    selection.apply(&mut sessions);
    let start = call.start_among(sessions.iter().map(item_of))?;
    let about = format!("{} sessions in scope {}.", sessions.len(), scope.word());
    let mut page = call.page("sessions", &about)?;
    let mut has_more = start + limit < sessions.len();
    for session in sessions.iter().skip(start).take(limit) {
        if !page.push(MAX_TITLE, &mut |max| row(call, session, &everything, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, sessions.len(), has_more, false))
}

fn item_of(session: &SessionInfo) -> u64 {
    item(&session.path.to_string_lossy())
}

/// The id of the session that another was forked from, if the agent may see it.
pub(super) fn parent_id(session: &SessionInfo, everything: &[SessionInfo]) -> String {
    let parent = session.parent_session_path.as_ref();
    let known = parent.and_then(|parent| everything.iter().find(|other| other.path.to_str() == Some(parent)));
    known.map(|parent| attribute(parent.id.as_str())).unwrap_or_default()
}

fn row(call: &Call<'_>, session: &SessionInfo, everything: &[SessionInfo], max: usize) -> Row {
    let max = max.min(MAX_TITLE);
    let line = |text: &str| call.outgoing.line(text, max);
    let name = session.name.as_ref().map(|name| line(&name.to_str()));
    let first = name.is_none().then(|| line(&session.first_message.to_str()));
    let (id, cwd) = (attribute(session.id.as_str()), attribute(line(&session.cwd).as_str()));
    let parent = parent_id(session, everything);
    let is_live = call.history.is_live(session);
    let title = name.clone().or(first.clone()).unwrap_or_default();
    let n_messages = session.message_count;
    let lead = format!(
        "{} {n_messages} messages {}{}{}",
        minute(session.modified),
        money(session.facts.cost),
        if session.facts.has_branches { " branched" } else { "" },
        if is_live { " live" } else { "" },
    );
    let role = if name.is_some() { "name" } else { "user" };
    let attributes = [("session", id.as_str()), ("cwd", &cwd), ("parent", &parent), ("role", role)];
    let mut json = ObjectWriter::new();
    json.string("id", &id).string("cwd", &cwd);
    put(&mut json, "name", name.unwrap_or_default().as_str());
    put(&mut json, "firstMessage", first.unwrap_or_default().as_str());
    put(&mut json, "parentSession", &parent);
    put(&mut json, "created", &session.created.map(to_iso).unwrap_or_default());
    json.string("modified", &to_iso(session.modified));
    json.integer("messageCount", i64::try_from(n_messages).unwrap_or(i64::MAX)).number("cost", session.facts.cost);
    json.bool("branched", session.facts.has_branches);
    if is_live {
        json.bool("live", true);
    }
    let text = format!("{lead}\n{}", framed(&attributes, Trust::User, &title));
    let title = session.name.as_ref().unwrap_or(&session.first_message).to_str();
    let is_cut = is_cut(max, MAX_TITLE, [&*title, &session.cwd]);
    Row { text, json: json.finish(), item: item_of(session), is_cut }
}
