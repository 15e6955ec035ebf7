//! What a server shows, and how much of it.

use std::path::PathBuf;
use std::time::Duration;

use sessile::Sessions;
use sessile::redact::Level;

use crate::budget::DEFAULT_ANSWER;

/// The usual time for reading. What follows takes less than the rest of two seconds.
const ANSWER_TIME: Duration = Duration::from_millis(1_500);

/// What a server shows, and how much of it.
#[derive(Clone)]
pub struct Options {
    /// The store. The server uses it read-only.
    pub sessions: Sessions,
    /// The working directory whose repository is shown.
    pub cwd: PathBuf,
    /// Whether the sessions of all directories are shown.
    pub shows_all: bool,
    /// Directories whose sessions are never shown, and ids and names of sessions that are not.
    pub excluded: Vec<String>,
    /// What is replaced in texts.
    pub redaction: Redaction,
    /// Whether results of tools are left out.
    pub hides_tool_output: bool,
    /// The size of an answer in bytes, unless a call asks for another one.
    pub answer_size: usize,
    /// How long a call may read. After that, it answers with what it has.
    pub answer_time: Duration,
}

/// What is replaced in texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redaction {
    /// Secrets whose format is certain.
    #[default]
    CertainSecrets,
    /// What a redacted copy of this level replaces.
    Level(Level),
    /// Nothing.
    Nothing,
}

impl Options {
    /// Shows the sessions of the repository around `cwd`, without secrets.
    pub fn new(sessions: Sessions, cwd: impl Into<PathBuf>) -> Self {
        Self {
            sessions,
            cwd: cwd.into(),
            shows_all: false,
            excluded: Vec::new(),
            redaction: Redaction::default(),
            hides_tool_output: false,
            answer_size: DEFAULT_ANSWER,
            answer_time: ANSWER_TIME,
        }
    }

    /// Whether results of tools are left out, by their flag or by the level.
    pub(crate) fn omits_tool_output(&self) -> bool {
        self.hides_tool_output || matches!(self.redaction, Redaction::Level(level) if level >= Level::Outputs)
    }
}
