//! A program at work, within bounds of time and output.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;

/// How often the clock and the cancellation are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How long what the program printed may take to arrive after its end.
const GRACE: Duration = Duration::from_millis(500);

/// How much of what it says on its standard error is kept: the end.
const MAX_ERRORS: usize = 4096;

/// What a program may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long it may run.
    pub time: Duration,
    /// How many bytes it may print.
    pub output: usize,
}

/// What a program did.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// What it printed; nothing if it had to be ended.
    pub output: Vec<u8>,
    /// The end of what it said on its standard error, in one line.
    pub errors: String,
}

/// How it ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, and it says that all is well.
    Well,
    /// By itself, and it says that something is not.
    Badly(ExitStatus),
    /// It took too long.
    TooSlow,
    /// It printed too much.
    TooMuch,
    /// The caller wanted it to end.
    Cancelled,
}

/// Runs a program to its end, or to ours.
///
/// Fails only if it cannot be started.
pub fn run(mut command: Command, input: Vec<u8>, limits: Limits, cancel: &Cancel) -> io::Result<Ran> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it started can be ended with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (_, output) = channel();
    let mut waiting = Waiting { child, output, limits, since: Instant::now() };
    let listened = listen(pipes, input, limits);
    let errors = match listened {
        Ok((output, errors)) => {
            waiting.output = output;
            errors
        }
        Err(error) => {
            // Without threads for its pipes the program would wait for ever.
            waiting.end_group();
            return Err(error);
        }
    };
    let (ended, output) = waiting.until_end(cancel);
    waiting.end_group();
    let errors = errors.recv_timeout(GRACE).unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors).split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Ran { ended, output, errors: ending(&errors, 800) })
}

struct Waiting {
    child: Child,
    output: Receiver<Vec<u8>>,
    limits: Limits,
    since: Instant,
}

impl Waiting {
    /// Waits until the program has ended and everything it printed is here, or until it must end.
    fn until_end(&mut self, cancel: &Cancel) -> (Ended, Vec<u8>) {
        let mut output = None;
        let mut exited: Option<(ExitStatus, Instant)> = None;
        loop {
            if cancel.is_cancelled() {
                return (Ended::Cancelled, Vec::new());
            }
            if self.since.elapsed() > self.limits.time {
                return (Ended::TooSlow, Vec::new());
            }
            if output.is_none() {
                match self.output.recv_timeout(LOOK) {
                    Ok(bytes) if bytes.len() > self.limits.output => return (Ended::TooMuch, Vec::new()),
                    Ok(bytes) => output = Some(bytes),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => output = Some(Vec::new()),
                }
            } else {
                thread::sleep(LOOK / 5);
            }
            if exited.is_none() {
                exited = self.child.try_wait().ok().flatten().map(|status| (status, Instant::now()));
            }
            let Some((status, at)) = exited else { continue };
            if output.is_none() && at.elapsed() > GRACE {
                // Something it left behind may hold the pipe open for ever.
                self.end_group();
                output = Some(self.output.recv_timeout(GRACE).unwrap_or_default());
            }
            if let Some(output) = output {
                return (if status.success() { Ended::Well } else { Ended::Badly(status) }, output);
            }
        }
    }

    /// Ends the program and whatever it started, and buries it.
    fn end_group(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // Fails if nobody is left in the group.
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts the threads that feed a program and take what it prints.
fn listen(
    (stdin, stdout, stderr): (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>),
    input: Vec<u8>,
    limits: Limits,
) -> io::Result<(Receiver<Vec<u8>>, Receiver<Vec<u8>>)> {
    let output = reader(stdout, limits.output.saturating_add(1), false)?;
    let errors = reader(stderr, MAX_ERRORS, true)?;
    if let Some(mut stdin) = stdin {
        // A program that does not read to the end is judged by what it prints.
        thread::Builder::new().spawn(move || stdin.write_all(&input))?;
    }
    Ok((output, errors))
}

/// Reads to the end on a thread of its own. Keeps the first `most` bytes and then stops, or the last ones.
fn reader(pipe: Option<impl Read + Send + 'static>, most: usize, keeps_last: bool) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let mut kept = Vec::new();
        let mut chunk = [0; 8192];
        let Some(mut pipe) = pipe else { return };
        while let Ok(n_read @ 1..) = pipe.read(&mut chunk) {
            kept.extend_from_slice(&chunk[..n_read]);
            if kept.len() > most {
                if !keeps_last {
                    kept.truncate(most);
                    break;
                }
                kept.drain(..kept.len() - most);
            }
        }
        // Nobody may be waiting any more.
        drop(sender.send(kept));
    })?;
    Ok(receiver)
}

/// The end of a text.
fn ending(text: &str, most: usize) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(most));
    text.get(start..).unwrap_or_default().to_owned()
}
