//! One open session.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use sessile::format::outline::Row;
use sessile::json::Json;
use sessile::{SessionError, SessionManager, Sessions};

use crate::append::append;
use crate::columns::columns;
use crate::entry::{EntryFacts, EntryFilter, EntryIterator, PyEntry};
use crate::examine;
use crate::failure::Failure;
use crate::given::{ExpectedLast, GivenEntry, Words};
use crate::open_session::OpenSession;
use crate::records;
use crate::shape;
use crate::value::{Message, text, to_dict, to_json};

/// An open session: its entries, its branches, and appends to it.
///
/// Make one with ``sessile.open``, ``sessile.create`` or the methods of a ``Store``. Use it as a context manager, or call
/// ``close()``. Threads may share it.
#[pyclass(frozen, module = "sessile")]
pub(crate) struct Session {
    open: Arc<OpenSession>,
    sessions: Sessions,
}

impl Session {
    pub(crate) fn new(manager: SessionManager, sessions: Sessions) -> Self {
        Self { open: OpenSession::new(manager), sessions }
    }

    /// The session's file, which must exist.
    fn file(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let file = self.open.with(py, |manager| {
            Ok(manager.session_file().filter(|_| manager.is_stored()).map(std::path::Path::to_path_buf))
        })?;
        file.ok_or_else(|| Failure::NoFile.into_exception(py))
    }

    /// The rows from the root to an entry, or to the leaf.
    fn path_rows(&self, py: Python<'_>, leaf: Option<GivenEntry>) -> PyResult<Vec<Row>> {
        self.open.with(py, |manager| match leaf {
            Some(leaf) => manager.path_to(&leaf.0),
            None => Ok(manager.path()),
        })
    }
}

