//! Caches over session files, to avoid reading them again.
//!
//! Everything here is derived and may be deleted, truncated or overwritten at any moment. A cache file is used only if
//! its checksum is right and its [`Mark`] still fits its session; otherwise it is rebuilt. The caches may hold less
//! than the sessions, never more.

pub mod bytes;
mod cache;
mod catalogue;
mod check;
mod forget;
mod mark;
mod outlines;
mod removals;
mod upkeep;

pub use cache::{Cached, Caches, Kind};
pub use catalogue::{CATALOGUE, Catalogue, Gathered, Gatherer, NewRow, SavedRow};
pub use check::Dropped;
pub use mark::{Freshness, Mark};
pub use outlines::{OUTLINES, SavedOutline};
pub use upkeep::CacheUsage;
