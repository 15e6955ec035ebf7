//! What repair writes: records on separate lines, and marks for incomplete records.
//!
//! A record is written byte for byte or not at all. A mark with the same id replaces an incomplete record, and a parent
//! that is missing from the file, so that the tree stays connected.

use std::collections::{HashMap, HashSet};

use sessile_core::EntryId;
use sessile_core::date::Timestamp;
use sessile_core::incomplete::IncompleteMark;
use sessile_core::line::Span;
use sessile_core::location::fingerprint;
use sessile_core::orphan::{Forest, is_orphan};
use sessile_core::outline::{Outline, Row};
use sessile_core::verify::Code;

use super::damage::{Damage, DamageSite, Hidden, RecordFate, Remainder};
use super::examine::may_repair;
use crate::error::SessionError;
use crate::splice::{Splice, Text};

/// A mark to write.
pub(crate) struct Marked {
    /// The finding that it repairs.
    pub(crate) code: Code,
    /// The position in the file that it replaces, or before which it is inserted.
    pub(crate) line: u64,
    pub(crate) at: Span,
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    /// What it stands for.
    pub(crate) stands_for: StandsFor,
    /// The line to write.
    pub(crate) text: Vec<u8>,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandsFor {
    /// An incomplete record with the mark's id.
    Record,
    /// Bytes of unknown meaning.
    Remainder,
    /// A missing entry that other entries name as their parent.
    Lost,
}

/// Everything to write.
pub(super) struct Plan {
    pub(super) marks: Vec<Marked>,
    pub(super) splices: Vec<Splice>,
}

/// Something in the file, in file order.
#[derive(Clone, Copy)]
enum Item<'d> {
    Row(Row),
    Record(&'d Hidden),
    Remainder(&'d DamageSite, &'d Remainder),
}

/// Decides what to write, and drops records from the damage that are not extracted.
pub(super) fn plan(
    text: &dyn Text,
    outline: &Outline,
    damage: &mut Damage<'_>,
    drops_mark: bool,
) -> Result<Plan, SessionError> {
    let (wanted, marked) = wanted_marks(damage);
    for (index, site) in damage.sites.iter_mut().enumerate() {
        let is_touched = site.is_free
            && (site.hidden.iter().any(|found| found.fate == RecordFate::ComesBack) || !wanted[index].is_empty());
        if !is_touched {
            site.hidden.clear();
            site.remainders.clear();
            continue;
        }
        let mut remainder_index = 0;
        site.remainders.retain(|remainder| {
            let is_marked = remainder.is_readable || wanted[index].contains(&remainder_index);
            remainder_index += 1;
            is_marked
        });
    }
    let damage = &*damage;
    let mut planner = Planner::new(outline, damage, marked);
    let has_orphans = || outline.entries().any(|row| is_orphan(outline, row));
    let is_needed = damage.sites.iter().any(|site| !site.hidden.is_empty() || !site.remainders.is_empty());
    if may_repair(outline) && (is_needed || has_orphans()) {
        planner.go();
    }
    let splices = splices(text, planner.units, drops_mark)?;
    Ok(Plan { marks: planner.marks, splices })
}

/// For each site, the remainders that get a mark with their record's id; and all of those ids.
fn wanted_marks(damage: &Damage<'_>) -> (Vec<Vec<usize>>, HashSet<EntryId>) {
    let mut ids = HashSet::new();
    let mut wanted = Vec::with_capacity(damage.sites.len());
    for site in &damage.sites {
        let mut indexes = Vec::new();
        for (index, remainder) in site.remainders.iter().enumerate().filter(|_| site.is_free) {
            // Another program may still be writing the last line.
            let Some(id) = remainder.id.as_ref().filter(|id| !remainder.is_last && !damage.has(id)) else { continue };
            if ids.insert(id.clone()) {
                indexes.push(index);
            }
        }
        wanted.push(indexes);
    }
    (wanted, ids)
}

/// A position in the file and its new content; `None` if only newlines are inserted around it.
struct Unit {
    at: Span,
    with: Option<Vec<u8>>,
}

struct Planner<'d> {
    outline: &'d Outline,
    damage: &'d Damage<'d>,
    items: Vec<Item<'d>>,
    forest: Forest,
    /// The ids of marks that are planned or still to come.
    marked: HashSet<EntryId>,
    /// The ids of records that have their mark.
    done: HashSet<EntryId>,
    /// The last valid entry, and its time.
    before: Option<(EntryId, Option<Timestamp>)>,
    units: Vec<Unit>,
    marks: Vec<Marked>,
}

