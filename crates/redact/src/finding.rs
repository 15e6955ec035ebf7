//! What a scan finds.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Prefix, length and alphabet fit, and the checksum if the format has one.
    Certain,
    /// The context says that it is a secret.
    Likely,
}

/// The encoding in which a secret was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// Base64, with either alphabet.
    Base64,
    /// Percent encoding.
    Percent,
    /// Hexadecimal digits.
    Hex,
    /// JSON in a string.
    Json,
    /// Text with terminal control sequences in it.
    Ansi,
    /// Text that was wrapped over several lines.
    Wrapped,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The bytes of the text to replace: the secret, or the outermost encoded run that holds it.
    pub range: Range<usize>,
    /// The name of the rule, such as `github-token`.
    pub rule: Arc<str>,
    /// How sure it is.
    pub tier: Tier,
    /// The outermost encoding; none for plain text.
    pub via: Option<Via>,
    /// The secret itself, decoded.
    pub secret: Secret,
}

/// The value of a secret. It is never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret of a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, to compare it and to make a placeholder of it. It must not reach any output.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
