//! `sessile archive`

use clap::Args;
use sessile::operations::{Annotated, Step};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{Line, Screen};

/// Archive a session or one of its branches: hide it without deleting anything
///
/// Lists, searches, pickers and completions leave out archived sessions; `list --archived` and `search --archived` show
/// them. An id, a path, a name or @N still finds an archived session.
///
/// With ENTRY, archives the entry and everything below it: trees show the branch as one line, and `tree --archived`
/// shows it in full. You cannot archive a branch that contains the leaf.
///
/// Archiving appends a mark to the session, a custom entry that pi keeps and does not show to the model, so the
/// conversation continues unchanged in pi. `--clear` or `sessile undo` reverts it. A fork of an archived session is not
/// archived. `@latest` and `--continue` mean the same sessions as in pi; archiving writes to the session, so
/// `--continue` may mean the session that you have just archived.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile archive @2
  $ sessile archive @2 --clear
  $ sessile archive @1 2ce63e94
  $ sessile list --archived")]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The first entry of the branch; if omitted, the whole session is archived
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// Unarchive the session or branch
    #[arg(long)]
    clear: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {dryRun?, changed, change, entryId?, operation?, original?}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ArchiveArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry]) = args.session.with_words([args.entry.as_deref()]);
    let path = env.find(&session)?;
    let session = env.open(&session, err)?;
    let entry = entry.map(|entry| session.find_shown_entry(&entry)).transpose()?;
    drop(session);
    let annotated = env.sessions.archive(path, entry.as_ref(), !args.clear, args.dry_run)?;
    env.report_upgrade(annotated.original.as_deref(), err)?;
    if args.json {
        write_value(out.data(), &answer::annotated(&annotated, args.dry_run))?;
    } else {
        out.print_whole(&Line::new().text(&message(&annotated, args.dry_run)))?;
    }
    Ok(Exit::Done)
}

fn message(annotated: &Annotated, dry_run: bool) -> String {
    let Step::Archive { entry, after, .. } = &annotated.step else { return String::new() };
    let target = entry.as_ref().map_or_else(|| "the session".to_owned(), |entry| format!("the branch at {entry}"));
    let is = if dry_run { "would be" } else { "is" };
    match (annotated.is_change, after) {
        (false, true) => format!("{target} is already archived"),
        (false, false) => format!("{target} is not archived"),
        (true, true) => format!("{target} {is} archived"),
        (true, false) => format!("{target} {is} unarchived"),
    }
}
