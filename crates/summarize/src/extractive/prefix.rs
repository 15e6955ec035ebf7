//! Summarises the start of a turn whose end is kept.

use std::collections::HashSet;

use super::checkpoint::{Checkpoint, Section};
use super::commands::{self, commits, complaint, only_inspects};
use super::gather::quotation;
use super::paths::Paths;
use super::turns::{Call, CallOutcome, Turn, TurnStep};
use super::wording::{line, opening};

/// The maximum number of steps described individually.
const MAX_STEPS: usize = 120;

/// Collects what the user asked, what was done so far, and what is needed to continue.
pub(super) fn gather(turns: &[Turn<'_>], paths: &Paths) -> Checkpoint {
    let mut checkpoint = Checkpoint::default();
    for (rank, turn) in turns.iter().filter(|turn| !turn.request.trim().is_empty()).enumerate() {
        checkpoint.add(Section::Request, rank, quotation("The user wrote:", turn.request, 1500));
    }
    let steps: Vec<&TurnStep<'_>> = turns.iter().flat_map(|turn| &turn.steps).collect();
    let descriptions: Vec<String> = steps.iter().filter_map(|step| describe_step(step, paths)).collect();
    let first = descriptions.len().saturating_sub(MAX_STEPS);
    for (n_from_start, text) in descriptions.iter().enumerate().skip(first) {
        checkpoint.add(Section::SoFar, descriptions.len() - n_from_start, text.clone());
    }
    let read: Vec<&str> =
        calls(&steps).filter(|call| call.tool == Some("read")).filter_map(|call| call.path.as_deref()).collect();
    if !read.is_empty() {
        checkpoint.add(Section::Needed, 1, format!("Read {}.", paths.list(&distinct(&read), 12)));
    }
    if let Some(root) = paths.root() {
        checkpoint.add(Section::Needed, 2, format!("Paths are below `{}`.", line(root, 200)));
    }
    for (rank, runs) in commands::runs(calls(&steps).map(|call| (0, call)))
        .iter()
        .filter(|runs| runs.last == CallOutcome::Failed)
        .rev()
        .take(3)
        .enumerate()
    {
        checkpoint.add(Section::Needed, 3 + rank, runs.description());
    }
    if let Some(text) = turns.iter().rev().find_map(|turn| turn.texts().next_back()) {
        checkpoint.add(Section::Needed, 0, quotation("The assistant said last:", text, 900));
    }
    checkpoint
}

fn calls<'a, 'c>(steps: &'a [&'a TurnStep<'c>]) -> impl Iterator<Item = &'a Call<'c>> {
    steps.iter().filter_map(|step| match step {
        TurnStep::Call(call) => Some(call),
        _ => None,
    })
}

/// One step in one line; `None` if it only inspected.
fn describe_step(step: &TurnStep<'_>, paths: &Paths) -> Option<String> {
    match step {
        TurnStep::Text(text) if text.trim().is_empty() => None,
        TurnStep::Text(text) => Some(opening(text, 240)),
        TurnStep::Note(text) => Some(format!("Note from an extension: “{}”", line(text, 160))),
        TurnStep::Summary(text) => Some(format!("Earlier summary: {}", line(text, 240))),
        TurnStep::Call(call) => describe_call(call, paths),
    }
}

fn describe_call(call: &Call<'_>, paths: &Paths) -> Option<String> {
    if let Some(command) = call.command.as_deref() {
        let messages = commits(command);
        if let [first, ..] = &messages[..] {
            return Some(format!("Committed “{first}”."));
        }
        return commands::runs(std::iter::once((0, call)))
            .first()
            .filter(|_| !only_inspects(command))
            .map(commands::Runs::description);
    }
    let path = call.path.as_deref()?;
    let verb = match (call.tool?, call.outcome) {
        ("edit" | "write", CallOutcome::Failed) => {
            return Some(format!("Could not change {}: `{}`.", paths.list(&[path], 1), complaint(call)));
        }
        ("edit" | "write", _) => "Changed",
        _ => return None,
    };
    Some(format!("{verb} {}.", paths.list(&[path], 1)))
}

fn distinct<'p>(paths: &[&'p str]) -> Vec<&'p str> {
    let mut seen = HashSet::new();
    paths.iter().copied().filter(|path| seen.insert(*path)).collect()
}
