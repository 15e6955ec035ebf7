//! Disk usage of sessions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::bulk::{Bulk, Weights, weigh};
use sessile_core::cancel::Cancel;
use sessile_core::context;
use sessile_core::head::Kind;
use sessile_core::outline::Row;

use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::manager::SessionManager;
use crate::parallel::each;
use crate::record::SessionLocation;
use crate::sessions::Sessions;

/// The disk usage of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskUse {
    /// The session.
    pub session: SessionLocation,
    /// Its bytes by type. They add up to the size of the file.
    pub weights: Weights,
    /// The number of bytes of images, tool output and extension data outside of the current context.
    pub outside_context: u64,
}

/// The disk usage of several sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUses {
    /// Each readable session, with its index in the request.
    pub sessions: Vec<(usize, DiskUse)>,
    /// Files that could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// Options for determining disk usage.
#[derive(Clone, Default)]
pub struct DiskOptions<'o> {
    /// Checked before each line.
    pub cancel: Cancel,
    /// Called with the number of bytes done and the total, from any thread.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

impl DiskUse {
    /// The size of the session.
    pub fn size(&self) -> u64 {
        self.weights.total()
    }
}

impl DiskUses {
    /// The total bytes of all sessions by type.
    pub fn weights(&self) -> Weights {
        let mut sum = Weights::default();
        self.sessions.iter().for_each(|(_, disk_use)| sum += &disk_use.weights);
        sum
    }

    /// The bytes outside of the contexts.
    pub fn outside_context(&self) -> u64 {
        self.sessions.iter().map(|(_, disk_use)| disk_use.outside_context).sum()
    }
}

impl Sessions {
    /// The disk usage of a session. Reads its file line by line.
    pub fn disk_use(&self, path: &Path, options: &DiskOptions<'_>) -> Result<DiskUse, SessionError> {
        let session = self.clone().read_only().open(path)?;
        if !session.is_stored() {
            return Err(SessionError::NotASession { path: path.to_path_buf() });
        }
        let mut n_done = 0;
        let size = session.outline().end();
        session.disk_use(&options.cancel, &mut |n_bytes| {
            n_done += n_bytes;
            options.on_progress.iter().for_each(|report| report(n_done, size));
        })
    }

    /// The disk usage of several sessions, several at a time.
    pub fn disk_uses(&self, sessions: &[SessionInfo], options: &DiskOptions<'_>) -> Result<DiskUses, SessionError> {
        let total: u64 = sessions.iter().map(|session| session.size).sum();
        let n_done = AtomicU64::new(0);
        let report = |n_bytes: u64| {
            let n_done = n_done.fetch_add(n_bytes, Relaxed) + n_bytes;
            options.on_progress.iter().for_each(|report| report(n_done.min(total), total));
        };
        let reader = self.clone().read_only();
        let uses = each(self.world.os(), sessions.iter().enumerate().collect(), 1, |(index, info)| {
            let disk_use = reader
                .open(&info.path)
                .and_then(|session| session.disk_use(&options.cancel, &mut |n_bytes| report(n_bytes)));
            (index, disk_use)
        });
        let mut all = DiskUses::default();
        for (index, disk_use) in uses {
            match disk_use {
                Ok(disk_use) => all.sessions.push((index, disk_use)),
                Err(SessionError::Cancelled) => return Err(SessionError::Cancelled),
                Err(_) => all.unreadable.push(sessions[index].path.clone()),
            }
        }
        Ok(all)
    }
}

impl SessionManager {
    fn disk_use(&self, cancel: &Cancel, report: &mut dyn FnMut(u64)) -> Result<DiskUse, SessionError> {
        let live = Live::of(self)?;
        let mut weights = Weights::default();
        let mut outside_context = 0;
        let (mut n_unreported, mut n_lines) = (0, 0_u64);
        self.loaded().each_line(&mut |row, line| {
            let length = line.span.len + u64::from(line.terminated);
            n_unreported += length;
            n_lines += 1;
            if n_unreported > REPORT_INTERVAL || n_lines.is_multiple_of(1024) {
                if cancel.is_cancelled() {
                    return Err(SessionError::Cancelled);
                }
                report(std::mem::take(&mut n_unreported));
            }
            let Some(bytes) = line.bytes else {
                weights[Bulk::Damaged] += length;
                return Ok(());
            };
            let mut of_line = weigh(line.without_bom().bytes.unwrap_or(bytes), live.is_superseded(row));
            if row.is_some_and(|row| !live.is_in_context(row)) {
                outside_context += of_line[Bulk::Images] + of_line[Bulk::ToolOutput] + of_line[Bulk::ExtensionData];
            }
            of_line[Bulk::Other] += length - of_line.total();
            weights += &of_line;
            Ok(())
        })?;
        report(n_unreported);
        let path = self.session_file().map(Path::to_path_buf).unwrap_or_default();
        Ok(DiskUse { session: SessionLocation { path, id: self.session_id() }, weights, outside_context })
    }
}

/// The number of bytes between two progress reports.
const REPORT_INTERVAL: u64 = 4 << 20;

/// The parts of a session that are live at the points where it may continue: its last entry, as in pi, and its saved
/// leaf.
pub(crate) struct Live {
    /// The paths to those entries.
    pub(crate) paths: Vec<Vec<Row>>,
    /// For each row, whether it contributes to the context at one of them.
    is_in_context: Vec<bool>,
    superseded: HashSet<Row>,
}

impl Live {
    pub(crate) fn of(manager: &SessionManager) -> Result<Self, SessionError> {
        let session = manager.loaded();
        let outline = &session.outline;
        let mut leaves: Vec<Row> = outline.leaf().into_iter().chain(session.leaf).collect();
        leaves.dedup();
        let mut is_in_context = vec![false; outline.rows().len()];
        let (mut superseded, mut newest) = (HashSet::new(), HashSet::new());
        let mut paths = Vec::new();
        for leaf in leaves {
            let path = outline.path(leaf);
            let rows = context::select(outline, &path, &mut |row| session.value(row))?;
            for row in rows.into_iter().filter(|row| has_part(outline.kind(*row))) {
                is_in_context[row.index()] = true;
            }
            let mut compactions = path.iter().rev().filter(|row| outline.kind(**row) == Kind::Compaction);
            newest.extend(compactions.next().copied());
            superseded.extend(compactions.copied());
            paths.push(path);
        }
        // A compaction superseded on one path may be in effect on the other.
        superseded.retain(|row| !newest.contains(row));
        Ok(Self { paths, is_in_context, superseded })
    }

    /// Whether a row can affect the context.
    pub(crate) fn is_in_context(&self, row: Row) -> bool {
        self.is_in_context.get(row.index()).copied().unwrap_or_default()
    }

    fn is_superseded(&self, row: Option<Row>) -> bool {
        row.is_some_and(|row| self.superseded.contains(&row))
    }
}

/// Whether entries of a kind are messages for the model, or change messages.
fn has_part(kind: Kind) -> bool {
    matches!(kind, Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction | Kind::ContextEdit)
}
