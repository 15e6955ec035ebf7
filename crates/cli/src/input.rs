//! What a command reads from standard input: a text, or an answer.

use std::io::{self, BufRead, IsTerminal, Read};

use crate::failure::Failure;
use crate::screen::{Line, Screen};

/// A text that was given as an argument, or else all of standard input without its last line end.
pub(crate) fn text(given: Option<&str>, what: &'static str) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::NoInput { what });
    }
    let mut text = String::new();
    stdin.lock().read_to_string(&mut text).map_err(Failure::Input)?;
    let end = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    Ok(end.unwrap_or(&text).to_owned())
}

/// Asks a question that is answered by `y` or anything else. Where nobody can answer, none.
pub(crate) fn confirm(question: &str, err: &mut Screen<'_>) -> Result<Option<bool>, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() || !err.is_terminal() {
        return Ok(None);
    }
    err.ask(&Line::new().text(question).text(" [y/N] "))?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).map_err(Failure::Input)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}
