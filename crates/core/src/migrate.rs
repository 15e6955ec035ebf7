//! Files of versions 1 and 2 as version 3 sees them.
//!
//! Version 1 is a plain sequence: entries have no ids, and compactions count
//! positions. Version 2 has the tree but calls custom messages
//! `hookMessage`. Both are upgraded in memory, one line at a time and only
//! when a line is asked for; the file changes at the first write.

use crate::head::{Kind, Role};
use crate::json::{Edit, Json, Raw, Shape};
use crate::outline::{Outline, Row};
use crate::version::{CURRENT_VERSION, Upgrade};

/// Brings one line to the current version.
///
/// `read` gives the unchanged value of another row; it is asked for only
/// where a version 1 compaction counts forward to a later entry.
pub fn upgrade_value<E>(
    outline: &Outline,
    row: Row,
    value: Raw<'_>,
    read: &mut dyn FnMut(Row) -> Result<Json, E>,
) -> Result<Json, E> {
    let upgrade = outline.upgrade();
    if !upgrade.is_needed() || value.shape() != Shape::Object {
        return Ok(value.to_json());
    }
    if outline.kind(row) == Kind::Header {
        let version = Json::trusted(CURRENT_VERSION.to_string().into_bytes());
        return Ok(value.edited(&[Edit::Set("version", version.raw())]));
    }
    let linked = match upgrade {
        Upgrade::FromV1 => link(outline, row, value, read)?,
        _ => value.to_json(),
    };
    Ok(rename_hook_message(linked))
}

/// Version 1 to 2: the id, the parent, and the kept entry by id.
fn link<E>(
    outline: &Outline,
    row: Row,
    value: Raw<'_>,
    read: &mut dyn FnMut(Row) -> Result<Json, E>,
) -> Result<Json, E> {
    let id_json = |id: Option<crate::EntryId>| id.map_or_else(Json::null, |id| id.to_json());
    let id = id_json(outline.id(row));
    let parent = id_json(outline.parent_id(row));
    let linked = value.edited(&[Edit::Set("id", id.raw()), Edit::Set("parentId", parent.raw())]);
    if outline.kind(row) != Kind::Compaction {
        return Ok(linked);
    }
    let Some(index) = value.get("firstKeptEntryIndex").and_then(Raw::as_number) else {
        return Ok(linked);
    };
    let Some(slot) = row_at(outline, index).filter(|slot| outline.kind(*slot) != Kind::Header) else {
        return Ok(linked.raw().edited(&[Edit::Remove("firstKeptEntryIndex")]));
    };
    // A later entry has not got its new id yet when pi looks, so its old one, if any, is taken.
    let kept = if slot <= row {
        outline.id(slot).map(|id| id.to_json())
    } else {
        read(slot)?.raw().get("id").map(Raw::to_json)
    };
    let keep = match &kept {
        Some(kept) => Edit::Set("firstKeptEntryId", kept.raw()),
        None => Edit::Remove("firstKeptEntryId"),
    };
    Ok(linked.raw().edited(&[keep, Edit::Remove("firstKeptEntryIndex")]))
}

/// The row that a number of a file counts to, if it is a whole number and there are so many.
fn row_at(outline: &Outline, index: f64) -> Option<Row> {
    let is_whole = index.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&index);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number in range"
    )]
    is_whole.then(|| outline.rows().nth(index as usize)).flatten()
}

/// Version 2 to 3.
fn rename_hook_message(entry: Json) -> Json {
    let holds = |part: &[u8]| memchr::memmem::find(entry.raw().as_bytes(), part).is_some();
    // The role may be spelled with escapes; without any, the word itself must be there.
    if !holds(b"hookMessage") && !holds(b"\\u") {
        return entry;
    }
    let message = match entry.raw().get("message") {
        Some(message) if Role::of(message.get("role")) == Role::HookMessage => message,
        _ => return entry,
    };
    if entry.raw().get("type").and_then(Raw::as_text).is_none_or(|kind| kind != "message") {
        return entry;
    }
    let custom = Json::string("custom");
    let message = message.edited(&[Edit::Set("role", custom.raw())]);
    entry.raw().edited(&[Edit::Set("message", message.raw())])
}
