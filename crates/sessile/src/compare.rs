//! Compares two branches, of one session or of two, entry by entry.
//!
//! The common beginning is found first. In the rest, entries match if they have the same id, else if they have the
//! same role and text. `similar` finds an order in which most of them match. The crate is already used to show
//! changes on the screen, and its Myers algorithm stops looking for the shortest answer before it becomes quadratic,
//! as Git's does. No payload is kept: an entry is a few numbers until it is shown.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use sessile_core::cancel::Cancel;
pub use sessile_core::compare::comparable_text;
use sessile_core::compare::differing_fields;
use sessile_core::entry::Entry;
use sessile_core::head::{Kind, Role};
use sessile_core::outline::Row;
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices};

use crate::error::SessionError;
use crate::manager::SessionManager;

/// One of two branches: a session and the path to one of its entries.
#[derive(Clone, Copy)]
pub struct Side<'s> {
    /// The session.
    pub session: &'s SessionManager,
    /// The rows of the path, from the root on.
    pub path: &'s [Row],
}

impl Side<'_> {
    /// The number of rows that two paths of one session share at their beginning; 0 for two sessions, whose rows
    /// cannot be compared.
    pub fn n_shared_rows(&self, other: &Self) -> usize {
        if !std::ptr::eq(self.session, other.session) {
            return 0;
        }
        self.path.iter().zip(other.path).take_while(|(one, other)| one == other).count()
    }
}

/// The relation of entries in two branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDiff {
    /// The entry is in both: with the same id and content, or with another id and the same role and text.
    Same {
        /// The entry of the first branch.
        left: Row,
        /// The entry of the second branch.
        right: Row,
    },
    /// The entry differs: two entries with one id, or two with the same role at corresponding places that share most
    /// of their lines.
    Changed {
        /// The entry of the first branch.
        left: Row,
        /// The entry of the second branch.
        right: Row,
    },
    /// Only the first branch has the entry.
    Left(Row),
    /// Only the second branch has the entry.
    Right(Row),
}

/// The result of comparing two branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The number of entries in the common beginning.
    pub n_common: usize,
    /// The rest, in order.
    pub pieces: Vec<EntryDiff>,
}

/// The maximum number of pairs of entries to read in order to find changed ones.
const MAX_PAIRED: usize = 2_000;

/// The maximum length of an entry to read for that.
const MAX_PAIRED_LENGTH: u64 = 1 << 20;

/// How many entries ahead to look for a counterpart.
const MAX_DISTANCE: usize = 64;

/// The number of lines shown before and after a change.
const CONTEXT_LINES: usize = 3;

impl Comparison {
    /// Compares two branches.
    ///
    /// Entries that are on both branches of one session are compared by row only. All others are read once.
    pub fn new(left: Side<'_>, right: Side<'_>, cancel: &Cancel) -> Result<Self, SessionError> {
        let n_common = left.n_shared_rows(&right);
        let (left_rest, right_rest) = (&left.path[n_common..], &right.path[n_common..]);
        let state = RandomState::new();
        let ours = digests(left.session, left_rest, &state, cancel)?;
        let theirs = digests(right.session, right_rest, &state, cancel)?;
        let n_more = ours.iter().zip(&theirs).take_while(|(one, other)| one.is_same(other)).count();
        let (ours, theirs) = (&ours[n_more..], &theirs[n_more..]);
        let match_keys = match_keys(ours, theirs);
        let mut aligned = Aligned { left, right, ours, theirs, pieces: Vec::new(), n_paired: 0 };
        for op in capture_diff_slices(Algorithm::Myers, &match_keys.0, &match_keys.1) {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            aligned.take(op)?;
        }
        Ok(Self { n_common: n_common + n_more, pieces: aligned.pieces })
    }

    /// Whether both branches have the same content, entry by entry.
    pub fn is_equal(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, EntryDiff::Same { .. }))
    }

    /// The number of entries only in the first branch, only in the second, and changed.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count =
            |matches_kind: fn(&EntryDiff) -> bool| self.pieces.iter().filter(|piece| matches_kind(piece)).count();
        (
            count(|piece| matches!(piece, EntryDiff::Left(_))),
            count(|piece| matches!(piece, EntryDiff::Right(_))),
            count(|piece| matches!(piece, EntryDiff::Changed { .. })),
        )
    }
}

