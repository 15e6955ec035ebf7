//! `sessile migrate`

use std::path::{Path, PathBuf};

use clap::Args;
use sessile::list::ListOptions;
use sessile::operations::OperationKind;
use sessile::{Cancel, SessionError};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::{ListFormat, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::interrupt::on_interrupt;
use crate::screen::{Line, Screen};

/// Migrate old sessions to the current version
///
/// Migrates files of versions 1 and 2 to version 3, as the first append would. Keeps the original beside the file, as
/// NAME.jsonl.orig-TIME. Leaves sessions of the current version unchanged. Exits with 1 if there is nothing to migrate.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile migrate @1
  $ sessile migrate --all --dry-run")]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Migrate the sessions of all directories
    #[arg(long, conflicts_with_all = ["session", "chosen", "continue"])]
    all: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

/// A session that was migrated to the current version, or would be.
struct Migrated {
    path: PathBuf,
    from: String,
    original: Option<PathBuf>,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &MigrateArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let cancel = if args.all { on_interrupt()? } else { Cancel::default() };
    let paths = if args.all {
        let mut options = ListOptions { cancel: cancel.clone(), ..ListOptions::default() };
        let sessions = env.sessions.list_all_with(&mut options)?;
        sessions.into_iter().map(|session| session.path).collect()
    } else {
        vec![env.find(&args.session)?]
    };
    let mut migrations = Vec::new();
    let mut failed = None;
    for path in paths {
        if cancel.is_cancelled() {
            print(env, args, &migrations, out)?;
            return Err(SessionError::Cancelled.into());
        }
        match migrate(env, &path, args.dry_run) {
            Ok(migrated) => migrations.extend(migrated),
            // With --all, one unreadable session does not stop the others.
            Err(error) if args.all => {
                let failure = Failure::from(error);
                failure::report_chain(&failure, err)?;
                failed = Some(failure.exit());
            }
            Err(error) => return Err(error.into()),
        }
    }
    print(env, args, &migrations, out)?;
    if migrations.is_empty() && failed.is_none() {
        err.print_whole(&Line::new().text("nothing to migrate"))?;
        return Ok(Exit::Nothing);
    }
    Ok(failed.unwrap_or(Exit::Done))
}

fn migrate(env: &CommandEnvironment, path: &Path, dry_run: bool) -> Result<Option<Migrated>, SessionError> {
    let mut session = env.sessions.clone().read_only().open(path)?;
    if !session.is_stored() {
        return Err(SessionError::NotASession { path: path.to_path_buf() });
    }
    if !session.outline().upgrade().is_needed() {
        return Ok(None);
    }
    let from = session.stored_version();
    let original = if dry_run {
        None
    } else {
        session = env.sessions.clone().recording_new_files_as(OperationKind::Migrate).open(path)?;
        match session.upgrade()? {
            // Another process has migrated it in the meantime.
            None => return Ok(None),
            original => original,
        }
    };
    Ok(Some(Migrated { path: path.to_path_buf(), from, original }))
}

fn print(
    env: &CommandEnvironment,
    args: &MigrateArgs,
    migrations: &[Migrated],
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        migrations.iter().try_for_each(|migrated| {
            list.push(answer::migrated(&migrated.path, &migrated.from, migrated.original.as_deref()).raw())
        })?;
        return Ok(list.finish()?);
    }
    let verb = if args.dry_run { "would be migrated" } else { "migrated" };
    for migrated in migrations {
        let path = env.short(&migrated.path.to_string_lossy());
        let original = migrated.original.as_ref().map(|original| env.short(&original.to_string_lossy()));
        let original = original.map(|original| format!("; the original is {original}")).unwrap_or_default();
        let words = format!("{path} {verb} from version {} to 3{original}", migrated.from);
        out.print_whole(&Line::new().text(&words))?;
    }
    Ok(())
}
