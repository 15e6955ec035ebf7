//! Consecutive lines of a session, parsed but not yet placed.

use super::ids::Spelled;
use super::{ODD_TIME, Outline};
use crate::date::Timestamp;
use crate::diagnostic::Oddity;
use crate::head::{self, Head, Kind, ParentRef, Parsed, Role};
use crate::line::{Line, Span};
use crate::version::FreshIds;

/// What one line means for an outline.
pub(super) enum ReadLine<'a> {
    /// Not a row, but possibly worth reporting.
    PassedOver { offset: u64, oddity: Option<Oddity> },
    /// A row.
    Row { bytes: &'a [u8], span: Span, head: Head<'a> },
}

impl<'a> ReadLine<'a> {
    pub(super) fn of(line: Line<'a>) -> Self {
        let Line { span, bytes, .. } = line.without_bom();
        let passed_over = |offset, oddity| Self::PassedOver { offset, oddity };
        let Some(bytes) = bytes else {
            return passed_over(span.offset, Some(Oddity::TooLong { len: span.len }));
        };
        match head::read(bytes) {
            Parsed::Blank => passed_over(span.offset, None),
            Parsed::Malformed { at } => passed_over(span.offset + at as u64, Some(Oddity::Malformed)),
            Parsed::Falsy => passed_over(span.offset, Some(Oddity::Empty)),
            Parsed::Value(head) => Self::Row { bytes, span, head },
        }
    }
}

/// The parts of a head that the outline needs.
pub(super) struct LineFacts<'a> {
    pub(super) kind: Kind,
    pub(super) role: Role,
    pub(super) time: i64,
    pub(super) id: Option<Spelled<'a>>,
    pub(super) parent: ParentName<'a>,
}

/// The value of a `parentId`.
#[derive(Clone, Copy)]
pub(super) enum ParentName<'a> {
    Null,
    Absent,
    Odd,
    Id(Spelled<'a>),
}

impl<'a> LineFacts<'a> {
    pub(super) fn of(head: &'a Head<'_>) -> Self {
        Self {
            kind: head.kind,
            role: head.role,
            time: head.time.map_or(ODD_TIME, Timestamp::as_ms),
            id: head.id.as_ref().map(|id| Spelled::of(id.as_wtf8())),
            parent: match &head.parent {
                ParentRef::Null => ParentName::Null,
                ParentRef::Absent => ParentName::Absent,
                ParentRef::Odd => ParentName::Odd,
                ParentRef::Id(parent) => ParentName::Id(Spelled::of(parent.as_wtf8())),
            },
        }
    }
}

/// Consecutive lines of a session, parsed independently and added to an outline by [`Outline::push_part`].
///
/// Parsing lines is nearly all the work and does not depend on the lines before. So a large file can be split into
/// parts that are parsed in parallel. Adding them in order is quick.
#[derive(Debug, Default)]
pub struct OutlinePart {
    items: Vec<Item>,
    /// Ids that are not eight hexadecimal digits.
    arena: Vec<u8>,
    /// The first line that counts, if it is a header.
    header: Option<Vec<u8>>,
    has_row: bool,
    start: Option<u64>,
    end: u64,
    unterminated: bool,
    has_bom: bool,
}

#[derive(Clone, Debug)]
enum Item {
    Row {
        offset: u64,
        len: u32,
        kind: Kind,
        role: Role,
        time: i64,
        id: Name,
        parent: Name,
    },
    /// A line that is not a row.
    Gap {
        offset: u64,
        oddity: Option<Oddity>,
    },
}

/// An id, or the marker in place of one.
#[derive(Clone, Copy, Debug)]
enum Name {
    Null,
    Absent,
    Odd,
    Hex(u32),
    Text { start: u32, len: u32 },
}

impl OutlinePart {
    /// Creates a part without lines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next line.
    pub fn push(&mut self, line: Line<'_>) {
        self.start.get_or_insert(line.span.offset);
        self.end = line.span.end() + u64::from(line.terminated);
        self.unterminated = !line.terminated;
        self.has_bom |= line.has_bom();
        match ReadLine::of(line) {
            ReadLine::PassedOver { offset, oddity } => self.pass_over(offset, oddity),
            ReadLine::Row { bytes, span, head } => self.keep(bytes, span, &LineFacts::of(&head)),
        }
    }

    fn pass_over(&mut self, offset: u64, oddity: Option<Oddity>) {
        self.items.push(Item::Gap { offset, oddity });
    }

    fn keep(&mut self, bytes: &[u8], span: Span, facts: &LineFacts<'_>) {
        if !std::mem::replace(&mut self.has_row, true) && facts.kind == Kind::Header {
            self.header = Some(bytes.to_vec());
        }
        let id = facts.id.map_or(Name::Absent, |id| self.name(id));
        let parent = match facts.parent {
            ParentName::Null => Name::Null,
            ParentName::Absent => Name::Absent,
            ParentName::Odd => Name::Odd,
            ParentName::Id(parent) => self.name(parent),
        };
        let len = u32::try_from(span.len).unwrap_or(u32::MAX);
        let LineFacts { kind, role, time, .. } = *facts;
        self.items.push(Item::Row { offset: span.offset, len, kind, role, time, id, parent });
    }

    fn name(&mut self, id: Spelled<'_>) -> Name {
        match id {
            Spelled::Hex(value) => Name::Hex(value),
            Spelled::Text(text) => {
                // A part is a few megabytes of lines, or a single line, and lines are far below 4 GiB.
                let start = u32::try_from(self.arena.len()).unwrap_or(u32::MAX);
                self.arena.extend_from_slice(text);
                Name::Text { start, len: u32::try_from(text.len()).unwrap_or(u32::MAX) }
            }
        }
    }

    fn spelled(&self, name: Name) -> Option<Spelled<'_>> {
        match name {
            Name::Hex(value) => Some(Spelled::Hex(value)),
            Name::Text { start, len } => {
                let text = self.arena.get(start as usize..start as usize + len as usize);
                Some(Spelled::Text(text.unwrap_or_default()))
            }
            Name::Null | Name::Absent | Name::Odd => None,
        }
    }

    /// The offset of its first line; `None` if it has no lines.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// The offset just after its last line.
    pub fn end(&self) -> u64 {
        self.end
    }
}

impl Outline {
    /// Adds the next lines of the file at once. Equivalent to [`push`](Self::push) for each of them.
    pub fn push_part(&mut self, part: &OutlinePart, fresh: &mut dyn FreshIds) {
        if part.start.is_none() {
            return;
        }
        self.end = part.end;
        self.unterminated = part.unterminated;
        self.has_bom |= part.has_bom;
        let mut header = part.header.as_deref();
        for item in &part.items {
            match *item {
                Item::Gap { offset, ref oddity } => self.pass_over(offset, oddity.clone()),
                Item::Row { offset, len, kind, role, time, id, parent } => {
                    let parent = match (parent, part.spelled(parent)) {
                        (_, Some(parent)) => ParentName::Id(parent),
                        (Name::Null, None) => ParentName::Null,
                        (Name::Odd, None) => ParentName::Odd,
                        (_, None) => ParentName::Absent,
                    };
                    let facts = LineFacts { kind, role, time, id: part.spelled(id), parent };
                    self.keep(header.take(), Span { offset, len: u64::from(len) }, &facts, fresh);
                }
            }
        }
    }
}
