//! Who has a session open, and who wrote to it last.

use std::path::Path;

use crate::guard::peek;
use crate::lock::{Holder, open_for_writing};
use crate::os::{Os, Stat};

/// Another process of ours that has a session open for writing, if there is one. Leaves no trace.
///
/// Every process of ours that has written to a session shares the lock on the file that is signed with every turn.
/// Where this process signed last, others cannot be told from it.
pub fn open_elsewhere(os: &dyn Os, session: &Path) -> Option<Holder> {
    let holder = open_for_writing(os, session)?;
    let (pid, host) = os.whoami();
    ((holder.pid, &holder.host) != (pid, &host)).then_some(holder)
}

/// Whether the last bytes of a session, which is this file now, are known to be ours: its guard still answers for them.
pub fn ends_with_ours(os: &dyn Os, session: &Path, stat: &Stat) -> bool {
    let records = peek(os, session).unwrap_or_default();
    records.iter().any(|record| {
        let end = record.place.offset.saturating_add(record.lines.len() as u64);
        record.place.identity == stat.identity && end == stat.length
    })
}
