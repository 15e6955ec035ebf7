//! Upgrades files of versions 1 and 2 to version 3.
//!
//! Version 1 is a plain sequence: entries have no ids, and compactions count positions. Version 2 has the tree, but
//! calls custom messages `hookMessage`. Both are upgraded in memory, one line at a time and only when a line is
//! requested. The file changes at the first write.

use std::ops::Range;

use crate::head::{Kind, Role};
use crate::json::{self, Edit, Json, Members, Raw, Shape};
use crate::outline::{Outline, Row};
use crate::version::{CURRENT_VERSION, Upgrade};

/// Upgrades one line to the current version.
///
/// `read` returns the unchanged value of another row. It is called only if a version 1 compaction counts forward to a
/// later entry.
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

/// Upgrades the line of a version 1 entry in one pass if possible, appends it to `out`, and returns whether it did.
///
/// [`upgrade_value`] is the simple reference implementation. It also handles the cases that this function rejects:
/// headers, compactions, old role names, and lines that are not JSON.
pub fn upgrade_line(outline: &Outline, row: Row, line: &[u8], out: &mut Vec<u8>) -> bool {
    let is_plain = outline.upgrade() == Upgrade::FromV1
        && !matches!(outline.kind(row), Kind::Header | Kind::Compaction)
        // The old role name, which the outline has already mapped to the current one.
        && outline.role(row) != Role::Custom;
    if !is_plain {
        return false;
    }
    let mut links = Links { line, id: None, parent: None, is_empty: true };
    let scanned = json::scan(line, &mut links).ok().filter(|range| line.get(range.start) == Some(&b'{'));
    let Some(range) = scanned else { return false };
    let Links { id: old_id, parent: old_parent, is_empty, .. } = links;
    let spelled = |id: Option<crate::EntryId>| id.map_or_else(Json::null, |id| id.to_json());
    let (id, parent) = (spelled(outline.id(row)), spelled(outline.parent_id(row)));
    let begin = out.len();
    let mut copied = range.start;
    let mut replaced = [(&old_id, &id), (&old_parent, &parent)];
    replaced.sort_by_key(|(old, _)| old.as_ref().map(|old| old.start));
    for (old, new) in replaced {
        let Some(old) = old else { continue };
        out.extend_from_slice(&line[copied..old.start]);
        out.extend_from_slice(new.raw().as_bytes());
        copied = old.end;
    }
    out.extend_from_slice(&line[copied..range.end - 1]);
    let mut separator: &[u8] = if is_empty { b"" } else { b"," };
    for (key, old, new) in [(b"\"id\":".as_slice(), old_id, id), (b"\"parentId\":", old_parent, parent)] {
        if old.is_none() {
            for part in [separator, key, new.raw().as_bytes()] {
                out.extend_from_slice(part);
            }
            separator = b",";
        }
    }
    out.push(b'}');
    if out[begin..] == line[range] {
        // White space around an unchanged value stays.
        out.truncate(begin);
        out.extend_from_slice(line);
    }
    true
}

/// Records the positions of an object's own `id` and `parentId`. The last of several counts.
struct Links<'l> {
    line: &'l [u8],
    id: Option<Range<usize>>,
    parent: Option<Range<usize>>,
    is_empty: bool,
}

impl Members for Links<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
        if depth != 1 {
            return;
        }
        self.is_empty = false;
        let key = &self.line[key];
        if json::key_is(key, "id") {
            self.id = Some(value);
        } else if json::key_is(key, "parentId") {
            self.parent = Some(value);
        }
    }
}

/// Whether a role may be the old one. It may be written with escapes; without any, the word itself must occur.
fn may_name_hook_message(text: &[u8]) -> bool {
    let holds = |part: &[u8]| memchr::memmem::find(text, part).is_some();
    holds(b"hookMessage") || holds(b"\\u")
}

/// Version 1 to 2: sets the id, the parent, and the first kept entry by id.
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
    // When pi looks, a later entry does not have its new id yet, so use its old one, if any.
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

/// The row that an index in a file refers to, if the index is an integer in range.
fn row_at(outline: &Outline, index: f64) -> Option<Row> {
    let is_whole = index.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&index);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number in range"
    )]
    is_whole.then(|| outline.rows().nth(index as usize)).flatten()
}

/// Version 2 to 3: renames the role.
fn rename_hook_message(entry: Json) -> Json {
    if !may_name_hook_message(entry.raw().as_bytes()) {
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::line::split;
    use crate::version::StableIds;

    proptest! {
        #[test]
        fn one_pass_gives_what_editing_gives(
            entries in proptest::collection::vec(
                (
                    "message|custom|compaction|\\\\u006d",
                    proptest::collection::vec(
                        (
                            r"id|parentId|x|message|firstKeptEntryIndex|\\u0069d",
                            r#"1|null|"y"|\{"id":"z"\}|\[\]|\{"role":"(hook|\\u0068ook)Message"\}|\{"role":"custom"\}"#,
                        ),
                        0..4,
                    ),
                    " ?",
                ),
                1..8,
            ),
        ) {
            let mut text = "{\"type\":\"session\",\"id\":\"s\"}\n".to_owned();
            for (kind, members, space) in &entries {
                let members: Vec<_> = members.iter().map(|(key, value)| format!("{space},{space}\"{key}\":{value}")).collect();
                writeln!(text, "{space}{{\"type\":\"{kind}\"{}{space}}}{space}", members.concat()).unwrap();
            }
            text += "{}\n{ }\n[1]\n";
            let mut outline = Outline::new();
            for line in split(text.as_bytes()) {
                outline.push(line, &mut StableIds);
            }
            prop_assert_eq!(outline.upgrade(), Upgrade::FromV1);
            for row in outline.rows() {
                let span = outline.span(row);
                let line = &text.as_bytes()[usize::try_from(span.offset).unwrap()..usize::try_from(span.end()).unwrap()];
                let mut fast = b"before".to_vec();
                if !upgrade_line(&outline, row, line, &mut fast) {
                    prop_assert_eq!(fast, b"before");
                    continue;
                }
                let value = Raw::parse(line).unwrap();
                let Ok(slow) = upgrade_value(&outline, row, value, &mut |_| Ok::<_, Infallible>(Json::null()));
                let expected = if slow.raw().as_bytes() == value.as_bytes() { line } else { slow.raw().as_bytes() };
                prop_assert_eq!(String::from_utf8_lossy(&fast[6..]), String::from_utf8_lossy(expected));
            }
        }
    }
}
