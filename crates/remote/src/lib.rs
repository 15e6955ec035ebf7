//! Stores on servers: logs of sessions that several machines share.
//!
//! 1. [`Chain`] and [`Position`] say how far a log goes. Everything that changes a log compares them.
//! 2. [`Server`] is what a client asks. [`MemoryServer`] is its simple implementation, for tests.
//!    [`Team`] is what the members of a store ask about each other.
//! 3. [`postgres`] is the real one.
//! 4. [`blobs`] is the storage for large lines, if there is one.
//! 5. [`local_server`] starts a private PostgreSQL to try it.
//! 6. [`RemoteError`] says in one sentence what went wrong with which remote.
//!
//! The crate knows lines as bytes only. It touches no session file and parses no line.

mod batch;
pub mod blobs;
mod chain;
mod error;
#[cfg(feature = "postgres")]
mod filter;
#[cfg(any(test, feature = "postgres", feature = "s3"))]
mod foreign;
mod limits;
#[cfg(all(unix, feature = "postgres"))]
pub mod local_server;
mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "s3"))]
mod secret;
mod server;
mod sharing;
mod stored;
mod team;

pub use batch::{Batch, MAX_LINE, RefusedLine};
pub use chain::{Chain, Position};
pub use error::RemoteError;
pub use memory::{Fault, MemoryServer};
#[cfg(any(feature = "postgres", feature = "s3"))]
pub use secret::Secret;
pub use server::{CandidatePart, Server};
pub use sharing::{AuditRecord, May, Member, Project, Share};
pub use stored::{
    About, AuthorRun, Candidate, Candidates, Head, NewSession, OVERLAP, Replacement, ServerLine, ServerTime, SessionNo,
    Tombstone,
};
pub use team::Team;
