//! `sessile branch`

use clap::Args;
use sessile::branch::{BranchSummary, NavigateOptions};
use sessile::compaction::{Generator, SummaryProgress};
use sessile::operations::Step;
use sessile::os::RealOs;
use sessile::{EntryId, SessionManager};
use sessile_rpc::answer;

use crate::args::{SessionArg, required};
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::interrupt::on_interrupt;
use crate::screen::{DIM, Line, Screen};
use crate::summarizing::SummaryDisplay;

/// Move the leaf of a session to an entry, to continue from there
///
/// Without a summary, the session file is not changed: Sessile keeps the leaf separately until the next append, and the
/// next `sessile append` adds its entry there. `sessile undo` moves the leaf back.
///
/// A summary of the branch you leave is appended at ENTRY, so every program continues after it. --summary and
/// --summary-with generate one, like `sessile compact`; --summary-text takes your own text.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
#[command(after_long_help = "Examples:
  $ sessile branch @1 @leaf~3
  $ sessile branch @1 @leaf~3 --summary
  $ sessile branch @1 @leaf~3 --summary-with \"Only what went wrong.\"
  $ sessile branch @1 @leaf~3 --summary-text \"Tried local time inside predict; it mixes zones.\"
  $ sessile branch @1 --reset")]
pub(crate) struct BranchArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry to move the leaf to
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// Move the leaf to the start, before the first entry
    #[arg(long, conflicts_with = "entry")]
    reset: bool,

    /// Generate a summary of the branch you leave
    #[arg(long, conflicts_with = "reset")]
    summary: bool,

    /// Like --summary, with instructions for what the summary should focus on
    #[arg(long, value_name = "INSTRUCTIONS", conflicts_with = "reset")]
    summary_with: Option<String>,

    /// Append TEXT as the summary; standard input if TEXT is omitted or `-`
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "-")]
    #[arg(conflicts_with_all = ["summary", "summary_with"])]
    summary_text: Option<String>,

    /// Use this model for the summary, as provider/model; `session` means the model that the session used last
    #[arg(long, value_name = "MODEL", conflicts_with = "summary_text")]
    model: Option<String>,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {dryRun?, changed, change, entryId?, operation?, original?}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &BranchArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry]) = args.session.with_words([args.entry.as_deref()]);
    let path = env.find(&session)?;
    let session = env.open(&session, err)?;
    let entry = if args.reset { None } else { Some(session.find_entry(&required(entry, "ENTRY")?)?) };
    let summary = match &args.summary_text {
        Some(text) => {
            let summary = input::text(Some(text.as_str()).filter(|text| *text != "-"), "the summary")?;
            Some(BranchSummary { summary, ..BranchSummary::default() })
        }
        None => written_summary(env, args, &session, entry.as_ref(), err)?,
    };
    drop(session);
    let moved = env.sessions.move_leaf(path, entry.as_ref(), summary.as_ref(), args.dry_run)?;
    env.report_upgrade(moved.original.as_deref(), err)?;
    if args.json {
        write_value(out.data(), &answer::annotated(&moved, args.dry_run))?;
        return Ok(Exit::Done);
    }
    let Step::Leaf { before, after, .. } = &moved.step else { return Ok(Exit::Done) };
    let position =
        |id: &Option<_>| id.as_ref().map_or_else(|| "before the first entry".to_owned(), |id| format!("at {id}"));
    let would = if args.dry_run { "would be" } else { "is" };
    if let Some(summary) = summary.as_ref().filter(|_| args.dry_run) {
        summary.summary.lines().try_for_each(|line| out.print_whole(&Line::new().styled(DIM, line)))?;
    }
    let message = if !moved.is_change {
        format!("the leaf is already {}", position(before))
    } else if let Some(summary) = moved.entry_id.as_ref().or(after.as_ref()).filter(|_| moved.entry_id.is_some()) {
        format!("the leaf is the summary {summary}, {}; it was {}", position(after), position(before))
    } else {
        format!("the leaf {would} {}; it was {}", position(after), position(before))
    };
    out.print_whole(&Line::new().text(&message))?;
    Ok(Exit::Done)
}

/// Writes a summary of the branch that is left, if one is wanted and any entries are left behind.
///
/// The rule costs nothing and also runs in a dry run; a model or program is only called if its answer is kept.
fn written_summary(
    env: &CommandEnvironment,
    args: &BranchArgs,
    session: &SessionManager,
    entry: Option<&EntryId>,
    err: &mut Screen<'_>,
) -> Result<Option<BranchSummary>, Failure> {
    let (true, Some(entry)) = (args.summary || args.summary_with.is_some() || args.model.is_some(), entry) else {
        return Ok(None);
    };
    let summarizer = env.summarizer(args.model.as_deref())?;
    if args.dry_run && summarizer.generator() != Generator::Extractive {
        return Ok(None);
    }
    let mut display = SummaryDisplay::begin(summarizer.generator(), err);
    let mut progress = |progress: SummaryProgress<'_>| display.report(progress);
    let options = NavigateOptions {
        custom_instructions: args.summary_with.clone(),
        settings: env.settings.branch_summary(env.own_environment(), &RealOs)?,
        cancel: on_interrupt()?,
        ..NavigateOptions::default()
    };
    let summary = session.summarize_left(entry.clone(), &options, summarizer.as_ref(), &mut progress);
    display.end();
    Ok(summary?)
}
