//! Who writes summaries: the place where a language model, a program or a rule comes in.

use std::error::Error;

use super::conversation::Conversation;
use super::files::FileLists;
use crate::cancel::Cancel;
use crate::draft::Usage;

/// The context window of a model about which nothing is known, in tokens.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// Makes a summary of a conversation: text in, text out.
///
/// A summarizer does nothing but that. It blocks until it is done, looks at
/// `cancel` often enough to stop within a moment, and never touches the
/// session: whoever called it decides what is written.
///
/// ```
/// use sessile_core::cancel::Cancel;
/// use sessile_core::compaction::{
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
    /// What sort of summarizer this is, as a summary's `details` say it.
    fn generator(&self) -> Generator;

    /// How many tokens it can take in at once, instructions and answer included.
    fn context_window(&self) -> u64 {
        DEFAULT_CONTEXT_WINDOW
    }

    /// Makes the summary. `progress` is told what happens on the way, if anything worth telling does.
    fn summarize(
        &self,
        request: &SummaryRequest<'_>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure>;
}

/// What sort of summarizer made a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generator {
    /// A rule that picks out what was said, without a model.
    Extractive,
    /// A language model.
    Model,
    /// A program of the user's.
    Command,
}

impl Generator {
    /// The word for it in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Model => "model",
            Self::Command => "command",
        }
    }
}

/// What a summary is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To stand for a conversation that had none so far.
    History,
    /// To replace an earlier summary by one that also says what happened since.
    Update,
    /// To stand for the beginning of a turn whose end stays as it is.
    TurnPrefix,
    /// To tell what happened on a branch that is left.
    Branch,
}

/// What to summarise.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SummaryRequest<'r> {
    /// What it is wanted for.
    pub purpose: Purpose,
    /// What was said.
    pub conversation: &'r Conversation,
    /// The summary to bring up to date. There is one exactly if that is the purpose.
    pub previous_summary: Option<&'r str>,
    /// What the user wants the summary to look at.
    pub custom_instructions: Option<&'r str>,
    /// Whether the user's instructions stand instead of the summarizer's own, not beside them.
    pub replaces_instructions: bool,
    /// The files that were read and changed. They are appended to the summary by whoever asks for it.
    pub files: &'r FileLists,
    /// The model the session last used, as `provider/model`.
    pub session_model: Option<&'r str>,
    /// How much the session's model is to think, if that is set and not `off`.
    pub thinking_level: Option<&'r str>,
}

impl<'r> SummaryRequest<'r> {
    /// A request without anything special.
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

/// A summary as its summarizer made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// What making it took, if it took tokens.
    pub usage: Option<Usage>,
}

impl Summary {
    /// A summary that cost nothing.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: None }
    }
}

/// What happens while a summary is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryProgress<'p> {
    /// A further piece of the text. A summary begun anew after a failure starts with [`Attempt`](Self::Attempt).
    Text(&'p str),
    /// Something failed that may go better the next time.
    Waiting {
        /// Which attempt comes next, the first retry being 1.
        attempt: u32,
        /// How many retries there are at most.
        max_attempts: u32,
        /// How long until then, in milliseconds.
        delay_ms: u64,
        /// What failed.
        reason: &'p str,
    },
    /// The next attempt begins; text that came before counts for nothing.
    Attempt,
    /// There will be no more attempts: one went well, or the last one failed.
    Settled,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryFailure {
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The answer was cut off, so that a part of the summary is missing.
    #[error("the answer reached its length limit, so the summary is incomplete")]
    CutShort,
    /// The model wanted a tool run instead of answering.
    #[error("the model called a tool instead of answering")]
    CalledTool,
    /// The model, or its provider, would not answer.
    #[error("the model refused to answer: {reason}")]
    Refused {
        /// In whose words ever.
        reason: String,
    },
    /// The answer has no text.
    #[error("the answer is empty")]
    Empty,
    /// Nobody has set up what it takes.
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
        /// The error behind it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}
