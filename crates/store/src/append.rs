//! Writes whole lines with one call and checks the result.

use std::io;
use std::path::Path;

use crate::error::StoreError;
use crate::log::Appended;
use crate::log_name::LogName;
use crate::os::OsFile;
use crate::planted::{self, Bug};

/// How often lines are written again because they were glued to a torn line.
const MAX_ATTEMPTS: usize = 16;

/// The end of a file as it was seen before a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedEnd {
    /// The length at that time, if the last byte was read.
    pub(crate) length: Option<u64>,
    /// Whether that byte ended a line.
    pub(crate) is_sealed: bool,
}

/// Appends lines and makes sure that they were not glued to a torn line.
///
/// `observed` says whether the file ended with a newline. If another program dies in the middle of a line between that
/// check and this write, its torn line and our first line become one broken line. So this function reads the byte
/// before our lines and writes them again if it is not a newline. This also protects against programs that take no
/// lock. Lines written exactly at the length that was seen follow the newline that was seen there, so they need no
/// check.
pub(crate) fn append_lines(
    file: &dyn OsFile,
    path: &Path,
    lines: &[u8],
    observed: ObservedEnd,
) -> Result<Appended, StoreError> {
    let mut is_sealed = observed.is_sealed;
    for _ in 0..MAX_ATTEMPTS {
        if is_sealed {
            write_once(file, lines, path)?;
        } else {
            write_once(file, &[b"\n", lines].concat(), path)?;
        }
        // After an append, the file position shows where the bytes really went.
        let end = file.position().map_err(StoreError::io("access", path))?;
        let offset = end.saturating_sub(lines.len() as u64);
        let is_checked = !is_sealed || observed.length == Some(offset);
        let is_verifying = !planted::has(Bug::NoPostCheck) && !planted::has(Bug::NoSeal);
        if is_checked || !is_verifying || !is_glued(file, path, offset)? {
            return Ok(Appended { offset, end });
        }
        is_sealed = false;
    }
    Err(StoreError::Rewritten { log: LogName::file(path) })
}

/// Whether the byte before a written line belongs to another, unfinished line.
fn is_glued(file: &dyn OsFile, path: &Path, offset: u64) -> Result<bool, StoreError> {
    let Some(before) = offset.checked_sub(1) else { return Ok(false) };
    let mut byte = [b'\n'];
    loop {
        return match file.read_at(&mut byte, before) {
            // No byte means that the file has been truncated since; the guard has the line then.
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
    // This seal is a courtesy to other writers; the next append checks the end itself.
    let source = match file.append(b"\n") {
        Err(error) => error,
        // Only the newline was missing: the seal has completed the line.
        Ok(1) if written + 1 == text.len() => return Ok(()),
        Ok(_) => io::ErrorKind::WriteZero.into(),
    };
    Err(StoreError::ShortWrite { path: path.to_path_buf(), written, wanted: text.len(), source })
}
