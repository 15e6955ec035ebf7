//! Entries: a few facts each, and a way to the rest.

mod iterator;

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyDict, PyString};
use sessile::entry::{Entry, Payload};
use sessile::format::head::{Kind, Role};
use sessile::format::outline::{Outline, Row};
use sessile::json::{JsText, Json, Raw};
use sessile::message::text_of;
use sessile::time::Timestamp;
use sessile::{EntryId, SessionError, SessionManager, System};

use crate::open_session::OpenSession;
use crate::value;
pub(crate) use iterator::{EntryFilter, EntryIterator};

/// What is known about an entry without reading it.
#[derive(Clone)]
pub(crate) struct EntryFacts {
    pub(crate) id: Option<EntryId>,
    pub(crate) parent: Option<EntryId>,
    pub(crate) kind: Kind,
    pub(crate) role: Role,
    pub(crate) time: Option<Timestamp>,
    /// The number of its line, counted from 1.
    pub(crate) line: u64,
    /// The byte offset of its line.
    pub(crate) offset: u64,
    /// The length of its line in bytes.
    pub(crate) size: u64,
}

impl EntryFacts {
    pub(crate) fn of(outline: &Outline, row: Row) -> Self {
        let span = outline.span(row);
        Self {
            id: outline.id(row),
            parent: outline.parent_id(row),
            kind: outline.kind(row),
            role: outline.role(row),
            time: outline.time(row),
            line: outline.line_number(row),
            offset: span.offset,
            size: span.len,
        }
    }

    /// Whether a row still is this entry. It may not be after another program has rewritten the file.
    pub(crate) fn is_at(&self, outline: &Outline, row: Row) -> bool {
        let is_known = row.index() < outline.rows().len();
        is_known && outline.id(row) == self.id && (self.id.is_some() || outline.span(row).offset == self.offset)
    }
}

/// An entry of a session: one line of its file.
///
/// It holds only a few facts. ``json()``, ``to_dict()`` and ``text()`` read the line from the file when you call them, so
/// even a list of all entries of a large session takes little memory.
#[pyclass(frozen, module = "sessile", name = "Entry")]
pub(crate) struct PyEntry {
    facts: EntryFacts,
    source: Source,
}

/// Where the content of an entry is.
enum Source {
    /// In the file of an open session.
    Stored { session: Arc<OpenSession>, row: Row },
    /// In memory.
    Held(Json),
}

impl PyEntry {
    pub(crate) fn stored(session: Arc<OpenSession>, row: Row, facts: EntryFacts) -> Self {
        Self { facts, source: Source::Stored { session, row } }
    }

    pub(crate) fn held(json: Json, facts: EntryFacts) -> Self {
        Self { facts, source: Source::Held(json) }
    }

    pub(crate) fn entry_id(&self) -> Option<&EntryId> {
        self.facts.id.as_ref()
    }

    fn read(&self, py: Python<'_>) -> PyResult<Entry> {
        match &self.source {
            Source::Held(json) => Ok(Entry::new(json.clone())),
            Source::Stored { session, row } => {
                session.with(py, |manager| manager.entry_at(self.current_row(manager, *row)?))
            }
        }
    }

    fn current_row(&self, manager: &SessionManager, row: Row) -> Result<Row, SessionError> {
        let outline = manager.outline();
        if self.facts.is_at(outline, row) {
            return Ok(row);
        }
        let moved = self.facts.id.as_ref().and_then(|id| outline.find(id));
        moved.ok_or(SessionError::StaleRow { row: row.index() })
    }
}

#[pymethods]
impl PyEntry {
    /// The id; None for entries without one.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.facts.id.as_ref().map(|id| value::text(py, &id.as_text())).transpose()
    }

    /// The id of the parent; None for a root.
    #[getter]
    fn parent_id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.facts.parent.as_ref().map(|id| value::text(py, &id.as_text())).transpose()
    }

    /// The type, such as ``"message"`` or ``"compaction"``; None if it has none.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        if let Some(word) = self.facts.kind.word() {
            return Ok(Some(PyString::intern(py, word)));
        }
        let entry = self.read(py)?;
        entry.raw().get("type").and_then(Raw::as_text).map(|word| value::text(py, &word)).transpose()
    }

    /// The role of a message, such as ``"assistant"``; None for other entries.
    #[getter]
    fn role<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        if self.facts.role != Role::Other {
            return Ok(self.facts.role.word().map(|word| PyString::intern(py, word)));
        }
        let entry = self.read(py)?;
        let role = entry.raw().get("message").and_then(|message| message.get("role"));
        role.and_then(Raw::as_text).map(|word| value::text(py, &word)).transpose()
    }

    /// The time in UTC; None if the entry has none that is valid.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDateTime>>> {
        let time = match self.facts.time {
            Some(time) => Some(time),
            None => self.read(py)?.time(&System),
        };
        value::time(py, time)
    }

    /// The number of its line in the file, counted from 1.
    #[getter]
    fn line(&self) -> u64 {
        self.facts.line
    }

    /// The byte offset of its line in the file.
    #[getter]
    fn offset(&self) -> u64 {
        self.facts.offset
    }

    /// The length of its line in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.facts.size
    }

    /// Return the entry as JSON, as it is in the file.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.read(py)?.raw().to_text().into_owned())
    }

    /// Return the entry as a dict.
    ///
    /// Raise ``ValueError`` if the line is not an object, which is unusual; ``json()`` works for every entry.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::to_dict(py, self.read(py)?.raw())
    }

    /// Return the text that people read: of a message, a summary, a label or a name. Empty for other entries.
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        value::text(py, &entry_text(&self.read(py)?))
    }

    /// Iterate over the entries from the root to this one.
    fn branch(&self, py: Python<'_>) -> PyResult<EntryIterator> {
        let Source::Stored { session, row } = &self.source else {
            return Err(PyValueError::new_err("a followed entry has no branch; open its session"));
        };
        let rows = session.with(py, |manager| Ok(manager.outline().path(self.current_row(manager, *row)?)))?;
        Ok(EntryIterator::of_rows(Arc::clone(session), rows))
    }

    fn __repr__(&self) -> String {
        // Known words only, because the text of a session must not reach a terminal unchecked.
        let what = match self.facts.role.word() {
            Some(role) => role,
            None => self.facts.kind.word().unwrap_or("unknown"),
        };
        format!("<sessile.Entry {what}, line {}>", self.facts.line)
    }
}

/// The text of an entry that people read.
pub(crate) fn entry_text(entry: &Entry) -> JsText<'static> {
    match entry.payload() {
        Payload::Message(payload) => payload.message().map(|message| text_of(message.raw())).unwrap_or_default(),
        Payload::CustomMessage(payload) => text_of(payload.raw()),
        Payload::Compaction(payload) => field(payload.raw(), "summary"),
        Payload::BranchSummary(payload) => field(payload.raw(), "summary"),
        Payload::Label(payload) => field(payload.raw(), "label"),
        Payload::SessionInfo(payload) => field(payload.raw(), "name"),
        Payload::ThinkingLevelChange(_)
        | Payload::ModelChange(_)
        | Payload::Usage(_)
        | Payload::Custom(_)
        | Payload::ContextEdit(_)
        | Payload::Unknown(_) => JsText::default(),
    }
}

fn field(entry: Raw<'_>, key: &str) -> JsText<'static> {
    entry.get(key).and_then(Raw::as_text).map(JsText::into_owned).unwrap_or_default()
}
