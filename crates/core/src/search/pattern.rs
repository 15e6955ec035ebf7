//! Regular expressions over texts.

use regex::{Regex, RegexBuilder};

/// More occurrences than this in one document make no difference.
const MOST_COUNTED: usize = 1000;

/// A regular expression that pays no attention to case.
///
/// The language is that of the `regex` crate: JavaScript's without
/// look-around and back-references, in exchange for time linear in the text.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// Why something is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadPattern {
    reason: String,
}

impl Pattern {
    /// Reads a regular expression.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        // `^` and `$` are the ends of a text, as in JavaScript without flags.
        let built = RegexBuilder::new(pattern).case_insensitive(true).build();
        built.map(Self).map_err(|error| BadPattern { reason: error.to_string() })
    }

    /// One that finds a text as it is written, but for case.
    pub fn literal(text: &str) -> Result<Self, BadPattern> {
        Self::new(&regex::escape(text))
    }

    /// Whether it matches somewhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Where it matches, from the beginning.
    pub fn find(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        self.0.find_iter(text).take(MOST_COUNTED).map(|found| found.range()).collect()
    }
}
