//! Reads the values of rows that are mostly close together, many per system call.

use memchr::memmem::Finder;
use sessile_core::context::{ReadContext, stored_message};
use sessile_core::json::{Json, Raw};
use sessile_core::line::Span;
use sessile_core::migrate::{upgrade_line, upgrade_value};
use sessile_core::outline::Row;

use super::Session;
use crate::error::SessionError;

/// The number of bytes to read ahead once rows turn out to be consecutive.
const READ_AHEAD: u64 = 128 << 10;

/// Rows count as consecutive if they are at most this many bytes apart.
const MAX_GAP: u64 = 8 << 10;

/// Reads rows one after the other, reading ahead of each.
///
/// Returns the same values as [`Session::value`], its simple counterpart: the
/// next row on a path usually is close, and one system call reads many.
pub(crate) struct Rows<'s> {
    session: &'s Session,
    buffer: Vec<u8>,
    start: u64,
    /// The end of the last row read.
    end: u64,
}

impl Session {
    /// Passes all bytes of the log to a sink, piece by piece, up to the end of the outline.
    pub(crate) fn copy_log<E: From<SessionError>>(
        &self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (log, end) = (self.backing.log(), self.outline.end());
        let mut offset = 0;
        while offset < end {
            let len = READ_AHEAD.min(end - offset);
            sink(&log.read(Span { offset, len }).map_err(SessionError::from)?)?;
            offset += len;
        }
        Ok(())
    }

    /// A reader of many rows.
    pub(crate) fn reading(&self) -> Rows<'_> {
        Rows { session: self, buffer: Vec::new(), start: 0, end: u64::MAX }
    }
}

impl Rows<'_> {
    /// The line of a row for a copy: byte for byte, unless it needs an upgrade.
    pub(crate) fn copied_line(&mut self, row: Row) -> Result<Vec<u8>, SessionError> {
        let session = self.session;
        let mut copied = Vec::new();
        session.put_upgraded_line(row, self.line(row)?, &mut copied)?;
        Ok(copied)
    }

    /// Whether a row's line contains some bytes. Does not parse the line.
    pub(crate) fn has(&mut self, row: Row, bytes: &Finder<'_>) -> Result<bool, SessionError> {
        Ok(bytes.find(self.line(row)?).is_some())
    }

    /// The line of a row as it is in the file. Fails if it does not match the row: a caller that does not parse the line
    /// would not notice that another program has rewritten the file.
    pub(crate) fn own_line(&mut self, row: Row) -> Result<&[u8], SessionError> {
        let session = self.session;
        let line = self.line(row)?;
        if session.outline.is_line_of(row, line) { Ok(line) } else { Err(session.stale(row)) }
    }

    /// The line of a row, checked against the row if the file was written by another program.
    fn line(&mut self, row: Row) -> Result<&[u8], SessionError> {
        self.session.check_current()?;
        let (span, n_before) = self.session.span_around(row);
        if span.offset < self.start || span.end() > self.start + self.buffer.len() as u64 {
            self.fetch(span)?;
        }
        self.end = span.end();
        let from = usize::try_from(span.offset - self.start).unwrap_or(usize::MAX);
        let len = usize::try_from(span.len).unwrap_or(usize::MAX);
        let around = self.buffer.get(from..).and_then(|rest| rest.get(..len)).unwrap_or_default();
        self.session.checked(row, around, n_before)
    }

    fn fetch(&mut self, span: Span) -> Result<(), SessionError> {
        let log = self.session.backing.log();
        let is_next = span.offset.checked_sub(self.end).is_some_and(|between| between <= MAX_GAP);
        let left = self.session.outline.end().saturating_sub(span.offset);
        let len = if is_next { span.len.max(READ_AHEAD.min(left)) } else { span.len };
        // If the end of the file is gone, the requested part may still be there.
        self.buffer = match log.read(Span { offset: span.offset, len }) {
            Err(_) if len > span.len => log.read(span)?,
            read => read?,
        };
        self.start = span.offset;
        Ok(())
    }
}

impl ReadContext<SessionError> for Rows<'_> {
    fn value(&mut self, row: Row) -> Result<Json, SessionError> {
        let session = self.session;
        let line = self.line(row)?;
        let value = session.parsed(row, line)?;
        if !session.outline.upgrade().is_needed() {
            return Ok(value.to_json());
        }
        upgrade_value(&session.outline, row, value, &mut |row| session.stored_value(row))
    }

    fn message(&mut self, row: Row) -> Result<Option<Json>, SessionError> {
        if self.session.outline.upgrade().is_needed() {
            return Ok(stored_message(self.value(row)?.raw().as_bytes()).unwrap_or_default());
        }
        let session = self.session;
        stored_message(self.line(row)?).map_err(|source| session.changed(row, source))
    }
}

impl Session {
    /// Appends a row's line to a copy: unchanged, unless it needs an upgrade.
    pub(crate) fn put_upgraded_line(&self, row: Row, line: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        if !self.outline.upgrade().is_needed() {
            out.extend_from_slice(line);
        } else if !upgrade_line(&self.outline, row, line, out) {
            let value: Raw<'_> = self.parsed(row, line)?;
            let upgraded = upgrade_value(&self.outline, row, value, &mut |row| self.stored_value(row))?;
            let is_changed = upgraded.raw().as_bytes() != value.as_bytes();
            out.extend_from_slice(if is_changed { upgraded.raw().as_bytes() } else { line });
        }
        Ok(())
    }
}
