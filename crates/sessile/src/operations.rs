//! Operations on sessions, logged so that they can be undone.
//!
//! Names, labels, leaf moves, session moves, deletions and prunings are operations. Each consists of steps, and a step
//! contains everything needed to do it and to undo it. A step is logged before it is done. So after a crash the log may
//! contain a step that was not done, but never lacks a completed step. Undo therefore checks the actual state first.

pub use sessile_store::TrashSlot;

mod annotate;
mod delete;
mod last;
mod log;
mod prune;
mod relocate;
mod restore;
mod reunite;
mod settle;
mod slim;
mod step;
mod undo;

pub use annotate::Annotated;
pub use delete::{Deleted, DeletedSession, Deletion};
pub use last::LastChange;
pub use log::{Operation, OperationKind, OperationState};
pub use prune::{KeptSession, PruneExemption, PruneOptions, PruneScope, Pruned};
pub use relocate::{Moved, MovedSession};
pub use restore::TrashedSession;
pub use reunite::{Reunited, Stray};
pub use slim::{SlimOptions, Slimmed};
pub use step::{SessionLocation, Step, TrashedTo};
pub use undo::Undone;

pub(crate) use log::{Recording, lock_activity, moved_paths, publish, rewriting};
pub(crate) use relocate::header_of;
