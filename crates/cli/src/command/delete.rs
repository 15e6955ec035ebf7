//! `sessile delete`

use std::path::PathBuf;

use clap::Args;
use sessile::operations::{Deleted, Deletion};
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::measure::{noun, size_words};
use crate::screen::{DIM, Line, Screen};
use crate::titles::Titles;

/// Move sessions to the trash
///
/// Uses the trash of the desktop, or the program `trash` if there is none. `sessile restore` and `sessile undo` bring
/// the sessions back, and so does the desktop. Forks of a deleted session are complete and not affected.
///
/// On a terminal the command asks for confirmation; elsewhere --yes is required. Exits with 1 if the answer is no.
///
/// A session that another program uses is not deleted (exit 4), unless --force is given. A session is in use if a pi
/// process runs in its directory or was started with it, if another sessile process has it open, or if a program wrote
/// to it in the last two minutes.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile delete @6 --dry-run
  $ sessile delete @5 @6 --yes")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct DeleteArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<PathBuf>,

    /// Delete them permanently; they cannot be restored
    #[arg(long)]
    permanent: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Delete them even if other programs use them
    #[arg(long)]
    force: bool,

    /// Show what would be done without deleting anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {operation?, sessions: [{path, id, size, trashed?, permanent?}]}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &DeleteArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let paths: Result<Vec<PathBuf>, Failure> = args.sessions.iter().map(|it| env.find_session(it)).collect();
    let paths = paths?;
    let sessions = env.sessions_for_removal(args.force);
    let how = if args.permanent { Deletion::Permanent } else { Deletion::ToTrash };
    if !args.dry_run && !args.yes {
        let planned = sessions.delete(&paths, how, true)?;
        print(&Titles::of(env, &paths), &planned, err)?;
        let question = if args.permanent { "Delete permanently?" } else { "Move to the trash?" };
        match input::confirm(question, err)? {
            Some(true) => {}
            Some(false) => {
                err.print_whole(&Line::new().text("nothing was deleted"))?;
                return Ok(Exit::Nothing);
            }
            None => return Err(Failure::Unconfirmed),
        }
    }
    // The titles cannot be read after the deletion.
    let titles = Titles::of(env, &paths);
    let deleted = sessions.delete(&paths, how, args.dry_run)?;
    if args.json {
        write_value(out.data(), &answer::deleted(&deleted))?;
        return Ok(Exit::Done);
    }
    if args.dry_run || args.yes {
        print(&titles, &deleted, out)?;
    }
    let n_sessions = deleted.sessions.len();
    let sessions = if n_sessions == 1 { "1 session".to_owned() } else { format!("{n_sessions} sessions") };
    let words = match (&deleted.operation, args.permanent) {
        (None, true) => format!("{sessions} would be deleted permanently; nothing was changed"),
        (None, false) => format!("{sessions} would be moved to the trash; nothing was changed"),
        (Some(_), true) => format!("{sessions} deleted permanently"),
        (Some(id), false) => {
            let them = noun(n_sessions, "it", "them");
            let program = env.program();
            format!("{sessions} moved to the trash; `{program} undo {id}` brings {them} back")
        }
    };
    out.print_whole(&Line::new().text(&words))?;
    Ok(Exit::Done)
}

fn print(titles: &Titles, deleted: &Deleted, screen: &mut Screen<'_>) -> Result<(), Failure> {
    for session in &deleted.sessions {
        let start = Line::new().right(10, DIM, &size_words(session.size)).text("  ");
        screen.print(titles.put_after(start, &session.session))?;
    }
    Ok(())
}
