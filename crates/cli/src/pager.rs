//! Long output for people, shown through a pager.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use sessile::Environment;

use crate::interrupt;

/// Output that goes to a pager once it is longer than the terminal.
#[derive(Debug)]
pub(crate) struct Pager {
    command: String,
    /// The default options of `less`, if the user sets none: quit if all fits, show colours, and do not clear the
    /// screen.
    options: Option<&'static str>,
    /// The number of lines that fit.
    height: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The output may still fit.
    Collecting { text: Vec<u8>, n_lines: usize },
    /// The output does not fit, and a pager shows it.
    Piping { child: Child, stdin: ChildStdin },
    /// The output does not fit, but no pager could be started: the text is printed directly.
    Failed { text: Vec<u8> },
}

impl Pager {
    /// Returns `None` if the user wants no pager.
    pub(crate) fn new(command: &str, height: usize, environment: &dyn Environment) -> Option<Self> {
        let command = command.trim();
        if command.is_empty() || command == "cat" {
            return None;
        }
        let options = environment.variable("LESS").is_none().then_some("FRX");
        let state = State::Collecting { text: Vec::new(), n_lines: 0 };
        // The shell prompt takes a line as well.
        Some(Self { command: command.to_owned(), options, height: height.saturating_sub(1), state })
    }

    /// Whether nothing was written yet.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.state, State::Collecting { text, .. } if text.is_empty())
    }

    /// Prints output that fits, or waits until the user leaves the pager.
    pub(crate) fn finish(self, writer: &mut dyn Write) -> io::Result<()> {
        match self.state {
            State::Collecting { text, .. } | State::Failed { text } => {
                writer.write_all(&text)?;
                writer.flush()
            }
            State::Piping { mut child, stdin } => {
                drop(stdin);
                // The pager's exit status does not matter.
                drop(child.wait());
                Ok(())
            }
        }
    }

    /// Whether the pager runs.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Piping { .. })
    }

    fn start(&mut self) {
        let State::Collecting { text, .. } = &mut self.state else { return };
        let text = std::mem::take(text);
        self.state = match spawn(&self.command, self.options) {
            Some((child, mut stdin)) => {
                // Ctrl-C is for the pager. If the user leaves it early, the next write fails, not this one.
                interrupt::ignore_interrupts();
                drop(stdin.write_all(&text));
                State::Piping { child, stdin }
            }
            None => State::Failed { text },
        };
    }
}

/// Starts the pager, if the program exists.
fn spawn(command: &str, options: Option<&str>) -> Option<(Child, ChildStdin)> {
    let plain = if cfg!(windows) { r" /\:._+-=" } else { " /._+-=" };
    let is_plain = |char: char| char.is_ascii_alphanumeric() || plain.contains(char);
    let mut program = if command.chars().all(is_plain) {
        let mut words = command.split_whitespace();
        let mut program = Command::new(words.next()?);
        program.args(words);
        program
    } else {
        shell(command)
    };
    if let Some(options) = options {
        program.env("LESS", options);
    }
    let mut child = program.stdin(Stdio::piped()).spawn().ok()?;
    let stdin = child.stdin.take()?;
    Some((child, stdin))
}

#[cfg(not(windows))]
fn shell(line: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]);
    shell
}

#[cfg(windows)]
fn shell(line: &str) -> Command {
    use std::os::windows::process::CommandExt;
    let mut shell = Command::new("cmd");
    shell.args(["/D", "/S", "/C"]).raw_arg(format!("\"{line}\""));
    shell
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Piping { stdin, .. } => return stdin.write(bytes),
            State::Failed { text } => text.extend_from_slice(bytes),
            State::Collecting { text, n_lines } => {
                text.extend_from_slice(bytes);
                *n_lines += bytes.split(|byte| *byte == b'\n').count() - 1;
                if *n_lines > self.height {
                    self.start();
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Piping { stdin, .. } => stdin.flush(),
            State::Collecting { .. } | State::Failed { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what reaches the pager and what reaches the terminal, for `n_lines` lines on a terminal of `height`
    /// lines.
    #[expect(clippy::disallowed_methods, reason = "the file is not a session")]
    fn paged(command: &str, n_lines: usize, height: usize) -> (String, String) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("paged");
        let command = command.replace("FILE", file.to_str().unwrap());
        let mut pager = Pager::new(&command, height, &sessile::System).unwrap();
        for n in 0..n_lines {
            writeln!(pager, "{n}").unwrap();
        }
        let mut printed = Vec::new();
        pager.finish(&mut printed).unwrap();
        let paged_text = std::fs::read_to_string(file).unwrap_or_default();
        (paged_text, String::from_utf8(printed).unwrap())
    }

    #[test]
    fn only_long_output_is_paged() {
        let three = "0\n1\n2\n".to_owned();
        // Windows has no `cat`.
        let (pager, shown) = if cfg!(windows) { ("echo 012> FILE", "012\r\n") } else { ("cat > FILE", three.as_str()) };
        assert_eq!(paged(pager, 3, 4), (String::new(), three.clone()));
        assert_eq!(paged(pager, 3, 3), (shown.to_owned(), String::new()));
    }

    #[test]
    fn without_a_pager_everything_is_printed() {
        assert_eq!(paged("/no/such/pager --at-all", 3, 2), (String::new(), "0\n1\n2\n".to_owned()));
        for disabled in ["", "  ", "cat"] {
            assert!(Pager::new(disabled, 10, &sessile::System).is_none());
        }
    }

    #[test]
    fn leaving_the_pager_early_is_a_broken_pipe() {
        let mut pager = Pager::new("(exit 0)", 1, &sessile::System).unwrap();
        let line = [b'x'; 4096];
        let error = (0..1000).find_map(|_| pager.write_all(&line).and_then(|()| pager.write_all(b"\n")).err());
        assert!(error.is_some_and(|error| crate::stream::is_broken_pipe(&error)));
        pager.finish(&mut Vec::new()).unwrap();
    }
}
