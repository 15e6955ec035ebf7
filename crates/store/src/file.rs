//! A log that is a file.

use std::cell::Cell;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sessile_core::line::{Line, LineSplitter, Span};

use crate::error::StoreError;
use crate::log::{Appended, Expect, Log};
use crate::place::{create_exclusively, no_follow};

/// How much is read at a time. Measured best among 64 KiB, 256 KiB and 1 MiB, and as fast as a memory map.
const CHUNK: usize = 256 << 10;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Nothing.
    Missing,
    /// A regular file without a byte.
    Empty,
    /// A regular file.
    File,
    /// Something that is no file.
    Other,
}

/// Looks what is at a path, following symbolic links.
pub fn file_state(path: &Path) -> Result<FileState, StoreError> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Ok(FileState::Other),
        Ok(metadata) if metadata.len() == 0 => Ok(FileState::Empty),
        Ok(_) => Ok(FileState::File),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileState::Missing),
        Err(error) => Err(StoreError::io("look at", path)(error)),
    }
}

/// A session file. Opened for reading; opened for appending when something is appended.
#[derive(Debug)]
pub struct FileLog {
    path: PathBuf,
    reader: File,
    appender: Option<File>,
}

impl FileLog {
    /// Opens an existing regular file.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        // Looked at before opening: opening a pipe would wait for a writer.
        if file_state(&path)? == FileState::Other {
            return Err(StoreError::NotRegular { path });
        }
        let reader = File::open(&path).map_err(StoreError::io("open", &path))?;
        Ok(Self { path, reader, appender: None })
    }

    /// Makes a new file of mode 0600 that holds these bytes. A name that is taken is refused.
    ///
    /// If writing fails the file is removed again, so that a later attempt finds the name free.
    pub fn create(path: impl Into<PathBuf>, bytes: &[u8]) -> Result<Self, StoreError> {
        let path = path.into();
        let reader = create_exclusively(&path)?;
        if let Err(error) = (&reader).write_all(bytes) {
            // Removing what we made ourselves a moment ago loses nothing that was acknowledged.
            drop(fs::remove_file(&path));
            return Err(StoreError::io("write", &path)(error));
        }
        Ok(Self { path, reader, appender: None })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that the path still leads to the file that was opened.
    fn check_identity(&self) -> Result<Metadata, StoreError> {
        let opened = self.reader.metadata().map_err(StoreError::io("look at", &self.path))?;
        let there = match fs::metadata(&self.path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Gone { path: self.path.clone() });
            }
            Err(error) => return Err(StoreError::io("look at", &self.path)(error)),
        };
        if (opened.dev(), opened.ino()) != (there.dev(), there.ino()) {
            return Err(StoreError::Replaced { path: self.path.clone() });
        }
        Ok(there)
    }

    fn appender(&mut self) -> Result<&File, StoreError> {
        if self.appender.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).append(true).custom_flags(no_follow());
            let refused = |error: io::Error| {
                if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
                    return StoreError::NotRegular { path: self.path.clone() };
                }
                StoreError::io("open for writing", &self.path)(error)
            };
            let appender = options.open(&self.path).map_err(refused)?;
            if identity(&appender, &self.path)? != identity(&self.reader, &self.path)? {
                return Err(StoreError::Replaced { path: self.path.clone() });
            }
            self.appender = Some(appender);
        }
        self.appender.as_ref().ok_or_else(|| StoreError::Gone { path: self.path.clone() })
    }

    fn ends_line(&self, length: u64) -> Result<bool, StoreError> {
        let Some(last) = length.checked_sub(1) else { return Ok(true) };
        let byte = self.read(Span { offset: last, len: 1 })?;
        Ok(byte == b"\n")
    }
}

impl Log for FileLog {
    fn length(&self) -> Result<u64, StoreError> {
        self.check_identity().map(|metadata| metadata.len())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; usize::try_from(span.len).unwrap_or(usize::MAX)];
        match self.reader.read_exact_at(&mut bytes, span.offset) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let actual = self.reader.metadata().map(|metadata| metadata.len()).unwrap_or_default();
                Err(StoreError::Truncated { path: self.path.clone(), expected: span.end(), actual })
            }
            Err(error) => Err(StoreError::io("read", &self.path)(error)),
        }
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        scan_file(&self.reader, &self.path, from, &mut |line| {
            on_line(line);
            true
        })
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        let length = self.check_identity()?.len();
        if let Expect::Length(expected) = expect {
            let (path, actual) = (self.path.clone(), length);
            match actual.cmp(&expected) {
                std::cmp::Ordering::Less => return Err(StoreError::Truncated { path, expected, actual }),
                std::cmp::Ordering::Greater => return Err(StoreError::Grown { path, expected, actual }),
                std::cmp::Ordering::Equal => {}
            }
        }
        let seal: &[u8] = if self.ends_line(length)? { b"" } else { b"\n" };
        let text = [seal, lines].concat();
        let path = self.path.clone();
        let mut file = self.appender()?;
        write_once(&mut file, &text, &path)?;
        // With O_APPEND the position after the write tells where the bytes really went.
        let end = file.stream_position().map_err(StoreError::io("look at", &path))?;
        Ok(Appended { offset: end - lines.len() as u64, end })
    }
}

/// What tells an open file from all others.
fn identity(file: &File, path: &Path) -> Result<(u64, u64), StoreError> {
    let metadata = file.metadata().map_err(StoreError::io("look at", path))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Writes all bytes with a single call, so that a reader sees whole lines or a torn end, never a mixture.
fn write_once(file: &mut &File, text: &[u8], path: &Path) -> Result<(), StoreError> {
    let written = loop {
        match file.write(text) {
            Ok(written) => break written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StoreError::io("append to", path)(error)),
        }
    };
    if written == text.len() {
        return Ok(());
    }
    // The seal is a courtesy to other writers; the next append looks for itself.
    let source = match file.write(b"\n") {
        Err(error) => error,
        // All that was missing was the newline: the seal has completed the line, so it is written.
        Ok(1) if written + 1 == text.len() => return Ok(()),
        Ok(_) => io::ErrorKind::WriteZero.into(),
    };
    Err(StoreError::ShortWrite { path: path.to_path_buf(), written, wanted: text.len(), source })
}

/// Reads a file by chunks and hands on its lines until `on_line` says to stop.
pub(crate) fn scan_file(
    file: &File,
    path: &Path,
    from: u64,
    on_line: &mut dyn FnMut(Line<'_>) -> bool,
) -> Result<(), StoreError> {
    let mut file = file;
    file.seek(SeekFrom::Start(from)).map_err(StoreError::io("read", path))?;
    let mut splitter = LineSplitter::starting_at(from);
    let mut buffer = vec![0; CHUNK];
    let goes_on = Cell::new(true);
    let mut relay = |line: Line<'_>| goes_on.set(goes_on.get() && on_line(line));
    loop {
        let n_read = match file.read(&mut buffer) {
            Ok(n_read) => n_read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StoreError::io("read", path)(error)),
        };
        if n_read == 0 {
            splitter.finish(&mut relay);
            return Ok(());
        }
        splitter.feed(&buffer[..n_read], &mut relay);
        if !goes_on.get() {
            return Ok(());
        }
    }
}
