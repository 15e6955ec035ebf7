//! One loaded session: its log, its outline, and its leaf.

mod append;
mod change;
mod copy;
mod read_outline;
mod rows;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem::Finder;

pub(crate) use self::append::entry_ids;
use self::read_outline::{ReadOutline, outline_of, scan};
use sessile_core::EntryId;
use sessile_core::archive::{Archive, CUSTOM_TYPE, MAX_LINE};
use sessile_core::context::ReadContext;
use sessile_core::head::Kind;
use sessile_core::header::Header;
use sessile_core::json::{Json, NotJson, Raw, print};
use sessile_core::label::{Label, Labels};
use sessile_core::line::{Span, js_trim};
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_index::Caches;
use sessile_store::{Durable, Log, LogName, MemoryLog, Overlay, Ticket};

use crate::directory::absolute;
use crate::environment::Environment;
use crate::error::SessionError;
use crate::event::{PendingEvent, SessionEvent};
use crate::world::{ExpectedLeaf, World};

/// Where a session's bytes are.
pub(crate) enum Backing {
    /// In a log.
    Log {
        /// The log.
        log: Box<dyn Log>,
        /// Its address; none if the session is only in memory.
        path: Option<PathBuf>,
    },
    /// In memory until the first user or assistant message creates the file.
    Awaited {
        /// The bytes to write.
        log: MemoryLog,
        /// The future path.
        path: PathBuf,
        /// The origin of that name.
        origin: NameOrigin,
    },
}

impl Backing {
    /// Only in memory, permanently.
    pub(crate) fn memory(log: MemoryLog) -> Self {
        Self::Log { log: Box::new(log), path: None }
    }

    pub(crate) fn log(&self) -> &dyn Log {
        match self {
            Self::Log { log, .. } => log.as_ref(),
            Self::Awaited { log, .. } => log,
        }
    }

    fn log_mut(&mut self) -> &mut dyn Log {
        match self {
            Self::Log { log, .. } => log.as_mut(),
            Self::Awaited { log, .. } => log,
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Log { path, .. } => path.as_deref(),
            Self::Awaited { path, .. } => Some(path),
        }
    }

    /// Whether the session has been written to where it will stay.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Self::Log { path: Some(_), .. })
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> LogName {
        self.log().name()
    }
}

/// The origin of the name of a file that is not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameOrigin {
    /// We generated it, so another name will do.
    Ours,
    /// The caller gave it.
    Given,
    /// The caller gave it, and an empty file of that name exists, so every entry is written to it immediately.
    EmptyFile,
}

/// A session and the current position in it.
pub(crate) struct Session {
    pub(crate) header: Header,
    /// The header's line as first read, to detect that another program has rewritten the file.
    header_line: Vec<u8>,
    pub(crate) backing: Backing,
    pub(crate) outline: Outline,
    /// Whether the file has changed so much that the outline no longer applies.
    is_void: bool,
    /// Rows before this offset are compared with their lines on reading: another program has written to the file since.
    doubted: u64,
    /// Whether a line was found that contradicts its row, so that everything must be read again.
    is_stale: AtomicBool,
    /// Where the outline is cached, so that a wrong one can be dropped.
    saved: Option<(Caches, PathBuf)>,
    pub(crate) leaf: Option<Row>,
    /// Read on first use: opening a session decodes no payload.
    labels: OnceLock<Labels>,
    /// Read on first use, too.
    archive: OnceLock<Archive>,
    /// The last entry that another program appended since our last one.
    foreign: Option<EntryId>,
    /// Deferred appends that are not known to be on disk, each with the leaf before it.
    unsettled: Vec<(u64, Option<EntryId>)>,
    /// Whether we write to the file. Only a writer restores what was destroyed in it.
    is_writer: bool,
    /// What does not come from the file.
    pub(crate) retained: RetainedState,
}

/// The part of a session that stays when its file is read again.
#[derive(Default)]
pub(crate) struct RetainedState {
    /// What the next append expects as the last entry of the file.
    pub(crate) expected_leaf: ExpectedLeaf,
    /// The result of the last append.
    pub(crate) acknowledged: Option<Acknowledgement>,
    /// The syncs that the caller waits for; set while appends do not wait for the disk themselves.
    pub(crate) deferred: Option<Vec<Box<dyn Ticket>>>,
    /// Events that handlers have not been notified of yet.
    pub(crate) pending_events: Vec<PendingEvent>,
    /// The number of nested turns at the file. A handler may need a turn too, so nothing is reported during one.
    pub(crate) n_turns: usize,
    /// Where the file's state before the upgrade is kept.
    pub(crate) original: Option<PathBuf>,
    /// How many times the rows may have got other numbers.
    pub(crate) n_renumbered: u64,
}

