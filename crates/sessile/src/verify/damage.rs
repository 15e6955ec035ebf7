//! Unreadable lines, and the parts of them that repair can use.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use sessile_core::EntryId;
use sessile_core::date::Timestamp;
use sessile_core::head::{self, ParentRef, Parsed};
use sessile_core::incomplete::PartialObject;
use sessile_core::json::Json;
use sessile_core::line::{LINE_CAP, Line, Span};
use sessile_core::outline::Outline;
use sessile_core::salvage::{Damaged, Salvaged, split_damaged_lines};
use sessile_core::verify::{self, Finding};

use super::HiddenRecord;
use super::examine::may_repair;
use crate::error::SessionError;
use crate::splice::Text;

/// The maximum length of damaged bytes to keep in a mark or a new header, so that its line stays far below the line
/// cap.
pub(super) const MAX_KEPT: usize = LINE_CAP / 8;

/// A record in a damaged line, with its position in the file.
pub(crate) struct Hidden {
    pub(crate) line: u64,
    pub(crate) at: Span,
    pub(crate) fate: RecordFate,
    pub(crate) is_header: bool,
    pub(crate) id: EntryId,
    /// The parent that it names.
    pub(super) parent: Option<EntryId>,
    pub(super) time: Option<Timestamp>,
    /// The record's bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Hidden {
    pub(super) fn to_record(&self) -> Option<HiddenRecord> {
        let record = Json::parse(&self.bytes).ok().filter(|_| self.fate == RecordFate::ComesBack)?;
        Some(HiddenRecord { line: self.line, offset: self.at.offset, record })
    }
}

/// What repair does with a record in a damaged line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFate {
    /// It gets its own line.
    ComesBack,
    /// The same bytes are or will be a line already, so this copy is not needed.
    IsCopy,
}

/// The remains of a damaged line without the records extracted from it.
pub(super) struct Remainder {
    pub(super) line: u64,
    pub(super) at: Span,
    /// The bytes, if a mark may need them.
    pub(super) bytes: Vec<u8>,
    /// The id, the parent and the time of the original entry, as far as they precede the damage.
    pub(super) id: Option<EntryId>,
    #[expect(clippy::option_option, reason = "the inner `None` means that the entry was a root")]
    pub(super) parent: Option<Option<EntryId>>,
    pub(super) time: Option<Timestamp>,
    /// Whether readers would take it for an entry on its own line. pi would, and an entry without an id cuts the
    /// conversation.
    pub(super) is_readable: bool,
    /// Whether it is at the end of the file, so that a program may still be writing it.
    pub(super) is_last: bool,
}

/// A damaged line, or several consecutive ones.
pub(super) struct DamageSite {
    pub(super) finding: Finding,
    /// Whether it contains complete records.
    pub(super) has_records: bool,
    /// The records to extract if it is changed.
    pub(super) hidden: Vec<Hidden>,
    pub(super) remainders: Vec<Remainder>,
    /// Whether it may be changed.
    pub(super) is_free: bool,
}

/// The lines that are not rows, analysed.
pub(super) struct Damage<'o> {
    outline: &'o Outline,
    /// The header's line, if there is one.
    header: Option<Vec<u8>>,
    pub(super) sites: Vec<DamageSite>,
    /// Whether there is a header, or one is restored.
    pub(super) has_header: bool,
    /// A complete header in a damaged line, at a position where it cannot be restored.
    pub(super) stray_header: Option<Vec<u8>>,
    /// The number of complete entries in damaged lines, and the time of the first.
    pub(super) n_entries: usize,
    pub(super) first_time: Option<Timestamp>,
    /// The parents named by records in damaged lines, from an earlier pass.
    named: HashSet<EntryId>,
    /// The parents named by records in damaged lines, collected in this pass.
    parents: HashSet<EntryId>,
    /// The ids of records that are restored only if another record names them.
    uncertain: Vec<EntryId>,
    /// The restored records found so far: their bytes by id.
    found: HashMap<EntryId, Vec<u8>>,
}

impl<'o> Damage<'o> {
    /// Analyses everything between rows.
    pub(super) fn of(outline: &'o Outline, text: &dyn Text) -> Result<Self, SessionError> {
        let first = Self::look(outline, text, HashSet::new())?;
        // Only now are all named parents known, so a second pass may be needed.
        let is_named = first.uncertain.iter().any(|id| first.parents.contains(id));
        if is_named { Self::look(outline, text, first.parents) } else { Ok(first) }
    }

