//! Iterates over entries without holding them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sessile::SessionError;
use sessile::format::head::{Kind, Role};
use sessile::format::outline::{Outline, Row};

use super::{EntryFacts, PyEntry};
use crate::open_session::OpenSession;

/// The number of entries whose facts are read at a time.
const BATCH: usize = 512;

/// Which entries to return.
#[derive(Default)]
pub(crate) struct EntryFilter {
    types: Option<Vec<Kind>>,
    roles: Option<Vec<Role>>,
}

impl EntryFilter {
    /// Reads the names of types and roles.
    pub(crate) fn new(types: Option<Vec<String>>, roles: Option<Vec<String>>) -> PyResult<Self> {
        let types = types.map(|words| words.iter().map(|word| kind(word)).collect::<PyResult<_>>()).transpose()?;
        let roles = roles.map(|words| words.iter().map(|word| role(word)).collect::<PyResult<_>>()).transpose()?;
        Ok(Self { types, roles })
    }

    fn admits(&self, outline: &Outline, row: Row) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(&outline.kind(row)))
            && self.roles.as_ref().is_none_or(|roles| roles.contains(&outline.role(row)))
    }
}

const KINDS: [Kind; 11] = [
    Kind::Message,
    Kind::ThinkingLevelChange,
    Kind::ModelChange,
    Kind::Usage,
    Kind::Compaction,
    Kind::BranchSummary,
    Kind::Custom,
    Kind::CustomMessage,
    Kind::ContextEdit,
    Kind::Label,
    Kind::SessionInfo,
];

const ROLES: [Role; 8] = [
    Role::System,
    Role::User,
    Role::Assistant,
    Role::ToolResult,
    Role::BashExecution,
    Role::Custom,
    Role::BranchSummary,
    Role::CompactionSummary,
];

fn kind(word: &str) -> PyResult<Kind> {
    let found = KINDS.into_iter().find(|kind| kind.word() == Some(word));
    found.ok_or_else(|| unknown("type", word, &KINDS.map(|kind| kind.word().unwrap_or_default())))
}

fn role(word: &str) -> PyResult<Role> {
    let found = ROLES.into_iter().find(|role| role.word() == Some(word));
    found.ok_or_else(|| unknown("role", word, &ROLES.map(|role| role.word().unwrap_or_default())))
}

fn unknown(what: &str, word: &str, known: &[&str]) -> PyErr {
    PyValueError::new_err(format!("{word:?} is not a {what}; use one of {}", known.join(", ")))
}

/// An iterator over entries. It reads their facts in batches, and their content only when you ask an entry for it.
#[pyclass(module = "sessile")]
pub(crate) struct EntryIterator {
    session: Arc<OpenSession>,
    rows: Rows,
    filter: EntryFilter,
    ready: VecDeque<(Row, EntryFacts)>,
    /// The last entry of the last batch, to notice that the file was rewritten.
    last: Option<(Row, EntryFacts)>,
}

/// The rows that are left.
enum Rows {
    /// Those with these indexes.
    File { next: usize, end: usize },
    /// These.
    Listed(vec::IntoIter<Row>),
}

impl EntryIterator {
    /// The entries of the whole file, as far as it is read now.
    pub(crate) fn of_file(py: Python<'_>, session: Arc<OpenSession>, filter: EntryFilter) -> PyResult<Self> {
        let end = session.with(py, |manager| Ok(manager.outline().rows().len()))?;
        Ok(Self::new(session, Rows::File { next: 0, end }, filter))
    }

    /// The entries of these rows.
    pub(crate) fn of_rows(session: Arc<OpenSession>, rows: Vec<Row>) -> Self {
        Self::filtered(session, rows, EntryFilter::default())
    }

    pub(crate) fn filtered(session: Arc<OpenSession>, rows: Vec<Row>, filter: EntryFilter) -> Self {
        Self::new(session, Rows::Listed(rows.into_iter()), filter)
    }

    fn new(session: Arc<OpenSession>, rows: Rows, filter: EntryFilter) -> Self {
        Self { session, rows, filter, ready: VecDeque::new(), last: None }
    }

    fn fill(&mut self, py: Python<'_>) -> PyResult<()> {
        let Self { session, rows, filter, ready, last } = self;
        session.with(py, |manager| {
            let outline = manager.outline();
            if let Some((row, _)) = last.as_ref().filter(|(row, facts)| !facts.is_at(outline, *row)) {
                return Err(SessionError::StaleRow { row: row.index() });
            }
            rows.take(outline, filter, ready);
            Ok(())
        })?;
        self.last = self.ready.back().cloned().or_else(|| self.last.take());
        Ok(())
    }
}

impl Rows {
    fn take(&mut self, outline: &Outline, filter: &EntryFilter, ready: &mut VecDeque<(Row, EntryFacts)>) {
        let mut take = |row: Row| {
            if filter.admits(outline, row) {
                ready.push_back((row, EntryFacts::of(outline, row)));
            }
            ready.len() < BATCH
        };
        match self {
            Self::File { next, end } => {
                let rows = outline.entries_from(*next).take_while(|row| row.index() < *end);
                let stopped_at = rows.into_iter().find(|row| !take(*row));
                *next = stopped_at.map_or(*end, |row| row.index() + 1);
            }
            Self::Listed(rows) => while rows.next().is_some_and(&mut take) {},
        }
    }
}

#[pymethods]
impl EntryIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyEntry>> {
        if self.ready.is_empty() {
            self.fill(py)?;
        }
        let next = self.ready.pop_front();
        Ok(next.map(|(row, facts)| PyEntry::stored(Arc::clone(&self.session), row, facts)))
    }
}