/// Identifies an entry for comparison in a few bytes. Hashes have random keys, so no file can force a collision.
#[derive(Clone, Copy)]
struct EntryDigest {
    row: Row,
    id: Option<u64>,
    kind: Kind,
    role: Role,
    text_hash: u64,
    rest_hash: u64,
}

impl EntryDigest {
    fn of(session: &SessionManager, row: Row, entry: &Entry, state: &RandomState) -> Self {
        let outline = session.outline();
        let (kind, role) = (outline.kind(row), outline.role(row));
        let members = entry.raw().properties().into_iter();
        let rest = members.filter(|(key, _)| !["id", "parentId", "timestamp"].iter().any(|name| *key == **name));
        let rest: Vec<(Vec<u8>, &[u8])> = rest.map(|(key, value)| (key.as_wtf8().to_vec(), value.as_bytes())).collect();
        Self {
            row,
            id: outline.id(row).map(|id| state.hash_one(id.as_wtf8())),
            kind,
            role,
            text_hash: state.hash_one((kind, role, comparable_text(entry))),
            rest_hash: state.hash_one(rest),
        }
    }

    /// Whether there is no difference to report.
    fn is_same(&self, other: &Self) -> bool {
        let is_one = self.id.is_some() && self.id == other.id;
        self.text_hash == other.text_hash && (!is_one || self.rest_hash == other.rest_hash)
    }
}

fn digests(
    session: &SessionManager,
    rows: &[Row],
    state: &RandomState,
    cancel: &Cancel,
) -> Result<Vec<EntryDigest>, SessionError> {
    let mut digests = Vec::with_capacity(rows.len());
    for (row, entry) in session.entries_of(rows.iter().copied()) {
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        digests.push(EntryDigest::of(session, row, &entry?, state));
    }
    Ok(digests)
}

/// The key for matching entries: the id if both sides have it, else the text.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Id(u64),
    Text(u64),
}

/// The entries of both sides as numbers: equal numbers match.
fn match_keys(ours: &[EntryDigest], theirs: &[EntryDigest]) -> (Vec<u32>, Vec<u32>) {
    let ids = |digests: &[EntryDigest]| digests.iter().filter_map(|digest| digest.id).collect::<HashSet<u64>>();
    let (our_ids, their_ids) = (ids(ours), ids(theirs));
    let mut numbers: HashMap<Key, u32> = HashMap::new();
    let mut number = |digest: &EntryDigest| {
        let shared = digest.id.filter(|id| our_ids.contains(id) && their_ids.contains(id));
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(shared.map_or(Key::Text(digest.text_hash), Key::Id)).or_insert(next)
    };
    (ours.iter().map(&mut number).collect(), theirs.iter().map(&mut number).collect())
}

/// Turns matched entries into pieces.
struct Aligned<'s> {
    left: Side<'s>,
    right: Side<'s>,
    ours: &'s [EntryDigest],
    theirs: &'s [EntryDigest],
    pieces: Vec<EntryDiff>,
    n_paired: usize,
}

