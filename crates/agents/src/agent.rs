//! The agents whose sessions can be read.

use sessile_core::json::{Raw, Shape};

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// oh-my-pi.
    Omp,
    /// opencode.
    Opencode,
    /// Qwen Code.
    Qwen,
}

impl Agent {
    /// All agents. New agents go to the end, because the inputs of the fuzz target name agents by their place here.
    pub const ALL: &[Self] =
        &[Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Qwen, Self::Copilot, Self::Omp];

    /// The word for commands and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Omp => "omp",
            Self::Opencode => "opencode",
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
            Self::Copilot => "Copilot CLI",
            Self::Gemini => "Gemini CLI",
            Self::Omp => "oh-my-pi",
            Self::Opencode => "opencode",
            Self::Qwen => "Qwen Code",
        }
    }

    /// The agent that wrote a line, if the line shows it.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        let line = Raw::parse(line).ok()?;
        let [info, messages, directory, project] = line.pick(["info", "messages", "directory", "projectID"]);
        if (info.is_some() && messages.is_some()) || (directory.is_some() && project.is_some()) {
            return Some(Self::Opencode);
        }
        let [hash, set, rewind] = line.pick(["projectHash", "$set", "$rewindTo"]);
        if hash.or(set).or(rewind).is_some() {
            return Some(Self::Gemini);
        }
        let [kind, payload, session, uuid, leaf] = line.pick(["type", "payload", "sessionId", "uuid", "leafUuid"]);
        let Some(kind) = kind else { return is_old_codex(line).then_some(Self::Codex) };
        let kind = kind.as_string().unwrap_or_default();
        if kind == "title" && line.get("v").is_some() {
            return Some(Self::Omp);
        }
        if kind.starts_with("session.") && line.get("data").is_some() {
            return Some(Self::Copilot);
        }
        if payload.is_some_and(|payload| payload.shape() == Shape::Object) {
            return Some(Self::Codex);
        }
        let [message, system] = line.pick(["message", "systemPayload"]);
        if system.is_some() || message.is_some_and(|message| message.get("parts").is_some()) {
            return Some(Self::Qwen);
        }
        [session, uuid, leaf].iter().any(Option::is_some).then_some(Self::Claude)
    }

    /// The `api` of pi for the provider that signs its thoughts.
    pub(crate) fn signing_api(self) -> &'static str {
        match self {
            Self::Claude => "anthropic-messages",
            Self::Codex => "openai-responses",
            other => other.api(),
        }
    }

    /// The `api` of its answers. Because no provider of pi has this name, pi treats the answers as those of another
    /// model: it does not send their thoughts, and makes their call ids valid for the model that goes on.
    pub fn api(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot-cli",
            Self::Gemini => "gemini-cli",
            Self::Omp => "oh-my-pi",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen-code",
        }
    }
}

/// Whether a value is the beginning of an old file of Codex: a header without a type, or the whole document.
fn is_old_codex(value: Raw<'_>) -> bool {
    let [id, time, instructions] = value.pick(["id", "timestamp", "instructions"]);
    let [session, items] = value.pick(["session", "items"]);
    let is_document = session.is_some_and(|session| session.shape() == Shape::Object)
        && items.is_some_and(|items| items.shape() == Shape::Array);
    is_document || (id.is_some() && time.is_some() && instructions.is_some())
}
