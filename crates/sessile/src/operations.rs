//! Operations on sessions, logged so that they can be undone.
//!
//! Names, labels, leaf moves, session moves, deletions and prunings are operations. Each consists of steps, and a step
//! contains everything needed to do it and to undo it. A step is logged before it is done. So after a crash the log may
//! contain a step that was not done, but never lacks a completed step. Undo therefore checks the actual state first.

pub use sessile_store::TrashSlot;

pub use crate::record::{LastChange, Operation, OperationKind, OperationState, SessionLocation, Step, TrashedTo};

mod annotate;
mod delete;
mod prune;
mod relocate;
mod restore;
mod reunite;
mod slim;
mod undo;

pub use annotate::Annotated;
pub(crate) use delete::trash;
pub use delete::{Deleted, DeletedSession, Deletion};
pub use prune::{KeptSession, PruneExemption, PruneOptions, PruneScope, Pruned};
pub use relocate::{Moved, MovedSession};
pub use restore::TrashedSession;
pub use reunite::{Reunited, Stray};
pub use slim::{SlimOptions, Slimmed};
pub use undo::Undone;
