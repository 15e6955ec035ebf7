//! A log backed by a file.

mod guarding;
mod known;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sessile_core::line::{Line, Span};
use sessile_core::outline::OutlinePart;

use self::guarding::Guarding;
use self::known::{KnownPath, Tail};
use crate::append::{ObservedEnd, append_lines};
use crate::commit::{Committer, SyncTicket};
use crate::error::StoreError;
use crate::guard::Guard;
use crate::lines::{after_hole, scan_file};
use crate::lock::TurnLock;
use crate::log::{Appended, Expect, Log, Notice, Revision, Ticket, Turn, scan_as_one};
use crate::log_name::LogName;
use crate::options::{Busy, Durability, Durable, WriteOptions};
use crate::os::{FileKind, IS_DEVICE, IS_LINK, Identity, Mode, Os, OsFile, Stat, append_fully, read_upto};
use crate::parts;
use crate::planted::{self, Bug};
use crate::publish::{prepare, sync_parent};
use crate::rewrite::is_being_replaced;
use crate::sentinel::{Flusher, Sentinel};
use crate::space::Space;

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Nothing.
    Missing,
    /// An empty regular file.
    Empty,
    /// A regular file with content.
    File,
    /// Not a regular file.
    Other,
}

/// Examines a path, following symbolic links.
pub fn file_state(os: &dyn Os, path: &Path) -> Result<FileState, StoreError> {
    match os.stat(path) {
        Ok(stat) if stat.kind != FileKind::Regular => Ok(FileState::Other),
        Ok(stat) if stat.length == 0 => Ok(FileState::Empty),
        Ok(_) => Ok(FileState::File),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileState::Missing),
        Err(error) => Err(StoreError::io("access", path)(error)),
    }
}

/// A session file. It is opened for reading, and reopened for appending at the first append.
///
/// An append takes the session's lock, checks that the file is the known one and ends at the known place, writes once,
/// checks the byte before the written lines, and adds the lines to the guard. A thread looks after the lines in the
/// guard until they are safe.
pub struct FileLog {
    os: Arc<dyn Os>,
    path: PathBuf,
    file: Arc<dyn OsFile>,
    identity: Identity,
    is_writable: bool,
    options: WriteOptions,
    known_path: Cell<Option<KnownPath>>,
    /// The last bytes seen, to detect that another program has rewritten the file.
    tail: RefCell<Tail>,
    committer: Arc<Committer>,
    turn: TurnState,
    guard: Option<Guard>,
    guarding: Guarding,
    space: Space,
    /// Whether the final newline may be missing on disk although it can be read.
    must_reseal: bool,
    notices: Arc<Mutex<Vec<Notice>>>,
    sentinel: Option<Sentinel>,
    flusher: Option<Flusher>,
}

/// The state of the current turn.
#[derive(Debug, Default)]
struct TurnState {
    lock: Option<TurnLock>,
    depth: usize,
    current: Option<Turn>,
    /// Whether the lock is kept while the log is open, because the file system is shared with other machines.
    is_kept: Option<bool>,
}

impl FileLog {
    /// Opens an existing regular file.
    pub fn open(os: &Arc<dyn Os>, path: impl Into<PathBuf>, options: WriteOptions) -> Result<Self, StoreError> {
        let path = path.into();
        let file = os.open(&path, Mode::Read).map_err(|error| opening(&path, error))?;
        Self::new(os, path, file, false, options)
    }

    /// Creates a file of mode 0600 with these bytes. Fails if the name is taken.
    ///
    /// The file gets its name only once it is complete.
    pub fn create(
        os: &Arc<dyn Os>,
        path: impl Into<PathBuf>,
        bytes: &[u8],
        options: WriteOptions,
    ) -> Result<Self, StoreError> {
        let path = path.into();
        let is_durable = options.durability.is_on_disk();
        let prepared = prepare(os.as_ref(), &path, is_durable, |file, temporary| {
            append_fully(file, bytes).map_err(StoreError::io("write", temporary))
        })?;
        let file = prepared.publish()?;
        let mut log = Self::new(os, path, file, true, options)?;
        log.remember_tail(bytes.len() as u64, bytes);
        log.guard_created(bytes);
        Ok(log)
    }

