//! Members, projects and shares of a store, as values.

use crate::stored::ServerTime;

/// What a member may do with a session of another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum May {
    /// Read it.
    Read,
    /// Read it and append to it.
    Write,
}

impl May {
    /// Returns the word that servers use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Returns the right of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|may| may.as_str() == word)
    }
}

/// A member of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, which is its login.
    pub name: String,
    /// Whether it administers the store.
    pub is_admin: bool,
    /// When it joined.
    pub joined_at: ServerTime,
    /// When its membership ended, if it has.
    pub revoked_at: Option<ServerTime>,
    /// The number of its sessions that the member who asks sees.
    pub n_sessions: u64,
}

/// The right of a member, to one session or to all sessions of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The member.
    pub member: String,
    /// What it may do.
    pub may: May,
    /// The project from which it has the right; `None` if the session itself is shared.
    pub project: Option<String>,
    /// The member that gave the right.
    pub granted_by: String,
    /// When it gave it.
    pub granted_at: ServerTime,
}

/// A project: sessions that some members share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its name. No other project of the store has it.
    pub name: String,
    /// The member that made it.
    pub made_by: String,
    /// When it was made.
    pub made_at: ServerTime,
    /// What the member who asks may do with its sessions; `None` if it only may grant and revoke.
    pub may: Option<May>,
    /// The number of members that have access.
    pub n_members: u64,
    /// The number of its sessions; `None` for members without access.
    pub n_sessions: Option<u64>,
}

/// An act on the record of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// When.
    pub at: ServerTime,
    /// The member that acted.
    pub member: String,
    /// Its device, if it has a name in the store.
    pub device: Option<String>,
    /// What it did, such as `share`.
    pub act: String,
    /// The id in the header of the session that the act is about.
    pub header_id: Option<String>,
    /// The number of lines that the session had.
    pub n_lines: Option<u64>,
    /// The member that the act is about.
    pub whom: Option<String>,
    /// The project that the act is about.
    pub project: Option<String>,
    /// More about it, such as the right that was given.
    pub detail: Option<String>,
}
