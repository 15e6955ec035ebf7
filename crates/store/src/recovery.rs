//! Restores lines that another program has destroyed.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use sessile_core::head::{Kind, Parsed, read};
use sessile_core::line::Line;

use crate::append::{ObservedEnd, append_lines};
use crate::error::StoreError;
use crate::guard::{self, Guard, Moment, RESTORED_WITHIN_MS, Record, peek};
use crate::lines::scan_file;
use crate::log_name::LogName;
use crate::os::{Identity, Mode, Os, OsFile, Stat};
use crate::planted::{self, Bug};

/// A file that has not changed for this long is no longer being rewritten.
const QUIET_PERIOD: Duration = Duration::from_millis(250);
/// The interval between checks until then.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A header is searched for up to this offset only.
const MAX_HEADER_OFFSET: u64 = 64 << 10;
/// After this many checks, a file that keeps changing is recovered anyway.
const MAX_POLLS: u32 = 30;

/// Drops guarded lines that are safe or too old to be restored. True if other lines have vanished.
pub(crate) fn settle(guard: &mut Guard, session: &dyn OsFile, identity: Identity) -> Result<bool, StoreError> {
    if guard.len() == 0 {
        return Ok(false);
    }
    let mut records = guard.records()?;
    let (now, n_all) = (guard.now(), records.len());
    records.retain(|record| !record.is_expired(now));
    let has_expired = records.len() < n_all;
    if !records.iter().all(|record| record.is_in_place(session, identity)) {
        return Ok(true);
    }
    records.retain(|record| !record.is_due(now));
    guard.keep(&records, has_expired).map(|()| false)
}

/// Sets the owner of a guard to the session in the file.
///
/// If the session's header is itself guarded, the session is very young: it may have been started in a file that
/// another program had emptied only to rewrite it. Its entries then belong into the session that is being written, so
/// no owner is set.
pub(crate) fn claim(guard: &mut Guard, file: &dyn OsFile, path: &Path) -> Result<(), StoreError> {
    let Some(session) = session_in(file, path) else { return Ok(()) };
    let has_header = guard.records()?.iter().any(|record| lines_of(&record.lines).any(is_header));
    if has_header { Ok(()) } else { guard.set_owner(session) }
}

/// Waits until the program that rewrites a file seems to have finished.
pub(crate) fn wait_until_quiet(os: &dyn Os, path: &Path) {
    let observe =
        || os.stat(path).ok().map(|Stat { identity, length, modified_ms, .. }| (identity, length, modified_ms));
    let mut seen = observe();
    let mut still = Duration::ZERO;
    for _ in 0..MAX_POLLS {
        if still >= QUIET_PERIOD {
            return;
        }
        os.wait(POLL_INTERVAL);
        let now = observe();
        still = if now == seen { still + POLL_INTERVAL } else { Duration::ZERO };
        seen = now;
    }
}

/// Acknowledged lines that are no longer in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingLines {
    /// Lines that the next writing process of ours restores, oldest first.
    pub restorable: Vec<Vec<u8>>,
    /// Lines that it drops because they were acknowledged too long ago, oldest first.
    pub expired: Vec<Vec<u8>>,
}

/// Returns the acknowledged lines that are no longer in a session. Read-only.
pub fn missing_lines(os: &dyn Os, path: &Path) -> Result<MissingLines, StoreError> {
    let records = peek(os, path)?;
    let mut missing = MissingLines::default();
    if records.is_empty() {
        return Ok(missing);
    }
    let file = os.open(path, Mode::Read).map_err(StoreError::io("open", path))?;
    let guarded = Guarded::new(&records, Moment::now(os));
    let scan = FileScan::of_file(file.as_ref(), path, &guarded.lines)?;
    for index in scan.missing(&guarded.lines, false) {
        let is_expired = guarded.known_for_ms[index] > RESTORED_WITHIN_MS;
        let lines = if is_expired { &mut missing.expired } else { &mut missing.restorable };
        lines.push(guarded.lines[index].to_vec());
    }
    Ok(missing)
}

/// All guarded lines, oldest first, without their newlines.
struct Guarded<'r> {
    lines: Vec<&'r [u8]>,
    /// How long ago each line was acknowledged.
    known_for_ms: Vec<i64>,
}

