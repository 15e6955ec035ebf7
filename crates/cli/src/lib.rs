//! The command line of Sessile.
//!
//! A thin layer: it parses arguments, calls [`sessile`], and prints. It never reads session files itself. Data goes to
//! standard output, everything else to standard error. Text from a session reaches a terminal only through the `screen`
//! module, which sanitises it.
//!
//! [`run`] takes the arguments, the environment and both streams, so that tests need no process.

mod args;
mod clock;
mod command;
mod completion;
mod data;
#[doc(hidden)]
pub mod definition;
mod facts;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
mod groups;
mod held_output;
mod hits;
mod input;
mod interactive;
mod interrupt;
mod measure;
mod pager;
mod progress;
mod screen;
mod summarizing;
mod surroundings;
mod table;
mod template;
mod titles;
mod transcript;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches};
use sessile::Environment;

use args::{Cli, Color};
use failure::Failure;
use held_output::HeldOutput;
use screen::Screen;

/// A stream to write to, and the properties of its terminal.
pub struct Stream<'s> {
    /// Where bytes go.
    pub writer: &'s mut dyn Write,
    /// The number of columns, if it is a terminal.
    pub terminal_width: Option<usize>,
    /// The number of lines, if it is a terminal that long output should be paged on.
    pub terminal_height: Option<usize>,
    /// Whether to use colour, unless the user chooses otherwise.
    pub takes_color: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded, or found something.
    Done,
    /// Nothing was found; or a check found a problem.
    Nothing,
    /// The arguments are invalid.
    Usage,
    /// Something could not be read or written.
    Error,
    /// Another process is already doing this.
    Busy,
    /// The user interrupted it.
    Interrupted,
    /// A signal ended it.
    Signalled(i32),
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Nothing => 1,
            Self::Usage => 2,
            Self::Error => 3,
            Self::Busy => 4,
            Self::Interrupted => 130,
            // The code that shells use for a process ended by a signal.
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Runs one command line, including the program name, and returns how it ended.
#[expect(clippy::needless_pass_by_value, reason = "the caller no longer needs it")]
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    environment: Arc<dyn Environment>,
    out: Stream<'_>,
    err: Stream<'_>,
) -> Exit {
    let args = args::with_mode(args.into_iter().collect());
    let color = args::requested_color(&args);
    let Stream { writer, terminal_width, terminal_height, takes_color } = out;
    let mut held = HeldOutput::new(writer);
    let columns = environment.variable("COLUMNS");
    let mut err = Screen::new(err, color);
    err.set_columns(columns.as_deref());
    let mut attempt = |held: &mut HeldOutput<'_>, is_last: bool| {
        let has_written = held.begin();
        let mut out = Screen::new(Stream { writer: held, terminal_width, terminal_height, takes_color }, color);
        out.set_columns(columns.as_deref());
        let result = parse(args.clone(), color)
            .and_then(|(cli, words)| {
                let environment = Arc::clone(&environment);
                command::run(&cli, environment, &mut out, &mut err).map_err(|failure| failure.of_command(&words))
            })
            .and_then(|exit| Ok(out.flush().map(|()| exit)?));
        let can_be_discarded = !has_written.get() && !out.is_paging();
        if !is_last && can_be_discarded && result.as_ref().is_err_and(Failure::is_stale) {
            return None;
        }
        // In every case the output is shown first, and the pager is waited for.
        let finished = out.finish();
        Some(match result.and_then(|exit| Ok(finished.map(|()| exit)?)) {
            Ok(exit) => exit,
            Err(failure) => {
                let exit = failure.exit();
                // If standard error is closed, the message has no reader.
                drop(failure.report(&mut out, &mut err));
                exit
            }
        })
    };
    // Cached data of a session may turn out to be stale in the middle of an answer. In that case it is dropped, and
    // the answer is produced again from the session itself, unless a part of it has already been written.
    attempt(&mut held, false).or_else(|| attempt(&mut held, true)).unwrap_or(Exit::Error)
}

/// Returns the parsed arguments, and the words of their command.
fn parse(args: Vec<OsString>, color: Color) -> Result<(Cli, Vec<String>), Failure> {
    let choice = match color {
        Color::Auto => clap::ColorChoice::Auto,
        Color::Always => clap::ColorChoice::Always,
        Color::Never => clap::ColorChoice::Never,
    };
    let matches = Cli::command().color(choice).try_get_matches_from(args)?;
    let subcommands = std::iter::successors(matches.subcommand(), |(_, matches)| matches.subcommand());
    let words = subcommands.map(|(word, _)| word.to_owned()).collect();
    Ok((Cli::from_arg_matches(&matches)?, words))
}

/// Returns standard output without line buffering, which costs more than the writes themselves.
#[cfg(unix)]
pub fn plain_stdout() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(std::fs::File::from(descriptor)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// Returns standard output.
#[cfg(not(unix))]
pub fn plain_stdout() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// Whether the reader of our output has closed it, which is not a failure.
fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
