//! Merges an earlier summary with what happened since.

use super::checkpoint::{Checkpoint, Section, WHOLE};
use super::gather::{ANSWER_NEXT, BRANCH, COMMANDS, DIRECTORY, LAST_ANSWER, LATEST};
use super::wording::opening;

/// Marks items that may no longer hold. The next summary drops them.
const EARLIER: &str = "(before) ";

/// The length to which work in progress is shortened once it is past.
const ROOM_FOR_PAST: usize = 300;

/// Updates an earlier summary. Facts stay; work in progress moves to done, and open or blocked items are marked as
/// earlier.
pub(super) fn merge(mut previous: Checkpoint, mut recent: Checkpoint) -> Checkpoint {
    if WHOLE.iter().all(|section| recent.items(*section).is_empty()) {
        return previous;
    }
    let mut merged = Checkpoint::default();
    // Current next steps come before earlier ones.
    for section in [Section::Blocked, Section::Next] {
        recent.take(section).into_iter().for_each(|item| merged.add(section, 2 * item.rank, item.text));
    }
    for section in WHOLE {
        for item in previous.take(*section) {
            if let Some((target, text)) = carried(*section, item.text) {
                merged.add(target, carried_rank(target, item.rank), text);
            }
        }
    }
    let has_goal = !merged.items(Section::Goal).is_empty();
    for section in WHOLE {
        let items = recent.take(*section);
        let has_latest = items.iter().any(|item| item.text.starts_with(LATEST));
        for item in items {
            match section {
                // The first request since then is not the overall goal.
                Section::Goal if has_goal && item.rank == 0 && has_latest => merged.add(*section, 9, item.text),
                Section::Goal if has_goal && item.rank == 0 => {
                    merged.add(*section, 1, format!("{LATEST}{}", item.text));
                }
                _ => merged.add(*section, 2 * item.rank, item.text),
            }
        }
    }
    merged
}

/// The section and text of an item from an earlier summary; `None` if it held only at that moment.
fn carried(section: Section, text: String) -> Option<(Section, String)> {
    let is_of_the_moment =
        [LATEST, LAST_ANSWER, COMMANDS, BRANCH, DIRECTORY, ANSWER_NEXT].iter().any(|mark| text.starts_with(mark));
    match section {
        Section::InProgress => Some((Section::Done, opening(&text, ROOM_FOR_PAST))),
        Section::Blocked | Section::Next if text.starts_with(EARLIER) || is_of_the_moment => None,
        Section::Blocked | Section::Next => Some((section, format!("{EARLIER}{text}"))),
        _ if is_of_the_moment => None,
        _ => Some((section, text)),
    }
}

/// Old and new items alternate, except that current next steps and blockers come first.
fn carried_rank(section: Section, rank: usize) -> usize {
    match section {
        Section::Next | Section::Blocked => 2 * rank + 41,
        Section::Goal => 2 * rank,
        _ => 2 * rank + 1,
    }
}
