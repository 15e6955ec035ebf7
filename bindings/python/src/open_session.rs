//! An open session that several Python objects and threads share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use sessile::{Cancel, SessionError, SessionManager};

use crate::failure::Failure;
use crate::interrupt::{SIGNAL_INTERVAL, interruptible};

/// How long a thread waits before it tries again to get the session.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// A session until it is closed.
pub(crate) struct OpenSession(Mutex<Option<SessionManager>>);

impl OpenSession {
    pub(crate) fn new(manager: SessionManager) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(manager))))
    }

    /// Does something short with the session, on this thread and without the interpreter's lock.
    ///
    /// While another thread uses the session, a signal ends the wait for it.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut SessionManager) -> Result<T, SessionError> + Send,
    ) -> PyResult<T> {
        let mut act = Some(act);
        loop {
            let done = py.detach(|| {
                let mut held = self.lock_soon()?;
                let act = act.take()?;
                Some(held.as_mut().ok_or(Failure::Closed).and_then(|manager| Ok(act(manager)?)))
            });
            match done {
                Some(result) => return result.map_err(|failure| failure.into_exception(py)),
                None => py.check_signals()?,
            }
        }
    }

    /// Reads something that may take long, on another thread; see [`interruptible`].
    pub(crate) fn read<T: Send + 'static>(
        self: &Arc<Self>,
        py: Python<'_>,
        act: impl FnOnce(&mut SessionManager) -> Result<T, SessionError> + Send + 'static,
    ) -> PyResult<T> {
        let session = Arc::clone(self);
        interruptible(py, &Cancel::default(), move || {
            let mut held = session.0.lock().unwrap_or_else(PoisonError::into_inner);
            let manager = held.as_mut().ok_or(Failure::Closed)?;
            Ok(act(manager)?)
        })
    }

    /// Closes the session. Later uses of it fail.
    pub(crate) fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    pub(crate) fn is_closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none())
    }

    /// The session, unless another thread keeps it for too long.
    fn lock_soon(&self) -> Option<MutexGuard<'_, Option<SessionManager>>> {
        let deadline = Instant::now() + SIGNAL_INTERVAL;
        loop {
            match self.0.try_lock() {
                Ok(held) => return Some(held),
                Err(TryLockError::Poisoned(poisoned)) => {
                    let mut held = poisoned.into_inner();
                    if let Some(manager) = held.as_mut() {
                        manager.abandon();
                    }
                    self.0.clear_poison();
                    return Some(held);
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => sleep(RETRY_INTERVAL),
            }
        }
    }
}
