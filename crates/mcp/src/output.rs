//! What a client receives.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sessile::Cancel;
use sessile::json::{Json, ObjectWriter};

/// The time between two notifications of progress.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(100);

/// Where answers go; `None` after a failed write.
pub(crate) struct Output(Mutex<Option<Box<dyn Write + Send>>>);

impl Output {
    pub(crate) fn new(output: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(output))))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Writes a message on one line.
    pub(crate) fn write(&self, message: &Json) {
        let mut line = message.to_text().into_owned().into_bytes();
        line.push(b'\n');
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_written =
            output.as_mut().is_none_or(|output| output.write_all(&line).and_then(|()| output.flush()).is_ok());
        if !is_written {
            *output = None;
        }
    }
}

/// Notifies a client about the progress of its request.
pub(crate) struct Progress {
    output: Arc<Output>,
    /// By which the client recognises the request.
    token: Json,
    cancel: Cancel,
    last: Mutex<Option<(u64, Instant)>>,
}

impl Progress {
    pub(crate) fn new(output: Arc<Output>, token: Json, cancel: Cancel) -> Self {
        Self { output, token, cancel, last: Mutex::default() }
    }

    /// Sends how much of the total is done, unless the client has just been notified or has cancelled the request.
    pub(crate) fn report(&self, done: u64, total: u64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|(before, time)| done > before && time.elapsed() >= NOTIFICATION_INTERVAL);
        if is_due && done > 0 && !self.cancel.is_cancelled() {
            *last = Some((done, Instant::now()));
            self.output.write(&progressed(&self.token, done, total));
        }
    }
}

/// A notification about the progress of a request.
fn progressed(token: &Json, done: u64, total: u64) -> Json {
    let integer = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut params = ObjectWriter::new();
    params.raw("progressToken", token.raw()).integer("progress", integer(done)).integer("total", integer(total));
    params.string("message", "bytes read");
    let mut out = ObjectWriter::new();
    out.string("jsonrpc", "2.0").string("method", "notifications/progress").raw("params", params.finish().raw());
    out.finish()
}
