//! A session as a few numbers per line.
//!
//! The outline stores the position and type of every line, and the links between entries. It never holds a payload:
//! callers request payloads by [`Row`]. [`Outline::push`] decides what a line means; opening, appending and catching up
//! all go through it.
//!
//! No file content makes it fail. [`Outline::diagnostics`] reports anything odd.

mod ids;
mod part;
mod saved;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use crate::date::Timestamp;
use crate::diagnostic::{Diagnostic, Oddity, Severity};
use crate::head::{self, Kind, ParentRef, Parsed, Role};
use crate::id::EntryId;
use crate::json::JsText;
use crate::line::{Line, Span};
use crate::version::{FreshIds, Upgrade};
use ids::{IdTable, NONE, Spelled};
pub use part::OutlinePart;
use part::{LineFacts, ParentName, ReadLine};
pub use saved::{SAVED_VERSION, SavedBytes};

/// A line of a session that counts: a header, an entry, or a value that is neither.
///
/// Rows are numbered in file order from 0. Row 0 is the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(u32);

impl Row {
    /// The index of the row among all rows.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Like [`index`](Self::index), in the width in which it is stored.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The row with a number from [`number`](Self::number).
    pub(crate) fn numbered(number: u32) -> Self {
        Self(number)
    }
}

/// Markers in the parent column that are not ids.
const PARENT_NULL: u32 = NONE;
const PARENT_ABSENT: u32 = NONE - 1;
const PARENT_ODD: u32 = NONE - 2;

/// Number of attempts to get a fresh id before one is constructed.
const MAX_ATTEMPTS: u32 = 1000;

/// Marks a time that is not in pi's format.
const ODD_TIME: i64 = i64::MIN;

/// The rows of a session as arrays, and the tree they form.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the lines")]
pub struct Outline {
    offsets: Vec<u64>,
    lens: Vec<u32>,
    kinds: Vec<Kind>,
    roles: Vec<Role>,
    times: Vec<i64>,
    ids: Vec<u32>,
    parents: Vec<u32>,
    names: IdTable,
    /// Number of distinct ids that entries carry.
    n_ids: usize,
    n_entries: usize,
    /// Whether the first value is a header that pi accepts.
    is_session: bool,
    has_conversation: bool,
    upgrade: Upgrade,
    leaf: Option<Row>,
    /// For each line that is not a row, the number of rows before it.
    gaps: Vec<u32>,
    passed_over: Vec<PassedOver>,
    has_bom: bool,
    end: u64,
    unterminated: bool,
    /// Whether an id was reused, or named as a parent before its entry appeared. Otherwise loops are impossible.
    may_loop: bool,
    /// The ids at which loops are cut, computed on first use.
    cuts: OnceLock<HashSet<u32>>,
}

/// A line that is not a row but is worth reporting.
#[derive(Clone, Debug)]
struct PassedOver {
    line: u64,
    offset: u64,
    oddity: Oddity,
}

impl PassedOver {
    fn diagnostic(&self) -> Diagnostic {
        let oddity = self.oddity.clone();
        Diagnostic { severity: oddity.severity(), line: self.line, offset: self.offset, oddity }
    }
}

impl Outline {
    /// Creates an empty outline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an outline of entries that need this upgrade, whether or not a header says so.
    pub(crate) fn needing(upgrade: Upgrade) -> Self {
        Self { upgrade, ..Self::default() }
    }

    /// Adds the next line of the file.
    ///
    /// `fresh` supplies ids for the entries of a version 1 file, which have none.
    pub fn push(&mut self, line: Line<'_>, fresh: &mut dyn FreshIds) {
        self.end = line.span.end() + u64::from(line.terminated);
        self.unterminated = !line.terminated;
        self.has_bom |= line.has_bom();
        match ReadLine::of(line) {
            ReadLine::PassedOver { offset, oddity } => self.pass_over(offset, oddity),
            ReadLine::Row { bytes, span, head } => self.keep(Some(bytes), span, &LineFacts::of(&head), fresh),
        }
    }

    /// Adds a line that this library has just written. A faster equivalent of [`push`](Self::push).
    pub fn push_own(&mut self, line: Line<'_>, fresh: &mut dyn FreshIds) {
        match line.bytes.and_then(head::read_own) {
            Some(head) if line.terminated => {
                self.end = line.span.end() + 1;
                self.unterminated = false;
                self.keep(line.bytes, line.span, &LineFacts::of(&head), fresh);
            }
            _ => self.push(line, fresh),
        }
    }

