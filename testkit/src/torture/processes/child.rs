//! Child processes, and what they report as acknowledged.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Bench;
use crate::oracle::node_command;

/// How long a child may take to print a line.
const LINE_TIMEOUT: Duration = Duration::from_mins(1);

/// A running child whose standard output is read as it arrives.
///
/// An acknowledgement counts once its line has arrived; a line without a newline was cut by a kill and does not count.
/// Lines that start with `!` are errors.
pub(super) struct ChildProcess {
    child: Child,
    lines: Arc<SharedLines>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct SharedLines {
    lines: Mutex<Vec<String>>,
    changed: Condvar,
}

/// The whole output of a child.
#[derive(Debug, Default)]
pub(super) struct ChildOutput {
    pub(super) acknowledged: Vec<String>,
    pub(super) errors: Vec<String>,
}

impl ChildOutput {
    fn of(lines: Vec<String>) -> Self {
        let (errors, acknowledged) = lines.into_iter().partition(|line| line.starts_with('!'));
        Self { acknowledged, errors }
    }
}

impl ChildProcess {
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let lines = Arc::new(SharedLines::default());
        let shared = Arc::clone(&lines);
        let read = move || {
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|n_read| n_read > 0) {
                if line.ends_with('\n') {
                    shared.lines.lock().unwrap().push(line.trim_end().to_owned());
                    shared.changed.notify_all();
                }
                line.clear();
            }
        };
        Self { child, lines, reader: Some(std::thread::spawn(read)) }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the child has printed `n_lines` lines. Returns false if it has ended or is too slow.
    pub(super) fn wait_for(&self, n_lines: usize) -> bool {
        let reader = self.reader.as_ref();
        let mut lines = self.lines.lines.lock().unwrap();
        let mut waited = Duration::ZERO;
        while lines.len() < n_lines && waited < LINE_TIMEOUT && reader.is_some_and(|reader| !reader.is_finished()) {
            let step = Duration::from_millis(20);
            lines = self.lines.changed.wait_timeout(lines, step).unwrap().0;
            waited += step;
        }
        lines.len() >= n_lines
    }

    /// Returns the output so far.
    pub(super) fn lines_so_far(&self) -> Vec<String> {
        self.lines.lines.lock().unwrap().clone()
    }

    pub(super) fn kill(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
    }

    /// Kills it, and returns its output.
    pub(super) fn end(mut self) -> ChildOutput {
        self.kill();
        self.finish()
    }

    /// Waits until it has ended, and returns its output.
    pub(super) fn finish(mut self) -> ChildOutput {
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        ChildOutput::of(self.lines_so_far())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.reader.is_some() {
            self.kill();
            drop(self.child.wait());
        }
    }
}

impl Bench {
    /// Returns the command for a role that this program runs, with the planted bug if there is one.
    pub(super) fn role(&self, name: &str, args: &[&dyn AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.program);
        let plant = self.plan.plant.map_or_else(|| "-".to_owned(), |bug| format!("{bug:?}"));
        command.args(["part", &plant, name]).args(args.iter().map(AsRef::as_ref));
        command
    }

    /// Returns the `sessile` program and its first arguments: this program's own copy, which may have a planted bug, or
    /// another one.
    pub(super) fn command_line(&self) -> (PathBuf, Vec<OsString>) {
        if let Some(sessile) = &self.plan.sessile {
            return (sessile.clone(), Vec::new());
        }
        let command = self.role("sessile", &[]);
        (self.program.clone(), command.get_args().map(OsStr::to_os_string).collect())
    }
}

/// Returns the command for a Node script, which stands for programs that know nothing of Sessile.
pub(super) fn script(text: &str, args: &[&dyn AsRef<OsStr>]) -> Command {
    let mut command = node_command();
    command.args(["--input-type=module", "-e", text, "--"]).args(args.iter().map(AsRef::as_ref));
    command
}

/// Runs a tool to its end; its standard error is the error.
pub(super) fn tool(name: &str, args: &[&dyn AsRef<OsStr>]) -> Result<(), String> {
    let output = Command::new(name).args(args.iter().map(AsRef::as_ref)).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{name} cannot be started: {error}")),
    }
}
