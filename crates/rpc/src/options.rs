//! How a server is set up: its options, and the session that it starts with.

use std::path::PathBuf;
use std::sync::Arc;

use sessile::compaction::{BranchSummarySettings, CompactionSettings, Summarizer};
use sessile::json::Json;
use sessile::settings::SettingsError;
use sessile::{SessionId, SessionManager, Sessions};
use sessile_summarize::Extractive;

use crate::failure::Failure;
use crate::frame::MAX_RECORD;

/// A summarizer that several threads may use.
pub type AnySummarizer = Arc<dyn Summarizer + Send + Sync>;

/// Options of a server.
#[derive(Clone)]
pub struct Options {
    /// Access to the sessions.
    pub sessions: Sessions,
    /// The working directory.
    pub cwd: PathBuf,
    /// The context window in tokens of all models, whatever is known about them.
    pub context_window: Option<u64>,
    /// When to compact, and how much to keep.
    pub compaction: CompactionSettings,
    /// Overrides `compaction` depending on the session's model.
    pub compaction_for_model: Option<CompactionForModel>,
    /// Settings for branch summaries.
    pub branch_summary: BranchSummarySettings,
    /// The summarizer. By default rules that work offline.
    pub summarizer: AnySummarizer,
    /// The model of sessions that name none, as provider and id.
    pub model: Option<(String, String)>,
    /// Says what is known about models besides their names.
    pub known_model: Option<KnownModel>,
    /// The thinking level of sessions that name none; `off` if their model does not have it.
    pub thinking_level: Option<String>,
    /// What gives titles to sessions when a client has appended an answer.
    pub auto_titler: Option<AutoTitler>,
    /// The longest accepted record, in bytes.
    pub max_record: usize,
}

/// Asks a model for a title. An error is a reason in words.
pub type AskForTitle = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// What gives titles to sessions.
#[derive(Clone)]
pub enum AutoTitler {
    /// The rule, which works offline.
    Rule,
    /// A model, which gets a text that describes the session.
    Model(AskForTitle),
}

/// Returns when to compact a session that last used a model (`provider/model`), and how much to keep.
pub type CompactionForModel = Arc<dyn Fn(&str) -> Result<CompactionSettings, SettingsError> + Send + Sync>;

/// Returns the description of a model by provider and id, in the form of pi's models; none if it is not known.
pub type KnownModel = Arc<dyn Fn(&str, &str) -> Option<Json> + Send + Sync>;

impl Options {
    /// Returns when to compact a session, and how much to keep.
    pub(crate) fn compaction_for(&self, session: &SessionManager) -> Result<CompactionSettings, Failure> {
        let Some(of_model) = &self.compaction_for_model else { return Ok(self.compaction) };
        let initial_model = || self.model.as_ref().map(|(provider, id)| format!("{provider}/{id}"));
        match session.model_name()?.or_else(initial_model) {
            Some(model) => Ok(of_model(&model)?),
            None => Ok(self.compaction),
        }
    }

    /// Returns the default options.
    pub fn new(sessions: Sessions) -> Self {
        Self {
            cwd: sessions.environment().current_dir(),
            sessions,
            context_window: None,
            compaction: CompactionSettings::default(),
            compaction_for_model: None,
            branch_summary: BranchSummarySettings::default(),
            summarizer: Arc::new(Extractive::default()),
            model: None,
            known_model: None,
            thinking_level: None,
            auto_titler: None,
            max_record: MAX_RECORD,
        }
    }
}

/// The session that a server starts with, as selected by pi's flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// A new session, whose file is created with the first message.
    #[default]
    New,
    /// The session with this id if the working directory has it, else a new one with this id.
    WithId(SessionId),
    /// This file, which need not exist yet.
    Open(PathBuf),
    /// The most recently written session of the working directory, or a new one.
    Continue,
    /// A copy of this file with all branches, optionally with a given id.
    Fork {
        /// The file.
        source: PathBuf,
        /// The copy's id.
        id: Option<SessionId>,
    },
    /// A new session without a file.
    Memory,
    /// A new session without a file, with this id.
    MemoryWithId(SessionId),
}
