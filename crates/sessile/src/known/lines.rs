//! The lines of a session after its header, as a log on a server has them.

use std::path::{Path, PathBuf};

use sessile_core::line::Line;
use sessile_remote::{Chain, MAX_LINE, Position};
use sessile_store::os::{FileKind, Mode, Os, OsFile, Stat, read_upto};
use sessile_store::{LineReader, StoreError};

use crate::error::SessionError;

/// The end of a line in a session's file, and the chain up to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The offset after the line's newline.
    pub(crate) end: u64,
    pub(crate) chain: Chain,
}

/// The lines of a session's file, by their ends.
///
/// The file is open, and its bytes up to its length are read, whatever other programs append.
pub(crate) struct SessionLines {
    path: PathBuf,
    file: Box<dyn OsFile>,
    /// The file when it was opened.
    pub(crate) opened: Stat,
    /// The number of lines before the first mark.
    n_before: u64,
    /// The start, and the end of each line after it.
    marks: Vec<Mark>,
}

/// Receives a line with its bytes, and returns whether to go on.
type OnLine<'w> = &'w mut dyn FnMut(Line<'_>, &[u8]) -> Result<bool, SessionError>;

/// Where the lines of a session are known to begin: after the header, or after lines that were read earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) n_lines: u64,
    pub(crate) mark: Mark,
}

impl SessionLines {
    /// Opens a session's file and reads the lines after a start.
    pub(crate) fn open(os: &dyn Os, path: &Path, start: Start) -> Result<Self, SessionError> {
        let failed = |source| StoreError::io_at("open", path, source);
        if os.link_stat(path).map_err(failed)?.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
        }
        let file = os.open(path, Mode::Read).map_err(failed)?;
        let opened = file.stat().map_err(failed)?;
        let (n_before, marks) = (start.n_lines, vec![start.mark]);
        let mut lines = Self { path: path.to_path_buf(), file, opened, n_before, marks };
        lines.read_marks()?;
        Ok(lines)
    }

    fn read_marks(&mut self) -> Result<(), SessionError> {
        let mut marks = std::mem::take(&mut self.marks);
        let Some(mut mark) = marks.first().copied() else { return Ok(()) };
        self.each_line(mark.end, self.opened.length, &mut |line, bytes| {
            if !line.terminated {
                return Ok(false);
            }
            if line.span.len > MAX_LINE as u64 {
                let number = self.n_before + marks.len() as u64 + 1;
                return Err(SessionError::LineTooLongForRemote { path: self.path.clone(), line: number });
            }
            mark = Mark { end: line.span.end() + 1, chain: mark.chain.after(bytes) };
            marks.push(mark);
            Ok(true)
        })?;
        self.marks = marks;
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of complete lines after the header.
    pub(crate) fn n_lines(&self) -> u64 {
        self.n_before + self.marks.len() as u64 - 1
    }

    /// The end of the last complete line.
    pub(crate) fn end(&self) -> u64 {
        self.marks.last().map_or(0, |mark| mark.end)
    }

    /// Whether bytes follow the last complete line: another program is writing, or died while it was.
    pub(crate) fn is_torn(&self) -> bool {
        self.end() < self.opened.length
    }

    /// The mark after some lines; `None` if there are fewer, or if they are before the first mark.
    pub(crate) fn mark(&self, n_lines: u64) -> Option<Mark> {
        let index = n_lines.checked_sub(self.n_before)?;
        self.marks.get(usize::try_from(index).ok()?).copied()
    }

    /// A line by its number; the first after the header is 1. Fails if it is not known.
    pub(crate) fn line(&self, number: u64) -> Result<Vec<u8>, SessionError> {
        let (Some(start), Some(end)) = (number.checked_sub(1).and_then(|before| self.mark(before)), self.mark(number))
        else {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        };
        let mut line = Vec::new();
        self.copy(start.end, end.end - 1, &mut |part| {
            line.extend_from_slice(part);
            Ok(())
        })?;
        Ok(line)
    }

    /// The position after all complete lines.
    pub(crate) fn position(&self, epoch: u32) -> Position {
        let chain = self.marks.last().map_or(Chain::EMPTY, |mark| mark.chain);
        Position { epoch, n_lines: self.n_lines(), chain }
    }

    /// The first number of lines whose mark is known.
    pub(crate) fn n_before(&self) -> u64 {
        self.n_before
    }

    /// Calls `on_line` for the complete lines after the first `from`, until it returns false.
    pub(crate) fn lines_after(
        &self,
        from: u64,
        on_line: &mut dyn FnMut(&[u8]) -> Result<bool, SessionError>,
    ) -> Result<(), SessionError> {
        let Some(mark) = self.mark(from) else { return Ok(()) };
        self.each_line(mark.end, self.end(), &mut |_, bytes| on_line(bytes))
    }

    fn each_line(&self, from: u64, to: u64, on_line: OnLine<'_>) -> Result<(), SessionError> {
        let mut failed = None;
        let mut relay = |line: Line<'_>| match on_line(line, line.bytes.unwrap_or_default()) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let read = LineReader::default().read_range(self.file.as_ref(), from..to, &mut relay);
        read.map_err(|source| StoreError::io_at("read", &self.path, source))?;
        failed.map_or(Ok(()), Err)
    }

    /// Fails if the file was written or replaced since it was opened.
    pub(crate) fn check_unchanged(&self, os: &dyn Os) -> Result<(), SessionError> {
        let there = os.link_stat(&self.path).map_err(|source| StoreError::io_at("access", &self.path, source))?;
        if there.revision() == self.opened.revision() {
            return Ok(());
        }
        Err(SessionError::WrittenMeanwhile { path: self.path.clone() })
    }

    /// The bytes from one offset to another.
    pub(crate) fn copy(
        &self,
        from: u64,
        to: u64,
        out: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        const CHUNK: u64 = 256 << 10;
        let mut at = from;
        while at < to {
            let bytes = read_upto(self.file.as_ref(), at, CHUNK.min(to - at))
                .map_err(|source| StoreError::io_at("read", &self.path, source))?;
            if bytes.is_empty() {
                return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
            }
            out(&bytes)?;
            at += bytes.len() as u64;
        }
        Ok(())
    }
}