    fn look(outline: &'o Outline, text: &dyn Text, named: HashSet<EntryId>) -> Result<Self, SessionError> {
        let mut damage = Self {
            named,
            parents: HashSet::new(),
            uncertain: Vec::new(),
            outline,
            header: outline.header().map(|row| text.read(outline.span(row))).transpose()?,
            sites: Vec::new(),
            has_header: outline.is_session(),
            stray_header: None,
            n_entries: 0,
            first_time: None,
            found: HashMap::new(),
        };
        let (mut from, mut line) = (0, 1);
        for row in outline.rows() {
            let span = outline.span(row);
            let is_before_rows = row.index() == 0;
            damage.gap(text, Span { offset: from, len: span.offset - from }, line, is_before_rows)?;
            (from, line) = (span.end() + 1, outline.line_number(row) + 1);
        }
        let len = text.length().saturating_sub(from);
        damage.gap(text, Span { offset: from, len }, line, outline.rows().len() == 0)?;
        Ok(damage)
    }

    /// Analyses the lines of a span, as many at a time as the line cap allows.
    fn gap(&mut self, text: &dyn Text, span: Span, line: u64, is_before_rows: bool) -> Result<(), SessionError> {
        if span.len == 0 {
            return Ok(());
        }
        let mut run = Run { start: span.offset, line, bytes: Vec::new(), is_before_rows, end: text.length() };
        let mut result = Ok(());
        text.lines(span, &mut |line: Line<'_>| {
            let len = line.bytes.map_or(0, <[u8]>::len);
            if line.bytes.is_none() || run.bytes.len() + len > LINE_CAP {
                result = std::mem::replace(&mut result, Ok(())).and_then(|()| self.run(text, &run));
                run.begin_at(line.span.offset);
            }
            match line.bytes {
                Some(bytes) => run.push(bytes, line.terminated),
                None => run.pass_over(line.span.end() + 1),
            }
        })?;
        result.and_then(|()| self.run(text, &run))
    }

    fn run(&mut self, text: &dyn Text, run: &Run) -> Result<(), SessionError> {
        split_damaged_lines(&run.bytes).iter().try_for_each(|damaged| self.damaged(text, run, damaged))
    }

    fn damaged(&mut self, text: &dyn Text, run: &Run, damaged: &Damaged) -> Result<(), SessionError> {
        let mut hidden: Vec<Hidden> = Vec::new();
        let mut taken: Vec<Range<usize>> = Vec::new();
        // A header is restored only if no valid line would precede it.
        let may_be_headed = run.is_before_rows && !self.has_header;
        for record in &damaged.records {
            let bytes = &run.bytes[record.range.clone()];
            self.note(record, bytes);
            let has_one = self.has_header || hidden.first().is_some_and(|first| first.is_header);
            let fate = if record.is_header && may_be_headed && hidden.is_empty() {
                Some(RecordFate::ComesBack)
            } else if record.is_header {
                let is_same = self.header.as_deref().is_some_and(|header| header.trim_ascii() == bytes.trim_ascii());
                is_same.then_some(RecordFate::IsCopy)
            } else if has_one {
                self.fate(text, record, bytes, &hidden)?
            } else {
                None
            };
            if let Some(fate) = fate {
                let head = head::read(bytes);
                let (parent, time) = match &head {
                    Parsed::Value(head) => (named_parent(&head.parent), head.time),
                    _ => (None, None),
                };
                let (line, at) = (run.line_of(damaged, record.range.start), run.span_of(&record.range));
                let (is_header, id, bytes) = (record.is_header, record.id.clone(), bytes.to_vec());
                hidden.push(Hidden { line, at, fate, is_header, id, parent, time, bytes });
                taken.push(record.range.clone());
            }
        }
        let remainders: Vec<Remainder> =
            damaged.remainders(&run.bytes, &taken).into_iter().map(|range| run.remainder(damaged, range)).collect();
        let first_header =
            hidden.iter().find(|found| found.is_header && found.fate == RecordFate::ComesBack).map(|it| it.at);
        let is_header_first = first_header.is_none_or(|header| {
            let is_early = |remainder: &&Remainder| remainder.at.offset < header.offset;
            remainders.iter().filter(is_early).all(|remainder| !remainder.is_readable && remainder.id.is_none())
        });
        // Nothing may precede the header, and everything that becomes readable must fit into a line of ours.
        let is_placed = match (run.is_before_rows, self.has_header) {
            (false, _) => true,
            (true, true) => !self.outline.is_session(),
            (true, false) => first_header.is_some() && is_header_first,
        };
        let fits = remainders.iter().all(|remainder| !remainder.is_readable || !remainder.bytes.is_empty());
        let is_free = may_repair(self.outline) && is_placed && fits;
        if is_free {
            self.has_header |= first_header.is_some();
            let back = hidden.iter().filter(|found| found.fate == RecordFate::ComesBack && !found.is_header);
            self.found.extend(back.map(|found| (found.id.clone(), found.bytes.clone())));
        } else {
            hidden.clear();
        }
        let line = run.line + damaged.line as u64;
        let finding = verify::damage(damaged, line, run.span_of(&damaged.range).offset);
        let has_records = !damaged.records.is_empty();
        self.sites.push(DamageSite { finding, has_records, hidden, remainders, is_free });
        Ok(())
    }

    /// Records the data from which a missing header could be rebuilt.
    fn note(&mut self, record: &Salvaged, bytes: &[u8]) {
        if record.is_header {
            self.stray_header.get_or_insert_with(|| bytes.trim_ascii().to_vec());
        } else {
            self.n_entries += usize::from(record.is_certain);
            self.uncertain.extend((!record.is_certain).then(|| record.id.clone()));
            if let Parsed::Value(head) = head::read(bytes) {
                self.first_time = self.first_time.or(head.time);
                self.parents.extend(named_parent(&head.parent));
            }
        }
    }

    /// What to do with an entry in a damaged line, given the records already `taken` from that line; `None` if it
    /// stays damaged.
    fn fate(
        &self,
        text: &dyn Text,
        record: &Salvaged,
        bytes: &[u8],
        taken: &[Hidden],
    ) -> Result<Option<RecordFate>, SessionError> {
        let in_file = self.outline.find(&record.id).map(|row| text.read(self.outline.span(row))).transpose()?;
        let on_line = taken.iter().find(|found| found.id == record.id && found.fate == RecordFate::ComesBack);
        let found = self.found.get(&record.id).or(on_line.map(|found| &found.bytes));
        Ok(match in_file.as_ref().or(found) {
            // If another entry names it as its parent, it was an entry, not a part of another entry.
            None if record.is_certain || self.is_named(&record.id) => Some(RecordFate::ComesBack),
            None => None,
            Some(other) => (other.trim_ascii() == bytes.trim_ascii()).then_some(RecordFate::IsCopy),
        })
    }

    /// Whether another record names an id as its parent.
    fn is_named(&self, id: &EntryId) -> bool {
        self.outline.mentions(id) || self.named.contains(id)
    }

    /// Whether an entry with this id is in the file or is restored.
    pub(super) fn has(&self, id: &EntryId) -> bool {
        self.outline.find(id).is_some() || self.found.contains_key(id)
    }
}

