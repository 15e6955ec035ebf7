//! Keys, which must not appear in any message.

use std::fmt;

/// A key. It prints as a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// Replaces a key in a message.
const PLACEHOLDER: &str = "[key]";

/// A shorter value is not treated as a key: it may occur in a message by chance.
const SHORTEST: usize = 6;

impl Secret {
    pub(crate) fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Returns the key itself, for a header.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Removes the key from a text, in case a server sent it back.
    ///
    /// A truncated text may end with the beginning of the key; this is removed, too.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.len() < SHORTEST {
            return text.to_owned();
        }
        let hidden = text.replace(&self.0, PLACEHOLDER);
        let end = hidden.trim_end_matches('…');
        let beginnings = self.0.char_indices().rev().map(|(at, _)| self.0.split_at(at).0);
        match beginnings.filter(|it| it.len() >= SHORTEST).find_map(|it| end.strip_suffix(it)) {
            Some(before) => format!("{before}{PLACEHOLDER}…"),
            None => hidden,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PLACEHOLDER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Secret::new(" sk-verysecret\n");
        assert_eq!(key.reveal(), "sk-verysecret");
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.hide_in("bad key sk-verysecret!"), "bad key [key]!");
        assert_eq!(key.hide_in("bad key sk-verys…"), "bad key [key]…");
    }
}