    fn pass_over(&mut self, offset: u64, oddity: Option<Oddity>) {
        let line = self.n_lines() + 1;
        self.gaps.push(self.next_row().0);
        self.passed_over.extend(oddity.map(|oddity| PassedOver { line, offset, oddity }));
    }

    /// Adds a row. `line` matters only for the first row, if it is a header.
    fn keep(&mut self, line: Option<&[u8]>, span: Span, facts: &LineFacts<'_>, fresh: &mut dyn FreshIds) {
        let row = self.next_row();
        if row.0 == 0 {
            self.is_session = facts.kind == Kind::Header && facts.id.is_some();
            if let Some(line) = line.filter(|_| facts.kind == Kind::Header) {
                self.upgrade = Upgrade::of_header(line);
            }
        }
        let n_ids_before = self.names.len();
        let (id, parent) = match facts.kind {
            Kind::Header => (NONE, PARENT_NULL),
            Kind::NotObject => (NONE, PARENT_ABSENT),
            _ if self.upgrade == Upgrade::FromV1 => self.chain(fresh),
            _ => self.link(facts),
        };
        // An id that no line has mentioned so far cannot close a loop.
        if id != NONE && id < n_ids_before {
            self.may_loop = true;
            self.cuts = OnceLock::new();
        }
        self.offsets.push(span.offset);
        // Lines over the cap never get here, and the cap is far below 4 GiB.
        self.lens.push(u32::try_from(span.len).unwrap_or(u32::MAX));
        self.kinds.push(facts.kind);
        self.roles.push(self.upgrade.role(facts.role));
        self.times.push(facts.time);
        self.ids.push(id);
        self.parents.push(parent);
        self.has_conversation |= facts.role.is_conversation();
        if facts.kind != Kind::Header {
            self.n_entries += 1;
            self.carry(id, row);
        }
    }

    /// Interns the id and the parent that a head names.
    fn link(&mut self, facts: &LineFacts<'_>) -> (u32, u32) {
        let id = facts.id.map_or(NONE, |id| self.names.intern(id));
        let parent = match facts.parent {
            ParentName::Null => PARENT_NULL,
            ParentName::Absent => PARENT_ABSENT,
            ParentName::Odd => PARENT_ODD,
            ParentName::Id(parent) => self.names.intern(parent),
        };
        (id, parent)
    }

    /// Gives an entry of a version 1 file a fresh id and makes its predecessor its parent.
    fn chain(&mut self, fresh: &mut dyn FreshIds) -> (u32, u32) {
        let parent = self.leaf.map_or(PARENT_NULL, |leaf| self.ids[leaf.index()]);
        let mut attempt = 0;
        loop {
            let id = fresh.fresh_id(self.n_entries, attempt);
            let spelled = Spelled::of(id.as_bytes());
            if self.names.find(spelled).is_none() {
                return (self.names.intern(spelled), parent);
            }
            attempt += 1;
            if attempt == MAX_ATTEMPTS {
                // The id source ignores the attempt number, so append the entry's index to make the id unique.
                let id = format!("{id}-{:x}", self.n_entries);
                return (self.names.intern(Spelled::of(id.as_bytes())), parent);
            }
        }
    }

    fn carry(&mut self, id: u32, row: Row) {
        if id == NONE {
            return;
        }
        let again = self.names.carried_by(id, row.0);
        self.n_ids += usize::from(!again);
        self.leaf = Some(row);
    }

    fn next_row(&self) -> Row {
        Row(u32::try_from(self.offsets.len()).unwrap_or(NONE - 1))
    }

    /// Number of lines pushed.
    pub fn n_lines(&self) -> u64 {
        (self.offsets.len() + self.gaps.len()) as u64
    }

    /// The bytes after the header's line, if every line in them would mean the same after another header.
    ///
    /// `None` for files of older versions, with further headers, with anything before the header, or with an incomplete
    /// last line.
    pub fn body(&self) -> Option<Range<u64>> {
        let header = self.span(self.header()?);
        let is_first = self.gaps.first() != Some(&0);
        let n_headers = self.kinds.iter().filter(|kind| **kind == Kind::Header).count();
        let is_plain = is_first && n_headers == 1 && self.upgrade == Upgrade::None && !self.unterminated;
        is_plain.then(|| header.end() + 1..self.end)
    }

