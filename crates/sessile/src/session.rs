//! One loaded session: its log, its outline, and where we are in it.

mod append;
mod change;
mod outlined;
mod rows;
mod upgrade;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem::Finder;

pub(crate) use self::append::entry_ids;
use self::outlined::{Outlined, outline_of, scan};
use sessile_core::EntryId;
use sessile_core::archive::{Archive, CUSTOM_TYPE, MOST_LINE};
use sessile_core::context::ReadContext;
use sessile_core::head::Kind;
use sessile_core::header::Header;
use sessile_core::json::{Json, NotJson, Raw, print};
use sessile_core::label::Labels;
use sessile_core::line::Span;
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_index::Caches;
use sessile_store::{Durable, FileLog, Log, MemoryLog, Overlay, Ticket};

use crate::environment::Environment;
use crate::error::SessionError;
use crate::event::{Event, Happening};
use crate::place::absolute;
use crate::world::World;

/// Where a session's bytes are.
pub(crate) enum Backing {
    /// Nowhere but here, for good.
    Memory(MemoryLog),
    /// Here until the session is worth a file of that name.
    Awaited {
        /// What will be written.
        log: MemoryLog,
        /// Where to.
        path: PathBuf,
        /// What is known about that name.
        place: Awaiting,
    },
    /// In a file.
    File {
        /// The file.
        log: Box<dyn Log>,
        /// Where it is.
        path: PathBuf,
    },
}

impl Backing {
    fn log(&self) -> &dyn Log {
        match self {
            Self::Memory(log) | Self::Awaited { log, .. } => log,
            Self::File { log, .. } => log.as_ref(),
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory(_) => None,
            Self::Awaited { path, .. } | Self::File { path, .. } => Some(path),
        }
    }

    /// The path as errors show it.
    fn shown_path(&self) -> PathBuf {
        self.path().unwrap_or(Path::new("(memory)")).to_path_buf()
    }
}

/// What is known about the name of a file that is yet to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaiting {
    /// We made it up, so another one does as well.
    OurName,
    /// The caller gave it.
    GivenName,
    /// The caller gave it, and an empty file is there already, which takes every entry at once.
    EmptyFile,
}

/// A session and the current place in it.
pub(crate) struct Session {
    pub(crate) header: Header,
    /// The header's line as it was when it was read, to notice that somebody has rewritten the file.
    header_line: Vec<u8>,
    pub(crate) backing: Backing,
    pub(crate) outline: Outline,
    /// Whether the file has changed so much that the outline says nothing about it.
    is_void: bool,
    /// Rows before this offset are compared with their lines when those are read: another program has written to the
    /// file since they were.
    doubted: u64,
    /// Whether a line was found that is not what its row says, so that everything has to be read again.
    is_stale: AtomicBool,
    /// Where the outline is saved, so that a wrong one can be dropped.
    saved: Option<(Caches, PathBuf)>,
    pub(crate) leaf: Option<Row>,
    /// Read when first asked for: opening a session decodes no payload.
    labels: OnceLock<Labels>,
    /// Read when first asked for, too.
    archive: OnceLock<Archive>,
    /// The last entry that another program has added since our last one.
    foreign: Option<EntryId>,
    /// What the last entry of the file must be for the next append.
    pub(crate) expected_leaf: ExpectedLeaf,
    /// What became of the last append.
    pub(crate) acknowledged: Option<Acknowledgement>,
    /// Whether appends leave waiting for the disk to the caller, and for what there is to wait.
    pub(crate) deferred: Option<Vec<Ticket>>,
    /// Deferred appends of which the disk has not heard yet, each with the leaf before it.
    unsettled: Vec<(u64, Option<EntryId>)>,
    /// What happened and was not told yet.
    pub(crate) happened: Vec<Happening>,
    /// How many turns at the file are under way. Whoever is told of something may want a turn, too.
    pub(crate) n_turns: usize,
    /// Where the file is kept as it was before it was upgraded.
    pub(crate) original: Option<PathBuf>,
    /// Whether we write to the file, and not only look: only then is anything put back that was destroyed in it.
    is_writer: bool,
}

