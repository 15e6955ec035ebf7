//! Removes text from the files beside a session that hold copies of its lines.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::error::StoreError;
use crate::guard::{Guard, guard_path, peek};
use crate::os::{FileKind, Os};
use crate::publish::{create_temporary, sync_parent, write_buffered};

/// Passes a line without its newline through, or returns what replaces it.
pub type RewriteLine<'r, E> = dyn for<'l> FnMut(&'l [u8]) -> Result<Cow<'l, [u8]>, E> + 'r;

/// Passes every line in the guard of a session through `rewrite`, and raises the generation. Returns the number of
/// changed lines.
///
/// The caller holds the turn of the session's log. The guard becomes a new file, so that bytes of dropped and torn
/// records go too. Other processes of ours notice that and read the session again.
pub fn rewrite_guard<E: From<StoreError>>(
    os: &Arc<dyn Os>,
    session: &Path,
    rewrite: &mut RewriteLine<'_, E>,
) -> Result<usize, E> {
    let path = guard_path(session);
    if is_missing(os.as_ref(), &path) {
        // Left by a process that died while it replaced the guard.
        return remove_if_there(os.as_ref(), &path.with_extension("sessile-guard-new")).map(|()| 0).map_err(E::from);
    }
    let mut guard = Guard::open(os, session)?;
    let identity = os.stat(session).map_err(StoreError::io("access", session))?.identity;
    let mut records = guard.records()?;
    let mut n_changed = 0;
    for record in &mut records {
        let (lines, n_here) = rewritten(&record.lines, rewrite)?;
        n_changed += n_here;
        if n_here > 0 {
            record.lines = lines;
            // The process that looks for the lines determines their new place.
            (record.written_at.identity, record.written_at.offset) = (identity, u64::MAX);
        }
    }
    guard.replace(guard.generation() + 1, &records)?;
    sync_parent(os.as_ref(), &path)?;
    Ok(n_changed)
}

/// Passes every line in the guard of a session through `rewrite`, and changes nothing. Returns the number of lines that
/// would change.
pub fn examine_guard<E: From<StoreError>>(
    os: &Arc<dyn Os>,
    session: &Path,
    rewrite: &mut RewriteLine<'_, E>,
) -> Result<usize, E> {
    let mut n_changed = 0;
    for record in peek(os.as_ref(), session)? {
        n_changed += rewritten(&record.lines, rewrite)?.1;
    }
    Ok(n_changed)
}

/// Lines after `rewrite`, and the number of those that it changed.
fn rewritten<E>(lines: &[u8], rewrite: &mut RewriteLine<'_, E>) -> Result<(Vec<u8>, usize), E> {
    let mut new_lines = Vec::with_capacity(lines.len());
    let mut n_changed = 0;
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let new = rewrite(text)?;
        n_changed += usize::from(*new != *text);
        new_lines.extend_from_slice(&new);
        new_lines.extend_from_slice(&line[text.len()..]);
    }
    Ok((new_lines, n_changed))
}

/// Removes a file for good: its name is gone from the disk once this returns. It may be missing.
pub fn remove_if_there(os: &dyn Os, path: &Path) -> Result<(), StoreError> {
    match os.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => {
            removed.map_err(StoreError::io("remove", path))?;
            sync_parent(os, path)
        }
    }
}

/// Lets `write` fill a new file of mode 0600 that then atomically replaces another one, which must exist. The new
/// content is on disk once this returns, and the file keeps its modification time.
///
/// For logs of operations, and for copies of sessions that no program writes to; never for sessions.
pub fn replace_durably<E: From<StoreError>>(
    os: &dyn Os,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let stat = os.link_stat(path).map_err(StoreError::io("access", path))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
    }
    let (temporary, file) = create_temporary(os, path)?;
    let replaced = write_buffered(file.as_ref(), &temporary, write).and_then(|()| {
        drop(os.set_modified(&temporary, stat.modified_ms));
        file.sync_all().map_err(StoreError::io("sync", &temporary))?;
        Ok(os.rename(&temporary, path).map_err(StoreError::io("replace", path))?)
    });
    replaced.inspect_err(|_| drop(os.remove(&temporary)))?;
    Ok(sync_parent(os, path)?)
}

fn is_missing(os: &dyn Os, path: &Path) -> bool {
    os.link_stat(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
