//! The entries of all copies as a few numbers each.

use std::ops::Range;

use sessile_core::line::Span;

use crate::entry_text::Key;
use crate::names::NONE;

/// Marks an entry without a time.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// The line is spelled as JSON.stringify spells it.
pub(crate) const IS_PRINTED: u8 = 1;
/// The row is the last one of its copy with its id.
pub(crate) const IS_HOLDER: u8 = 2;
/// The row is a member of a loop of parents.
pub(crate) const IN_LOOP: u8 = 4;
/// The row is a member or a descendant of a loop.
pub(crate) const LOOPED: u8 = 8;

/// A reference of a row other than its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) row: u32,
    /// The index in [`REFERENCES`](sessile_core::links::REFERENCES).
    pub(crate) field: u8,
    /// The id as it is in the file.
    pub(crate) name: u32,
    /// The row that the id refers to, or `NONE`.
    pub(crate) target: u32,
}

/// The row is the same entry as a row of another copy, which stands in for its parent until keys are known.
pub(crate) const IS_TWIN: u8 = 16;

/// The original text is the line, byte for byte, with plain links.
pub(crate) const IS_VERBATIM: u8 = 32;

/// What a row is made from.
pub(crate) struct NewRow {
    pub(crate) span: Span,
    pub(crate) id: u32,
    pub(crate) original: u32,
    pub(crate) parent: u32,
    pub(crate) time: i64,
    pub(crate) hash: Key,
    pub(crate) checksum: u32,
    pub(crate) flags: u8,
}

/// One row for each entry of each copy, as arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    offsets: Vec<u64>,
    lens: Vec<u32>,
    /// The ids as they are in the files.
    pub(crate) ids: Vec<u32>,
    /// The original ids.
    pub(crate) originals: Vec<u32>,
    /// First the id of the parent, later its row.
    pub(crate) parents: Vec<u32>,
    pub(crate) times: Vec<i64>,
    /// First the hash of the original text, later the key.
    pub(crate) hashes: Vec<Key>,
    /// The CRC-32 of the lines, by which a later reading notices changes.
    pub(crate) checksums: Vec<u32>,
    pub(crate) flags: Vec<u8>,
    /// In the order of their rows.
    pub(crate) references: Vec<Reference>,
    /// The ids of parents that are in no copy.
    pub(crate) missing_parents: Vec<u32>,
    /// The rows of each copy.
    pub(crate) copies: Vec<Range<u32>>,
}

impl Rows {
    /// The number of rows, or `NONE` if there are too many to number.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.ids.len()).unwrap_or(NONE)
    }

    pub(crate) fn all(&self) -> Range<u32> {
        0..self.len()
    }

    pub(crate) fn push(&mut self, row: &NewRow) {
        self.offsets.push(row.span.offset);
        // Lines over the cap are not parsed, and the cap is far below 4 GiB.
        self.lens.push(u32::try_from(row.span.len).unwrap_or(u32::MAX));
        self.ids.push(row.id);
        self.originals.push(row.original);
        self.parents.push(row.parent);
        self.times.push(row.time);
        self.hashes.push(row.hash);
        self.checksums.push(row.checksum);
        self.flags.push(row.flags);
    }

    /// Takes the rows of a part, whose ids have these numbers here.
    pub(crate) fn append(&mut self, part: Self, numbers: &[u32]) {
        let first = self.len();
        let number = |name: u32| if name == NONE { NONE } else { numbers[name as usize] };
        self.offsets.extend(part.offsets);
        self.lens.extend(part.lens);
        self.ids.extend(part.ids.into_iter().map(number));
        self.originals.extend(part.originals.into_iter().map(number));
        self.parents.extend(part.parents.into_iter().map(number));
        self.times.extend(part.times);
        self.hashes.extend(part.hashes);
        self.checksums.extend(part.checksums);
        self.flags.extend(part.flags);
        let placed = |found: Reference| Reference { row: first + found.row, name: number(found.name), ..found };
        self.references.extend(part.references.into_iter().map(placed));
    }

    /// Adds the rows of the first copy before an offset again, for a copy that begins with the same lines. The parents
    /// must be ids.
    pub(crate) fn repeat_first(&mut self, end: u64) {
        let Some(copy) = self.copies.first() else { return };
        let n_rows = self.offsets[..copy.end as usize].partition_point(|offset| *offset < end);
        let first = self.len();
        self.offsets.extend_from_within(..n_rows);
        self.lens.extend_from_within(..n_rows);
        self.ids.extend_from_within(..n_rows);
        self.originals.extend_from_within(..n_rows);
        self.parents.extend_from_within(..n_rows);
        self.times.extend_from_within(..n_rows);
        self.hashes.extend_from_within(..n_rows);
        self.checksums.extend_from_within(..n_rows);
        self.flags.extend_from_within(..n_rows);
        let n_references = self.references.partition_point(|reference| (reference.row as usize) < n_rows);
        let again = |found: &Reference| Reference { row: first + found.row, ..*found };
        let again: Vec<Reference> = self.references[..n_references].iter().map(again).collect();
        self.references.extend(again);
    }

    pub(crate) fn span(&self, row: u32) -> Span {
        Span { offset: self.offsets[row as usize], len: u64::from(self.lens[row as usize]) }
    }

    /// The copy that a row belongs to.
    pub(crate) fn copy(&self, row: u32) -> usize {
        self.copies.partition_point(|rows| rows.end <= row)
    }

    /// The references of a row other than its parent.
    pub(crate) fn references(&self, row: u32) -> &[Reference] {
        let first = self.references.partition_point(|reference| reference.row < row);
        let n_own = self.references[first..].iter().take_while(|reference| reference.row == row).count();
        &self.references[first..first + n_own]
    }

    pub(crate) fn is(&self, row: u32, flag: u8) -> bool {
        self.flags[row as usize] & flag != 0
    }

    /// Whether a line that was read again is the same as before.
    pub(crate) fn is_unchanged(&self, row: u32, line: &[u8]) -> bool {
        crc32fast::hash(line) == self.checksums[row as usize]
    }

    /// Whether the row has another id in its file than originally.
    pub(crate) fn is_renamed(&self, row: u32) -> bool {
        self.ids[row as usize] != self.originals[row as usize]
    }
}