/// What a caller expects of the file's last entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExpectedLeaf {
    /// Nothing.
    #[default]
    Any,
    /// That it is this one, or that there is none.
    Exactly(Option<EntryId>),
}

/// What it means that an append has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The last entry that was written.
    pub entry_id: EntryId,
    /// What the entry survives.
    pub durable: Durable,
}

impl Session {
    /// A session in memory that starts with these lines.
    pub(crate) fn from_bytes(
        world: &World,
        bytes: Vec<u8>,
        place: impl FnOnce(MemoryLog) -> Backing,
    ) -> Result<Self, SessionError> {
        let log = MemoryLog::new(bytes);
        let outline = scan(world, &log)?;
        Self::new(place(log), Outlined::read(outline))
    }

    /// Opens a file that holds a session; anything else is refused and left as it is. Writes nothing.
    pub(crate) fn open_file(world: &World, path: &Path) -> Result<Self, SessionError> {
        Self::open_log(world, FileLog::open(&world.os, path, world.writing)?, path)
    }

    /// The same to go on writing: what an earlier process had acknowledged and another program has destroyed since is put back.
    fn open_for_writing(world: &World, path: &Path) -> Result<Self, SessionError> {
        let mut session = Self::open_file(world, path)?;
        session.resume(world)?;
        Ok(session)
    }

    fn open_log(world: &World, log: FileLog, path: &Path) -> Result<Self, SessionError> {
        if world.is_in_memory() {
            return Self::open_overlay(world, log, path);
        }
        let outline = outline_of(world, &log, path)?;
        let mut session = Self::new(Backing::File { log: Box::new(log), path: path.to_path_buf() }, outline)?;
        session.saved = world.caches().map(|caches| (caches, absolute(world.environment(), path)));
        Ok(session)
    }

    /// A session that is read from a file and written to memory.
    fn open_overlay(world: &World, log: FileLog, path: &Path) -> Result<Self, SessionError> {
        let outline = outline_of(world, &log, path)?;
        let overlay = Overlay::new(log)?;
        // What was added meanwhile may have completed the last line.
        let outline =
            if outline.outline.end() == overlay.length()? { outline } else { Outlined::read(scan(world, &overlay)?) };
        let is_old = outline.outline.upgrade().is_needed();
        let mut session = Self::new(Backing::File { log: Box::new(overlay), path: path.to_path_buf() }, outline)?;
        session.saved = world.caches().map(|caches| (caches, absolute(world.environment(), path)));
        // Its upgrade belongs to what must not reach the file.
        if is_old { session.into_memory(world) } else { Ok(session) }
    }

