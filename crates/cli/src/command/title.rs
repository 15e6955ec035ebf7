//! `sessile title`

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use sessile::SessionError;
use sessile::title::{TitleOutcome, Titled, Titler};
use sessile_rpc::answer;

use super::list::{self, ListArgs};
use crate::data::write_value;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{DIM, Line, NAMED, Screen};
use crate::titling;

/// Give titles to sessions that you have not named
///
/// The title comes from your first request, by a rule that works offline, or from a language model with --model. It is
/// appended to the session as a name with a mark, which pi shows like any other name. `sessile undo` reverts it.
///
/// A name that you gave, in Sessile or in pi, is never replaced, and neither is a name that you removed. A session gets no
/// title before a model has answered in it. A title can be replaced by a later one.
///
/// A model gets your first and last message and the last summary, at most 2,000 characters, without secrets. If its answer
/// cannot be a title, the rule makes one.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile title @2 --dry-run
  $ sessile title --missing --all
  $ sessile title --missing --all --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct TitleArgs {
    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with_all = ["missing", "all", "repo"])]
    sessions: Vec<PathBuf>,

    /// Title the sessions of this directory that have no name
    #[arg(long)]
    missing: bool,

    /// Title the sessions of all directories; with --missing, those without a name
    #[arg(long)]
    all: bool,

    /// Title the sessions of all worktrees of this repository; with --missing, those without a name
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Ask this model: provider/model, as for `compact`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Use the rule, which is the default
    #[arg(long, conflicts_with = "model")]
    rule: bool,

    /// Show the titles without writing them
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {dryRun?, operation?, sessions: [{path, id, outcome, before?, name?, by?, modelFailure?}]}
    #[arg(long)]
    json: bool,
}

impl TitleArgs {
    pub(super) fn writes(&self) -> bool {
        !self.dry_run
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &TitleArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let paths = paths(env, args, err)?;
    let mut printed = Ok(());
    let mut on_titled = |titled: &Result<Titled, SessionError>| {
        if let (Ok(titled), Ok(()), false) = (titled, &printed, args.json) {
            printed = print(titled, args, out);
        }
    };
    let (operation, titled) = match &args.model {
        Some(name) => {
            let ask = titling::model(env, name, crate::interrupt::on_interrupt()?)?;
            env.sessions.title(&paths, Titler::Model(ask.as_ref()), args.dry_run, &mut on_titled)?
        }
        None => env.sessions.title(&paths, Titler::Rule, args.dry_run, &mut on_titled)?,
    };
    printed?;
    let (titled, failed): (Vec<_>, Vec<_>) = titled.into_iter().partition(Result::is_ok);
    let titled: Vec<Titled> = titled.into_iter().flatten().collect();
    let mut failed: Vec<SessionError> = failed.into_iter().filter_map(Result::err).collect();
    if args.json {
        write_value(out.data(), &answer::titled(&titled, operation.as_deref(), args.dry_run))?;
    } else if paths.len() > 1 || titled.is_empty() {
        err.print_whole(&Line::new().text(&counts(&titled, args.dry_run)))?;
    }
    let last = failed.pop();
    for error in &failed {
        warn(err, &error.to_string())?;
    }
    match last {
        Some(error) => Err(error.into()),
        None if titled.iter().any(Titled::is_change) => Ok(Exit::Done),
        None => Ok(Exit::Nothing),
    }
}

fn paths(env: &CommandEnvironment, args: &TitleArgs, err: &mut Screen<'_>) -> Result<Vec<PathBuf>, Failure> {
    if !args.sessions.is_empty() {
        return args.sessions.iter().map(|session| env.find_session(session)).collect();
    }
    if !args.missing && !args.all && !args.repo {
        let message = "name a session, or use --missing for all sessions of this directory without a name".to_owned();
        return Err(Failure::misuse(ErrorKind::MissingRequiredArgument, message));
    }
    let listed = list::find(env, &ListArgs::of(args.all, args.repo), err)?;
    Ok(listed.into_iter().filter(|info| !args.missing || info.name.is_none()).map(|info| info.path).collect())
}

fn print(titled: &Titled, args: &TitleArgs, out: &mut Screen<'_>) -> std::io::Result<()> {
    let id: String = titled.id.as_str().chars().take(8).collect();
    let line = Line::new().styled(DIM, &format!("{id}  "));
    let line = match &titled.outcome {
        TitleOutcome::Titled { name, .. } => line.styled(NAMED, name),
        TitleOutcome::Restored { name: Some(name) } => line.styled(NAMED, name).text(" (your name, again)"),
        TitleOutcome::Restored { name: None } => line.text("no name, as you chose"),
        // Of many sessions, only changes are interesting.
        _ if args.sessions.is_empty() => return Ok(()),
        TitleOutcome::OfUser => match &titled.before {
            Some(name) => line.text("stays ").styled(NAMED, name).text(", which you chose"),
            None => line.text("stays without a name, as you chose"),
        },
        TitleOutcome::Same => {
            line.text("is already titled ").styled(NAMED, titled.before.as_deref().unwrap_or_default())
        }
        TitleOutcome::TooEarly => line.text("has no answered request yet"),
    };
    let line = match &titled.model_failure {
        Some(reason) => line.styled(DIM, &format!(" (by the rule: {reason})")),
        None => line,
    };
    out.print_whole(&line)
}

fn counts(titled: &[Titled], dry_run: bool) -> String {
    let n_changed = titled.iter().filter(|titled| titled.is_change()).count();
    let would = if dry_run { "would get" } else { "got" };
    let n_of_user = titled.iter().filter(|titled| titled.outcome == TitleOutcome::OfUser).count();
    let kept = if n_of_user == 0 { String::new() } else { format!("; {n_of_user} keep the name that you chose") };
    format!("{n_changed} {} {would} a title{kept}", noun(n_changed, "session", "sessions"))
}
