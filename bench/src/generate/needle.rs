//! Words to search for: planted rare ones, and common ones that are everywhere.

/// A word that stands nowhere but where it was planted.
pub const WORD: &str = "barnacleLantern58";

/// A phrase of words that are common each, planted together in this order alone.
pub const PHRASE: &str = "first parent of every last cache";

/// A word of many sessions.
pub const COMMON_WORD: &str = "session";

/// A phrase of many sessions.
pub const COMMON_PHRASE: &str = "all tests pass now";

/// What to plant into a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needle {
    Word,
    Phrase,
}

impl Needle {
    pub(super) fn sentence(self) -> String {
        match self {
            Self::Word => format!("Please look at {WORD} before we go on with the rest."),
            Self::Phrase => format!("I think the {PHRASE} is what we want here."),
        }
    }
}
