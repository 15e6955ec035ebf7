//! `sessile index`

use clap::{Args, Subcommand};
use sessile::caches::{CacheStatus, CacheUsage, Dropped, Rebuilding, Updated};
use sessile::date::Timestamp;
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::measure::{noun, size_words};
use crate::progress::{Meter, Unit};
use crate::screen::{BOLD, DIM, Line, NAMED, Screen};

/// Show, check, rebuild or remove the caches
///
/// Lists, searches and large sessions are fast because of caches: the catalogue, the text index and the outlines. All
/// of them are built from the sessions. You can remove them at any time without changing any result.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  $ sessile --sample index status\n  $ sessile index clear --dry-run")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print JSON: an object, like `index status`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the caches, how many sessions they cover, and their size
    Status {
        /// Print JSON: an object
        #[arg(long)]
        json: bool,
    },
    /// Compare the caches with every byte of the sessions, and drop wrong data
    ///
    /// Other programs may change a large session in the middle, which only a full read can detect. Exits with 1 if
    /// something was wrong.
    Check {
        /// Print JSON: an object with an array of the dropped data
        #[arg(long)]
        json: bool,
    },
    /// Rebuild the caches from the sessions
    Rebuild {
        /// Show what would be done without changing anything
        #[arg(long)]
        dry_run: bool,

        /// Print JSON: the status afterwards
        #[arg(long)]
        json: bool,
    },
    /// Remove the caches
    Clear {
        /// Show what would be done without changing anything
        #[arg(long)]
        dry_run: bool,

        /// Print JSON: an object of files and bytes
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &IndexArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let before = env.sessions.cache_status()?;
    match *args.action.as_ref().unwrap_or(&Action::Status { json: args.json }) {
        Action::Status { json } => print_status(env, &before, json, out),
        Action::Check { json } => check(env, json, out, err),
        Action::Rebuild { json: false, .. } | Action::Clear { json: false, .. } if before.root.is_none() => {
            let whose = if env.sample().is_some() { "the sample has" } else { "there are" };
            out.print_whole(&Line::new().styled(NAMED, &format!("{whose} no caches; nothing was changed")))?;
            Ok(Exit::Done)
        }
        Action::Rebuild { dry_run: true, json } => {
            if json {
                return print_status(env, &before, true, out);
            }
            let words = format!("{} would be read and indexed; nothing was changed", sessions(before.n_sessions));
            out.print_whole(&Line::new().styled(NAMED, &words))?;
            Ok(Exit::Done)
        }
        Action::Rebuild { dry_run: false, json } => {
            if rebuild(env, err)? == Updated::Busy {
                return Ok(report_busy(err));
            }
            let after = env.sessions.cache_status()?;
            if json {
                return print_status(env, &after, true, out);
            }
            let entries = noun(after.n_entries, "entry", "entries");
            let words = format!("{} and {} {entries} are indexed", sessions(after.n_searchable), after.n_entries);
            out.print_whole(&Line::new().styled(NAMED, &words))?;
            Ok(Exit::Done)
        }
        Action::Clear { dry_run, json } => {
            if !dry_run && !env.sessions.clear_caches()? {
                return Ok(report_busy(err));
            }
            Ok(print_cleared(&before, dry_run, json, out)?)
        }
    }
}

