//! What happened on a branch that is left.

use std::collections::HashSet;

use super::conversation::{Conversation, Serializer};
use super::files::FileOperations;
use super::prepare::is_from_hook;
use super::tokens::guess;
use crate::context::{Projection, ReadContext, branch_summary_message};
use crate::date::LocalZone;
use crate::head::{Kind, Role};
use crate::json::Json;
use crate::outline::{Outline, Row};

/// The entries between where one was and where one goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftEntries {
    /// Those that the new path does not have, oldest first.
    pub rows: Vec<Row>,
    /// The last entry that both paths have.
    pub common_ancestor: Option<Row>,
}

/// The entries that are left by going elsewhere: pi's `collectEntriesForBranchSummary`.
///
/// ```text
///   a ─ b ─ c ─ d   old leaf d, target e: c and d are left
///       └─ e        common ancestor b
/// ```
pub fn collect_left(outline: &Outline, old_leaf: Option<Row>, target: Row) -> LeftEntries {
    let Some(old_leaf) = old_leaf else { return LeftEntries::default() };
    let old_path = outline.path(old_leaf);
    let target_path: HashSet<Row> = outline.path(target).into_iter().collect();
    let n_common = old_path.iter().rposition(|row| target_path.contains(row)).map_or(0, |last| last + 1);
    let common_ancestor = n_common.checked_sub(1).map(|last| old_path[last]);
    LeftEntries { rows: old_path[n_common..].to_vec(), common_ancestor }
}

/// A branch that only lacks its summary.
#[derive(Clone, Debug, Default)]
pub struct BranchPreparation {
    /// The entries whose messages are to be summarised, oldest first.
    pub rows: Vec<Row>,
    /// What they say.
    pub conversation: Conversation,
    /// The files they were about.
    pub files: FileOperations,
    /// Their tokens.
    pub tokens: f64,
}

/// How full the budget may be for a summary to be taken that exceeds it: it stands for much.
const ROOM_FOR_SUMMARY: f64 = 0.9;

/// Prepares the summary of a branch within a budget of tokens (0 for none): pi's `prepareBranchEntries`.
///
/// The newest entries are taken first, and results of tools not at all.
pub fn prepare_branch<E>(
    outline: &Outline,
    rows: &[Row],
    budget: u64,
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<BranchPreparation, E> {
    let projection = Projection::new(outline, rows, zone, read)?;
    let mut files = FileOperations::default();
    for row in rows.iter().filter(|row| outline.kind(**row) == Kind::BranchSummary) {
        let entry = read.value(*row)?;
        if !is_from_hook(entry.raw()) {
            files.add_details(entry.raw().get("details"));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "no budget is beyond 2^53")]
    let budget = budget as f64;
    let mut tokens = 0.0;
    let mut taken = Vec::new();
    for row in rows.iter().rev() {
        let Some(message) = branch_message(outline, &projection, *row, zone, read)? else { continue };
        files.add_message(message.raw());
        let more = guess(message.raw());
        if budget > 0.0 && tokens + more > budget {
            let is_summary = matches!(outline.kind(*row), Kind::Compaction | Kind::BranchSummary);
            if is_summary && tokens < budget * ROOM_FOR_SUMMARY {
                taken.push(*row);
                tokens += more;
            }
            break;
        }
        taken.push(*row);
        tokens += more;
    }
    taken.reverse();
    let mut text = Serializer::default();
    for row in &taken {
        let message = branch_message(outline, &projection, *row, zone, read)?;
        text.extend(message.iter().map(Json::raw));
    }
    Ok(BranchPreparation { rows: taken, conversation: text.finish(), files, tokens })
}

/// The message of an entry that counts on a branch that is left.
fn branch_message<E>(
    outline: &Outline,
    projection: &Projection<'_>,
    row: Row,
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<Option<Json>, E> {
    if outline.role(row) == Role::ToolResult {
        return Ok(None);
    }
    // Summaries count here as they are stored: an edit does not reach them, and an empty one is one all the same.
    Ok(match outline.kind(row) {
        Kind::BranchSummary => Some(branch_summary_message(read.value(row)?.raw(), zone)),
        // The system message that a compaction carries comes before its summary.
        Kind::Compaction => projection.unedited(row, read)?.pop(),
        _ => projection.edited(row, read)?.pop(),
    })
}

/// The messages of the entries of a preparation.
pub fn branch_messages<E>(
    outline: &Outline,
    left: &[Row],
    preparation: &BranchPreparation,
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<Vec<Json>, E> {
    let projection = Projection::new(outline, left, zone, read)?;
    let mut messages = Vec::new();
    for row in &preparation.rows {
        messages.extend(branch_message(outline, &projection, *row, zone, read)?);
    }
    Ok(messages)
}
