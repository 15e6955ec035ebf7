//! Sessions that are not stored in files.
//!
//! A session is a [`Log`] of lines. [`Files`] opens and creates logs in files. Implement [`Log`] and [`Place`] to keep
//! sessions in a database or behind a network, and pass the place to [`Sessions::in_place`](crate::Sessions::in_place);
//! everything that [`SessionManager`](crate::SessionManager) does then works there. The example `custom_log` does this
//! in under 200 lines. The log kit in the repository's `testkit` states what every log must do and tests it.

pub use sessile_core::line::{Line, LineSplitter, Span};
pub use sessile_core::outline::OutlinePart;
pub use sessile_store::{
    Appended, Durable, Expect, FileLog, FileState, Files, Log, LogName, Memory, MemoryLog, Notice, Place, Revision,
    StoreError, Ticket, Turn, WriteOptions,
};
