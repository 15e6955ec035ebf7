//! The usage and the shape of one session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::stats::Tally;
use sessile_core::tree::{BranchKind, BranchStatistics};
use sessile_store::LineReader;

use super::{Grouping, SeenEntries, SessionTally, StatsGroup, by_weight};
use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::manager::CompactionRecord;
use crate::sessions::Sessions;

/// The usage of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionStats {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: SessionId,
    /// All its entries on all branches, including those copied from its parent, as pi counts.
    pub total: Tally,
    /// The part copied from its parent session, if that still exists.
    pub copied: Option<Tally>,
    /// By model, most expensive first.
    pub models: Vec<StatsGroup>,
    /// By tool, most calls first.
    pub tools: Vec<StatsGroup>,
    /// The shape of the tree.
    pub shape: BranchStatistics,
    /// The number of branch points of each kind.
    pub branch_kinds: Vec<(BranchKind, usize)>,
    /// Every compaction, in file order.
    pub compactions: Vec<CompactionRecord>,
    /// Its parent session, as in its header.
    pub parent: Option<String>,
    /// The sessions that were forked from it.
    pub forks: Vec<PathBuf>,
}

impl Sessions {
    /// The usage of one session. Its relatives are searched in `others`.
    pub fn session_stats(&self, path: &Path, others: &[SessionInfo]) -> Result<SessionStats, SessionError> {
        let session = self.clone().read_only().open(path)?;
        if !session.is_stored() {
            return Err(SessionError::NotASession { path: path.to_path_buf() });
        }
        let relatives = self.relatives(path, others);
        let mut seen = SeenEntries::default();
        let mut lines = LineReader::default();
        if let Some(parent) = &relatives.parent {
            // If it cannot be read, no entry is known to be a copy.
            drop(self.read_shares(&mut lines, &parent.path, &mut |share, _| seen.note(&share, 0)));
        }
        let mut by_model = SessionTally::default();
        let mut by_tool = SessionTally::default();
        let mut copied = Tally::default();
        self.read_shares(&mut lines, path, &mut |share, _| {
            self.count(&share, &[Grouping::Model], &mut by_model);
            self.count(&share, &[Grouping::Tool], &mut by_tool);
            if relatives.parent.is_some() && seen.is_copy(&share, None, 1) {
                copied.add(&share);
            }
        })?;
        let mut branch_kinds: HashMap<BranchKind, usize> = HashMap::new();
        session.branch_points().iter().for_each(|point| *branch_kinds.entry(point.kind).or_default() += 1);
        let mut branch_kinds: Vec<(BranchKind, usize)> = branch_kinds.into_iter().collect();
        branch_kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), kind.word()));
        Ok(SessionStats {
            path: path.to_path_buf(),
            id: session.session_id(),
            total: by_model.tally,
            copied: relatives.parent.is_some().then_some(copied),
            models: sorted(by_model.groups, |tally| (tally.cost, tally.tokens.total())),
            #[expect(clippy::cast_precision_loss, reason = "only compared")]
            tools: sorted(by_tool.groups, |tally| (tally.tool_calls as f64, tally.tool_errors as f64)),
            shape: session.branch_statistics(),
            branch_kinds,
            compactions: session.compactions()?,
            parent: session.header().parent_session(),
            forks: relatives.children.into_iter().map(|child| child.path).collect(),
        })
    }
}

fn sorted(groups: HashMap<Vec<String>, Tally>, weight: fn(&Tally) -> (f64, f64)) -> Vec<StatsGroup> {
    let mut groups: Vec<StatsGroup> =
        groups.into_iter().map(|(keys, tally)| StatsGroup { keys, tally, ..StatsGroup::default() }).collect();
    groups.sort_by(|one, other| {
        by_weight(weight(&one.tally), weight(&other.tally)).then_with(|| one.keys.cmp(&other.keys))
    });
    groups
}
