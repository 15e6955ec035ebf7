//! Work without the interpreter's lock, in calls that a signal can end.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use sessile::{Cancel, threads};

use crate::failure::Failure;

/// How often a waiting call looks for signals.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs work on a thread and waits for it.
///
/// If the handler of a signal raises an exception, such as `KeyboardInterrupt`, this cancels the work and raises the
/// exception at once. Work that cannot be cancelled then ends on its own, so it must only read.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut results) = channel();
    let mut thread = py.detach(|| {
        threads::spawn_or_run("sessile-python", move || {
            // Without a receiver, the call was interrupted.
            drop(sender.send(work()));
        })
    });
    loop {
        let (result, receiver) = py.detach(move || (results.recv_timeout(SIGNAL_INTERVAL), results));
        results = receiver;
        match result {
            Ok(result) => return result.map_err(|failure| failure.into_exception(py)),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| cancel.cancel())?,
            Err(RecvTimeoutError::Disconnected) => match thread.take().map(std::thread::JoinHandle::join) {
                Some(Err(panic)) => resume_unwind(panic),
                _ => unreachable!("the work sends its result or panics"),
            },
        }
    }
}