/// What a returned append guarantees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The last entry written.
    pub entry_id: EntryId,
    /// What the entry survives.
    pub durable: Durable,
}

impl Session {
    /// Creates a session in memory from these lines.
    pub(crate) fn from_bytes(
        world: &World,
        bytes: Vec<u8>,
        backing_of: impl FnOnce(MemoryLog) -> Backing,
    ) -> Result<Self, SessionError> {
        let log = MemoryLog::new(bytes);
        let outline = scan(world, &log)?;
        Self::new(backing_of(log), ReadOutline::read(outline))
    }

    /// Opens a file that holds a session; refuses anything else. Writes nothing.
    pub(crate) fn open_file(world: &World, path: &Path) -> Result<Self, SessionError> {
        let log = world.place.open(path, world.writing)?;
        let outline = outline_of(world, log.as_ref(), path)?;
        if world.is_in_memory() {
            return Self::open_overlay(world, log, outline, path);
        }
        let mut session = Self::new(Backing::Log { log, path: Some(path.to_path_buf()) }, outline)?;
        session.saved = world.caches().map(|caches| (caches, absolute(world.environment(), path)));
        Ok(session)
    }

    /// Like [`open_file`](Self::open_file), for writing: restores entries that an earlier process acknowledged and
    /// another program destroyed.
    fn open_for_writing(world: &World, path: &Path) -> Result<Self, SessionError> {
        let mut session = Self::open_file(world, path)?;
        session.resume(world)?;
        Ok(session)
    }

    /// Opens a session that is read from a log and written to memory.
    fn open_overlay(world: &World, log: Box<dyn Log>, outline: ReadOutline, path: &Path) -> Result<Self, SessionError> {
        let overlay = Overlay::new(log)?;
        // Data appended in the meantime may have completed the last line.
        let outline = if outline.outline.end() == overlay.length()? {
            outline
        } else {
            ReadOutline::read(scan(world, &overlay)?)
        };
        let is_old = outline.outline.upgrade().is_needed();
        let mut session = Self::new(Backing::Log { log: Box::new(overlay), path: Some(path.to_path_buf()) }, outline)?;
        session.saved = world.caches().map(|caches| (caches, absolute(world.environment(), path)));
        // The upgrade must not reach the file either.
        if is_old { session.into_memory(world) } else { Ok(session) }
    }

    fn new(backing: Backing, read_outline: ReadOutline) -> Result<Self, SessionError> {
        let ReadOutline { outline, doubted } = read_outline;
        let leaf = outline.leaf();
        let Some(row) = outline.header() else {
            return Err(SessionError::NotASession {
                path: backing.path().unwrap_or(Path::new("(memory)")).to_path_buf(),
            });
        };
        let header_line = backing.log().read(outline.span(row))?;
        let changed = |source| SessionError::Changed { log: backing.name(), line: outline.line_number(row), source };
        let header = Raw::parse(&header_line).map_err(changed)?;
        let header = Header::new(upgrade_header(&outline, header));
        Ok(Self {
            header,
            header_line,
            backing,
            outline,
            is_void: false,
            doubted,
            is_stale: AtomicBool::new(false),
            saved: None,
            leaf,
            labels: OnceLock::new(),
            archive: OnceLock::new(),
            foreign: None,
            unsettled: Vec::new(),
            is_writer: false,
            retained: RetainedState::default(),
        })
    }

    /// Continues with the session after it was read again.
    fn continue_with(&mut self, mut loaded: Self, leaf: Option<Row>) {
        let mut retained = std::mem::take(&mut self.retained);
        retained.pending_events.append(&mut loaded.retained.pending_events);
        retained.n_renumbered += 1;
        *self = Self { leaf, retained, ..loaded };
    }

    /// Queues an event for notification.
    fn notice(&mut self, event: SessionEvent) {
        self.retained.pending_events.push(PendingEvent::Ready(event));
    }

