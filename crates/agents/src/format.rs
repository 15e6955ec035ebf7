//! What every format of an agent can do.

use std::fmt::Debug;

use sessile_core::json::Raw;

use crate::foreign::{ForeignSession, Place};

/// Reads the lines of one format.
pub(crate) trait Format: Debug {
    /// Takes the value of a line, which is exactly at this place.
    fn line(&mut self, value: Raw<'_>, place: Place);

    /// The session itself.
    fn session(&mut self) -> &mut ForeignSession;

    /// The session, and the sub-agents whose lines are in the same source.
    fn finish(self: Box<Self>) -> Vec<ForeignSession>;
}
