//! Values of sessions as values of Python, and back.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDict, PyFloat, PyList, PyString, PyTzInfo};
use sessile::format::head::Role;
use sessile::json::{JsText, Json, Raw, Shape, Token};
use sessile::message;
use sessile::time::Timestamp;

/// A text of JavaScript as a `str`, which can hold lone surrogates, too.
pub(crate) fn text<'py>(py: Python<'py>, text: &JsText<'_>) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = std::str::from_utf8(text.as_wtf8()) {
        return Ok(PyString::new(py, text));
    }
    let bytes = PyBytes::new(py, text.as_wtf8());
    PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass"))
}

/// A `datetime` in UTC; `None` if it is beyond the years that Python knows.
pub(crate) fn time(py: Python<'_>, time: Option<Timestamp>) -> PyResult<Option<Bound<'_, PyDateTime>>> {
    let Some(time) = time else { return Ok(None) };
    let utc = PyTzInfo::utc(py)?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of the years that Python knows are exact")]
    let seconds = time.as_ms() as f64 / 1000.0;
    Ok(PyDateTime::from_timestamp(py, seconds, Some(&utc)).ok())
}

/// A value as Python's `json` would return it, at any depth.
///
/// Integers beyond 64 bits become floats, as in JavaScript.
pub(crate) fn to_python<'py>(py: Python<'py>, value: Raw<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut open: Vec<Container<'py>> = Vec::new();
    for token in value.tokens() {
        let done = match token {
            Token::OpenArray => {
                open.push(Container::List(PyList::empty(py)));
                continue;
            }
            Token::OpenObject => {
                open.push(Container::Dict { dict: PyDict::new(py), key: None });
                continue;
            }
            Token::Key(name) => {
                if let Some(Container::Dict { key, .. }) = open.last_mut() {
                    *key = Some(text(py, &name)?);
                }
                continue;
            }
            Token::Scalar(scalar) => scalar_to_python(py, scalar)?,
            Token::Close => match open.pop() {
                Some(Container::List(list)) => list.into_any(),
                Some(Container::Dict { dict, .. }) => dict.into_any(),
                None => break,
            },
        };
        match open.last_mut() {
            None => return Ok(done),
            Some(Container::List(list)) => list.append(done)?,
            Some(Container::Dict { dict, key }) => {
                if let Some(key) = key.take() {
                    dict.set_item(key, done)?;
                }
            }
        }
    }
    unreachable!("a value ends with its last token")
}

/// An array or an object whose end has not been reached.
enum Container<'py> {
    List(Bound<'py, PyList>),
    Dict { dict: Bound<'py, PyDict>, key: Option<Bound<'py, PyString>> },
}

fn scalar_to_python<'py>(py: Python<'py>, scalar: Raw<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match scalar.shape() {
        Shape::String => text(py, &scalar.as_text().unwrap_or_default())?.into_any(),
        Shape::Bool => scalar.as_bool().into_pyobject(py)?,
        Shape::Number => {
            match std::str::from_utf8(scalar.as_bytes()).ok().and_then(|digits| digits.parse::<i64>().ok()) {
                Some(integer) => integer.into_pyobject(py)?.into_any(),
                None => PyFloat::new(py, scalar.as_number().unwrap_or(f64::NAN)).into_any(),
            }
        }
        Shape::Null | Shape::Array | Shape::Object => py.None().into_bound(py),
    })
}

/// A value of Python as JSON, written by Python's `json`.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let text: String = py.import("json")?.call_method("dumps", (value,), Some(&options))?.extract()?;
    Json::parse(&text).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// A value that must be an object, as a `dict`.
pub(crate) fn to_dict<'py>(py: Python<'py>, value: Raw<'_>) -> PyResult<Bound<'py, PyDict>> {
    if value.shape() != Shape::Object {
        return Err(pyo3::exceptions::PyValueError::new_err("this entry is not a JSON object; use json()"));
    }
    Ok(to_python(py, value)?.cast_into()?)
}

/// A message of a context: what a model sees.
#[pyclass(frozen, module = "sessile")]
pub(crate) struct Message(Json);

impl Message {
    pub(crate) fn new(json: Json) -> Self {
        Self(json)
    }
}

#[pymethods]
impl Message {
    /// The role, such as ``"user"``; None if it has none.
    #[getter]
    fn role<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let role = self.0.raw().get("role").and_then(Raw::as_text);
        role.map(|role| text(py, &role)).transpose()
    }

    /// The text of the content; parts other than text are left out.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text(py, &message::text_of(self.0.raw()))
    }

    /// Return the message as JSON.
    fn json(&self) -> String {
        self.0.to_text().into_owned()
    }

    /// Return the message as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.0.raw())
    }

    fn __repr__(&self) -> String {
        // Only known roles, because the text of a session must not reach a terminal unchecked.
        format!("<sessile.Message {}>", Role::of(self.0.raw().get("role")))
    }
}
