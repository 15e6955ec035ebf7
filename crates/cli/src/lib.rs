//! The command line of Sessile.
//!
//! A thin layer: it parses arguments, calls [`sessile`], and prints. It never reads session files itself. Data goes to
//! standard output, everything else to standard error. Text from a session reaches a terminal only through the `screen`
//! module, which sanitises it.
//!
//! [`run`] takes the arguments, the environment and both streams, so that tests need no process.

mod args;
mod authors;
mod cli;
mod clock;
mod command;
mod completion;
mod data;
#[doc(hidden)]
pub mod definition;
mod end_signal;
mod environment;
mod exit;
mod facts;
mod failure;
mod groups;
mod held_output;
mod hits;
mod input;
mod interactive;
mod interrupt;
mod manual;
mod measure;
mod memory;
mod pager;
mod pi_flags;
mod progress;
#[cfg(feature = "remote")]
mod remote;
mod screen;
mod span;
mod stream;
mod summarizing;
mod table;
mod template;
mod titles;
mod titling;
mod transcript;
mod version;

use std::ffi::OsString;
use std::sync::Arc;

use sessile::Environment;

use cli::Cli;
use failure::Failure;
use held_output::HeldOutput;
use screen::Screen;

pub use exit::Exit;
pub use stream::{Stream, plain_stdout};

/// Runs one command line, including the program name, and returns how it ended.
#[expect(clippy::needless_pass_by_value, reason = "the caller no longer needs it")]
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    environment: Arc<dyn Environment>,
    out: Stream<'_>,
    err: Stream<'_>,
) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let args = command::with_mark_for_pi(&args).unwrap_or(args);
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
        let result = Cli::run(args.clone(), color, &environment, &mut out, &mut err)
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
