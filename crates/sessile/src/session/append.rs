//! Appending to a session: taking turns, writing, and updating the outline.

use sessile_core::EntryId;
use sessile_core::archive::MAX_LINE;
use sessile_core::head::{Kind, Parsed, read};
use sessile_core::json::{Json, Raw};
use sessile_core::line::{Line, Span};
use sessile_store::planted::{self, Bug};
use sessile_store::{Durable, Expect, Log, Notice, StoreError, Turn};

use super::change::{LostLeaf, change_of};
use super::{Acknowledgement, Backing, NameOrigin, Session, fresh_id, put_line};
use crate::environment::Migrated;
use crate::error::SessionError;
use crate::event::{EventKind, FileChange, PendingEvent, RecoveryReason, SessionEvent};
use crate::world::{ExpectedLeaf, World};

/// The maximum number of times an append restarts because another program has changed the file.
const MAX_CHANGES: usize = 4;

/// The maximum number of names to try for a file whose name we generate.
const MAX_NAMES: usize = 100;

/// The maximum number of times an append restarts because another program wrote in between.
///
/// After that it appends at the current end, if the log allows that: with `O_APPEND` no bytes are at risk, and the
/// lines in between are read afterwards. Only the id may then not be unique: each of those lines has it with a chance
/// of one in four billion. Other logs report busy.
const MAX_RACES: usize = 8;

impl Session {
    /// Writes entries, each the child of the previous one, and adds them to the outline. On failure nothing changes
    /// here.
    ///
    /// `compose` makes the entry at an index once its id and its parent are
    /// known. It is called again if another program has taken an id in the meantime.
    pub(crate) fn append(
        &mut self,
        world: &World,
        n_entries: usize,
        compose: &Compose<'_>,
    ) -> Result<Vec<EntryId>, SessionError> {
        self.begin_turn()?;
        let appended = self.append_in_turn(world, n_entries, compose);
        self.end_turn();
        let AppendedLines { ids, lines, position } = appended?;
        let Some(last) = ids.last() else { return Ok(ids) };
        let durable = self.make_durable(&position)?;
        match position {
            WritePosition::After(known) => self.take(world, &lines, known),
            WritePosition::Created => self.take(world, &lines, self.outline.end()),
            WritePosition::AfterOthers => self.take_in_around(world, &ids)?,
        }
        self.notice_divergence(last);
        if self.retained.expected_leaf != ExpectedLeaf::Any {
            // The caller's next append is meant to follow this one.
            self.retained.expected_leaf = ExpectedLeaf::Exactly(Some(last.clone()));
        }
        self.retained.acknowledged = Some(Acknowledgement { entry_id: last.clone(), durable });
        Ok(ids)
    }

