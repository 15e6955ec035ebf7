//! `sessile repair`

use clap::Args;
use sessile::repair::{Repair, RepairOptions};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::command::verify::print_finding;
use crate::data::{Layout, ListWriter, write_value};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::{Failure, report_chain};
use crate::interrupt::on_interrupt;
use crate::screen::{BOLD, DIM, Line, NAMED, PERSON, Screen};

/// Repair a damaged session
///
/// Puts intact records from damaged lines on their own lines, byte for byte. Replaces a broken record, and a parent
/// that is missing from the file, with an entry that is marked as incomplete and is not part of the context. Adds a
/// header if the file has none. Leaves data that it cannot place where it is. Keeps the original beside the file, as
/// NAME.jsonl.orig-TIME. A second run finds nothing more to do.
///
/// --permissions without SESSION changes only the permissions of all sessions of this directory, or of all directories
/// with --all.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Make the file and its directory readable only by you
    ///
    /// The directory is changed only if it holds nothing but sessions.
    #[arg(long)]
    permissions: bool,

    /// With --permissions: change the sessions of all directories
    #[arg(long, requires = "permissions", conflicts_with_all = ["session", "chosen", "continue"])]
    all: bool,

    /// Print JSON: the changes and the remaining findings; for many sessions, an array of the changed ones
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &RepairArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let SessionArg { session, chosen, newest } = &args.session;
    if args.permissions && session.is_none() && chosen.is_none() && !newest {
        return close_many(env, args, out, err);
    }
    let path = env.find(&args.session)?;
    let options = RepairOptions { dry_run: args.dry_run, permissions: args.permissions };
    let repair = env.sessions.repair(path, options)?;
    if args.json {
        write_value(out.data(), &answer::repair(&repair))?;
    } else {
        print(env, &repair, out)?;
    }
    Ok(Exit::Done)
}

/// Removes other users' access to many sessions.
fn close_many(
    env: &CommandEnvironment,
    args: &RepairArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let is_all = args.all || (env.sample().is_some() && !env.has_session_dir_flag());
    let cwd = (!is_all).then(|| env.cwd());
    let closed = env.sessions.restrict_access(cwd.as_deref(), args.dry_run, &on_interrupt()?)?;
    let n_failed = closed.failed.len();
    for error in closed.failed {
        report_chain(&error.into(), err)?;
    }
    if args.json {
        let mut list = ListWriter::new(out.data(), Layout::Array);
        closed.repairs.iter().try_for_each(|repair| list.push(answer::repair(repair).raw()))?;
        list.finish()?;
    } else {
        let sessions = |number: usize| format!("{number} {}", if number == 1 { "session" } else { "sessions" });
        let all_sessions = sessions(closed.n_sessions);
        let message = match (closed.repairs.len(), args.dry_run) {
            (0, _) => format!("{all_sessions}, all already readable only by you"),
            (number, true) => {
                format!("{number} of {all_sessions} would be made readable only by you; nothing was changed")
            }
            (number, false) => format!("{number} of {all_sessions} made readable only by you"),
        };
        out.print_whole(&Line::new().styled(NAMED, &message))?;
    }
    Ok(if n_failed > 0 { Exit::Error } else { Exit::Done })
}

fn print(env: &CommandEnvironment, repair: &Repair, out: &mut Screen<'_>) -> std::io::Result<()> {
    let path = env.short(&repair.path.to_string_lossy());
    out.print_whole(&Line::new().styled(BOLD, &path))?;
    let word = if repair.dry_run { "would repair" } else { "repaired" };
    for change in &repair.changes {
        let position = format!(" line {}, byte {}: ", change.line, change.offset);
        let code = format!("  {}", change.code.word());
        let start = Line::new().text("  ").styled(PERSON, word).styled(DIM, &position);
        out.print_whole(&start.text(&change.message).styled(DIM, &code))?;
    }
    for finding in repair.left.iter().filter(|finding| finding.counts()) {
        print_finding(finding, out)?;
    }
    let message = match (repair.changes.len(), repair.dry_run) {
        (0, _) => "nothing to repair".to_owned(),
        (1, true) => "1 change would be made; nothing was changed".to_owned(),
        (number, true) => format!("{number} changes would be made; nothing was changed"),
        (1, false) => "1 change made".to_owned(),
        (number, false) => format!("{number} changes made"),
    };
    let original = repair.original.as_ref().map(|original| env.short(&original.to_string_lossy()));
    let original = original.map(|original| format!("; the original is {original}")).unwrap_or_default();
    let style = if repair.changes.is_empty() { DIM } else { NAMED };
    out.print_whole(&Line::new().styled(style, &message).text(&original))
}
