//! Prepares the summary of an abandoned branch.

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

/// The entries between the old leaf and the new position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbandonedEntries {
    /// The entries that are not on the new path, oldest first.
    pub rows: Vec<Row>,
    /// The last entry that is on both paths.
    pub common_ancestor: Option<Row>,
}

/// The entries that a move to `target` leaves behind: pi's `collectEntriesForBranchSummary`.
///
/// ```text
///   a ─ b ─ c ─ d   old leaf d, target e: c and d are left
///       └─ e        common ancestor b
/// ```
pub fn collect_abandoned(outline: &Outline, old_leaf: Option<Row>, target: Row) -> AbandonedEntries {
    let Some(old_leaf) = old_leaf else { return AbandonedEntries::default() };
    let old_path = outline.path(old_leaf);
    let target_path: HashSet<Row> = outline.path(target).into_iter().collect();
    let n_common = old_path.iter().rposition(|row| target_path.contains(row)).map_or(0, |last| last + 1);
    let common_ancestor = n_common.checked_sub(1).map(|last| old_path[last]);
    AbandonedEntries { rows: old_path[n_common..].to_vec(), common_ancestor }
}

/// A branch ready to be summarised.
#[derive(Clone, Debug, Default)]
pub struct BranchPreparation {
    /// The entries to summarise, oldest first.
    pub rows: Vec<Row>,
    /// The text of their messages.
    pub conversation: Conversation,
    /// The files they mention.
    pub files: FileOperations,
    /// Their token count.
    pub tokens: f64,
}

/// A summary that exceeds the budget is still included while less than this share of the budget is used, because it
/// covers a lot.
const ROOM_FOR_SUMMARY: f64 = 0.9;

/// Prepares the summary of a branch within a token budget (0 means no limit): pi's `prepareBranchEntries`.
///
/// Takes the newest entries first, and skips tool results.
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

/// The message that an entry of an abandoned branch contributes.
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
    // Summaries count as stored: edits do not apply to them, and an empty summary still counts.
    Ok(match outline.kind(row) {
        Kind::BranchSummary => Some(branch_summary_message(read.value(row)?.raw(), zone)),
        // A compaction's system message comes before its summary.
        Kind::Compaction => projection.unedited(row, read)?.pop(),
        Kind::Header
        | Kind::Message
        | Kind::ThinkingLevelChange
        | Kind::ModelChange
        | Kind::Usage
        | Kind::Custom
        | Kind::CustomMessage
        | Kind::ContextEdit
        | Kind::Label
        | Kind::SessionInfo
        | Kind::Unknown
        | Kind::NotObject => projection.edited(row, read)?.pop(),
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
