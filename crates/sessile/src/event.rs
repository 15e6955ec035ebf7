//! What happens to an open session besides what its owner does.

use sessile_core::EntryId;
use sessile_store::Holder;

/// Something that happened, told after the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Another program had added to the session, so that our entry is now beside its entry, not behind it.
    Divergence {
        /// Our entry.
        leaf_id: EntryId,
        /// The last entry of the other program.
        foreign_leaf_id: EntryId,
        /// The last entry both have in common.
        common_ancestor_id: Option<EntryId>,
    },
    /// Acknowledged entries had been destroyed by another program, and were put back.
    Recovered {
        /// Their ids, oldest first.
        entry_ids: Vec<EntryId>,
    },
    /// Another program has changed the file other than by appending. It was read anew.
    FileChanged {
        /// What was done to it.
        change: FileChange,
    },
    /// The session's file is no longer there. Nothing is written until there is one again.
    FileGone,
    /// Another process did not end its turn in time, so we wrote without waiting for it.
    WithoutLock {
        /// Who it is, if that is known.
        holder: Option<Holder>,
    },
    /// An entry was written, but could not be guarded against rewrites by other programs.
    Unguarded {
        /// Why.
        reason: String,
    },
}

/// What another program has done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It was cut.
    Truncated,
    /// It was written anew in its place.
    Rewritten,
    /// Another file took its place.
    Replaced,
}

/// Somebody who is told.
pub(crate) type Listener = Box<dyn FnMut(&Event) + Send>;
