//! Copies of sessions without bulky data.
//!
//! A slimmed session is a new one with the same lines, in which placeholders replace images, output and extension
//! data outside the current context. It is written to a temporary file, read again and compared with the original.
//! Only then does it get its name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sessile_core::context::{self, Projection, ReadContext};
use sessile_core::date::Timestamp;
use sessile_core::head::{Kind, Role};
use sessile_core::header::Header;
use sessile_core::json::{JsText, Raw};
use sessile_core::outline::Row;
use sessile_core::slim::{Removed, SlimSelection, is_slimmed_of, slimmed};
use sessile_store::os::{Mode, read_upto};
use sessile_store::{Durability, Expect, FileLog, Log, Prepared, StoreError, WriteOptions, prepare_file};

use super::delete::{Deletion, delete_in_turn};
use crate::disk::Live;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::journal::{Recording, publish_current, settle_dead};
use crate::manager::{NewSession, SessionManager, compose_header, session_path};
use crate::record::{OperationKind, SessionLocation, Step, TrashedTo};
use crate::remember;
use crate::session::{Session, line_of};
use crate::session_file::{is_session, lock_session};
use crate::sessions::Sessions;
use crate::world::World;

/// What to remove from a session, and where. If images, outputs and custom are all unset, all three are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct SlimOptions {
    /// Remove images.
    pub images: bool,
    /// Remove the output of tools and shell commands.
    pub outputs: bool,
    /// Remove extension data.
    pub custom: bool,
    /// Only in entries of the current branch that its newest compaction has summarised.
    pub before_compaction: bool,
    /// Only in entries older than this.
    pub older_than: Option<Timestamp>,
    /// Also in entries that are part of the current context.
    pub all: bool,
    /// Move the original to the trash afterwards.
    pub trash_original: bool,
}

impl SlimOptions {
    fn selection(&self) -> SlimSelection {
        let is_any = self.images || self.outputs || self.custom;
        SlimSelection {
            images: self.images || !is_any,
            outputs: self.outputs || !is_any,
            custom: self.custom || !is_any,
            keeps_state: false,
        }
    }
}

/// A slimmed session, or one that a dry run would slim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slimmed {
    /// The operation's id, for undo; `None` if nothing was done.
    pub operation: Option<String>,
    /// The original.
    pub original: SessionLocation,
    /// Its size.
    pub size: u64,
    /// The new session; `None` if nothing was done.
    pub session: Option<SessionLocation>,
    /// The actual or expected size of the new session.
    pub new_size: u64,
    /// What was removed, or would be.
    pub removed: Removed,
    /// Where the original went, if it was moved to the trash.
    pub trashed: Option<TrashedTo>,
}

impl Slimmed {
    /// The number of bytes saved.
    pub fn saved(&self) -> u64 {
        self.size.saturating_sub(self.new_size)
    }
}

/// The number of attempts to copy a session that another program keeps writing to.
const MAX_TRIES: usize = 3;

impl Sessions {
    /// Creates a copy of a session without bulky data, or determines how much smaller it would be.
    ///
    /// The new session has the same tree, entry ids, usage and cost, and the same context unless `all` is set. Its
    /// header names the original as its parent, as in a fork. If nothing can be removed, nothing is created.
    pub fn slim(&self, path: &Path, options: &SlimOptions, apply: bool) -> Result<Slimmed, SessionError> {
        if apply {
            settle_dead(&self.world);
        }
        let mut n_left = MAX_TRIES;
        loop {
            n_left -= 1;
            match self.try_slim(path, options, apply) {
                Err(SessionError::WrittenMeanwhile { .. }) if n_left > 0 => {}
                slimmed => return slimmed,
            }
        }
    }