fn named_parent(parent: &ParentRef<'_>) -> Option<EntryId> {
    match parent {
        ParentRef::Id(parent) => Some(parent.clone().into()),
        _ => None,
    }
}

/// Some consecutive lines.
struct Run {
    start: u64,
    line: u64,
    bytes: Vec<u8>,
    /// Whether no row precedes them.
    is_before_rows: bool,
    /// The end of the file.
    end: u64,
}

impl Run {
    fn push(&mut self, line: &[u8], terminated: bool) {
        self.bytes.extend_from_slice(line);
        self.bytes.extend(terminated.then_some(b'\n'));
    }

    /// Starts over with the line at this offset.
    fn begin_at(&mut self, offset: u64) {
        self.line += n_newlines(&self.bytes);
        self.start = offset;
        self.bytes.clear();
    }

    /// Continues after a line that is not analysed.
    fn pass_over(&mut self, end: u64) {
        self.line += 1;
        self.start = end;
    }

    fn span_of(&self, range: &Range<usize>) -> Span {
        Span { offset: self.start + range.start as u64, len: range.len() as u64 }
    }

    /// The number of the line at an offset in some damaged lines.
    ///
    /// Counts from the first of them: a run may have as many damaged lines as bytes.
    fn line_of(&self, damaged: &Damaged, at: usize) -> u64 {
        self.line + damaged.line as u64 + n_newlines(&self.bytes[damaged.range.start..at])
    }

    fn remainder(&self, damaged: &Damaged, range: Range<usize>) -> Remainder {
        let bytes = &self.bytes[range.clone()];
        let beginning = PartialObject::of(bytes).filter(|_| bytes.len() <= MAX_KEPT);
        let is_readable = matches!(head::read(bytes), Parsed::Value(_));
        let id = beginning.as_ref().and_then(PartialObject::entry_id);
        let is_needed = (is_readable || id.is_some()) && bytes.len() <= MAX_KEPT;
        let at = self.span_of(&range);
        Remainder {
            line: self.line_of(damaged, range.start),
            is_last: at.end() >= self.end,
            at,
            bytes: if is_needed { bytes.to_vec() } else { Vec::new() },
            parent: beginning.as_ref().and_then(PartialObject::parent),
            time: beginning.as_ref().and_then(PartialObject::time),
            id,
            is_readable,
        }
    }
}

fn n_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
