//! Finds secrets in a text.

use crate::Finding;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Any text.
    Ordinary,
    /// The output of a command or a file that holds secrets, such as `.env`: every value in it counts.
    SecretSource,
}

/// What to look for besides the built-in rules.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Only findings of [`Tier::Certain`](crate::Tier::Certain).
    pub certain_only: bool,
    /// Values that are known to be secret. Each occurrence counts, encoded or not.
    pub known: Vec<crate::Secret>,
    /// Rules of the user: a name and a regular expression. A group named `secret` is the secret; otherwise the match is.
    pub rules: Vec<(String, String)>,
}

/// Why a rule of the user cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The name of the rule.
    pub rule: String,
    /// The reason.
    pub reason: String,
}

/// Looks for secrets in texts.
#[derive(Debug)]
pub struct Scanner {}

impl Scanner {
    /// Prepares a scan.
    pub fn new(_options: &ScanOptions) -> Result<Self, RuleError> {
        Ok(Self {})
    }

    /// Returns the secrets of a text, in its order and without overlaps.
    pub fn find(&self, _text: &str, _origin: Origin) -> Vec<Finding> {
        Vec::new()
    }
}