    fn try_slim(&self, path: &Path, options: &SlimOptions, apply: bool) -> Result<Slimmed, SessionError> {
        let original = self.clone().read_only().open_when_idle(path)?;
        let Some(file) = original.session_file().filter(|_| original.is_stored()).map(Path::to_path_buf) else {
            return Err(SessionError::NotASession { path: path.to_path_buf() });
        };
        if options.trash_original {
            self.deletable(&file)?;
        }
        if options.trash_original && apply {
            self.refuse_users(&file)?;
        }
        original.loaded().check_writable()?;
        let plan = Plan::new(&self.world, &original, options)?;
        let mut size = Counter(0);
        let removed = plan.write(&file, &mut size)?;
        let location = SessionLocation { path: file, id: original.session_id() };
        let mut slimmed = Slimmed {
            operation: None,
            size: original.outline().end(),
            original: location,
            session: None,
            new_size: size.0,
            removed,
            trashed: None,
        };
        if apply && !removed.is_nothing() {
            self.make_slimmed(&plan, options, &mut slimmed)?;
        }
        Ok(slimmed)
    }

    /// Writes the new session, compares it with the original, and gives it its name.
    fn make_slimmed(&self, plan: &Plan<'_>, options: &SlimOptions, slimmed: &mut Slimmed) -> Result<(), SessionError> {
        let world = &self.world;
        let original = slimmed.original.clone();
        let mut write = |out: &mut dyn Write| plan.write(&plan.path, out).map(drop);
        // Always sync: the original may be trashed, and then this is the only live copy.
        let prepared = prepare_file(world.os(), &plan.path, true, &mut write)?;
        plan.verify(world, &prepared, options)?;
        slimmed.new_size = prepared.length();
        let n_steps = if options.trash_original { 2 } else { 1 };
        let recording = Recording::begin(world, OperationKind::Slim, n_steps, None)?;
        // The original must not go to the trash with entries that the new session lacks.
        let turn = if options.trash_original { Some(lock_session(world, &original.path)?) } else { None };
        if let Some(log) = &turn
            && log.length()? != plan.original.outline().end()
        {
            return Err(SessionError::WrittenMeanwhile { path: original.path });
        }
        let location = SessionLocation { path: plan.path.clone(), id: plan.header.id() };
        let create =
            Step::Create { session: location.clone(), length: prepared.length(), source: Some(original.path.clone()) };
        let refuse_replaced = || plan.original.loaded().refuse_replaced();
        let new_turn = recording.step(&create, || publish_current(world, prepared, &plan.path, &refuse_replaced))?;
        let finish = || -> Result<Option<TrashedTo>, SessionError> {
            plan.note_leaf(world)?;
            let delete = |log| delete_in_turn(world, &recording, &original, Deletion::ToTrash, log, &|| Ok(()));
            turn.map(delete).transpose()
        };
        match finish() {
            Ok(trashed) => {
                drop(new_turn);
                if let Some(TrashedTo::Trash(trashed)) = &trashed {
                    plan.carry_over(world, &trashed.file)?;
                }
                slimmed.trashed = trashed;
            }
            Err(error) => {
                if is_session(world, &original) {
                    // Removing the new file is safe: we hold its lock, and the original still contains everything that
                    // is in the new file.
                    drop(world.os().remove(&location.path));
                }
                return Err(error);
            }
        }
        slimmed.session = Some(location);
        slimmed.operation = Some(recording.id.clone());
        recording.done();
        Ok(())
    }
}

/// What to do with a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineFate {
    #[default]
    Stays,
    /// Remove its bulky data.
    Slims,
    /// Remove its bulky data, but keep an extension's current state.
    SlimsButState,
}

/// The plan for slimming a session.
struct Plan<'s> {
    original: &'s SessionManager,
    header: Header,
    /// The new session's path.
    path: PathBuf,
    selection: SlimSelection,
    fates: Vec<LineFate>,
    live: Live,
}

impl<'s> Plan<'s> {
    fn new(world: &World, original: &'s SessionManager, options: &SlimOptions) -> Result<Self, SessionError> {
        let live = Live::of(original)?;
        let new_session = NewSession { id: None, parent_session: original.file_text() };
        let header = compose_header(world.environment(), original.cwd(), new_session)?;
        let directory = original.session_dir().unwrap_or(Path::new("/"));
        let path = session_path(directory, &header);
        let fates = fates(original, &live, options)?;
        Ok(Self { original, header, path, selection: options.selection(), fates, live })
    }