    /// Fails if another file has taken the place of the session's file since it was opened.
    pub(crate) fn refuse_replaced(&self) -> Result<(), SessionError> {
        match self.backing.log().length() {
            Err(error @ sessile_store::StoreError::Replaced { .. }) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The value of a row, in the current version's form.
    pub(crate) fn value(&self, row: Row) -> Result<Json, SessionError> {
        let value = self.stored_value(row)?;
        if !self.outline.upgrade().is_needed() {
            return Ok(value);
        }
        upgrade_value(&self.outline, row, value.raw(), &mut |row| self.stored_value(row))
    }

    fn stored_value(&self, row: Row) -> Result<Json, SessionError> {
        self.check_current()?;
        let (around, n_before) = self.span_around(row);
        let bytes = self.backing.log().read(around)?;
        let line = self.checked(row, &bytes, n_before)?;
        self.parsed(row, line).map(Raw::to_json)
    }

    /// The bytes to read for a row: its line, and one byte on each side if the line must be checked.
    fn span_around(&self, row: Row) -> (Span, usize) {
        let span = self.outline.span(row);
        if span.offset >= self.doubted {
            return (span, 0);
        }
        let n_before = span.offset.min(1);
        // Saved lines always end with a newline.
        let around = Span { offset: span.offset - n_before, len: n_before + span.len + 1 };
        (around, usize::from(n_before > 0))
    }

    /// Extracts a row's line from the bytes around it, and checks that it matches the row.
    ///
    /// A mismatch means that another program has changed the middle of the file. The cached outline is then dropped
    /// at once.
    fn checked<'l>(&self, row: Row, around: &'l [u8], n_before: usize) -> Result<&'l [u8], SessionError> {
        let span = self.outline.span(row);
        let len = usize::try_from(span.len).unwrap_or(usize::MAX);
        let (before, rest) = around.split_at_checked(n_before).unwrap_or_default();
        let (line, behind) = rest.split_at_checked(len).unwrap_or_default();
        if span.offset >= self.doubted {
            return Ok(line);
        }
        // A byte order mark may precede the first line.
        let begins = before.is_empty() || before == b"\n" || span.offset == 3;
        let ends = behind.first() == Some(&b'\n') && memchr::memchr(b'\n', line).is_none();
        if begins && ends && self.outline.is_line_of(row, line) {
            return Ok(line);
        }
        Err(self.stale(row))
    }

    /// Notes that a row does not match its line any more. The next refresh reads the file again.
    fn stale(&self, row: Row) -> SessionError {
        self.is_stale.store(true, Ordering::Relaxed);
        if let Some((caches, path)) = &self.saved {
            caches.drop_outline(path);
        }
        SessionError::Stale { log: self.backing.name(), line: self.outline.line_number(row) }
    }

