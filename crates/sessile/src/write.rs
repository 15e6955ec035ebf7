//! Writing: how durable an acknowledged entry is, what to do while another process writes, and who wrote.

pub use sessile_store::{Busy, Durability, Durable, Holder, Restart, StoreError, WriteOptions};

pub use crate::compose::{EntryDraft, MemberPlacement};
pub use crate::manager::{Pending, SharedSession};
pub use crate::session::Acknowledgement;
