//! Keeping sessions equal to their logs on a server.
//!
//! A session's file and its log have the same lines after the header, in the same order. Each side gets the lines that it
//! lacks. If both sides have lines that the other lacks, the lines of the server stay first: the entries that only the
//! file has are appended to the log as other branches, and the file then takes the order of the log. While another
//! program uses the file, the file only grows: it gets the entries that it lacks, and the order later.
//!
//! Nothing here depends on saved state. What is remembered about a session says where reading may begin, which epoch its
//! lines belong to, and that it was there.

mod all;
mod buried;
mod configured;
mod created;
mod diverged;
mod everywhere;
mod first_push;
mod gate;
mod guarded;
mod password;
mod reading;
mod replaced;
mod replica;
mod shared_connection;
mod sharing;
pub(crate) mod summary;
mod verified;

use std::path::PathBuf;

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
use sessile_remote::Position;

pub(crate) use all::header_of;
pub(crate) use created::{CreatedReplica, ReplicaLines, create_replica};
pub(crate) use replica::KnownReplica;

pub use all::{SyncResult, SyncScope, SyncSummary};
pub use configured::{ConfiguredRemote, RemoteChoice};
pub use password::{create_password, read_password, read_private_file};
pub use sessile_remote as remote;
pub use verified::{LogCode, LogFinding, LogReport, VerifiedLog};

use crate::redact::{SecretFinding, SecretOptions};

/// Which side may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// Only the log on the server.
    Push,
    /// Only the file.
    Pull,
    /// None: only find out how they relate.
    Compare,
}

/// How to synchronize.
#[derive(Default)]
pub struct SyncOptions {
    /// Which side may change.
    pub direction: Direction,
    /// What counts as a secret; `None` to push without a scan.
    pub secrets: Option<SecretOptions>,
    /// Whether sessions of this member may end with lines that other members have appended.
    pub accepts_members: bool,
    /// Whether to make logs again that were deleted everywhere.
    pub restores: bool,
    /// Whether to compute the hashes over all lines again, instead of relying on what is remembered.
    pub is_thorough: bool,
    /// Ends the work between two steps.
    pub cancel: Cancel,
}

/// What was done with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// Its id.
    pub id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// The number of lines that the server got.
    pub n_pushed: u64,
    /// The number of lines that the file got.
    pub n_pulled: u64,
    /// The number of entries that got another id, because an entry of the other side has it.
    pub n_renamed: usize,
    /// How the two sides relate now.
    pub state: SyncState,
    /// How far the log on the server goes.
    pub position: Position,
}

impl Synced {
    fn new(id: SessionId) -> Self {
        Self {
            id,
            path: PathBuf::new(),
            n_pushed: 0,
            n_pulled: 0,
            n_renamed: 0,
            state: SyncState::Equal,
            position: Position::default(),
        }
    }
}

/// How a session and its log relate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// They have the same lines in the same order.
    Equal,
    /// They have the same entries. The file gets the order of the log when no program uses it.
    OtherOrder,
    /// The file has lines that the log lacks.
    Ahead,
    /// The log has lines that the file lacks.
    Behind,
    /// Each side has lines that the other lacks.
    Diverged,
    /// The log ends with lines that other members have appended, which the file did not get because they were not asked
    /// for: a session opens at its last entry. The log has all lines of the file.
    Others,
    /// Another machine has deleted the session everywhere.
    Deleted {
        /// The operation that moved the file to the trash, for undo; `None` if the file may not change now, or a program
        /// uses it.
        operation: Option<String>,
        /// Whether the file has lines that the log did not have.
        has_own_lines: bool,
    },
    /// The session was deleted everywhere, and this file was restored since, or was never in the log. It is pushed only if
    /// that is [asked for](SyncOptions::restores).
    Buried,
    /// Its new lines contain secrets, so they were not pushed.
    Secrets(Vec<SecretFinding>),
}
