//! Finds which process has a session open, and which one wrote to it last.

use std::path::Path;

use crate::guard::peek;
use crate::holder::Holder;
use crate::lock::open_for_writing;
use crate::os::{Os, Stat};

/// Returns another process of ours that has a session open for writing, if there is one. Leaves no trace.
///
/// Every process of ours that has written to a session holds a shared lock on the file that lock holders sign. If this
/// process signed last, other processes cannot be detected.
pub fn open_elsewhere(os: &dyn Os, session: &Path) -> Option<Holder> {
    let holder = open_for_writing(os, session)?;
    let (pid, host) = os.whoami();
    ((holder.pid, &holder.host) != (pid, &host)).then_some(holder)
}

/// Whether the last bytes of a session are known to be ours, because its guard has them. `stat` is its current state.
pub fn ends_with_ours(os: &dyn Os, session: &Path, stat: &Stat) -> bool {
    let records = peek(os, session).unwrap_or_default();
    records.iter().any(|record| {
        let end = record.written_at.offset.saturating_add(record.lines.len() as u64);
        record.written_at.identity == stat.identity && end == stat.length
    })
}
