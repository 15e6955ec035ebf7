//! `sessile label`

use clap::Args;
use sessile::entry::Payload;
use sessile::operations::{Annotated, Step};
use sessile::{EntryId, SessionManager};
use sessile_rpc::answer;

use crate::args::{SessionArg, required};
use crate::data::{ListFormat, ListWriter, write_value};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{ACCENT, DIM, Line, NAMED, Screen};

/// Label an entry, print its label, or list all labels
///
/// The label is appended to the session as an entry, as in pi. `sessile undo` reverts the change. @leaf means the last
/// entry that `sessile tree` shows, not a label or a name that was added after it. Exits with 1 if there is no label to
/// print.
///
/// With --json, the label of an entry is an object {entryId, label?}, a change {dryRun?, changed, change, entryId?,
/// operation?, original?}, and a list an array of {entryId, label, timestamp?}.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile label @1 @root \"where it began\"
  $ sessile label @1 \"cause found\"
  $ sessile label @1 \"cause found\" --clear
  $ sessile label @1 --list")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// The new label; if omitted, the current label is printed
    #[arg(value_name = "LABEL")]
    label: Option<String>,

    /// Remove the label
    #[arg(long, conflicts_with = "label")]
    clear: bool,

    /// List all labels of the session
    #[arg(long, conflicts_with_all = ["entry", "label", "clear", "dry_run"])]
    list: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &LabelArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry, label]) = args.session.with_words([args.entry.as_deref(), args.label.as_deref()]);
    let path = env.find(&session)?;
    let session = env.open(&session, err)?;
    if args.list {
        return list(&session, args, out);
    }
    let entry = session.find_shown_entry(&required(entry, "ENTRY")?)?;
    if label.is_none() && !args.clear {
        return show(&session, &entry, args, out, err);
    }
    let hint = annotated(&session, &entry)?.map(|(kind, target)| hint(&entry, kind, &target));
    drop(session);
    let relabelled = env.sessions.relabel(path, &entry, label.as_deref(), args.dry_run)?;
    env.report_upgrade(relabelled.original.as_deref(), err)?;
    if args.format.json || args.format.jsonl {
        write_value(out.data(), &answer::annotated(&relabelled, args.dry_run))?;
    } else {
        out.print_whole(&Line::new().text(&words(&relabelled, args.dry_run)))?;
        if let Some(hint) = hint.filter(|_| !relabelled.is_change && label.is_none()) {
            err.print_whole(&hint)?;
        }
    }
    Ok(Exit::Done)
}

/// Prints the label of an entry.
fn show(
    session: &SessionManager,
    entry: &EntryId,
    args: &LabelArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let label = session.label(entry)?;
    if args.format.json || args.format.jsonl {
        write_value(out.data(), &answer::entry_label(entry, label.as_deref()))?;
    } else if let Some(label) = &label {
        out.print_whole(&Line::new().text(label))?;
    } else {
        err.print_whole(&Line::new().text(&format!("{entry} has no label")))?;
        if let Some((kind, target)) = annotated(session, entry)? {
            err.print_whole(&hint(entry, kind, &target))?;
        }
    }
    Ok(if label.is_some() { Exit::Done } else { Exit::Nothing })
}

/// If an entry is itself a label or an edit, returns which of them, and its target.
///
/// A user who says `@leaf` right after labelling or editing usually means the target.
pub(super) fn annotated(session: &SessionManager, entry: &EntryId) -> Result<Option<(&'static str, EntryId)>, Failure> {
    let stored_entry = session.entry(entry)?;
    let target = stored_entry.as_ref().and_then(|stored_entry| match stored_entry.payload() {
        Payload::Label(label) => label.target_id().map(|target| ("label", target)),
        Payload::ContextEdit(edit) => edit.target_id().map(|target| ("edit", target)),
        Payload::Message(_)
        | Payload::ThinkingLevelChange(_)
        | Payload::ModelChange(_)
        | Payload::Usage(_)
        | Payload::Compaction(_)
        | Payload::BranchSummary(_)
        | Payload::Custom(_)
        | Payload::CustomMessage(_)
        | Payload::SessionInfo(_)
        | Payload::Unknown(_) => None,
    });
    Ok(target)
}

fn hint(entry: &EntryId, kind: &str, target: &EntryId) -> Line {
    let words = format!(" {entry} is itself the {kind} of {target}; @leaf may refer to it if it was added last");
    Line::new().styled(ACCENT, "hint:").text(&words)
}

fn list(session: &SessionManager, args: &LabelArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let labels = session.labelled()?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        for (id, label) in &labels {
            list.push(answer::labelled_entry(id, label).raw())?;
        }
        list.finish()?;
    } else {
        for (id, label) in &labels {
            out.print(Line::new().styled(DIM, &id.to_string()).cut(12).pad(14).styled(NAMED, &label.text()))?;
        }
    }
    Ok(if labels.is_empty() { Exit::Nothing } else { Exit::Done })
}

fn words(relabelled: &Annotated, dry_run: bool) -> String {
    let Step::Label { entry, before, after, .. } = &relabelled.step else { return String::new() };
    let would = if dry_run { "would be " } else { "" };
    match (relabelled.is_change, before, after) {
        (false, _, Some(label)) => format!("{entry} already has the label {label:?}"),
        (false, _, None) => format!("{entry} has no label"),
        (true, _, Some(label)) => format!("{entry} {would}labelled {label:?}"),
        (true, before, None) => {
            format!("the label {:?} of {entry} {would}removed", before.as_deref().unwrap_or_default())
        }
    }
}
