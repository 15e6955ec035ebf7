//! The journal: every operation is logged before it is done, so that it can be undone, and settled after a crash.
//!
//! `log` is the file, `recording` writes an operation and its steps to it, `running` says which operations are in
//! progress, and `settle` finishes or rolls back those of dead processes. `last` has the last change that is not an
//! operation. `texts` replaces texts that were removed from a session.

mod last;
mod log;
mod recording;
mod running;
mod settle;
mod texts;

pub(crate) use log::moved_paths;
pub(crate) use recording::{Recording, publish, publish_current, rewriting};
pub(crate) use running::{lock_activity, process_of};
pub(crate) use settle::settle_dead;
pub(crate) use texts::{finish_scrubs, has_unfinished_scrub, rewrite_texts};