    /// Writes entries during a turn.
    fn append_in_turn(
        &mut self,
        world: &World,
        n_entries: usize,
        compose: &Compose<'_>,
    ) -> Result<AppendedLines, SessionError> {
        let (mut n_races, mut n_changes) = (0, 0);
        let mut composed = self.compose(world, n_entries, compose)?;
        loop {
            self.check_expected_leaf()?;
            let Composed { ids, lines, has_conversation } = composed;
            // A caller that expects a leaf does not accept entries in between.
            let is_patient = n_races < MAX_RACES || self.retained.expected_leaf != ExpectedLeaf::Any;
            let must_be_known = is_patient || !self.backing.log().can_append_blindly();
            match self.write(world, &lines, has_conversation, must_be_known) {
                Ok(position) => return Ok(AppendedLines { ids, lines, position }),
                Err(SessionError::Store(StoreError::Grown { .. })) if !is_patient => {
                    return Err(StoreError::Busy { log: self.backing.name(), holder: None }.into());
                }
                Err(SessionError::Store(StoreError::Grown { .. })) => {
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
                self.compose(world, n_entries, compose)?
            } else {
                Composed { ids, lines, has_conversation }
            };
        }
    }

    /// Composes the lines of new entries. Refuses a line that is too long to be read again.
    fn compose(&self, world: &World, n_entries: usize, compose: &Compose<'_>) -> Result<Composed, SessionError> {
        let is_awaited = matches!(self.backing, Backing::Awaited { .. });
        let mut parent = self.leaf_id();
        let mut composed = Composed { ids: Vec::with_capacity(n_entries), lines: Vec::new(), has_conversation: false };
        for index in 0..n_entries {
            let is_taken = |id: &EntryId| self.outline.find(id).is_some() || composed.ids.contains(id);
            let id = fresh_id(world.environment(), &is_taken);
            let entry = compose(index, &id, parent.as_ref());
            // Only a session without a file needs to know whether it is worth one.
            composed.has_conversation |= is_awaited && is_conversation(entry.raw());
            if n_entries > 1 {
                // Reserve space for the other entries, which are probably about as long.
                composed.lines.reserve((n_entries - index) * (entry.raw().as_bytes().len() + 1));
            }
            let start = composed.lines.len();
            put_line(entry, &mut composed.lines);
            // Without its newline.
            let size = composed.lines.len() - start - 1;
            if size > world.writing.longest_line {
                return Err(SessionError::EntryTooLarge { size, limit: world.writing.longest_line });
            }
            if index + 1 < n_entries {
                parent = Some(id.clone());
            }
            composed.ids.push(id);
        }
        Ok(composed)
    }

    /// Queues an event if the error says that the file is gone.
    pub(super) fn noticed(&mut self, error: SessionError) -> SessionError {
        if matches!(error, SessionError::Store(StoreError::Gone { .. })) {
            self.notice(SessionEvent::FileGone);
        }
        error
    }

    /// Fails if the file's last entry is not the one that the caller expects.
    fn check_expected_leaf(&self) -> Result<(), SessionError> {
        let ExpectedLeaf::Exactly(expected) = &self.retained.expected_leaf else { return Ok(()) };
        let actual = self.outline.leaf().and_then(|leaf| self.outline.id(leaf));
        if actual == *expected {
            return Ok(());
        }
        Err(SessionError::LeafMoved { expected: expected.clone(), actual })
    }

    /// Requires every append to find this entry last in the file, until this is reset.
    pub(crate) fn expect_leaf(&mut self, expected: Option<&EntryId>) -> Result<(), SessionError> {
        self.retained.expected_leaf = ExpectedLeaf::Exactly(expected.cloned());
        self.check_expected_leaf()
    }

    /// Begins a turn at the file, if there is one.
    pub(crate) fn begin_turn(&mut self) -> Result<Turn, SessionError> {
        let turn = self.backing.log_mut().begin_turn().map_err(|error| self.noticed(error.into()))?;
        self.retained.n_turns += 1;
        Ok(turn)
    }

    pub(crate) fn end_turn(&mut self) {
        self.retained.n_turns = self.retained.n_turns.saturating_sub(1);
        self.backing.log_mut().end_turn();
        self.take_notices();
    }

    /// Converts the log's notices to events.
    pub(super) fn take_notices(&mut self) {
        self.take_notices_after(None);
    }

    /// Like [`take_notices`](Self::take_notices), after a change to the file was noticed.
    pub(super) fn take_notices_after(&mut self, change: Option<FileChange>) {
        for notice in self.backing.log_mut().take_notices() {
            self.notice(match notice {
                Notice::Recovered { lines } => SessionEvent::Recovered {
                    entry_ids: entry_ids(&lines),
                    reason: change.map_or(RecoveryReason::Missing, RecoveryReason::from),
                },
                Notice::Unguarded { reason } => SessionEvent::WrittenUnguarded { reason },
                Notice::WithoutLock { holder } => SessionEvent::WrittenUnlocked { holder },
            });
        }
    }

    /// Waits until the written data has the durability that the caller wants.
    fn make_durable(&mut self, position: &WritePosition) -> Result<Durable, SessionError> {
        let log = self.backing.log_mut();
        if matches!(position, WritePosition::Created) && log.durable() == Durable::Disk {
            // A new file is synced as a whole.
            return Ok(Durable::Disk);
        }
        if let Some(tickets) = &mut self.retained.deferred
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

    /// Reads our entries together with those that other programs wrote just before them.
    fn take_in_around(&mut self, world: &World, ours: &[EntryId]) -> Result<(), SessionError> {
        let (foreign, n_known, n_reported) =
            (self.foreign.take(), self.outline.n_entries(), self.retained.pending_events.len());
        self.catch_up(world)?;
        self.leaf = ours.last().and_then(|id| self.outline.find(id));
        let others = self.outline.entries().skip(n_known).filter_map(|row| self.outline.id(row));
        self.foreign = others.filter(|other| ours.last() != Some(other)).last().or(foreign);
        for event in self.retained.pending_events.iter_mut().skip(n_reported) {
            if let PendingEvent::Appended { id, own } = event {
                *own = ours.contains(id);
            }
        }
        Ok(())
    }

    /// Queues events for entries that arrived, if a handler wants them.
    pub(super) fn arrived(&mut self, world: &World, ids: impl FnOnce(&Self) -> Vec<EntryId>, own: bool) {
        if world.handlers.wants(EventKind::EntryAppended) || world.handlers.wants(EventKind::SessionInfoChanged) {
            let ids = ids(self);
            self.retained.pending_events.extend(ids.into_iter().map(|id| PendingEvent::Appended { id, own }));
        }
    }

    /// The ids of all entries after the first `n_known`.
    pub(super) fn ids_from(&self, n_known: usize) -> Vec<EntryId> {
        self.outline.entries().skip(n_known).filter_map(|row| self.outline.id(row)).collect()
    }

    /// Reports that our entry is not on the branch of the entries that other programs wrote before it.
    fn notice_divergence(&mut self, id: &EntryId) {
        let Some(foreign_leaf_id) = self.foreign.take() else { return };
        let Some((own, foreign)) = self.outline.find(id).zip(self.outline.find(&foreign_leaf_id)) else { return };
        let (own, foreign) = (self.outline.path(own), self.outline.path(foreign));
        let n_common = own.iter().zip(&foreign).take_while(|(one, other)| one == other).count();
        if n_common == foreign.len() || n_common == own.len() {
            return;
        }
        let common_ancestor_id = n_common.checked_sub(1).and_then(|last| self.outline.id(own[last]));
        self.notice(SessionEvent::Divergence { leaf_id: id.clone(), foreign_leaf_id, common_ancestor_id });
    }

    /// Writes lines to the log, or creates the file if the session is now worth one.
    fn write(
        &mut self,
        world: &World,
        line: &[u8],
        is_conversation: bool,
        must_be_known: bool,
    ) -> Result<WritePosition, SessionError> {
        let is_worth_a_file = is_conversation || self.outline.has_conversation();
        if matches!(self.backing, Backing::Awaited { origin: NameOrigin::EmptyFile, .. }) {
            self.fill_empty_file(world)?;
        }
        self.check_current()?;
        let known = self.outline.end();
        match &mut self.backing {
            Backing::Log { log, .. } => {
                let expect = if must_be_known { Expect::Length(known) } else { Expect::Anything };
                let offset = log.append(line, expect)?.offset;
                // The log may have had the known length when it was checked, and have grown since.
                let expected = known + u64::from(self.outline.is_unterminated());
                Ok(if offset == expected { WritePosition::After(offset) } else { WritePosition::AfterOthers })
            }
            Backing::Awaited { .. } if is_worth_a_file => {
                self.create_file(world, line)?;
                Ok(WritePosition::Created)
            }
            Backing::Awaited { log, .. } => {
                log.append(line, Expect::Anything)?;
                Ok(WritePosition::After(known))
            }
        }
    }

    /// Writes an awaited session and these lines to a new file.
    fn create_file(&mut self, world: &World, line: &[u8]) -> Result<(), StoreError> {
        let Backing::Awaited { log, path, origin } = &self.backing else { return Ok(()) };
        let bytes = [log.to_vec().as_slice(), line].concat();
        let mut path = path.clone();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for n_taken in 1.. {
            match world.place.create(&path, &bytes, world.writing) {
                // If a name that we generated is taken, the session must still be saved.
                Err(StoreError::Exists { .. }) if *origin == NameOrigin::Ours && n_taken <= MAX_NAMES => {
                    path.set_file_name(format!("{stem}-{n_taken}.jsonl"));
                }
                created => {
                    self.backing = Backing::Log { log: created?, path: Some(path) };
                    self.is_writer = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Writes the header to a file that was empty when it was opened.
    ///
    /// An earlier attempt may have left a part of the header there, which then is a line that is ignored. A file with
    /// any other content is refused.
    fn fill_empty_file(&mut self, world: &World) -> Result<(), SessionError> {
        let Backing::Awaited { log, path, .. } = &self.backing else { return Ok(()) };
        let header = log.to_vec();
        let path = path.clone();
        let mut stored = world.place.open(&path, world.writing)?;
        let length = stored.length()?;
        let there = stored.read(Span { offset: 0, len: length.min(header.len() as u64) })?;
        let is_ours = header.starts_with(there.trim_ascii_end()) && length <= header.len() as u64 + 1;
        if !is_ours {
            return Err(SessionError::NotASession { path });
        }
        if length > 0 {
            stored.reseal_end();
        }
        stored.append(&header, Expect::Length(length))?;
        // A failed sync later on must not remove the header before the entries that follow it.
        stored.make_durable()?;
        drop(stored);
        let filled = Self::open_for_writing(world, &path)?;
        let leaf = filled.leaf;
        self.continue_with(filled, leaf);
        Ok(())
    }

    /// Writes an awaited session to its file even if it is not worth one.
    pub(crate) fn store_now(&mut self, world: &World) -> Result<(), SessionError> {
        if matches!(self.backing, Backing::Awaited { origin: NameOrigin::EmptyFile, .. }) {
            return self.fill_empty_file(world);
        }
        Ok(self.create_file(world, b"")?)
    }

    /// The length that the file of an awaited session will have.
    pub(crate) fn awaited_length(&self) -> u64 {
        match &self.backing {
            Backing::Awaited { log, .. } => log.length().unwrap_or_default(),
            Backing::Log { .. } => 0,
        }
    }

    /// Adds written lines to the outline, and makes the last one the leaf.
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
            self.arrived(world, |session| session.leaf_id().into_iter().collect(), true);
            self.take_read(bytes);
        }
    }
}

impl Session {
    /// Adds a written line to the labels and marks, if those have been read.
    fn take_read(&mut self, line: &[u8]) {
        let kind = self.leaf.map(|leaf| self.outline.kind(leaf));
        if let Some(labels) = self.labels.get_mut().filter(|_| kind == Some(Kind::Label))
            && let Ok(entry) = Raw::parse(line)
        {
            labels.push(entry);
        }
        if let Some(archive) = self.archive.get_mut().filter(|_| kind == Some(Kind::Custom))
            && line.len() as u64 <= MAX_LINE
            && let Ok(entry) = Raw::parse(line)
        {
            archive.push(entry, &self.header.id());
        }
    }
}

/// Makes the entry at an index, given its id and its parent.
pub(crate) type Compose<'c> = dyn Fn(usize, &EntryId, Option<&EntryId>) -> Json + 'c;

/// New entries as lines.
struct Composed {
    ids: Vec<EntryId>,
    lines: Vec<u8>,
    has_conversation: bool,
}

/// Written entries.
struct AppendedLines {
    ids: Vec<EntryId>,
    lines: Vec<u8>,
    position: WritePosition,
}

/// Where lines were written.
enum WritePosition {
    /// To a new file, after everything known.
    Created,
    /// Directly after the known part of the file, at this offset.
    After(u64),
    /// After other programs' lines that we have not read yet.
    AfterOthers,
}

fn is_conversation(entry: Raw<'_>) -> bool {
    matches!(read(entry.as_bytes()), Parsed::Value(head) if head.role.is_conversation())
}

/// The ids in restored lines.
pub(crate) fn entry_ids(lines: &[Vec<u8>]) -> Vec<EntryId> {
    lines.iter().filter_map(|line| id_of(line)).collect()
}

/// The id in a line.
fn id_of(line: &[u8]) -> Option<EntryId> {
    match read(line) {
        Parsed::Value(head) => head.id.map(|id| EntryId::from(id.into_owned())),
        _ => None,
    }
}
