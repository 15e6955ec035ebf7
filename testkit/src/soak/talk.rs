//! A long-living process that answers lines of JSON with lines of JSON.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::oracle::{Lines, NoLine};

/// How long an answer may take. A process is stopped for a few seconds at most, so one that takes longer is stuck.
const DEADLINE: Duration = Duration::from_mins(2);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    Ended,
    Stuck,
}

/// A process, and both ends of its conversation.
pub(super) struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
}

impl Talk {
    /// Starts a process. Its errors go to a file.
    pub(super) fn start(mut command: Command, errors: &std::path::Path) -> std::io::Result<Self> {
        let errors = std::fs::File::options().create(true).append(true).open(errors)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn()?;
        let output = Lines::of(child.stdout.take().unwrap());
        Ok(Self { input: child.stdin.take(), child, output })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a value. A process that has ended is found out when there is no answer.
    pub(super) fn send(&mut self, value: &Value) {
        if let Some(input) = &mut self.input {
            drop(input.write_all(format!("{value}\n").as_bytes()).and_then(|()| input.flush()));
        }
    }

    /// Returns the next value of which `is_answer` is true.
    pub(super) fn wait_for(&self, is_answer: impl Fn(&Value) -> bool) -> Result<Value, Silence> {
        loop {
            match self.output.next(DEADLINE) {
                Ok(line) => {
                    if let Some(value) = serde_json::from_slice(&line).ok().filter(|value| is_answer(value)) {
                        return Ok(value);
                    }
                }
                Err(NoLine::Ended) => return Err(Silence::Ended),
                Err(NoLine::Late) => return Err(Silence::Stuck),
            }
        }
    }

    /// Sends a value and returns the value that answers it.
    pub(super) fn ask(&mut self, value: &Value, is_answer: impl Fn(&Value) -> bool) -> Result<Value, Silence> {
        self.send(value);
        self.wait_for(is_answer)
    }

    /// Closes its input, and waits until it has ended by itself. Returns false if it does not, or with an error.
    pub(super) fn finish(mut self) -> bool {
        drop(self.input.take());
        self.output.wait_for_end(DEADLINE);
        let is_done = self.child.try_wait().is_ok_and(|status| status.is_none_or(|status| status.success()));
        // It has closed its output, so it is about to end.
        self.kill();
        is_done
    }

    pub(super) fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.kill();
    }
}
