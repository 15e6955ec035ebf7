//! What a server stores, as values.

use std::fmt;
use std::time::Duration;

use crate::chain::Position;

/// How much earlier than the last answer a client asks for changed heads.
pub const OVERLAP: Duration = Duration::from_mins(1);

/// The number of a session in one store. It is random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionNo(pub i64);

impl fmt::Display for SessionNo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// A time by the server's clock, in microseconds since 1970. Never compare it with the clock of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerTime(pub i64);

impl ServerTime {
    /// Returns the time some duration earlier.
    #[must_use]
    pub fn minus(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(earlier.as_micros()).unwrap_or(i64::MAX)))
    }
}

/// A store on a server, and this member's place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The id of the store, a UUID. It stays the same when the store moves to another server.
    pub store: String,
    /// The version of the schema.
    pub schema_version: u32,
    /// The version of the server program, such as `15.18`.
    pub server_version: String,
    /// The name of this member.
    pub member: String,
    /// Whether this member administers the store.
    pub is_admin: bool,
    /// The server's time.
    pub now: ServerTime,
}

/// One session on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number in the store.
    pub no: SessionNo,
    /// The member that owns it.
    pub owner: String,
    /// The id in its header.
    pub header_id: String,
    /// Its header line, without the newline.
    pub header: Vec<u8>,
    /// How far its log goes.
    pub position: Position,
    /// The number of bytes of its lines in a file, as the writers counted them.
    pub bytes: u64,
    /// What the last writer noted for lists.
    pub summary: Option<Vec<u8>>,
    /// When it changed last.
    pub seen_at: ServerTime,
    /// Whether this member may append.
    pub may_append: bool,
    /// The project that it is in, if this member sees that project.
    pub project: Option<String>,
}

/// A session to be created.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewSession<'a> {
    /// The id in its header.
    pub header_id: &'a str,
    /// Its header line, without the newline.
    pub header: &'a [u8],
    /// The note for lists.
    pub summary: Option<&'a [u8]>,
    /// Whether to create it even if it was buried; its epoch is then higher than it was.
    pub restore: bool,
}

/// What changes besides the lines when a log is replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replacement<'a> {
    /// The new header line, if it changes. Its id must be the same.
    pub header: Option<&'a [u8]>,
    /// The new note for lists. `None` removes the old one, which may contain what has to go.
    pub summary: Option<&'a [u8]>,
    /// The reason, for the record of the store. It must not quote what was removed.
    pub reason: &'a str,
}

/// A line of a log, as the server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLine<'a> {
    /// Its number in the log; the first is 1.
    pub number: u64,
    /// The member that appended it, by the server's word.
    pub author: &'a str,
    /// The device of that member, if it has a name in the store.
    pub device: Option<&'a str>,
    /// The line without its newline.
    pub bytes: &'a [u8],
}

/// Lines in a row that one member has appended from one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorRun {
    /// The number of the first line; the first of a log is 1.
    pub first: u64,
    /// How many lines there are.
    pub n_lines: u64,
    /// The member.
    pub author: String,
    /// The device of that member, if it has a name in the store.
    pub device: Option<String>,
}

/// What a server found for a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The newest first.
    pub found: Vec<Candidate>,
    /// How far back the server looked; `None` if it looked at everything. Ask from there on for older ones.
    pub until: Option<ServerTime>,
}

/// Lines that were pushed together and have all terms of a search, though perhaps not in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session.
    pub session: SessionNo,
    /// The epoch of its log.
    pub epoch: u32,
    /// The lines come after this many lines of the log.
    pub from: u64,
    /// The number of the last of them.
    pub to: u64,
    /// When they were pushed.
    pub at: ServerTime,
}

/// What remains of a removed session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The member that owned it.
    pub owner: String,
    /// The id in its header.
    pub header_id: String,
    /// The epoch that it had.
    pub epoch: u32,
    /// The member that removed it.
    pub by: String,
    /// When it was removed.
    pub at: ServerTime,
}
