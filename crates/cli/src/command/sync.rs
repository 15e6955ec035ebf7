//! `sessile sync`, `sessile push` and `sessile pull`

mod service;
mod watch;

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use sessile::SessionId;
use sessile::sync::{ConfiguredRemote, Direction, SyncOptions, SyncResult, SyncScope, SyncState, SyncSummary, Synced};
use sessile::team::{MirrorResult, MirrorScope};
use sessile_rpc::answer;

use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::measure::noun;
use crate::progress::{Bar, Unit};
use crate::remote::connect;
use crate::screen::{Line, Screen};

/// Synchronize your sessions with a remote
///
/// Each session becomes equal to its log on the remote, so that all your machines have the same entries. If two machines
/// have continued a session, it keeps both branches. Sessions that other machines have pushed appear in your store: in
/// the clone of the same repository, else at the same place below your home directory.
///
/// Without --all, synchronizes sessions that were pushed or pulled before. Sessions whose new lines contain secrets are
/// not pushed. While another program uses a session, its file only grows. A session that you deleted here stays on the
/// remote, and comes back only with `sessile pull`. A session that another machine deleted with `sessile delete
/// --everywhere` goes to the trash.
///
/// With --watch, goes on until Ctrl-C: pushes your changes about a second after they are written, and asks the remote for
/// changes of other machines every minute. If the remote is down, it waits and tries again. --print-service prints a file
/// with which your system starts this at login.
///
/// Exits with 1 if a session could not be synchronized.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile sync
  $ sessile sync --all --dry-run
  $ sessile sync --remote work --json
  $ sessile sync --all --watch
  $ sessile sync --all --print-service systemd")]
pub(crate) struct SyncArgs {
    /// Also push sessions that the remote does not have
    #[arg(long)]
    all: bool,

    /// Go on until Ctrl-C
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,

    /// With --watch: ask the remote for changes at this interval
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86400))]
    every: u64,

    /// Print a file for a service that runs `sync --watch` with these options, and how to install it
    #[arg(long, value_name = "KIND", value_enum, conflicts_with_all = ["watch", "dry_run"])]
    print_service: Option<service::ServiceKind>,

    #[command(flatten)]
    common: CommonArgs,
}

/// Push sessions to a remote
///
/// Changes only the remote. Creates the log of a session that the remote does not have. A session that was deleted with
/// `sessile delete --everywhere` is pushed only with --restore.
///
/// Exits with 1 if a session could not be pushed.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile push @1
  $ sessile push @1 --restore
  $ sessile push --all --dry-run")]
pub(crate) struct PushArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    sessions: Vec<PathBuf>,

    /// Push all sessions
    #[arg(long, conflicts_with = "sessions")]
    all: bool,

    /// Also push sessions that were deleted everywhere; other machines then get them again
    #[arg(long, conflicts_with = "all")]
    restore: bool,

    #[command(flatten)]
    common: CommonArgs,
}

/// Pull sessions from a remote
///
/// Changes only this machine. Creates sessions that it does not have.
///
/// Exits with 1 if a session could not be pulled.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile pull --all
  $ sessile pull 0198a1b2-aaaa-7000-8000-000000000000")]
pub(crate) struct PullArgs {
    /// The ids of the sessions
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,

    /// Pull all sessions
    #[arg(long, conflicts_with = "ids")]
    all: bool,

    /// Also fetch the sessions of all other members, to read and search them here
    #[arg(long, requires = "all")]
    team: bool,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
struct CommonArgs {
    /// Push lines although they contain secrets
    #[arg(long)]
    allow_secrets: bool,

    /// Take lines that other members have appended to your sessions
    #[arg(long)]
    accept: bool,

    /// Compute the hashes over all lines again, instead of relying on what is remembered
    #[arg(long)]
    thorough: bool,

