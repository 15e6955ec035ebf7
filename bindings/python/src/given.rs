//! Arguments that callers may write in several ways.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyString};
use sessile::date::{LocalZone, TimeRange, parse_time_range};
use sessile::json::JsText;
use sessile::time::Timestamp;
use sessile::{EntryId, Environment};

use crate::entry::PyEntry;

/// An entry, or its id.
pub(crate) struct GivenEntry(pub(crate) EntryId);

impl<'py> FromPyObject<'_, 'py> for GivenEntry {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(entry) = given.cast::<PyEntry>() {
            let id = entry.get().entry_id().cloned();
            return id.map(Self).ok_or_else(|| PyValueError::new_err("this entry has no id"));
        }
        let Ok(text) = given.cast::<PyString>() else {
            return Err(PyTypeError::new_err("an entry is given as an Entry or as its id"));
        };
        if let Ok(text) = text.to_str() {
            return Ok(Self(EntryId::from(text)));
        }
        // An id may hold lone surrogates.
        let bytes: Vec<u8> = text.call_method1("encode", ("utf-8", "surrogatepass"))?.extract()?;
        Ok(Self(EntryId::from(JsText::from_wtf8(bytes))))
    }
}

/// What an append expects as the last entry of the file.
pub(crate) enum ExpectedLast {
    /// Nothing: `...`.
    Any,
    /// This entry; `None` for a session without entries.
    Exactly(Option<EntryId>),
}

impl<'py> FromPyObject<'_, 'py> for ExpectedLast {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyEllipsis>() {
            return Ok(Self::Any);
        }
        if given.is_none() {
            return Ok(Self::Exactly(None));
        }
        given.extract::<GivenEntry>().map(|entry| Self::Exactly(Some(entry.0)))
    }
}

/// One word, or several.
#[derive(FromPyObject)]
pub(crate) enum Words {
    One(String),
    Many(Vec<String>),
}

impl Words {
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(word) => vec![word],
            Self::Many(words) => words,
        }
    }
}

/// A time: a `datetime`, a `date`, or a text such as `"2w"` or `"2026-01-31"`.
pub(crate) enum GivenTime {
    At(Timestamp),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for GivenTime {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.extract::<String>() {
            return Ok(Self::Text(text));
        }
        if given.hasattr("timestamp")? {
            let seconds: f64 = given.call_method0("timestamp")?.extract()?;
            #[expect(clippy::cast_possible_truncation, reason = "saturates, and datetimes are far from the limits")]
            return Ok(Self::At(Timestamp::from_ms((seconds * 1000.0).round() as i64)));
        }
        if given.hasattr("isoformat")? {
            return Ok(Self::Text(given.call_method0("isoformat")?.extract()?));
        }
        Err(PyTypeError::new_err("a time is given as a datetime, a date, or a text such as \"2w\" or \"2026-01-31\""))
    }
}

impl GivenTime {
    /// Its first moment.
    pub(crate) fn since(self, environment: &dyn Environment) -> PyResult<Timestamp> {
        self.range(environment).map(|range| range.from)
    }

    /// Its last moment.
    pub(crate) fn until(self, environment: &dyn Environment) -> PyResult<Timestamp> {
        self.range(environment).map(|range| range.to)
    }

    fn range(self, environment: &dyn Environment) -> PyResult<TimeRange> {
        match self {
            Self::At(time) => Ok(TimeRange { from: time, to: time }),
            Self::Text(text) => {
                let range = parse_time_range(&text, environment.now(), &Zone(environment));
                range.ok_or_else(|| {
                    PyValueError::new_err(format!("{text:?} is not a time; use e.g. \"2h\", \"3d\" or \"2026-01-31\""))
                })
            }
        }
    }
}

/// The local time of an environment.
struct Zone<'e>(&'e dyn Environment);

impl LocalZone for Zone<'_> {
    fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
        self.0.local_offset_ms(local_ms)
    }
}
