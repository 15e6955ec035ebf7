//! `sessile new`

use std::path::PathBuf;

use clap::Args;
use sessile::SessionHost;
use sessile::SessionId;
use sessile::begin::{BeginOptions, StartedSession};
use sessile::event::Handlers;
use sessile::operations::OperationKind;
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{Line, Screen};

/// Start a session
///
/// Creates a session for this directory and prints its path, and nothing else, on standard output. The file exists at
/// once; `pi --session PATH` continues in it. The options are the same as in pi.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile new
  $ sessile new --name \"Tide tables\" --cwd /home/u/src/tidepool
  $ sessile new --fork @1 --json")]
pub(crate) struct NewArgs {
    /// Copy this session with all its branches
    #[arg(long, value_name = "SESSION", conflicts_with = "no_session")]
    fork: Option<PathBuf>,

    /// Use this id; if a session of this directory has it, continue that session
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,

    /// Name the session
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    name: Option<String>,

    /// Keep the session in memory: write nothing and print only its id
    #[arg(long)]
    no_session: bool,

    /// Use DIR as the working directory of the session instead of this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Show what would be done without writing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {path?, id, cwd, name?, parentSession?, created}; with --dry-run {dryRun, path?, directory?, id?, …}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &NewArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let choice = BeginOptions {
        cwd: Some(env.directory(args.cwd.as_deref())),
        id: args.session_id.as_ref().map(SessionId::from),
        fork: args.fork.as_ref().map(|source| env.find_session(source)).transpose()?,
        name: args.name.clone(),
        in_memory: args.no_session,
        dry_run: args.dry_run,
    };
    let mut begun = if args.dry_run {
        env.sessions.clone().with_handlers(Handlers::new()).begin(&choice)?
    } else {
        let (host, is_new) = {
            let sessions = env.sessions.clone().recording_new_files_as(OperationKind::New);
            SessionHost::begin_session(sessions, &choice)?
        };
        StartedSession { session: host.into_session(), is_new }
    };
    let original = begun.session.take_original();
    env.report_upgrade(original.as_deref(), err)?;
    if args.dry_run && !args.no_session {
        return preview(env, args, (&choice, &begun), out);
    }
    let path = begun.session.session_file().filter(|_| !args.no_session);
    if args.json {
        write_value(out.data(), &answer::started(&begun.session, begun.is_new, args.no_session)?)?;
        return Ok(Exit::Done);
    }
    let output = path.map_or_else(|| begun.session.session_id(), |path| path.to_string_lossy().into_owned().into());
    out.print_whole(&Line::new().text(output.as_str()))?;
    // The directories of the sample do not exist.
    if args.cwd.is_some() && env.sample().is_none() && !begun.session.cwd().is_dir() {
        warn(err, &format!("{} does not exist", begun.session.cwd().display()))?;
    }
    if begun.is_new && args.session_id.is_some() && args.fork.is_none() && !args.no_session {
        warn(
            err,
            &format!("no session of this directory has the id {}; started a new one", begun.session.session_id()),
        )?;
    } else if !begun.is_new {
        err.print_whole(&Line::new().text("the session existed already"))?;
    }
    Ok(Exit::Done)
}

/// Prints what would be created, and where.
fn preview(
    env: &CommandEnvironment,
    args: &NewArgs,
    (choice, begun): (&BeginOptions, &StartedSession),
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, cwd) = (&begun.session, begun.session.cwd());
    let existing = choice.id.as_ref().and_then(|id| env.sessions.find_by_id(cwd, id));
    let default = || sessile::directory::default_session_dir(env.sessions.environment(), cwd);
    let directory = env.session_dir().unwrap_or_else(default);
    let name = session.session_name()?;
    if args.json {
        let directories = (existing.as_deref(), directory.as_path());
        write_value(out.data(), &answer::new_preview(session, directories, choice.id.as_ref(), begun.is_new)?)?;
        return Ok(Exit::Done);
    }
    let name = name.map(|name| format!(" with the name {name:?}")).unwrap_or_default();
    let words = if let Some(path) = &existing {
        format!("{} exists and would be continued{name}", env.short(&path.to_string_lossy()))
    } else {
        let (cwd, directory) = (env.short(&cwd.to_string_lossy()), env.short(&directory.to_string_lossy()));
        format!("a session for {cwd}{name} would be started in {directory}")
    };
    out.print_whole(&Line::new().text(&words).text("; nothing was written"))?;
    Ok(Exit::Done)
}
