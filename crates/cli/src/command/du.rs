//! `sessile du`

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use sessile::disk::{DiskOptions, DiskUse, DiskUses};
use sessile::format::bulk::{Bulk, Weights};
use sessile::list::SessionInfo;
use sessile_display::measure::counted;
use sessile_rpc::answer;

use super::list::{self, ListArgs};
use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::measure::size_words;
use crate::progress::{Meter, Unit};
use crate::screen::{BOLD, DIM, Line, NAMED, PLAIN, Screen, clean, columns};

/// Show disk usage by type: images, tool output, extension data and so on
///
/// Covers SESSION if given, else the sessions of this directory (with --repo, of this repository; with --all, of all
/// directories). Shows the totals by type, then the largest sessions.
///
/// The sizes are file sizes and add up exactly; copies in forks take space, so they count. A compaction is superseded
/// if a newer one on the current branch has replaced it. "Other" is ids, times, usage and entries of all other types.
///
/// `sessile slim` can remove data outside the context; `sessile clean` removes files that rewrites have left beside
/// sessions.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile du @1
  $ sessile du --all
  $ sessile du --all --sort outputs --limit 3
  $ sessile du --all --json")]
pub(crate) struct DuArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Include the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Include the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Sort sessions by this
    #[arg(long, value_name = "BY", default_value = "size")]
    sort: SortArg,

    /// Show at most N sessions, 0 for all; by default 10, or all in JSON
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print JSON: {size, sessions, types, outsideContext, groups}
    ///
    /// A group, and the value for one SESSION, is {path, id, name?, cwd?, size, types, outsideContext}. Types are bytes
    /// by name: images, toolOutput, toolCalls, thinking, text, summaries, supersededCompactions, extensionData, other
    /// and damagedLines; they add up to size. outsideContext is the bytes of images, tool output and extension data
    /// that are not part of the current context.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SortArg {
    /// The size of the file
    #[default]
    Size,
    /// Images
    Images,
    /// Tool output
    Outputs,
    /// Extension data
    Custom,
    /// Text
    Text,
    /// Data outside the context
    Outside,
    /// The last activity
    Recent,
    /// The name, or else the first message
    Name,
}

impl SortArg {
    /// Returns the type that the order is about, if any.
    fn bulk(self) -> Option<Bulk> {
        match self {
            Self::Images => Some(Bulk::Images),
            Self::Outputs => Some(Bulk::ToolOutput),
            Self::Custom => Some(Bulk::ExtensionData),
            Self::Text => Some(Bulk::Text),
            Self::Size | Self::Outside | Self::Recent | Self::Name => None,
        }
    }
}

/// The default number of sessions shown to people.
const DEFAULT_LIMIT: usize = 10;

pub(super) fn run(
    env: &CommandEnvironment,
    args: &DuArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let is_single_session = args.session.session.is_some() || args.session.chosen.is_some() || args.session.newest;
    if is_single_session && (args.all || args.repo) {
        let message = "--all and --repo cannot be used with SESSION";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_all: u64| meter.update(n_done, n_all);
    let options = DiskOptions { cancel: on_interrupt()?, on_progress: Some(&on_progress) };
    if is_single_session {
        let path = env.find(&args.session)?;
        let disk_use = meter.watch(Unit::Bytes, err, || env.sessions.disk_use(&path, &options))?;
        if args.json {
            write_value(out.data(), &answer::disk_use(&disk_use, None))?;
        } else {
            print_types(&disk_use.weights, "total", out)?;
            print_outside(disk_use.outside_context, out)?;
        }
        return Ok(Exit::Done);
    }
    let sessions = list::find(env, &ListArgs::of(args.all, args.repo), err)?;
    let uses = meter.watch(Unit::Bytes, err, || env.sessions.disk_uses(&sessions, &options))?;
    for path in &uses.unreadable {
        // A warning that cannot be printed is not an error.
        drop(warn(err, &format!("{} could not be read", path.display())));
    }
    let rows = args.sorted_rows(&sessions, &uses);
    if args.json {
        write_value(out.data(), &answer::disk_uses(&uses, &rows))?;
    } else if !uses.sessions.is_empty() {
        let total = format!("total of {}", counted(uses.sessions.len(), "session", "sessions"));
        print_types(&uses.weights(), &total, out)?;
        print_outside(uses.outside_context(), out)?;
        print_sessions(env, args.sort.bulk(), &rows, uses.sessions.len(), out)?;
    }
    if sessions.is_empty() {
        // A message on standard error is optional; a failed write is ignored.
        drop(list::report_no_sessions(env, "du", args.all || args.repo, err));
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Done)
}

impl DuArgs {
    /// Returns the sessions to show, in order.
    fn sorted_rows<'s>(&self, sessions: &'s [SessionInfo], uses: &'s DiskUses) -> Vec<(&'s SessionInfo, &'s DiskUse)> {
        let mut rows: Vec<_> = uses.sessions.iter().map(|(index, disk_use)| (&sessions[*index], disk_use)).collect();
        let size = |disk_use: &DiskUse| match self.sort {
            SortArg::Outside => disk_use.outside_context,
            sort => sort.bulk().map_or(disk_use.size(), |bulk| disk_use.weights[bulk]),
        };
        match self.sort {
            // The list is already in this order.
            SortArg::Recent => {}
            SortArg::Name => rows.sort_by_cached_key(|(session, _)| title(session).to_lowercase()),
            _ => rows.sort_by_key(|(_, disk_use)| std::cmp::Reverse(size(disk_use))),
        }
        let default_limit = if self.json { 0 } else { DEFAULT_LIMIT };
        match self.limit.unwrap_or(default_limit) {
            0 => {}
            limit => rows.truncate(limit),
        }
        rows
    }
}

