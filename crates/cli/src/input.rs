//! Standard input: a text, or an answer.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use sessile::{SessionError, threads};

use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::screen::{Line, Screen};

/// Returns the text given as an argument, else all of standard input without its last line end.
///
/// A blank text is refused: it usually comes from a failed command before a pipe, or from an unset variable.
pub(crate) fn text(argument: Option<&str>, input_name: &'static str) -> Result<String, Failure> {
    let text = argument.map_or_else(|| read(input_name), |argument| Ok(argument.to_owned()))?;
    if text.trim().is_empty() { Err(Failure::Blank { input_name }) } else { Ok(text) }
}

fn read(input_name: &'static str) -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::NoInput { input_name });
    }
    let mut text = String::new();
    stdin.lock().read_to_string(&mut text).map_err(Failure::Input)?;
    let end = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    Ok(end.unwrap_or(&text).to_owned())
}

/// How long Ctrl-C may go unnoticed.
const INTERRUPT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Asks a question; only `y` means yes. Returns `None` if the input or output is not a terminal.
pub(crate) fn confirm(question: &str, err: &mut Screen<'_>) -> Result<Option<bool>, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() || !err.is_terminal() {
        return Ok(None);
    }
    let cancel = on_interrupt()?;
    err.ask(&Line::new().text(question).text(" [y/N] "))?;
    let (sender, receiver) = mpsc::channel();
    // Ctrl-C does not interrupt a read, so another thread reads. It is abandoned if the answer is no longer wanted.
    let read = move || {
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        drop(sender.send(read.map(|_| answer)));
    };
    threads::spawn_or_run("answer", read);
    loop {
        match receiver.recv_timeout(INTERRUPT_POLL_INTERVAL) {
            Ok(answer) => return Ok(Some(matches!(answer.map_err(Failure::Input)?.trim(), "y" | "Y" | "yes"))),
            Err(_) if cancel.is_cancelled() => {
                err.blank()?;
                return Err(SessionError::Cancelled.into());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}
