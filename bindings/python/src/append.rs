//! Appends, with or without a condition.

use pyo3::prelude::*;
use pyo3::types::PyString;
use sessile::{EntryId, SessionError, SessionManager};

use crate::given::ExpectedLast;
use crate::open_session::OpenSession;
use crate::value::text;

/// Writes an entry and returns its id.
///
/// With an expected last entry, it is written only if the file still ends with that entry.
pub(crate) fn append<'py>(
    py: Python<'py>,
    session: &OpenSession,
    expected: ExpectedLast,
    write: impl FnOnce(&mut SessionManager) -> Result<EntryId, SessionError> + Send,
) -> PyResult<Bound<'py, PyString>> {
    let id = session.with(py, |manager| match expected {
        ExpectedLast::Any => write(manager),
        ExpectedLast::Exactly(last) => manager.append_if_last(last.as_ref(), write),
    })?;
    text(py, &id.as_text())
}
