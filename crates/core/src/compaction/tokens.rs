//! Estimates the number of tokens in messages without a model.

use super::files::is_word;
use crate::checkpoint::checkpoint;
use crate::context::{Projection, ReadContext};
use crate::date::Timestamp;
use crate::head::{Kind, Role};
use crate::json::{JsText, Json, Raw, Shape, print};
use crate::outline::{Outline, Row};

/// The number of UTF-16 units that count as one token.
const UNITS_PER_TOKEN: u64 = 4;

/// The size of an image, in UTF-16 units.
const IMAGE_UNITS: u64 = 4800;

/// The tokens of a message, estimated from the length of its text: pi's `estimateTokens`.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::compaction::estimate_tokens;
/// use sessile::json::Raw;
///
/// let message = Raw::parse(br#"{"role":"user","content":[{"type":"text","text":"Hello"},{"type":"image"}]}"#)?;
/// assert_eq!(estimate_tokens(message), 1202);
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
pub fn estimate_tokens(message: Raw<'_>) -> u64 {
    let units = match Role::of(message.get("role")) {
        Role::User | Role::Custom | Role::ToolResult => content_units(message),
        Role::Assistant => answer_units(message),
        Role::BashExecution => text_units(message.get("command")) + text_units(message.get("output")),
        Role::BranchSummary | Role::CompactionSummary => text_units(message.get("summary")),
        Role::System => system_units(message),
        Role::HookMessage | Role::Other | Role::None => 0,
    };
    units.div_ceil(UNITS_PER_TOKEN)
}

fn content_units(message: Raw<'_>) -> u64 {
    let Some(content) = message.get("content") else { return 0 };
    if content.shape() == Shape::String {
        return text_units(Some(content));
    }
    let block_units = |block: Raw<'_>| match () {
        () if is_word(block.get("type"), "text") => text_units(block.get("text")),
        () if is_word(block.get("type"), "image") => IMAGE_UNITS,
        () => 0,
    };
    content.items().map(block_units).sum()
}

fn answer_units(message: Raw<'_>) -> u64 {
    let block_units = |block: Raw<'_>| match () {
        () if is_word(block.get("type"), "text") => text_units(block.get("text")),
        () if is_word(block.get("type"), "thinking") => text_units(block.get("thinking")),
        () if is_word(block.get("type"), "toolCall") => {
            text_units(block.get("name")) + printed_units(block.get("arguments"))
        }
        () => 0,
    };
    message.get("content").into_iter().flat_map(Raw::items).map(block_units).sum()
}

fn system_units(message: Raw<'_>) -> u64 {
    let sections = message.get("sections").into_iter().flat_map(Raw::properties);
    let sections: u64 = sections.map(|(_, text)| text_units(Some(text))).sum();
    content_units(message) + sections + printed_units(message.get("toolsAdded"))
}

/// The length of a string; 0 for other values.
fn text_units(value: Option<Raw<'_>>) -> u64 {
    value.and_then(Raw::as_text).map_or(0, |text| text.utf16_len() as u64)
}

/// The length of the text that JavaScript prints for a value.
fn printed_units(value: Option<Raw<'_>>) -> u64 {
    value.map_or(0, |value| JsText::from_wtf8(print(value).raw().as_bytes()).utf16_len() as u64)
}

/// The size of the context according to an answer's `usage`: pi's `calculateContextTokens`.
///
/// NaN if the usage does not state it.
pub fn context_tokens(usage: Raw<'_>) -> f64 {
    let number = |key| usage.get(key).map_or(f64::NAN, Raw::to_js_number);
    match usage.get("totalTokens").filter(|total| total.is_truthy()) {
        Some(total) => total.to_js_number(),
        None => number("input") + number("output") + number("cacheRead") + number("cacheWrite"),
    }
}

