//! Following a session that another program writes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sessile::entry::Entry;
use sessile::follow::{FollowEvent, FollowFrom, FollowOptions};
use sessile::format::head::Role;
use sessile::message::Message;
use sessile::write::Restart;
use sessile::{Cancel, SessionError, Sessions, System};

use crate::entry::{EntryFacts, PyEntry};
use crate::failure::Failure;
use crate::interrupt::{SIGNAL_INTERVAL, interruptible};
use crate::records::record;
use crate::value::to_python;

/// A followed session: an iterator over what other programs write to it.
///
/// Use it as a context manager. The iteration ends when no event came for ``timeout`` seconds, or when another thread
/// calls ``close()``. Without a timeout, it waits; Ctrl-C ends the wait.
#[pyclass(frozen, module = "sessile")]
pub(crate) struct Follower {
    /// `None` once it is closed.
    tail: Mutex<Option<sessile::follow::Follower>>,
    cancel: Cancel,
    timeout: Option<Duration>,
    path: PathBuf,
}

impl Follower {
    pub(crate) fn start(
        py: Python<'_>,
        sessions: Sessions,
        path: PathBuf,
        from: FollowFrom,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let timeout = timeout.map(seconds).transpose()?;
        let cancel = Cancel::default();
        let options = FollowOptions { from, cancel: cancel.clone(), ..FollowOptions::default() };
        let follower = interruptible(py, &cancel, move || Ok(sessions.follow(path, options)?))?;
        let path = follower.path().to_path_buf();
        Ok(Self { tail: Mutex::new(Some(follower)), cancel, timeout, path })
    }

    /// The next event; `None` if the time is up, or if the follower is closed.
    fn wait<'py>(&self, py: Python<'py>, timeout: Option<Duration>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // An overflow means no deadline.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let rest = deadline.map_or(SIGNAL_INTERVAL, |deadline| deadline.saturating_duration_since(Instant::now()));
            let next = py.detach(|| {
                let mut held = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
                held.as_mut().map_or(Err(SessionError::Cancelled), |follower| follower.next(rest.min(SIGNAL_INTERVAL)))
            });
            match next {
                Ok(Some(event)) => return event_record(py, event).map(Some),
                Ok(None) if rest.is_zero() => return Ok(None),
                Ok(None) => py.check_signals()?,
                Err(SessionError::Cancelled) => return Ok(None),
                Err(error) => return Err(Failure::from(error).into_exception(py)),
            }
        }
    }
}

#[pymethods]
impl Follower {
    /// The file.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// Whether ``close()`` was called.
    #[getter]
    fn closed(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Return the next event, waiting for at most ``timeout`` seconds; None if the time is up.
    #[pyo3(signature = (timeout=None))]
    fn next<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.wait(py, timeout.map(seconds).transpose()?)
    }

    /// Stop following. Another thread that waits for an event returns.
    fn close(&self, py: Python<'_>) {
        self.cancel.cancel();
        py.detach(|| drop(self.tail.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.wait(py, self.timeout)
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
}

fn seconds(given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given).map_err(|error| PyValueError::new_err(format!("timeout: {error}")))
}

fn event_record(py: Python<'_>, event: FollowEvent) -> PyResult<Bound<'_, PyAny>> {
    let fields = match event {
        FollowEvent::Header(header) => {
            Fields { header: Some(to_python(py, header.json().raw())?), ..Fields::of("header") }
        }
        FollowEvent::Entry { entry, id, parent, line, offset } => {
            let entry = Entry::new(entry);
            let role = entry.message().map_or(Role::None, Message::role);
            let (kind, time, size) = (entry.kind(), entry.time(&System), entry.raw().as_bytes().len() as u64);
            let facts = EntryFacts { id, parent, kind, role, time, line, offset, size };
            let entry = Bound::new(py, PyEntry::held(entry.into_json(), facts))?;
            Fields { entry: Some(entry.into_any()), ..Fields::of("entry") }
        }
        FollowEvent::Skipped(diagnostic) => Fields { message: Some(diagnostic.to_string()), ..Fields::of("skipped") },
        FollowEvent::Restarted { reason } => {
            let reason = match reason {
                Restart::Truncated => "truncated",
                Restart::Replaced => "replaced",
                Restart::Rewritten => "rewritten",
            };
            Fields { message: Some(reason.to_owned()), ..Fields::of("restarted") }
        }
        FollowEvent::Gone => Fields::of("gone"),
    };
    record!(py, "FollowEvent",
        kind: fields.kind,
        entry: fields.entry,
        header: fields.header,
        message: fields.message,
    )
}

/// The fields of an event.
struct Fields<'py> {
    kind: &'static str,
    entry: Option<Bound<'py, PyAny>>,
    header: Option<Bound<'py, PyAny>>,
    message: Option<String>,
}

impl Fields<'_> {
    fn of(kind: &'static str) -> Self {
        Self { kind, entry: None, header: None, message: None }
    }
}
