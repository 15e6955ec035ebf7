//! The agents whose sessions can be read.

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
}

impl Agent {
    /// All agents.
    pub const ALL: &[Self] = &[Self::Claude];

    /// The word for commands and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
        }
    }

    /// The agent with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|agent| agent.word() == word)
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
        }
    }

    /// The `api` of its answers. Because no provider of pi has this name, pi treats the answers as those of another
    /// model: it does not send their thoughts, and makes their call ids valid for the model that goes on.
    pub fn api(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
        }
    }
}
