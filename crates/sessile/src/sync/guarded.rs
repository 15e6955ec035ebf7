//! The guard of a session whose entries get other ids.
//!
//! The guard restores lines that vanish from a file soon after they were written. A line that got another id has not
//! vanished.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use sessile_core::json::Raw;
use sessile_remote::Chain;
use sessile_store::os::Os;
use sessile_store::{examine_guard, rewrite_guard};

use crate::error::SessionError;

/// The members of an entry that follow when an entry gets another id.
const FOLLOWING: [&str; 7] =
    ["id", "parentId", "targetId", "firstKeptEntryId", "fromId", "renamedFrom", "renamedFrom_"];

/// The entries of a guard, and their lines in the new file.
pub(super) struct GuardedLines {
    entries: HashSet<Chain>,
    new: HashMap<Chain, Vec<u8>>,
}

impl GuardedLines {
    /// Reads the guard of a session.
    pub(super) fn of(os: &Arc<dyn Os>, session: &Path) -> Result<Self, SessionError> {
        let mut entries = HashSet::new();
        examine_guard::<SessionError>(os, session, &mut |line| {
            entries.extend(entry_of(line));
            Ok(Cow::Borrowed(line))
        })?;
        Ok(Self { entries, new: HashMap::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes a line of the new file.
    pub(super) fn note(&mut self, line: &[u8]) {
        if let Some(entry) = entry_of(line).filter(|entry| self.entries.contains(entry)) {
            self.new.insert(entry, line.to_vec());
        }
    }

    /// Puts the new lines in the place of the old ones. The caller holds the turn of the session's log.
    pub(super) fn rewrite(&self, os: &Arc<dyn Os>, session: &Path) -> Result<(), SessionError> {
        let new = |line: &[u8]| entry_of(line).and_then(|entry| self.new.get(&entry).cloned());
        rewrite_guard::<SessionError>(os, session, &mut |line| Ok(new(line).map_or(Cow::Borrowed(line), Cow::Owned)))?;
        Ok(())
    }
}

/// Identifies an entry, whatever id it and the entries that it refers to have now.
fn entry_of(line: &[u8]) -> Option<Chain> {
    let entry = Raw::parse(line).ok()?;
    let id = entry.get("renamedFrom").or_else(|| entry.get("id"))?.as_string()?;
    let others = entry.members().filter(|member| !FOLLOWING.iter().any(|name| member.is(name)));
    Some(others.fold(Chain::EMPTY.after(id.as_bytes()), |chain, member| chain.after(member.value.as_bytes())))
}