fn check(env: &CommandEnvironment, json: bool, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<Exit, Failure> {
    let cancel = on_interrupt()?;
    let Some(dropped) = env.sessions.check_caches(&cancel)? else { return Ok(report_busy(err)) };
    let exit = if dropped.iter().any(|dropped| dropped.is_wrong) { Exit::Nothing } else { Exit::Done };
    if json {
        write_value(out.data(), &answer::checked_caches(&dropped))?;
        return Ok(exit);
    }
    for Dropped { cache, path, is_wrong } in &dropped {
        let reason = if *is_wrong { "was wrong" } else { "could not be verified" };
        let path = env.short(&path.to_string_lossy());
        out.print_whole(&Line::new().styled(DIM, cache).pad(NAME).text(&path).text(" ").styled(NAMED, reason))?;
    }
    let words = match dropped.len() {
        0 => "all caches are correct".to_owned(),
        n_dropped => format!("{n_dropped} dropped; dropped caches are rebuilt when needed"),
    };
    out.print_whole(&Line::new().styled(NAMED, &words))?;
    Ok(exit)
}

fn rebuild(env: &CommandEnvironment, err: &mut Screen<'_>) -> Result<Updated, Failure> {
    let cancel = on_interrupt()?;
    let meter = Meter::default();
    let on_progress = |progress: Rebuilding| match progress {
        // Listing takes a fraction of the time and needs no separate progress bar.
        Rebuilding::Listing { .. } => {}
        Rebuilding::Indexing { n_done, n_bytes } => meter.update(n_done, n_bytes),
    };
    Ok(meter.watch(Unit::Bytes, err, || env.sessions.rebuild_caches(&cancel, &on_progress))?)
}

fn report_busy(err: &mut Screen<'_>) -> Exit {
    // A message on standard error is optional; a failed write is ignored.
    drop(err.print_whole(&Line::new().text("another process is updating the index")));
    Exit::Busy
}

fn print_cleared(before: &CacheStatus, dry_run: bool, json: bool, out: &mut Screen<'_>) -> std::io::Result<Exit> {
    if json {
        write_value(out.data(), &answer::cleared_caches(before))?;
    } else {
        let n_files: usize = before.usages.iter().map(|usage| usage.n_files).sum();
        let n_bytes: u64 = before.usages.iter().map(|usage| usage.n_bytes).sum();
        let freed = if dry_run { "would be freed; nothing was changed" } else { "freed" };
        let words = format!("{} in {n_files} {} {freed}", size_words(n_bytes), noun(n_files, "file", "files"));
        out.print_whole(&Line::new().styled(NAMED, &words))?;
    }
    Ok(Exit::Done)
}

fn print_status(
    env: &CommandEnvironment,
    status: &CacheStatus,
    json: bool,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if json {
        write_value(out.data(), &answer::cache_status(status))?;
        return Ok(Exit::Done);
    }
    let root = status.root.as_ref().map(|root| env.short(&root.to_string_lossy()));
    out.print_whole(&Line::new().styled(BOLD, root.as_deref().unwrap_or("no caches")))?;
    for usage in &status.usages {
        out.print_whole(&usage_line(env, usage))?;
    }
    out.blank()?;
    let stale = |n_known: usize| match status.n_sessions - n_known.min(status.n_sessions) {
        0 => String::new(),
        n_stale => format!(", {n_stale} to be read again"),
    };
    let line = |label: &str, text: String| Line::new().styled(DIM, label).pad(NAME).text(&text);
    out.print_whole(&line("sessions", status.n_sessions.to_string()))?;
    out.print_whole(&line("listed", format!("{}{}", status.n_listed, stale(status.n_listed))))?;
    let unread = match status.n_uncovered {
        0 => String::new(),
        n_bytes => format!(" ({} read at each search)", size_words(n_bytes)),
    };
    out.print_whole(&line("searchable", format!("{}{}{unread}", status.n_searchable, stale(status.n_searchable))))?;
    let (entries, segments) =
        (noun(status.n_entries, "entry", "entries"), noun(status.n_segments, "segment", "segments"));
    let text = format!("{} {entries} in {} {segments}", status.n_entries, status.n_segments);
    out.print_whole(&line("text index", text))?;
    Ok(Exit::Done)
}

/// The width of the first column.
const NAME: usize = 14;

fn usage_line(env: &CommandEnvironment, usage: &CacheUsage) -> Line {
    let label = match usage.directory {
        "catalogue" => "lists",
        "outlines" => "outlines",
        "text" => "text index",
        _ => "file states",
    };
    let files = if usage.n_files == 1 { "file" } else { "files" };
    let line = Line::new().styled(DIM, label).pad(NAME).text(&format!("{} {files}", usage.n_files)).pad(NAME + 12);
    let line = line.text(&size_words(usage.n_bytes)).pad(NAME + 24);
    match usage.newest_ms {
        None => line,
        Some(newest) => {
            let now = env.now();
            line.styled(
                DIM,
                &format!(
                    "written {} ago",
                    crate::table::age(now, Timestamp::from_ms(newest)).replace("now", "less than 1m")
                ),
            )
        }
    }
}

fn sessions(number: usize) -> String {
    format!("{number} {}", if number == 1 { "session" } else { "sessions" })
}
