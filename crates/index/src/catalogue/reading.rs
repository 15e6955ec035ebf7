//! Collects the list data of one file, reading as little of it as possible.

use std::cell::Cell;
use std::path::Path;

use sessile_core::date::LocalZone;
use sessile_core::info::{Collected, Info, InfoScan};
use sessile_core::line::Line;
use sessile_store::os::{Mode, Os, OsFile};
use sessile_store::{LineReader, StoreError};

use super::{NewRow, SavedRow};
use crate::mark::{Freshness, Mark};

/// What was collected from a file.
#[derive(Debug)]
pub struct Gathered {
    /// The row of a list; none if the file is not a session.
    pub info: Option<Info>,
    /// The row to save; none if it must not be saved.
    pub row: Option<NewRow>,
}

/// Reads files one after the other.
pub struct Gatherer<'g, Z> {
    os: &'g dyn Os,
    zone: Z,
    lines: LineReader,
}

impl<'g, Z: LocalZone> Gatherer<'g, Z> {
    /// Creates a reader with its own buffer: one for each thread.
    pub fn new(os: &'g dyn Os, zone: Z) -> Self {
        Self { os, zone, lines: LineReader::default() }
    }

    /// Reads a whole file and saves nothing; the simple counterpart of [`gather`](Self::gather).
    pub fn scan(&mut self, path: &Path, with_texts: bool) -> Result<Option<Info>, StoreError> {
        let file = self.open(path)?;
        let mut scan = if with_texts { InfoScan::with_texts() } else { InfoScan::default() };
        self.lines.read(file.as_ref(), path, 0, &mut |line| {
            scan.push(line, &self.zone);
            !scan.cannot_be_session()
        })?;
        Ok(scan.finish())
    }

    /// Reads what a row does not cover yet, which is everything if it belongs to another file.
    pub fn gather(&mut self, path: &Path, row: Option<SavedRow<'_>>) -> Result<Gathered, StoreError> {
        let file = self.open(path)?;
        // The metadata is read before the content, so that later writes are left for the next listing.
        let stat = file.stat().map_err(|error| StoreError::io_at("access", path, error))?;
        let trusted = row.and_then(|row| {
            let freshness = row.mark.freshness(file.as_ref(), &stat);
            (freshness != Freshness::Other).then_some((row, row.mark.is_doubtful(freshness)))
        });
        let known = trusted.and_then(|(row, doubt)| Some((row.collected()?, row.mark.end(), doubt)));
        let (collected, from, is_doubtful) = known.unwrap_or_default();
        let zone = RecordingZone::new(&self.zone);
        let mut covered = CoveredScan { scan: InfoScan::from(collected), end: from, before_last_line: None };
        if !covered.scan.cannot_be_session() {
            self.lines.read(file.as_ref(), path, from, &mut |line| covered.take(line, &zone))?;
        }
        let mark = Mark::of(file.as_ref(), &stat, covered.end, self.os.now_ms());
        let row = mark.filter(|_| !zone.was_used.get()).map(|mark| covered.row(mark.with_doubt(is_doubtful)));
        Ok(Gathered { info: covered.scan.finish(), row })
    }

    /// Whether a row matches the prefix that it covers. Reads the whole prefix. True if the row is stale anyway.
    pub(crate) fn is_correct(&mut self, path: &Path, row: SavedRow<'_>) -> Result<bool, StoreError> {
        let file = self.open(path)?;
        let stat = file.stat().map_err(|error| StoreError::io_at("access", path, error))?;
        if row.mark.freshness(file.as_ref(), &stat) == Freshness::Other {
            return Ok(true);
        }
        let mut covered = CoveredScan { scan: InfoScan::default(), end: 0, before_last_line: None };
        self.lines.read(file.as_ref(), path, 0, &mut |line| {
            let is_covered = line.terminated && line.span.end() < row.mark.end();
            is_covered && covered.take(line, &self.zone)
        })?;
        Ok(covered.row(row.mark).borrow().state == row.state)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn OsFile>, StoreError> {
        self.os.open(path, Mode::Read).map_err(|error| StoreError::io_at("open", path, error))
    }
}

/// A scan, and which part of it may be saved: whole lines, because another program may still be writing the last one.
struct CoveredScan {
    scan: InfoScan,
    /// The offset after the last line that has a newline.
    end: u64,
    /// What had been collected before a last line without newline; none if there was no such line.
    before_last_line: Option<Collected>,
}

impl CoveredScan {
    fn take(&mut self, line: Line<'_>, zone: &dyn LocalZone) -> bool {
        if line.terminated {
            self.end = line.span.end() + 1;
        } else {
            self.before_last_line = Some(self.scan.collected().clone());
        }
        self.scan.push(line, zone);
        !self.scan.cannot_be_session()
    }

    fn row(&self, mark: Mark) -> NewRow {
        NewRow::new(mark, self.before_last_line.as_ref().unwrap_or(self.scan.collected()))
    }
}

/// A time zone that records whether it was used: results that depend on it are valid only here, and are not saved.
struct RecordingZone<'z> {
    zone: &'z dyn LocalZone,
    was_used: Cell<bool>,
}

impl<'z> RecordingZone<'z> {
    fn new(zone: &'z dyn LocalZone) -> Self {
        Self { zone, was_used: Cell::new(false) }
    }
}

impl LocalZone for RecordingZone<'_> {
    fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
        self.was_used.set(true);
        self.zone.offset_ms_at_local(local_ms)
    }
}
