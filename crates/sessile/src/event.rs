//! What happens: to an open session besides what its owner does ([`Event`]), and in a session as others are told of
//! it and asked about it ([`SessionEvent`]).

mod handlers;
mod kind;
mod payload;
mod reply;

use sessile_core::EntryId;
use sessile_store::Holder;

pub use handlers::{EventContext, HandlerError, HandlerFailure, HandlerId, Handlers, Verdict};
pub use kind::{EventKind, EventSet};
use payload::words;
pub use payload::{
    BeforeCompact, CompactReason, LeafMove, SessionEvent, ShutdownReason, StartReason, SwitchReason, TreePreparation,
};
pub use reply::{BadReply, Reply};

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
        /// How they had been destroyed.
        reason: RecoveryReason,
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

words! {
    /// How acknowledged entries had been destroyed.
    RecoveryReason {
        /// The file was cut.
        Truncated = "truncated",
        /// The file was written anew in its place.
        Rewritten = "rewritten",
        /// Another file took its place.
        Replaced = "replaced",
        /// Nobody saw how: they were not there any more when somebody looked.
        Missing = "missing",
    }
}

impl From<FileChange> for RecoveryReason {
    fn from(change: FileChange) -> Self {
        match change {
            FileChange::Truncated => Self::Truncated,
            FileChange::Rewritten => Self::Rewritten,
            FileChange::Replaced => Self::Replaced,
        }
    }
}

/// Something that happened in a session and was not told yet.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// Something besides what the owner does.
    Noticed(Event),
    /// An entry was added.
    Appended { id: EntryId, own: bool },
    /// The leaf is elsewhere.
    LeafMoved { leaf: Option<EntryId>, previous: Option<EntryId>, reason: LeafMove },
}

/// Somebody who is told.
pub(crate) type Listener = Box<dyn FnMut(&Event) + Send>;
