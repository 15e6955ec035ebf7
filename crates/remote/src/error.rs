//! Errors of remotes.

use std::path::PathBuf;

use crate::batch::RefusedLine;
use crate::blobs::BlobError;
use crate::stored::SessionNo;

/// Why a server did not do what a client asked.
///
/// `Display` says the whole reason on one line, names the remote, and says what to do where there is something to do. It
/// contains no password, and no character of a server that acts on a terminal.
///
/// Unless [`is_ambiguous`](Self::is_ambiguous), nothing has changed on the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is not a URL of a PostgreSQL database.
    #[error("this is not the address of a remote: {reason}; use e.g. postgres://user@host:5432/database")]
    InvalidUrl {
        /// What is wrong with it. The address itself may contain a password, so it is not repeated.
        reason: String,
    },
    /// The address contains a password.
    #[error(
        "the address of a remote must not contain a password, because addresses end up in logs and histories; remove \
         it and give the password in a file, in the environment or at the prompt"
    )]
    PasswordInUrl,
    /// The server wants a password and there is none.
    #[error("{remote} wants a password and none is configured")]
    NoPassword {
        /// The remote.
        remote: String,
    },
    /// The password could not be read.
    #[error("cannot get the password for {remote}: {source}")]
    PasswordUnavailable {
        /// The remote.
        remote: String,
        /// Why not.
        source: std::io::Error,
    },
    /// No server answers at the address.
    #[error("cannot reach {remote}: {reason}")]
    Unreachable {
        /// The remote.
        remote: String,
        /// The system's or the server's reason.
        reason: String,
    },
    /// The server does not accept the user or the password.
    #[error("{remote} refused user {user}: wrong user or password, or the user may not log in from here")]
    Authentication {
        /// The remote.
        remote: String,
        /// The user.
        user: String,
    },
    /// The server does not have the database.
    #[error("{remote} does not exist: the server is there, but it has no such database")]
    NoDatabase {
        /// The remote.
        remote: String,
    },
    /// The server does not offer TLS.
    #[error(
        "{remote} does not offer TLS, so nothing was sent; enable TLS on the server, or add ?sslmode=disable to the \
         address if the network is private"
    )]
    NoTls {
        /// The remote.
        remote: String,
    },
    /// The TLS connection failed, usually because the certificate is not trusted.
    #[error(
        "cannot make a verified TLS connection to {remote}: {reason}; if the server has a certificate authority of its \
         own, name its file"
    )]
    Tls {
        /// The remote.
        remote: String,
        /// The reason.
        reason: String,
    },
    /// The file with certificate authorities cannot be used.
    #[error("cannot use the certificate authorities in {}: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The server is older than all supported versions.
    #[error("{remote} runs PostgreSQL {version}; Sessile needs version 15 or newer")]
    OldServer {
        /// The remote.
        remote: String,
        /// The version of the server.
        version: String,
    },
    /// The database has no store.
    #[error("{remote} has no store yet; an administrator creates it with `sessile remote migrate`")]
    SchemaMissing {
        /// The remote.
        remote: String,
    },
    /// The store has an older version than this program.
    #[error(
        "the store in {remote} has version {found} and this program needs {needed}; an administrator updates it with \
         `sessile remote migrate`"
    )]
    SchemaOlder {
        /// The remote.
        remote: String,
        /// The version of the store.
        found: u32,
        /// The version of this program.
        needed: u32,
    },
    /// The store has a newer version than this program.
    #[error("the store in {remote} has version {found} and this program only knows {known}; update Sessile")]
    SchemaNewer {
        /// The remote.
        remote: String,
        /// The version of the store.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// The user is not a member of the store, or not any more.
    #[error("user {user} is not a member of the store in {remote}; ask an administrator")]
    NotAMember {
        /// The remote.
        remote: String,
        /// The user.
        user: String,
    },
    /// A user who is to become a member cannot log in.
    #[error(
        "{remote} has no login {user:?}, and creating one needs a password: name a file for it with --password-file"
    )]
    NoLogin {
        /// The remote.
        remote: String,
        /// The user.
        user: String,
    },
    /// The user lacks a right.
    #[error("{remote} does not permit this: {reason}")]
    PermissionDenied {
        /// The remote.
        remote: String,
        /// What the server says.
        reason: String,
    },
    /// The server only answers questions, because it is a standby.
    #[error("{remote} is read-only: it is a standby, or an administrator has stopped writing")]
    ReadOnlyServer {
        /// The remote.
        remote: String,
    },
    /// The session does not exist, or this member does not see it.
    #[error("{remote} has no session {session} that you can see")]
    NoSuchSession {
        /// The remote.
        remote: String,
        /// The session.
        session: SessionNo,
    },
    /// The store has no such member, or not any more.
    #[error("{remote} has no member {member:?}")]
    NoSuchMember {
        /// The remote.
        remote: String,
        /// The name.
        member: String,
    },
    /// The project does not exist, or this member does not see it.
    #[error("{remote} has no project {project:?} that you can see")]
    NoSuchProject {
        /// The remote.
        remote: String,
        /// The name.
        project: String,
    },
    /// The log was replaced: it has another epoch.
    #[error("session {session} was replaced in {remote}, so what is known about it is out of date")]
    Replaced {
        /// The remote.
        remote: String,
        /// The session.
        session: SessionNo,
    },
    /// The session was removed, and a tombstone says so.
    #[error("session {header_id} was deleted from {remote}; restore it explicitly to push it again")]
    Buried {
        /// The remote.
        remote: String,
        /// The id in its header.
        header_id: String,
    },
    /// The line cannot be in a log.
    #[error(transparent)]
    RefusedLine(#[from] RefusedLine),
    /// The server refused the values of the request.
    #[error("{remote} refused the request: {reason}")]
    Refused {
        /// The remote.
        remote: String,
        /// Why.
        reason: String,
    },
    /// The server sent something that is never in a store.
    #[error("{remote} sent data that cannot be right: {reason}")]
    BadData {
        /// The remote.
        remote: String,
        /// What is wrong.
        reason: String,
    },
    /// The server has no space left.
    #[error("{remote} has no space left; nothing was written")]
    Full {
        /// The remote.
        remote: String,
    },
    /// The server cannot serve this client now. Trying again later can help.
    #[error("{remote} is busy: {reason}; try again later")]
    Busy {
        /// The remote.
        remote: String,
        /// What it says.
        reason: String,
    },
    /// The server did not answer in time. The connection is closed.
    #[error("{remote} did not answer within {seconds} seconds")]
    Timeout {
        /// The remote.
        remote: String,
        /// How long the client waited.
        seconds: u64,
    },
    /// The connection is gone.
    #[error("the connection to {remote} is lost: {reason}")]
    Disconnected {
        /// The remote.
        remote: String,
        /// What happened.
        reason: String,
    },
    /// A line is in the storage for large lines, and this client does not know that storage.
    #[error(
        "line {line} of session {session} in {remote} is in the storage for large lines, and none is configured here; \
         set `remote.NAME.blobs` to the address of the bucket, and `remote.NAME.blobs_key_file`"
    )]
    NoStorage {
        /// The remote.
        remote: String,
        /// The session.
        session: SessionNo,
        /// The number of the line.
        line: u64,
    },
    /// The storage for large lines failed. The log is as it was.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The log was replaced, but objects with removed lines are still in the storage for large lines.
    #[error(
        "session {session} was replaced in {remote}, but what was removed is still in the storage for large lines: \
         {reason}; the next `sessile sync` from a machine that has the storage configured removes it"
    )]
    NotErased {
        /// The remote.
        remote: String,
        /// The session.
        session: SessionNo,
        /// Why it could not be removed.
        reason: String,
    },
    /// The server reported another error.
    #[error("{remote} reported error {code}: {message}")]
    Server {
        /// The remote.
        remote: String,
        /// Its code in PostgreSQL (SQLSTATE).
        code: String,
        /// Its message.
        message: String,
    },
}

impl RemoteError {
    /// Whether the connection is gone, so that every call fails until the client reconnects.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected { .. } | Self::Timeout { .. })
    }

    /// Whether a call that writes may have been committed all the same.
    pub fn is_ambiguous(&self) -> bool {
        self.is_disconnected()
    }

    /// Whether the same call can succeed later without any change here: the server is down, full, starting or busy.
    pub fn is_temporary(&self) -> bool {
        self.is_disconnected()
            || matches!(
                self,
                Self::Unreachable { .. } | Self::Busy { .. } | Self::Full { .. } | Self::ReadOnlyServer { .. }
            )
            || matches!(self, Self::Blob(error) if error.is_temporary())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_ambiguous_and_a_refusal_is_not() {
        let lost = RemoteError::Disconnected { remote: "r".into(), reason: "x".into() };
        assert!(lost.is_ambiguous() && lost.is_disconnected() && lost.is_temporary());
        let full = RemoteError::Full { remote: "r".into() };
        assert!(!full.is_ambiguous() && full.is_temporary());
        let refused = RemoteError::from(RefusedLine::Newline);
        assert!(!refused.is_ambiguous() && !refused.is_temporary());
    }
}
