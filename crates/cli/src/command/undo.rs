//! `sessile undo`

use std::collections::HashMap;
use std::path::Path;

use clap::Args;
use sessile::json::Json;
use sessile::operations::{Operation, OperationState, Step, TrashedTo};
use sessile::{EntryId, SessionError};
use sessile_rpc::answer;

use crate::data::{ListFormat, ListWriter, write_value};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{DIM, Line, Screen};
use crate::table::age;
use crate::titles::Titles;

/// Undo the last operation, or one from the list
///
/// Undoes the last operation that is not undone yet, or the operation with the given ID. This covers names, labels,
/// archiving, leaf moves, session moves, deletions, prunes, imports, forks, clones, slimmed copies and new sessions.
/// For names, labels and archiving, undo appends the previous value. It moves imported, forked, cloned, slimmed and new
/// sessions to the trash.
///
/// Appended entries stay: if the last change was an `append`, a `compact` or an `edit-context`, nothing is undone
/// without an ID. Nothing is undone if another program has changed the same thing since, or if the operation is still
/// running (exit 4). An undo is an operation itself; undoing it redoes the original one.
///
/// With --json, an undo is an object {operation?, undone, steps}, and the list an array.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile undo --list
  $ sessile undo --dry-run
  $ sessile undo")]
pub(crate) struct UndoArgs {
    /// The operation: its id or the beginning of it
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// List all operations, newest first
    #[arg(long, conflicts_with_all = ["id", "dry_run"])]
    list: bool,

    /// Move and delete sessions even if other programs use them
    #[arg(long)]
    force: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &UndoArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.list {
        return list(env, args, out, err);
    }
    let undone = env.sessions_for_removal(args.force).undo(args.id.as_deref(), args.dry_run);
    let undone = undone.map_err(|error| match error {
        SessionError::LastStays { change, before } => Failure::LastStays {
            before: before.map(|before| (before.0.id.clone(), Words::of(env, &before.1).step_list(&before.1))),
            command: change.command,
            session: env.short(&change.session.to_string_lossy()),
        },
        error => error.into(),
    })?;
    if args.format.layout().is_some() {
        write_value(out.data(), &answer::undone(&undone))?;
        return Ok(Exit::Done);
    }
    let words = Words::of(env, &undone.steps);
    for step in &undone.steps {
        out.print(Line::new().text("  ").text(&words.step(step)))?;
    }
    let Operation { id, kind, .. } = &undone.operation;
    let summary = match &undone.id {
        _ if undone.steps.is_empty() => format!("{} {id}: everything is already as before", kind.word()),
        None => format!("{} {id} would be undone; nothing was changed", kind.word()),
        Some(by) => format!("{} {id} undone; `{} undo {by}` redoes it", kind.word(), env.program()),
    };
    out.print_whole(&Line::new().text(&summary))?;
    Ok(Exit::Done)
}

fn list(
    env: &CommandEnvironment,
    args: &UndoArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let mut operations = env.sessions.operations()?;
    operations.reverse();
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        operations.iter().try_for_each(|operation| list.push(answer::operation(operation).raw()))?;
        list.finish()?;
    } else {
        let now = env.now();
        let words = Words::of(env, operations.iter().filter_map(|operation| operation.steps.first()));
        // The state comes first, so that it is never cut.
        let widest = operations.iter().map(|operation| fate(operation).len()).max().unwrap_or_default();
        let begin = if widest == 0 { 0 } else { widest + 2 };
        for operation in &operations {
            let start = Line::new().styled(DIM, fate(operation)).pad(begin).styled(DIM, &operation.id).pad(begin + 14);
            let start = start.right(begin + 19, DIM, &age(now, operation.time));
            let start = start.text("  ").text(operation.kind.word()).pad(begin + 30);
            out.print(start.text(&words.summary(operation)).styled(DIM, &remark(operation)))?;
        }
        if operations.is_empty() {
            err.print_whole(&Line::new().text("there are no operations to undo"))?;
        }
    }
    Ok(if operations.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// Describes the state of an operation, if it is not simply done.
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

/// Describes operations and steps for people, with the titles of their sessions.
struct Words<'s> {
    env: &'s CommandEnvironment,
    titles: Titles,
}

