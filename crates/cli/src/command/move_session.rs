//! `sessile move`

use std::path::PathBuf;

use clap::Args;
use sessile::operations::Moved;
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{DIM, Line, Screen};

/// Move sessions to another working directory, for example after a project has moved
///
/// The header of each session gets the new directory, and its file moves to that directory's sessions; no other byte
/// changes. The original stays in the old place as NAME.jsonl.orig-TIME. `sessile undo` moves the sessions back.
///
/// A session that another program uses is not moved (exit 4), unless --force is given; `sessile delete --help` explains
/// what counts as use. Exits with 1 if there is nothing to move.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile move --from /home/u/src/tidepool --to /home/u/src/tides --dry-run
  $ sessile move @2 --to /home/u/src/tides")]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Move all sessions of this directory and its subdirectories
    #[arg(long, value_name = "DIR", conflicts_with_all = ["session", "chosen", "continue"])]
    from: Option<PathBuf>,

    /// The new working directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Move them even if other programs use them
    #[arg(long)]
    force: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {operation?, sessions: [{path, to, id, cwdBefore, cwdAfter, original?}]}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &MoveArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let to = env.directory(Some(&args.to));
    let sessions = env.sessions_for_removal(args.force);
    let moved = match &args.from {
        None => sessions.move_session(env.find(&args.session)?, &to, args.dry_run)?,
        Some(from) => sessions.move_directory(env.directory(Some(from)), &to, args.dry_run)?,
    };
    if args.json {
        write_value(out.data(), &answer::moved(&moved))?;
    } else {
        print(env, &moved, out, err)?;
        if !moved.sessions.is_empty() && !to.is_dir() {
            warn(err, &format!("{} does not exist", to.display()))?;
        }
    }
    Ok(if moved.sessions.is_empty() { Exit::Nothing } else { Exit::Done })
}

fn print(env: &CommandEnvironment, moved: &Moved, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<(), Failure> {
    if moved.sessions.is_empty() {
        return Ok(err.print_whole(&Line::new().text("nothing to move"))?);
    }
    for session in &moved.sessions {
        let name = session.session.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (from, to) = (env.short(&session.cwd_before), env.short(&session.cwd_after.to_string_lossy()));
        out.print_whole(&Line::new().styled(DIM, &name).text(&format!("  {from} → {to}")))?;
    }
    let sessions = match moved.sessions.len() {
        1 => "1 session".to_owned(),
        number => format!("{number} sessions"),
    };
    let words = match &moved.operation {
        Some(id) => format!("{sessions} moved; `{} undo {id}` reverts this", env.program()),
        None => format!("{sessions} would be moved; nothing was changed"),
    };
    Ok(out.print_whole(&Line::new().text(&words))?)
}
