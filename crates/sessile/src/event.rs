//! Events, and the handlers that are notified of them.

mod handlers;
mod kind;
pub(crate) mod payload;
pub(crate) mod reply;

use sessile_core::EntryId;

pub(crate) use handlers::Question;
pub use handlers::{EventContext, HandlerError, HandlerFailure, HandlerId, Handlers, Outcome, Verdict};
pub use kind::{EventKind, EventSet};
use payload::words;
pub use payload::{
    BeforeCompact, CompactReason, LeafMove, SessionEvent, ShutdownReason, StartReason, SwitchReason, TreePreparation,
};
pub use reply::{BadReply, Reply};

words! {
    /// What another program did to a file.
    FileChange {
        /// It was truncated.
        Truncated = "truncated",
        /// It was rewritten in place.
        Rewritten = "rewritten",
        /// Another file replaced it.
        Replaced = "replaced",
    }
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

/// An event that handlers have not been notified of yet. Its content is read only if a handler wants it.
#[derive(Clone, Debug)]
pub(crate) enum PendingEvent {
    /// An event that is complete.
    Ready(SessionEvent),
    /// An entry was added.
    Appended { id: EntryId, own: bool },
    /// The leaf moved.
    LeafMoved { leaf: Option<EntryId>, previous: Option<EntryId>, reason: LeafMove },
}