/// The size of the context according to this message, if it is an answer that completed.
pub fn stated_tokens(message: Raw<'_>) -> Option<f64> {
    let stopped = |word| is_word(message.get("stopReason"), word);
    if Role::of(message.get("role")) != Role::Assistant || stopped("aborted") || stopped("error") {
        return None;
    }
    let usage = message.get("usage").filter(|usage| usage.is_truthy())?;
    Some(context_tokens(usage)).filter(|tokens| *tokens > 0.0)
}

/// The size of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextEstimate {
    /// All tokens.
    pub tokens: f64,
    /// The tokens according to the last answer.
    pub usage_tokens: f64,
    /// The estimated tokens of the messages after that answer, or of all messages if no answer counts.
    pub trailing_tokens: f64,
    /// The index of that answer among the messages.
    pub last_usage_index: Option<usize>,
}

/// The size of a list of messages: pi's `estimateContextTokens`.
pub fn estimate_context<'m>(messages: impl IntoIterator<Item = Raw<'m>>) -> ContextEstimate {
    let mut estimate = ContextEstimate::default();
    for (index, message) in messages.into_iter().enumerate() {
        if let Some(stated) = stated_tokens(message) {
            let last_usage_index = Some(index);
            estimate = ContextEstimate { tokens: stated, usage_tokens: stated, trailing_tokens: 0.0, last_usage_index };
        } else {
            estimate.trailing_tokens += guess(message);
            estimate.tokens = estimate.usage_tokens + estimate.trailing_tokens;
        }
    }
    estimate
}

/// The size of the context of a path: pi's `estimateProjectedContextTokens`.
///
/// The usage of an answer counts only if the path was not compacted or edited after it, because it refers to a
/// different context. If it counts, nothing before that answer is read.
pub fn estimate_projected<E>(
    outline: &Outline,
    path: &[Row],
    projection: &Projection<'_>,
    read: &mut impl ReadContext<E>,
) -> Result<ProjectedEstimate, E> {
    let is_change = |row: &Row| matches!(outline.kind(*row), Kind::ContextEdit | Kind::Compaction);
    let last_change = path.iter().rposition(is_change);
    let mut trailing = 0.0;
    for index in (0..projection.rows().len()).rev() {
        let row = projection.rows()[index];
        let messages = projection.messages(index, read)?;
        for message in messages.iter().rev() {
            if let Some(stated) = stated_tokens(message.raw()) {
                let at = path.iter().rposition(|other| *other == row);
                if at <= last_change {
                    return guessed_for_all(projection, read);
                }
                let tokens = stated + trailing;
                let usage_row = Some(row);
                return Ok(ProjectedEstimate { tokens, usage_tokens: stated, trailing_tokens: trailing, usage_row });
            }
            trailing += guess(message.raw());
        }
    }
    guessed_for_all(projection, read)
}

/// The size of the context of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectedEstimate {
    /// All tokens.
    pub tokens: f64,
    /// The tokens according to the last answer.
    pub usage_tokens: f64,
    /// The estimated tokens after that answer, or of the whole context if no answer counts.
    pub trailing_tokens: f64,
    /// That answer.
    pub usage_row: Option<Row>,
}

/// Estimates every message. System messages count only in their combined form.
fn guessed_for_all<E>(projection: &Projection<'_>, read: &mut impl ReadContext<E>) -> Result<ProjectedEstimate, E> {
    let mut tokens = 0.0;
    let mut system: Vec<Json> = Vec::new();
    for index in 0..projection.rows().len() {
        for message in projection.messages(index, read)? {
            if Role::of(message.raw().get("role")) == Role::System {
                system.push(message);
            } else {
                tokens += guess(message.raw());
            }
        }
    }
    tokens += checkpoint(system.iter().map(Json::raw), Timestamp::EPOCH).map_or(0.0, |sum| guess(sum.raw()));
    Ok(ProjectedEstimate { tokens, usage_tokens: 0.0, trailing_tokens: tokens, usage_row: None })
}

/// The estimate for a message, as a float for calculations.
#[expect(clippy::cast_precision_loss, reason = "no message has 2^53 characters")]
pub(super) fn guess(message: Raw<'_>) -> f64 {
    estimate_tokens(message) as f64
}