impl Aligned<'_> {
    fn take(&mut self, op: DiffOp) -> Result<(), SessionError> {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                for step in 0..len {
                    let (one, other) = (&self.ours[old_index + step], &self.theirs[new_index + step]);
                    let (left, right) = (one.row, other.row);
                    let is_same = one.is_same(other);
                    self.pieces.push(if is_same {
                        EntryDiff::Same { left, right }
                    } else {
                        EntryDiff::Changed { left, right }
                    });
                }
                Ok(())
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } => {
                self.only(op.old_range(), op.new_range());
                Ok(())
            }
            DiffOp::Replace { .. } => self.replaced(op.old_range(), op.new_range()),
        }
    }

    /// Adds entries that have no counterpart.
    fn only(&mut self, old: Range<usize>, new: Range<usize>) {
        self.pieces.extend(self.ours[old].iter().map(|digest| EntryDiff::Left(digest.row)));
        self.pieces.extend(self.theirs[new].iter().map(|digest| EntryDiff::Right(digest.row)));
    }

    /// Adds entries that replace others: similar ones as changed, the rest without a counterpart.
    fn replaced(&mut self, old: Range<usize>, new: Range<usize>) -> Result<(), SessionError> {
        let (mut from, mut to) = (old.start, new.start);
        for index in old.clone() {
            let digest = &self.ours[index];
            let has_same_role = |other: &EntryDigest| other.kind == digest.kind && other.role == digest.role;
            let near = to..new.end.min(to + MAX_DISTANCE);
            let Some(partner) = { near }.find(|index| has_same_role(&self.theirs[*index])) else { continue };
            if self.are_similar(index, partner)? {
                self.only(from..index, to..partner);
                self.pieces.push(EntryDiff::Changed { left: self.ours[index].row, right: self.theirs[partner].row });
                (from, to) = (index + 1, partner + 1);
            }
            if self.n_paired >= MAX_PAIRED {
                break;
            }
        }
        self.only(from..old.end, to..new.end);
        Ok(())
    }

    /// Whether two entries share at least half of their lines.
    fn are_similar(&mut self, index: usize, partner: usize) -> Result<bool, SessionError> {
        self.n_paired += 1;
        let (one, other) = (self.ours[index].row, self.theirs[partner].row);
        let is_long = |session: &SessionManager, row| session.outline().span(row).len > MAX_PAIRED_LENGTH;
        if is_long(self.left.session, one) || is_long(self.right.session, other) {
            return Ok(false);
        }
        let (one, other) = (self.left.session.entry_at(one)?, self.right.session.entry_at(other)?);
        let (one, other) = (comparable_text(&one), comparable_text(&other));
        let (one, other) = (line_counts(&one), line_counts(&other));
        let n_shared: usize = one.iter().map(|(line, count)| *count.min(other.get(line).unwrap_or(&0))).sum();
        Ok(n_shared > 0 && n_shared * 4 >= one.values().sum::<usize>() + other.values().sum::<usize>())
    }
}

/// The number of occurrences of each non-blank line in a text.
fn line_counts(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// The kind of a line in a changed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    /// It is in both.
    Unchanged,
    /// Only the first has it.
    Removed,
    /// Only the second has it.
    Added,
}

impl LineChange {
    /// The sign before such a line in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Self::Unchanged => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A run of changed lines with a few lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Its first line in the first text, counted from 1, and its number of lines there.
    pub left: (usize, usize),
    /// Its first line in the second text, counted from 1, and its number of lines there.
    pub right: (usize, usize),
    /// Its lines, without line ends.
    pub lines: Vec<(LineChange, String)>,
}

/// The differences between two entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryChange {
    /// The differences between their texts.
    pub hunks: Vec<Hunk>,
    /// Other members that differ, such as `message.usage`.
    pub fields: Vec<String>,
}

impl EntryChange {
    /// Compares two entries, line by line.
    pub fn between(left: &Entry, right: &Entry) -> Self {
        let (one, other) = (comparable_text(left), comparable_text(right));
        let fields = differing_fields(left.raw(), right.raw(), one == other);
        if one == other {
            return Self { hunks: Vec::new(), fields };
        }
        let diff = TextDiff::from_lines(&one, &other);
        let hunks = diff.grouped_ops(CONTEXT_LINES).iter().map(|ops| hunk(&diff, ops)).collect();
        Self { hunks, fields }
    }
}

fn hunk(diff: &TextDiff<'_, '_, str>, ops: &[DiffOp]) -> Hunk {
    let mut lines = Vec::new();
    for op in ops {
        for change in diff.iter_changes(op) {
            let kind = match change.tag() {
                ChangeTag::Equal => LineChange::Unchanged,
                ChangeTag::Delete => LineChange::Removed,
                ChangeTag::Insert => LineChange::Added,
            };
            lines.push((kind, change.value().trim_end_matches(['\n', '\r']).to_owned()));
        }
    }
    let span = |ranges: &mut dyn Iterator<Item = Range<usize>>| {
        let (mut first, mut count) = (None, 0);
        for range in ranges {
            first.get_or_insert(range.start + 1);
            count += range.len();
        }
        (first.unwrap_or_default(), count)
    };
    Hunk {
        left: span(&mut ops.iter().map(DiffOp::old_range)),
        right: span(&mut ops.iter().map(DiffOp::new_range)),
        lines,
    }
}
