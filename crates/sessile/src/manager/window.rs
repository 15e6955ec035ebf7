//! Context window usage, and when to compact.

use sessile_core::EntryId;
use sessile_core::compaction::{
    self, AutoCompaction, CompactionSettings, LastAnswer, ProjectedEstimate, stated_tokens,
};
use sessile_core::context::Projection;
use sessile_core::date::Timestamp;
use sessile_core::entry::js_time;
use sessile_core::head::{Kind, Role};
use sessile_core::json::Json;
use sessile_core::outline::Row;

use super::SessionManager;
use super::compact::SessionModel;
use crate::compose;
use crate::environment::Zone;
use crate::error::SessionError;

/// How full a context window is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextUsage {
    /// The tokens of the context; `None` if unknown, because no answer came since the last compaction.
    pub tokens: Option<f64>,
    /// The size of the window in tokens.
    pub window: u64,
}

impl ContextUsage {
    /// The used part of the window in percent.
    pub fn percent(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "no window is beyond 2^53")]
        self.tokens.map(|tokens| tokens / self.window as f64 * 100.0)
    }
}

/// The limits of the answering model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// The size of its context window in tokens.
    pub window: u64,
    /// The maximum number of tokens in an answer, if known.
    pub output: Option<u64>,
}

impl SessionManager {
    /// The usage of a window of this many tokens at the leaf. Reads from the end, and usually little.
    pub fn context_usage(&self, window: u64) -> Result<ContextUsage, SessionError> {
        let path = self.session.leaf_path();
        if self.is_unknown_since_compaction(&path)? {
            return Ok(ContextUsage { tokens: None, window });
        }
        Ok(ContextUsage { tokens: Some(self.context_tokens()?.tokens), window })
    }

    /// The size of the context at the leaf, as pi estimates it. Reads from the end, and usually little.
    ///
    /// Uses the provider's count unless the context was compacted or edited since.
    pub fn context_tokens(&self) -> Result<ProjectedEstimate, SessionError> {
        let path = self.session.leaf_path();
        let zone = Zone(self.world.environment());
        let rows = self.context_rows()?;
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        compaction::estimate_projected(&self.session.outline, &path, &projection, &mut reading)
    }

    /// The model that the session used last, as `provider/model`.
    pub fn model_name(&self) -> Result<Option<String>, SessionError> {
        Ok(SessionModel::of(&self.settings()?).model)
    }

    /// Whether the path was compacted and has no answer since.
    fn is_unknown_since_compaction(&self, path: &[Row]) -> Result<bool, SessionError> {
        let outline = &self.session.outline;
        let Some(at) = path.iter().rposition(|row| outline.kind(*row) == Kind::Compaction) else { return Ok(false) };
        let zone = Zone(self.world.environment());
        let rows = self.context_rows()?;
        let mut reading = self.session.reading();
        let projection = Projection::new(outline, &rows, &zone, &mut reading)?;
        // The entries after the compaction on the path are the last of the selected rows.
        let n_later = path.len() - at - 1;
        for index in (rows.len() - n_later..rows.len()).rev() {
            if outline.role(rows[index]) != Role::Assistant {
                continue;
            }
            let messages = projection.messages(index, &mut reading)?;
            if messages.iter().any(|message| stated_tokens(message.raw()).is_some()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a host should compact now, and why. Call it before a prompt, between turns and after a run.
    ///
    /// `is_before_prompt` says that the user is about to ask. In that case an
    /// answer that the user aborted counts too.
    pub fn auto_compaction(
        &self,
        settings: &CompactionSettings,
        limits: ModelLimits,
        is_before_prompt: bool,
    ) -> Result<AutoCompaction, SessionError> {
        let path = self.session.leaf_path();
        let Some((_, entry)) = self.last_answer(&path)? else { return Ok(AutoCompaction::None) };
        let Some(message) = entry.raw().get("message") else { return Ok(AutoCompaction::None) };
        let answer = LastAnswer::of(message);
        if answer.is_older_than(self.newest_compaction_time(&path)?) || (answer.is_aborted() && !is_before_prompt) {
            return Ok(AutoCompaction::None);
        }
        if let Some(overflow) = answer.overflow(limits.window, limits.output).filter(|_| settings.enabled) {
            return Ok(overflow);
        }
        let tokens = self.context_tokens()?.tokens;
        Ok(if settings.should_compact(tokens, limits.window) {
            AutoCompaction::Threshold { tokens }
        } else {
            AutoCompaction::None
        })
    }

    fn last_answer(&self, path: &[Row]) -> Result<Option<(usize, Json)>, SessionError> {
        let outline = &self.session.outline;
        let at = path.iter().rposition(|row| outline.role(*row) == Role::Assistant);
        at.map(|at| Ok((at, self.session.value(path[at])?))).transpose()
    }

    fn newest_compaction_time(&self, path: &[Row]) -> Result<Option<Timestamp>, SessionError> {
        let outline = &self.session.outline;
        let Some(row) = path.iter().rfind(|row| outline.kind(**row) == Kind::Compaction) else { return Ok(None) };
        let zone = Zone(self.world.environment());
        Ok(js_time(self.session.value(*row)?.raw().get("timestamp"), &zone))
    }

    /// Removes an attempt that did not fit from the context: the last answer and its tool results.
    ///
    /// They stay in the file. Returns the edits, all written in one
    /// write; empty if the path has no answer.
    pub fn omit_failed_attempt(&mut self) -> Result<Vec<EntryId>, SessionError> {
        let path = self.session.leaf_path();
        let outline = &self.session.outline;
        let Some(at) = path.iter().rposition(|row| outline.role(*row) == Role::Assistant) else {
            return Ok(Vec::new());
        };
        let results = path[at + 1..].iter().filter(|row| outline.role(**row) == Role::ToolResult);
        let targets: Vec<Row> = std::iter::once(&path[at]).chain(results).copied().collect();
        self.prepare_write()?;
        let targets: Vec<EntryId> = targets.iter().filter_map(|row| self.session.outline.id(*row)).collect();
        let now = self.world.environment().now();
        let null = Json::null();
        self.append_several(now, targets.len(), &|index, base| compose::context_edit(base, &targets[index], null.raw()))
    }
}
