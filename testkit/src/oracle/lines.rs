//! Lines to and from a child process, with timeouts.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long a child may take for one line. Far more than any answer needs on a busy machine: a child that takes longer
/// is stuck.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// The stream has ended.
    Ended,
    /// The deadline has passed.
    Late,
}

/// The lines of a stream, read by a thread, so that the reader can time out.
pub(crate) struct Lines(Receiver<Vec<u8>>);

impl Lines {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            loop {
                let mut line = Vec::new();
                let n_read = stream.read_until(b'\n', &mut line).unwrap_or(0);
                if n_read == 0 || sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// Returns the next line, including its end.
    pub(crate) fn next(&self, deadline: Duration) -> Result<Vec<u8>, NoLine> {
        self.0.recv_timeout(deadline).map_err(|error| match error {
            RecvTimeoutError::Timeout => NoLine::Late,
            RecvTimeoutError::Disconnected => NoLine::Ended,
        })
    }

    /// Waits for the end of the stream, at most `deadline` per line, and discards the lines.
    pub(crate) fn wait_for_end(&self, deadline: Duration) {
        while self.next(deadline).is_ok() {}
    }
}

/// A stream written by a thread, so that a child which does not read blocks nothing else.
pub(crate) struct Input(Sender<Vec<u8>>);

impl Input {
    pub(crate) fn of(mut stream: impl Write + Send + 'static) -> Self {
        let (sender, receiver) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            for text in receiver {
                // If the child has ended, the missing answer shows it.
                if stream.write_all(&text).and_then(|()| stream.flush()).is_err() {
                    return;
                }
            }
        });
        Self(sender)
    }

    pub(crate) fn send(&self, text: Vec<u8>) {
        // The thread has ended if the child has; the missing answer shows it.
        drop(self.0.send(text));
    }
}
