//! `sessile export`

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use sessile::SessionError;
use sessile::export::{ExportFormat, ExportOptions};
use sessile::write::StoreError;

use crate::args::SessionArg;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{Line, Screen};

/// Export a session as a session file, Markdown or JSON
///
/// Exports the active branch, or every branch with --all.
///
/// jsonl has the format of pi's /export: a session file with the same id, the time of the export, and the entries in
/// sequence. md is a document to read; no text of the session can act as HTML in it. json is one object of header,
/// entries and leafId.
///
/// Only jsonl keeps the raw bytes of the session. They could control a terminal, so jsonl is never written to a
/// terminal: use -o or a pipe.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The format of the export
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: FormatArg,

    /// Export every branch
    #[arg(long, conflicts_with = "branch")]
    all: bool,

    /// Export the branch that ends at this entry instead of the active one
    #[arg(long, value_name = "LEAF")]
    branch: Option<String>,

    /// Write to this file, which must not exist yet; standard output if omitted or `-`
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Replace the file if it exists; a session file is never replaced
    #[arg(long, requires = "output")]
    force: bool,

    /// Show what would be written without writing anything
    #[arg(long, requires = "output")]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile export @1 --format md
  $ sessile export @4 -o exported.jsonl
  $ sessile export @1 --all --format json
  $ sessile export @1 --branch @leaf~4 --format md -o short.md";

/// What an export looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// A session file, as pi exports one
    #[default]
    Jsonl,
    /// A Markdown document
    Md,
    /// One JSON object
    Json,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ExportArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = env.open(&args.session, err)?;
    let format = match args.format {
        FormatArg::Jsonl => ExportFormat::Jsonl,
        FormatArg::Md => ExportFormat::Markdown,
        FormatArg::Json => ExportFormat::Json,
    };
    let leaf = args.branch.as_deref().map(|leaf| session.find_entry(leaf)).transpose()?;
    let n_entries = match &leaf {
        _ if args.all => session.outline().n_entries(),
        Some(leaf) => session.path_to(leaf)?.len(),
        None => session.path().len(),
    };
    let options = ExportOptions { format, all_branches: args.all, leaf };
    let Some(output) = args.output.as_ref().filter(|output| output.as_os_str() != "-") else {
        if args.format == FormatArg::Jsonl && out.is_terminal() {
            return Err(Failure::RawToTerminal);
        }
        let data = out.data();
        session.export::<Failure>(&options, &mut |bytes| Ok(data.write_all(bytes)?))?;
        return Ok(Exit::Done);
    };
    let path = env.own_environment().current_dir().join(output);
    if !args.dry_run {
        session.export_to(&options, &path, args.force).map_err(|error| match error {
            SessionError::Store(StoreError::Exists { path }) => Failure::OutputExists { path },
            error => error.into(),
        })?;
    }
    let verb = if args.dry_run { "would write" } else { "wrote" };
    let entries = noun(n_entries, "entry", "entries");
    let message = format!("{verb} {n_entries} {entries} to {}", env.short(&path.to_string_lossy()));
    out.print_whole(&Line::new().text(&message))?;
    Ok(Exit::Done)
}