impl<'d> Planner<'d> {
    fn new(outline: &'d Outline, damage: &'d Damage<'d>, marked: HashSet<EntryId>) -> Self {
        let mut items: Vec<Item<'d>> = outline.rows().map(Item::Row).collect();
        for site in &damage.sites {
            items.extend(site.hidden.iter().map(Item::Record));
            items.extend(site.remainders.iter().map(|remainder| Item::Remainder(site, remainder)));
        }
        let (units, marks, done) = (Vec::new(), Vec::new(), HashSet::new());
        Self { outline, damage, items, forest: Forest::default(), marked, done, before: None, units, marks }
    }

    fn offset(&self, item: &Item<'_>) -> u64 {
        match item {
            Item::Row(row) => self.outline.span(*row).offset,
            Item::Record(found) => found.at.offset,
            Item::Remainder(_, remainder) => remainder.at.offset,
        }
    }

    fn go(&mut self) {
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_cached_key(|item| self.offset(item));
        for item in &items {
            let named = match item {
                Item::Row(row) => self.counting(*row).map(|id| (id, self.outline.parent_id(*row))),
                Item::Record(found) => {
                    (found.fate == RecordFate::ComesBack).then(|| (found.id.clone(), found.parent.clone()))
                }
                Item::Remainder(..) => None,
            };
            if let Some((id, Some(parent))) = named {
                self.forest.attach(&id, &parent);
            }
        }
        for item in items {
            match item {
                Item::Row(row) => self.row(row),
                Item::Record(found) => self.record(found),
                Item::Remainder(site, remainder) => self.remainder(site, remainder),
            }
        }
    }

    /// The id of a row, if this row is the current one for the id.
    fn counting(&self, row: Row) -> Option<EntryId> {
        self.outline.id(row).filter(|_| self.outline.current(row) == row)
    }

    fn is_known(&self, id: &EntryId) -> bool {
        self.damage.has(id) || self.marked.contains(id)
    }

    fn row(&mut self, row: Row) {
        let Some(id) = self.counting(row) else { return };
        let time = self.outline.time(row);
        if let Some(parent) = self.outline.parent_id(row) {
            let (line, offset) = (self.outline.line_number(row), self.outline.span(row).offset);
            self.stand_in(&parent, line, offset, time);
        }
        self.before = Some((id, time));
    }

    fn record(&mut self, found: &Hidden) {
        if found.fate == RecordFate::IsCopy {
            self.units.push(Unit { at: found.at, with: Some(Vec::new()) });
            return;
        }
        if let Some(parent) = &found.parent {
            self.stand_in(parent, found.line, found.at.offset, found.time);
        }
        self.units.push(Unit { at: found.at, with: None });
        if !found.is_header {
            self.before = Some((found.id.clone(), found.time));
        }
    }

    /// Inserts a mark for a missing parent, right before the entry that names it.
    fn stand_in(&mut self, lost: &EntryId, line: u64, offset: u64, time: Option<Timestamp>) {
        if *lost == "" || self.is_known(lost) {
            return;
        }
        let Some((before, time_before)) = self.before.clone() else { return };
        if !self.forest.attach(lost, &before) {
            return;
        }
        self.marked.insert(lost.clone());
        let at = Span { offset, len: 0 };
        let time = time.or(time_before).unwrap_or(Timestamp::EPOCH);
        let mark =
            IncompleteMark { id: lost, parent: Some(&before), time, reason: Code::MissingParent.word(), bytes: None };
        let text = mark.to_json().into_bytes();
        self.units.push(Unit { at, with: Some(text.clone()) });
        let (code, id, parent) = (Code::MissingParent, lost.clone(), Some(before));
        self.marks.push(Marked { code, line, at, id, parent, stands_for: StandsFor::Lost, text });
    }

