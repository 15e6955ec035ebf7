//! `sessile list`

use std::path::PathBuf;

use clap::Args;
use sessile::{ListOptions, Progress, SessionInfo};

use crate::Exit;
use crate::args::ListFormat;
use crate::data::{Layout, ListWriter};
use crate::failure::Failure;
use crate::screen::{ACCENT, DIM, Line, Screen};
use crate::surroundings::Surroundings;
use crate::table::{self, Columns};

/// List sessions, the most recently active first
#[derive(Debug, Default, Args)]
pub(crate) struct ListArgs {
    /// List the sessions of all directories
    ///
    /// With --session-dir, those in that directory whatever directory they belong to. The sample is always listed as a whole.
    #[arg(long)]
    all: bool,

    /// Look for sessions in DIR instead of where pi keeps them
    ///
    /// The variable `PI_CODING_AGENT_SESSION_DIR` does the same; this flag wins.
    #[arg(long, value_name = "DIR")]
    session_dir: Option<PathBuf>,

    /// Show the path of each file
    #[arg(long)]
    paths: bool,

    /// Add the texts of all messages to the JSON
    #[arg(long)]
    text: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &ListArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let sessions = find(surroundings, args, err)?;
    match args.format.layout() {
        Some(layout) => print_data(&sessions, args.text, layout, out)?,
        None if sessions.is_empty() => {}
        None => {
            let is_sample = surroundings.sample().is_some();
            let columns = Columns { place: is_sample, cwd: args.all || is_sample, path: args.paths };
            table::print(surroundings, out, &sessions, columns)?;
        }
    }
    if !sessions.is_empty() {
        return Ok(Exit::Done);
    }
    // What goes to standard error is for people, who may not be there.
    drop(say_nothing_found(surroundings, args, err));
    Ok(Exit::Nothing)
}

/// The sessions that are asked for.
pub(super) fn find(
    surroundings: &Surroundings,
    args: &ListArgs,
    err: &mut Screen<'_>,
) -> Result<Vec<SessionInfo>, Failure> {
    let dir = surroundings.session_dir(args.session_dir.as_deref());
    let mut was_shown = false;
    let mut show = |progress: Progress<'_>| {
        if progress.total >= MANY && (progress.loaded.is_multiple_of(10) || progress.loaded == progress.total) {
            let text = format!("reading {} of {}", progress.loaded, progress.total);
            was_shown = err.flash(Line::new().styled(DIM, &text)).is_ok();
        }
    };
    let mut options = ListOptions { texts: args.text, progress: Some(&mut show), cancel: None };
    let everything = args.all || (surroundings.sample().is_some() && args.session_dir.is_none());
    let found = if everything {
        surroundings.sessions.list_all(dir.as_deref(), &mut options)
    } else {
        surroundings.sessions.list(surroundings.cwd(), dir.as_deref(), &mut options)
    };
    if was_shown {
        drop(err.flash(Line::new()));
    }
    Ok(found?)
}

/// From how many files on it is worth showing how far we are.
const MANY: usize = 50;

fn say_nothing_found(surroundings: &Surroundings, args: &ListArgs, err: &mut Screen<'_>) -> std::io::Result<()> {
    let dir = surroundings.session_dir(args.session_dir.as_deref());
    let (what, hint) = if let Some(dir) = dir.as_deref().filter(|dir| !surroundings.is_directory(dir)) {
        (
            format!("there is no directory {}", dir.display()),
            "`sessile list --all` lists all sessions of pi's own store",
        )
    } else if let Some(dir) = dir.filter(|_| !args.all) {
        let cwd = surroundings.short(&surroundings.cwd().to_string_lossy());
        (format!("no sessions for {cwd} in {}", dir.display()), "add --all to list those of other directories as well")
    } else if args.all {
        ("no sessions found".to_owned(), "`sessile --sample` shows a made-up store")
    } else {
        let cwd = surroundings.short(&surroundings.cwd().to_string_lossy());
        (
            format!("no sessions for {cwd}"),
            "`sessile list --all` lists other directories, `sessile --sample` a made-up store",
        )
    };
    err.print_whole(&Line::new().text(&what))?;
    err.print_whole(&Line::new().styled(ACCENT, "hint:").text(" ").text(hint))
}

fn print_data(sessions: &[SessionInfo], texts: bool, layout: Layout, out: &mut Screen<'_>) -> Result<(), Failure> {
    let mut list = ListWriter::new(out.data(), layout);
    for session in sessions {
        list.push(session.to_json(texts).raw())?;
    }
    Ok(list.finish()?)
}
