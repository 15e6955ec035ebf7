//! Long output for people, through a program that shows it page by page.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use sessile::Environment;

use crate::interrupt;

/// Output that goes to a pager once it is longer than the terminal.
#[derive(Debug)]
pub(crate) struct Pager {
    command: String,
    /// What `less` is told if its user tells it nothing: to leave when all fits, to show colours, and not to clear the screen.
    options: Option<&'static str>,
    /// How many lines fit.
    height: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It may still fit.
    Collecting { text: Vec<u8>, n_lines: usize },
    /// It does not, and somebody pages through it.
    Piping { child: Child, stdin: ChildStdin },
    /// It does not, and there is no pager: this is to be printed as it is.
    Failed { text: Vec<u8> },
}

impl Pager {
    /// None if the user wants none.
    pub(crate) fn new(command: &str, height: usize, environment: &dyn Environment) -> Option<Self> {
        let command = command.trim();
        if command.is_empty() || command == "cat" {
            return None;
        }
        let options = environment.variable("LESS").is_none().then_some("FRX");
        let state = State::Collecting { text: Vec::new(), n_lines: 0 };
        // The prompt takes a line as well.
        Some(Self { command: command.to_owned(), options, height: height.saturating_sub(1), state })
    }

    /// Whether nothing was written yet.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.state, State::Collecting { text, .. } if text.is_empty())
    }

    /// Prints what did not need a pager, or waits until the user has seen enough.
    pub(crate) fn finish(self, writer: &mut dyn Write) -> io::Result<()> {
        match self.state {
            State::Collecting { text, .. } | State::Failed { text } => {
                writer.write_all(&text)?;
                writer.flush()
            }
            State::Piping { mut child, stdin } => {
                drop(stdin);
                // However it ended, it is not for us to judge.
                drop(child.wait());
                Ok(())
            }
        }
    }

    /// Whether the program runs.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Piping { .. })
    }

    fn start(&mut self) {
        let State::Collecting { text, .. } = &mut self.state else { return };
        let text = std::mem::take(text);
        self.state = match spawn(&self.command, self.options) {
            Some((child, mut stdin)) => {
                // The user stops the pager, not us; and one that is left early is no failure here, but at the next write.
                interrupt::outlive();
                drop(stdin.write_all(&text));
                State::Piping { child, stdin }
            }
            None => State::Failed { text },
        };
    }
}

/// Starts a pager, if there is such a program.
fn spawn(command: &str, options: Option<&str>) -> Option<(Child, ChildStdin)> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || " /._+-=".contains(char);
    let mut program = if command.chars().all(is_plain) {
        let mut words = command.split_whitespace();
        let mut program = Command::new(words.next()?);
        program.args(words);
        program
    } else {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        shell
    };
    if let Some(options) = options {
        program.env("LESS", options);
    }
    let mut child = program.stdin(Stdio::piped()).spawn().ok()?;
    let stdin = child.stdin.take()?;
    Some((child, stdin))
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

    /// What reaches the pager and what reaches the terminal, of so many lines on so many.
    fn paged(command: &str, n_lines: usize, height: usize) -> (String, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let command = command.replace("FILE", file.path().to_str().unwrap());
        let mut pager = Pager::new(&command, height, &sessile::System).unwrap();
        for n in 0..n_lines {
            writeln!(pager, "{n}").unwrap();
        }
        let mut printed = Vec::new();
        pager.finish(&mut printed).unwrap();
        let seen = io::read_to_string(file.reopen().unwrap()).unwrap();
        (seen, String::from_utf8(printed).unwrap())
    }

    #[test]
    fn only_what_is_long_is_paged() {
        let three = "0\n1\n2\n".to_owned();
        assert_eq!(paged("cat > FILE", 3, 4), (String::new(), three.clone()));
        assert_eq!(paged("cat > FILE", 3, 3), (three, String::new()));
    }

    #[test]
    fn without_a_pager_everything_is_printed() {
        assert_eq!(paged("/no/such/pager --at-all", 3, 2), (String::new(), "0\n1\n2\n".to_owned()));
        for nothing in ["", "  ", "cat"] {
            assert!(Pager::new(nothing, 10, &sessile::System).is_none());
        }
    }

    #[test]
    fn a_pager_that_is_left_early_is_a_reader_that_is_gone() {
        let mut pager = Pager::new("exit 0 #", 1, &sessile::System).unwrap();
        let line = [b'x'; 4096];
        let gone = (0..1000).find_map(|_| pager.write_all(&line).and_then(|()| pager.write_all(b"\n")).err());
        assert!(gone.is_some_and(|error| crate::is_broken_pipe(&error)));
        pager.finish(&mut Vec::new()).unwrap();
    }
}
