//! `sessile branch`

use clap::Args;
use sessile::{BranchSummary, Step};

use crate::Exit;
use crate::args::{SessionArg, required};
use crate::data::write_value;
use crate::failure::Failure;
use crate::input;
use crate::screen::{Line, Screen};
use crate::surroundings::Surroundings;

/// Move the leaf of a session to an entry, to go on from there
///
/// Nothing is written to the session: where its leaf is, is remembered until somebody adds to it, and the next
/// `sessile append` hangs its entry there. With a summary of what happened on the branch that is left, that is appended
/// there, and every program goes on behind it. `sessile undo` moves the leaf back.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile branch @1 @leaf~3
  $ sessile branch @1 @leaf~3 --summary \"Tried local time inside predict; it mixes zones.\"
  $ sessile branch @1 --reset")]
pub(crate) struct BranchArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// Move the leaf to before all entries
    #[arg(long, conflicts_with = "entry")]
    reset: bool,

    /// Append a summary of the branch that is left; without TEXT, or as `-`, standard input
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "-")]
    summary: Option<String>,

    /// Tell what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {dryRun?, changed, change, entryId?, operation?, original?}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &BranchArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry]) = args.session.with_words([args.entry.as_deref()]);
    let path = surroundings.find(&session)?;
    let session = surroundings.open(&session, err)?;
    let entry = if args.reset { None } else { Some(session.find_entry(&required(entry, "ENTRY")?)?) };
    drop(session);
    let summary =
        args.summary.as_deref().map(|text| input::text(Some(text).filter(|text| *text != "-"), "the summary"));
    let summary = summary.transpose()?;
    let summary = summary.map(|summary| BranchSummary { summary, ..BranchSummary::default() });
    let done = surroundings.sessions.move_leaf(path, entry.as_ref(), summary.as_ref(), args.dry_run)?;
    surroundings.tell_upgrade(done.original.as_deref(), err)?;
    if args.json {
        write_value(out.data(), &done.to_json(args.dry_run))?;
        return Ok(Exit::Done);
    }
    let Step::Leaf { before, after, .. } = &done.step else { return Ok(Exit::Done) };
    let place = |id: &Option<_>| id.as_ref().map_or_else(|| "before all entries".to_owned(), |id| format!("at {id}"));
    let would = if args.dry_run { "would be" } else { "is" };
    let words = if !done.is_change {
        format!("the leaf is {} already", place(before))
    } else if let Some(summary) = done.entry_id.as_ref().or(after.as_ref()).filter(|_| done.entry_id.is_some()) {
        format!("the leaf is the summary {summary}, {}; it was {}", place(after), place(before))
    } else {
        format!("the leaf {would} {}; it was {}", place(after), place(before))
    };
    out.print_whole(&Line::new().text(&words))?;
    Ok(Exit::Done)
}
