//! Reading the files of a foreign session, twice: once from the beginning to the end, then by place.

use std::path::PathBuf;

use sessile_agents::{Damage, ForeignSession, Place, Reader, SourceLine};
use sessile_core::line::{BOM, LINE_CAP};
use sessile_store::os::{OsFile, read_upto};
use sessile_store::{LineReader, StoreError};
use sha2::{Digest, Sha256};

use super::blobs::Blobs;
use super::packed::{self, Fault};
use super::stores::{ForeignFile, Part, parts_of};
use crate::error::SessionError;
use crate::world::World;

/// How much is read at a time in the second pass.
const WINDOW: u64 = 256 << 10;

/// A source: one file, or several that belong together.
pub(super) struct Source<'w> {
    world: &'w World,
    parts: Vec<Part>,
    /// The file that is open, and its number.
    open: Option<(u32, Box<dyn OsFile>)>,
    window: Vec<u8>,
    window_offset: u64,
    /// The images of the session that are in other files.
    blobs: Blobs,
}

/// What the first pass found.
pub(super) struct Survey {
    /// The session, and the sub-agents in the same file.
    pub(super) sessions: Vec<ForeignSession>,
    /// The SHA-256 of the lines.
    pub(super) sha256: String,
}

impl<'w> Source<'w> {
    pub(super) fn of(world: &'w World, file: &ForeignFile) -> Self {
        let (parts, blobs) = (parts_of(world, file), Blobs::default());
        Self { world, parts, open: None, window: Vec::new(), window_offset: 0, blobs }
    }

    /// The path of the file with a number.
    pub(super) fn path(&self, file: u32) -> PathBuf {
        self.parts.get(file as usize).map(|part| part.path.clone()).unwrap_or_default()
    }

    fn open(&mut self, number: u32) -> Result<&dyn OsFile, SessionError> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            let path = self.path(number);
            let file = packed::open(self.world.os(), &path);
            let file = file.map_err(|source| StoreError::io_at("open", &path, source))?;
            self.window.clear();
            self.open = Some((number, file));
        }
        match &self.open {
            Some((_, file)) => Ok(file.as_ref()),
            None => Err(StoreError::io_at("open", &self.path(number), std::io::ErrorKind::NotFound.into()).into()),
        }
    }

    /// Reads everything. An unfinished last line is left for the next time.
    pub(super) fn survey(&mut self, mut reader: Reader) -> Result<Survey, SessionError> {
        let mut hash = Sha256::new();
        for (number, part) in (0..).zip(self.parts.clone()) {
            let file = self.open(number)?;
            let read = if part.is_document {
                document(file, number, &mut reader, &mut hash)
            } else {
                lines(file, part.end, number, &mut reader, &mut hash)
            };
            read.map_err(|source| StoreError::io_at("read", &part.path, source))?;
        }
        let sha256 = format!("{:x}", hash.finalize());
        Ok(Survey { sessions: reader.finish(), sha256 })
    }

    /// Looks for the images of a session that are in other files.
    pub(super) fn find_blobs(&mut self, file: &ForeignFile, session: &mut ForeignSession) {
        self.blobs = Blobs::find(self.world, file, session);
    }

    /// Reads a place into a buffer.
    pub(super) fn read(&mut self, place: Place, into: &mut Vec<u8>) -> Result<(), SessionError> {
        if let Some(nth) = place.blob() {
            into.extend_from_slice(self.blobs.read(self.world.os(), nth).raw().as_bytes());
            return Ok(());
        }
        let end = place.offset + place.len;
        self.open(place.file)?;
        let window_end = self.window_offset + self.window.len() as u64;
        if place.offset < self.window_offset || end > window_end {
            let file = self.open(place.file)?;
            let read = read_upto(file, place.offset, place.len.max(WINDOW));
            // The place may be the last one before a damaged part.
            let is_fault = read.as_ref().is_err_and(|error| Fault::of(error).is_some());
            let read = if is_fault { read_upto(file, place.offset, place.len) } else { read };
            self.window = read.map_err(|source| StoreError::io_at("read", &self.path(place.file), source))?;
            self.window_offset = place.offset;
        }
        let from = usize::try_from(place.offset - self.window_offset).unwrap_or(usize::MAX);
        let to = usize::try_from(end - self.window_offset).unwrap_or(usize::MAX);
        let Some(bytes) = self.window.get(from..to) else {
            // Sources only grow; this one was cut.
            let error = std::io::ErrorKind::UnexpectedEof.into();
            return Err(StoreError::io_at("read", &self.path(place.file), error).into());
        };
        into.extend_from_slice(bytes);
        Ok(())
    }
}

/// Reads all whole lines of a file.
fn lines(
    file: &dyn OsFile,
    end: Option<u64>,
    number: u32,
    reader: &mut Reader,
    hash: &mut Sha256,
) -> std::io::Result<()> {
    let length = file.stat()?.length.min(end.unwrap_or(u64::MAX));
    let (mut line_number, mut offset) = (0, 0);
    let mut on_line = |line: sessile_core::line::Line<'_>| {
        if !line.terminated {
            return false;
        }
        line_number += 1;
        if let Some(bytes) = line.bytes {
            hash.update(bytes);
        }
        hash.update(b"\n");
        let line = line.without_bom();
        let place = Place { file: number, offset: line.span.offset, len: line.span.len };
        offset = place.offset + place.len;
        reader.line(SourceLine { place, number: line_number, bytes: line.bytes });
        true
    };
    let read = LineReader::default().read_range(file, 0..length, &mut on_line);
    match read.as_ref().err().and_then(Fault::of) {
        Some(Fault::Damaged(reason)) => {
            reader.damaged(Damage { file: number, line: line_number + 1, offset, reason });
            Ok(())
        }
        _ => read.map(drop),
    }
}

/// Reads a file that is one JSON document.
fn document(file: &dyn OsFile, number: u32, reader: &mut Reader, hash: &mut Sha256) -> std::io::Result<()> {
    let length = file.stat()?.length;
    let is_readable = length <= LINE_CAP as u64;
    let bytes = if is_readable { read_upto(file, 0, length)? } else { Vec::new() };
    hash.update(&bytes);
    let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    let offset = (bytes.len() - text.len()) as u64;
    let place = Place { file: number, offset, len: text.len() as u64 };
    reader.line(SourceLine { place, number: 1, bytes: is_readable.then_some(text) });
    Ok(())
}