    /// Parses the line read for a row. The line was valid when the file was opened.
    pub(crate) fn parsed<'l>(&self, row: Row, line: &'l [u8]) -> Result<Raw<'l>, SessionError> {
        Raw::parse(line).map_err(|source| self.changed(row, source))
    }

    /// The error for a line that was valid when the file was opened and no longer is.
    fn changed(&self, row: Row, source: NotJson) -> SessionError {
        SessionError::Changed { log: self.backing.name(), line: self.outline.line_number(row), source }
    }

    /// The session's name.
    pub(crate) fn name(&self) -> Result<Option<String>, SessionError> {
        let named = self.outline.entries().rfind(|row| self.outline.kind(*row) == Kind::SessionInfo);
        let Some(row) = named else { return Ok(None) };
        let name = self.value(row)?.raw().get("name").and_then(Raw::as_string);
        Ok(name.map(|name| js_trim(&name).to_owned()).filter(|name| !name.is_empty()))
    }

    /// The label of an entry.
    pub(crate) fn label(&self, id: &EntryId) -> Result<Option<String>, SessionError> {
        Ok(self.labels()?.get(id).map(Label::text))
    }

    /// The labels of the whole file.
    pub(crate) fn labels(&self) -> Result<&Labels, SessionError> {
        if let Some(labels) = self.labels.get() {
            return Ok(labels);
        }
        let mut labels = Labels::default();
        for row in self.outline.entries().filter(|row| self.outline.kind(*row) == Kind::Label) {
            labels.push(self.value(row)?.raw());
        }
        Ok(self.labels.get_or_init(|| labels))
    }

    /// What is archived in the file. Reads only extension entries that are short enough to be a mark.
    pub(crate) fn archive(&self) -> Result<&Archive, SessionError> {
        if let Some(archive) = self.archive.get() {
            return Ok(archive);
        }
        let (mut archive, mut rows, id) = (Archive::default(), self.reading(), self.header.id());
        let may_be_mark =
            |row: &Row| self.outline.kind(*row) == Kind::Custom && self.outline.span(*row).len <= MAX_LINE;
        let name = Finder::new(CUSTOM_TYPE);
        for row in self.outline.entries().filter(may_be_mark) {
            if rows.has(row, &name)? {
                archive.push(rows.value(row)?.raw(), &id);
            }
        }
        Ok(self.archive.get_or_init(|| archive))
    }

    /// Whether the session is archived, or its branch that begins at `entry`.
    pub(crate) fn is_archived(&self, entry: Option<&EntryId>) -> Result<bool, SessionError> {
        let archive = self.archive()?;
        Ok(entry.map_or_else(|| archive.is_archived(), |entry| archive.has_branch(entry)))
    }

    /// Drops labels and marks that were read and may be out of date.
    fn forget_read(&mut self) {
        self.labels = OnceLock::new();
        self.archive = OnceLock::new();
    }

    pub(crate) fn leaf_id(&self) -> Option<EntryId> {
        self.leaf.and_then(|leaf| self.outline.id(leaf))
    }

    pub(crate) fn leaf_path(&self) -> Vec<Row> {
        self.leaf.map(|leaf| self.outline.path(leaf)).unwrap_or_default()
    }

    /// Whether the file has the same header line as when it was first read.
    pub(crate) fn has_known_header(&self) -> bool {
        let header = self.outline.header().map(|row| self.outline.span(row));
        header.is_some_and(|span| self.backing.log().read(span).is_ok_and(|line| line == self.header_line))
    }

    /// The version in the header's line as first read; 1 if it has none.
    pub(crate) fn stored_version(&self) -> String {
        let header = Raw::parse(&self.header_line).ok();
        let version = header.and_then(|header| header.get("version")).map(|version| version.to_text().into_owned());
        version.unwrap_or_else(|| "1".to_owned())
    }

    /// Refuses to write to a file of a newer version.
    pub(crate) fn check_writable(&self) -> Result<(), SessionError> {
        let Some(path) = self.backing.path().filter(|_| self.outline.upgrade().is_newer()) else { return Ok(()) };
        let version = self.header.json().raw().get("version").map(|version| version.to_text().into_owned());
        let version = version.unwrap_or_default();
        Err(SessionError::NewerVersion { path: path.to_path_buf(), version })
    }
}

/// A header in the current version's form.
fn upgrade_header(outline: &Outline, header: Raw<'_>) -> Json {
    let Some(row) = outline.header() else { return header.to_json() };
    let Ok(upgraded) = upgrade_value(outline, row, header, &mut |_| Ok::<_, Infallible>(Json::null()));
    upgraded
}

/// A value as a line of a file.
pub(crate) fn line_of(value: Raw<'_>) -> Vec<u8> {
    let mut line = Vec::with_capacity(value.as_bytes().len() + 1);
    put_line(value.to_json(), &mut line);
    line
}

/// Appends a value to other lines.
fn put_line(value: Json, lines: &mut Vec<u8>) {
    // A value may span several lines, but an entry must be a single line.
    let is_one_line = memchr::memchr(b'\n', value.raw().as_bytes()).is_none();
    let line = if is_one_line { value } else { print(value.raw()) };
    if lines.capacity() == 0 {
        *lines = line.into_bytes();
    } else {
        lines.extend_from_slice(line.raw().as_bytes());
    }
    lines.push(b'\n');
}

/// The number of short ids to try before falling back to a long one.
const MAX_SHORT_ID_ATTEMPTS: usize = 100;

/// A short id that is not taken; falls back to a long one.
pub(crate) fn fresh_id(environment: &dyn Environment, is_taken: &dyn Fn(&EntryId) -> bool) -> EntryId {
    for _ in 0..MAX_SHORT_ID_ATTEMPTS {
        let mut uuid = environment.entry_uuid();
        if uuid.is_char_boundary(8) {
            uuid.truncate(8);
        }
        let id = EntryId::from(uuid);
        if !is_taken(&id) {
            return id;
        }
    }
    EntryId::from(environment.entry_uuid())
}