    fn new(
        os: &Arc<dyn Os>,
        path: PathBuf,
        file: Box<dyn OsFile>,
        is_writable: bool,
        options: WriteOptions,
    ) -> Result<Self, StoreError> {
        let stat = file.stat().map_err(StoreError::io("access", &path))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path });
        }
        let file: Arc<dyn OsFile> = Arc::from(file);
        Ok(Self {
            os: Arc::clone(os),
            path,
            committer: Arc::new(Committer::new(Arc::clone(&file), options.durability == Durability::Group)),
            file,
            identity: stat.identity,
            is_writable,
            options,
            known_path: Cell::new(None),
            tail: RefCell::default(),
            turn: TurnState::default(),
            guard: None,
            guarding: Guarding::default(),
            space: Space::default(),
            must_reseal: false,
            notices: Arc::default(),
            sentinel: None,
            flusher: None,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current metadata of the open file.
    pub fn stat(&self) -> Result<Stat, StoreError> {
        self.file.stat().map_err(StoreError::io("access", &self.path))
    }

    /// Opens the file for appending. Fails if it is not the file that was read.
    fn open_for_appending(&mut self) -> Result<(), StoreError> {
        if self.is_writable {
            return Ok(());
        }
        let file = self.os.open(&self.path, Mode::Append).map_err(|error| opening_for_writing(&self.path, error))?;
        let stat = file.stat().map_err(StoreError::io("access", &self.path))?;
        if stat.identity != self.identity {
            return Err(StoreError::Replaced { log: LogName::file(&self.path) });
        }
        // A second hard link to a file that belongs to another user may be a trap.
        if stat.kind != FileKind::Regular || (stat.n_links > 1 && !stat.is_own) {
            return Err(StoreError::NotRegular { path: self.path.clone() });
        }
        if self.options.durability.is_on_disk() {
            // The creator of the file may not have synced the directory, and an entry is worthless without its file's
            // name.
            sync_parent(self.os.as_ref(), &self.path)?;
        }
        self.use_file(Arc::from(file));
        self.is_writable = true;
        Ok(())
    }

    fn use_file(&mut self, file: Arc<dyn OsFile>) {
        self.committer = Arc::new(Committer::new(Arc::clone(&file), self.options.durability == Durability::Group));
        self.flusher = None;
        self.file = file;
    }

    fn append_in_turn(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        if self.committer.has_failed() {
            return Err(StoreError::Poisoned { log: LogName::file(&self.path) });
        }
        self.open_for_appending()?;
        // Read once: a clock costs as much as a small system call.
        let boot_ms = self.os.boot_ms();
        let length = match expect {
            Expect::Length(stale) if planted::has(Bug::StaleLength) => stale,
            _ => self.current_length(boot_ms)?,
        };
        expect.check(length, || self.name())?;
        if self.ready_guard() {
            // A process that swaps the session's file swaps its guard as well.
            self.check_path()?;
        }
        let is_sealed = (self.ends_line(length)? && !self.must_reseal) || planted::has(Bug::NoSeal);
        if !is_sealed && planted::has(Bug::CutTornLine) {
            cut_torn_line(self.file.as_ref(), length);
        }
        self.space.ensure_free(boot_ms, self.file.as_ref(), length, lines.len() as u64 + 1, &self.path)?;
        let appended =
            append_lines(self.file.as_ref(), &self.path, lines, ObservedEnd { length: Some(length), is_sealed })?;
        self.must_reseal = false;
        if self.turn.current == Some(Turn::Unlocked) {
            // The lock holder may have swapped the file since. In that case our lines went to the old one.
            self.check_path()?;
        }
        self.remember_tail(appended.end, lines);
        self.remember(boot_ms, appended.offset, lines);
        if planted::has(Bug::WrongOffset) && !is_sealed {
            return Ok(Appended { offset: appended.offset - 1, ..appended });
        }
        Ok(appended)
    }

    fn sync_ticket(&self) -> SyncTicket {
        SyncTicket::new(Arc::clone(&self.committer), &self.path)
    }

    fn notify(&self, notice: Notice) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Takes the lock as the file system and the caller's options require.
    fn take_lock(&mut self) -> Result<Turn, StoreError> {
        let is_kept = *self.turn.is_kept.get_or_insert_with(|| self.os.is_shared(&self.path).unwrap_or(false));
        let busy = match self.options.busy {
            // Where several machines write, only the lock keeps their bytes apart.
            Busy::Continue(timeout) if is_kept => Busy::Fail(timeout),
            busy => busy,
        };
        let lock = self.turn.lock.get_or_insert_with(|| TurnLock::new(Arc::clone(&self.os), &self.path));
        if lock.is_valid_for(self.identity)? {
            return Ok(Turn::Ours);
        }
        lock.release();
        match lock.take(busy, Some(self.identity)) {
            Ok(true) => {
                if !lock.was_held_only_here() || lock.identity() != Some(self.identity) {
                    // Another process of ours may have moved, deleted or replaced the file.
                    self.known_path.set(None);
                }
                let refusal = lock.refusal().map(|error| sessile_core::cause::chain(error));
                if let Some(reason) = refusal.filter(|_| !std::mem::replace(&mut self.guarding.has_reported, true)) {
                    self.notify(Notice::Unguarded { reason });
                }
                Ok(Turn::Ours)
            }
            Ok(false) => {
                let holder = lock.holder();
                if is_being_replaced(self.os.as_ref(), &self.path) {
                    // Lines written now would end up in the old file and follow it wherever it is moved.
                    return Err(StoreError::Busy { log: LogName::file(&self.path), holder });
                }
                self.notify(Notice::WithoutLock { holder });
                Ok(Turn::Unlocked)
            }
            Err(error) if is_kept && !matches!(error, StoreError::Busy { .. }) => {
                Err(StoreError::SharedFileSystem { path: self.path.clone(), source: Box::new(error) })
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the file that the path leads to now.
    fn reopen(&mut self) -> Result<(), StoreError> {
        let file = self.os.open(&self.path, Mode::Read).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return StoreError::Gone { log: LogName::file(&self.path) };
            }
            opening(&self.path, error)
        })?;
        let stat = file.stat().map_err(StoreError::io("access", &self.path))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: self.path.clone() });
        }
        let has_failed = self.committer.has_failed();
        self.use_file(Arc::from(file));
        if has_failed {
            // Reopening does not repair a failed sync.
            self.committer.fail();
        }
        self.identity = stat.identity;
        self.is_writable = false;
        *self.tail.borrow_mut() = Tail::default();
        self.known_path.set(None);
        Ok(())
    }
}

