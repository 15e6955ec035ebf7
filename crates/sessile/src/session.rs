//! One loaded session: its log, its outline, and where we are in it.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sessile_core::EntryId;
use sessile_core::date::to_iso;
use sessile_core::head::Kind;
use sessile_core::header::Header;
use sessile_core::json::{Json, Raw, print};
use sessile_core::label::Labels;
use sessile_core::line::{Line, Span};
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_store::{Expect, FileLog, Log, MemoryLog, StoreError, replace};

use crate::environment::{Environment, Migrated};
use crate::error::SessionError;

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
    pub(crate) leaf: Option<Row>,
    /// Read when first asked for: opening a session decodes no payload.
    labels: OnceLock<Labels>,
}

/// How many names are tried for a file of ours.
const MAX_NAMES: usize = 100;

/// How often an append starts over because another program wrote in between.
///
/// After that it is written wherever the end is: with `O_APPEND` no byte is in
/// danger, and what came in between is taken in afterwards. Only the id is then
/// not known to be free among those lines, one chance in four billion each.
const MAX_RACES: usize = 8;

impl Session {
    /// A session in memory that starts with these lines.
    pub(crate) fn from_bytes(
        environment: &dyn Environment,
        bytes: Vec<u8>,
        place: impl FnOnce(MemoryLog) -> Backing,
    ) -> Result<Self, SessionError> {
        let log = MemoryLog::new(bytes);
        let outline = scan(environment, &log)?;
        Self::new(place(log), outline)
    }

    /// Opens a file that holds a session; anything else is refused and left as it is.
    pub(crate) fn open_file(environment: &dyn Environment, path: &Path) -> Result<Self, SessionError> {
        let log = FileLog::open(path)?;
        let outline = scan(environment, &log)?;
        Self::new(Backing::File { log: Box::new(log), path: path.to_path_buf() }, outline)
    }

    fn new(backing: Backing, outline: Outline) -> Result<Self, SessionError> {
        let leaf = outline.leaf();
        let Some(row) = outline.header() else {
            return Err(SessionError::NotASession { path: backing.shown_path() });
        };
        let header_line = backing.log().read(outline.span(row))?;
        let changed =
            |source| SessionError::Changed { path: backing.shown_path(), line: outline.line_number(row), source };
        let header = Raw::parse(&header_line).map_err(changed)?;
        let header = Header::new(upgrade_header(&outline, header));
        Ok(Self { header, header_line, backing, outline, leaf, labels: OnceLock::new() })
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
        let line = self.backing.log().read(self.outline.span(row))?;
        self.parsed(row, &line).map(Raw::to_json)
    }

