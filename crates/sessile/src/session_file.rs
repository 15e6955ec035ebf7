//! The file of a session, for operations on it: its header, its lock, and appending the lines of another file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_core::head::{Parsed, read};
use sessile_core::header::Header;
use sessile_core::json::Raw;
use sessile_core::line::Span;
use sessile_store::os::{FileKind, Mode, Os, OsFile, read_upto};
use sessile_store::planted::{self, Bug};
use sessile_store::{Busy, Durability, Expect, FileLog, Log, Notice, StoreError, WriteOptions, read_head};

use crate::error::SessionError;
use crate::event::{EventContext, RecoveryReason, SessionEvent};
use crate::list::read_header;
use crate::record::SessionLocation;
use crate::session::entry_ids;
use crate::world::World;

/// How long an operation on a session, or opening it when it is idle, waits for its lock.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of further stray files or lines to handle that arrive in the meantime.
pub(crate) const MAX_STRAYS: usize = 8;

/// The header of a session as stored in its file, and its position.
pub(crate) fn header_of(world: &World, path: &Path) -> Result<(Header, Span), SessionError> {
    let stat = world.os().link_stat(path).map_err(|source| StoreError::io_at("access", path, source))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
    }
    let mut found = None;
    read_head(world.os(), path, &mut |line| {
        let line = line.without_bom();
        let Some(bytes) = line.bytes else { return true };
        match read(bytes) {
            Parsed::Value(head) => {
                let is_header = head.is_session_header();
                let header = is_header.then(|| Raw::parse(bytes).ok()).flatten();
                found = header.map(|header| (Header::new(header.to_json()), span_of(line.span, bytes, header)));
                false
            }
            _ => true,
        }
    })?;
    found.ok_or_else(|| SessionError::NotASession { path: path.to_path_buf() })
}

/// The span of a value on its line, without the surrounding whitespace.
fn span_of(line: Span, bytes: &[u8], value: Raw<'_>) -> Span {
    let before = bytes.len() - bytes.trim_ascii_start().len();
    Span { offset: line.offset + before as u64, len: value.as_bytes().len() as u64 }
}

/// Whether a path is a regular file.
pub(crate) fn is_there(os: &dyn Os, path: &Path) -> bool {
    os.link_stat(path).is_ok_and(|stat| stat.kind == FileKind::Regular)
}

/// Whether the session is at its place.
pub(crate) fn is_session(world: &World, session: &SessionLocation) -> bool {
    is_there(world.os(), &session.path)
        && header_of(world, &session.path).is_ok_and(|(header, _)| header.id() == session.id)
}

/// Takes the lock of a session that is about to be moved or deleted. First restores destroyed entries and reports that.
pub(crate) fn lock_session(world: &World, path: &Path) -> Result<FileLog, SessionError> {
    let writing = WriteOptions { busy: Busy::Fail(LOCK_TIMEOUT), ..world.writing };
    let mut log = FileLog::open(&world.os, path, writing)?;
    if log.resume()? {
        report_recovered(world, path, &log.take_notices());
    }
    if !planted::has(Bug::NoTurnInMove) {
        log.begin_turn()?;
    }
    Ok(log)
}

/// Notifies handlers that entries were restored before an operation on the session.
fn report_recovered(world: &World, path: &Path, notices: &[Notice]) {
    for notice in notices {
        let Notice::Recovered { lines } = notice else { continue };
        let context = EventContext {
            session_file: Some(path.to_path_buf()),
            session_id: read_header(world, path).map(|header| header.id()).unwrap_or_default(),
            cwd: world.environment().current_dir(),
            cancel: Cancel::default(),
        };
        let event = SessionEvent::Recovered { entry_ids: entry_ids(lines), reason: RecoveryReason::Missing };
        world.handlers.notify(&event, &context);
    }
}

/// Appends the lines of a file that a session lacks, in order and byte for byte. Returns their number.
///
/// A program that still has the file open may add a line, so this repeats until the file stops growing.
pub(crate) fn append_missing(world: &World, from: &Path, session: &Path) -> Result<usize, SessionError> {
    let source = world.os().open(from, Mode::Read).map_err(|error| StoreError::io_at("open", from, error))?;
    // The appended lines are synced below, so they need no guard file, which would be out of place in the trash.
    let writing =
        WriteOptions { busy: Busy::Fail(LOCK_TIMEOUT), guard: false, durability: Durability::Sync, ..world.writing };
    let mut log = FileLog::open(&world.os, session, writing)?;
    log.begin_turn()?;
    let mut n_appended = 0;
    let mut known = 0;
    for _ in 0..MAX_STRAYS {
        let length = source.stat().map_err(|error| StoreError::io_at("access", from, error))?.length;
        if length == known {
            break;
        }
        n_appended += append_new_lines(source.as_ref(), from, length, &mut log)?;
        known = length;
    }
    log.make_durable()?;
    log.end_turn();
    Ok(n_appended)
}

fn append_new_lines(source: &dyn OsFile, from: &Path, length: u64, log: &mut FileLog) -> Result<usize, SessionError> {
    let bytes = read_upto(source, 0, length).map_err(|error| StoreError::io_at("read", from, error))?;
    let mut wanted: HashSet<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    log.scan(0, &mut |line| {
        if let Some(line) = line.bytes {
            wanted.remove(line);
        }
    })?;
    let mut lines = Vec::new();
    let mut n_lines = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| wanted.remove(line)) {
        lines.extend_from_slice(line);
        lines.push(b'\n');
        n_lines += 1;
    }
    if n_lines > 0 {
        log.append(&lines, Expect::Anything)?;
    }
    Ok(n_lines)
}

/// A path with an ending after its whole name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}