impl Log for FileLog {
    fn name(&self) -> LogName {
        LogName::file(&self.path)
    }

    fn length(&self) -> Result<u64, StoreError> {
        self.current_length(self.os.boot_ms())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let bytes = read_upto(self.file.as_ref(), span.offset, span.len).map_err(StoreError::io("read", &self.path))?;
        if bytes.len() as u64 == span.len {
            return Ok(bytes);
        }
        let actual = self.file.stat().map(|stat| stat.length).unwrap_or_default();
        Err(StoreError::Truncated { log: LogName::file(&self.path), expected: span.end(), actual })
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        let end = scan_file(self.file.as_ref(), &self.path, from, &mut |line| {
            on_line(line);
            true
        })?;
        self.read_tail(end)
    }

    fn local_path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn revision(&self) -> Result<Option<Revision>, StoreError> {
        Ok(Some(self.stat()?.revision()))
    }

    fn after_hole(&self, bytes: &[u8], offset: u64) -> Result<u64, StoreError> {
        after_hole(self.file.as_ref(), bytes, offset).map_err(StoreError::io("read", &self.path))
    }

    fn scan_parts(&self, from: u64, on_part: &mut dyn FnMut(OutlinePart)) -> Result<(), StoreError> {
        let length = self.stat()?.length;
        if self.os.has_threads()
            && parts::is_worth_it(length.saturating_sub(from))
            && let Some(end) = parts::scan_parts(self.file.as_ref(), &self.path, from, length, on_part)?
        {
            return self.read_tail(end);
        }
        scan_as_one(self, from, on_part)
    }

