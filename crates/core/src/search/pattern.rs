//! Regular expressions over texts.

use regex::{Regex, RegexBuilder};

use super::needed::needed;
use super::query::Clause;

/// The maximum number of occurrences counted in one document.
const MAX_COUNTED: usize = 1000;

/// A case-insensitive regular expression.
///
/// Uses the syntax of the `regex` crate: JavaScript's without look-around and back-references, in exchange for linear
/// time.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    needed: Vec<Clause>,
}

/// Why a text is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadPattern {
    reason: String,
}

impl Pattern {
    /// Parses a regular expression.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        // `^` and `$` match the ends of the text, as in JavaScript without flags.
        let built = RegexBuilder::new(pattern).case_insensitive(true).build();
        match built {
            Ok(regex) => Ok(Self { regex, needed: needed(pattern) }),
            Err(error) => Err(BadPattern { reason: error.to_string() }),
        }
    }

    /// A pattern that matches a text literally, except for case.
    pub fn literal(text: &str) -> Result<Self, BadPattern> {
        Self::new(&regex::escape(text))
    }

    /// Conditions that the words of a text meet wherever it matches; none if it can match without a whole word.
    ///
    /// A word of more than [`LONGEST`](super::token::LONGEST) bytes meets all of them, since only its beginning is indexed.
    pub fn needed(&self) -> &[Clause] {
        &self.needed
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The ranges of the matches, in order.
    pub fn find(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        self.regex.find_iter(text).take(MAX_COUNTED).map(|found| found.range()).collect()
    }
}
