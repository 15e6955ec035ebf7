//! `sessile undo`

use clap::Args;
use sessile::json::Json;
use sessile::{Operation, OperationState, Step};

use crate::Exit;
use crate::args::ListFormat;
use crate::data::{ListWriter, write_value};
use crate::failure::Failure;
use crate::screen::{DIM, Line, Screen};
use crate::surroundings::Surroundings;
use crate::table::age;

/// Take back what was done last, or an operation from the list
///
/// Undoes names, labels, moves of the leaf, moves of sessions, deletions, prunings, imports, forks and clones: the last
/// that was not undone yet, or the one with this id. Names and labels are taken back by appending the old ones; what was
/// imported, forked or cloned goes to the trash. If another program has changed the same thing since, nothing is done. An
/// operation that is still under way is not undone (exit 4). An undo is an operation itself; undoing it does it all again. With
/// --json, an undo is an object {operation?, undone, steps}, and the list an array.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile undo --list
  $ sessile undo --dry-run
  $ sessile undo")]
pub(crate) struct UndoArgs {
    /// The operation: its id or the beginning of it
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// List what was done, the last first
    #[arg(long, conflicts_with_all = ["id", "dry_run"])]
    list: bool,

    /// Move and delete sessions for it although other programs use them
    #[arg(long)]
    force: bool,

    /// Tell what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(surroundings: &Surroundings, args: &UndoArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    if args.list {
        return list(surroundings, args, out);
    }
    let undone = surroundings.sessions_to_take(args.force).undo(args.id.as_deref(), args.dry_run)?;
    if args.format.layout().is_some() {
        write_value(out.data(), &undone.to_json())?;
        return Ok(Exit::Done);
    }
    for step in &undone.steps {
        out.print(Line::new().text("  ").text(&words(surroundings, step)))?;
    }
    let Operation { id, kind, .. } = &undone.operation;
    let summary = match &undone.id {
        _ if undone.steps.is_empty() => format!("{} {id}: all is as it was before", kind.word()),
        None => format!("{} {id} would be undone; nothing was changed", kind.word()),
        Some(by) => format!("{} {id} undone; `sessile undo {by}` does it again", kind.word()),
    };
    out.print_whole(&Line::new().text(&summary))?;
    Ok(Exit::Done)
}

fn list(surroundings: &Surroundings, args: &UndoArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let mut operations = surroundings.sessions.operations()?;
    operations.reverse();
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        operations.iter().try_for_each(|operation| list.push(operation.to_json().raw()))?;
        list.finish()?;
    } else {
        let now = surroundings.now_ms();
        // What became of it comes first, where nothing cuts it off.
        let widest = operations.iter().map(|operation| fate(operation).len()).max().unwrap_or_default();
        let begin = if widest == 0 { 0 } else { widest + 2 };
        for operation in &operations {
            let start = Line::new().styled(DIM, fate(operation)).pad(begin).styled(DIM, &operation.id).pad(begin + 14);
            let start = start.right(begin + 19, DIM, &age(now, operation.time));
            let start = start.text("  ").text(operation.kind.word()).pad(begin + 30);
            out.print(start.text(&summary(surroundings, operation)).styled(DIM, &remark(operation)))?;
        }
    }
    Ok(if operations.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// What an operation did: its first step, and how many more there were.
fn summary(surroundings: &Surroundings, operation: &Operation) -> String {
    let first = operation.steps.first().map(|step| words(surroundings, step)).unwrap_or_default();
    match operation.steps.len() {
        0 | 1 => first,
        number => format!("{first}, and {} more", number - 1),
    }
}

/// What became of an operation, if not what usually does.
fn fate(operation: &Operation) -> &'static str {
    match operation.state {
        _ if operation.undone_by.is_some() => "undone",
        OperationState::Done => "",
        OperationState::Unfinished => "unfinished",
        OperationState::Failed => "failed",
    }
}

fn remark(operation: &Operation) -> String {
    operation.undone_by.as_ref().map(|by| format!("  by {by}")).unwrap_or_default()
}

/// A step in a few words.
fn words(surroundings: &Surroundings, step: &Step) -> String {
    let quoted = |text: &Option<String>| text.as_ref().map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"));
    let path = step.session().path.file_stem().unwrap_or_default().to_string_lossy();
    match step {
        Step::Name { before, after, .. } => format!("name {} → {}: {path}", quoted(before), quoted(after)),
        Step::Label { entry, before, after, .. } => {
            format!("label of {entry} {} → {}: {path}", quoted(before), quoted(after))
        }
        Step::Leaf { before, after, .. } => {
            let place =
                |id: &Option<sessile::EntryId>| id.as_ref().map_or_else(|| "the start".to_owned(), ToString::to_string);
            format!("leaf {} → {}: {path}", place(before), place(after))
        }
        Step::Move { cwd_before, cwd_after, .. } => {
            let cwd = |cwd: &Option<Json>| cwd.as_ref().and_then(|cwd| cwd.raw().as_string()).unwrap_or_default();
            let (before, after) = (surroundings.short(&cwd(cwd_before)), surroundings.short(&cwd(cwd_after)));
            format!("move {before} → {after}: {path}")
        }
        Step::Delete { .. } => format!("delete {path}"),
        Step::Restore { .. } => format!("bring back {path}"),
        Step::Create { .. } => format!("make {path}"),
        Step::Rewrite { .. } => format!("rewrite {path}"),
        Step::Reunite { .. } => format!("take entries home to {path}"),
    }
}