fn title(session: &SessionInfo) -> String {
    session.name.as_ref().unwrap_or(&session.first_message).to_str().trim().to_owned()
}

/// Minimum width of a title.
const LEAST_TITLE: usize = 20;

/// Maximum width of a title.
const MAX_TITLE: usize = 80;

/// The width of the size column.
const SIZE: usize = 10;

fn print_types(weights: &Weights, total: &str, out: &mut Screen<'_>) -> Result<(), Failure> {
    for (bulk, bytes) in weights.heaviest_first() {
        let share = Line::new().right(SIZE, PLAIN, &size_words(bytes)).right(SIZE + 8, DIM, &percent(bytes, weights));
        out.print(share.text("  ").text(bulk.words()))?;
    }
    let line = Line::new().right(SIZE, BOLD, &size_words(weights.total())).pad(SIZE + 8);
    Ok(out.print(line.text("  ").styled(BOLD, total))?)
}

/// Prints how much could be slimmed.
fn print_outside(outside: u64, out: &mut Screen<'_>) -> Result<(), Failure> {
    if outside == 0 {
        return Ok(());
    }
    let words = "of images, tool output and extension data outside the context";
    let line = Line::new().right(SIZE, PLAIN, &size_words(outside)).pad(SIZE + 8).text("  ").styled(DIM, words);
    Ok(out.print(line)?)
}

#[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
fn percent(bytes: u64, weights: &Weights) -> String {
    format!("{:.1}%", bytes as f64 * 100.0 / (weights.total() as f64).max(1.0))
}

fn print_sessions(
    env: &CommandEnvironment,
    sort_type: Option<Bulk>,
    rows: &[(&SessionInfo, &DiskUse)],
    n_sessions: usize,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    out.blank()?;
    let has_positions = env.stores_positions();
    let begin = if has_positions { 5 } else { 0 };
    let largest_types: Vec<String> =
        rows.iter().map(|(_, disk_use)| largest_types(&disk_use.weights, sort_type)).collect();
    let widest = largest_types.iter().map(String::len).max().unwrap_or_default();
    let title_start = begin + SIZE + 2;
    let available = out.width().saturating_sub(title_start);
    // A narrow terminal only has room for the title.
    let is_wide = available >= LEAST_TITLE + 2 + widest;
    let widest_title = rows.iter().map(|(session, _)| columns(&clean(&title(session)))).max().unwrap_or_default();
    let title_width = if is_wide { available - widest - 2 } else { available };
    let title_end = title_start + widest_title.min(title_width).min(MAX_TITLE);
    for (index, ((session, disk_use), largest_types)) in rows.iter().zip(&largest_types).enumerate() {
        let line = if has_positions { Line::new().styled(DIM, &format!("@{}", index + 1)) } else { Line::new() };
        let line = line.pad(begin).right(begin + SIZE, PLAIN, &size_words(disk_use.size())).text("  ");
        let style = if session.name.is_some() { NAMED } else { PLAIN };
        let line = line.styled(style, &title(session)).cut(title_end);
        out.print(if is_wide { line.pad(title_end + 2).styled(DIM, largest_types) } else { line })?;
    }
    if n_sessions > rows.len() {
        let words = format!("and {} more; --limit 0 shows all", n_sessions - rows.len());
        out.print(Line::new().pad(title_start).styled(DIM, &words))?;
    }
    env.store_positions(rows.iter().map(|(session, _)| session.path.as_path()));
    Ok(())
}

/// Returns the requested type, else the two largest types.
fn largest_types(weights: &Weights, sort_type: Option<Bulk>) -> String {
    let share = |bulk: Bulk, bytes: u64| format!("{} {}", bulk.words(), percent(bytes, weights));
    if let Some(bulk) = sort_type {
        return format!("{}, {}", share(bulk, weights[bulk]), size_words(weights[bulk]));
    }
    let types = weights.heaviest_first();
    types.iter().take(2).map(|(bulk, bytes)| share(*bulk, *bytes)).collect::<Vec<_>>().join(", ")
}
