//! The agents whose sessions can be read.

use sessile_core::json::{Raw, Shape};

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Qwen Code.
    Qwen,
}

impl Agent {
    /// All agents.
    pub const ALL: &[Self] = &[Self::Claude, Self::Codex, Self::Qwen];

    /// The word for commands and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Qwen => "qwen",
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
            Self::Codex => "Codex",
            Self::Qwen => "Qwen Code",
        }
    }

    /// The agent that wrote a line, if the line shows it.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        let line = Raw::parse(line).ok()?;
        let [kind, payload, session, uuid, leaf] = line.pick(["type", "payload", "sessionId", "uuid", "leafUuid"]);
        kind?;
        if payload.is_some_and(|payload| payload.shape() == Shape::Object) {
            return Some(Self::Codex);
        }
        let [message, system] = line.pick(["message", "systemPayload"]);
        if system.is_some() || message.is_some_and(|message| message.get("parts").is_some()) {
            return Some(Self::Qwen);
        }
        [session, uuid, leaf].iter().any(Option::is_some).then_some(Self::Claude)
    }

    /// The `api` of its answers. Because no provider of pi has this name, pi treats the answers as those of another
    /// model: it does not send their thoughts, and makes their call ids valid for the model that goes on.
    pub fn api(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Qwen => "qwen-code",
        }
    }
}
