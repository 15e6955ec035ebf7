//! `find_file_history`

use sessile::date::to_iso;
use sessile::files::FileChange;
use sessile::json::ObjectWriter;
use sessile::list::SessionInfo;

use super::{is_cut, put};
use crate::budget::{Answer, Row};
use crate::call::{Call, minute};
use crate::cursor::item;
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::{Trust, framed};

/// The characters of the first line of an edit.
const MAX_LINE: usize = 160;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let scope = call.scope()?;
    let limit = call.arguments.limit(20, 100)?;
    let path = call.arguments.required("path")?;
    let sessions = call.history.list_shown(scope, &call.deadline)?;
    let changes = call.history.sessions().file_history(&sessions, &path, call.deadline.cancel)?;
    let items: Vec<u64> = changes.iter().enumerate().map(|(at, change)| item_of(&changes, at, change)).collect();
    let start = call.start_among(items.iter().copied())?;
    let about = format!("{} changes of the file in scope {}.", changes.len(), scope.word());
    let mut page = call.page("changes", &about)?;
    let mut has_more = start + limit < changes.len();
    for (change, item) in changes.iter().zip(items).skip(start).take(limit) {
        let Some(session) = sessions.get(change.session) else { continue };
        if !page.push(MAX_LINE, &mut |max| row(call, session, change, item, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, changes.len(), has_more, false))
}

/// A change by its line, and by its number among the changes of this line.
fn item_of(changes: &[FileChange], at: usize, change: &FileChange) -> u64 {
    let is_same = |other: &&FileChange| (other.session, other.offset) == (change.session, change.offset);
    let number = changes.get(..at).unwrap_or_default().iter().rev().take_while(is_same).count();
    let entry = change.entry_id.as_ref().map(ToString::to_string).unwrap_or_default();
    item(&format!("{} {entry} {} {number}", change.session, change.offset))
}

fn row(call: &Call<'_>, session: &SessionInfo, change: &FileChange, item: u64, max: usize) -> Row {
    let max = max.min(MAX_LINE);
    let line = |text: &str| call.outgoing.line(text, max);
    let (first, tool) = (line(&change.first_line), attribute(line(&change.tool).as_str()));
    let path = attribute(line(&change.path).as_str());
    let name = attribute(session.name.as_ref().map(|name| line(&name.to_str())).unwrap_or_default().as_str());
    let (id, entry) = (attribute(session.id.as_str()), Call::entry_id(change.entry_id.as_ref()));
    let is_live = call.history.is_live(session);
    let mut json = ObjectWriter::new();
    json.string("session", &id);
    put(&mut json, "name", &name);
    put(&mut json, "entryId", &entry);
    put(&mut json, "timestamp", &change.time.map(to_iso).unwrap_or_default());
    json.string("tool", &tool).string("path", &path).string("firstLine", first.as_str());
    if is_live {
        json.bool("live", true);
    }
    let lead = format!("{} {tool}{}", change.time.map(minute).unwrap_or_default(), if is_live { " live" } else { "" });
    let attributes = [("session", id.as_str()), ("name", &name), ("entry", &entry), ("path", &path)];
    let text = format!("{}\n{}", lead.trim(), framed(&attributes, Trust::Model, &first));
    let is_cut = is_cut(max, MAX_LINE, [change.first_line.as_str(), &change.path, &change.tool]);
    Row { text, json: json.finish(), item, is_cut }
}
