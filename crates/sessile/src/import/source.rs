//! A foreign session file, read in two passes. It is opened read-only and never locked.

use std::path::{Path, PathBuf};

use sessile_agents::{ForeignSession, Place, Reader, SourceLine};
use sessile_store::os::{Mode, OsFile, read_upto};
use sessile_store::{LineReader, StoreError};
use sha2::{Digest, Sha256};

use crate::error::SessionError;
use crate::world::World;

/// How much is read at a time in the second pass.
const WINDOW: u64 = 256 << 10;

/// An open source.
pub(super) struct Source {
    path: PathBuf,
    file: Box<dyn OsFile>,
    window: Vec<u8>,
    window_offset: u64,
}

/// What the first pass found.
pub(super) struct Survey {
    /// The session, and the sub-agents in the same file.
    pub(super) sessions: Vec<ForeignSession>,
    /// The SHA-256 of the lines.
    pub(super) sha256: String,
}

impl Source {
    pub(super) fn open(world: &World, path: &Path) -> Result<Self, SessionError> {
        let file = world.os().open(path, Mode::Read).map_err(|source| StoreError::io_at("open", path, source))?;
        Ok(Self { path: path.to_path_buf(), file, window: Vec::new(), window_offset: 0 })
    }

    /// Reads all whole lines. An unfinished last line is left for the next time.
    pub(super) fn survey(&self, mut reader: Reader) -> Result<Survey, SessionError> {
        let failed = |source| StoreError::io_at("read", &self.path, source);
        let length = self.file.stat().map_err(failed)?.length;
        let mut hash = Sha256::new();
        let mut number = 0;
        let mut on_line = |line: sessile_core::line::Line<'_>| {
            if !line.terminated {
                return false;
            }
            number += 1;
            if let Some(bytes) = line.bytes {
                hash.update(bytes);
            }
            hash.update(b"\n");
            let line = line.without_bom();
            let place = Place { file: 0, offset: line.span.offset, len: line.span.len };
            reader.line(SourceLine { place, number, bytes: line.bytes });
            true
        };
        LineReader::default().read_range(self.file.as_ref(), 0..length, &mut on_line).map_err(failed)?;
        let sha256 = format!("{:x}", hash.finalize());
        Ok(Survey { sessions: reader.finish(), sha256 })
    }

    /// Reads a place into a buffer.
    pub(super) fn read(&mut self, place: Place, into: &mut Vec<u8>) -> Result<(), SessionError> {
        let end = place.offset + place.len;
        let window_end = self.window_offset + self.window.len() as u64;
        if place.offset < self.window_offset || end > window_end {
            let read = read_upto(self.file.as_ref(), place.offset, place.len.max(WINDOW));
            self.window = read.map_err(|source| StoreError::io_at("read", &self.path, source))?;
            self.window_offset = place.offset;
        }
        let from = usize::try_from(place.offset - self.window_offset).unwrap_or(usize::MAX);
        let to = usize::try_from(end - self.window_offset).unwrap_or(usize::MAX);
        let Some(bytes) = self.window.get(from..to) else {
            // Sources only grow; this one was cut.
            let error = std::io::ErrorKind::UnexpectedEof.into();
            return Err(StoreError::io_at("read", &self.path, error).into());
        };
        into.extend_from_slice(bytes);
        Ok(())
    }
}
