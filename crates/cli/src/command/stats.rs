//! `sessile stats`

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use sessile::format::head::Role;
use sessile::stats::{Grouping, SessionStats, Stats, StatsGroup, StatsOptions, Tally};
use sessile_rpc::answer;

use super::list::{self, ListArgs};
use crate::args::SessionArg;
use crate::clock::Clock;
use crate::data;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::facts::{fact, usage_facts};
use crate::failure::Failure;
use crate::groups::{self, GroupTable, Plot};
use crate::interrupt::on_interrupt;
use crate::measure::{Money, money, noun, number};
use crate::progress::{Meter, Unit};
use crate::screen::{Line, Screen};
use crate::span::SpanArgs;

/// Count messages, tool calls, tokens and cost
///
/// Counts SESSION if given, else all sessions of this directory (with --repo, of this repository; with --all, of all
/// directories).
///
/// Counts an entry only once, even if forks and copies of its session contain it too: an entry is a copy if an older
/// one of these sessions has an entry with the same id and time. For a single SESSION, counts everything in its file,
/// as pi does, and shows the entries that it got from its parent separately.
///
/// With --since or --until, counts only entries from that time, and only sessions that contain such entries.
///
/// With --remote, counts the sessions of other members, too. Sessions whose lines are not on this machine count by what
/// their owners noted with the last push: only totals, and groups by session, project, repository or member. The output
/// says how many these are.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Count the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Count the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Group the counts by this; two kinds separated by a comma, such as week,project, give a row for each pair
    ///
    /// Days, weeks and months are in local time. Weeks follow ISO 8601 and start on Monday. For model and tool
    /// together, only calls are counted, because results do not name a model. A repository is the host and the path of
    /// the remote origin, so it is the same on all machines.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    by: Vec<By>,

    #[command(flatten)]
    span: SpanArgs,

    /// Draw a bar for the cost, or another figure, of each group; auto draws bars on terminals
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    plot: Plot,

    /// Print JSON: an object of counts, tokens, cost and groups
    ///
    /// Each group has the member key, or keys if you group by two kinds; the member by names the kinds.
    #[arg(long)]
    json: bool,

    /// Print CSV: a header, then a row for each group, or one row without --by
    ///
    /// The first columns are the keys of the group, named as in --by; for sessions they are followed by id and path.
    /// Then come sessions, messages, `user_messages`, `assistant_messages`, `tool_calls`, `tool_errors`,
    /// `input_tokens`, `output_tokens`, `cache_read_tokens`, `cache_write_tokens`, tokens, cost.
    ///
    /// `tool_calls` and `tool_errors` are empty unless you give SESSION, --since, --until, or --by with model, tool or
    /// a period. Text is quoted as in RFC 4180; an apostrophe precedes text that looks like a formula to a spreadsheet.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile stats @1
  $ sessile stats --all
  $ sessile stats --all --by model
  $ sessile stats --all --by day --since 2025-11-01
  $ sessile stats --all --by week,project
  $ sessile stats --all --by month --csv
  $ sessile stats --all --by tool --json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The model that answered
    Model,
    /// The day
    Day,
    /// The week
    Week,
    /// The month
    Month,
    /// The project of the remote, with --remote; else the repository, or the directory
    Project,
    /// The repository, by the address of origin
    Repository,
    /// The member that owns the session; needs --remote
    Member,
    /// The tool
    Tool,
    /// The session
    Session,
}

