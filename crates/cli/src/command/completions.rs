//! `sessile completions`

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Print a completion script for a shell
///
/// For bash, zsh and fish it also completes session names and ids, entry labels and setting names.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  $ sessile completions bash\n  $ sessile completions fish")]
pub(crate) struct CompletionsArgs {
    /// The shell to print it for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(
    args: &CompletionsArgs,
    definition: fn() -> clap::Command,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match args.shell {
        Shell::Bash => out.data().write_all(include_bytes!("../completion/sessile.bash"))?,
        Shell::Zsh => out.data().write_all(include_bytes!("../completion/sessile.zsh"))?,
        Shell::Fish => out.data().write_all(include_bytes!("../completion/sessile.fish"))?,
        // Static completion is better than none.
        shell => {
            // Written to memory first, because the generator panics on a write error.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut definition(), "sessile", &mut script);
            out.data().write_all(&script)?;
        }
    }
    Ok(Exit::Done)
}
