//! `sessile man`

use std::io;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_mangen::Man;

use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::manual;
use crate::screen::{Line, Screen};

/// Print the manual page, or write the pages of all commands
///
/// Without --dir, prints the page of sessile itself in the format of man.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to this directory, which is created if necessary
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,

    /// Show what would be written without writing anything
    #[arg(long, requires = "dir")]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile man
  $ sessile man --dir man1";

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ManArgs,
    definition: fn() -> clap::Command,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let Some(dir) = &args.dir else {
        out.data().write_all(&page(definition())?)?;
        return Ok(Exit::Done);
    };
    let dir = env.own_environment().current_dir().join(dir);
    let pages = manual::every_command(definition());
    for command in &pages {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        if !args.dry_run {
            env.sessions.write_document(&dir.join(format!("{name}.1")), &page(command.clone())?)?;
        }
    }
    let verb = if args.dry_run { "would write" } else { "wrote" };
    let message = format!("{verb} {} pages to {}", pages.len(), env.short(&dir.to_string_lossy()));
    out.print_whole(&Line::new().text(&message))?;
    Ok(Exit::Done)
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
