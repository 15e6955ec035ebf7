//! Copying the lines of a session, in the current version's form.

use std::io::Write;
use std::path::Path;

use sessile_core::head::Kind;
use sessile_core::line::Line;
use sessile_core::outline::Row;
use sessile_store::os::{Mode, OsFile};
use sessile_store::{Prepared, StoreError, prepare_copy, prepare_file};

use super::read_outline::save_outline;
use super::{Backing, Session};
use crate::error::SessionError;
use crate::world::World;

/// Receives a line, with its row if it has one.
type OnLine<'f> = dyn FnMut(Option<Row>, Line<'_>) -> Result<(), SessionError> + 'f;

impl Session {
    /// The same session, upgraded and only in memory.
    pub(crate) fn into_memory(self, world: &World) -> Result<Self, SessionError> {
        let mut bytes = Vec::new();
        self.write_lines(Path::new("(memory)"), &mut bytes, &|_| true)?;
        Self::from_bytes(world, bytes, Backing::memory)
    }

    /// Creates a new file from a header line and everything after this session's own header.
    ///
    /// If nothing has to change, the bytes are copied without being parsed, and
    /// the outline of the new file is already known.
    pub(crate) fn copy_after_header<'w>(
        &self,
        world: &'w World,
        header: &[u8],
        path: &Path,
    ) -> Result<Prepared<'w>, SessionError> {
        if let Some((body, file)) = self.outline.body().zip(self.opened_file(world)) {
            return Ok(prepare_copy(world.os(), path, world.is_on_disk(), header, file.as_ref(), body)?);
        }
        prepare_file(world.os(), path, world.is_on_disk(), &mut |out| {
            let failed = |source| StoreError::io_at("write", path, source);
            out.write_all(header).map_err(failed)?;
            self.write_lines(path, out, &|row| self.outline.kind(row) != Kind::Header)
        })
    }

    /// Opens the session's file, if it has one and the log still reads that file.
    fn opened_file(&self, world: &World) -> Option<Box<dyn OsFile>> {
        let log = self.backing.log();
        let file = world.os().open(log.local_path()?, Mode::Read).ok()?;
        let revision = log.revision().ok().flatten()?;
        (file.stat().ok()?.revision().id == revision.id).then_some(file)
    }

    /// Saves the outline of a file that [`copy_after_header`](Self::copy_after_header) made, if it is known.
    pub(crate) fn save_copied_outline(&self, world: &World, header: &[u8], path: &Path) {
        // Do not save rows that were not compared with their lines.
        if self.outline.body().is_some()
            && self.doubted == 0
            && let Some(outline) = self.outline.after_header(header.trim_ascii_end())
        {
            save_outline(world, path, &outline);
        }
    }

    /// Writes every line: entries in the current version's form, everything else byte for byte.
    ///
    /// `keep` selects rows; lines that are not rows are always written.
    pub(crate) fn write_lines(
        &self,
        path: &Path,
        out: &mut dyn Write,
        keep: &dyn Fn(Row) -> bool,
    ) -> Result<(), SessionError> {
        self.write_changed(path, out, &mut |row, _| keep(row))
    }

    /// Like [`write_lines`](Self::write_lines), with each row changed by `change`; omits rows for which it returns
    /// false.
    pub(crate) fn write_changed(
        &self,
        path: &Path,
        out: &mut dyn Write,
        change: &mut dyn FnMut(Row, &mut Vec<u8>) -> bool,
    ) -> Result<(), SessionError> {
        let mut written = Vec::new();
        self.each_line(&mut |row, line| {
            written.clear();
            match (row, line.bytes) {
                (Some(row), Some(_)) => {
                    self.put_upgraded_line(row, line.without_bom().bytes.unwrap_or_default(), &mut written)?;
                    if !change(row, &mut written) {
                        return Ok(());
                    }
                }
                (_, Some(bytes)) => written.extend_from_slice(bytes),
                (_, None) => written = self.backing.log().read(line.span)?,
            }
            written.push(b'\n');
            Ok(out.write_all(&written).map_err(|source| StoreError::io_at("write", path, source))?)
        })
    }

    /// Passes every line of the outline to `on_line`, with its row if it has one.
    ///
    /// Lines added after the outline was made are not included.
    pub(crate) fn each_line(&self, on_line: &mut OnLine<'_>) -> Result<(), SessionError> {
        let mut rows = self.outline.rows().peekable();
        let mut result = Ok(());
        self.backing.log().scan(0, &mut |line| {
            if result.is_ok() && line.span.offset < self.outline.end() {
                let row = rows.next_if(|row| self.outline.span(*row).end() == line.span.end());
                result = on_line(row, line);
            }
        })?;
        result?;
        match rows.next() {
            Some(row) => Err(StoreError::Truncated {
                log: self.backing.name(),
                expected: self.outline.end(),
                actual: self.outline.span(row).offset,
            }
            .into()),
            None => Ok(()),
        }
    }
}
