//! Reads the lines of a file for a scan.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use sessile_core::cancel::Cancel;
use sessile_core::line::{BOM, Line};
use sessile_store::os::{FileKind, Mode, Os, OsFile, read_upto};
use sessile_store::{LineReader, StoreError};

use super::quiet::quietly;
use crate::error::SessionError;
use crate::redact_error::RedactError;

/// The number of bytes between two progress reports.
const REPORT_INTERVAL: u64 = 1 << 20;

/// The number of bytes that a copy reads at a time.
const COPIED_AT_ONCE: u64 = 256 << 10;

/// A file that several passes read up to the length that it had at first.
pub(super) struct Source {
    path: PathBuf,
    file: Box<dyn OsFile>,
    /// Where reading begins.
    from: u64,
    pub(super) length: u64,
}

/// Receives a line with its number, counted from 1.
type OnLine<'w> = &'w mut dyn FnMut(u64, &[u8]) -> Result<(), SessionError>;

/// What a pass reports to, and when it ends early.
#[derive(Clone, Copy)]
pub(super) struct Pass<'p> {
    pub(super) cancel: &'p Cancel,
    /// Receives numbers of bytes as they are read.
    pub(super) on_bytes: &'p (dyn Fn(u64) + Sync),
}

impl Source {
    pub(super) fn open(os: &dyn Os, path: &Path) -> Result<Self, SessionError> {
        let failed = |source| StoreError::io_at("open", path, source);
        if os.stat(path).map_err(failed)?.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
        }
        let file = os.open(path, Mode::Read).map_err(failed)?;
        let length = file.stat().map_err(failed)?.length;
        Ok(Self { path: path.to_path_buf(), file, from: 0, length })
    }

    /// The part of a file between two offsets, where lines begin.
    pub(super) fn open_part(os: &dyn Os, path: &Path, (from, to): (u64, u64)) -> Result<Self, SessionError> {
        let source = Self::open(os, path)?;
        Ok(Self { from, length: to.min(source.length), ..source })
    }

    /// Passes each line with its number, counted from 1, to `work`. A panic in it is an error.
    pub(super) fn each_line(&self, pass: Pass<'_>, work: OnLine<'_>) -> Result<(), SessionError> {
        let number = Cell::new(0_u64);
        let mut result = Ok(());
        let mut n_unreported = 0;
        let not_scanned = |what| RedactError::NotScanned { path: self.path.clone(), line: number.get(), what };
        let mut on_line = |line: Line<'_>| {
            number.set(number.get() + 1);
            n_unreported += line.span.len + 1;
            if n_unreported > REPORT_INTERVAL {
                (pass.on_bytes)(std::mem::take(&mut n_unreported));
            }
            result = match line.bytes {
                _ if pass.cancel.is_cancelled() => Err(SessionError::Cancelled),
                Some(bytes) => work(number.get(), bytes),
                None => Err(not_scanned("the line is longer than 256 MiB, so it cannot be scanned").into()),
            };
            result.is_ok()
        };
        let read =
            quietly(|| LineReader::default().read_range(self.file.as_ref(), self.from..self.length, &mut on_line));
        let read = read.ok_or_else(|| not_scanned("a rule failed on this line; please report this as a bug"))?;
        read.map_err(|source| StoreError::io_at("read", &self.path, source))?;
        (pass.on_bytes)(n_unreported);
        result
    }

    /// Passes all bytes to `write`.
    pub(super) fn copy_to(&self, write: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>) -> Result<(), SessionError> {
        let mut at = self.from;
        while at < self.length {
            let bytes = read_upto(self.file.as_ref(), at, (self.length - at).min(COPIED_AT_ONCE))
                .map_err(|source| StoreError::io_at("read", &self.path, source))?;
            if bytes.is_empty() {
                break;
            }
            write(&bytes)?;
            at += bytes.len() as u64;
        }
        Ok(())
    }
}

/// The line without a byte order mark, which only the first line can have.
pub(super) fn without_bom(number: u64, line: &[u8]) -> &[u8] {
    if number == 1 { line.strip_prefix(BOM).unwrap_or(line) } else { line }
}