    /// Writes the new session, and returns what was removed.
    fn write(&self, path: &Path, out: &mut dyn Write) -> Result<Removed, SessionError> {
        let session = self.original.loaded();
        let mut removed = Removed::default();
        let header = line_of(self.header.json().raw());
        out.write_all(&header).map_err(|source| StoreError::io_at("write", path, source))?;
        session.write_changed(path, out, &mut |row, line| {
            if session.outline.header() == Some(row) {
                return false;
            }
            let keeps_state = match self.fates[row.index()] {
                LineFate::Stays => return true,
                LineFate::Slims => false,
                LineFate::SlimsButState => true,
            };
            if let Some(slim) = slimmed(line, SlimSelection { keeps_state, ..self.selection }, &mut removed) {
                *line = slim;
            }
            true
        })?;
        Ok(removed)
    }

    /// Reads the written file, and compares it with the original.
    fn verify(&self, world: &World, prepared: &Prepared<'_>, options: &SlimOptions) -> Result<(), SessionError> {
        let world = World { is_read_only: true, cache_dir: None, ..world.clone() };
        let copy = Session::open_file(&world, prepared.temporary())?;
        let session = self.original.loaded();
        let wrong =
            |what| Err(SessionError::SlimFailed { path: self.original.file_text().unwrap_or_default().into(), what });
        if copy.header.id() != self.header.id() || copy.outline.rows().len() != session.outline.rows().len() {
            return wrong("an entry would be missing");
        }
        let (mut ours, mut theirs) = (copy.reading(), session.reading());
        for row in session.outline.rows().skip(1) {
            if !is_same_row(&copy, session, row) {
                return wrong("an entry would get a different id, parent, type or time");
            }
            let (new, old) = (ours.copied_line(row)?, theirs.copied_line(row)?);
            let is_kept = match self.fates[row.index()] {
                LineFate::Stays => new == old,
                _ => is_slimmed_of(copy.parsed(row, &new)?, session.parsed(row, &old)?),
            };
            if !is_kept {
                return wrong("an entry would lose more than it should");
            }
        }
        let has_context = options.all || self.has_same_context(&world, &copy)?;
        if has_context { Ok(()) } else { wrong("the context would change") }
    }

