//! Errors of storages.

use crate::blobs::objects::ObjectHash;

/// Why a storage for large lines did not do what a client asked.
///
/// `Display` names the storage and contains no key. The log in the database is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// The address cannot be used.
    #[error("this is not the address of a storage for large lines: {reason}; use e.g. https://host/bucket/prefix")]
    InvalidUrl {
        /// What is wrong. The address is not repeated, because it may contain a key.
        reason: String,
    },
    /// The keys could not be read, or cannot be right.
    #[error("cannot get the keys for the storage {place}: {source}")]
    KeysUnavailable {
        /// The storage.
        place: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The storage does not answer.
    #[error("cannot reach the storage {place}: {reason}")]
    Unreachable {
        /// The storage.
        place: String,
        /// Why not.
        reason: String,
    },
    /// The storage stopped answering.
    #[error("the storage {place} did not answer in time")]
    Timeout {
        /// The storage.
        place: String,
    },
    /// The storage cannot serve this request now.
    #[error("the storage {place} is busy or full ({answer}); try again later")]
    Busy {
        /// The storage.
        place: String,
        /// Its answer.
        answer: String,
    },
    /// The storage does not accept the keys, or they do not permit the request.
    #[error("the storage {place} refused the request ({answer}): wrong keys, or keys without the right to do this")]
    Denied {
        /// The storage.
        place: String,
        /// Its answer.
        answer: String,
    },
    /// The storage has no such bucket.
    #[error("the storage {place} has no such bucket; create it, or correct the address")]
    NoBucket {
        /// The storage.
        place: String,
    },
    /// An object is not there.
    #[error("the storage {place} does not have the object {hash}, which a line of the session needs")]
    Missing {
        /// The storage.
        place: String,
        /// The object.
        hash: ObjectHash,
    },
    /// An object is not what its name says.
    #[error("the storage {place} has the object {hash} with other bytes than its name says, so it was not used")]
    Damaged {
        /// The storage.
        place: String,
        /// The object.
        hash: ObjectHash,
    },
    /// The storage answered something else.
    #[error("the storage {place} did not do what was asked: {answer}")]
    Refused {
        /// The storage.
        place: String,
        /// Its answer.
        answer: String,
    },
}

impl BlobError {
    /// Whether the same request can succeed later without any change here.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Timeout { .. } | Self::Busy { .. })
    }
}
