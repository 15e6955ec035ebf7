//! Decides from the last answer whether to compact.

use super::files::is_word;
use crate::date::Timestamp;
use crate::json::Raw;

/// What a host should do about the size of its context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AutoCompaction {
    /// Nothing.
    None,
    /// Compact, because the context exceeds the threshold.
    Threshold {
        /// The size of the context.
        tokens: f64,
    },
    /// Compact, because the context did not fit.
    Overflow {
        /// Whether the answer is useless. If so, the host removes it from the context first and requests it again
        /// afterwards.
        will_retry: bool,
    },
}

/// The last answer of a path, and what its ending says about the context.
#[derive(Clone, Copy, Debug)]
pub struct LastAnswer<'a>(Raw<'a>);

impl<'a> LastAnswer<'a> {
    /// Wraps a message as an answer.
    pub fn of(message: Raw<'a>) -> Self {
        Self(message)
    }

    fn stopped(self, word: &str) -> bool {
        is_word(self.0.get("stopReason"), word)
    }

    /// Whether the user stopped it.
    pub fn is_aborted(self) -> bool {
        self.stopped("aborted")
    }

    /// Whether it came before a compaction, and so says nothing about the current context.
    pub fn is_older_than(self, compaction_time: Option<Timestamp>) -> bool {
        let time = self.0.get("timestamp").and_then(Raw::as_number);
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
        let is_older = |compaction: Timestamp| time.is_some_and(|time| time <= compaction.as_ms() as f64);
        compaction_time.is_some_and(is_older)
    }

    /// Returns what to do if the context did not fit; `None` if it did.
    pub fn overflow(self, window: u64, output_limit: Option<u64>) -> Option<AutoCompaction> {
        let number = |key| self.0.get("usage").and_then(|usage| usage.get(key)).map_or(0.0, Raw::to_js_number);
        #[expect(clippy::cast_precision_loss, reason = "no window is beyond 2^53")]
        let (window, output_limit) = (window as f64, output_limit.map(|limit| limit as f64));
        if self.stopped("error") {
            let text = self.0.get("errorMessage").and_then(Raw::as_string).unwrap_or_default();
            return is_overflow_error(&text).then_some(AutoCompaction::Overflow { will_retry: true });
        }
        if self.is_aborted() {
            return None;
        }
        // An answer that ends before its own limit was cut off by the window.
        let is_squeezed = self.stopped("length") && output_limit.is_some_and(|limit| number("output") < limit);
        if is_squeezed {
            return Some(AutoCompaction::Overflow { will_retry: true });
        }
        let is_over = number("input") + number("cacheRead") > window;
        (self.stopped("stop") && is_over).then_some(AutoCompaction::Overflow { will_retry: false })
    }
}

/// Phrases in provider errors about requests that do not fit into the window, in lower case.
const OVERFLOW_PHRASES: [&str; 12] = [
    "context length",
    "context_length",
    "context window",
    "context size",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input token count",
    "maximum prompt length",
    "length of the messages",
    "exceeds the limit of",
    "request_too_large",
];

/// Whether a provider's error says that the request did not fit into the window.
///
/// A host that knows its provider better can decide this itself.
pub fn is_overflow_error(message: &str) -> bool {
    let message = message.to_lowercase();
    OVERFLOW_PHRASES.iter().any(|phrase| message.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overflow(message: &str) -> Option<bool> {
        let message = Raw::parse(message.as_bytes()).unwrap();
        match LastAnswer::of(message).overflow(1000, Some(100))? {
            AutoCompaction::Overflow { will_retry } => Some(will_retry),
            _ => None,
        }
    }

    #[test]
    fn overflow_errors_are_recognised() {
        let cases = [
            (r#"{"stopReason":"error","errorMessage":"400 Prompt is too long: 9 tokens > 8 maximum"}"#, Some(true)),
            (r#"{"stopReason":"error","errorMessage":"429 Too many requests"}"#, None),
            (r#"{"stopReason":"length","usage":{"output":99}}"#, Some(true)),
            (r#"{"stopReason":"length","usage":{"output":100}}"#, None),
            (r#"{"stopReason":"stop","usage":{"input":600,"cacheRead":401}}"#, Some(false)),
            (r#"{"stopReason":"stop","usage":{"input":600,"cacheRead":400}}"#, None),
            (r#"{"stopReason":"aborted","usage":{"input":6000,"cacheRead":400}}"#, None),
            (r#"{"stopReason":"stop"}"#, None),
            ("{}", None),
        ];
        for (message, expected) in cases {
            assert_eq!(overflow(message), expected, "{message}");
        }
    }

    #[test]
    fn answers_before_a_compaction_are_ignored() {
        let answer = Raw::parse(br#"{"timestamp":5}"#).unwrap();
        let answer = LastAnswer::of(answer);
        assert!(answer.is_older_than(Some(Timestamp::from_ms(5))));
        assert!(!answer.is_older_than(Some(Timestamp::from_ms(4))));
        assert!(!answer.is_older_than(None));
    }
}