    /// The value of a line that was read for a row, which was valid when the file was opened.
    pub(crate) fn parsed<'l>(&self, row: Row, line: &'l [u8]) -> Result<Raw<'l>, SessionError> {
        Raw::parse(line).map_err(|source| SessionError::Changed {
            path: self.backing.shown_path(),
            line: self.outline.line_number(row),
            source,
        })
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

    pub(crate) fn leaf_id(&self) -> Option<EntryId> {
        self.leaf.and_then(|leaf| self.outline.id(leaf))
    }

    pub(crate) fn leaf_path(&self) -> Vec<Row> {
        self.leaf.map(|leaf| self.outline.path(leaf)).unwrap_or_default()
    }

    /// An id that no entry has.
    pub(crate) fn fresh_id(&self, environment: &dyn Environment) -> EntryId {
        fresh_id(environment, &|id| self.outline.find(id).is_some())
    }

    /// Refuses to write to what a newer version wrote.
    pub(crate) fn check_writable(&self) -> Result<(), SessionError> {
        let Some(path) = self.backing.path().filter(|_| self.outline.upgrade().is_newer()) else { return Ok(()) };
        let version = self.header.json().raw().get("version").map(|version| version.to_text().into_owned());
        let version = version.unwrap_or_default();
        Err(SessionError::NewerVersion { path: path.to_path_buf(), version })
    }

    /// Writes an entry and takes it in. If writing fails, nothing has changed here.
    ///
    /// `compose` makes the entry once its id is known; it is asked again if
    /// another program has taken that id in the meantime.
    pub(crate) fn append(
        &mut self,
        environment: &dyn Environment,
        compose: &dyn Fn(&EntryId) -> Json,
    ) -> Result<EntryId, SessionError> {
        let mut n_races = 0;
        let mut id = self.fresh_id(environment);
        loop {
            let entry = compose(&id);
            let line = line_of(entry.raw());
            let must_be_known = n_races < MAX_RACES;
            match self.write(environment, &line, is_conversation(entry.raw()), must_be_known) {
                Ok(Written::Behind(known)) => {
                    self.take(environment, &line, known, entry.raw());
                    return Ok(id);
                }
                Ok(Written::FurtherOn) => {
                    self.catch_up(environment)?;
                    self.leaf = self.outline.find(&id);
                    return Ok(id);
                }
                Err(SessionError::Store(StoreError::Grown { .. })) if must_be_known => {
                    self.catch_up(environment)?;
                    n_races += 1;
                    if self.outline.find(&id).is_some() {
                        id = self.fresh_id(environment);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gets a file ready to be appended to: refuses one that is newer, upgrades one that is older.
    ///
    /// The upgrade may give entries other ids, so this comes before anything asks for one.
    pub(crate) fn prepare_write(&mut self, environment: &dyn Environment) -> Result<(), SessionError> {
        self.check_writable()?;
        self.upgrade_file(environment)
    }

    /// Puts a line where it belongs.
    fn write(
        &mut self,
        environment: &dyn Environment,
        line: &[u8],
        is_conversation: bool,
        must_be_known: bool,
    ) -> Result<Written, SessionError> {
        let is_worth_a_file = is_conversation || self.outline.has_conversation();
        if matches!(self.backing, Backing::Awaited { place: Awaiting::EmptyFile, .. }) {
            self.fill_empty_file(environment)?;
        }
        let known = self.outline.end();
        match &mut self.backing {
            Backing::File { log, .. } => {
                let expect = if must_be_known { Expect::Length(known) } else { Expect::Anything };
                let offset = log.append(line, expect)?.offset;
                // The log may have been as long as we knew when it was looked at, and have grown since.
                let expected = known + u64::from(self.outline.is_unterminated());
                return Ok(if offset == expected { Written::Behind(offset) } else { Written::FurtherOn });
            }
            Backing::Awaited { .. } if is_worth_a_file => self.create_file(line)?,
            Backing::Memory(log) | Backing::Awaited { log, .. } => {
                log.append(line, Expect::Anything)?;
            }
        }
        Ok(Written::Behind(known))
    }

    /// Writes an awaited session, and this line behind it, to a new file.
    fn create_file(&mut self, line: &[u8]) -> Result<(), StoreError> {
        let Backing::Awaited { log, path, place } = &self.backing else { return Ok(()) };
        let bytes = [log.bytes(), line].concat();
        let mut path = path.clone();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for n_taken in 1.. {
            match FileLog::create(path.clone(), &bytes) {
                // A name of ours that somebody has taken must not keep the session from being saved.
                Err(StoreError::Exists { .. }) if *place == Awaiting::OurName && n_taken <= MAX_NAMES => {
                    path.set_file_name(format!("{stem}-{n_taken}.jsonl"));
                }
                created => {
                    self.backing = Backing::File { log: Box::new(created?), path };
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives a file that was empty when it was opened its header.
    ///
    /// An earlier attempt may have left a part of the header there, which then
    /// is a line that counts for nothing. Anything else in the file is not
    /// ours, and refused.
    fn fill_empty_file(&mut self, environment: &dyn Environment) -> Result<(), SessionError> {
        let Backing::Awaited { log, path, .. } = &self.backing else { return Ok(()) };
        let header = log.bytes().to_vec();
        let path = path.clone();
        let mut stored = FileLog::open(path.clone())?;
        let length = stored.length()?;
        let there = stored.read(Span { offset: 0, len: length.min(header.len() as u64) })?;
        let is_ours = header.starts_with(there.trim_ascii_end()) && length <= header.len() as u64 + 1;
        if !is_ours {
            return Err(SessionError::NotASession { path });
        }
        stored.append(&header, Expect::Length(length))?;
        *self = Self::open_file(environment, &path)?;
        Ok(())
    }

    /// Writes an awaited session to its file whether or not it is worth one.
    pub(crate) fn store_now(&mut self, environment: &dyn Environment) -> Result<(), SessionError> {
        if matches!(self.backing, Backing::Awaited { place: Awaiting::EmptyFile, .. }) {
            return self.fill_empty_file(environment);
        }
        Ok(self.create_file(b"")?)
    }

    /// Adds a line that was written to what is known, and makes it the leaf.
    fn take(&mut self, environment: &dyn Environment, line: &[u8], offset: u64, entry: Raw<'_>) {
        let bytes = &line[..line.len() - 1];
        let span = Span { offset, len: bytes.len() as u64 };
        self.outline.push(Line { span, bytes: Some(bytes), terminated: true }, &mut Migrated(environment));
        self.leaf = self.outline.leaf();
        let is_label = self.leaf.is_some_and(|leaf| self.outline.kind(leaf) == Kind::Label);
        if let Some(labels) = self.labels.get_mut().filter(|_| is_label) {
            labels.push(entry);
        }
    }

    /// Takes in what other programs have appended. The leaf stays where it is.
    pub(crate) fn catch_up(&mut self, environment: &dyn Environment) -> Result<(), SessionError> {
        let Backing::File { log, path } = &self.backing else { return Ok(()) };
        let (known, length) = (self.outline.end(), log.length()?);
        match length.cmp(&known) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => {
                return Err(StoreError::Truncated { path: path.clone(), expected: known, actual: length }.into());
            }
            Ordering::Greater => {}
        }
        let leaf = self.leaf_id();
        if self.outline.is_unterminated() {
            // The unfinished line may be another one by now, so everything is read anew.
            let outline = scan(environment, log.as_ref())?;
            if let Some(id) = leaf.as_ref().filter(|leaf| outline.find(leaf).is_none()) {
                return Err(SessionError::LeafGone { path: path.clone(), id: id.clone() });
            }
            self.outline = outline;
        } else {
            let (outline, mut ids) = (&mut self.outline, Migrated(environment));
            log.scan(known, &mut |line| outline.push(line, &mut ids))?;
        }
        self.leaf = leaf.and_then(|leaf| self.outline.find(&leaf));
        self.labels = OnceLock::new();
        Ok(())
    }

    /// Brings a file of version 1 or 2 to the current version, once something is to be written to it.
    fn upgrade_file(&mut self, environment: &dyn Environment) -> Result<(), SessionError> {
        if !matches!(self.backing, Backing::File { .. }) || !self.outline.upgrade().is_needed() {
            return Ok(());
        }
        let Backing::File { path, log } = &self.backing else { return Ok(()) };
        let path = path.clone();
        let header = self.outline.header().map(|row| self.outline.span(row));
        let is_as_read = header.is_some_and(|span| log.read(span).is_ok_and(|line| line == self.header_line));
        if !is_as_read {
            // Somebody else has upgraded the file in place, so none of the offsets we know is right.
            self.reload(environment, &path)?;
            return self.upgrade_file(environment);
        }
        self.catch_up(environment)?;
        let Backing::File { log, .. } = &self.backing else { return Ok(()) };
        let stamp = to_iso(environment.now_ms()).replace([':', '.'], "-");
        let replaced = replace(&path, self.outline.end(), &stamp, &mut |out| self.write_lines(&path, out, &|_| true));
        // Also after an error the new file may be in place already, and then that is the one to go on with.
        if replaced.is_ok() || matches!(log.length(), Err(StoreError::Replaced { .. })) {
            self.reload(environment, &path)?;
        }
        replaced.map(drop)
    }

    /// Opens the file again after it was upgraded, and stands where we stood.
    ///
    /// An upgrade keeps entries and their order, so a place among them stays a place among them.
    fn reload(&mut self, environment: &dyn Environment, path: &Path) -> Result<(), SessionError> {
        let reloaded = Self::open_file(environment, path)?;
        let is_same = reloaded.header.id() == self.header.id()
            && reloaded.outline.rows().len() >= self.outline.rows().len()
            && self.outline.rows().all(|row| self.outline.kind(row) == reloaded.outline.kind(row));
        if !is_same {
            return Err(StoreError::Replaced { path: path.to_path_buf() }.into());
        }
        *self = Self { leaf: self.leaf, ..reloaded };
        Ok(())
    }

    /// The same session, upgraded, in memory alone.
    pub(crate) fn into_memory(self, environment: &dyn Environment) -> Result<Self, SessionError> {
        let mut bytes = Vec::new();
        self.write_lines(Path::new("(memory)"), &mut bytes, &|_| true)?;
        Self::from_bytes(environment, bytes, Backing::Memory)
    }

    /// The line of a row for a copy: byte for byte, unless it has to be brought to the current version.
    pub(crate) fn copied_line(&self, row: Row) -> Result<Vec<u8>, SessionError> {
        let upgraded = if self.outline.upgrade().is_needed() { Some(self.value(row)?) } else { None };
        match upgraded {
            Some(upgraded) if upgraded != self.stored_value(row)? => Ok(upgraded.into_bytes()),
            _ => Ok(self.backing.log().read(self.outline.span(row))?),
        }
    }

    /// Writes every line, entries in the current version's form and all else byte for byte.
    ///
    /// `keep` decides about rows; what is no row is always written.
    pub(crate) fn write_lines(
        &self,
        path: &Path,
        out: &mut dyn Write,
        keep: &dyn Fn(Row) -> bool,
    ) -> Result<(), SessionError> {
        let mut rows = self.outline.rows().peekable();
        let mut result = Ok(());
        let mut write = |line: Line<'_>| -> Result<(), SessionError> {
            let row = rows.next_if(|row| self.outline.span(*row).end() == line.span.end());
            let bytes = match (row, line.bytes) {
                (Some(row), _) if !keep(row) => return Ok(()),
                (Some(row), Some(_)) => self.copied_line(row)?,
                (_, Some(bytes)) => bytes.to_vec(),
                (_, None) => self.backing.log().read(line.span)?,
            };
            let failed = |source| StoreError::io_at("write", path, source);
            out.write_all(&bytes).and_then(|()| out.write_all(b"\n")).map_err(failed)?;
            Ok(())
        };
        self.backing.log().scan(0, &mut |line| {
            // What came after the outline was made is not ours to copy: `replace` carries it over.
            if result.is_ok() && line.span.offset < self.outline.end() {
                result = write(line);
            }
        })?;
        result
    }
}

/// Where a line went.
enum Written {
    /// Directly behind what we know of the file, at this offset.
    Behind(u64),
    /// Behind lines of others that we have not seen yet.
    FurtherOn,
}

/// A header in the current version's form.
fn upgrade_header(outline: &Outline, header: Raw<'_>) -> Json {
    let Some(row) = outline.header() else { return header.to_json() };
    let Ok(upgraded) = upgrade_value(outline, row, header, &mut |_| Ok::<_, Infallible>(Json::null()));
    upgraded
}

/// Reads a whole log into an outline.
pub(crate) fn scan(environment: &dyn Environment, log: &dyn Log) -> Result<Outline, SessionError> {
    let mut outline = Outline::new();
    let mut ids = Migrated(environment);
    log.scan(0, &mut |line| outline.push(line, &mut ids))?;
    Ok(outline)
}

/// A value as a line of a file.
pub(crate) fn line_of(value: Raw<'_>) -> Vec<u8> {
    // A value may be spread over several lines, which a line of a file must not be.
    let is_one_line = !value.as_bytes().contains(&b'\n');
    let mut line = if is_one_line { value.as_bytes().to_vec() } else { print(value).into_bytes() };
    line.push(b'\n');
    line
}

fn is_conversation(entry: Raw<'_>) -> bool {
    use sessile_core::head::{Parsed, read};
    matches!(read(entry.as_bytes()), Parsed::Kept(head) if head.role.is_conversation())
}

/// How many short ids are tried before a long one is taken.
const MAX_DRAWS: usize = 100;

/// A short id that is not taken, or a long one if short ones keep being taken.
pub(crate) fn fresh_id(environment: &dyn Environment, is_taken: &dyn Fn(&EntryId) -> bool) -> EntryId {
    for _ in 0..MAX_DRAWS {
        let uuid = environment.entry_uuid();
        let id = EntryId::from(uuid.get(..8).unwrap_or(&uuid));
        if !is_taken(&id) {
            return id;
        }
    }
    EntryId::from(environment.entry_uuid())
}
