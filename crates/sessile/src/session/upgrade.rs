//! Upgrading an old file to the current version, and copying lines.

use std::io::Write;
use std::path::Path;

use sessile_core::date::to_iso;
use sessile_core::head::Kind;
use sessile_core::line::Line;
use sessile_core::outline::Row;
use sessile_store::os::{Mode, OsFile};
use sessile_store::{Prepared, StoreError, Turn, prepare_copy, prepare_file, replace};

use super::read_outline::save_outline;
use super::{Backing, Session};
use crate::error::SessionError;
use crate::operations::{OperationKind, SessionLocation, rewriting};
use crate::world::World;

/// Receives a line, with its row if it has one.
type OnLine<'f> = dyn FnMut(Option<Row>, Line<'_>) -> Result<(), SessionError> + 'f;

impl Session {
    /// Upgrades a file of version 1 or 2 to the current version before the first write.
    pub(super) fn upgrade_file(&mut self, world: &World) -> Result<(), SessionError> {
        if !self.backing.is_stored() || !self.outline.upgrade().is_needed() {
            return Ok(());
        }
        let turn = self.begin_turn()?;
        let upgraded = match turn {
            Turn::Ours => self.upgrade_in_turn(world),
            // Never swap a file while another program may be writing to it.
            Turn::Unlocked => Err(StoreError::Busy { log: self.backing.name(), holder: None }.into()),
        };
        // The log may have been reopened since the turn began; ending a turn that was not begun does nothing.
        self.end_turn();
        upgraded
    }

    fn upgrade_in_turn(&mut self, world: &World) -> Result<(), SessionError> {
        let log = self.backing.log();
        let Some(path) = log.local_path() else { return Err(SessionError::OldVersion { log: log.name() }) };
        let path = path.to_path_buf();
        let header = self.outline.header().map(|row| self.outline.span(row));
        let is_unchanged = header.is_some_and(|span| log.read(span).is_ok_and(|line| line == self.header_line));
        if !is_unchanged || matches!(log.length(), Err(StoreError::Replaced { .. })) {
            // Another process has upgraded the file, so all known offsets are wrong.
            self.reload(world, &path)?;
            return self.upgrade_file(world);
        }
        self.catch_up(world)?;
        let log = self.backing.log();
        let stamp = to_iso(world.environment().now_ms()).replace([':', '.'], "-");
        let known = self.outline.end();
        let location = SessionLocation { path: path.clone(), id: self.header.id() };
        let replaced = rewriting(
            world,
            world.recorded_as.filter(|kind| *kind == OperationKind::Migrate),
            location,
            &stamp,
            || {
                replace(&world.os, &path, known, &stamp, &mut |out| {
                    self.write_lines(&path, out, &|_| true)?;
                    // Another program may have rewritten the file while it was being copied.
                    log.length().map(drop).map_err(SessionError::from)
                })
            },
        );
        // Even after an error the new file may be in place. If it is, continue with it.
        if replaced.is_ok() || matches!(log.length(), Err(StoreError::Replaced { .. })) {
            self.reload(world, &path)?;
        }
        self.retained.original = Some(replaced?.original);
        Ok(())
    }

    /// Opens the file again after an upgrade, with the leaf where it was.
    ///
    /// An upgrade keeps entries and their order, so row numbers stay valid.
    fn reload(&mut self, world: &World, path: &Path) -> Result<(), SessionError> {
        let reloaded = Self::open_for_writing(world, path)?;
        let is_same = reloaded.header.id() == self.header.id()
            && reloaded.outline.rows().len() >= self.outline.rows().len()
            && self.outline.rows().all(|row| self.outline.kind(row) == reloaded.outline.kind(row));
        if !is_same {
            return Err(StoreError::Replaced { log: self.backing.name() }.into());
        }
        let n_known = self.outline.n_entries();
        self.continue_with(reloaded, self.leaf);
        self.arrived(world, |session| session.ids_from(n_known), false);
        Ok(())
    }

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
