//! Search terms: planted rare ones, and common ones.

/// A word that occurs only where it was planted.
pub const WORD: &str = "barnacleLantern58";

/// A phrase of common words that occurs in this order only where it was planted.
pub const PHRASE: &str = "first parent of every last cache";

/// A word that occurs in many sessions.
pub const COMMON_WORD: &str = "session";

/// A phrase that occurs in many sessions.
pub const COMMON_PHRASE: &str = "all tests pass now";

/// What to plant in a session.
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
