//! Decides where to cut: what is kept, and what a summary replaces.

use std::marker::PhantomData;
use std::ops::Range;

use super::tokens::estimate_tokens;
use crate::context::{ReadContext, entry_messages};
use crate::date::LocalZone;
use crate::head::{Kind, Role};
use crate::json::Json;
use crate::outline::{Outline, Row};

/// The properties of an entry that decide the cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CutFact {
    /// The tokens of its messages.
    pub(super) tokens: u64,
    /// Whether it contributes a message.
    pub(super) is_visible: bool,
    pub(super) cut_point: CutPoint,
    pub(super) is_compaction: bool,
}

/// What may begin with an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CutPoint {
    /// Nothing: a tool's result must not be separated from its call.
    #[default]
    Nothing,
    /// The kept part, in the middle of a turn.
    MidTurn,
    /// A turn, and therefore also the kept part.
    Turn,
}

impl CutFact {
    pub(super) fn of(messages: &[Json], is_compaction: bool) -> Self {
        let roles = || messages.iter().map(|message| Role::of(message.raw().get("role")));
        let cut_point = match () {
            () if is_compaction => CutPoint::Nothing,
            () if roles().any(begins_turn) => CutPoint::Turn,
            () if roles().any(|role| role == Role::Assistant) => CutPoint::MidTurn,
            () => CutPoint::Nothing,
        };
        Self {
            tokens: messages.iter().map(Json::raw).map(estimate_tokens).sum(),
            is_visible: !messages.is_empty(),
            cut_point,
            is_compaction,
        }
    }
}

fn begins_turn(role: Role) -> bool {
    matches!(role, Role::User | Role::BashExecution | Role::Custom | Role::BranchSummary | Role::CompactionSummary)
}

/// Access to the facts about entries, by index.
pub(super) trait CutFacts<E> {
    /// The facts about the entry at this index.
    fn fact(&mut self, index: usize) -> Result<CutFact, E>;

    /// Whether the entries in this range, which reaches to the end, are the remains of a failed attempt that was
    /// removed from the context.
    fn is_recovery(&mut self, suffix: Range<usize>) -> Result<bool, E>;
}

/// The start of the part that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The index of the first entry that is kept.
    pub first_kept: usize,
    /// The start of the turn that the cut splits, if it splits one.
    pub turn_start: Option<usize>,
}

impl Cut {
    /// Whether the cut splits a turn.
    pub fn is_split_turn(self) -> bool {
        self.turn_start.is_some()
    }
}

/// Finds the cut: pi's `findCutPoint`, and its counterpart for edited entries.
///
/// ```text
///   oldest                                                 newest
///   user  assistant  result  │  assistant  result   user  assistant
///   ▲ turn start             ▲ cut       ◀──── keep_recent ─────────
/// ```
///
/// Queries the newest entries first, and no more than necessary.
pub(super) fn find_cut<E>(range: Range<usize>, keep_recent: u64, facts: &mut impl CutFacts<E>) -> Result<Cut, E> {
    let Some((mut cut, is_exceeded)) = cut_by_budget(range.clone(), keep_recent, facts)? else {
        return Ok(Cut { first_kept: range.start, turn_start: None });
    };
    if is_exceeded && cut + 1 < range.end && facts.is_recovery(cut + 1..range.end)? {
        cut += 1;
    }
    // Entries without a message go with the entry that follows them.
    while cut > range.start {
        let before = facts.fact(cut - 1)?;
        if before.is_compaction || before.is_visible {
            break;
        }
        cut -= 1;
    }
    let turn_start =
        if facts.fact(cut)?.cut_point == CutPoint::Turn { None } else { turn_start(range.start..cut, facts)? };
    Ok(Cut { first_kept: cut, turn_start })
}

/// The cut by tokens alone, and whether the budget was reached. `None` if the kept part cannot begin anywhere.
fn cut_by_budget<E>(
    range: Range<usize>,
    keep_recent: u64,
    facts: &mut impl CutFacts<E>,
) -> Result<Option<(usize, bool)>, E> {
    let mut tokens = 0u64;
    // The oldest index so far at which the kept part may begin.
    let mut oldest = None;
    for index in range.clone().rev() {
        let fact = facts.fact(index)?;
        if fact.cut_point != CutPoint::Nothing {
            oldest = Some(index);
        }
        if fact.tokens == 0 {
            continue;
        }
        tokens += fact.tokens;
        if tokens >= keep_recent {
            let cut = match oldest {
                Some(oldest) => Some(oldest),
                // Tool results alone exceed the budget: keep their call with them.
                None => latest_beginning(range.start..index, facts)?,
            };
            return Ok(cut.map(|cut| (cut, true)));
        }
    }
    Ok(oldest.map(|cut| (cut, false)))
}

fn latest_beginning<E>(range: Range<usize>, facts: &mut impl CutFacts<E>) -> Result<Option<usize>, E> {
    for index in range.rev() {
        if facts.fact(index)?.cut_point != CutPoint::Nothing {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn turn_start<E>(range: Range<usize>, facts: &mut impl CutFacts<E>) -> Result<Option<usize>, E> {
    for index in range.rev() {
        if facts.fact(index)?.cut_point == CutPoint::Turn {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Finds the cut among entries as stored, without a projection: pi's `findCutPoint`.
pub fn find_cut_point<E>(
    outline: &Outline,
    rows: &[Row],
    range: Range<usize>,
    keep_recent: u64,
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<Cut, E> {
    find_cut(range, keep_recent, &mut PlainFacts { outline, rows, zone, read, owner: PhantomData })
}

/// Facts about entries as stored in the file.
struct PlainFacts<'f, R, E> {
    outline: &'f Outline,
    rows: &'f [Row],
    zone: &'f dyn LocalZone,
    read: &'f mut R,
    owner: PhantomData<E>,
}

impl<E, R: ReadContext<E>> CutFacts<E> for PlainFacts<'_, R, E> {
    fn fact(&mut self, index: usize) -> Result<CutFact, E> {
        let kind = self.outline.kind(self.rows[index]);
        let entry = self.read.value(self.rows[index])?;
        Ok(CutFact::of(&entry_messages(kind, entry.raw(), self.zone), kind == Kind::Compaction))
    }

    fn is_recovery(&mut self, _suffix: Range<usize>) -> Result<bool, E> {
        Ok(false)
    }
}
