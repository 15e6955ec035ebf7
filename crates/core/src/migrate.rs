//! Files of versions 1 and 2 as version 3 sees them.
//!
//! Version 1 is a plain sequence: entries have no ids, and compactions count
//! positions. Version 2 has the tree but calls custom messages
//! `hookMessage`. Both are upgraded in memory, one line at a time and only
//! when a line is asked for; the file changes at the first write.

use crate::head::{Kind, Role};
use crate::json::{Edit, Json, Raw, Shape};
use crate::line::js_trim;
use crate::outline::{Outline, Row};

/// The version this library writes.
pub const CURRENT_VERSION: u32 = 3;

/// What a file needs to become one of the current version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upgrade {
    /// Nothing.
    #[default]
    None,
    /// Ids, parents, and all that [`Upgrade::FromV2`] needs.
    FromV1,
    /// The role `hookMessage` is now `custom`.
    FromV2,
    /// The file is newer than this library: it is read, not written.
    Newer,
}

impl Upgrade {
    /// What a header line calls for. Versions compare as JavaScript compares them with numbers.
    pub(crate) fn of_header(line: &[u8]) -> Self {
        let Ok(header) = Raw::parse(line) else { return Self::None };
        let version = match header.get("version") {
            None => 1.0,
            Some(value) if value.is_null() => 1.0,
            Some(value) => js_number(value),
        };
        if version < 2.0 {
            Self::FromV1
        } else if version < 3.0 {
            Self::FromV2
        } else if version > 3.0 {
            Self::Newer
        } else {
            Self::None
        }
    }

    /// Whether entries change on their way into memory.
    pub fn is_needed(self) -> bool {
        matches!(self, Self::FromV1 | Self::FromV2)
    }

    /// Whether the file is newer than this library.
    pub fn is_newer(self) -> bool {
        self == Self::Newer
    }

    pub(crate) fn role(self, role: Role) -> Role {
        if self.is_needed() && role == Role::HookMessage { Role::Custom } else { role }
    }
}

/// What JavaScript makes of a value when it compares it with a number.
fn js_number(value: Raw<'_>) -> f64 {
    match value.shape() {
        Shape::Null => 0.0,
        Shape::Bool => f64::from(u8::from(value.is_truthy())),
        Shape::Number => value.as_number().unwrap_or(f64::NAN),
        Shape::String => {
            let text = value.as_string().unwrap_or_default();
            let text = js_trim(&text);
            let is_decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
            match text {
                "" => 0.0,
                _ if text.bytes().all(is_decimal) => text.parse().unwrap_or(f64::NAN),
                _ => f64::NAN,
            }
        }
        Shape::Array | Shape::Object => f64::NAN,
    }
}

/// Names the entries of version 1 files.
pub trait FreshIds {
    /// An id for the entry at this place among the entries. `attempt` counts
    /// up from 0 while the answers are already taken.
    fn fresh_id(&mut self, ordinal: usize, attempt: u32) -> String;
}

/// Names entries by their place, so that a version 1 file has the same ids each time it is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct StableIds;

impl FreshIds for StableIds {
    fn fresh_id(&mut self, ordinal: usize, attempt: u32) -> String {
        // An odd multiplier makes this a bijection on 32 bits: places never collide before 2^32.
        let mixed = (ordinal as u64).wrapping_add(u64::from(attempt) << 20).wrapping_mul(0x9e37_79b1);
        format!("{:08x}", (mixed & 0xffff_ffff) ^ 0x5e55_11e0)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_in_javascript() {
        for (version, upgrade) in [
            ("null", Upgrade::FromV1),
            ("0", Upgrade::FromV1),
            ("-1", Upgrade::FromV1),
            ("true", Upgrade::FromV1),
            ("\"1\"", Upgrade::FromV1),
            ("\"\"", Upgrade::FromV1),
            ("2.5", Upgrade::FromV2),
            ("\" 2 \"", Upgrade::FromV2),
            ("3", Upgrade::None),
            ("\"3\"", Upgrade::None),
            ("\"abc\"", Upgrade::None),
            ("{}", Upgrade::None),
            ("4", Upgrade::Newer),
            ("\"99\"", Upgrade::Newer),
        ] {
            let header = format!(r#"{{"type":"session","version":{version}}}"#);
            assert_eq!(Upgrade::of_header(header.as_bytes()), upgrade, "{version}");
        }
        assert_eq!(Upgrade::of_header(br#"{"type":"session"}"#), Upgrade::FromV1);
    }

    #[test]
    fn stable_ids_do_not_collide() {
        let ids: std::collections::HashSet<_> = (0..100_000).map(|ordinal| StableIds.fresh_id(ordinal, 0)).collect();
        assert_eq!(ids.len(), 100_000);
        assert_ne!(StableIds.fresh_id(7, 0), StableIds.fresh_id(7, 1));
        assert!(ids.iter().all(|id| id.len() == 8));
    }
}
