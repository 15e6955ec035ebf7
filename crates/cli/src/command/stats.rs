//! `sessile stats`

use std::fmt::Write;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use sessile::head::Role;
use sessile::{Grouping, SessionStats, Stats, StatsGroup, StatsOptions, Tally};

use super::info::relatives;
use super::list::{self, ListArgs};
use crate::Exit;
use crate::args::{SessionArg, SpanArgs};
use crate::clock::Clock;
use crate::data;
use crate::facts::fact;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::measure::noun;
use crate::progress::{Meter, Unit};
use crate::screen::{DIM, Line, PLAIN, Screen, clean, columns};
use crate::surroundings::{Surroundings, warn};

/// Count what sessions took: messages, tools, tokens and money
///
/// Of one session if it is named, else of all sessions of this directory, of this repository, or of everything.
///
/// What was copied into a fork is counted once. Sessions that were forked from one another, and copies of one session,
/// are counted together: an entry with an id and time that was met in an older one of them adds nothing. Of a single
/// SESSION everything in its file is counted, as pi does, and what it was forked with is told beside it.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Count the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Count the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Show what each of these took
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,

    #[command(flatten)]
    span: SpanArgs,

    /// Print JSON: an object of counts, tokens and cost, and of groups
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile stats @1
  $ sessile stats --all
  $ sessile stats --all --by model
  $ sessile stats --all --by day --since 2025-11-01
  $ sessile stats --all --by tool --json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Model,
    Day,
    Project,
    Tool,
    Session,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &StatsArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let is_one = args.session.session.is_some() || args.session.chosen.is_some() || args.session.newest;
    let is_chosen = args.all || args.repo || args.by.is_some() || args.span.is_given();
    if is_one && is_chosen {
        let what = "a SESSION is counted as a whole; --all, --repo, --by, --since and --until go without one";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, what));
    }
    if is_one {
        let path = surroundings.find(&args.session)?;
        // Opened for its warnings alone.
        drop(surroundings.open(&args.session, err)?);
        let stats = surroundings.sessions.session_stats(&path, &relatives(surroundings, &path)?)?;
        if args.json {
            data::write_value(out.data(), &stats.to_json())?;
        } else {
            print_one(surroundings, &stats, out)?;
        }
        return Ok(Exit::Done);
    }
    let sessions = list::find(surroundings, &ListArgs::of(args.all, args.repo), err)?;
    let meter = Meter::default();
    let note = |n_done: u64, n_all: u64| meter.note(n_done, n_all);
    let options = StatsOptions { on_progress: Some(&note), ..args.options(surroundings)? };
    let stats = meter.watch(Unit::Sessions, err, || surroundings.sessions.stats(&sessions, &options))?;
    for path in &stats.unreadable {
        // Not worth failing for if it cannot be told.
        drop(warn(err, &format!("{} could not be read", path.display())));
    }
    if args.json {
        data::write_value(out.data(), &stats.to_json())?;
    } else {
        print_many(surroundings, args, &stats, out)?;
    }
    if sessions.is_empty() {
        // What goes to standard error is for people, who may not be there.
        drop(list::say_no_sessions(surroundings, "stats", args.all || args.repo, err));
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Done)
}

impl StatsArgs {
    fn options(&self, surroundings: &Surroundings) -> Result<StatsOptions<'static>, Failure> {
        let grouping = match self.by {
            None => Grouping::Nothing,
            Some(By::Model) => Grouping::Model,
            Some(By::Day) => Grouping::Day,
            Some(By::Project) => Grouping::Project,
            Some(By::Tool) => Grouping::Tool,
            Some(By::Session) => Grouping::Session,
        };
        let (since, until) = (self.span.since(surroundings)?, self.span.until(surroundings)?);
        Ok(StatsOptions { grouping, since, until, cancel: Some(on_interrupt()?), on_progress: None })
    }
}

