//! Errors of the connection in our words.

use std::error::Error;
use std::io;

use tokio_postgres::error::DbError;

use crate::error::RemoteError;
use crate::foreign::foreign;
use crate::stored::SessionNo;

/// What a failed request was about, for its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) remote: &'a str,
    pub(super) user: &'a str,
    pub(super) session: Option<SessionNo>,
    pub(super) header_id: Option<&'a str>,
    pub(super) member: Option<&'a str>,
    pub(super) project: Option<&'a str>,
}

impl Request<'_> {
    /// Translates an error of a request on an open connection.
    pub(super) fn failed(&self, error: &tokio_postgres::Error) -> RemoteError {
        match error.as_db_error() {
            Some(answer) => self.refused(answer),
            None if is_of_connection(error) => self.lost(&sessile_core::cause::chain(error)),
            None => self.bad_data(&sessile_core::cause::chain(error)),
        }
    }

    /// Translates an error of connecting and logging in.
    pub(super) fn not_connected(&self, error: &tokio_postgres::Error) -> RemoteError {
        let remote = self.remote.to_owned();
        if let Some(answer) = error.as_db_error() {
            return match self.refused(answer) {
                RemoteError::Disconnected { remote, reason } => RemoteError::Unreachable { remote, reason },
                other => other,
            };
        }
        let reason = foreign(&sessile_core::cause::chain(error));
        if reason.contains("server does not support TLS") {
            return RemoteError::NoTls { remote };
        }
        if reason.contains("password missing") {
            return RemoteError::NoPassword { remote };
        }
        if let Some(reason) = tls_reason(error) {
            return RemoteError::Tls { remote, reason };
        }
        if reason.starts_with("authentication error") {
            return RemoteError::Authentication { remote, user: self.user.to_owned() };
        }
        RemoteError::Unreachable { remote, reason }
    }

    pub(super) fn lost(&self, reason: &str) -> RemoteError {
        RemoteError::Disconnected { remote: self.remote.to_owned(), reason: foreign(reason) }
    }

    pub(super) fn bad_data(&self, reason: &str) -> RemoteError {
        RemoteError::BadData { remote: self.remote.to_owned(), reason: foreign(reason) }
    }

    /// Translates an answer of the server by its code.
    fn refused(&self, answer: &DbError) -> RemoteError {
        let (remote, user) = (self.remote.to_owned(), self.user.to_owned());
        let message = || foreign(answer.message());
        let session = self.session.unwrap_or(SessionNo(0));
        match answer.code().code() {
            "SES01" => RemoteError::NoSuchSession { remote, session },
            "SES02" => RemoteError::NotAMember { remote, user },
            "SES03" => RemoteError::Refused { remote, reason: message() },
            "SES04" => RemoteError::Buried { remote, header_id: foreign(self.header_id.unwrap_or_default()) },
            "SES05" => RemoteError::Replaced { remote, session },
            "SES06" | "42501" => RemoteError::PermissionDenied { remote, reason: message() },
            "SES07" => RemoteError::NoSuchMember { remote, member: foreign(self.member.unwrap_or_default()) },
            "SES08" => RemoteError::NoSuchProject { remote, project: foreign(self.project.unwrap_or_default()) },
            "28P01" | "28000" => RemoteError::Authentication { remote, user },
            "3D000" => RemoteError::NoDatabase { remote },
            "3F000" | "42883" | "42P01" => RemoteError::SchemaMissing { remote },
            "25006" => RemoteError::ReadOnlyServer { remote },
            "53100" => RemoteError::Full { remote },
            "40001" | "40P01" | "53200" | "53300" | "55P03" | "57014" => {
                RemoteError::Busy { remote, reason: message() }
            }
            code if code.starts_with("08") || code.starts_with("57P") || code == "25P03" => self.lost(answer.message()),
            code => RemoteError::Server { remote, code: foreign(code), message: message() },
        }
    }
}

/// Whether an error that is not an answer of the server means that the connection is unusable.
fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || sessile_core::cause::causes(error).any(<dyn Error>::is::<io::Error>)
}

/// Returns the reason of `rustls`, if it refused the connection.
fn tls_reason(error: &tokio_postgres::Error) -> Option<String> {
    let of_rustls = |cause: &(dyn Error + 'static)| {
        let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
        let failed = inner.downcast_ref::<rustls::Error>().map(ToString::to_string);
        failed.or_else(|| inner.downcast_ref::<rustls::pki_types::InvalidDnsNameError>().map(ToString::to_string))
    };
    sessile_core::cause::causes(error).find_map(of_rustls).map(|reason| foreign(&reason))
}
