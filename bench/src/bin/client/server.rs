//! A program that speaks JSON lines.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use super::wrong;

pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub(super) fn start(program: &[&str]) -> io::Result<Self> {
        let (name, args) = program.split_first().ok_or_else(|| wrong(super::USAGE))?;
        let mut child = Command::new(name).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or_else(|| wrong("no standard output"))?;
        Ok(Self { input: child.stdin.take(), child, output: BufReader::with_capacity(1 << 18, output) })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.as_mut().ok_or_else(|| wrong("the input is gone"))?.write_all(bytes)
    }

    pub(super) fn take_input(&mut self) -> io::Result<ChildStdin> {
        self.input.take().ok_or_else(|| wrong("the input is gone"))
    }

    /// Returns the next answer, skipping other records.
    pub(super) fn record(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let mut line = Vec::new();
            if self.output.read_until(b'\n', &mut line)? == 0 {
                return Err(wrong("the server ended before it answered"));
            }
            // Both servers start an answer with the id that was sent; `cat` returns it as well.
            if line.starts_with(b"{\"id\":") {
                return Ok(line);
            }
        }
    }

    fn pid(&self) -> io::Result<Pid> {
        i32::try_from(self.child.id()).map(Pid::from_raw).map_err(io::Error::other)
    }

    /// Returns the processor time of the whole program so far, in milliseconds.
    pub(super) fn processor_ms(&self) -> io::Result<f64> {
        let used = clock_gettime(clock_getcpuclockid(self.pid()?)?)?;
        let seconds = std::time::Duration::from(used).as_secs_f64();
        Ok(seconds * 1e3)
    }

    /// Closes its input, waits for its end, and returns its peak memory in kilobytes.
    pub(super) fn finish(mut self) -> io::Result<i64> {
        drop(self.input.take());
        // Further output is discarded, but must not block the server.
        io::copy(&mut self.output, &mut io::sink())?;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(wrong(format!("the server failed: {status}")));
        }
        Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss())
    }

    /// Ends a program that waits for clients, not for its input.
    pub(super) fn terminate(mut self) -> io::Result<i64> {
        kill(self.pid()?, Signal::SIGTERM)?;
        self.child.wait()?;
        Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss())
    }
}