    fn can_append_blindly(&self) -> bool {
        // `O_APPEND` puts every write after all earlier ones.
        true
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        self.begin_turn()?;
        let appended = self.append_in_turn(lines, expect);
        self.end_turn();
        appended
    }

    fn begin_turn(&mut self) -> Result<Turn, StoreError> {
        if let Some(turn) = self.turn.current {
            self.turn.depth += 1;
            return Ok(turn);
        }
        let turn = self.take_lock()?;
        self.turn.current = Some(turn);
        self.turn.depth = 1;
        self.guarding.is_ready = false;
        Ok(turn)
    }

    fn end_turn(&mut self) {
        self.turn.depth = self.turn.depth.saturating_sub(1);
        if self.turn.depth > 0 {
            return;
        }
        self.turn.current = None;
        if self.turn.is_kept != Some(true)
            && let Some(lock) = &mut self.turn.lock
        {
            lock.release();
        }
    }

    fn abandon_turn(&mut self) {
        self.turn.depth = 1;
        self.end_turn();
    }

    fn ticket(&self) -> Option<Box<dyn Ticket>> {
        let is_group = self.options.durability == Durability::Group;
        is_group.then(|| Box::new(self.sync_ticket()) as Box<dyn Ticket>)
    }

    fn n_synced(&self) -> u64 {
        self.committer.n_synced()
    }

    fn durable(&self) -> Durable {
        if self.options.durability.is_on_disk() { self.committer.durable() } else { Durable::PageCache }
    }

    fn make_durable(&mut self) -> Result<Durable, StoreError> {
        match self.options.durability {
            Durability::Memory | Durability::Buffered => Ok(Durable::PageCache),
            Durability::Interval(interval) => {
                drop(self.sync_ticket());
                if self.flusher.is_none() && self.os.has_threads() {
                    self.flusher = Flusher::start(&self.committer, interval);
                }
                Ok(Durable::PageCache)
            }
            Durability::Group | Durability::Sync => Box::new(self.sync_ticket()).wait(),
        }
    }

    fn resume(&mut self) -> Result<bool, StoreError> {
        self.restore_leftover_guard()
    }

    fn reread(&mut self) -> Result<(), StoreError> {
        self.reopen()
    }

    fn recover(&mut self) -> Result<(), StoreError> {
        self.begin_turn()?;
        let recovered = self.recover_in_turn();
        self.end_turn();
        recovered
    }

    fn reseal_end(&mut self) {
        self.must_reseal = true;
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        // First the thread, which has its own handles.
        self.sentinel = None;
        if self.flusher.take().is_some() {
            drop(self.committer.sync());
        }
        self.tidy_up();
    }
}

impl fmt::Debug for FileLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileLog").field("path", &self.path).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Converts an error from opening a file.
fn opening(path: &Path, error: io::Error) -> StoreError {
    if error.raw_os_error() == Some(IS_DEVICE) {
        return StoreError::NotRegular { path: path.to_path_buf() };
    }
    StoreError::io("open", path)(error)
}

/// Converts an error from opening a file for writing.
fn opening_for_writing(path: &Path, error: io::Error) -> StoreError {
    if error.raw_os_error() == Some(IS_LINK) {
        return StoreError::NotRegular { path: path.to_path_buf() };
    }
    if error.kind() == io::ErrorKind::NotFound {
        return StoreError::Gone { log: LogName::file(path) };
    }
    StoreError::io("open for writing", path)(error)
}

/// A planted bug: cuts off the unfinished last line.
fn cut_torn_line(file: &dyn OsFile, length: u64) {
    if let Ok(bytes) = read_upto(file, 0, length) {
        let kept = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        drop(file.set_length(kept as u64));
    }
}
