//! Times: the current one, the user's local one, and those in sessions.

pub use crate::environment::{local_time, now, time_of};
pub use sessile_core::date::Timestamp;
