//! `sessile fork`

use std::path::Path;

use clap::Args;
use sessile::branch::{ForkPosition, Forked};
use sessile::entry::Payload;
use sessile::event::Outcome;
use sessile::message::Message;
use sessile::operations::OperationKind;
use sessile::{EntryId, SessionHost, SessionManager, Sessions};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{Line, Screen};

/// Start a session from a part of another one
///
/// The new session contains the path to ENTRY, byte for byte, with its labels, and names the original as its parent. If
/// ENTRY is a user message, the fork ends before it, so that you can rewrite it, as in pi; any other ENTRY becomes the
/// last entry of the fork. Without ENTRY, the fork ends with the leaf.
///
/// Prints only the path of the new session on standard output. Use that path: lists sort by the last message, so a fork
/// is seldom @latest.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile fork @1
  $ sessile fork @1 @leaf~2 --at
  $ sessile fork @1 --before --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry; the leaf if omitted, or with --before the last user message
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// Choose a message on the screen and fork before it; without SESSION, pick one there first
    #[cfg(feature = "tui")]
    #[arg(short, long, conflicts_with_all = ["entry", "at", "before", "dry_run", "json"])]
    interactive: bool,
    /// End the fork with ENTRY
    #[arg(long, conflicts_with = "before")]
    at: bool,

    /// End the fork before ENTRY, which must be a user message
    #[arg(long)]
    before: bool,

    /// Show what would be done without writing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {path, id, parentSession, text?}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ForkArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [word]) = args.session.with_words([args.entry.as_deref()]);
    #[cfg(feature = "tui")]
    if args.interactive {
        let path = env.find_unless_picked(&session)?;
        return choose(env, path, out, err);
    }
    let path = env.find(&session)?;
    let look = env.open(&session, err)?;
    let entry = match &word {
        Some(entry) => look.find_entry(entry)?,
        None if args.before => last_question(&look)?.ok_or(Failure::NoQuestion)?,
        None => look.leaf_id().ok_or(Failure::NothingToFork)?,
    };
    let is_before = args.before || (!args.at && word.is_some() && is_question(&look, &entry)?);
    drop(look);
    let position = if is_before { ForkPosition::Before } else { ForkPosition::At };
    let sessions = if args.dry_run { env.dry_sessions() } else { env.sessions.clone() };
    let (mut session, forked) = forked(sessions.recording_new_files_as(OperationKind::Fork), &path, &entry, position)?;
    report(&mut session, &forked, (args.dry_run, args.json), out, err)
}

/// Lets the user choose the message to fork before.
#[cfg(feature = "tui")]
fn choose(
    env: &CommandEnvironment,
    path: Option<std::path::PathBuf>,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    use sessile_tui::ForkOutcome;
    match crate::interactive::ui(env, out, err).fork(path)? {
        ForkOutcome::Nothing => Ok(Exit::Done),
        ForkOutcome::NoMessages => Err(Failure::NothingToFork),
        ForkOutcome::Failed(message) => Err(Failure::NotShown { message }),
        ForkOutcome::Forked { path, text } => {
            let path = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
            out.print_whole(&Line::new().text(&path))?;
            err.print(Line::new().text("forked before: ").text(&text))?;
            Ok(Exit::Done)
        }
    }
}

/// Forks a session, unless a hook vetoes it.
pub(super) fn forked(
    sessions: Sessions,
    path: &Path,
    entry: &EntryId,
    position: ForkPosition,
) -> Result<(SessionManager, Forked), Failure> {
    let session = sessions.open_when_idle(path)?;
    let mut host = SessionHost::new(sessions, session);
    match host.fork(entry, position)? {
        Outcome::Done(forked) => Ok((host.into_session(), forked)),
        Outcome::Cancelled { by } => Err(Failure::Vetoed { by }),
    }
}

/// Makes sure that a fork has a file, and prints its path.
pub(super) fn report(
    session: &mut SessionManager,
    forked: &Forked,
    (dry_run, json): (bool, bool),
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if !dry_run && forked.session_file.as_ref().is_some_and(|file| !file.exists()) {
        // The session has no messages yet, but the user wants to continue in it.
        session.persist_now()?;
    }
    let n_entries = session.outline().n_entries();
    let entries = format!("{n_entries} {}", noun(n_entries, "entry", "entries"));
    let path = forked.session_file.as_ref().map(|path| path.to_string_lossy().into_owned());
    if json {
        write_value(out.data(), &answer::fork_written(session, forked))?;
        return Ok(Exit::Done);
    }
    let Some(path) = path.filter(|_| !dry_run) else {
        let words = format!("a session with {entries} would be created; nothing was written");
        out.print_whole(&Line::new().text(&words))?;
        return Ok(Exit::Done);
    };
    out.print_whole(&Line::new().text(&path))?;
    match &forked.text {
        Some(text) => err.print(Line::new().text(&format!("{entries}, forked before: {text}")))?,
        None => err.print_whole(&Line::new().text(&entries))?,
    }
    Ok(Exit::Done)
}

fn is_question(session: &SessionManager, id: &EntryId) -> Result<bool, Failure> {
    let entry = session.entry(id)?;
    Ok(entry.is_some_and(|entry| {
        let Payload::Message(message) = entry.payload() else { return false };
        matches!(message.message(), Some(Message::User(_)))
    }))
}

/// Returns the last user message on the path to the leaf.
fn last_question(session: &SessionManager) -> Result<Option<EntryId>, Failure> {
    for row in session.path().into_iter().rev() {
        if let Some(id) = session.outline().id(row)
            && is_question(session, &id)?
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