/// Tokens and money in words, as far as there is anything to say.
pub(super) fn figures(tally: &Tally) -> Vec<(&'static str, String)> {
    let tokens = &tally.tokens;
    let mut rows = Vec::new();
    if tokens.total() > 0.0 {
        let sent = tokens.input + tokens.cache_read + tokens.cache_write;
        let mut words = format!("{} in, {} out", number(sent), number(tokens.output));
        if let Some(rate) = tally.cache_hit_rate().filter(|_| tokens.cache_read + tokens.cache_write > 0.0) {
            let (read, written) = (number(tokens.cache_read), number(tokens.cache_write));
            // Writing to a string cannot fail.
            write!(words, "; {read} from the cache ({:.1}%), {written} written to it", rate * 100.0).ok();
        }
        rows.push(("tokens", words));
    }
    if tally.cost > 0.0 {
        rows.push(("cost", money(tally.cost)));
    }
    rows
}

/// A whole number with its thousands apart.
pub(super) fn number(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn money(dollars: f64) -> String {
    if dollars >= 100.0 { format!("${}", number(dollars)) } else { format!("${dollars:.3}") }
}

fn count(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown for people")]
    number(count as f64)
}

fn messages_words(tally: &Tally) -> String {
    let roles = [
        (Role::User, "user"),
        (Role::Assistant, "assistant"),
        (Role::ToolResult, "tool results"),
        (Role::BashExecution, "shell"),
        (Role::System, "system"),
    ];
    let some = roles.into_iter().filter(|(role, _)| tally.messages.of(*role) > 0);
    let some: Vec<String> = some.map(|(role, word)| format!("{} {word}", count(tally.messages.of(role)))).collect();
    let colon = if some.is_empty() { "" } else { ": " };
    format!("{}{colon}{}", count(tally.messages.total()), some.join(", "))
}

fn print_one(surroundings: &Surroundings, stats: &SessionStats, out: &mut Screen<'_>) -> Result<(), Failure> {
    fact(out, "messages", &messages_words(&stats.total))?;
    let errors =
        if stats.total.tool_errors == 0 { String::new() } else { format!(", {} failed", stats.total.tool_errors) };
    fact(
        out,
        "tools",
        &format!("{} {}{errors}", count(stats.total.tool_calls), noun(stats.total.tool_calls, "call", "calls")),
    )?;
    figures(&stats.total).iter().try_for_each(|(what, value)| fact(out, what, value))?;
    if let Some(copied) = stats.copied.as_ref().filter(|copied| copied.entries > 0) {
        let words = format!(
            "{} {} of these, worth {}, were there when it was forked",
            count(copied.entries),
            noun(copied.entries, "entry", "entries"),
            money(copied.cost)
        );
        fact(out, "copied", &words)?;
    }
    let shape = &stats.shape;
    let kinds: Vec<String> =
        stats.branch_kinds.iter().map(|(kind, count)| format!("{count} {}", kind.word())).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let branches = if shape.leaves == 1 { "1 branch".to_owned() } else { format!("{} branches", shape.leaves) };
    let points = match shape.branch_points {
        0 => String::new(),
        1 => format!(" from 1 branch point{kinds}"),
        count => format!(" from {count} branch points{kinds}"),
    };
    let words = format!("{branches}{points}, {} {} deep", shape.deepest, noun(shape.deepest, "entry", "entries"));
    fact(out, "tree", &words)?;
    for compaction in &stats.compactions {
        let tokens = compaction.tokens_before.map_or_else(|| "?".to_owned(), number);
        let time = compaction.time.map(|time| Clock::new(surroundings).full(time)).unwrap_or_default();
        let place = if compaction.on_path { "" } else { ", on another branch" };
        fact(out, "compaction", &format!("at {tokens} tokens, {time}{place}"))?;
    }
    if let Some(parent) = &stats.parent {
        fact(out, "forked from", &surroundings.short(parent))?;
    }
    for fork in &stats.forks {
        fact(out, "forked into", &surroundings.short(&fork.to_string_lossy()))?;
    }
    if stats.models.len() > 1 || stats.models.iter().any(|model| model.tally.cost > 0.0) {
        print_groups(surroundings, "model", &stats.models, true, out)?;
    }
    if !stats.tools.is_empty() {
        print_groups(surroundings, "tool", &stats.tools, true, out)?;
    }
    Ok(())
}

fn print_many(
    surroundings: &Surroundings,
    args: &StatsArgs,
    stats: &Stats,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let forks = if stats.forks == 0 { String::new() } else { format!(", {} of them forks", stats.forks) };
    let branched = if stats.branched == 0 { String::new() } else { format!(", {} with branches", stats.branched) };
    fact(out, "sessions", &format!("{}{forks}{branched}", stats.sessions))?;
    fact(out, "messages", &messages_words(&stats.total))?;
    if stats.knows_tools {
        fact(
            out,
            "tools",
            &format!("{} calls, {} failed", count(stats.total.tool_calls), count(stats.total.tool_errors)),
        )?;
    }
    figures(&stats.total).iter().try_for_each(|(what, value)| fact(out, what, value))?;
    if stats.total.compactions > 0 {
        fact(out, "compactions", &count(stats.total.compactions))?;
    }
    if stats.copied > 0 && stats.total.entries > 0 {
        fact(
            out,
            "copies",
            &format!(
                "{} {} that forks share with others were counted once",
                count(stats.copied),
                noun(stats.copied, "entry", "entries")
            ),
        )?;
    }
    let what = match args.by {
        None => return Ok(()),
        Some(By::Model) => "model",
        Some(By::Day) => "day",
        Some(By::Project) => "project",
        Some(By::Tool) => "tool",
        Some(By::Session) => "session",
    };
    print_groups(surroundings, what, &stats.groups, stats.knows_tools, out)
}

/// The columns of a table of groups behind the first one, and how wide they are.
const COLUMNS: [(&str, usize); 6] =
    [("messages", 10), ("calls", 8), ("failed", 8), ("tokens", 16), ("cached", 8), ("cost", 10)];

fn print_groups(
    surroundings: &Surroundings,
    what: &str,
    groups: &[StatsGroup],
    knows_tools: bool,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let has = |wanted: fn(&Tally) -> bool| groups.iter().any(|group| wanted(&group.tally));
    let shown = [
        has(|tally| tally.messages.total() > 0),
        knows_tools && has(|tally| tally.tool_calls > 0),
        knows_tools && has(|tally| tally.tool_errors > 0),
        has(|tally| tally.tokens.total() > 0.0),
        has(|tally| tally.tokens.cache_read > 0.0),
        has(|tally| tally.cost > 0.0),
    ];
    let n_columns: usize = COLUMNS.iter().zip(shown).filter(|(_, shown)| *shown).map(|((_, width), _)| width).sum();
    let names: Vec<String> = groups.iter().map(|group| name_of(surroundings, what, group)).collect();
    let widest = names.iter().map(|name| columns(&clean(name))).max().unwrap_or_default().max(what.len());
    let first = widest.min(out.width().saturating_sub(n_columns).max(10));
    out.blank()?;
    let table_row = |name: Line, cells: [String; 6], style| {
        let mut end = first;
        let cells = cells.into_iter().zip(COLUMNS).zip(shown).filter(|(_, shown)| *shown);
        cells.fold(name.cut(first), |line, ((cell, (_, width)), _)| {
            end += width;
            line.right(end, style, &cell)
        })
    };
    out.print(table_row(Line::new().styled(DIM, what), COLUMNS.map(|(word, _)| word.to_owned()), DIM))?;
    for (group, name) in groups.iter().zip(&names) {
        let tally = &group.tally;
        let or_nothing = |value: String, is_some: bool| if is_some { value } else { String::new() };
        let cells = [
            or_nothing(count(tally.messages.total()), tally.messages.total() > 0),
            or_nothing(count(tally.tool_calls), tally.tool_calls > 0),
            or_nothing(count(tally.tool_errors), tally.tool_errors > 0),
            or_nothing(number(tally.tokens.total()), tally.tokens.total() > 0.0),
            tally.cache_hit_rate().map(|rate| format!("{:.1}%", rate * 100.0)).unwrap_or_default(),
            or_nothing(money(tally.cost), tally.cost > 0.0),
        ];
        out.print(table_row(Line::new().text(name), cells, PLAIN))?;
    }
    Ok(())
}

fn name_of(surroundings: &Surroundings, what: &str, group: &StatsGroup) -> String {
    match (what, group.key.trim()) {
        ("project", "") => "(unknown)".to_owned(),
        ("project", path) => surroundings.short(path),
        (_, key) => key.to_owned(),
    }
}
