//! Child processes, with errors that say which command failed and how.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::{Failure, TaskResult};

/// A command to run to its end.
#[derive(Debug)]
pub(crate) struct Task(Command);

/// Creates a task for any program.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Task {
    Task(Command::new(name))
}

/// Creates a task for the cargo that started us, in `dir`.
pub(crate) fn cargo(dir: &Path) -> Task {
    program(cargo_program()).dir(dir)
}

/// Returns the cargo that started us.
pub(crate) fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

impl Task {
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.0.current_dir(dir);
        self
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    /// Runs it with our own standard streams, so that its output is visible at once.
    pub(crate) fn run(mut self) -> TaskResult {
        let status = self.0.status().map_err(|error| self.cannot_start(&error))?;
        self.check(status)
    }

    /// Replaces this process with it where the system supports that, so that killing us kills it. Elsewhere like
    /// [`run`](Self::run).
    pub(crate) fn exec(mut self) -> TaskResult {
        #[cfg(unix)]
        {
            let error = std::os::unix::process::CommandExt::exec(&mut self.0);
            Err(self.cannot_start(&error))
        }
        #[cfg(not(unix))]
        self.run()
    }

    /// Runs it and returns its trimmed standard output; its errors go to ours.
    pub(crate) fn output(mut self) -> TaskResult<String> {
        let output = self.0.stderr(Stdio::inherit()).output().map_err(|error| self.cannot_start(&error))?;
        self.check(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs it and returns whether it succeeded, and its standard error as text.
    pub(crate) fn capture_errors(mut self) -> TaskResult<(bool, String)> {
        let output = self.0.stdout(Stdio::null()).output().map_err(|error| self.cannot_start(&error))?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Runs it and returns whether it succeeded, and all its output, standard output first.
    pub(crate) fn capture(mut self) -> TaskResult<(bool, String)> {
        let output = self.0.stdin(Stdio::null()).output().map_err(|error| self.cannot_start(&error))?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok((output.status.success(), text))
    }

    /// Returns the trimmed output, or `None` if the program is missing or fails. Prints nothing.
    pub(crate) fn probe(mut self) -> Option<String> {
        let output = self.0.stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs it silently for at most `limit`; returns whether it succeeded in time.
    pub(crate) fn succeeds_within(mut self, limit: Duration) -> bool {
        self.0.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = self.0.spawn() else { return false };
        let end = Instant::now() + limit;
        while Instant::now() < end {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Err(_) => break,
            }
        }
        // It may have ended in between; either way nothing is left to do.
        child.kill().ok();
        child.wait().ok();
        false
    }

    fn check(&self, status: ExitStatus) -> TaskResult {
        if status.success() {
            return Ok(());
        }
        Err(Failure(format!("`{}` failed ({status})", self.line())))
    }

    fn cannot_start(&self, error: &std::io::Error) -> Failure {
        Failure(format!("cannot start `{}`: {error}", self.line()))
    }

    /// Returns the command as typed, without the program's folder.
    pub(crate) fn line(&self) -> String {
        let name = Path::new(self.0.get_program()).file_name().unwrap_or(self.0.get_program());
        let words = std::iter::once(name).chain(self.0.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let Failure(message) = program("/nowhere/no-such-program").args(["--flag"]).run().unwrap_err();
        assert!(message.starts_with("cannot start `no-such-program --flag`: "), "{message}");
        assert_eq!(program("/nowhere/no-such-program").probe(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_program_reports_its_status() {
        let Failure(message) = program("sh").args(["-c", "exit 3"]).run().unwrap_err();
        assert_eq!(message, "`sh -c exit 3` failed (exit status: 3)");
        assert_eq!(program("sh").args(["-c", "echo yes"]).output().unwrap(), "yes");
        assert_eq!(program("sh").args(["-c", "echo no >&2; exit 1"]).capture_errors().unwrap(), (false, "no\n".into()));
    }

    #[cfg(unix)]
    #[test]
    fn a_slow_program_times_out() {
        assert!(program("sleep").args(["0"]).succeeds_within(Duration::from_secs(30)));
        assert!(!program("sleep").args(["30"]).succeeds_within(Duration::from_millis(50)));
    }
}
