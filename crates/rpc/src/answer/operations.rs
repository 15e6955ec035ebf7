//! Operations on sessions, and the log of them.

use std::path::Path;

use sessile::SessionId;
use sessile::date::{Timestamp, to_iso};
use sessile::import::Imported;
use sessile::json::{Json, ObjectWriter};
use sessile::list::SessionInfo;
use sessile::operations::{
    Annotated, Deleted, DeletedSession, KeptSession, Moved, MovedSession, Operation, Pruned, SessionLocation, Slimmed,
    Step, TrashSlot, TrashedSession, TrashedTo, Undone,
};

use super::{object, put_id, put_list, put_path, put_string, saturating_i64};

/// A logged operation: `{id, time, kind, state, undoes?, undoneBy?, steps}`.
pub fn operation(operation: &Operation) -> Json {
    object(|out| {
        out.string("id", &operation.id)
            .string("time", &to_iso(operation.time))
            .string("kind", operation.kind.word())
            .string("state", operation.state.word());
        put_string(out, "undoes", operation.undoes.as_deref());
        put_string(out, "undoneBy", operation.undone_by.as_deref());
        put_list(out, "steps", operation.steps.iter().map(step));
    })
}

/// One step of an operation: `{step, path, sessionId, …}` with what it changed.
pub fn step(step: &Step) -> Json {
    let SessionLocation { path, id } = step.session();
    object(|out| {
        out.string("step", step.word()).string("path", &path.to_string_lossy()).string("sessionId", id.as_str());
        match step {
            Step::Name { before, after, .. } => {
                put_string(out, "before", before.as_deref());
                put_string(out, "after", after.as_deref());
            }
            Step::Label { entry, before, after, .. } => {
                out.text("entryId", entry.as_text());
                put_string(out, "before", before.as_deref());
                put_string(out, "after", after.as_deref());
            }
            Step::Archive { entry, before, after, .. } => {
                put_id(out, "entryId", entry.as_ref());
                out.bool("before", *before).bool("after", *after);
            }
            Step::Leaf { before, after, summary, .. } => {
                put_id(out, "before", before.as_ref());
                put_id(out, "after", after.as_ref());
                if *summary {
                    out.bool("summary", true);
                }
            }
            Step::Move { to, cwd_before, cwd_after, original, length, .. } => {
                out.string("to", &to.to_string_lossy());
                out.optional("cwdBefore", cwd_before.as_ref().map(Json::raw));
                out.optional("cwdAfter", cwd_after.as_ref().map(Json::raw));
                put_path(out, "original", original.as_deref());
                put_length(out, *length);
            }
            Step::Delete { to, .. } => match to {
                TrashedTo::Trash(slot) => put_slot(out, slot),
                TrashedTo::Program => {
                    out.bool("program", true);
                }
                TrashedTo::Deleted => {
                    out.bool("permanent", true);
                }
            },
            Step::Restore { from, length, .. } => {
                put_slot(out, from);
                put_length(out, *length);
            }
            Step::Create { length, source, .. } => {
                put_length(out, Some(*length));
                put_path(out, "source", source.as_deref());
            }
            Step::Rewrite { original, .. } => put_path(out, "original", Some(original)),
            Step::Reunite { stray, kept, .. } => {
                put_path(out, "stray", Some(stray));
                put_path(out, "kept", Some(kept));
            }
            Step::Scrub { original, .. } => put_path(out, "original", original.as_deref()),
            Step::Merge { from, mark, .. } => {
                let from: Vec<Json> = from.iter().map(|path| Json::string(&path.to_string_lossy())).collect();
                out.array("from", from.iter().map(Json::raw));
                put_id(out, "entryId", Some(mark));
            }
            Step::Extend { source, mark, .. } => {
                put_path(out, "source", Some(source));
                put_id(out, "entryId", Some(mark));
            }
        }
    })
}

fn put_slot(out: &mut ObjectWriter, slot: &TrashSlot) {
    put_path(out, "trashed", Some(&slot.file));
    put_path(out, "info", slot.info.as_deref());
}

fn put_length(out: &mut ObjectWriter, length: Option<u64>) {
    if let Some(length) = length {
        out.integer("length", saturating_i64(length));
    }
}

/// A change of a name, label, archive mark or leaf: `{dryRun?, changed, change, entryId?, operation?, original?}`.
///
/// In a dry run `changed` says whether there is something to change.
pub fn annotated(annotated: &Annotated, dry_run: bool) -> Json {
    object(|out| {
        if dry_run {
            out.bool("dryRun", true);
        }
        out.bool("changed", annotated.is_change).raw("change", step(&annotated.step).raw());
        put_id(out, "entryId", annotated.entry_id.as_ref());
        put_string(out, "operation", annotated.operation.as_deref());
        put_path(out, "original", annotated.original.as_deref());
    })
}

/// An undone operation: `{undone, operation?, steps}`.
pub fn undone(undone: &Undone) -> Json {
    object(|out| {
        out.raw("undone", operation(&undone.operation).raw());
        put_string(out, "operation", undone.id.as_deref());
        put_list(out, "steps", undone.steps.iter().map(step));
    })
}

