//! Storage for large lines, outside of the database.
//!
//! A line over [`LARGE_LINE`] bytes is an object in a storage that speaks the protocol of S3, if one is configured. Its
//! row in the log has only the hash and the length of the line.
//!
//! - The object comes first, its row second. A client that dies between the two leaves an object without a row, which
//!   [`sweep_blobs`](crate::postgres::PostgresServer::sweep_blobs) removes later.
//! - The name of an object is the SHA-256 of the plain line. So equal lines are one object, and a reader verifies
//!   what it gets.
//! - The database knows which session uses which object. An object without a user is deleted.

mod failure;
mod objects;
#[cfg(feature = "s3")]
mod s3;

pub use failure::BlobError;
pub use objects::{LARGE_LINE, ObjectHash, Objects, PutResult};
#[cfg(feature = "s3")]
pub use s3::{S3Address, S3Keys, S3Storage};
