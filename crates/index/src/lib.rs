//! Caches over session files: what would otherwise have to be read again.
//!
//! Everything here is derived and may be deleted, truncated or overwritten at
//! any moment: a cache file is believed only if its checksum is right and its
//! [`Mark`] still fits the session it is about, and otherwise made anew. The
//! caches may say less than the sessions, never more.

mod cache;
mod catalogue;
mod check;
mod mark;
mod outlines;
pub mod text;
mod upkeep;

pub use cache::{Cached, Caches, Kind};
pub use catalogue::{CATALOGUE, Catalogue, Gathered, Gatherer, NewRow, Row};
pub use check::Dropped;
pub use mark::{Freshness, Mark};
pub use outlines::SavedOutline;
pub use upkeep::Usage;