impl By {
    fn grouping(self) -> Grouping {
        match self {
            Self::Model => Grouping::Model,
            Self::Day => Grouping::Day,
            Self::Week => Grouping::Week,
            Self::Month => Grouping::Month,
            Self::Project => Grouping::Project,
            Self::Repository => Grouping::Repository,
            Self::Member => Grouping::Member,
            Self::Tool => Grouping::Tool,
            Self::Session => Grouping::Session,
        }
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &StatsArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let is_single_session = args.session.session.is_some() || args.session.chosen.is_some() || args.session.newest;
    let has_group_options = args.all || args.repo || !args.by.is_empty() || args.span.is_limited();
    if is_single_session && has_group_options {
        let message =
            "a single SESSION is counted as a whole; --all, --repo, --by, --since and --until cannot be used with it";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    if is_single_session {
        let path = env.find(&args.session)?;
        // Opened only to print its warnings.
        drop(env.open(&args.session, err)?);
        let stats = env.sessions.session_stats(&path, &env.relatives(&path)?)?;
        if args.json {
            data::write_value(out.data(), &answer::session_stats(&stats))?;
        } else if args.csv {
            let total = StatsGroup { sessions: Some(1), tally: stats.total.clone(), ..StatsGroup::default() };
            groups::write_csv(&[], &[total], true, out.data())?;
        } else {
            print_one(env, &stats, args.plot, out)?;
        }
        return Ok(Exit::Done);
    }
    let sessions = list::find(env, &ListArgs::of(args.all, args.repo), err)?;
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_all: u64| meter.update(n_done, n_all);
    let options = StatsOptions { on_progress: Some(&on_progress), ..args.options(env)? };
    let stats = meter.watch(Unit::Sessions, err, || env.sessions.stats(&sessions, &options))?;
    for path in &stats.unreadable {
        // A warning that cannot be printed is not an error.
        drop(warn(err, &format!("{} could not be read", path.display())));
    }
    if !args.json {
        // A message on standard error is optional; a failed write is ignored.
        drop(report_absent(&stats, err));
    }
    if args.json {
        data::write_value(out.data(), &answer::stats(&stats))?;
    } else if args.csv {
        print_csv(&stats, out)?;
    } else {
        print_many(env, args, &stats, out)?;
    }
    if sessions.is_empty() {
        // A message on standard error is optional; a failed write is ignored.
        drop(list::report_no_sessions(env, "stats", args.all || args.repo, err));
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Done)
}

/// Says how many sessions of other members are not on this machine.
fn report_absent(stats: &Stats, err: &mut Screen<'_>) -> std::io::Result<()> {
    let sessions = |number: usize| format!("{number} {}", noun(number, "session", "sessions"));
    if stats.estimated > 0 {
        let reason = "by what their owners noted, because their lines are not on this machine";
        err.print_whole(&Line::new().text(&format!("{} counted {reason}", sessions(stats.estimated))))?;
    }
    if stats.missing > 0 {
        let reason = "not counted, because their lines are not on this machine";
        let line = Line::new().text(&format!("{} {reason}", sessions(stats.missing)));
        err.print_whole(&line.text("; `sessile pull --all --team` fetches them"))?;
    }
    Ok(())
}

impl StatsArgs {
    fn options(&self, env: &CommandEnvironment) -> Result<StatsOptions<'static>, Failure> {
        let by: Vec<Grouping> = self.by.iter().map(|by| by.grouping()).collect();
        if by.len() > 2 || (by.len() == 2 && by.first() == by.last()) {
            let message = "--by accepts one kind of group, or two different ones";
            return Err(Failure::misuse(ErrorKind::ValueValidation, message));
        }
        if by.contains(&Grouping::Member) && !env.has_remote() {
            return Err(Failure::misuse(ErrorKind::MissingRequiredArgument, "--by member needs --remote NAME"));
        }
        let (since, until) = (self.span.since(env)?, self.span.until(env)?);
        Ok(StatsOptions { by, since, until, cancel: on_interrupt()?, on_progress: None })
    }
}

pub(crate) fn count(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a displayed number needs no precision")]
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

fn print_one(env: &CommandEnvironment, stats: &SessionStats, plot: Plot, out: &mut Screen<'_>) -> Result<(), Failure> {
    fact(out, "messages", &messages_words(&stats.total))?;
    let errors =
        if stats.total.tool_errors == 0 { String::new() } else { format!(", {} failed", stats.total.tool_errors) };
    fact(
        out,
        "tools",
        &format!("{} {}{errors}", count(stats.total.tool_calls), noun(stats.total.tool_calls, "call", "calls")),
    )?;
    usage_facts(&stats.total).iter().try_for_each(|(label, value)| fact(out, label, value))?;
    if let Some(copied) = stats.copied.as_ref().filter(|copied| copied.entries > 0) {
        let words = format!(
            "{} {} of these, worth {}, came from the parent session",
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
        let time = compaction.time.map(|time| Clock::new(env).full(time)).unwrap_or_default();
        let branch_note = if compaction.on_path { "" } else { ", on another branch" };
        fact(out, "compaction", &format!("at {tokens} tokens, {time}{branch_note}"))?;
    }
    if let Some(parent) = &stats.parent {
        fact(out, "forked from", &env.short(parent))?;
    }
    for fork in &stats.forks {
        fact(out, "forked into", &env.short(&fork.to_string_lossy()))?;
    }
    let money = Money::upto(stats.total.cost);
    let table = |by, groups| GroupTable { by, groups, knows_tools: true, money, plot };
    if stats.models.len() > 1 || stats.models.iter().any(|model| model.tally.cost > 0.0) {
        table(&[Grouping::Model], &stats.models).print(env, out)?;
    }
    if !stats.tools.is_empty() {
        table(&[Grouping::Tool], &stats.tools).print(env, out)?;
    }
    Ok(())
}

fn print_csv(stats: &Stats, out: &mut Screen<'_>) -> Result<(), Failure> {
    let total = [StatsGroup { sessions: Some(stats.sessions), tally: stats.total.clone(), ..StatsGroup::default() }];
    let groups = if stats.by.is_empty() { &total[..] } else { &stats.groups };
    Ok(groups::write_csv(&stats.by, groups, stats.knows_tools, out.data())?)
}

fn print_many(env: &CommandEnvironment, args: &StatsArgs, stats: &Stats, out: &mut Screen<'_>) -> Result<(), Failure> {
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
    usage_facts(&stats.total).iter().try_for_each(|(label, value)| fact(out, label, value))?;
    if stats.total.compactions > 0 {
        fact(out, "compactions", &count(stats.total.compactions))?;
    }
    if stats.copied > 0 && stats.total.entries > 0 {
        fact(
            out,
            "copies",
            &format!(
                "{} {} that forks share with other sessions were counted once",
                count(stats.copied),
                noun(stats.copied, "entry", "entries")
            ),
        )?;
    }
    if stats.groups.is_empty() {
        return Ok(());
    }
    let money = Money::upto(stats.total.cost);
    let Stats { by, groups, knows_tools, .. } = stats;
    let table = GroupTable { by, groups, knows_tools: *knows_tools, money, plot: args.plot };
    Ok(table.print(env, out)?)
}