#[pymethods]
impl Session {
    /// The file; None for a session in memory. A new session has no file before its first message.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        self.open.with(py, |manager| Ok(manager.session_file().map(std::path::Path::to_path_buf)))
    }

    /// The id.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        self.open.with(py, |manager| Ok(manager.session_id().to_string()))
    }

    /// The working directory of the agent.
    #[getter]
    fn cwd(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.open.with(py, |manager| Ok(manager.cwd().to_path_buf()))
    }

    /// The name that a user or an agent gave it; None if it has none.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.open.with(py, |manager| manager.session_name())
    }

    /// The header as a dict.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let header = self.open.with(py, |manager| Ok(manager.header().json().clone()))?;
        to_dict(py, header.raw())
    }

    /// The entry after which the next append goes; None before all entries.
    #[getter]
    fn leaf_id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let id = self.open.with(py, |manager| Ok(manager.leaf_id()))?;
        id.map(|id| text(py, &id.as_text())).transpose()
    }

    /// The last entry of the file as far as it was read; the value for ``expected_last``.
    #[getter]
    fn last_id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let id = self.open.with(py, |manager| Ok(manager.last_id()))?;
        id.map(|id| text(py, &id.as_text())).transpose()
    }

    /// Whether ``close()`` was called.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.open.is_closed(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.open.with(py, |manager| Ok(manager.outline().n_entries()))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<EntryIterator> {
        EntryIterator::of_file(py, Arc::clone(&self.open), EntryFilter::default())
    }

    /// Iterate over the entries of all branches in file order, or over those of some types and roles.
    ///
    /// ``types`` and ``roles`` are one word or several, such as ``types="message", roles=["user", "assistant"]``.
    #[pyo3(signature = (*, types=None, roles=None))]
    fn entries(&self, py: Python<'_>, types: Option<Words>, roles: Option<Words>) -> PyResult<EntryIterator> {
        let filter = EntryFilter::new(types.map(Words::into_vec), roles.map(Words::into_vec))?;
        EntryIterator::of_file(py, Arc::clone(&self.open), filter)
    }

    /// Return the entry with this id. Raise ``EntryNotFoundError`` if there is none.
    fn entry(&self, py: Python<'_>, id: GivenEntry) -> PyResult<PyEntry> {
        let (row, facts) = self.open.with(py, |manager| {
            let outline = manager.outline();
            let row = outline.find(&id.0).ok_or(SessionError::EntryNotFound { id: id.0.clone() })?;
            Ok((row, EntryFacts::of(outline, row)))
        })?;
        Ok(PyEntry::stored(Arc::clone(&self.open), row, facts))
    }

    /// Iterate over one branch: the entries from the root to ``leaf``, or to the current leaf.
    #[pyo3(signature = (leaf=None, *, types=None, roles=None))]
    fn branch(
        &self,
        py: Python<'_>,
        leaf: Option<GivenEntry>,
        types: Option<Words>,
        roles: Option<Words>,
    ) -> PyResult<EntryIterator> {
        let filter = EntryFilter::new(types.map(Words::into_vec), roles.map(Words::into_vec))?;
        Ok(EntryIterator::filtered(Arc::clone(&self.open), self.path_rows(py, leaf)?, filter))
    }

    /// Return all branches, each by its last entry, in the order of the tree.
    fn branches<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        shape::branches(py, &self.open)
    }

    /// Return the whole tree: parents before children, with the depth of each entry.
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        shape::tree(py, &self.open)
    }

    /// Return the labels by the ids of their entries, in file order.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        shape::labels(py, &self.open)
    }

    /// Return what a model would see at ``leaf``, or at the current leaf.
    #[pyo3(signature = (leaf=None))]
    fn context<'py>(&self, py: Python<'py>, leaf: Option<GivenEntry>) -> PyResult<Bound<'py, PyAny>> {
        let context = self.open.read(py, move |manager| match leaf {
            Some(leaf) => manager.build_session_context_at(leaf.0),
            None => manager.build_session_context(),
        })?;
        records::context(py, context)
    }

    /// Return the messages of the context in the form that models take.
    #[pyo3(signature = (leaf=None))]
    fn llm_messages(&self, py: Python<'_>, leaf: Option<GivenEntry>) -> PyResult<Vec<Message>> {
        let messages = self.open.read(py, move |manager| match leaf {
            Some(leaf) => manager.llm_messages_at(leaf.0),
            None => manager.llm_messages(),
        })?;
        Ok(messages.into_iter().map(Message::new).collect())
    }

    /// Append a message, given as a dict, and return the id of its entry.
    ///
    /// With ``expected_last``, write it only if the file still ends with that entry; else raise ``LeafMovedError``.
    /// Give None for a session without entries.
    #[pyo3(signature = (message, *, expected_last=ExpectedLast::Any))]
    fn append_message<'py>(
        &self,
        message: &Bound<'py, PyDict>,
        expected_last: ExpectedLast,
    ) -> PyResult<Bound<'py, PyString>> {
        let json = to_json(message)?;
        append(message.py(), &self.open, expected_last, |manager| manager.append_message(json))
    }

    /// Append a message of the user, sent now, and return the id of its entry.
    #[pyo3(signature = (content, *, expected_last=ExpectedLast::Any))]
    fn append_user_message<'py>(
        &self,
        py: Python<'py>,
        content: String,
        expected_last: ExpectedLast,
    ) -> PyResult<Bound<'py, PyString>> {
        append(py, &self.open, expected_last, |manager| manager.append_user_message(content))
    }

    /// Append an answer of a model, given now, and return the id of its entry.
    #[pyo3(signature = (content, *, provider, model, expected_last=ExpectedLast::Any))]
    fn append_assistant_message<'py>(
        &self,
        py: Python<'py>,
        content: String,
        provider: &str,
        model: &str,
        expected_last: ExpectedLast,
    ) -> PyResult<Bound<'py, PyString>> {
        append(py, &self.open, expected_last, |manager| manager.append_assistant_message(provider, model, content))
    }

    /// Append data of your own, which no model sees, and return the id of its entry.
    #[pyo3(signature = (custom_type, data=None, *, expected_last=ExpectedLast::Any))]
    fn append_custom_entry<'py>(
        &self,
        py: Python<'py>,
        custom_type: &str,
        data: Option<&Bound<'py, PyAny>>,
        expected_last: ExpectedLast,
    ) -> PyResult<Bound<'py, PyString>> {
        let data: Option<Json> = data.map(to_json).transpose()?;
        append(py, &self.open, expected_last, |manager| manager.append_custom_entry(custom_type, data.as_ref()))
    }

    /// Label an entry, or remove its label with None, and return the id of the new entry.
    #[pyo3(signature = (entry, label, *, expected_last=ExpectedLast::Any))]
    fn append_label<'py>(
        &self,
        py: Python<'py>,
        entry: GivenEntry,
        label: Option<&str>,
        expected_last: ExpectedLast,
    ) -> PyResult<Bound<'py, PyString>> {
        append(py, &self.open, expected_last, |manager| manager.append_label_change(entry.0, label))
    }

    /// Name the session and return the id of the new entry. An empty name removes the name.
    #[pyo3(signature = (name, *, expected_last=ExpectedLast::Any))]
    fn append_name<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        expected_last: ExpectedLast,
    ) -> PyResult<Bound<'py, PyString>> {
        append(py, &self.open, expected_last, |manager| manager.append_session_info(name))
    }

    /// Continue after ``entry``: the next append begins a branch there. None goes before all entries.
    fn move_leaf(&self, py: Python<'_>, entry: Option<GivenEntry>) -> PyResult<()> {
        self.open.with(py, |manager| {
            if let Some(entry) = entry {
                return manager.branch(&entry.0);
            }
            manager.reset_leaf();
            Ok(())
        })
    }

    /// Read what other programs have appended. With ``follow``, the leaf moves to the last entry, else it stays.
    #[pyo3(signature = (*, follow=false))]
    fn refresh(&self, py: Python<'_>, follow: bool) -> PyResult<()> {
        self.open.with(py, |manager| if follow { manager.follow_leaf() } else { manager.refresh() })
    }

    /// Return the usage and the shape of the session.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        examine::session_stats(py, &self.sessions, self.file(py)?)
    }

    /// Find everything that is wrong with the file. Changes nothing.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        examine::verify(py, &self.sessions, self.file(py)?)
    }

    /// Return the sessions that were forked from each other, this one among them.
    fn family<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        examine::family(py, &self.sessions, self.file(py)?)
    }

    /// Return the entries as a ``DataFrame`` of pandas, one row per entry; ``text=True`` adds their texts.
    #[pyo3(signature = (*, text=false))]
    fn to_pandas<'py>(this: &Bound<'py, Self>, text: bool) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("sessile._frames")?.call_method1("session_to_pandas", (this, text))
    }

    /// Return the entries as a ``Table`` of pyarrow, one row per entry; ``text=True`` adds their texts.
    #[pyo3(signature = (*, text=false))]
    fn to_arrow<'py>(this: &Bound<'py, Self>, text: bool) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("sessile._frames")?.call_method1("session_to_arrow", (this, text))
    }

    /// Return columns of up to ``count`` entries from row ``start``, and the next row. For ``to_pandas``.
    fn _columns<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        count: usize,
        text: bool,
    ) -> PyResult<(Bound<'py, PyDict>, usize)> {
        columns(py, &self.open, start, count, text)
    }

    /// Close the session. Its entries cannot be read any more.
    fn close(&self, py: Python<'_>) {
        self.open.close(py);
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _exc_type: &Bound<'_, PyAny>,
        _exc_value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.__len__(py) {
            Ok(entries) => format!("<sessile.Session, {entries} entries>"),
            Err(_) => "<sessile.Session, closed>".to_owned(),
        }
    }
}