impl<'r> Guarded<'r> {
    fn new(records: &'r [Record], now: Moment) -> Self {
        let mut guarded = Self { lines: Vec::new(), known_for_ms: Vec::new() };
        for record in records {
            guarded.lines.extend(lines_of(&record.lines));
            guarded.known_for_ms.resize(guarded.lines.len(), record.acknowledged_ms_ago(now));
        }
        guarded
    }
}

/// Appends the guarded lines that are no longer in the session, in their old order, and returns them.
///
/// Lines that were acknowledged too long ago are dropped from the guard instead. The last acknowledged line becomes the
/// last line of the file again, because pi continues there. A file that has content but no header is left alone: it is
/// no longer the session.
pub(crate) fn put_back(os: &dyn Os, path: &Path, guard: &mut Guard) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut records = guard.records()?;
    let now = guard.now();
    records.retain(|record| !record.is_expired(now));
    let file = os.open(path, Mode::Append).map_err(StoreError::io("open for writing", path))?;
    let stat = file.stat().map_err(StoreError::io("access", path))?;
    let Guarded { lines: guarded, known_for_ms } = Guarded::new(&records, now);
    let mut scan = FileScan::of_file(file.as_ref(), path, &guarded)?;
    let missing = scan.missing(&guarded, stat.length == 0);
    if !missing.is_empty() && !is_the_session(guard, &scan, &guarded, &missing) {
        return Err(StoreError::Replaced { log: LogName::file(path) });
    }
    let mut batch: Vec<usize> = missing.clone();
    if planted::has(Bug::RecoverBackwards) {
        batch.reverse();
    }
    let last = guarded.len().checked_sub(1);
    if let Some(last) = last.filter(|last| !missing.is_empty() && !missing.contains(last)) {
        batch.push(last);
    }
    if batch.is_empty() && !scan.ends_line && stat.length > 0 {
        // Only the last newline is missing.
        append_lines(file.as_ref(), path, b"", ObservedEnd { length: None, is_sealed: false })?;
    }
    if !batch.is_empty() {
        let text: Vec<u8> = batch.iter().flat_map(|index| [guarded[*index], b"\n"].concat()).collect();
        let mut offset = append_durably(file.as_ref(), path, &text, scan.ends_line)?;
        for index in batch {
            scan.found_lines[index] = Some(FoundLine { offset, line: guarded[index].to_vec() });
            offset += guarded[index].len() as u64 + 1;
        }
    }
    let kept = scan.records(&guarded, &known_for_ms, guard.now(), stat.identity);
    let lines = missing.iter().map(|index| guarded[*index].to_vec()).collect();
    guard.replace(guard.generation(), &kept)?;
    Ok(lines)
}

/// Whether a file is the session that the guarded lines belong to, or will be once its header is restored.
fn is_the_session(guard: &Guard, scan: &FileScan<'_>, guarded: &[&[u8]], missing: &[usize]) -> bool {
    match scan.session {
        Some(session) => guard.owner().is_none_or(|owner| owner == session),
        None => scan.is_empty && missing.first().is_some_and(|first| is_header(guarded[*first])),
    }
}

/// Appends lines that may have been acknowledged as on disk. Returns their offset.
fn append_durably(file: &dyn OsFile, path: &Path, text: &[u8], is_sealed: bool) -> Result<u64, StoreError> {
    let offset = append_lines(file, path, text, ObservedEnd { length: None, is_sealed })?.offset;
    if file.sync_data().is_ok() {
        return Ok(offset);
    }
    // Data covered by a failed sync may never reach the disk, so it is written again, not just synced again.
    let offset = append_lines(file, path, text, ObservedEnd { length: None, is_sealed: false })?.offset;
    file.sync_data().map_err(StoreError::io("sync", path))?;
    Ok(offset)
}

/// The guarded lines found in the file, and their offsets.
struct FileScan<'g> {
    by_bytes: HashMap<&'g [u8], usize>,
    by_id: HashMap<Vec<u8>, usize>,
    found_lines: Vec<Option<FoundLine>>,
    /// The owner of the first header in the file: see [`guard::owner_of`].
    session: Option<u64>,
    is_empty: bool,
    ends_line: bool,
}

