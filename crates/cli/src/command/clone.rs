//! `sessile clone`

use clap::Args;
use sessile::operations::OperationKind;

use super::fork::{forked, report};
use crate::args::SessionArg;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Copy the active branch of a session into a new session
///
/// The new session contains the path to the leaf, byte for byte, and names the original as its parent. To copy all
/// branches, use `sessile new --fork`.
///
/// Prints only the path of the new session on standard output. Use that path: lists sort by the last message, so a
/// clone is seldom @latest.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile clone @1
  $ sessile clone @1 --json")]
pub(crate) struct CloneArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Show what would be done without writing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {path, id, parentSession}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &CloneArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find(&args.session)?;
    let leaf = env.open(&args.session, err)?.leaf_id().ok_or(sessile::SessionError::NoLeaf)?;
    let sessions = if args.dry_run { env.dry_sessions() } else { env.sessions.clone() };
    let sessions = sessions.recording_new_files_as(OperationKind::Clone);
    let (mut session, cloned) = forked(sessions, &path, &leaf, sessile::branch::ForkPosition::At)?;
    report(&mut session, &cloned, (args.dry_run, args.json), out, err)
}
