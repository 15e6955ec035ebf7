//! Plays the conversations of the sample.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::EntryId;
use sessile_core::date::Timestamp;
use sessile_core::draft::{
    AssistantMessage, BashExecutionMessage, Block, Cost, StopReason, TokenUsage, ToolResultMessage, UserMessage,
};
use sessile_core::json::Json;

use super::world::World;
use crate::SessionError;
use crate::environment::Environment;
use crate::manager::SessionManager;
use crate::sessions::Sessions;

/// A session being played, with the model that answers in it.
pub(super) struct Stage {
    pub(super) session: SessionManager,
    world: Arc<World>,
    provider: &'static str,
    model: &'static str,
    /// The approximate number of tokens in the conversation so far.
    context_tokens: u64,
    n_calls: usize,
}

pub(super) type Played<T = EntryId> = Result<T, SessionError>;

/// A tool call and its result.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    pub(super) tool: &'c str,
    /// A JSON object.
    pub(super) arguments: &'c str,
    pub(super) output: &'c str,
    pub(super) is_error: bool,
}

/// A successful call.
pub(super) fn call<'c>(tool: &'c str, arguments: &'c str, output: &'c str) -> Call<'c> {
    Call { tool, arguments, output, is_error: false }
}

impl Stage {
    pub(super) fn new(world: &Arc<World>, cwd: &str) -> Played<Self> {
        let session = sessions(world).create(cwd)?;
        Ok(Self::with(world, session, 1200))
    }

    pub(super) fn open(world: &Arc<World>, file: &Path) -> Played<Self> {
        Ok(Self::with(world, sessions(world).open(file)?, 5200))
    }

    pub(super) fn forked(world: &Arc<World>, file: &Path, cwd: &str) -> Played<Self> {
        Ok(Self::with(world, sessions(world).fork_from(file, cwd)?, 5200))
    }

    fn with(world: &Arc<World>, session: SessionManager, context_tokens: u64) -> Self {
        let world = Arc::clone(world);
        Self { session, world, provider: "anthropic", model: "claude-sonnet-4-5", context_tokens, n_calls: 0 }
    }

    /// The session's file.
    pub(super) fn file(&self) -> PathBuf {
        self.session.session_file().map(Path::to_path_buf).unwrap_or_default()
    }

    /// Selects a model and a thinking level.
    pub(super) fn select(&mut self, provider: &'static str, model: &'static str, level: &str) -> Played {
        (self.provider, self.model) = (provider, model);
        self.session.append_model_change(provider, model)?;
        self.session.append_thinking_level_change(level)
    }

    pub(super) fn user(&mut self, seconds: i64, text: &str) -> Played {
        let now = self.later(seconds, text);
        self.session.append_message(UserMessage::new(text, now))
    }

    pub(super) fn answer(&mut self, seconds: i64, text: &str) -> Played {
        self.blocks(seconds, vec![Block::text(text)], |_| {})
    }

    pub(super) fn thoughtful_answer(&mut self, seconds: i64, thought: &str, text: &str) -> Played {
        self.blocks(seconds, vec![Block::thinking(thought), Block::text(text)], |_| {})
    }

    /// An answer that the user aborted.
    pub(super) fn aborted(&mut self, seconds: i64, text: &str) -> Played {
        self.blocks(seconds, vec![Block::text(text)], |answer| answer.stop_reason = StopReason::Aborted)
    }

    /// An answer that never came.
    pub(super) fn failed(&mut self, seconds: i64, error: &str) -> Played {
        self.blocks(seconds, Vec::new(), |answer| {
            answer.stop_reason = StopReason::Error;
            answer.error_message = Some(error.to_owned());
            answer.usage = TokenUsage::default();
        })
    }

    /// The model writes a text and calls a tool, which returns a result. Returns the result's id.
    pub(super) fn calls(&mut self, seconds: i64, text: &str, call: Call<'_>) -> Played {
        self.n_calls += 1;
        let id = format!("toolu_{}_{:02}", call.tool, self.n_calls);
        // The arguments are our own literals.
        let arguments = Json::parse(call.arguments).unwrap_or_else(|_| Json::null());
        let block = (!text.is_empty()).then(|| Block::text(text));
        let content = block.into_iter().chain([Block::tool_call(&id, call.tool, arguments)]).collect();
        self.blocks(seconds, content, |_| {})?;
        let now = self.later(1, call.output);
        let mut result = ToolResultMessage::new(id, call.tool, call.output, now);
        result.is_error = call.is_error;
        self.session.append_message(result)
    }

    /// The user runs a shell command.
    pub(super) fn shell(&mut self, seconds: i64, command: &str, output: &str) -> Played {
        let now = self.later(seconds, output);
        self.session.append_message(BashExecutionMessage::new(command, output, 0, now))
    }

    fn blocks(&mut self, seconds: i64, content: Vec<Block>, change: impl FnOnce(&mut AssistantMessage)) -> Played {
        let words: String = content.iter().map(|block| Json::from(block).to_text().into_owned()).collect();
        let prompt = self.context_tokens;
        let now = self.later(seconds, &words);
        let mut answer = AssistantMessage::new(self.provider, self.model, content, now);
        answer.api = format!("{}-messages", self.provider);
        answer.usage = usage(prompt, self.context_tokens - prompt);
        change(&mut answer);
        self.session.append_message(answer)
    }

    fn later(&mut self, seconds: i64, text: &str) -> Timestamp {
        self.world.wait(seconds);
        self.context_tokens += text.len() as u64 / 4 + 4;
        self.world.now()
    }
}

fn sessions(world: &Arc<World>) -> Sessions {
    Sessions::shared(Arc::clone(world) as _)
}

/// A plausible usage of an answer: most of the prompt comes from the cache.
fn usage(prompt: u64, output: u64) -> TokenUsage {
    let fresh = prompt.min(40);
    let cached = prompt - fresh;
    // In tenths of a microdollar, so that sums of integers stay exact.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]
    let dollars = |tokens: u64, rate: u64| (tokens * rate) as f64 / 1e7;
    let cost = Cost {
        input: dollars(fresh, 30),
        output: dollars(output, 150),
        cache_read: dollars(cached, 3),
        cache_write: 0.0,
        total: dollars(fresh * 30 + output * 150 + cached * 3, 1),
        total_from_provider: None,
    };
    TokenUsage {
        input: fresh,
        output,
        cache_read: cached,
        total_tokens: prompt + output,
        cost,
        ..TokenUsage::default()
    }
}
