//! Events: changes to an open session that its owner did not make ([`Event`]), and everything that is reported to
//! handlers ([`SessionEvent`]).

mod handlers;
mod kind;
mod payload;
mod reply;

use sessile_core::EntryId;
use sessile_store::Holder;

pub(crate) use handlers::Question;
pub use handlers::{EventContext, HandlerError, HandlerFailure, HandlerId, Handlers, Outcome, Verdict};
pub use kind::{EventKind, EventSet};
use payload::words;
pub use payload::{
    BeforeCompact, CompactReason, LeafMove, SessionEvent, ShutdownReason, StartReason, SwitchReason, TreePreparation,
};
pub use reply::{BadReply, Reply};

/// Something that happened, reported after the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Another program had appended to the session, so that our entry is now on another branch than its entries.
    Divergence {
        /// Our entry.
        leaf_id: EntryId,
        /// The last entry of the other program.
        foreign_leaf_id: EntryId,
        /// The last common entry.
        common_ancestor_id: Option<EntryId>,
    },
    /// Another program had destroyed acknowledged entries. They were restored.
    Recovered {
        /// Their ids, oldest first.
        entry_ids: Vec<EntryId>,
        /// How they were destroyed.
        reason: RecoveryReason,
    },
    /// Another program has changed the file other than by appending. It was read again.
    FileChanged {
        /// The kind of change.
        change: FileChange,
    },
    /// The session's file no longer exists. Nothing is written until it exists again.
    FileGone,
    /// Another process did not release the lock in time, so we wrote without it.
    WithoutLock {
        /// The lock holder, if known.
        holder: Option<Holder>,
    },
    /// An entry was written, but could not be guarded against rewrites by other programs.
    Unguarded {
        /// The reason.
        reason: String,
    },
}

/// What another program did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It was truncated.
    Truncated,
    /// It was rewritten in place.
    Rewritten,
    /// Another file replaced it.
    Replaced,
}

words! {
    /// How acknowledged entries were destroyed.
    RecoveryReason {
        /// The file was truncated.
        Truncated = "truncated",
        /// The file was rewritten in place.
        Rewritten = "rewritten",
        /// Another file replaced it.
        Replaced = "replaced",
        /// Unknown: they were missing on the next check.
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

/// Something that happened in a session and has not been reported yet.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// A change that the owner did not make.
    Noticed(Event),
    /// An entry was added.
    Appended { id: EntryId, own: bool },
    /// The leaf moved.
    LeafMoved { leaf: Option<EntryId>, previous: Option<EntryId>, reason: LeafMove },
}

/// A registered listener.
pub(crate) type Listener = Box<dyn FnMut(&Event) + Send>;
