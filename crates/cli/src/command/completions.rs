//! `sessile completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Exit;
use crate::args::Cli;
use crate::failure::Failure;
use crate::screen::Screen;

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to print it for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    // Made in memory: the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sessile", &mut script);
    out.data().write_all(&script)?;
    Ok(Exit::Done)
}
