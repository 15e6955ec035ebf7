//! The log of a session that also goes to a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::line::{Line, Span};
use sessile_core::outline::OutlinePart;
use sessile_store::{Appended, Durable, Expect, Log, LogName, Notice, Revision, StoreError, Ticket, Turn};

use super::fetcher::Fetcher;

/// A file whose appends are pushed to a server before they are acknowledged. If the server cannot take them now, they are
/// acknowledged as the file's, and the next synchronization pushes them.
pub(super) struct PushedLog {
    pub(super) file: Box<dyn Log>,
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) path: PathBuf,
}

impl Log for PushedLog {
    fn name(&self) -> LogName {
        self.file.name()
    }

    fn length(&self) -> Result<u64, StoreError> {
        self.file.length()
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        self.file.read(span)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        self.file.scan(from, on_line)
    }

    fn local_path(&self) -> Option<&Path> {
        self.file.local_path()
    }

    fn revision(&self) -> Result<Option<Revision>, StoreError> {
        self.file.revision()
    }

    fn after_hole(&self, bytes: &[u8], offset: u64) -> Result<u64, StoreError> {
        self.file.after_hole(bytes, offset)
    }

    fn scan_parts(&self, from: u64, on_part: &mut dyn FnMut(OutlinePart)) -> Result<(), StoreError> {
        self.file.scan_parts(from, on_part)
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        self.file.append(lines, expect)
    }

    fn can_append_blindly(&self) -> bool {
        self.file.can_append_blindly()
    }

    fn begin_turn(&mut self) -> Result<Turn, StoreError> {
        self.file.begin_turn()
    }

    fn end_turn(&mut self) {
        self.file.end_turn();
    }

    fn abandon_turn(&mut self) {
        self.file.abandon_turn();
    }

    fn ticket(&self) -> Option<Box<dyn Ticket>> {
        let (file, fetcher) = (self.file.ticket()?, Arc::clone(&self.fetcher));
        Some(Box::new(PushTicket { file, fetcher, path: self.path.clone() }))
    }

    fn n_synced(&self) -> u64 {
        self.file.n_synced()
    }

    fn durable(&self) -> Durable {
        self.file.durable()
    }

    fn make_durable(&mut self) -> Result<Durable, StoreError> {
        let durable = self.file.make_durable()?;
        Ok(self.fetcher.push(&self.path).unwrap_or(durable))
    }

    fn resume(&mut self) -> Result<bool, StoreError> {
        self.file.resume()
    }

    fn reread(&mut self) -> Result<(), StoreError> {
        self.file.reread()
    }

    fn recover(&mut self) -> Result<(), StoreError> {
        self.file.recover()
    }

    fn reseal_end(&mut self) {
        self.file.reseal_end();
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.file.take_notices()
    }
}

struct PushTicket {
    file: Box<dyn Ticket>,
    fetcher: Arc<Fetcher>,
    path: PathBuf,
}

impl std::fmt::Debug for PushTicket {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PushTicket").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Ticket for PushTicket {
    fn number(&self) -> u64 {
        self.file.number()
    }

    fn wait(self: Box<Self>) -> Result<Durable, StoreError> {
        let durable = self.file.wait()?;
        Ok(self.fetcher.push(&self.path).unwrap_or(durable))
    }
}
