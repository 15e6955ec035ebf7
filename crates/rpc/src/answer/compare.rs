//! Comparisons of two branches.

use sessile::SessionError;
use sessile::compare::{Comparison, EntryChange, EntryDiff, Hunk, Side, comparable_text};
use sessile::entry::Entry;
use sessile::format::head::Kind;
use sessile::format::outline::Row;
use sessile::json::{Json, ObjectWriter};

use super::{count, object, put_id, put_list, put_path};

/// The comparison of two branches: `{left, right, common, equal, changes}`.
///
/// A side is `{path?, id, leafId?, entries}`, the common beginning `{entries, lastId?}`. A change is
/// `{change, …}`: `same` with `entries`, the number of consecutive equal entries; `left` and `right` with `id`,
/// `type`, `role?` and `text`; `changed` with `leftId`, `rightId`, `type`, `role?`, `hunks` and `fields`. A hunk is
/// `{leftLine, rightLine, lines}`.
pub fn comparison(comparison: &Comparison, left: Side<'_>, right: Side<'_>) -> Result<Json, SessionError> {
    let mut changes = Vec::new();
    let mut n_same = 0;
    for piece in &comparison.pieces {
        if matches!(piece, EntryDiff::Same { .. }) {
            n_same += 1;
            continue;
        }
        changes.extend(same(std::mem::take(&mut n_same)));
        changes.push(change(piece, left, right)?);
    }
    changes.extend(same(n_same));
    let common = object(|out| {
        out.integer("entries", count(comparison.n_common));
        let last = comparison.n_common.checked_sub(1).and_then(|last| left.session.outline().id(left.path[last]));
        put_id(out, "lastId", last.as_ref());
    });
    Ok(object(|out| {
        out.raw("left", side(left).raw()).raw("right", side(right).raw()).raw("common", common.raw());
        out.bool("equal", comparison.is_equal());
        put_list(out, "changes", changes);
    }))
}

/// A run of equal entries; `None` if it is empty.
fn same(n_same: usize) -> Option<Json> {
    (n_same > 0).then(|| {
        object(|out| {
            out.string("change", "same").integer("entries", count(n_same));
        })
    })
}

fn side(side: Side<'_>) -> Json {
    object(|out| {
        put_path(out, "path", side.session.session_file());
        out.string("id", side.session.session_id().as_str());
        put_id(out, "leafId", side.path.last().and_then(|row| side.session.outline().id(*row)).as_ref());
        out.integer("entries", count(side.path.len()));
    })
}

fn change(piece: &EntryDiff, left: Side<'_>, right: Side<'_>) -> Result<Json, SessionError> {
    let mut out = ObjectWriter::new();
    let put_row_id = |out: &mut ObjectWriter, key: &str, side: Side<'_>, row: Row| {
        put_id(out, key, side.session.outline().id(row).as_ref());
    };
    let put_kind = |out: &mut ObjectWriter, side: Side<'_>, row: Row, entry: &Entry| {
        out.optional("type", entry.raw().get("type"));
        if side.session.outline().kind(row) == Kind::Message {
            out.optional("role", entry.raw().get("message").and_then(|message| message.get("role")));
        }
    };
    match *piece {
        EntryDiff::Left(row) | EntryDiff::Right(row) => {
            let (word, side) = if matches!(piece, EntryDiff::Left(_)) { ("left", left) } else { ("right", right) };
            let entry = side.session.entry_at(row)?;
            out.string("change", word);
            put_row_id(&mut out, "id", side, row);
            put_kind(&mut out, side, row, &entry);
            out.string("text", &comparable_text(&entry));
        }
        EntryDiff::Changed { left: one, right: other } | EntryDiff::Same { left: one, right: other } => {
            let entries = (left.session.entry_at(one)?, right.session.entry_at(other)?);
            out.string("change", "changed");
            put_row_id(&mut out, "leftId", left, one);
            put_row_id(&mut out, "rightId", right, other);
            put_kind(&mut out, left, one, &entries.0);
            let change = EntryChange::between(&entries.0, &entries.1);
            put_list(&mut out, "hunks", change.hunks.iter().map(hunk));
            put_list(&mut out, "fields", change.fields.iter().map(|field| Json::string(field)));
        }
    }
    Ok(out.finish())
}

fn hunk(hunk: &Hunk) -> Json {
    object(|out| {
        out.integer("leftLine", count(hunk.left.0)).integer("rightLine", count(hunk.right.0));
        let lines = hunk.lines.iter().map(|(change, line)| Json::string(&format!("{}{line}", change.sign())));
        put_list(out, "lines", lines);
    })
}
