//! Reads the text of rows.

use sessile_core::links::REFERENCES;

use crate::copy::ReadCopy;
use crate::entry_text::EntryText;
use crate::error::MergeError;
use crate::names::{NONE, Names};
use crate::rows::Rows;
use crate::source::Source;

/// The tokens of the references of an entry. `None` keeps what is there.
pub(crate) type Tokens = [Option<Vec<u8>>; REFERENCES.len()];

/// The rows of all copies, with access to their lines.
pub(crate) struct Texts<'t, 's, S> {
    pub(crate) copies: &'t [ReadCopy<'s, S>],
    pub(crate) rows: &'t Rows,
    pub(crate) names: &'t Names,
}

impl<S: Source> Texts<'_, '_, S> {
    /// The line of a row.
    pub(crate) fn line(&self, row: u32) -> Result<Vec<u8>, S::Error> {
        self.copies[self.rows.copy(row)].line(self.rows.span(row))
    }

    /// The original form of a row with this line. The parents must be rows.
    pub(crate) fn original<'l>(&self, row: u32, line: &'l [u8]) -> Result<EntryText<'l>, MergeError<S::Error>> {
        let Ok(entry) = EntryText::read(line) else {
            return Err(MergeError::Changed { copy: self.rows.copy(row) });
        };
        let original = self.rows.originals[row as usize];
        let is_alias = entry.id().as_wtf8() != self.names.text(original).as_wtf8();
        let entry = if is_alias { entry.with_id(&self.names.token(original)) } else { entry };
        Ok(entry.with_references(&self.original_references(row)))
    }

    /// The original ids of what a row refers to.
    fn original_references(&self, row: u32) -> Tokens {
        let token = |target: u32| {
            (target != NONE && self.rows.is_renamed(target))
                .then(|| self.names.token(self.rows.originals[target as usize]))
        };
        let mut tokens = Tokens::default();
        // A parent in another copy has the same id there, or had it originally.
        tokens[0] = token(self.rows.parents[row as usize]);
        for reference in self.rows.references(row) {
            tokens[usize::from(reference.field)] = token(reference.target);
        }
        tokens
    }
}