impl<'s> Words<'s> {
    fn of<'t>(env: &'s CommandEnvironment, steps: impl IntoIterator<Item = &'t Step>) -> Self {
        let steps: Vec<&Step> = steps.into_iter().collect();
        let trashed: HashMap<&Path, &Path> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Delete { session, to: TrashedTo::Trash(slot) } => Some((&*session.path, &*slot.file)),
                _ => None,
            })
            .collect();
        let file = |step: &&'t Step| {
            let session = step.session();
            let path = session.path.as_path();
            let moved_path = match step {
                Step::Move { to, .. } => Some(to.as_path()),
                _ => trashed.get(path).copied(),
            };
            (session, moved_path.filter(|_| !path.exists()).unwrap_or(path))
        };
        let titles = Titles::of_files(env, steps.iter().map(file));
        Self { env, titles }
    }

    /// Describes an operation: its first step, and the number of further ones.
    fn summary(&self, operation: &Operation) -> String {
        self.step_list(&operation.steps)
    }

    /// Describes several steps: the first, and the number of further ones.
    fn step_list(&self, steps: &[Step]) -> String {
        let first = steps.first().map(|step| self.step(step)).unwrap_or_default();
        match steps.len() {
            0 | 1 => first,
            number => format!("{first}, and {} more", number - 1),
        }
    }

    /// Describes a step by its effect.
    fn step(&self, step: &Step) -> String {
        let session = self.titles.words(step.session());
        match step {
            Step::Name { before, after, .. } => change("name", &session, before.as_deref(), after.as_deref()),
            Step::Label { entry, before, after, .. } => {
                change("label", &format!("entry {entry} of {session}"), before.as_deref(), after.as_deref())
            }
            Step::Archive { entry, after, .. } => {
                let target =
                    entry.as_ref().map_or_else(|| session.clone(), |id| format!("the branch at {id} of {session}"));
                if *after { format!("archive {target}") } else { format!("unarchive {target}") }
            }
            Step::Leaf { before, after, .. } => {
                let position = |id: &Option<EntryId>| {
                    id.as_ref().map_or_else(|| "the start".to_owned(), |id| format!("entry {id}"))
                };
                format!("move the leaf from {} to {} in {session}", position(before), position(after))
            }
            Step::Move { cwd_before, cwd_after, .. } => {
                let cwd = |cwd: &Option<Json>| cwd.as_ref().and_then(|cwd| cwd.raw().as_string()).unwrap_or_default();
                let short = |cwd: String| self.env.short(&cwd);
                format!("move {session} from {} to {}", short(cwd(cwd_before)), short(cwd(cwd_after)))
            }
            Step::Delete { .. } => format!("delete {session}"),
            Step::Restore { .. } => format!("restore {session}"),
            Step::Create { .. } => format!("create {session}"),
            Step::Rewrite { .. } => format!("rewrite {session}"),
            Step::Reunite { .. } => format!("return stray entries to {session}"),
            Step::Scrub { .. } => format!("scrub {session}"),
            Step::Merge { .. } => format!("merge entries into {session}"),
            Step::Extend { .. } => format!("add new entries to {session}"),
        }
    }
}

/// Describes a change of a name or a label.
fn change(property: &str, of: &str, before: Option<&str>, after: Option<&str>) -> String {
    match (before, after) {
        (None, Some(after)) => format!("{property} {of} {after:?}"),
        (Some(before), Some(after)) => format!("change the {property} of {of} from {before:?} to {after:?}"),
        (Some(before), None) => format!("remove the {property} {before:?} of {of}"),
        (None, None) => format!("leave {of} without a {property}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_in_words() {
        assert_eq!(change("name", "s", None, Some("A")), "name s \"A\"");
        assert_eq!(change("name", "s", Some("A"), Some("B")), "change the name of s from \"A\" to \"B\"");
        assert_eq!(change("label", "entry e of s", Some("A"), None), "remove the label \"A\" of entry e of s");
    }
}