    /// Only show how the sessions and the remote differ
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn sync(
    env: &CommandEnvironment,
    args: &SyncArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(kind) = args.print_service {
        return service::print(env, kind, args, out);
    }
    let scope = if args.all { SyncScope::All } else { SyncScope::Known };
    if args.watch {
        return watch::run(env, scope, args, out, err);
    }
    let options = options(env, Direction::Both, &args.common)?;
    run(env, &scope, (options, Some(MirrorScope::Mirrored)), &args.common, out, err)
}

pub(super) fn push(
    env: &CommandEnvironment,
    args: &PushArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let paths: Vec<PathBuf> =
        args.sessions.iter().map(|session| env.find_session(session)).collect::<Result<_, _>>()?;
    let scope = if args.all { SyncScope::All } else { SyncScope::Files(paths) };
    let options = SyncOptions { restores: args.restore, ..options(env, Direction::Push, &args.common)? };
    run(env, &scope, (options, None), &args.common, out, err)
}

pub(super) fn pull(
    env: &CommandEnvironment,
    args: &PullArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let scope = if args.all { SyncScope::Known } else { SyncScope::Ids(args.ids.clone()) };
    let mirrors = args.all.then_some(if args.team { MirrorScope::All } else { MirrorScope::Mirrored });
    let options = options(env, Direction::Pull, &args.common)?;
    run(env, &scope, (options, mirrors), &args.common, out, err)
}

fn run(
    env: &CommandEnvironment,
    scope: &SyncScope,
    (options, mirrors): (SyncOptions, Option<MirrorScope>),
    args: &CommonArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let remote = find_remote(env)?;
    let mut server = connect(env, &remote)?;
    let mut results: Vec<SyncResult> = Vec::new();
    let mut failed = None;
    let layout = args.format.layout();
    let mut bar = Bar::new(Unit::Sessions);
    let summary = env.sessions.sync(&mut server, scope, &options, &mut |result| {
        bar.clear(err);
        if layout.is_none() && failed.is_none() {
            failed = print(env, &result, out, err).err();
        }
        bar.show(result.n_done as u64, result.n_all as u64, err);
        results.push(result);
    })?;
    bar.clear(err);
    if let Some(failed) = failed {
        return Err(failed.into());
    }
    let mut has_failed = false;
    if let Some(mirrors) = mirrors.filter(|_| !args.dry_run) {
        let store = env.sessions.refresh_team(&mut server)?;
        env.sessions.mirror_team(&mut server, &store, mirrors, &options, &mut |mirrored| {
            bar.clear(err);
            has_failed |= mirrored.result.is_err();
            // A message that cannot be printed is not an error.
            drop(print_mirrored(env, &mirrored, err));
            bar.show(mirrored.n_done as u64, mirrored.n_all as u64, err);
        })?;
        bar.clear(err);
    }
    if let Some(layout) = layout {
        let mut list = ListWriter::new(out.data(), layout);
        results.iter().try_for_each(|result| list.push(answer::synced(result).raw()))?;
        list.finish()?;
    } else {
        print_summary(&remote, &results, &summary, args.dry_run, err)?;
    }
    if let Some(reason) = &summary.not_swept {
        warn(err, &format!("objects that no session uses any more are still in the storage: {reason}"))?;
    }
    if let Some(reason) = &summary.not_sealed {
        warn(err, &format!("lines of quiet sessions still take more space than they need: {reason}"))?;
    }
    // A synchronization leaves a restored session alone; a push of it was asked for.
    let is_push = !matches!(scope, SyncScope::Known | SyncScope::All);
    let is_stopped = |result: &SyncResult| {
        let is_stopped = |synced: &Synced| match synced.state {
            SyncState::Secrets(_) => true,
            SyncState::Buried | SyncState::Deleted { operation: None, .. } => is_push,
            _ => false,
        };
        result.result.as_ref().map_or(true, is_stopped)
    };
    Ok(if has_failed || results.iter().any(is_stopped) { Exit::Nothing } else { Exit::Done })
}

pub(super) fn find_remote(env: &CommandEnvironment) -> Result<ConfiguredRemote, Failure> {
    ConfiguredRemote::find(&env.settings, env.remote())
        .map_err(|error| Failure::misuse(ErrorKind::MissingRequiredArgument, error.to_string()))
}

fn options(env: &CommandEnvironment, direction: Direction, args: &CommonArgs) -> Result<SyncOptions, Failure> {
    let secrets = (!args.allow_secrets).then(|| env.sessions.secret_options(&env.settings));
    Ok(SyncOptions {
        direction: if args.dry_run { Direction::Compare } else { direction },
        secrets,
        accepts_members: args.accept,
        restores: false,
        is_thorough: args.thorough,
        cancel: on_interrupt()?,
    })
}

/// Prints that a session of another member was brought up to date.
fn print_mirrored(env: &CommandEnvironment, mirrored: &MirrorResult, err: &mut Screen<'_>) -> std::io::Result<()> {
    let name = env.short(&mirrored.path.to_string_lossy());
    match &mirrored.result {
        Ok(()) => err.print_whole(&Line::new().text(&format!("fetched {name}"))),
        Err(error) => warn(err, &format!("{name}: {error}")),
    }
}

/// Prints what was done with one session.
pub(super) fn print(
    env: &CommandEnvironment,
    result: &SyncResult,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> std::io::Result<()> {
    let name = result.path.as_ref().map_or_else(|| result.id.to_string(), |path| env.short(&path.to_string_lossy()));
    let synced = match &result.result {
        Ok(synced) => synced,
        Err(error) => return warn(err, &format!("{name}: {error}")),
    };
    let lines =
        |verb: &str, number: u64| (number > 0).then(|| format!("{verb} {number} {}", noun(number, "line", "lines")));
    let mut words: Vec<String> =
        [lines("pushed", synced.n_pushed), lines("pulled", synced.n_pulled)].into_iter().flatten().collect();
    match &synced.state {
        // A program has pushed it already.
        SyncState::Equal if words.is_empty() => return Ok(()),
        SyncState::Equal => {}
        SyncState::OtherOrder => words.push("in use: takes the order of the remote later".to_owned()),
        SyncState::Ahead => words.push("has lines that the remote lacks".to_owned()),
        SyncState::Behind => words.push("lacks lines of the remote".to_owned()),
        SyncState::Others => {
            words.push("it ends with lines of other members on the remote; --accept takes them".to_owned());
        }
        SyncState::Diverged => words.push("both sides have lines that the other lacks".to_owned()),
        SyncState::Deleted { operation, has_own_lines } => {
            words.push(deleted_words(env, operation.as_deref(), *has_own_lines, &synced.id));
        }
        SyncState::Buried => words.push(format!(
            "was deleted everywhere, so it is not pushed; `{} push {} --restore` pushes it again",
            env.program(),
            synced.id
        )),
        SyncState::Secrets(found) => {
            let found = format!("{} {}", found.len(), noun(found.len() as u64, "secret", "secrets"));
            return warn(err, &format!("{name}: not pushed, because of {found}; see `sessile secrets`"));
        }
    }
    if synced.n_renamed > 0 {
        words.push(format!("{} {} got new ids", synced.n_renamed, noun(synced.n_renamed as u64, "entry", "entries")));
    }
    out.print_whole(&Line::new().text(&format!("{name}: {}", words.join(", "))))
}

/// Says that another machine has deleted a session, and how to get it back.
fn deleted_words(env: &CommandEnvironment, operation: Option<&str>, has_own_lines: bool, id: &SessionId) -> String {
    let own = if has_own_lines { ", with lines that only this machine has" } else { "" };
    let Some(operation) = operation else {
        let when = "`sync` moves it to the trash when no program uses it";
        return format!("was deleted everywhere by another machine{own}; {when}");
    };
    let program = env.program();
    format!(
        "was deleted everywhere by another machine, so it is in the trash now{own}; `{program} undo {operation}` brings \
         it back here, and `{program} push {id} --restore` after that to the remote"
    )
}

fn print_summary(
    remote: &ConfiguredRemote,
    results: &[SyncResult],
    summary: &SyncSummary,
    dry_run: bool,
    err: &mut Screen<'_>,
) -> std::io::Result<()> {
    let is_moved = |synced: &Synced| synced.n_pushed + synced.n_pulled > 0;
    let is_equal = |synced: &Synced| synced.state == SyncState::Equal && !is_moved(synced);
    let number_of = |is_meant: &dyn Fn(&Synced) -> bool| {
        results.iter().filter(|result| result.result.as_ref().is_ok_and(is_meant)).count()
    };
    let n_equal = number_of(&is_equal);
    let changed = if dry_run {
        let n_different = (results.len() - n_equal) as u64;
        format!("{n_different} {}", noun(n_different, "session differs", "sessions differ"))
    } else {
        let n_changed = number_of(&is_moved) as u64;
        format!("{n_changed} {} synchronized", noun(n_changed, "session", "sessions"))
    };
    let deleted = match summary.deleted_here.len() {
        0 => String::new(),
        n_deleted => format!(", {n_deleted} deleted here"),
    };
    let words = format!("{}: {changed}, {} unchanged{deleted}", remote.name, summary.n_unchanged + n_equal);
    err.print_whole(&Line::new().text(&words))
}
