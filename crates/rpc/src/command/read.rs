//! Commands that read entries.

use sessile::SessionError;
use sessile::entry::Entry;
use sessile::json::{Json, Raw};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::failure::Failure;

pub(crate) fn get_branch(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let session = session.lock_fresh();
    let path = match call.entry("entryId") {
        None => session.branch_path()?,
        // An unknown entry has an empty path, as in pi.
        Some(id) if session.outline().find(&id).is_none() => Vec::new(),
        Some(id) => session.branch_path_to(&id)?,
    };
    answered(answer::entries(&path))
}

pub(crate) fn get_children(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let parent = call.entry("parentId");
    let session = session.lock_fresh();
    // Entries may name a parent that does not exist, and are its children, as in pi.
    let rows = session.outline().children(parent.as_ref());
    let children: Result<Vec<Entry>, SessionError> = session.entries_of(rows).map(|(_, entry)| entry).collect();
    answered(answer::entries(&children?))
}

pub(crate) fn get_entry(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let entry = session.lock_fresh().entry(call.required_entry("entryId")?)?;
    answered(answer::entry(entry.as_ref()))
}

pub(crate) fn get_label(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let label = session.lock_fresh().label(call.required_entry("entryId")?)?;
    answered(answer::label(label.as_deref()))
}

pub(crate) fn get_header(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let manager = session.lock_fresh();
    answered(answer::header(manager.header()))
}

/// Whether the requested leaf is before all entries.
fn is_before_all(call: &Call<'_>) -> bool {
    call.get("leafId").is_some_and(Raw::is_null)
}

pub(crate) fn build_session_context(call: &Call<'_>) -> CommandResult {
    if is_before_all(call) {
        return answered(answer::no_context());
    }
    let session = call.session()?;
    let manager = session.lock_fresh();
    let context = match call.entry("leafId") {
        Some(leaf) => manager.build_session_context_at(leaf)?,
        None => manager.build_session_context()?,
    };
    drop(manager);
    Ok(context.to_json().into())
}

pub(crate) fn build_context_entries(call: &Call<'_>) -> CommandResult {
    if is_before_all(call) {
        return answered(answer::entries(&[]));
    }
    let session = call.session()?;
    let manager = session.lock_fresh();
    let built = match call.entry("leafId") {
        Some(leaf) => manager.build_context_entries_at(leaf)?,
        None => manager.build_context_entries()?,
    };
    drop(manager);
    answered(answer::entries(&built))
}

/// Returns the JSON of an entry that must exist.
pub(super) fn existing(entry: Option<Entry>, id: &sessile::EntryId) -> Result<Json, Failure> {
    match entry {
        Some(entry) => Ok(entry.raw().to_json()),
        None => Err(SessionError::EntryNotFound { id: id.clone() }.into()),
    }
}
