//! `sessile restore`

use clap::Args;
use sessile_rpc::answer;

use crate::data::{ListFormat, ListWriter, write_value};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{DIM, Line, Screen};
use crate::table::age;
use crate::titles::Titles;

/// Restore a deleted session from the trash
///
/// Restores the session to its old path, and never overwrites a file that exists there now. Works only for sessions
/// that Sessile has deleted or pruned and that are still in the trash. With --list, exits with 1 if there are none.
///
/// With --json, a restored session is an object {path, id, operation?}, and the list an array.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile restore --list
  $ sessile restore 019a73 --dry-run")]
pub(crate) struct RestoreArgs {
    /// The session: its id or the beginning of it, its old path, or its file name
    #[arg(value_name = "DELETED", required_unless_present = "list")]
    session: Option<String>,

    /// List the sessions that can be restored, last deleted first
    #[arg(long, conflicts_with = "session")]
    list: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &RestoreArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let Some(reference) = &args.session else { return list(env, args, out, err) };
    let (restored, operation) = env.sessions.restore(reference, args.dry_run)?;
    if args.format.layout().is_some() {
        write_value(out.data(), &answer::restored(&restored, operation.as_deref()))?;
        return Ok(Exit::Done);
    }
    let path = env.short(&restored.session.path.to_string_lossy());
    let words = if args.dry_run { "would be restored" } else { "restored" };
    let file = if args.dry_run { &restored.slot.file } else { &restored.session.path };
    let titles = Titles::of_files(env, [(&restored.session, file.as_path())]);
    out.print(titles.put_after(Line::new(), &restored.session))?;
    out.print_whole(&Line::new().text(&format!("{path} {words}")))?;
    Ok(Exit::Done)
}

fn list(
    env: &CommandEnvironment,
    args: &RestoreArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let in_trash = env.sessions.in_trash()?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        in_trash.iter().try_for_each(|trashed| list.push(answer::in_trash(trashed).raw()))?;
        list.finish()?;
    } else {
        let now = env.now();
        let titles =
            Titles::of_files(env, in_trash.iter().map(|trashed| (&trashed.session, trashed.slot.file.as_path())));
        for trashed in &in_trash {
            let start = Line::new().right(5, DIM, &age(now, trashed.time)).text("  ");
            out.print(titles.put_after(start, &trashed.session))?;
        }
        if in_trash.is_empty() {
            err.print_whole(&Line::new().text("the trash contains no sessions deleted by Sessile"))?;
        }
    }
    Ok(if in_trash.is_empty() { Exit::Nothing } else { Exit::Done })
}
