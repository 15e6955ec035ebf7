//! `sessile name`

use clap::Args;
use sessile::SessionManager;
use sessile::operations::{Annotated, Step};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{Line, Screen};

/// Name a session, or print its name
///
/// The name is appended to the session, as in pi; the old one stays in the file. `sessile undo` reverts the change.
/// Exits with 1 if there is no name to print.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile name @1 \"Clocks go back\"
  $ sessile name @1
  $ sessile name @1 --clear")]
pub(crate) struct NameArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The new name; if omitted, the current name is printed
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Remove the name
    #[arg(long, conflicts_with = "name")]
    clear: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {path, id, name?}, or {dryRun?, changed, change, entryId?, operation?, original?}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &NameArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [name]) = args.session.with_words([args.name.as_deref()]);
    if name.is_none() && !args.clear {
        let session = env.open(&session, err)?;
        return show(&session, args, out, err);
    }
    drop(env.open(&session, err)?);
    let annotated = env.sessions.rename(env.find(&session)?, name.as_deref(), args.dry_run)?;
    env.report_upgrade(annotated.original.as_deref(), err)?;
    if args.json {
        write_value(out.data(), &answer::annotated(&annotated, args.dry_run))?;
        return Ok(Exit::Done);
    }
    out.print_whole(&Line::new().text(&words(&annotated, args.dry_run)))?;
    Ok(Exit::Done)
}

fn show(
    session: &SessionManager,
    args: &NameArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let name = session.session_name()?;
    if args.json {
        write_value(out.data(), &answer::name(session, name.as_deref()))?;
    } else if let Some(name) = &name {
        out.print_whole(&Line::new().text(name))?;
    } else {
        err.print_whole(&Line::new().text("the session has no name"))?;
    }
    Ok(if name.is_some() { Exit::Done } else { Exit::Nothing })
}

fn words(annotated: &Annotated, dry_run: bool) -> String {
    let Step::Name { before, after, .. } = &annotated.step else { return String::new() };
    let would = if dry_run { "would be " } else { "" };
    match (annotated.is_change, before, after) {
        (false, _, Some(name)) => format!("the session is already named {name:?}"),
        (false, _, None) => "the session has no name".to_owned(),
        (true, Some(before), Some(after)) => format!("{would}renamed from {before:?} to {after:?}"),
        (true, None, Some(after)) => format!("{would}named {after:?}"),
        (true, before, None) => format!("the name {:?} {would}removed", before.as_deref().unwrap_or_default()),
    }
}
