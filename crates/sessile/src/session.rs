//! One loaded session: its log, its outline, and where we are in it.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sessile_core::EntryId;
use sessile_core::date::to_iso;
use sessile_core::head::{Kind, Parsed, read};
use sessile_core::header::Header;
use sessile_core::json::{Json, Raw, print};
use sessile_core::label::Labels;
use sessile_core::line::{Line, Span};
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_store::planted::{self, Bug};
use sessile_store::{Durable, Expect, FileLog, Log, MemoryLog, Notice, Overlay, StoreError, Ticket, replace};

use crate::environment::{Environment, Migrated};
use crate::error::SessionError;
use crate::event::{Event, FileChange};
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
    pub(crate) leaf: Option<Row>,
    /// Read when first asked for: opening a session decodes no payload.
    labels: OnceLock<Labels>,
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
    pub(crate) events: Vec<Event>,
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

/// How often an append starts over because another program has changed the file.
const MAX_CHANGES: usize = 4;

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
        world: &World,
        bytes: Vec<u8>,
        place: impl FnOnce(MemoryLog) -> Backing,
    ) -> Result<Self, SessionError> {
        let log = MemoryLog::new(bytes);
        let outline = scan(world, &log)?;
        Self::new(place(log), outline)
    }

    /// Opens a file that holds a session; anything else is refused and left as it is.
    ///
    /// What an earlier process had acknowledged and somebody has destroyed since is put back first.
    pub(crate) fn open_file(world: &World, path: &Path) -> Result<Self, SessionError> {
        Self::open_log(world, FileLog::open(&world.os, path, world.writing)?, path)
    }

    fn open_log(world: &World, mut log: FileLog, path: &Path) -> Result<Self, SessionError> {
        if world.is_in_memory() {
            return Self::open_overlay(world, log, path);
        }
        let resumed = if world.is_read_only { Ok(()) } else { log.resume() };
        let outline = scan(world, &log)?;
        let mut session = Self::new(Backing::File { log: Box::new(log), path: path.to_path_buf() }, outline)?;
        if let Err(error) = resumed {
            // Reading is possible all the same, and the next append tries again.
            session.events.push(Event::Unguarded { reason: error.to_string() });
        }
        session.take_notices();
        Ok(session)
    }

    /// A session that is read from a file and written to memory.
    fn open_overlay(world: &World, log: FileLog, path: &Path) -> Result<Self, SessionError> {
        let overlay = Overlay::new(log)?;
        let outline = scan(world, &overlay)?;
        let is_old = outline.upgrade().is_needed();
        let session = Self::new(Backing::File { log: Box::new(overlay), path: path.to_path_buf() }, outline)?;
        // Its upgrade belongs to what must not reach the file.
        if is_old { session.into_memory(world) } else { Ok(session) }
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
        Ok(Self {
            header,
            header_line,
            backing,
            outline,
            leaf,
            labels: OnceLock::new(),
            foreign: None,
            expected_leaf: ExpectedLeaf::Any,
            acknowledged: None,
            deferred: None,
            unsettled: Vec::new(),
            events: Vec::new(),
        })
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

    /// Refuses to write to what a newer version wrote.
    pub(crate) fn check_writable(&self) -> Result<(), SessionError> {
        let Some(path) = self.backing.path().filter(|_| self.outline.upgrade().is_newer()) else { return Ok(()) };
        let version = self.header.json().raw().get("version").map(|version| version.to_text().into_owned());
        let version = version.unwrap_or_default();
        Err(SessionError::NewerVersion { path: path.to_path_buf(), version })
    }

    /// Writes entries, each the child of the one before, and takes them in. If writing fails, nothing has changed here.
    ///
    /// `compose` makes the entry of a place once its id and its parent are
    /// known; it is asked again if another program has taken an id in the meantime.
    pub(crate) fn append(
        &mut self,
        world: &World,
        n_entries: usize,
        compose: &Compose<'_>,
    ) -> Result<Vec<EntryId>, SessionError> {
        self.begin_turn()?;
        let placed = self.append_in_turn(world, n_entries, compose);
        self.end_turn();
        let Placed { ids, lines, written } = placed?;
        let Some(last) = ids.last() else { return Ok(ids) };
        let is_file = matches!(self.backing, Backing::File { .. });
        let durable = if is_file { self.make_durable(&written)? } else { Durable::Memory };
        match written {
            Written::Behind(known) => self.take(world, &lines, known),
            Written::Created => self.take(world, &lines, self.outline.end()),
            Written::FurtherOn => self.take_in_around(world, last)?,
        }
        self.tell_divergence(last);
        self.acknowledged = Some(Acknowledgement { entry_id: last.clone(), durable });
        Ok(ids)
    }

    /// Writes entries while nobody else of ours does.
    fn append_in_turn(
        &mut self,
        world: &World,
        n_entries: usize,
        compose: &Compose<'_>,
    ) -> Result<Placed, SessionError> {
        let (mut n_races, mut n_changes) = (0, 0);
        let mut composed = self.compose(world, n_entries, compose);
        loop {
            self.check_expected_leaf()?;
            let Composed { ids, lines, has_conversation } = composed;
            // A caller who expects a leaf wants nothing to come in between.
            let must_be_known = n_races < MAX_RACES || self.expected_leaf != ExpectedLeaf::Any;
            match self.write(world, &lines, has_conversation, must_be_known) {
                Ok(written) => return Ok(Placed { ids, lines, written }),
                Err(SessionError::Store(StoreError::Grown { .. })) if must_be_known => {
                    self.catch_up(world)?;
                    n_races += 1;
                }
                Err(SessionError::Store(error)) if n_changes < MAX_CHANGES && change_of(&error).is_some() => {
                    self.resync(world, &error, LostLeaf::Refuse)?;
                    n_changes += 1;
                }
                Err(error) => {
                    if planted::has(Bug::MemoryBeforeWrite) {
                        self.take(world, &lines, self.outline.end());
                    }
                    return Err(self.noticed(error));
                }
            }
            let is_taken = ids.iter().any(|id| self.outline.find(id).is_some());
            composed = if is_taken {
                self.compose(world, n_entries, compose)
            } else {
                Composed { ids, lines, has_conversation }
            };
        }
    }

    /// Makes the lines of new entries.
    fn compose(&self, world: &World, n_entries: usize, compose: &Compose<'_>) -> Composed {
        let is_awaited = matches!(self.backing, Backing::Awaited { .. });
        let mut parent = self.leaf_id();
        let mut composed = Composed { ids: Vec::with_capacity(n_entries), lines: Vec::new(), has_conversation: false };
        for place in 0..n_entries {
            let is_taken = |id: &EntryId| self.outline.find(id).is_some() || composed.ids.contains(id);
            let id = fresh_id(world.environment(), &is_taken);
            let entry = compose(place, &id, parent.as_ref());
            // Once there is a file, nobody asks any more what is worth one.
            composed.has_conversation |= is_awaited && is_conversation(entry.raw());
            // Room for the others as well, which are probably about as long.
            composed.lines.reserve((n_entries - place) * (entry.raw().as_bytes().len() + 1));
            put_line(entry, &mut composed.lines);
            parent = Some(id.clone());
            composed.ids.push(id);
        }
        composed
    }

    /// Remembers that the file has gone, if that is what an error says.
    fn noticed(&mut self, error: SessionError) -> SessionError {
        if matches!(error, SessionError::Store(StoreError::Gone { .. })) {
            self.events.push(Event::FileGone);
        }
        error
    }

    /// Fails if the file's last entry is not the one the caller expects.
    fn check_expected_leaf(&self) -> Result<(), SessionError> {
        let ExpectedLeaf::Exactly(expected) = &self.expected_leaf else { return Ok(()) };
        let actual = self.outline.leaf().and_then(|leaf| self.outline.id(leaf));
        if actual == *expected {
            return Ok(());
        }
        Err(SessionError::LeafMoved { expected: expected.clone(), actual })
    }

    /// From now on, and until this is taken back, an append must find this entry last in the file.
    pub(crate) fn expect_leaf(&mut self, expected: Option<&EntryId>) -> Result<(), SessionError> {
        self.expected_leaf = ExpectedLeaf::Exactly(expected.cloned());
        self.check_expected_leaf()
    }

    /// Begins a turn at the file, if there is one.
    pub(crate) fn begin_turn(&mut self) -> Result<(), SessionError> {
        let Backing::File { log, .. } = &mut self.backing else { return Ok(()) };
        log.begin_turn()?;
        Ok(())
    }

    pub(crate) fn end_turn(&mut self) {
        if let Backing::File { log, .. } = &mut self.backing {
            log.end_turn();
        }
        self.take_notices();
    }

    /// Turns what happened to the file into events.
    fn take_notices(&mut self) {
        let Backing::File { log, .. } = &mut self.backing else { return };
        for notice in log.take_notices() {
            self.events.push(match notice {
                Notice::Recovered { lines } => {
                    Event::Recovered { entry_ids: lines.iter().filter_map(|line| id_of(line)).collect() }
                }
                Notice::Unguarded { reason } => Event::Unguarded { reason },
                Notice::WithoutLock { holder } => Event::WithoutLock { holder },
            });
        }
    }

    /// Waits until what was written survives what the caller wants it to survive.
    fn make_durable(&mut self, written: &Written) -> Result<Durable, SessionError> {
        let Backing::File { log, .. } = &mut self.backing else { return Ok(Durable::Memory) };
        if matches!(written, Written::Created) {
            // A new file was synced as a whole, if that is wanted.
            return Ok(log.durable());
        }
        if let Some(tickets) = &mut self.deferred
            && let Some(ticket) = log.ticket()
        {
            let n_synced = log.n_synced();
            self.unsettled.retain(|(number, _)| *number > n_synced);
            self.unsettled.push((ticket.number(), self.leaf.and_then(|leaf| self.outline.id(leaf))));
            tickets.push(ticket);
            return Ok(Durable::PageCache);
        }
        Ok(log.make_durable()?)
    }

    /// Takes in an entry of ours together with those of others that were written just before it.
    fn take_in_around(&mut self, world: &World, id: &EntryId) -> Result<(), SessionError> {
        let (foreign, n_known) = (self.foreign.take(), self.outline.n_entries());
        self.catch_up(world)?;
        self.leaf = self.outline.find(id);
        let others = self.outline.entries().skip(n_known).filter_map(|row| self.outline.id(row));
        self.foreign = others.filter(|other| other != id).last().or(foreign);
        Ok(())
    }

    /// Tells that an entry of ours stands beside entries of others that came before it.
    fn tell_divergence(&mut self, id: &EntryId) {
        let Some(foreign_leaf_id) = self.foreign.take() else { return };
        let Some((own, foreign)) = self.outline.find(id).zip(self.outline.find(&foreign_leaf_id)) else { return };
        let (own, foreign) = (self.outline.path(own), self.outline.path(foreign));
        let n_common = own.iter().zip(&foreign).take_while(|(one, other)| one == other).count();
        if n_common == foreign.len() || n_common == own.len() {
            return;
        }
        let common_ancestor_id = n_common.checked_sub(1).and_then(|last| self.outline.id(own[last]));
        self.events.push(Event::Divergence { leaf_id: id.clone(), foreign_leaf_id, common_ancestor_id });
    }

    /// Gets a file ready to be appended to: refuses one that is newer, upgrades one that is older.
    ///
    /// The upgrade may give entries other ids, so this comes before anything asks for one.
    pub(crate) fn prepare_write(&mut self, world: &World) -> Result<(), SessionError> {
        if world.is_read_only {
            return Err(SessionError::ReadOnly);
        }
        self.check_writable()?;
        self.upgrade_file(world)
    }

    /// Puts a line where it belongs.
    fn write(
        &mut self,
        world: &World,
        line: &[u8],
        is_conversation: bool,
        must_be_known: bool,
    ) -> Result<Written, SessionError> {
        let is_worth_a_file = is_conversation || self.outline.has_conversation();
        if matches!(self.backing, Backing::Awaited { place: Awaiting::EmptyFile, .. }) {
            self.fill_empty_file(world)?;
        }
        let known = self.outline.end();
        match &mut self.backing {
            Backing::File { log, .. } => {
                let expect = if must_be_known { Expect::Length(known) } else { Expect::Anything };
                let offset = log.append(line, expect)?.offset;
                // The log may have been as long as we knew when it was looked at, and have grown since.
                let expected = known + u64::from(self.outline.is_unterminated());
                Ok(if offset == expected { Written::Behind(offset) } else { Written::FurtherOn })
            }
            Backing::Awaited { .. } if is_worth_a_file => {
                self.create_file(world, line)?;
                Ok(Written::Created)
            }
            Backing::Memory(log) | Backing::Awaited { log, .. } => {
                log.append(line, Expect::Anything)?;
                Ok(Written::Behind(known))
            }
        }
    }

    /// Writes an awaited session, and this line behind it, to a new file.
    fn create_file(&mut self, world: &World, line: &[u8]) -> Result<(), StoreError> {
        let Backing::Awaited { log, path, place } = &self.backing else { return Ok(()) };
        let bytes = [log.bytes(), line].concat();
        let mut path = path.clone();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for n_taken in 1.. {
            match FileLog::create(&world.os, path.clone(), &bytes, world.writing) {
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
    fn fill_empty_file(&mut self, world: &World) -> Result<(), SessionError> {
        let Backing::Awaited { log, path, .. } = &self.backing else { return Ok(()) };
        let header = log.bytes().to_vec();
        let path = path.clone();
        let mut stored = FileLog::open(&world.os, path.clone(), world.writing)?;
        let length = stored.length()?;
        let there = stored.read(Span { offset: 0, len: length.min(header.len() as u64) })?;
        let is_ours = header.starts_with(there.trim_ascii_end()) && length <= header.len() as u64 + 1;
        if !is_ours {
            return Err(SessionError::NotASession { path });
        }
        if length > 0 {
            stored.distrust_end();
        }
        stored.append(&header, Expect::Length(length))?;
        // A failed sync later on must not take the header away from entries that come after it.
        stored.make_durable()?;
        drop(stored);
        *self = Self::open_file(world, &path)?;
        Ok(())
    }

    /// Writes an awaited session to its file whether or not it is worth one.
    pub(crate) fn store_now(&mut self, world: &World) -> Result<(), SessionError> {
        if matches!(self.backing, Backing::Awaited { place: Awaiting::EmptyFile, .. }) {
            return self.fill_empty_file(world);
        }
        Ok(self.create_file(world, b"")?)
    }

    /// Adds lines that were written to what is known, and makes the last one the leaf.
    fn take(&mut self, world: &World, lines: &[u8], offset: u64) {
        let mut ids = Migrated(world.environment());
        let mut offset = offset;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines) {
            let bytes = &lines[start..end];
            start = end + 1;
            let span = Span { offset, len: bytes.len() as u64 };
            self.outline.push_own(Line { span, bytes: Some(bytes), terminated: true }, &mut ids);
            offset += bytes.len() as u64 + 1;
            self.leaf = self.outline.leaf();
            let is_label = self.leaf.is_some_and(|leaf| self.outline.kind(leaf) == Kind::Label);
            if let Some(labels) = self.labels.get_mut().filter(|_| is_label)
                && let Ok(entry) = Raw::parse(bytes)
            {
                labels.push(entry);
            }
        }
    }

    /// Takes in what other programs have appended. The leaf stays where it is.
    pub(crate) fn catch_up(&mut self, world: &World) -> Result<(), SessionError> {
        self.catch_up_or(world, LostLeaf::Refuse)
    }

    /// Takes in what other programs have appended or changed, and goes to the last entry.
    pub(crate) fn follow(&mut self, world: &World) -> Result<(), SessionError> {
        self.catch_up_or(world, LostLeaf::Follow)?;
        self.leaf = self.outline.leaf();
        self.foreign = None;
        Ok(())
    }

    fn catch_up_or(&mut self, world: &World, lost: LostLeaf) -> Result<(), SessionError> {
        let Backing::File { log, .. } = &self.backing else { return Ok(()) };
        let known = self.outline.end();
        let length = match log.length() {
            Ok(length) => length,
            Err(error) if change_of(&error).is_some() && !world.is_read_only => {
                return self.resync(world, &error, lost);
            }
            Err(error) => return Err(self.noticed(error.into())),
        };
        match length.cmp(&known) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => {
                let path = self.backing.shown_path();
                let error = StoreError::Truncated { path, expected: known, actual: length };
                return if world.is_read_only { Err(error.into()) } else { self.resync(world, &error, lost) };
            }
            Ordering::Greater => {}
        }
        let leaf = self.leaf_id();
        let n_known = self.outline.n_entries();
        if self.outline.is_unterminated() {
            // The unfinished line may be another one by now, so everything is read anew.
            let outline = scan(world, log.as_ref())?;
            self.use_outline(outline, lost)?;
        } else {
            let (outline, mut ids) = (&mut self.outline, Migrated(world.environment()));
            log.scan(known, &mut |line| outline.push(line, &mut ids))?;
        }
        self.leaf = leaf.and_then(|leaf| self.outline.find(&leaf));
        self.labels = OnceLock::new();
        if self.outline.n_entries() > n_known {
            self.foreign = self.outline.leaf().and_then(|leaf| self.outline.id(leaf));
        }
        Ok(())
    }

    /// Reads the file anew after another program has changed it other than by appending.
    ///
    /// What we had acknowledged and is no longer there is put back first.
    fn resync(&mut self, world: &World, error: &StoreError, lost: LostLeaf) -> Result<(), SessionError> {
        let Backing::File { log, path } = &mut self.backing else { return Ok(()) };
        if let Err(error) = log.recover() {
            return Err(self.noticed(error.into()));
        }
        let outline = scan(world, log.as_ref())?;
        let is_same = outline.header().is_some_and(|row| {
            let line = log.read(outline.span(row)).unwrap_or_default();
            Raw::parse(&line).is_ok_and(|header| Header::new(upgrade_header(&outline, header)).id() == self.header.id())
        });
        if !is_same {
            return Err(StoreError::Replaced { path: path.clone() }.into());
        }
        let leaf = self.leaf_id();
        self.use_outline(outline, lost)?;
        self.leaf = leaf.and_then(|leaf| self.outline.find(&leaf));
        self.labels = OnceLock::new();
        if let Some(change) = change_of(error) {
            self.events.push(Event::FileChanged { change });
        }
        self.take_notices();
        Ok(())
    }

    /// Takes a new outline for the old one, unless our leaf is not in it.
    fn use_outline(&mut self, outline: Outline, lost: LostLeaf) -> Result<(), SessionError> {
        let leaf = self.leaf_id();
        if let Some(id) = leaf.filter(|leaf| lost == LostLeaf::Refuse && outline.find(leaf).is_none()) {
            return Err(SessionError::LeafGone { path: self.backing.shown_path(), id });
        }
        self.outline = outline;
        Ok(())
    }

    /// Opens the file again after a failed sync, and stands at the last entry that is known to be on disk.
    ///
    /// Entries whose fate is unknown stay in the file as a branch of their own.
    pub(crate) fn reopen(&mut self, world: &World) -> Result<(), SessionError> {
        let Backing::File { path, log } = &self.backing else { return Ok(()) };
        let (path, n_synced) = (path.clone(), log.n_synced());
        let first_unsettled = self.unsettled.iter().find(|(number, _)| *number > n_synced);
        let leaf = first_unsettled.map_or_else(|| self.leaf_id(), |(_, leaf)| leaf.clone());
        let mut reopened = Self::open_file(world, &path)?;
        if let Backing::File { log, .. } = &mut reopened.backing {
            log.distrust_end();
        }
        if reopened.header.id() != self.header.id() {
            return Err(StoreError::Replaced { path }.into());
        }
        let row = leaf.as_ref().map(|id| reopened.outline.find(id));
        if row == Some(None) {
            return Err(SessionError::LeafGone { path, id: leaf.unwrap_or_else(|| EntryId::from("")) });
        }
        *self = Self { leaf: row.flatten(), ..reopened };
        Ok(())
    }

    /// Brings a file of version 1 or 2 to the current version, once something is to be written to it.
    fn upgrade_file(&mut self, world: &World) -> Result<(), SessionError> {
        if !matches!(self.backing, Backing::File { .. }) || !self.outline.upgrade().is_needed() {
            return Ok(());
        }
        self.begin_turn()?;
        let upgraded = self.upgrade_in_turn(world);
        self.end_turn();
        upgraded
    }

    fn upgrade_in_turn(&mut self, world: &World) -> Result<(), SessionError> {
        let Backing::File { path, log } = &self.backing else { return Ok(()) };
        let path = path.clone();
        let header = self.outline.header().map(|row| self.outline.span(row));
        let is_as_read = header.is_some_and(|span| log.read(span).is_ok_and(|line| line == self.header_line));
        if !is_as_read || matches!(log.length(), Err(StoreError::Replaced { .. })) {
            // Somebody else has upgraded the file, so none of the offsets we know is right.
            self.reload(world, &path)?;
            return self.upgrade_file(world);
        }
        self.catch_up(world)?;
        let Backing::File { log, .. } = &self.backing else { return Ok(()) };
        let stamp = to_iso(world.environment().now_ms()).replace([':', '.'], "-");
        let known = self.outline.end();
        let replaced = replace(&world.os, &path, known, &stamp, &mut |out| self.write_lines(&path, out, &|_| true));
        // Also after an error the new file may be in place already, and then that is the one to go on with.
        if replaced.is_ok() || matches!(log.length(), Err(StoreError::Replaced { .. })) {
            self.reload(world, &path)?;
        }
        replaced.map(drop)
    }

    /// Opens the file again after it was upgraded, and stands where we stood.
    ///
    /// An upgrade keeps entries and their order, so a place among them stays a place among them.
    fn reload(&mut self, world: &World, path: &Path) -> Result<(), SessionError> {
        let reloaded = Self::open_file(world, path)?;
        let is_same = reloaded.header.id() == self.header.id()
            && reloaded.outline.rows().len() >= self.outline.rows().len()
            && self.outline.rows().all(|row| self.outline.kind(row) == reloaded.outline.kind(row));
        if !is_same {
            return Err(StoreError::Replaced { path: path.to_path_buf() }.into());
        }
        let (expected_leaf, deferred) = (std::mem::take(&mut self.expected_leaf), self.deferred.take());
        let mut events = std::mem::take(&mut self.events);
        events.extend(reloaded.events);
        *self = Self { leaf: self.leaf, expected_leaf, deferred, events, ..reloaded };
        Ok(())
    }

    /// The same session, upgraded, in memory alone.
    pub(crate) fn into_memory(self, world: &World) -> Result<Self, SessionError> {
        let mut bytes = Vec::new();
        self.write_lines(Path::new("(memory)"), &mut bytes, &|_| true)?;
        Self::from_bytes(world, bytes, Backing::Memory)
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

/// What another program has done to a file, if that is what an error says.
fn change_of(error: &StoreError) -> Option<FileChange> {
    match error {
        StoreError::Truncated { .. } => Some(FileChange::Truncated),
        StoreError::Rewritten { .. } => Some(FileChange::Rewritten),
        StoreError::Replaced { .. } => Some(FileChange::Replaced),
        _ => None,
    }
}

/// What to do if the entry we stand at is no longer in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LostLeaf {
    /// Fail: nothing may be hung on an entry that is gone.
    Refuse,
    /// Go to the last entry there is.
    Follow,
}

/// Makes the entry of a place among several, once its id and its parent are known.
pub(crate) type Compose<'c> = dyn Fn(usize, &EntryId, Option<&EntryId>) -> Json + 'c;

/// New entries as lines.
struct Composed {
    ids: Vec<EntryId>,
    lines: Vec<u8>,
    has_conversation: bool,
}

/// Entries that were written.
struct Placed {
    ids: Vec<EntryId>,
    lines: Vec<u8>,
    written: Written,
}

/// Where a line went.
enum Written {
    /// To a new file, behind everything we knew.
    Created,
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
pub(crate) fn scan(world: &World, log: &dyn Log) -> Result<Outline, SessionError> {
    let mut outline = Outline::new();
    let mut ids = Migrated(world.environment());
    log.scan(0, &mut |line| outline.push(line, &mut ids))?;
    Ok(outline)
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
    lines.extend_from_slice(line.raw().as_bytes());
    lines.push(b'\n');
}

/// The id in a line.
fn id_of(line: &[u8]) -> Option<EntryId> {
    match read(line) {
        Parsed::Kept(head) => head.id.map(|id| EntryId::from(id.into_owned())),
        _ => None,
    }
}

fn is_conversation(entry: Raw<'_>) -> bool {
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
