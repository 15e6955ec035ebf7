//! Writing to a session.

use napi::Either;
use napi_derive::napi;
use sessile::compaction::Compaction;
use sessile::format::members::OwnMembers;
use sessile::json::Json;
use sessile::write::{EntryDraft, MemberPlacement};
use sessile::{EntryId, SessionError, SessionManager, date};

use crate::failure::{Failure, Result};
use crate::handle::{Session, number};
use crate::surroundings::timestamp;

/// An entry that was written.
#[napi(object, object_from_js = false)]
pub struct Appended {
    pub id: String,
    pub row: u32,
    pub numbering: u32,
}

/// Where an entry goes, if not simply below the leaf.
#[napi(object, object_to_js = false)]
pub struct Target {
    /// Whether the leaf must be `expected_leaf`, and no other program may have written since.
    pub expects: bool,
    pub expected_leaf: Option<String>,
    /// Whether the leaf moves to `parent` first.
    pub moves: bool,
    pub parent: Option<String>,
}

impl Target {
    fn expected(&self) -> Expected {
        if self.expects { Expected::Leaf(self.expected_leaf.clone().map(EntryId::from)) } else { Expected::Any }
    }
}

/// The leaf that an append expects.
enum Expected {
    Any,
    /// This one, or none.
    Leaf(Option<EntryId>),
}

/// A compaction to add. Values of any shape are JSON.
#[napi(object, object_to_js = false)]
pub struct NewCompaction {
    pub summary: String,
    pub first_kept_entry_id: Option<String>,
    pub tokens_before: f64,
    pub details: Option<String>,
    pub usage: Option<String>,
    pub from_hook: Option<bool>,
}

impl NewCompaction {
    fn typed(self) -> std::result::Result<Compaction, Failure> {
        let value = |text: Option<String>| {
            let parsed = text.map(Json::parse).transpose();
            parsed.map_err(|error| Failure::invalid(error.to_string()))
        };
        Ok(Compaction {
            summary: self.summary,
            first_kept_entry_id: self.first_kept_entry_id.map(EntryId::from),
            tokens_before: self.tokens_before,
            details: value(self.details)?,
            from_hook: self.from_hook,
            usage: value(self.usage)?,
        })
    }
}

/// The length of the ids that the engine makes.
const ID_LENGTH: usize = 8;

fn appended(manager: &SessionManager, id: &EntryId) -> Appended {
    Appended {
        id: id.to_string(),
        row: manager.leaf_row().map_or(u32::MAX, |row| number(row.index())),
        numbering: u32::try_from(manager.row_numbering()).unwrap_or(u32::MAX),
    }
}

fn draft(kind: String, members: String, members_first: bool) -> std::result::Result<EntryDraft, Failure> {
    let members = OwnMembers::parse(members).map_err(|error| Failure::invalid(error.to_string()))?;
    let placement = if members_first { MemberPlacement::BeforeCommon } else { MemberPlacement::AfterCommon };
    Ok(EntryDraft { kind, members, placement })
}

/// Writes if the leaf is the expected one.
///
/// A leaf that was moved is compared itself; otherwise it is the last entry of the file, after reading what other
/// programs have written.
fn write_expecting(
    manager: &mut SessionManager,
    is_leaf_moved: bool,
    expected: Option<&EntryId>,
    write: impl FnOnce(&mut SessionManager) -> std::result::Result<EntryId, SessionError>,
) -> std::result::Result<EntryId, SessionError> {
    if !is_leaf_moved {
        return manager.append_to_last(expected, write);
    }
    let leaf = manager.leaf_id();
    if leaf.as_ref() == expected {
        return write(manager);
    }
    Err(SessionError::LeafMoved { expected: expected.cloned(), actual: leaf })
}

impl Session {
    /// Writes an entry, if the leaf is the expected one.
    fn write(
        &mut self,
        now: f64,
        expected: Expected,
        write: impl FnOnce(&mut SessionManager) -> std::result::Result<EntryId, SessionError>,
    ) -> Result<Appended> {
        let is_leaf_moved = self.is_leaf_moved;
        let written = self.change(now, |manager| {
            let id = match expected {
                Expected::Leaf(leaf) => write_expecting(manager, is_leaf_moved, leaf.as_ref(), write)?,
                Expected::Any => write(manager)?,
            };
            Ok(appended(manager, &id))
        })?;
        self.is_leaf_moved = false;
        Ok(written)
    }
}

#[napi]
impl Session {
    /// Adds an entry below the leaf. Returns its id, of eight characters, and its time in one string, which is cheaper, if
    /// its row and the numbering of rows are the given ones.
    #[napi]
    pub fn append(
        &mut self,
        kind: String,
        members: String,
        members_first: bool,
        now: f64,
        next_row: u32,
        numbering: u32,
    ) -> Result<Either<String, Appended>> {
        let draft = draft(kind, members, members_first)?;
        let written = self.write(now, Expected::Any, |manager| manager.append_entry(&draft))?;
        let is_expected = written.row == next_row && written.numbering == numbering && written.id.len() == ID_LENGTH;
        Ok(if is_expected { Either::A(written.id + &date::to_iso(timestamp(now))) } else { Either::B(written) })
    }

    /// Adds an entry elsewhere, or under a condition.
    #[napi]
    pub fn append_to(
        &mut self,
        kind: String,
        members: String,
        members_first: bool,
        now: f64,
        target: Target,
    ) -> Result<Appended> {
        let draft = draft(kind, members, members_first)?;
        let (expected, moves, parent) = (target.expected(), target.moves, target.parent.map(EntryId::from));
        let write = |manager: &mut SessionManager| {
            if moves { manager.append_entry_below(parent.as_ref(), &draft) } else { manager.append_entry(&draft) }
        };
        self.write(now, expected, write)
    }

    /// Adds a compaction, with the system message in force.
    #[napi]
    pub fn append_compaction(&mut self, compaction: NewCompaction, now: f64, target: Target) -> Result<Appended> {
        let compaction = compaction.typed()?;
        let expected = target.expected();
        let write = |manager: &mut SessionManager| manager.append_compaction(&compaction);
        self.write(now, expected, write)
    }

    /// Moves the leaf to the entry with this id, or before all entries.
    #[napi]
    pub fn move_leaf(&mut self, id: Option<String>, now: f64) -> Result<()> {
        self.change(now, |manager| {
            if let Some(id) = id {
                return manager.branch(id);
            }
            manager.reset_leaf();
            Ok(())
        })?;
        self.is_leaf_moved = true;
        Ok(())
    }

    /// What the last append survives: `memory`, `page-cache`, `disk` or `server`.
    #[napi]
    pub fn last_durable(&self) -> Result<Option<String>> {
        self.read(|manager| Ok(manager.last_acknowledgement().map(|written| written.durable.as_str().to_owned())))
    }
}

/// The system message that a compaction after these messages carries, as JSON. They are the JSON of system messages.
#[napi]
pub fn checkpoint_of(messages: Vec<String>, now: f64) -> Option<String> {
    let messages: Vec<Json> = messages.iter().filter_map(|text| Json::parse(text).ok()).collect();
    let now = timestamp(now);
    let message = sessile::format::checkpoint::checkpoint(messages.iter().map(Json::raw), now);
    message.map(|message| message.to_text().into_owned())
}