/// Where a guarded line is, and its exact bytes there.
struct FoundLine {
    offset: u64,
    line: Vec<u8>,
}

impl<'g> FileScan<'g> {
    fn new(guarded: &[&'g [u8]]) -> Self {
        let by_bytes = guarded.iter().enumerate().map(|(index, line)| (*line, index)).collect();
        let with_id = |(index, line): (usize, &&[u8])| id_of(line).map(|id| (id, index));
        let by_id = guarded.iter().enumerate().filter_map(with_id).collect();
        Self {
            by_bytes,
            by_id,
            found_lines: guarded.iter().map(|_| None).collect(),
            session: None,
            is_empty: true,
            ends_line: true,
        }
    }

    /// Scans a whole file.
    fn of_file(file: &dyn OsFile, path: &Path, guarded: &[&'g [u8]]) -> Result<Self, StoreError> {
        let mut scan = Self::new(guarded);
        scan_file(file, path, 0, &mut |line| {
            scan.add(line);
            true
        })?;
        Ok(scan)
    }

    fn add(&mut self, line: Line<'_>) {
        self.ends_line = line.terminated;
        let line = line.without_bom();
        let Some(bytes) = line.bytes else { return };
        self.is_empty = false;
        if self.session.is_none() {
            self.session = session_of(bytes);
        }
        // A program that rewrote the file may have formatted the line differently; the id still identifies it.
        let index = (self.by_bytes.get(bytes).copied()).or_else(|| self.by_id.get(&id_of(bytes)?).copied());
        if let Some(index) = index {
            self.found_lines[index] = Some(FoundLine { offset: line.span.offset, line: bytes.to_vec() });
        }
    }

    /// Returns the guarded lines that are missing. A header counts only if the file is empty.
    fn missing(&self, guarded: &[&[u8]], is_empty: bool) -> Vec<usize> {
        let is_wanted = |index: &usize| self.found_lines[*index].is_none() && (is_empty || !is_header(guarded[*index]));
        // A line that was guarded twice is restored once: the map holds its last index.
        let is_last = |index: &usize| self.by_bytes.get(guarded[*index]) == Some(index);
        (0..guarded.len()).filter(|index| is_wanted(index) && is_last(index)).collect()
    }

    /// Returns the records to guard from now on.
    fn records(&self, guarded: &[&[u8]], known_for_ms: &[i64], moment: Moment, identity: Identity) -> Vec<Record> {
        let is_last = |index: &usize| self.by_bytes.get(guarded[*index]) == Some(index);
        let record = |index: usize| {
            let FoundLine { offset, line } = self.found_lines[index].as_ref()?;
            let known_for_ms = u32::try_from(known_for_ms[index]).unwrap_or(u32::MAX);
            let written_at = guard::WrittenAt { moment, known_for_ms, offset: *offset, identity };
            Some(Record { written_at, lines: [&line[..], b"\n"].concat() })
        };
        (0..guarded.len()).filter(is_last).filter_map(record).collect()
    }
}

/// Returns the lines of a record, without their newlines.
fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn id_of(line: &[u8]) -> Option<Vec<u8>> {
    match read(line) {
        Parsed::Value(head) if head.kind != Kind::Header => head.id.map(|id| id.as_wtf8().to_vec()),
        _ => None,
    }
}

/// Returns the session whose header this line is.
fn session_of(line: &[u8]) -> Option<u64> {
    match read(line) {
        Parsed::Value(head) if head.kind == Kind::Header => head.id.map(|id| guard::owner_of(id.as_wtf8())),
        _ => None,
    }
}

/// Returns the session in a file, if it begins with a header.
fn session_in(file: &dyn OsFile, path: &Path) -> Option<u64> {
    let mut session = None;
    let scanned = scan_file(file, path, 0, &mut |line| {
        session = line.without_bom().bytes.and_then(session_of);
        session.is_none() && line.span.offset < MAX_HEADER_OFFSET
    });
    scanned.ok().and(session)
}

fn is_header(line: &[u8]) -> bool {
    matches!(read(line), Parsed::Value(head) if head.kind == Kind::Header)
}
