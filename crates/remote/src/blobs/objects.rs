//! What a client asks a storage.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::blobs::failure::BlobError;

/// Lines with more bytes than this are objects, if a storage is configured.
pub const LARGE_LINE: usize = 256 << 10;

/// The SHA-256 of a line, which is the name of its object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectHash([u8; 32]);

impl ObjectHash {
    /// Hashes a line.
    pub fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for ObjectHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// In hexadecimal digits.
impl fmt::Display for ObjectHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ObjectHash({self})")
    }
}

/// What became of an object that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutResult {
    /// It is in the storage now.
    Stored,
    /// The storage had an object of this name, and still has it.
    Existed,
}

/// A storage of objects. All calls wait for the answer, but not for ever.
pub trait Objects: Send + Sync {
    /// Returns where the storage is, for messages. It contains no secret.
    fn place(&self) -> &str;

    /// Stores an object. With `overwrite`, it replaces one of the same name; otherwise that one stays.
    fn put(&self, hash: &ObjectHash, body: &[u8], overwrite: bool) -> Result<PutResult, BlobError>;

    /// Returns the bytes of an object, or `None` if there is none. Fails if there are more than `limit` bytes.
    fn get(&self, hash: &ObjectHash, limit: usize) -> Result<Option<Vec<u8>>, BlobError>;

    /// Returns the length of an object, or `None` if there is none.
    fn head(&self, hash: &ObjectHash) -> Result<Option<u64>, BlobError>;

    /// Deletes an object. It is not an error if there is none.
    fn delete(&self, hash: &ObjectHash) -> Result<(), BlobError>;

    /// Checks that the storage answers and accepts the keys.
    fn check(&self) -> Result<(), BlobError>;
}