/// A pruning:
/// `{operation?, bytes, sessions: [{path, id, size, modified, familyModified}], kept: [{path, id, reason}]}`.
pub fn pruned(pruned: &Pruned) -> Json {
    let row = |(session, last_used): &(SessionInfo, Timestamp)| {
        object(|out| {
            out.string("path", &session.path.to_string_lossy())
                .string("id", session.id.as_str())
                .integer("size", saturating_i64(session.size))
                .string("modified", &to_iso(session.modified))
                .string("familyModified", &to_iso(*last_used));
        })
    };
    let kept = |KeptSession { session, reason }: &KeptSession| {
        object(|out| {
            out.string("path", &session.path.to_string_lossy())
                .string("id", session.id.as_str())
                .string("reason", reason.word());
        })
    };
    object(|out| {
        put_string(out, "operation", pruned.operation.as_deref());
        out.integer("bytes", saturating_i64(pruned.size()));
        put_list(out, "sessions", pruned.sessions.iter().map(row));
        put_list(out, "kept", pruned.kept.iter().map(kept));
    })
}

/// A session in the trash: `{path, id, deleted, trashed, operation}`.
pub fn in_trash(trashed: &TrashedSession) -> Json {
    object(|out| {
        out.string("path", &trashed.session.path.to_string_lossy())
            .string("id", trashed.session.id.as_str())
            .string("deleted", &to_iso(trashed.time))
            .string("trashed", &trashed.slot.file.to_string_lossy())
            .string("operation", &trashed.operation);
    })
}

/// A restored session: `{path, id, operation?}`.
pub fn restored(restored: &TrashedSession, operation: Option<&str>) -> Json {
    object(|out| {
        out.string("path", &restored.session.path.to_string_lossy()).string("id", restored.session.id.as_str());
        put_string(out, "operation", operation);
    })
}

/// Moved sessions: `{operation?, sessions: [{path, to, id, cwdBefore, cwdAfter, original?}]}`.
pub fn moved(moved: &Moved) -> Json {
    let row = |moving: &MovedSession| {
        object(|out| {
            out.string("path", &moving.session.path.to_string_lossy())
                .string("to", &moving.to.to_string_lossy())
                .string("id", moving.session.id.as_str())
                .string("cwdBefore", &moving.cwd_before)
                .string("cwdAfter", &moving.cwd_after.to_string_lossy());
            put_path(out, "original", moving.original.as_deref());
        })
    };
    object(|out| {
        put_string(out, "operation", moved.operation.as_deref());
        put_list(out, "sessions", moved.sessions.iter().map(row));
    })
}

/// Deleted sessions: `{operation?, sessions: [{path, id, size, trashed?, permanent?}]}`.
pub fn deleted(deleted: &Deleted) -> Json {
    let row = |DeletedSession { session, size, to, is_on_remote }: &DeletedSession| {
        object(|out| {
            out.string("path", &session.path.to_string_lossy()).string("id", session.id.as_str());
            out.integer("size", saturating_i64(*size));
            match to {
                Some(TrashedTo::Trash(slot)) => {
                    out.string("trashed", &slot.file.to_string_lossy());
                }
                Some(TrashedTo::Deleted) => {
                    out.bool("permanent", true);
                }
                Some(TrashedTo::Program) | None => {}
            }
            if *is_on_remote {
                out.bool("everywhere", true);
            }
        })
    };
    object(|out| {
        put_string(out, "operation", deleted.operation.as_deref());
        put_list(out, "sessions", deleted.sessions.iter().map(row));
    })
}

/// The answer of `delete_session`: `{trashed}`, the path in the trash; true if the trash program took it, false if it
/// was deleted permanently.
pub fn trashed(to: Option<&TrashedTo>) -> Json {
    object(|out| {
        match to {
            Some(TrashedTo::Trash(slot)) => out.string("trashed", &slot.file.to_string_lossy()),
            Some(TrashedTo::Program) => out.bool("trashed", true),
            Some(TrashedTo::Deleted) | None => out.bool("trashed", false),
        };
    })
}

/// A slimmed session:
/// `{original: {path, id, size}, path?, id?, size, saved, images, outputs, custom, operation?, trashed?}`; images,
/// outputs and custom are `{count, bytes}`.
pub fn slimmed(slimmed: &Slimmed) -> Json {
    let original = object(|out| {
        out.string("path", &slimmed.original.path.to_string_lossy())
            .string("id", slimmed.original.id.as_str())
            .integer("size", saturating_i64(slimmed.size));
    });
    object(|out| {
        out.raw("original", original.raw());
        if let Some(SessionLocation { path, id }) = &slimmed.session {
            out.string("path", &path.to_string_lossy()).string("id", id.as_str());
        }
        out.integer("size", saturating_i64(slimmed.new_size)).integer("saved", saturating_i64(slimmed.saved()));
        let removed = slimmed.removed;
        for (key, (number, bytes)) in
            [("images", removed.images), ("outputs", removed.outputs), ("custom", removed.custom)]
        {
            let part = object(|out| {
                out.integer("count", saturating_i64(number)).integer("bytes", saturating_i64(bytes));
            });
            out.raw(key, part.raw());
        }
        put_string(out, "operation", slimmed.operation.as_deref());
        if let Some(TrashedTo::Trash(slot)) = &slimmed.trashed {
            out.string("trashed", &slot.file.to_string_lossy());
        }
    })
}

/// An imported session file: `{from, path, id, oldId?, size}`.
pub fn imported(imported: &Imported) -> Json {
    object(|out| {
        out.string("from", &imported.from.to_string_lossy())
            .string("path", &imported.path.to_string_lossy())
            .string("id", imported.id.as_str());
        put_string(out, "oldId", imported.old_id.as_ref().map(SessionId::as_str));
        out.integer("size", saturating_i64(imported.size));
    })
}

/// A file that was upgraded to the current version: `{path, from, to, original?}`. `from` is its former version.
pub fn migrated(path: &Path, from: &str, original: Option<&Path>) -> Json {
    object(|out| {
        out.string("path", &path.to_string_lossy()).string("from", from).integer("to", 3);
        put_path(out, "original", original);
    })
}
