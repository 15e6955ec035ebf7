//! `sessile scrub`

mod print;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum, ValueHint};
use sessile::redact::{Level, SecretScrub, SecretScrubOptions, finding_id};
use sessile_display::measure::counted;
use sessile_rpc::answer;

use super::secrets::options_of;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::{Failure, report_chain};
use crate::input;
use crate::interrupt::on_interrupt;
use crate::progress::{Meter, Unit};
use crate::screen::{Line, Screen};

/// Remove secrets from sessions, in place and for good
///
/// Replaces every secret that `sessile secrets` finds with a placeholder, in the session and in every copy of its lines
/// that Sessile keeps: originals, guard, trash, log of operations, caches, text index. The tree stays the same, and pi
/// can resume the session. A session without secrets stays as it is. Never prints a secret.
///
/// Nothing brings the secrets back, not even `sessile undo`. Revoke the keys anyway: they were on disk, and exports,
/// backups and free blocks of the disk may still have them.
///
/// Forks, parents and copies have lines of the session, too. Without --forks they keep them, and the command says so.
///
/// Shows what it would remove first. On a terminal it asks for confirmation; elsewhere --yes is required. Exits with 1
/// if the answer is no, with 3 if a line cannot be scrubbed (nothing has changed then) or if copies may be left (run the
/// command again), and with 4 if another program uses a session, unless --force is given.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile scrub @1 --dry-run
  $ sessile scrub @1 --forks --yes
  $ sessile scrub @1 --level pii --dry-run --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ScrubArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<PathBuf>,

    /// How much goes
    #[arg(long, value_name = "LEVEL", default_value = "secrets")]
    level: LevelArg,

    /// Scrub the sessions that have the same entries, too: parents, forks and copies
    #[arg(long)]
    forks: bool,

    /// Only secrets whose format is certain
    #[arg(long)]
    certain: bool,

    /// Keep the value with this id from `sessile secrets`; may be repeated
    #[arg(long, value_name = "ID")]
    allow: Vec<String>,

    /// Also remove the secrets in FILE, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    secrets: Option<PathBuf>,

    /// Keep each original as NAME.jsonl.orig-TIME, with the secrets in it
    #[arg(long)]
    keep_original: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Scrub sessions even if other programs use them
    #[arg(long)]
    force: bool,

    /// Show what would be removed without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {level, dryRun, sessions, sharing, failed?, rulesVersion}
    ///
    /// A session is {path, id, operation?, lines, changedLines, sizeBefore, sizeAfter, sha256?, original?, rules,
    /// findings, names, removedThoughts, removedSignatures, replacedPictures, copies: [{path, kind, lines}], notes,
    /// fullOutputs?, created?, otherLinks?, warnings?}. A finding is as in `secrets --json`. `sharing` lists other
    /// sessions that keep text to remove: {path, lines?}.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelArg {
    /// Keys, tokens and passwords
    Secrets,
    /// Also home directories, and names of users and hosts; headers keep their directory
    Paths,
    /// Also addresses and numbers of people, and pictures
    Pii,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Secrets => Self::Secrets,
            LevelArg::Paths => Self::Paths,
            LevelArg::Pii => Self::Pii,
        }
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ScrubArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let paths: Vec<PathBuf> = args.sessions.iter().map(|it| env.find_session(it)).collect::<Result<_, _>>()?;
    let mut secrets = options_of(env, args.secrets.as_ref())?;
    secrets.certain_only = args.certain;
    for id in &args.allow {
        let id = finding_id(id).map_err(|error| Failure::misuse(ErrorKind::InvalidValue, error.to_string()))?;
        secrets.allowed.push(id);
    }
    let mut options = SecretScrubOptions {
        level: args.level.into(),
        secrets,
        with_sharing: args.forks,
        dry_run: args.dry_run,
        keep_original: args.keep_original,
        ..SecretScrubOptions::default()
    };
    if !args.dry_run && !args.yes {
        options.dry_run = true;
        let planned = scrub(env, args, &paths, &options, err)?;
        if !planned.is_needed() {
            return finish(env, args, planned, out, err);
        }
        print::report(env, &planned, err)?;
        if !is_confirmed(&planned, &mut options, err)? {
            err.print_whole(&Line::new().text("nothing was changed"))?;
            return Ok(Exit::Nothing);
        }
        options.dry_run = false;
    }
    let scrubbed = scrub(env, args, &paths, &options, err)?;
    finish(env, args, scrubbed, out, err)
}

/// Prints the result. Failures go to standard error.
fn finish(
    env: &CommandEnvironment,
    args: &ScrubArgs,
    scrubbed: SecretScrub,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.json {
        write_value(out.data(), &answer::secret_scrub(&scrubbed))?;
    } else {
        print::report(env, &scrubbed, out)?;
    }
    let failures: Vec<Failure> = scrubbed.failed.into_iter().map(Failure::from).collect();
    failures.iter().try_for_each(|failure| report_chain(failure, err))?;
    Ok(failures.first().map_or(Exit::Done, Failure::exit))
}

fn scrub(
    env: &CommandEnvironment,
    args: &ScrubArgs,
    paths: &[PathBuf],
    options: &SecretScrubOptions<'_>,
    err: &mut Screen<'_>,
) -> Result<SecretScrub, Failure> {
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_all: u64| meter.update(n_done, n_all);
    let options = SecretScrubOptions { cancel: on_interrupt()?, on_progress: Some(&on_progress), ..options.clone() };
    let sessions = env.sessions_for_removal(args.force);
    Ok(meter.watch(Unit::Bytes, err, || sessions.scrub_secrets(paths, &options))?)
}

/// Asks about the sessions, and about those that have the same entries.
fn is_confirmed(
    planned: &SecretScrub,
    options: &mut SecretScrubOptions<'_>,
    err: &mut Screen<'_>,
) -> Result<bool, Failure> {
    let n_sessions = planned.sessions.iter().filter(|session| session.scrubbed.is_needed()).count();
    let question = format!("Remove this from {} for good?", counted(n_sessions, "session", "sessions"));
    if !input::confirm(&question, err)?.ok_or(Failure::UnconfirmedScrub)? {
        return Ok(false);
    }
    if !planned.sharing.is_empty() {
        let others = counted(planned.sharing.len(), "other session", "other sessions");
        let question = format!("Also from the {others} with the same entries?");
        options.with_sharing = input::confirm(&question, err)?.ok_or(Failure::UnconfirmedScrub)?;
    }
    Ok(true)
}
