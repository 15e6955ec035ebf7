//! `sessile import`

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory};

use crate::Exit;
use crate::args::{Cli, ListFormat};
use crate::data::ListWriter;
use crate::failure::Failure;
use crate::screen::{Line, Screen};
use crate::surroundings::Surroundings;

/// Take in session files from elsewhere
///
/// Copies each file, byte for byte, to where the sessions of its working directory are. A session whose id is in the
/// store already is refused, and then nothing is copied. Prints the path of each copy.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile import backup.jsonl
  $ sessile import --cwd . backup.jsonl --dry-run")]
pub(crate) struct ImportArgs {
    /// The session files; standard input is none, because a copy keeps its file's name
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Put them with the sessions of DIR, whatever their headers say
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Tell what would be done, and copy nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &ImportArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(stream) =
        args.files.iter().find(|file| [Path::new("-"), Path::new("/dev/stdin")].contains(&file.as_path()))
    {
        let what =
            format!("{} is no file; save it as NAME.jsonl first, because the copy keeps the name", stream.display());
        return Err(Cli::command().error(ErrorKind::ValueValidation, what).into());
    }
    let files: Vec<PathBuf> = args.files.iter().map(|file| surroundings.directory(Some(file))).collect();
    let cwd = args.cwd.as_ref().map(|cwd| surroundings.directory(Some(cwd)));
    let session_dir = surroundings.session_dir();
    let imports = surroundings.sessions.import(&files, cwd.as_deref(), session_dir.as_deref(), args.dry_run)?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        imports.iter().try_for_each(|import| list.push(import.to_json().raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    for import in &imports {
        out.print_whole(&Line::new().text(&import.path.to_string_lossy()))?;
    }
    let verb = if args.dry_run { "would be copied" } else { "copied" };
    let sessions = if imports.len() == 1 { "session" } else { "sessions" };
    err.print_whole(&Line::new().text(&format!("{} {sessions} {verb}", imports.len())))?;
    Ok(Exit::Done)
}
