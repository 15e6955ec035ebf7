//! Who has a session open, and who wrote to it last.

use std::path::Path;

use crate::guard::{guard_path, peek};
use crate::lock::{Holder, current_writer, last_writer};
use crate::os::{Lock, Mode, Os, Stat};

/// Another process of ours that has a session open for writing, if there is one. Leaves no trace.
///
/// Every process of ours that has written to a session holds a share of the
/// lock on its guard, so the whole of it cannot be had meanwhile. Who it is says
/// the lock that is signed with every turn. Where that was ourselves, others
/// cannot be told from us.
pub fn open_elsewhere(os: &dyn Os, session: &Path) -> Option<Holder> {
    let holder = current_writer(os, session).or_else(|| {
        let guard = os.open(&guard_path(session), Mode::Read).ok()?;
        let is_shared = !guard.try_lock(Lock::Exclusive).unwrap_or(true);
        is_shared.then(|| last_writer(os, session)).flatten()
    })?;
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
