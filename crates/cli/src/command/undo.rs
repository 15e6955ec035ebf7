//! `sessile undo`

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use sessile::json::Json;
use sessile::{EntryId, ListOptions, Operation, OperationState, SessionError, SessionInfo, SessionPlace, Step};

use crate::Exit;
use crate::args::ListFormat;
use crate::data::{ListWriter, write_value};
use crate::failure::Failure;
use crate::screen::{DIM, Line, Screen};
use crate::surroundings::Surroundings;
use crate::table::age;

/// Take back what was done last, or an operation from the list
///
/// Undoes names, labels, moves of the leaf, moves of sessions, deletions, prunings, imports, forks, clones and new
/// sessions: the last operation that was not undone yet, or the one with this id. Names and labels are taken back by
/// appending the old ones; what was imported, forked, cloned or started goes to the trash. What was appended stays: if
/// the last change was an `append`, a `compact` or an `edit-context`, nothing is undone without an ID. If another program
/// has changed the same thing since, nothing is done. An operation that is still under way is not undone (exit 4). An undo
/// is an operation itself; undoing it does it all again. With --json, an undo is an object {operation?, undone, steps}, and
/// the list an array.
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
    let mut words = Words::new(surroundings);
    let undone = surroundings.sessions_to_take(args.force).undo(args.id.as_deref(), args.dry_run);
    let undone = undone.map_err(|error| match error {
        SessionError::LastStays { change, before } => Failure::LastStays {
            before: before.map(|before| (before.0.id.clone(), words.step_list(&before.1))),
            command: change.command,
            session: surroundings.short(&change.session.to_string_lossy()),
        },
        error => error.into(),
    })?;
    if args.format.layout().is_some() {
        write_value(out.data(), &undone.to_json())?;
        return Ok(Exit::Done);
    }
    for step in &undone.steps {
        out.print(Line::new().text("  ").text(&words.step(step)))?;
    }
    let Operation { id, kind, .. } = &undone.operation;
    let summary = match &undone.id {
        _ if undone.steps.is_empty() => format!("{} {id}: everything is as it was before", kind.word()),
        None => format!("{} {id} would be undone; nothing was changed", kind.word()),
        Some(by) => format!("{} {id} undone; `{} undo {by}` does it again", kind.word(), surroundings.program()),
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
        let mut words = Words::new(surroundings);
        // What became of it comes first, where nothing cuts it off.
        let widest = operations.iter().map(|operation| fate(operation).len()).max().unwrap_or_default();
        let begin = if widest == 0 { 0 } else { widest + 2 };
        for operation in &operations {
            let start = Line::new().styled(DIM, fate(operation)).pad(begin).styled(DIM, &operation.id).pad(begin + 14);
            let start = start.right(begin + 19, DIM, &age(now, operation.time));
            let start = start.text("  ").text(operation.kind.word()).pad(begin + 30);
            out.print(start.text(&words.summary(operation)).styled(DIM, &remark(operation)))?;
        }
    }
    Ok(if operations.is_empty() { Exit::Nothing } else { Exit::Done })
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

/// Names operations and steps for people, with the titles of their sessions.
struct Words<'s> {
    surroundings: &'s Surroundings,
    /// The sessions of each directory that steps are about, listed when the first of them is named.
    listed: HashMap<PathBuf, Vec<SessionInfo>>,
}

impl<'s> Words<'s> {
    fn new(surroundings: &'s Surroundings) -> Self {
        Self { surroundings, listed: HashMap::new() }
    }

    /// What an operation did: its first step, and how many more there were.
    fn summary(&mut self, operation: &Operation) -> String {
        self.step_list(&operation.steps)
    }

    /// Several steps: the first, and how many more there are.
    fn step_list(&mut self, steps: &[Step]) -> String {
        let first = steps.first().map(|step| self.step(step)).unwrap_or_default();
        match steps.len() {
            0 | 1 => first,
            number => format!("{first}, and {} more", number - 1),
        }
    }

    /// A step, as what it does.
    fn step(&mut self, step: &Step) -> String {
        let session = self.session(step);
        match step {
            Step::Name { before, after, .. } => change("name", &session, before.as_deref(), after.as_deref()),
            Step::Label { entry, before, after, .. } => {
                change("label", &format!("entry {entry} of {session}"), before.as_deref(), after.as_deref())
            }
            Step::Leaf { before, after, .. } => {
                let place = |id: &Option<EntryId>| {
                    id.as_ref().map_or_else(|| "the start".to_owned(), |id| format!("entry {id}"))
                };
                format!("go from {} to {} in {session}", place(before), place(after))
            }
            Step::Move { cwd_before, cwd_after, .. } => {
                let cwd = |cwd: &Option<Json>| cwd.as_ref().and_then(|cwd| cwd.raw().as_string()).unwrap_or_default();
                let short = |cwd: String| self.surroundings.short(&cwd);
                format!("move {session} from {} to {}", short(cwd(cwd_before)), short(cwd(cwd_after)))
            }
            Step::Delete { .. } => format!("delete {session}"),
            Step::Restore { .. } => format!("restore {session}"),
            Step::Create { .. } => format!("create {session}"),
            Step::Rewrite { .. } => format!("rewrite {session}"),
            Step::Reunite { .. } => format!("return stray entries to {session}"),
        }
    }

    /// The session of a step: its title, if it can be listed, and its id.
    fn session(&mut self, step: &Step) -> String {
        let SessionPlace { path, id } = step.session();
        let path = match step {
            Step::Move { to, .. } if !path.exists() => to,
            _ => path,
        };
        let id: String = id.chars().take(SHORT_ID).collect();
        let Some(directory) = path.parent() else { return id };
        let rows = self.listed.entry(directory.to_path_buf()).or_insert_with(|| {
            self.surroundings.sessions.list_all(Some(directory), &mut ListOptions::default()).unwrap_or_default()
        });
        let Some(row) = rows.iter().find(|row| row.path == *path) else { return id };
        let title = row.name.as_ref().unwrap_or(&row.first_message).to_str();
        format!("{id} {:?}", shortened(title.trim()))
    }
}

/// How many characters of a session's id are shown.
const SHORT_ID: usize = 8;

/// How many characters of a session's title are shown.
const SHORT_TITLE: usize = 40;

fn shortened(title: &str) -> String {
    let line = title.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHORT_TITLE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}

/// A change of a name or a label.
fn change(what: &str, of: &str, before: Option<&str>, after: Option<&str>) -> String {
    match (before, after) {
        (None, Some(after)) => format!("{what} {of} {after:?}"),
        (Some(before), Some(after)) => format!("change the {what} of {of} from {before:?} to {after:?}"),
        (Some(before), None) => format!("remove the {what} {before:?} of {of}"),
        (None, None) => format!("leave {of} without a {what}"),
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

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(shortened("two\nlines"), "two");
        assert_eq!(shortened(&"ä".repeat(50)), format!("{}…", "ä".repeat(40)));
    }
}
