//! What a merge found.

use sessile_core::EntryId;

/// What a merge found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The copies, in the order in which they were given.
    pub copies: Vec<CopySummary>,
    /// The number of different entries.
    pub n_entries: usize,
    /// The number of lines that are not entries and are kept.
    pub n_odd: usize,
    /// The number of lines that only begin a whole line and are left out.
    pub n_torn: usize,
    /// The number of entries whose copy did not have their parent, while another copy has it.
    pub n_healed: usize,
    /// The number of entries whose parents form a loop.
    pub n_loops: usize,
    /// Copies whose entries have the ids of another copy, because a program upgraded both on its own.
    pub aligned: Vec<Aligned>,
}

/// What a merge found in a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopySummary {
    /// The number of different entries in it.
    pub n_entries: usize,
    /// The number of entries that only this copy has.
    pub n_own: usize,
    /// The number of entries that only other copies have.
    pub n_missing: usize,
    /// The number of entries that a later one with the same id hides.
    pub n_shadowed: usize,
    /// Whether it has everything that the other copies have.
    pub is_complete: bool,
}

/// A copy whose first entries have the ids of another copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// The copy.
    pub copy: usize,
    /// The copy that names the entries.
    pub with: usize,
    /// The number of entries.
    pub n_entries: usize,
}

/// An entry that has another id in a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The original id.
    pub from: EntryId,
    /// The id in the result.
    pub to: EntryId,
}