    /// The outline of the same [`body`](Self::body) after another header, given as `line`.
    pub fn after_header(&self, line: &[u8]) -> Option<Self> {
        let body = self.body()?;
        let Parsed::Value(head) = head::read(line) else { return None };
        let line_length = line.len() as u64 + 1;
        let moved = |offset: u64| offset - body.start + line_length;
        let mut outline = self.clone();
        outline.offsets.iter_mut().skip(1).for_each(|offset| *offset = moved(*offset));
        outline.offsets[0] = 0;
        outline.lens[0] = u32::try_from(line.len()).ok()?;
        outline.times[0] = head.time.map_or(ODD_TIME, Timestamp::as_ms);
        outline.passed_over.iter_mut().for_each(|passed| passed.offset = moved(passed.offset));
        outline.has_bom = false;
        outline.end = moved(self.end);
        Some(outline)
    }

    /// The offset just after the last line pushed.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the last line pushed has no newline.
    pub fn is_unterminated(&self) -> bool {
        self.unterminated
    }

    /// Whether the lines are a session, that is, whether their first value is a header with an id.
    pub fn is_session(&self) -> bool {
        self.is_session
    }

    /// The upgrade that brings the entries to the current version.
    pub fn upgrade(&self) -> Upgrade {
        self.upgrade
    }

    /// Whether there is a message from the user or the assistant.
    pub fn has_conversation(&self) -> bool {
        self.has_conversation
    }

    /// The row of the header, if the lines are a session.
    pub fn header(&self) -> Option<Row> {
        self.is_session.then_some(Row(0))
    }

