//! Times: the current one, the user's local one, and those in sessions.

pub use crate::environment::{local_time, now_ms, time_of};
