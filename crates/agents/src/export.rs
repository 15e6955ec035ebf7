//! Sessions of pi, as sessions of other agents.
//!
//! The conversation is what a model receives on a branch. It is brought into a form that every agent and provider
//! accepts ([`Conversation`]), and then written in the format of the agent. The same conversation always gives the
//! same file.

mod chain;
mod claude;
mod clean;
mod codex;
mod conversation;
mod gemini;
mod names;
mod omp;
mod opencode;
mod qwen;
mod resume;
mod tools;

use sessile_core::date::Timestamp;
use sessile_core::json::Json;

use crate::foreign::Losses;
use clean::well_formed;
use conversation::Conversation;
use names::Names;

/// An agent that sessions can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// opencode.
    Opencode,
    /// oh-my-pi.
    Omp,
}

impl Target {
    /// All targets.
    pub const ALL: &[Self] = &[Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Opencode, Self::Omp];

    /// The word for commands and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Opencode => "opencode",
            Self::Omp => "omp",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
            Self::Opencode => "opencode",
            Self::Omp => "oh-my-pi",
        }
    }
}

/// What an export is about, besides its messages.
#[derive(Clone, Copy, Debug)]
pub struct ExportSource<'s> {
    /// The id of the session.
    pub session_id: &'s str,
    /// The working directory in which the agent goes on.
    pub cwd: &'s str,
    /// When the session began.
    pub started: Timestamp,
    /// The session's name.
    pub title: Option<&'s str>,
    /// Whether to give pi's tools the names and arguments of the agent's own tools.
    pub map_tools: bool,
}

/// A session in the format of another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The agent.
    pub target: Target,
    /// The agent's id for the session.
    pub id: String,
    /// The name that the agent would give the file.
    pub file_name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// The time of the first message.
    pub began: Timestamp,
    /// The number of messages: those of the user and the model, and results.
    pub n_messages: usize,
    /// What is not kept.
    pub losses: Losses,
}

/// Writes messages of a model's context as a session of an agent; `None` if they contain no conversation.
pub fn export(target: Target, source: &ExportSource<'_>, messages: &[Json]) -> Option<Exported> {
    let tools = tools::names_for(target, source.map_tools);
    let conversation = Conversation::of(messages, source.started, tools);
    if conversation.turns.is_empty() {
        return None;
    }
    let title = source.title.map(clean::title).filter(|title| !title.is_empty());
    let names = Names::new(target, source, &conversation);
    let writing = Writing { source, title: title.as_deref(), names: &names, conversation: &conversation };
    let (id, file_name, lines) = match target {
        Target::Claude => claude::write(&writing),
        Target::Codex => codex::write(&writing),
        Target::Gemini => gemini::write(&writing),
        Target::Qwen => qwen::write(&writing),
        Target::Opencode => opencode::write(&writing),
        Target::Omp => omp::write(&writing),
    };
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend(well_formed(&line.into_bytes()));
        bytes.push(b'\n');
    }
    let n_messages = conversation.n_messages();
    let began = conversation.began();
    Some(Exported { target, id, file_name, bytes, began, n_messages, losses: conversation.losses })
}

/// What the writers of all formats need.
struct Writing<'w> {
    source: &'w ExportSource<'w>,
    title: Option<&'w str>,
    names: &'w Names,
    conversation: &'w Conversation,
}

/// The id of a session, the name of its file, and its lines.
type Written = (String, String, Vec<Json>);
