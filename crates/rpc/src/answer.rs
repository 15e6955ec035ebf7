//! The JSON of answers: the data that RPC commands return, and what the command line prints with `--json`.
//!
//! The library returns typed values. Each function here writes the shape of one of them, and every front end calls it,
//! so each shape is in one place. The [`catalogue`](crate::catalogue) describes the shapes of RPC, and a test compares
//! the two. JSON that is stored (session entries, the log of operations, settings) and the events that hooks receive
//! belong to the library.
//!
//! Absent values are omitted unless a function says otherwise. Times are ISO 8601 strings in UTC.

mod agents;
mod author;
mod build;
mod caches;
mod compaction;
mod compare;
mod disk;
mod entries;
mod family;
mod list;
mod merge;
mod operations;
mod search;
mod secrets;
mod session;
mod settings;
mod state;
mod stats;
mod sync;
mod title;
mod tree;
mod verify;

use std::path::Path;

use sessile::EntryId;
use sessile::json::{Json, ObjectWriter};

pub use agents::{agent_export, foreign_session, imported_session};
pub use author::attributed_entry;
pub use build::{BuildFacts, build};
pub use caches::{cache_status, checked_caches, cleaned, cleared_caches};
pub use compaction::{
    compacted, compaction_report, context_usage, nothing_to_compact, planned_compaction, preparation,
};
pub use compare::comparison;
pub use disk::{disk_use, disk_uses};
pub use entries::{
    appended, context_edited, entries, entries_and_leaf, entry, entry_label, header, label, labelled_entry,
    last_answer, messages, no_context, written,
};
pub use family::{family, lone_family};
pub use list::{damaged_file, session_details, session_info, session_user, sessions};
pub use merge::merged;
pub use operations::{
    annotated, deleted, imported, in_trash, migrated, moved, operation, pruned, restored, slimmed, step, trashed,
    undone,
};
pub use search::{search_hit, search_result};
pub use secrets::{own_secret_rule, redacted_copy, scan_report, secret_finding, secret_rule, secret_scrub};
pub use session::{
    branched, cancelled, cloned, exported, fork_messages, fork_written, forked, leaf, listening, name, navigated,
    new_preview, nothing, restored_path, serving, started, subscribed,
};
pub use settings::{edited_setting, setting, setting_value};
pub(crate) use state::{CachedState, state};
pub use state::{ModelFacts, model, models, no_commands, no_queues, thinking_level, thinking_levels};
pub use stats::{session_stats, session_totals, stats};
pub use sync::{Granted, audit_record, configured_remote, granted, member, project, remote_status, share, synced};
pub use title::titled;
pub use tree::{tree_and_leaf, tree_row, write_tree};
pub use verify::{findings, repair, report, unreadable_report, verified_log};

/// A number as JSON has it; a larger one becomes the largest.
fn saturating_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Adds an array of values.
fn put_list(out: &mut ObjectWriter, key: &str, values: impl IntoIterator<Item = Json>) {
    let values: Vec<Json> = values.into_iter().collect();
    out.array(key, values.iter().map(Json::raw));
}

fn put_path(out: &mut ObjectWriter, key: &str, path: Option<&Path>) {
    if let Some(path) = path {
        out.string(key, &path.to_string_lossy());
    }
}

fn put_string(out: &mut ObjectWriter, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.string(key, text);
    }
}

fn put_id(out: &mut ObjectWriter, key: &str, id: Option<&EntryId>) {
    if let Some(id) = id {
        out.text(key, id.as_text());
    }
}

/// Adds an id; null for none.
pub(crate) fn put_id_or_null(out: &mut ObjectWriter, key: &str, id: Option<&EntryId>) {
    match id {
        Some(id) => out.text(key, id.as_text()),
        None => out.null(key),
    };
}

/// Writes an object.
fn object(write: impl FnOnce(&mut ObjectWriter)) -> Json {
    let mut out = ObjectWriter::new();
    write(&mut out);
    out.finish()
}
