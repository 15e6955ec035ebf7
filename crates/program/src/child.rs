//! Runs a program within limits on time and output.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;

/// The interval for checking the deadline and cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How long to wait for output after the program exits.
const GRACE: Duration = Duration::from_millis(500);

/// The number of bytes kept from the end of standard error.
const MAX_ERRORS: usize = 4096;

/// Resource limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum run time.
    pub time: Duration,
    /// The maximum number of output bytes.
    pub output: usize,
}

/// The result of running a program.
#[derive(Debug)]
pub struct ProgramResult {
    /// How it ended.
    pub ended: ProgramEnd,
    /// Its standard output; empty if it had to be killed.
    pub output: Vec<u8>,
    /// The end of its standard error, on one line.
    pub errors: String,
}

/// How a program ended.
#[derive(Debug)]
pub enum ProgramEnd {
    /// It exited successfully.
    Success,
    /// It exited with a failure status.
    Failure(ExitStatus),
    /// It exceeded the time limit.
    TimedOut,
    /// It exceeded the output limit.
    TooMuchOutput,
    /// The caller cancelled it.
    Cancelled,
}

/// Runs a program until it exits, or until a limit or the caller stops it.
///
/// Fails only if the program or the threads for its pipes cannot be started.
pub fn run(mut command: Command, input: Vec<u8>, limits: Limits, cancel: &Cancel) -> io::Result<ProgramResult> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A separate process group, so that its descendants can be killed with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (_, output) = channel();
    let mut waiting = RunningChild { child, output, limits, since: Instant::now() };
    let pipes_connected = connect_pipes(pipes, input, limits);
    let errors = match pipes_connected {
        Ok((output, errors)) => {
            waiting.output = output;
            errors
        }
        Err(error) => {
            // Without threads for its pipes, the program would block forever.
            waiting.end_group();
            return Err(error);
        }
    };
    let (ended, output) = waiting.wait(cancel);
    waiting.end_group();
    let errors = errors.recv_timeout(GRACE).unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors).split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(ProgramResult { ended, output, errors: last_bytes(&errors, 800) })
}

struct RunningChild {
    child: Child,
    output: Receiver<Vec<u8>>,
    limits: Limits,
    since: Instant,
}

impl RunningChild {
    /// Waits until the program has exited and all its output has arrived, or until it must be stopped.
    fn wait(&mut self, cancel: &Cancel) -> (ProgramEnd, Vec<u8>) {
        let mut output = None;
        let mut exited: Option<(ExitStatus, Instant)> = None;
        loop {
            if cancel.is_cancelled() {
                return (ProgramEnd::Cancelled, Vec::new());
            }
            if self.since.elapsed() > self.limits.time {
                return (ProgramEnd::TimedOut, Vec::new());
            }
            if output.is_none() {
                match self.output.recv_timeout(POLL_INTERVAL) {
                    Ok(bytes) if bytes.len() > self.limits.output => return (ProgramEnd::TooMuchOutput, Vec::new()),
                    Ok(bytes) => output = Some(bytes),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => output = Some(Vec::new()),
                }
            } else {
                thread::sleep(POLL_INTERVAL / 5);
            }
            if exited.is_none() {
                exited = self.child.try_wait().ok().flatten().map(|status| (status, Instant::now()));
            }
            let Some((status, at)) = exited else { continue };
            if output.is_none() && at.elapsed() > GRACE {
                // A process it left running may hold the pipe open forever.
                self.end_group();
                output = Some(self.output.recv_timeout(GRACE).unwrap_or_default());
            }
            if let Some(output) = output {
                return (if status.success() { ProgramEnd::Success } else { ProgramEnd::Failure(status) }, output);
            }
        }
    }

    /// Kills the program and its descendants, and reaps it. On Windows, descendants stay: there are no process groups.
    fn end_group(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // Fails if the group is empty.
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Delivers the output of one stream once it is complete.
type PipeOutput = Receiver<Vec<u8>>;

/// Starts the threads that write a program's input and read its output.
fn connect_pipes(
    (stdin, stdout, stderr): (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>),
    input: Vec<u8>,
    limits: Limits,
) -> io::Result<(PipeOutput, PipeOutput)> {
    let output = reader(stdout, limits.output.saturating_add(1), false)?;
    let errors = reader(stderr, MAX_ERRORS, true)?;
    if let Some(mut stdin) = stdin {
        // Write errors are ignored: a program that does not read all its input is judged by its output.
        thread::Builder::new().spawn(move || stdin.write_all(&input))?;
    }
    Ok((output, errors))
}

/// Reads a pipe on a separate thread. Keeps the first `max_bytes` bytes and then stops, or keeps the last ones.
fn reader(
    pipe: Option<impl Read + Send + 'static>,
    max_bytes: usize,
    keeps_last: bool,
) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let mut kept = Vec::new();
        let mut chunk = [0; 8192];
        let Some(mut pipe) = pipe else { return };
        while let Ok(n_read @ 1..) = pipe.read(&mut chunk) {
            kept.extend_from_slice(&chunk[..n_read]);
            if kept.len() > max_bytes {
                if !keeps_last {
                    kept.truncate(max_bytes);
                    break;
                }
                kept.drain(..kept.len() - max_bytes);
            }
        }
        // The receiver may already be gone.
        drop(sender.send(kept));
    })?;
    Ok(receiver)
}

/// The end of a text.
fn last_bytes(text: &str, max_bytes: usize) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
    text.get(start..).unwrap_or_default().to_owned()
}
