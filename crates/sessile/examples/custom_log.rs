//! Keeps sessions in a custom log: a directory of numbered parts, like objects in an object store.
//!
//! A part is written once and never changed. Creating part `n` fails if another writer was first; that is the whole
//! concurrency control. Run it with `cargo run -p sessile --example custom_log [DIRECTORY]`.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a standalone program")]

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sessile::log::{
    Appended, Durable, Expect, FileState, Line, LineSplitter, Log, LogName, Place, Span, StoreError, WriteOptions,
};

/// Called before each step of an append, so that tests can stop a writer there.
pub type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// Sessions as directories of parts below one directory.
#[derive(Clone)]
pub struct Parts {
    /// The directory.
    pub root: PathBuf,
    /// See [`Hook`].
    pub hook: Hook,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parts({})", self.root.display())
    }
}

impl Parts {
    fn log(&self, path: &Path) -> PartLog {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        PartLog { directory: self.root.join(&name), name, hook: Arc::clone(&self.hook), known: Mutex::default() }
    }
}

impl Place for Parts {
    fn state(&self, path: &Path) -> Result<FileState, StoreError> {
        Ok(if self.log(path).length()? == 0 { FileState::Missing } else { FileState::File })
    }

    fn open(&self, path: &Path, _: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        let log = self.log(path);
        match log.length()? {
            0 => Err(StoreError::Gone { log: log.name() }),
            _ => Ok(Box::new(log)),
        }
    }

    fn create(&self, path: &Path, bytes: &[u8], _: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        let log = self.log(path);
        fs::create_dir_all(&log.directory).map_err(|error| log.failed("create", error))?;
        if !log.write_part(0, bytes).map_err(|error| log.failed("create", error))? {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        Ok(Box::new(log))
    }
}

/// One session.
pub struct PartLog {
    directory: PathBuf,
    name: String,
    hook: Hook,
    /// The end of each known part. Parts never change, so only new ones are looked for.
    known: Mutex<Vec<u64>>,
}

impl PartLog {
    fn failed(&self, action: &'static str, error: io::Error) -> StoreError {
        StoreError::Log { action, log: self.name(), source: Box::new(error) }
    }

    fn part(&self, number: usize) -> PathBuf {
        self.directory.join(format!("{number:08}"))
    }

    /// Looks for new parts, and returns the end of each.
    fn ends(&self) -> Result<Vec<u64>, StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match fs::metadata(self.part(known.len())) {
                Ok(part) => {
                    let end = known.last().copied().unwrap_or_default() + part.len();
                    known.push(end);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(known.clone()),
                Err(error) => return Err(self.failed("read", error)),
            }
        }
    }

    /// Writes a part, and returns whether it was the first with this number. It appears as a whole.
    fn write_part(&self, number: usize, bytes: &[u8]) -> io::Result<bool> {
        let temporary = self.directory.join(format!("{number:08}.{}-{:p}", std::process::id(), self));
        (self.hook)("write");
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        (self.hook)("sync");
        file.sync_all()?;
        (self.hook)("publish");
        let published = fs::hard_link(&temporary, self.part(number));
        (self.hook)("published");
        fs::File::open(&self.directory)?.sync_all()?;
        (self.hook)("synced");
        fs::remove_file(&temporary)?;
        match published {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            published => published.map(|()| true),
        }
    }

    /// Calls `on_bytes` for the bytes of a range, part by part.
    fn each(&self, from: u64, to: u64, on_bytes: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
        let mut start = 0;
        for (number, end) in self.ends()?.into_iter().enumerate() {
            if end > from && start < to {
                let bytes = fs::read(self.part(number)).map_err(|error| self.failed("read", error))?;
                let within = |offset: u64| usize::try_from(offset.clamp(start, end) - start).unwrap_or(usize::MAX);
                on_bytes(&bytes[within(from)..within(to)]);
            }
            start = end;
        }
        Ok(())
    }
}

impl Log for PartLog {
    fn name(&self) -> LogName {
        LogName::other(format!("the parts of {}", self.name))
    }

    fn length(&self) -> Result<u64, StoreError> {
        Ok(self.ends()?.last().copied().unwrap_or_default())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        self.each(span.offset, span.end(), &mut |part| bytes.extend_from_slice(part))?;
        if bytes.len() as u64 == span.len {
            return Ok(bytes);
        }
        Err(StoreError::Truncated { log: self.name(), expected: span.end(), actual: self.length()? })
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        let mut splitter = LineSplitter::starting_at(from);
        self.each(from, u64::MAX, &mut |part| splitter.feed(part, on_line))?;
        splitter.finish(on_line);
        Ok(())
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        loop {
            let ends = self.ends()?;
            let length = ends.last().copied().unwrap_or_default();
            expect.check(length, || self.name())?;
            // A last line without a newline is ended first.
            let is_open = length > 0 && self.read(Span { offset: length - 1, len: 1 })? != b"\n";
            let bytes = [if is_open { &b"\n"[..] } else { b"" }, lines].concat();
            if self.write_part(ends.len(), &bytes).map_err(|error| self.failed("write to", error))? {
                let offset = length + u64::from(is_open);
                return Ok(Appended { offset, end: offset + lines.len() as u64 });
            }
        }
    }

    fn durable(&self) -> Durable {
        Durable::Disk
    }

    fn make_durable(&mut self) -> Result<Durable, StoreError> {
        // Every part is synced before it appears.
        Ok(Durable::Disk)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("sessile-parts"), PathBuf::from);
    let place = Parts { root: root.clone(), hook: Arc::new(|_| ()) };
    let sessions = sessile::Sessions::new(sessile::System).in_place(Arc::new(place));
    let mut session = sessions.open_or_create(root.join("notes.jsonl"))?;
    session.append_user_message("Where do you live?")?;
    // As in pi, a session is stored with its first answer.
    session.append_assistant_message("example", "none", "In a directory of parts.")?;
    println!("{} has {} entries now", root.display(), session.entries().count());
    Ok(())
}
