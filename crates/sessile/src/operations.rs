//! What the owner of a session does to it, written down so that it can be undone.
//!
//! Names, labels, places in the tree, moves, deletions and prunings are
//! operations. Each consists of steps, and a step says everything that is
//! needed to do it and to undo it. A step is written to the log before it is
//! done, so after a crash the log may speak of a step that was not done, never
//! the other way round; whoever undoes it looks at the world and finds out.

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
pub use prune::{Kept, PruneScope, Pruned, Pruning, Reason};
pub use relocate::{Moved, Moving};
pub use restore::InTrash;
pub use reunite::{Reunited, Stray};
pub use slim::{Slimmed, Slimming};
pub use step::{SessionPlace, Step, TrashedTo};
pub use undo::Undone;

pub(crate) use log::{Recording, moved_paths, publish, rewriting, turn_at_all};
pub(crate) use relocate::header_of;
