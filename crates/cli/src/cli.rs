//! The whole command line: the options, the command, and how they are parsed and run.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};
use sessile::Environment;

use crate::args::GlobalArgs;
use crate::command::{self, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::pi_flags;
use crate::screen::{Color, Screen};
use crate::version::VersionArgs;

/// Read, inspect and repair coding agent sessions
///
/// Sessile reads the session files of the pi coding agent: append-only trees of messages, tool calls and summaries.
///
/// Commands that change something say so, and most have --dry-run; you can undo most changes.
///
/// Without a command, Sessile opens a picker with the sessions of this directory. If the output is not a terminal, it
/// lists these sessions, or shows a made-up store if there are none.
#[derive(Debug, Parser)]
#[command(name = "sessile", version, disable_version_flag = true, disable_help_subcommand = true, max_term_width = 100)]
#[command(
    after_help = "`sessile help concepts` explains the terms, `sessile help environment` the environment variables.\n\nExit codes: 0 success, 1 nothing found (verify, diff and index check: something found), 2 usage error, 3 error, 4 busy, 130 interrupted"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    globals: GlobalArgs,

    #[command(flatten)]
    version: VersionArgs,

    #[command(subcommand)]
    command: Option<Command>,
}

impl Cli {
    /// Returns the whole definition, with the global options copied into each command.
    pub(crate) fn definition() -> clap::Command {
        let mut definition = Self::command();
        definition.build();
        definition
    }

    /// Parses the arguments and runs the command that they select.
    pub(crate) fn run(
        args: Vec<OsString>,
        color: Color,
        environment: &Arc<dyn Environment>,
        out: &mut Screen<'_>,
        err: &mut Screen<'_>,
    ) -> Result<Exit, Failure> {
        let args = pi_flags::translated(args, &Self::rpc_takes_value)
            .map_err(|failure| with_usage(failure, &["rpc".to_owned()]))?;
        let (Self { globals, version, command }, words) = Self::parse_with_words(args, color)?;
        if version.version {
            return crate::version::run(&version, out);
        }
        let environment = Arc::clone(environment);
        command::run(&globals, command.as_ref(), Self::definition, environment, out, err)
            .map_err(|failure| with_usage(failure, &words))
    }

    /// Whether a flag of the `rpc` command takes the next word as its value; none if there is no such flag.
    fn rpc_takes_value(flag: &str) -> Option<bool> {
        let definition = Self::definition();
        let rpc = definition.find_subcommand("rpc")?;
        let arg = rpc.get_arguments().find(|arg| arg.get_long() == flag.strip_prefix("--"))?;
        Some(arg.get_action().takes_values() && !arg.is_require_equals_set())
    }

    /// Returns the parsed arguments, and the words of their command.
    fn parse_with_words(args: Vec<OsString>, color: Color) -> Result<(Self, Vec<String>), Failure> {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        let matches = Self::command().color(choice).try_get_matches_from(args)?;
        let subcommands = std::iter::successors(matches.subcommand(), |(_, matches)| matches.subcommand());
        let words = subcommands.map(|(word, _)| word.to_owned()).collect();
        Ok((Self::from_arg_matches(&matches)?, words))
    }
}

/// Adds the usage of the command, if the failure is about its arguments.
fn with_usage(failure: Failure, words: &[String]) -> Failure {
    let Failure::Misuse { kind, message } = failure else { return failure };
    let mut command = Cli::definition();
    for word in words {
        command = command.find_subcommand(word).cloned().unwrap_or(command);
    }
    Failure::Usage(command.error(kind, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
