//! All views of a session manager, in pi's format.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use sessile::entry::Entry;
use sessile::json::{JsText, Json, ObjectWriter, print, write_text};
use sessile::list::{Copies, SessionInfo};
use sessile::{EntryId, SessionError, SessionManager};
use sessile_rpc::answer;

use crate::oracle::quoted;

/// What one view shows: JSON text, or the error.
pub type ViewResult = Result<String, String>;

/// The names of all views that both engines offer.
pub const VIEW_NAMES: [&str; 16] = [
    "header",
    "entries",
    "count",
    "leaf",
    "treeFlat",
    "branch",
    "children",
    "labels",
    "name",
    "contextEntries",
    "context",
    "projection",
    "llm",
    "sessionId",
    "cwd",
    "persisted",
];

/// Returns every view.
pub fn observe(manager: &SessionManager) -> BTreeMap<&'static str, ViewResult> {
    VIEW_NAMES.into_iter().map(|name| (name, view(manager, name).map_err(|error| error.to_string()))).collect()
}

fn view(manager: &SessionManager, name: &str) -> Result<String, SessionError> {
    let outline = manager.outline();
    let row_ids =
        |rows: &[sessile::format::outline::Row]| list(rows.iter().map(|row| id_text(outline.id(*row).as_ref())));
    Ok(match name {
        "header" => text(manager.header().json()),
        "entries" => {
            list(manager.entries().map(|entry| Ok(text(entry?.json()))).collect::<Result<Vec<_>, SessionError>>()?)
        }
        "count" => manager.entry_count().to_string(),
        "leaf" => id_text(manager.leaf_id().as_ref()),
        "treeFlat" => list(manager.tree()?.iter().map(tree_node)),
        "branch" => row_ids(&manager.path()),
        "children" => children(manager)?,
        "labels" => labels(manager)?,
        "name" => manager.session_name()?.map_or_else(|| "null".to_owned(), |name| quoted(&name)),
        "contextEntries" => row_ids(&manager.context_rows()?),
        "context" => text(&manager.build_session_context()?.to_json()),
        "projection" => list(manager.build_session_projection()?.iter().map(|projected| {
            let messages = list(projected.messages.iter().map(text));
            format!("[{},{messages}]", id_text(outline.id(projected.row).as_ref()))
        })),
        "llm" => list(manager.llm_messages()?.iter().map(text)),
        "sessionId" => quoted(manager.session_id().as_str()),
        "cwd" => quoted(&manager.cwd().to_string_lossy()),
        "persisted" => manager.is_persisted().to_string(),
        other => panic!("no window {other}"),
    })
}

fn tree_node(node: &sessile::branch::TreeNode) -> String {
    let label = node.label.as_ref();
    let mut shown = ObjectWriter::new();
    shown
        .optional("id", node.id.as_ref().map(EntryId::to_json).as_ref().map(Json::raw))
        .raw("depth", json(&node.depth.to_string()).raw())
        .optional("label", label.map(|label| label.value.raw()))
        .optional("labelTimestamp", label.and_then(|label| label.timestamp.as_ref()).map(Json::raw));
    text(&shown.finish())
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Returns each id once, in order of first appearance.
fn distinct_ids(manager: &SessionManager) -> Vec<EntryId> {
    let outline = manager.outline();
    let mut seen = HashSet::new();
    outline.entries().filter_map(|row| outline.id(row)).filter(|id| seen.insert(id.clone())).collect()
}

fn children(manager: &SessionManager) -> Result<String, SessionError> {
    let ids = |entries: Vec<Entry>| list(entries.iter().map(|entry| id_text(entry.id().as_ref())));
    let mut pairs = vec![format!("[null,{}]", ids(manager.roots()?))];
    for id in distinct_ids(manager) {
        pairs.push(format!("[{},{}]", id_text(Some(&id)), ids(manager.children(&id)?)));
    }
    Ok(list(pairs))
}

fn labels(manager: &SessionManager) -> Result<String, SessionError> {
    let mut pairs = Vec::new();
    for id in distinct_ids(manager) {
        if let Some(label) = manager.labels()?.get(&id) {
            // As pi returns it: a label need not be a string.
            pairs.push(format!("[{},{}]", id_text(Some(&id)), text(&print(label.value.raw()))));
        }
    }
    Ok(list(pairs))
}

/// Returns a row of a list as pi's JSON.
pub fn listed(info: &SessionInfo) -> Value {
    serde_json::from_str(&text(&answer::session_info(info, true, &Copies::default()))).unwrap()
}

fn text(json: &Json) -> String {
    json.to_text().into_owned()
}

/// Returns an id as JSON; `None` as null.
pub fn id_text(id: Option<&EntryId>) -> String {
    id.map_or_else(|| "null".to_owned(), |id| js_text(&id.as_text()))
}

fn js_text(value: &JsText<'_>) -> String {
    let mut out = Vec::new();
    write_text(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}