    fn remainder(&mut self, site: &DamageSite, remainder: &Remainder) {
        let code = site.finding.code;
        // If several remainders have the same id, the first one is the record.
        let is_own = |id: &EntryId| !remainder.is_last && self.marked.contains(id) && !self.done.contains(id);
        let own = remainder.id.clone().filter(is_own);
        let stands_for = if own.is_some() { StandsFor::Record } else { StandsFor::Remainder };
        let id = own.unwrap_or_else(|| self.new_id(&remainder.bytes));
        let stated = remainder.parent.clone().filter(|_| stands_for == StandsFor::Record);
        let parent = match stated {
            Some(None) => None,
            Some(Some(parent)) if self.is_known(&parent) && self.forest.attach(&id, &parent) => Some(parent),
            _ => self.before.clone().map(|(before, _)| before).filter(|before| self.forest.attach(&id, before)),
        };
        let time = remainder.time.or(self.before.as_ref().and_then(|(_, time)| *time)).unwrap_or(Timestamp::EPOCH);
        let mark = IncompleteMark {
            id: &id,
            parent: parent.as_ref(),
            time,
            reason: code.word(),
            bytes: Some(&remainder.bytes),
        };
        let text = mark.to_json().into_bytes();
        self.units.push(Unit { at: remainder.at, with: Some(text.clone()) });
        if stands_for == StandsFor::Record {
            self.done.insert(id.clone());
        }
        // It is an entry from now on, so the next repair must come to the same result.
        self.before = Some((id.clone(), Some(time)));
        self.marks.push(Marked { code, line: remainder.line, at: remainder.at, id, parent, stands_for, text });
    }

    /// An id that the file neither has nor names; the same bytes give the same id.
    fn new_id(&mut self, bytes: &[u8]) -> EntryId {
        let mut seed = fingerprint(bytes);
        loop {
            let id = EntryId::from(format!("{:08x}", seed >> 32).as_str());
            if !self.outline.mentions(&id) && !self.is_known(&id) && self.marked.insert(id.clone()) {
                return id;
            }
            seed = fingerprint(&seed.to_le_bytes());
        }
    }
}

/// The changes that give each unit its own line.
///
/// Inserts a newline where a unit would touch the bytes around it. No other
/// byte changes.
fn splices(text: &dyn Text, units: Vec<Unit>, drops_mark: bool) -> Result<Vec<Splice>, SessionError> {
    let mut splices = Vec::new();
    let n_mark = if drops_mark { sessile_core::line::BOM.len() as u64 } else { 0 };
    if drops_mark {
        splices.push(Splice { at: Span { offset: 0, len: n_mark }, with: Vec::new() });
    }
    let is_newline = |offset: u64| -> Result<bool, SessionError> { Ok(text.read(Span { offset, len: 1 })? == b"\n") };
    let mut end_of_last = None;
    for Unit { at, with } in units {
        // The previous unit has already added a newline here.
        if at.offset > n_mark && end_of_last != Some(at.offset) && !is_newline(at.offset - 1)? {
            splices.push(Splice::insert(at.offset, b"\n"));
        }
        splices.extend(with.map(|with| Splice { at, with }));
        if at.end() < text.length() && !is_newline(at.end())? {
            splices.push(Splice::insert(at.end(), b"\n"));
            end_of_last = Some(at.end());
        }
    }
    Ok(splices)
}

/// The marks by id, for the findings about orphans.
pub(super) fn by_id(marks: &[Marked]) -> HashMap<&EntryId, &Marked> {
    marks.iter().map(|mark| (&mark.id, mark)).collect()
}
