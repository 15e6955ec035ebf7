//! `sessile share`

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use sessile::sync::ConfiguredRemote;
use sessile::sync::remote::{May, SessionNo, Team};

use super::remote::print_shares;
use crate::data::ListFormat;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::remote::{connect, failure};
use crate::screen::Screen;

/// Share a session with other members of a remote
///
/// The session must be on the remote: push it first. Members with whom it is shared can read it; with --write, they can
/// also append to it. A project shares all its sessions with the same members: see `sessile remote projects`. Without
/// changes, shows who can read and write the session.
///
/// What a member has already read cannot be taken back.
///
/// Without changes, exits with 1 if the session is not shared. Exits with 3 if the remote has no such session or member.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile share @1 --with bob
  $ sessile share @1 --with bob --with carol --write
  $ sessile share @1 --stop bob
  $ sessile share @1 --project website
  $ sessile share @1 --json")]
pub(crate) struct ShareArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: PathBuf,

    /// Let this member read the session; may be repeated
    #[arg(long, value_name = "MEMBER")]
    with: Vec<String>,

    /// Let these members append to the session as well
    #[arg(long, requires = "with")]
    write: bool,

    /// Take the share of this member back; may be repeated
    #[arg(long, value_name = "MEMBER", conflicts_with = "with")]
    stop: Vec<String>,

    /// Put the session into this project
    #[arg(long, value_name = "PROJECT", conflicts_with_all = ["with", "stop"])]
    project: Option<String>,

    /// Take the session out of its project
    #[arg(long, conflicts_with_all = ["with", "stop", "project"])]
    no_project: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ShareArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find_session(&args.session)?;
    let remote = ConfiguredRemote::find(&env.settings, env.remote())
        .map_err(|error| Failure::misuse(ErrorKind::MissingRequiredArgument, error.to_string()))?;
    let mut server = connect(env, &remote)?;
    let session = env.sessions.head_on(&mut server, &path)?.no;
    let is_asked = change(&mut server, session, args, err)?;
    let shown = print_shares(&server.shares(session).map_err(failure)?, args.format, out)?;
    Ok(if is_asked { Exit::Done } else { shown })
}

/// Makes the changes that are asked for. Returns whether there are any.
fn change(server: &mut dyn Team, session: SessionNo, args: &ShareArgs, err: &mut Screen<'_>) -> Result<bool, Failure> {
    let may = if args.write { May::Write } else { May::Read };
    for member in &args.with {
        server.share(session, member, may).map_err(failure)?;
    }
    for member in &args.stop {
        if !server.unshare(session, member).map_err(failure)? {
            warn(err, &format!("it was not shared with {member}"))?;
        }
    }
    let moves = args.project.is_some() || args.no_project;
    if moves {
        server.set_project(session, args.project.as_deref()).map_err(failure)?;
    }
    Ok(moves || !args.with.is_empty() || !args.stop.is_empty())
}
