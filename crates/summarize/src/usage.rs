//! Token usage as JSON.

use sessile_core::draft::{Cost, TokenUsage};
use sessile_core::json::Raw;

/// Reads a usage object in pi's format. Counts that are missing or invalid are 0.
pub(crate) fn read_usage(json: Raw<'_>) -> TokenUsage {
    let count = |key: &str| json.get(key).and_then(as_count).unwrap_or(0);
    let cost = json.get("cost");
    let dollars =
        |key: &str| cost.and_then(|cost| cost.get(key)).and_then(Raw::as_number).filter(|it| *it >= 0.0).unwrap_or(0.0);
    let mut usage = TokenUsage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        cache_write_1h: json.get("cacheWrite1h").and_then(as_count),
        reasoning: json.get("reasoning").and_then(as_count),
        total_tokens: count("totalTokens"),
        cost: Cost {
            input: dollars("input"),
            output: dollars("output"),
            cache_read: dollars("cacheRead"),
            cache_write: dollars("cacheWrite"),
            total: dollars("total"),
            total_from_provider: cost.and_then(|cost| cost.get("totalFromProvider")).and_then(Raw::as_bool),
        },
    };
    if usage.total_tokens == 0 {
        usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
    }
    usage
}

/// Reads a number of tokens.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole number in range")]
pub(crate) fn as_count(value: Raw<'_>) -> Option<u64> {
    value.as_number().filter(|number| (0.0..=1e15).contains(number)).map(|number| number as u64)
}