    /// Whether a model would see the same context, message by message.
    fn has_same_context(&self, world: &World, copy: &Session) -> Result<bool, SessionError> {
        let zone = Zone(world.environment());
        let session = self.original.loaded();
        for path in &self.live.paths {
            let old = context::select(&session.outline, path, &mut |row| session.value(row))?;
            let new = context::select(&copy.outline, path, &mut |row| copy.value(row))?;
            if old != new {
                return Ok(false);
            }
            let (mut ours, mut theirs) = (copy.reading(), session.reading());
            let new = Projection::new(&copy.outline, &old, &zone, &mut ours)?;
            let old = Projection::new(&session.outline, &old, &zone, &mut theirs)?;
            for index in 0..old.rows().len() {
                if new.messages(index, &mut ours)? != old.messages(index, &mut theirs)? {
                    return Ok(false);
                }
            }
            let settings = context::settings(&session.outline, path, &mut |row| session.value(row))?;
            if settings != context::settings(&copy.outline, path, &mut |row| copy.value(row))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends lines that a program without a lock wrote to the original just before it went to the trash.
    fn carry_over(&self, world: &World, trashed: &Path) -> Result<(), SessionError> {
        let failed = |source| StoreError::io_at("read", trashed, source);
        let source = match world.os().open(trashed, Mode::Read) {
            Ok(source) => source,
            // Another process has already restored the original with everything written to it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error).into()),
        };
        let known = self.original.outline().end();
        let n_late = source.stat().map_err(failed)?.length.saturating_sub(known);
        // Lines of an older version have no meaning in the new session.
        if n_late == 0 || self.original.outline().upgrade().is_needed() {
            return Ok(());
        }
        let late = read_upto(source.as_ref(), known, n_late).map_err(failed)?;
        let lines: Vec<u8> = (late.split_inclusive(|byte| *byte == b'\n'))
            .filter(|line| line.ends_with(b"\n") && line.len() > 1)
            .flatten()
            .copied()
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        let writing = WriteOptions { guard: false, durability: Durability::Sync, ..world.writing };
        let mut log = FileLog::open(&world.os, &self.path, writing)?;
        log.append(&lines, Expect::Anything)?;
        log.make_durable()?;
        Ok(())
    }

    /// Gives the new session the same saved leaf as the original.
    fn note_leaf(&self, world: &World) -> Result<(), SessionError> {
        let session = self.original.loaded();
        if world.state_dir.is_none() || session.leaf == session.outline.leaf() {
            return Ok(());
        }
        let mut copy = Session::open_file(world, &self.path)?;
        copy.leaf = session.leaf_id().and_then(|leaf| copy.outline.find(&leaf));
        remember::remember(world, &copy)
    }
}

fn is_same_row(copy: &Session, session: &Session, row: Row) -> bool {
    let (new, old) = (&copy.outline, &session.outline);
    new.kind(row) == old.kind(row)
        && new.role(row) == old.role(row)
        && new.time(row) == old.time(row)
        && new.id(row) == old.id(row)
        && new.parent_id(row) == old.parent_id(row)
}

/// Decides what to do with each row of a session.
fn fates(manager: &SessionManager, live: &Live, options: &SlimOptions) -> Result<Vec<LineFate>, SessionError> {
    let outline = manager.outline();
    let mut fates = vec![LineFate::Stays; outline.rows().len()];
    let mut is_summed_up = vec![!options.before_compaction; outline.rows().len()];
    if options.before_compaction {
        for path in &live.paths {
            let newest = path.iter().rposition(|row| outline.kind(*row) == Kind::Compaction).unwrap_or_default();
            path[..newest].iter().for_each(|row| is_summed_up[row.index()] = true);
        }
    }
    for row in outline.entries() {
        let is_outside = options.all || !live.is_in_context(row);
        let is_old = options.older_than.is_none_or(|limit| outline.time(row).is_some_and(|time| time < limit));
        if is_outside && is_old && is_summed_up[row.index()] {
            fates[row.index()] = LineFate::Slims;
        }
    }
    for row in state_rows(manager, live)? {
        if fates[row.index()] == LineFate::Slims {
            fates[row.index()] = LineFate::SlimsButState;
        }
    }
    Ok(fates)
}

/// The entries that hold extensions' current state: on each path the newest `custom` entry of every type, and the
/// newest result with details of every tool.
fn state_rows(manager: &SessionManager, live: &Live) -> Result<Vec<Row>, SessionError> {
    let session = manager.loaded();
    let outline = &session.outline;
    let state = RandomState::new();
    let mut kept = Vec::new();
    for path in &live.paths {
        // Names are kept as hashes: there may be as many as entries, of any length.
        let mut newest: HashMap<(bool, u64), Row> = HashMap::new();
        let mut reading = session.reading();
        for row in path {
            let is_custom = outline.kind(*row) == Kind::Custom;
            if !is_custom && outline.role(*row) != Role::ToolResult {
                continue;
            }
            let entry = reading.value(*row)?;
            let (holder, name, data) = if is_custom {
                (Some(entry.raw()), "customType", "data")
            } else {
                (entry.raw().get("message"), "toolName", "details")
            };
            let has_data = holder.and_then(|holder| holder.get(data)).is_some_and(|data| !data.is_null());
            if has_data {
                let name = holder.and_then(|holder| holder.get(name)).and_then(Raw::as_text);
                let name = state.hash_one(name.as_ref().map(JsText::as_wtf8));
                newest.insert((is_custom, name), *row);
            }
        }
        kept.extend(newest.into_values());
    }
    Ok(kept)
}

/// Counts the bytes written to it.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
