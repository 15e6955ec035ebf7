//! One write of whole lines, and the look at what came of it.

use std::io;
use std::path::Path;

use crate::error::StoreError;
use crate::log::Appended;
use crate::os::OsFile;
use crate::planted::{self, Bug};

/// How often lines are written again because something was glued to them.
const MAX_ATTEMPTS: usize = 16;

/// What was seen of the end of a file before it is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Where it was, if its last byte was looked at.
    pub(crate) length: Option<u64>,
    /// Whether that byte ended a line.
    pub(crate) is_sealed: bool,
}

/// Writes lines behind the last one, and makes sure that nothing was glued to them.
///
/// `seen` says whether the file was seen to end with a newline. If another
/// program dies in the middle of a line between that look and this write, its
/// torn line and our first one become a single broken line; so the byte before
/// ours is looked at, and if it is no newline ours is written once more. That
/// works against programs that take no lock. Lines that went exactly where the
/// file was seen to end follow the newline that was seen there.
pub(crate) fn append_lines(file: &dyn OsFile, path: &Path, lines: &[u8], seen: Seen) -> Result<Appended, StoreError> {
    let mut is_sealed = seen.is_sealed;
    for _ in 0..MAX_ATTEMPTS {
        if is_sealed {
            write_once(file, lines, path)?;
        } else {
            write_once(file, &[b"\n", lines].concat(), path)?;
        }
        // The position after a write at the end tells where the bytes really went.
        let end = file.position().map_err(StoreError::io("look at", path))?;
        let offset = end.saturating_sub(lines.len() as u64);
        let is_checked = !is_sealed || seen.length == Some(offset);
        let looks = !planted::has(Bug::NoPostCheck) && !planted::has(Bug::NoSeal);
        if is_checked || !looks || !is_glued(file, path, offset)? {
            return Ok(Appended { offset, end });
        }
        is_sealed = false;
    }
    Err(StoreError::Rewritten { path: path.to_path_buf() })
}

/// Whether the byte before a written line belongs to another, unfinished one.
fn is_glued(file: &dyn OsFile, path: &Path, offset: u64) -> Result<bool, StoreError> {
    let Some(before) = offset.checked_sub(1) else { return Ok(false) };
    let mut byte = [b'\n'];
    loop {
        return match file.read_at(&mut byte, before) {
            // Nothing there at all means that the file was cut since; the guard has the line then.
            Ok(_) => Ok(byte != [b'\n']),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(StoreError::io("read", path)(error)),
        };
    }
}

/// Writes all bytes with a single call, so that a reader sees whole lines or a torn end, never a mixture.
fn write_once(file: &dyn OsFile, text: &[u8], path: &Path) -> Result<(), StoreError> {
    let written = loop {
        match file.append(text) {
            Ok(written) => break written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StoreError::io("append to", path)(error)),
        }
    };
    if written == text.len() || planted::has(Bug::ShortWriteCounts) {
        return Ok(());
    }
    // The seal is a courtesy to other writers; the next append looks for itself.
    let source = match file.append(b"\n") {
        Err(error) => error,
        // All that was missing was the newline: the seal has completed the line, so it is written.
        Ok(1) if written + 1 == text.len() => return Ok(()),
        Ok(_) => io::ErrorKind::WriteZero.into(),
    };
    Err(StoreError::ShortWrite { path: path.to_path_buf(), written, wanted: text.len(), source })
}
