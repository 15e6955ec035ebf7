//! Words that callers choose from.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sessile::list::{Archived, Children, SortBy};
use sessile::stats::Grouping;
use sessile::text::texts::DocumentKind;
use sessile::write::Durability;

pub(crate) const DURABILITIES: [(&str, Durability); 4] = [
    ("buffered", Durability::Buffered),
    ("group", Durability::Group),
    ("sync", Durability::Sync),
    ("memory", Durability::Memory),
];

pub(crate) const CHILDREN: [(&str, Children); 3] =
    [("shown", Children::Shown), ("hidden", Children::Hidden), ("only", Children::Only)];

pub(crate) const ARCHIVED: [(&str, Archived); 3] =
    [("hidden", Archived::Hidden), ("shown", Archived::Shown), ("only", Archived::Only)];

pub(crate) const SORTS: [(&str, SortBy); 6] = [
    ("recent", SortBy::Recent),
    ("created", SortBy::Created),
    ("size", SortBy::Size),
    ("cost", SortBy::Cost),
    ("messages", SortBy::Messages),
    ("name", SortBy::Name),
];

pub(crate) const GROUPINGS: [(&str, Grouping); 8] = [
    ("model", Grouping::Model),
    ("day", Grouping::Day),
    ("week", Grouping::Week),
    ("month", Grouping::Month),
    ("project", Grouping::Project),
    ("repository", Grouping::Repository),
    ("tool", Grouping::Tool),
    ("session", Grouping::Session),
];

/// Finds the value that a word names.
pub(crate) fn choice<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("{what} must be one of {}, not {word:?}", names.join(", ")))
    })
}

/// The kind of text that a word names, as for the command.
pub(crate) fn document_kind(word: &str) -> PyResult<DocumentKind> {
    DocumentKind::of_word(word).ok_or_else(|| {
        let known = DocumentKind::ALL.map(DocumentKind::word).join(", ");
        PyValueError::new_err(format!("{word:?} is not a role; use one of {known}"))
    })
}
