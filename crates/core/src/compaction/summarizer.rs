//! The interface for summarizers: a language model, a program or a set of rules.

use std::error::Error;

use super::conversation::Conversation;
use super::files::FileLists;
use crate::cancel::Cancel;
use crate::draft::TokenUsage;

/// The context window assumed for an unknown model, in tokens.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// Summarises a conversation: text in, text out.
///
/// [`summarizer_fn`] makes one from a closure.
///
/// A summarizer does nothing else. It blocks until it is done, checks `cancel` often enough to stop promptly, and never
/// touches the session: the caller decides what is written.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::Cancel;
/// use sessile::compaction::{
///     Conversation, Generator, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
/// };
///
/// /// Says how much was said.
/// struct Counting;
///
/// impl Summarizer for Counting {
///     fn generator(&self) -> Generator {
///         Generator::Extractive
///     }
///
///     fn summarize(
///         &self,
///         request: &SummaryRequest<'_>,
///         _progress: &mut dyn FnMut(SummaryProgress<'_>),
///         cancel: &Cancel,
///     ) -> Result<Summary, SummaryFailure> {
///         if cancel.is_cancelled() {
///             return Err(SummaryFailure::Cancelled);
///         }
///         Ok(Summary::new(format!("{} parts", request.conversation.parts().len())))
///     }
/// }
/// ```
pub trait Summarizer {
    /// The type of summarizer, as recorded in a summary's `details`.
    fn generator(&self) -> Generator;

    /// The number of tokens it accepts at once, including instructions and answer.
    fn context_window(&self) -> u64 {
        DEFAULT_CONTEXT_WINDOW
    }

    /// Creates the summary. It reports notable events on the way to `progress`.
    fn summarize(
        &self,
        request: &SummaryRequest<'_>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure>;
}

/// Makes a summarizer from a closure.
///
/// The summary counts as written by a language model, unless [`generated_by`](SummarizerFn::generated_by) says
/// otherwise. Implement [`Summarizer`] to report progress or to stop early on cancellation.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::compaction::{Summary, summarizer_fn};
///
/// let first_lines = summarizer_fn(|request| {
///     let lines: Vec<&str> = request.conversation.text().lines().take(10).collect();
///     Ok(Summary::new(lines.join("\n")))
/// });
/// # fn summarizes(_: &dyn sessile::compaction::Summarizer) {}
/// # summarizes(&first_lines);
/// ```
pub fn summarizer_fn<F>(summarize: F) -> SummarizerFn<F>
where
    F: Fn(&SummaryRequest<'_>) -> Result<Summary, SummaryFailure>,
{
    SummarizerFn { summarize, generator: Generator::Model, context_window: DEFAULT_CONTEXT_WINDOW }
}

/// A closure as a summarizer, see [`summarizer_fn`].
#[derive(Clone, Copy, Debug)]
pub struct SummarizerFn<F> {
    summarize: F,
    generator: Generator,
    context_window: u64,
}

impl<F> SummarizerFn<F> {
    /// Sets the type of summarizer that a summary's `details` name.
    #[must_use]
    pub fn generated_by(mut self, generator: Generator) -> Self {
        self.generator = generator;
        self
    }

    /// Sets the number of tokens that it accepts at once, see [`Summarizer::context_window`].
    #[must_use]
    pub fn with_context_window(mut self, tokens: u64) -> Self {
        self.context_window = tokens;
        self
    }
}

impl<F> Summarizer for SummarizerFn<F>
where
    F: Fn(&SummaryRequest<'_>) -> Result<Summary, SummaryFailure>,
{
    fn generator(&self) -> Generator {
        self.generator
    }

    fn context_window(&self) -> u64 {
        self.context_window
    }

    fn summarize(
        &self,
        request: &SummaryRequest<'_>,
        _progress: &mut dyn FnMut(SummaryProgress<'_>),
        _cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        (self.summarize)(request)
    }
}

/// The type of summarizer that made a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generator {
    /// Rules that extract the summary, without a model.
    Extractive,
    /// A language model.
    Model,
    /// A program configured by the user.
    Command,
}

impl Generator {
    /// The value written to files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Model => "model",
            Self::Command => "command",
        }
    }
}

/// The purpose of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Replaces a conversation that has no summary so far.
    History,
    /// Updates an earlier summary with what happened since.
    Update,
    /// Replaces the start of a turn whose end is kept.
    TurnPrefix,
    /// Describes an abandoned branch.
    Branch,
}

/// A request for a summary.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SummaryRequest<'r> {
    /// The purpose.
    pub purpose: Purpose,
    /// The conversation to summarise.
    pub conversation: &'r Conversation,
    /// The summary to update. Set if and only if the purpose is [`Purpose::Update`].
    pub previous_summary: Option<&'r str>,
    /// What the user wants the summary to focus on.
    pub custom_instructions: Option<&'r str>,
    /// Whether the user's instructions replace the summarizer's own instead of extending them.
    pub replaces_instructions: bool,
    /// The files that were read and changed. The caller appends them to the summary.
    pub files: &'r FileLists,
    /// The model that the session last used, as `provider/model`.
    pub session_model: Option<&'r str>,
    /// The thinking level of the session's model, if it is set and not `off`.
    pub thinking_level: Option<&'r str>,
}

impl<'r> SummaryRequest<'r> {
    /// Creates a request with default options.
    pub fn new(purpose: Purpose, conversation: &'r Conversation, files: &'r FileLists) -> Self {
        Self {
            purpose,
            conversation,
            previous_summary: None,
            custom_instructions: None,
            replaces_instructions: false,
            files,
            session_model: None,
            thinking_level: None,
        }
    }
}

/// A summary as returned by its summarizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// The tokens used, if any.
    pub usage: Option<TokenUsage>,
}

impl Summary {
    /// Creates a summary that used no tokens.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: None }
    }
}

/// Progress of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryProgress<'p> {
    /// The next piece of the text. After a failure, the text starts again with [`Attempt`](Self::Attempt).
    Text(&'p str),
    /// Something failed, and a retry may succeed.
    Waiting {
        /// The number of the next attempt; the first retry is 1.
        attempt: u32,
        /// The maximum number of retries.
        max_attempts: u32,
        /// The delay until then, in milliseconds.
        delay_ms: u64,
        /// The reason for the failure.
        reason: &'p str,
    },
    /// The next attempt begins. Discard the text received so far.
    Attempt,
    /// There will be no more attempts: one succeeded, or the last one failed.
    Settled,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryFailure {
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The answer was cut off, so part of the summary is missing.
    #[error("the answer reached its length limit, so the summary is incomplete")]
    CutShort,
    /// The model called a tool instead of answering.
    #[error("the model called a tool instead of answering")]
    CalledTool,
    /// The model or its provider refused to answer.
    #[error("the model refused to answer: {reason}")]
    Refused {
        /// The reason, as the model or provider gave it.
        reason: String,
    },
    /// The answer has no text.
    #[error("the answer is empty")]
    Empty,
    /// Required configuration is missing.
    #[error("{what}")]
    NotConfigured {
        /// What is missing.
        what: String,
    },
    /// Anything else.
    #[error("{message}")]
    Failed {
        /// What happened. Never holds a key or a password.
        message: String,
        /// The underlying error.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}
