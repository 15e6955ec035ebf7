//! The connection to a server.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile::EntryId;
use sessile::json::{Json, ObjectWriter, Raw};

/// Upper bound on queued event records. A server that is further ahead has to wait.
const MAX_QUEUED_EVENTS: usize = 1024;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused the command.
    #[error("{message}")]
    Refused {
        /// The kind of failure, such as `NOT_FOUND`.
        code: String,
        /// The error message.
        message: String,
        /// The actual leaf of the session, if it is not the expected one.
        leaf_id: Option<EntryId>,
    },
    /// The server could not be started or reached.
    #[error("cannot reach the server")]
    Unreachable(#[source] io::Error),
    /// The server is gone.
    #[error("the server has ended")]
    Ended,
    /// The server's answer does not have the expected form.
    #[error("unexpected answer to {command}: {answer}")]
    Unexpected {
        /// The command that was sent.
        command: &'static str,
        /// The answer.
        answer: String,
    },
}

/// A record that is not an answer to a command.
pub type EventRecord = Json;

/// A connection to a server.
pub struct Client {
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    waiting: Arc<Mutex<Waiting>>,
    events: Mutex<Receiver<EventRecord>>,
    child: Mutex<Option<Child>>,
}

/// The callers that wait for answers.
#[derive(Default)]
struct Waiting {
    by_number: HashMap<u64, Sender<Json>>,
    next_number: u64,
    has_ended: bool,
}

impl Client {
    /// Starts a program as `PROGRAM rpc ARGS`.
    pub fn start(program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Result<Self, ClientError> {
        let mut command = Command::new(program);
        command.arg("rpc").args(args);
        Self::start_command(command)
    }

    /// Starts a command and takes over its standard input and output.
    pub fn start_command(mut command: Command) -> Result<Self, ClientError> {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(ClientError::Unreachable)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ClientError::Ended);
        };
        let client = Self::from_streams(output, input)?;
        *lock(&client.child) = Some(child);
        Ok(client)
    }

    /// Connects to a server that listens on a Unix socket.
    #[cfg(unix)]
    pub fn connect(path: impl AsRef<std::path::Path>) -> Result<Self, ClientError> {
        let stream = std::os::unix::net::UnixStream::connect(path).map_err(ClientError::Unreachable)?;
        let reader = stream.try_clone().map_err(ClientError::Unreachable)?;
        Self::from_streams(reader, SocketEnd(stream))
    }

    /// Uses two streams.
    pub fn from_streams(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Self, ClientError> {
        let waiting: Arc<Mutex<Waiting>> = Arc::default();
        let (event_sender, events) = sync_channel(MAX_QUEUED_EVENTS);
        let answers = Arc::clone(&waiting);
        let listen = move || {
            for record in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let Ok(record) = Json::parse(&record) else { continue };
                if record.raw().get("type").and_then(Raw::as_text).is_none_or(|kind| kind != "response") {
                    // The client is gone.
                    if event_sender.send(record).is_err() {
                        break;
                    }
                    continue;
                }
                let number = record.raw().get("id").and_then(Raw::as_number);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the client generated this id"
                )]
                let caller = number.and_then(|number| lock(&answers).by_number.remove(&(number as u64)));
                if let Some(caller) = caller {
                    drop(caller.send(record));
                }
            }
            let mut answers = lock(&answers);
            answers.has_ended = true;
            // Wakes the remaining callers with an error.
            answers.by_number.clear();
        };
        std::thread::Builder::new().spawn(listen).map_err(ClientError::Unreachable)?;
        let writer: Box<dyn Write + Send> = Box::new(writer);
        Ok(Self { writer: Mutex::new(Some(writer)), waiting, events: Mutex::new(events), child: Mutex::new(None) })
    }

    /// Sends a command with its parameters and waits for the data of its answer, if it has any.
    pub fn call(&self, command: &str, parameters: &Json) -> Result<Option<Json>, ClientError> {
        let (answer_sender, answer_receiver) = channel();
        let number = {
            let mut waiting = lock(&self.waiting);
            if waiting.has_ended {
                return Err(ClientError::Ended);
            }
            waiting.next_number += 1;
            let number = waiting.next_number;
            waiting.by_number.insert(number, answer_sender);
            number
        };
        let mut request = ObjectWriter::new();
        request.integer("id", i64::try_from(number).unwrap_or(i64::MAX)).string("type", command);
        for member in parameters.raw().members() {
            if let Some(key) = member.key.as_text() {
                request.member(&key, member.value);
            }
        }
        let mut bytes = request.finish().into_bytes();
        bytes.push(b'\n');
        {
            let mut writer = lock(&self.writer);
            let Some(writer) = writer.as_mut() else { return Err(ClientError::Ended) };
            writer.write_all(&bytes).and_then(|()| writer.flush()).map_err(ClientError::Unreachable)?;
        }
        let Ok(answer) = answer_receiver.recv() else { return Err(ClientError::Ended) };
        let text = |key: &str| answer.raw().get(key).and_then(Raw::as_string).unwrap_or_default();
        if answer.raw().get("success").and_then(Raw::as_bool) != Some(true) {
            let leaf_id = answer.raw().get("leafId").and_then(Raw::as_text).map(EntryId::from);
            return Err(ClientError::Refused { code: text("code"), message: text("error"), leaf_id });
        }
        Ok(answer.raw().get("data").map(Raw::to_json))
    }

    /// Waits for the next record that is not an answer; none if the timeout passes.
    pub fn next_event(&self, timeout: Duration) -> Result<Option<EventRecord>, ClientError> {
        match lock(&self.events).recv_timeout(timeout) {
            Ok(record) => Ok(Some(record)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ClientError::Ended),
        }
    }

    /// Closes the input and waits for the program, if this client started one. Returns its exit code.
    pub fn close(self) -> Option<i32> {
        drop(lock(&self.writer).take());
        let mut child = lock(&self.child).take()?;
        child.wait().ok()?.code()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The writing half of a socket; dropping it signals the end of input.
#[cfg(unix)]
struct SocketEnd(std::os::unix::net::UnixStream);

#[cfg(unix)]
impl Write for SocketEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(unix)]
impl Drop for SocketEnd {
    fn drop(&mut self) {
        // If the peer is gone, the signal has no reader.
        drop(self.0.shutdown(std::net::Shutdown::Write));
    }
}
