//! Texts in the log of operations: replaces those that were removed from a session.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use sessile_core::json::{Edit, Json, Raw};
use sessile_store::StoreError;
use sessile_store::os::{Lock, Mode, OsFile};

use super::log::{log_path, read_all, read_lines, swap_lines, write_line};
use super::running::process_of;
use crate::error::SessionError;
use crate::record::{OperationKind, OperationState, SessionLocation};
use crate::session_file::LOCK_TIMEOUT;
use crate::world::World;

/// The members of steps that hold text of a session.
const TEXTS: [&str; 4] = ["before", "after", "cwdBefore", "cwdAfter"];

/// The steps that have such members. In others, these members are ids and flags.
const STEPS: [&str; 3] = ["name", "label", "move"];

/// Which sessions are meant, by id and path.
pub(crate) type IsMeant<'m> = dyn Fn(&str, &Path) -> bool + 'm;

/// Returns a text, or what replaces it. The flag says whether it is a working directory.
pub(crate) type RewriteText<'r> = dyn for<'t> FnMut(&'t str, bool) -> Cow<'t, str> + 'r;

/// Passes the texts of some sessions in the log through `rewrite`, and replaces those that it changes if `applies`.
/// Returns the number of lines that change.
pub(crate) fn rewrite_texts(
    world: &World,
    is_meant: &IsMeant<'_>,
    applies: bool,
    rewrite: &mut RewriteText<'_>,
) -> Result<usize, SessionError> {
    let Some(path) = log_path(world) else { return Ok(0) };
    let file = match world.os().open(&path, if applies { Mode::Append } else { Mode::Read }) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        opened => opened.map_err(StoreError::io("open", &path))?,
    };
    if applies {
        lock(world, file.as_ref(), &path)?;
    }
    let length = file.stat().map_err(StoreError::io("access", &path))?.length;
    let mut lines = read_lines(world, &path, length)?;
    let mut n_changed = 0;
    for line in &mut lines {
        if let Some(new) = rewritten(line, is_meant, rewrite) {
            *line = new;
            n_changed += 1;
        }
    }
    if applies && n_changed > 0 {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        swap_lines(world, &path, file.as_ref(), length, &lines)?;
    }
    Ok(n_changed)
}

/// Waits until no other process replaces the log. Dropping the file releases the lock.
fn lock(world: &World, file: &dyn OsFile, path: &Path) -> Result<(), SessionError> {
    let pause = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !file.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", path))? {
        if waited >= LOCK_TIMEOUT {
            return Err(SessionError::OperationRunning { what: "a change of the log of operations".to_owned() });
        }
        world.os().wait(pause);
        waited += pause;
    }
    Ok(())
}

/// Returns a line with other texts; none if nothing changes.
fn rewritten(line: &[u8], is_meant: &IsMeant<'_>, rewrite: &mut RewriteText<'_>) -> Option<Vec<u8>> {
    let Ok(value) = Raw::parse(line) else {
        // A line that a crash cut off. Readers skip it.
        let text = String::from_utf8_lossy(line);
        let new = rewrite(&text, false);
        return (*new != *text).then(|| new.replace('\n', " ").into_bytes());
    };
    let step = value.get("does")?;
    let text = |key| step.get(key).and_then(Raw::as_string);
    let is_texts = text("step").is_some_and(|word| STEPS.contains(&word.as_str()));
    if !is_texts || !is_meant(&text("sessionId")?, Path::new(&text("path")?)) {
        return None;
    }
    let mut changes: Vec<(&str, Json)> = Vec::new();
    for key in TEXTS {
        let Some(old) = text(key) else { continue };
        let new = rewrite(&old, key.starts_with("cwd"));
        if *new != *old {
            changes.push((key, Json::string(&new)));
        }
    }
    let edits: Vec<Edit<'_>> = changes.iter().map(|(key, new)| Edit::Set(key, new.raw())).collect();
    if edits.is_empty() {
        return None;
    }
    let step = step.edited(&edits);
    Some(value.edited(&[Edit::Set("does", step.raw())]).into_bytes())
}

/// Whether a scrub of this session has begun and not ended.
pub(crate) fn has_unfinished_scrub(world: &World, session: &SessionLocation) -> Result<bool, SessionError> {
    Ok(!unfinished_scrubs(world, session)?.is_empty())
}

/// Logs that the scrubs of dead processes on this session are done: another one has finished their work.
pub(crate) fn finish_scrubs(world: &World, session: &SessionLocation) -> Result<(), SessionError> {
    let Some(path) = log_path(world) else { return Ok(()) };
    for operation in unfinished_scrubs(world, session)? {
        if process_of(world, &operation).is_none() {
            write_line(world, &path, &operation, &mut |line| {
                line.string("state", OperationState::Done.word());
            })?;
        }
    }
    Ok(())
}

/// The ids of the scrubs of a session that have not ended. A damaged session may have no id.
fn unfinished_scrubs(world: &World, session: &SessionLocation) -> Result<Vec<String>, SessionError> {
    let is_same =
        |other: &SessionLocation| other.path == session.path || (other.id == session.id && !session.id.is_empty());
    let mut operations = read_all(world)?;
    operations.retain(|operation| {
        operation.kind == OperationKind::Scrub
            && operation.state == OperationState::Unfinished
            && operation.steps.iter().any(|step| is_same(step.session()))
    });
    Ok(operations.into_iter().map(|operation| operation.id).collect())
}