    fn new(backing: Backing, outlined: Outlined) -> Result<Self, SessionError> {
        let Outlined { outline, doubted } = outlined;
        let leaf = outline.leaf();
        let Some(row) = outline.header() else {
            return Err(SessionError::NotASession { path: backing.shown_path() });
        };
        let header_line = backing.log().read(outline.span(row))?;
        let changed =
            |source| SessionError::Changed { path: backing.shown_path(), line: outline.line_number(row), source };
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
            expected_leaf: ExpectedLeaf::Any,
            acknowledged: None,
            deferred: None,
            unsettled: Vec::new(),
            happened: Vec::new(),
            n_turns: 0,
            original: None,
            is_writer: false,
        })
    }

    /// Remembers to tell of something.
    fn notice(&mut self, event: Event) {
        self.happened.push(Happening::Noticed(event));
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

    /// What has to be read for a row: its line, and if that has to be checked, what stands before and behind it.
    fn span_around(&self, row: Row) -> (Span, usize) {
        let span = self.outline.span(row);
        if span.offset >= self.doubted {
            return (span, 0);
        }
        let n_before = span.offset.min(1);
        // Saved lines are ended ones.
        let around = Span { offset: span.offset - n_before, len: n_before + span.len + 1 };
        (around, usize::from(n_before > 0))
    }

    /// The line of a row in what was read around it, if it is what the row says.
    ///
    /// If not, another program has changed the file in the middle. What was saved of it is dropped at once.
    fn checked<'l>(&self, row: Row, around: &'l [u8], n_before: usize) -> Result<&'l [u8], SessionError> {
        let span = self.outline.span(row);
        let len = usize::try_from(span.len).unwrap_or(usize::MAX);
        let (before, rest) = around.split_at_checked(n_before).unwrap_or_default();
        let (line, behind) = rest.split_at_checked(len).unwrap_or_default();
        if span.offset >= self.doubted {
            return Ok(line);
        }
        // A byte order mark may stand before the first line.
        let begins = before.is_empty() || before == b"\n" || span.offset == 3;
        let ends = behind.first() == Some(&b'\n') && memchr::memchr(b'\n', line).is_none();
        if begins && ends && self.outline.is_line_of(row, line) {
            return Ok(line);
        }
        self.is_stale.store(true, Ordering::Relaxed);
        if let Some((caches, path)) = &self.saved {
            caches.drop_outline(path);
        }
        Err(SessionError::Stale { path: self.backing.shown_path(), line: self.outline.line_number(row) })
    }

    /// The value of a line that was read for a row, which was valid when the file was opened.
    pub(crate) fn parsed<'l>(&self, row: Row, line: &'l [u8]) -> Result<Raw<'l>, SessionError> {
        Raw::parse(line).map_err(|source| self.changed(row, source))
    }

    /// Says that a line that was valid when the file was opened is so no longer.
    fn changed(&self, row: Row, source: NotJson) -> SessionError {
        SessionError::Changed { path: self.backing.shown_path(), line: self.outline.line_number(row), source }
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

    /// What is archived in the file. Of the entries of extensions only those are read that are short enough for a mark.
    pub(crate) fn archive(&self) -> Result<&Archive, SessionError> {
        if let Some(archive) = self.archive.get() {
            return Ok(archive);
        }
        let (mut archive, mut rows, id) = (Archive::default(), self.reading(), self.header.id());
        let may_be_mark =
            |row: &Row| self.outline.kind(*row) == Kind::Custom && self.outline.span(*row).len <= MOST_LINE;
        let name = Finder::new(CUSTOM_TYPE);
        for row in self.outline.entries().filter(may_be_mark) {
            if rows.has(row, &name)? {
                archive.push(rows.value(row)?.raw(), &id);
            }
        }
        Ok(self.archive.get_or_init(|| archive))
    }

    /// Forgets what was read of entries that may be others by now.
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

    /// The version in the header's line as it was when it was read; 1 if there is none.
    pub(crate) fn stored_version(&self) -> String {
        let header = Raw::parse(&self.header_line).ok();
        let version = header.and_then(|header| header.get("version")).map(|version| version.to_text().into_owned());
        version.unwrap_or_else(|| "1".to_owned())
    }

    /// Refuses to write to what a newer version wrote.
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

/// Puts a value behind other lines.
fn put_line(value: Json, lines: &mut Vec<u8>) {
    // A value may be spread over several lines, which a line of a file must not be.
    let is_one_line = memchr::memchr(b'\n', value.raw().as_bytes()).is_none();
    let line = if is_one_line { value } else { print(value.raw()) };
    if lines.capacity() == 0 {
        *lines = line.into_bytes();
    } else {
        lines.extend_from_slice(line.raw().as_bytes());
    }
    lines.push(b'\n');
}

/// How many short ids are tried before a long one is taken.
const MAX_DRAWS: usize = 100;

/// A short id that is not taken, or a long one if short ones keep being taken.
pub(crate) fn fresh_id(environment: &dyn Environment, is_taken: &dyn Fn(&EntryId) -> bool) -> EntryId {
    for _ in 0..MAX_DRAWS {
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
