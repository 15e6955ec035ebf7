//! The keys of a storage.

use std::fmt;

use crate::secret::Secret;

/// An access key and its secret key. They are never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Keys {
    pub(super) access: String,
    pub(super) secret: Secret,
}

impl S3Keys {
    /// Takes the two keys.
    pub fn new(access: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { access: access.into(), secret: Secret::new(secret) }
    }

    /// Reads the text of a file with two lines: the access key and the secret key. `None` if it does not have them.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim);
        let keys = Self::new(lines.next()?, lines.next()?);
        let is_key = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        (is_key(&keys.access) && is_key(keys.secret.reveal()) && lines.all(str::is_empty)).then_some(keys)
    }
}

impl fmt::Debug for S3Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("S3Keys(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_two_lines() {
        for text in ["AKIA\nse/cr+et", "AKIA\r\nse/cr+et\r\n\n", " AKIA \n se/cr+et "] {
            assert_eq!(S3Keys::from_text(text), Some(S3Keys::new("AKIA", "se/cr+et")), "{text:?}");
        }
        for text in ["", "AKIA", "AKIA\n", "\nsecret", "a\nb\nc", "a b\nc", "a\nb\u{1b}", "ä\nb"] {
            assert_eq!(S3Keys::from_text(text), None, "{text:?}");
        }
    }
}
