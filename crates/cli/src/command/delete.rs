//! `sessile delete`

use std::path::PathBuf;

use clap::Args;
use sessile::Sessions;
use sessile::operations::{Deleted, Deletion};
use sessile_display::measure::counted;
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::measure::{noun, size_words};
use crate::screen::{DIM, Line, Screen};
use crate::titles::Titles;

/// Move sessions to the trash
///
/// Uses the trash of the desktop, or the program `trash` if there is none. `sessile restore` and `sessile undo` bring
/// the sessions back, and so does the desktop. Forks of a deleted session are complete and not affected.
///
/// With --everywhere, the sessions are also removed from a remote. Your other machines move their files to the trash with
/// their next `sessile sync`; lines that only they have are in their trash, too. Before, the file here gets the lines that
/// only the remote has, so that the trash has all. If the remote cannot be reached, nothing is deleted. After `sessile
/// undo`, `sessile push SESSION --restore` puts a session on the remote again.
///
/// On a terminal the command asks for confirmation; elsewhere --yes is required. Exits with 1 if the answer is no.
///
/// A session that another program uses is not deleted (exit 4), unless --force is given. A session is in use if a pi
/// process runs in its directory or was started with it, if another sessile process has it open, or if a program wrote
/// to it in the last two minutes.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile delete @6 --dry-run
  $ sessile delete @5 @6 --yes
  $ sessile delete @5 --everywhere --yes")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct DeleteArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<PathBuf>,

    /// Delete them permanently; they cannot be restored
    #[arg(long)]
    permanent: bool,

    /// Also delete them from the remote, and thereby from your other machines
    #[cfg(feature = "remote")]
    #[arg(long, conflicts_with = "permanent")]
    everywhere: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Delete them even if other programs use them, or if the remote has lines that this machine cannot get
    #[arg(long)]
    force: bool,

    /// Show what would be done without deleting anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {operation?, sessions: [{path, id, size, trashed?, permanent?, everywhere?}]}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &DeleteArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let paths: Result<Vec<PathBuf>, Failure> = args.sessions.iter().map(|it| env.find_session(it)).collect();
    let paths = paths?;
    let sessions = env.sessions_for_removal(args.force);
    let mut deletion = Removal::new(env, sessions, args)?;
    if !args.dry_run && !args.yes {
        let planned = deletion.run(&paths, true)?;
        print(&Titles::of(env, &paths), &planned, err)?;
        let question = match (args.permanent, args.is_everywhere()) {
            (true, _) => "Delete permanently?",
            (false, true) => "Move to the trash here and on all your machines, and delete from the remote?",
            (false, false) => "Move to the trash?",
        };
        match input::confirm(question, err)? {
            Some(true) => {}
            Some(false) => {
                err.print_whole(&Line::new().text("nothing was deleted"))?;
                return Ok(Exit::Nothing);
            }
            None => return Err(Failure::Unconfirmed),
        }
    }
    // The titles cannot be read after the deletion.
    let titles = Titles::of(env, &paths);
    let deleted = deletion.run(&paths, args.dry_run)?;
    if args.json {
        write_value(out.data(), &answer::deleted(&deleted))?;
        return Ok(Exit::Done);
    }
    if args.dry_run || args.yes {
        print(&titles, &deleted, out)?;
    }
    let n_sessions = deleted.sessions.len();
    let sessions = if n_sessions == 1 { "1 session".to_owned() } else { format!("{n_sessions} sessions") };
    let words = match (&deleted.operation, args.permanent) {
        (None, true) => format!("{sessions} would be deleted permanently; nothing was changed"),
        (None, false) => format!("{sessions} would be moved to the trash; nothing was changed"),
        (Some(_), true) => format!("{sessions} deleted permanently"),
        (Some(id), false) => {
            let them = noun(n_sessions, "it", "them");
            let program = env.program();
            format!("{sessions} moved to the trash; `{program} undo {id}` brings {them} back")
        }
    };
    out.print_whole(&Line::new().text(&words))?;
    if args.is_everywhere() {
        print_everywhere(env, &deleted, out)?;
    }
    Ok(Exit::Done)
}

/// Prints what became, or would become, of the logs.
fn print_everywhere(env: &CommandEnvironment, deleted: &Deleted, out: &mut Screen<'_>) -> Result<(), Failure> {
    let n_buried = deleted.sessions.iter().filter(|session| session.is_on_remote).count();
    let sessions = counted(n_buried, "session", "sessions");
    let program = env.program();
    let words = match (&deleted.operation, n_buried) {
        (_, 0) => "nothing to delete on the remote".to_owned(),
        (None, _) => format!("{sessions} would be deleted from the remote, and from your other machines"),
        (Some(_), _) => format!(
            "{sessions} deleted from the remote; your other machines follow with their next `{program} sync`. After undo, \
             `{program} push SESSION --restore` makes {} there again",
            noun(n_buried, "it", "them")
        ),
    };
    Ok(out.print_whole(&Line::new().text(&words))?)
}

impl DeleteArgs {
    /// Whether the sessions are also deleted from a remote.
    #[cfg_attr(not(feature = "remote"), expect(clippy::unused_self, reason = "without remotes, never"))]
    pub(super) fn is_everywhere(&self) -> bool {
        #[cfg(feature = "remote")]
        return self.everywhere;
        #[cfg(not(feature = "remote"))]
        false
    }
}

/// How sessions are deleted.
struct Removal {
    sessions: Sessions,
    how: Deletion,
    /// The remote from which they are deleted, too.
    #[cfg(feature = "remote")]
    server: Option<(sessile::sync::remote::postgres::PostgresServer, sessile::Cancel)>,
}

impl Removal {
    /// Connects to the remote, if the sessions are deleted everywhere.
    #[cfg_attr(
        not(feature = "remote"),
        expect(unused_variables, clippy::unnecessary_wraps, reason = "without remotes, nothing is asked of them")
    )]
    fn new(env: &CommandEnvironment, sessions: Sessions, args: &DeleteArgs) -> Result<Self, Failure> {
        #[cfg(feature = "remote")]
        let server = if args.everywhere {
            let remote = super::sync::find_remote(env)?;
            Some((crate::remote::connect(env, &remote)?, crate::interrupt::on_interrupt()?))
        } else {
            None
        };
        Ok(Self {
            sessions,
            how: if args.permanent { Deletion::Permanent } else { Deletion::ToTrash },
            #[cfg(feature = "remote")]
            server,
        })
    }

    fn run(&mut self, paths: &[PathBuf], dry_run: bool) -> Result<Deleted, Failure> {
        #[cfg(feature = "remote")]
        if let Some((server, cancel)) = &mut self.server {
            return Ok(self.sessions.delete_everywhere(server, paths, dry_run, cancel)?);
        }
        Ok(self.sessions.delete(paths, self.how, dry_run)?)
    }
}

fn print(titles: &Titles, deleted: &Deleted, screen: &mut Screen<'_>) -> Result<(), Failure> {
    for session in &deleted.sessions {
        let start = Line::new().right(10, DIM, &size_words(session.size)).text("  ");
        screen.print(titles.put_after(start, &session.session))?;
    }
    Ok(())
}