    /// All rows in file order, headers included.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator + use<> {
        (0..self.next_row().0).map(Row)
    }

    /// The row with this index.
    pub fn row(&self, index: usize) -> Option<Row> {
        u32::try_from(index).ok().filter(|index| *index < self.next_row().0).map(Row)
    }

    /// All entries in file order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Row> + use<'_> {
        self.rows().filter(|row| self.kind(*row) != Kind::Header)
    }

    /// The entries in file order, starting at the row with this index.
    pub fn entries_from(&self, first: usize) -> impl DoubleEndedIterator<Item = Row> + use<'_> {
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        (first..self.next_row().0).map(Row).filter(|row| self.kind(*row) != Kind::Header)
    }

    /// The index of the first row that begins at or after a file offset.
    ///
    /// Uses binary search, because rows are in file order.
    pub fn first_row_from(&self, offset: u64) -> usize {
        self.offsets.partition_point(|begin| *begin < offset)
    }

    /// The number of entries. Entries that share an id count separately.
    pub fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// The number of distinct ids.
    pub fn n_ids(&self) -> usize {
        self.n_ids
    }

    /// The position of the row's line.
    pub fn span(&self, row: Row) -> Span {
        Span { offset: self.offsets[row.index()], len: u64::from(self.lens[row.index()]) }
    }

    /// The type of the row.
    pub fn kind(&self, row: Row) -> Kind {
        self.kinds[row.index()]
    }

    /// The role of the row's message.
    pub fn role(&self, row: Row) -> Role {
        self.roles[row.index()]
    }

    /// The row's time, if it is in the format pi writes.
    pub fn time(&self, row: Row) -> Option<Timestamp> {
        Some(self.times[row.index()]).filter(|time| *time != ODD_TIME).map(Timestamp::from_ms)
    }

    /// Whether a line matches the row in kind, role, time, id and parent.
    ///
    /// The rest of the line may differ from the line the row was made from.
    pub fn is_line_of(&self, row: Row, line: &[u8]) -> bool {
        let Parsed::Value(head) = head::read(line) else { return false };
        let is_same = head.kind == self.kind(row)
            && self.upgrade.role(head.role) == self.role(row)
            && head.time == self.time(row);
        let has_links = !matches!(head.kind, Kind::Header | Kind::NotObject) && self.upgrade != Upgrade::FromV1;
        let is_id = |known: Option<EntryId>, text: Option<&JsText<'_>>| {
            known.as_ref().map(EntryId::as_wtf8) == text.map(JsText::as_wtf8)
        };
        let has_same_parent = || match &head.parent {
            ParentRef::Null => self.parents[row.index()] == PARENT_NULL,
            ParentRef::Absent => self.parents[row.index()] == PARENT_ABSENT,
            ParentRef::Odd => self.parents[row.index()] == PARENT_ODD,
            ParentRef::Id(parent) => is_id(self.parent_id(row), Some(parent)),
        };
        is_same && (!has_links || (is_id(self.id(row), head.id.as_ref()) && has_same_parent()))
    }

    /// The row's id.
    pub fn id(&self, row: Row) -> Option<EntryId> {
        self.spelled(self.ids[row.index()])
    }

    /// The id that the row names as its parent, whether or not it is in the file.
    pub fn parent_id(&self, row: Row) -> Option<EntryId> {
        self.spelled(self.parents[row.index()])
    }

    /// Whether the row's `parentId` is written as `null`.
    pub fn has_null_parent(&self, row: Row) -> bool {
        self.parents[row.index()] == PARENT_NULL
    }

    /// The entry with this id; the last one if there are several.
    pub fn find(&self, id: &EntryId) -> Option<Row> {
        let key = self.names.find(Spelled::of(id.as_wtf8()))?;
        self.last_row(key)
    }

    /// The last entry of the file that has an id. pi continues there.
    pub fn leaf(&self) -> Option<Row> {
        self.leaf
    }

    /// Whether the lines mention the id, as the id of an entry or in any other role.
    pub fn mentions(&self, id: &EntryId) -> bool {
        self.names.find(Spelled::of(id.as_wtf8())).is_some()
    }

    /// The row whose content counts for the row's id: the row itself, unless a later row has the same id.
    pub fn current(&self, row: Row) -> Row {
        self.last_row(self.ids[row.index()]).unwrap_or(row)
    }

    /// The parent in the tree. `None` for roots, for unknown parents, and where a loop is cut.
    pub fn parent(&self, row: Row) -> Option<Row> {
        self.parent_of_current(self.current(row))
    }

    /// The parent of a row whose content counts for its id.
    #[inline]
    fn parent_of_current(&self, row: Row) -> Option<Row> {
        let id = self.ids[row.index()];
        let parent = self.parent_key(id, row)?;
        if self.may_loop && id != NONE && self.cuts().contains(&id) {
            return None;
        }
        self.last_row(parent)
    }

    /// The rows from the root down to this row.
    ///
    /// ```text
    /// path(c):   a ─ b ─ c        pi's getBranch
    /// ```
    pub fn path(&self, row: Row) -> Vec<Row> {
        let mut path = Vec::new();
        let mut at = Some(self.current(row));
        // Loops are cut, so the walk ends anyway. The bound guarantees it.
        while let Some(row) = at.filter(|_| path.len() <= self.offsets.len()) {
            path.push(row);
            at = self.parent_of_current(row);
        }
        path.reverse();
        path
    }

    /// The entries that name this entry as their parent (`None`: those with a `null` parent), like pi's getChildren.
    ///
    /// In order of first appearance. Each id appears once, with the content that counts.
    pub fn children(&self, parent: Option<&EntryId>) -> Vec<Row> {
        let wanted = match parent {
            None => PARENT_NULL,
            Some(id) => match self.names.find(Spelled::of(id.as_wtf8())) {
                Some(key) => key,
                None => return Vec::new(),
            },
        };
        let firsts = self.entries().filter(|row| {
            let id = self.ids[row.index()];
            id != NONE && self.names.first_row(id) == row.0
        });
        firsts.map(|row| self.current(row)).filter(|row| self.parents[row.index()] == wanted).collect()
    }

    /// Whether an id may occur in several lines, or before its parent's line. If not, loops and repetitions are
    /// impossible.
    pub(crate) fn may_loop(&self) -> bool {
        self.may_loop
    }

    /// The parent under which a row appears in the tree, even if a later row reused its id.
    ///
    /// pi lists an entry once for every line that carries its id.
    pub(crate) fn placement(&self, row: Row) -> Option<Row> {
        if self.current(row) == row {
            return self.parent(row);
        }
        let parent = self.parent_key(self.ids[row.index()], row)?;
        self.last_row(parent)
    }

    /// The key of the parent id, if it is valid: not empty, and not the entry's own.
    #[inline]
    fn parent_key(&self, id: u32, row: Row) -> Option<u32> {
        let parent = self.parents[row.index()];
        let is_mark = matches!(parent, PARENT_NULL | PARENT_ABSENT | PARENT_ODD);
        (!is_mark && parent != id && !self.names.is_empty_id(parent)).then_some(parent)
    }

    fn last_row(&self, key: u32) -> Option<Row> {
        if key == NONE {
            return None;
        }
        Some(self.names.last_row(key)).filter(|row| *row != NONE).map(Row)
    }

    fn spelled(&self, key: u32) -> Option<EntryId> {
        let is_mark = matches!(key, PARENT_NULL | PARENT_ABSENT | PARENT_ODD);
        (!is_mark).then(|| self.names.id(key))
    }

    fn cuts(&self) -> &HashSet<u32> {
        self.cuts.get_or_init(|| self.find_cuts())
    }

    /// Follows the parents of every id once and picks one member of each loop as a root.
    fn find_cuts(&self) -> HashSet<u32> {
        let mut cuts = HashSet::new();
        // 0: not visited; otherwise the number of the walk that visited the id.
        let mut visited = vec![0u32; self.names.len() as usize];
        for start in 0..self.names.len() {
            let mut at = start;
            while visited[at as usize] == 0 {
                visited[at as usize] = start + 1;
                match self.parent_of_key(at) {
                    Some(parent) => at = parent,
                    None => break,
                }
            }
            let closed_here = visited[at as usize] == start + 1 && self.parent_of_key(at).is_some();
            if closed_here {
                cuts.insert(self.loop_root(at));
            }
        }
        cuts
    }

    fn parent_of_key(&self, key: u32) -> Option<u32> {
        let row = self.last_row(key)?;
        self.parent_key(key, row).filter(|parent| self.last_row(*parent).is_some())
    }

    /// The member of a loop that becomes a root.
    ///
    /// If ids were reused, the last row that reused one closed the loop and becomes the root. Otherwise it is the
    /// member that comes first in the file.
    fn loop_root(&self, member: u32) -> u32 {
        let mut members = vec![member];
        let mut at = member;
        while let Some(parent) = self.parent_of_key(at).filter(|parent| *parent != member) {
            members.push(parent);
            at = parent;
        }
        let reused = members.iter().filter(|key| self.names.first_row(**key) != self.names.last_row(**key));
        let last_reused = reused.max_by_key(|key| self.names.last_row(**key));
        let first = members.iter().min_by_key(|key| self.names.last_row(**key));
        last_reused.or(first).copied().unwrap_or(member)
    }

    /// The number of the row's line, counting from 1.
    pub fn line_number(&self, row: Row) -> u64 {
        let gaps_before = self.gaps.partition_point(|rows_before| *rows_before <= row.0);
        (row.index() + gaps_before) as u64 + 1
    }

    /// The lines that could not be read, in file order. Costs nothing if there are none.
    pub fn unreadable(&self) -> impl Iterator<Item = Diagnostic> {
        let diagnostics = self.passed_over.iter().map(PassedOver::diagnostic);
        diagnostics.filter(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Why an entry is a root although it names a parent.
    pub fn cut_off(&self, row: Row) -> Option<Diagnostic> {
        let is_cut = |oddity: &Oddity| {
            matches!(oddity, Oddity::UnknownParent { .. } | Oddity::OddParent | Oddity::OwnParent | Oddity::Loop)
        };
        let oddity = self.oddities(row).into_iter().find(is_cut)?;
        let (line, offset) = (self.line_number(row), self.span(row).offset);
        Some(Diagnostic { severity: oddity.severity(), line, offset, oddity })
    }

    /// Everything odd about the lines, in file order.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let diagnostic =
            |line, offset, oddity: Oddity| Diagnostic { severity: oddity.severity(), line, offset, oddity };
        let mut diagnostics = Vec::new();
        diagnostics.extend(self.has_bom.then(|| diagnostic(1, 0, Oddity::ByteOrderMark)));
        diagnostics.extend(self.passed_over.iter().map(PassedOver::diagnostic));
        for row in self.rows() {
            let (line, offset) = (self.line_number(row), self.span(row).offset);
            diagnostics.extend(self.oddities(row).into_iter().map(|oddity| diagnostic(line, offset, oddity)));
        }
        if self.unterminated {
            diagnostics.push(diagnostic(self.n_lines(), self.end, Oddity::Unterminated));
        }
        diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.offset));
        diagnostics
    }

    fn oddities(&self, row: Row) -> Vec<Oddity> {
        match self.kind(row) {
            Kind::Header if row.0 == 0 => {
                return self.upgrade.is_newer().then_some(Oddity::NewerVersion).into_iter().collect();
            }
            Kind::Header => return vec![Oddity::ExtraHeader],
            Kind::NotObject => return vec![Oddity::NotObject],
            _ => {}
        }
        let mut odd = Vec::new();
        let id = self.ids[row.index()];
        match self.id(row) {
            None => odd.push(Oddity::NoId),
            Some(id) if self.current(row) != row => odd.push(Oddity::DuplicateId { id }),
            Some(_) if self.may_loop && self.cuts().contains(&id) => odd.push(Oddity::Loop),
            Some(_) => {}
        }
        match self.parents[row.index()] {
            PARENT_NULL | PARENT_ABSENT => {}
            PARENT_ODD => odd.push(Oddity::OddParent),
            parent if parent == id => odd.push(Oddity::OwnParent),
            parent if self.last_row(parent).is_none() => {
                odd.extend(self.spelled(parent).map(|parent| Oddity::UnknownParent { parent }));
            }
            _ => {}
        }
        odd.extend(self.time(row).is_none().then_some(Oddity::OddTime));
        odd
    }
}

#[cfg(test)]
mod tests;
