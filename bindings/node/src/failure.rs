//! Errors as JavaScript gets them: with pi's sentences, and a code.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sessile::SessionError;
use sessile::json::{Json, ObjectWriter};
use sessile::write::StoreError;
use sessile_rpc::{Code, Failure as RpcFailure};

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// The result of a synchronous call.
pub(crate) type Result<T> = std::result::Result<T, napi::Error<String>>;

/// The code of calls on a session that was closed.
const CLOSED: &str = "SESSION_CLOSED";

/// The code of a bug in the engine.
const PANIC: &str = "INTERNAL";

impl Failure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument.word(), message)
    }

    pub(crate) fn closed() -> Self {
        Self::new(CLOSED, "The session was closed")
    }

    /// As JSON: `{failure: {code, message}}`.
    pub(crate) fn envelope(&self) -> String {
        let failure = ObjectWriter::new().string("code", &self.code).string("message", &self.message).finish();
        ObjectWriter::new().raw("failure", failure.raw()).finish().to_text().into_owned()
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let message = pi_message(&error);
        let system = system_code(&error);
        let RpcFailure { code, message: own, .. } = RpcFailure::from(error);
        Self { code: system.unwrap_or_else(|| code.word().to_owned()), message: message.unwrap_or(own) }
    }
}

impl From<Failure> for napi::Error<String> {
    fn from(failure: Failure) -> Self {
        Self::new(failure.code, failure.message)
    }
}

/// pi's words for an error that pi also has.
fn pi_message(error: &SessionError) -> Option<String> {
    Some(match error {
        SessionError::EntryNotFound { id } => format!("Entry {id} not found"),
        SessionError::NotOnBranch { id } => format!("Entry {id} is not on the active branch"),
        SessionError::NotEditable { id } => format!("Entry {id} does not contribute editable model content"),
        SessionError::BadReplacement => {
            "Context edit replacement must be null or contain string/array content".to_owned()
        }
        SessionError::NotASession { path } => format!("Session file is not a valid pi session: {}", path.display()),
        SessionError::CannotFork { path, .. } => {
            format!("Cannot fork: source session file is empty or invalid: {}", path.display())
        }
        _ => return None,
    })
}

/// The code that Node gives to an error of the operating system, such as `ENOENT`.
fn system_code(error: &SessionError) -> Option<String> {
    let (SessionError::Store(error) | SessionError::NoTrash { source: error, .. }) = error else { return None };
    match error {
        StoreError::Gone { .. } => Some("ENOENT".to_owned()),
        StoreError::Exists { .. } => Some("EEXIST".to_owned()),
        StoreError::NotRegular { path } if path.is_dir() => Some("EISDIR".to_owned()),
        error => error.io_error().and_then(std::io::Error::raw_os_error).map(errno_name),
    }
}

/// The names of the errors that files give, by their number on this system.
fn errno_name(number: i32) -> String {
    // The numbers of these are the same on Linux, macOS and the BSDs; the others differ.
    let name = match number {
        1 => "EPERM",
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        9 => "EBADF",
        12 => "ENOMEM",
        13 => "EACCES",
        16 => "EBUSY",
        17 => "EEXIST",
        18 => "EXDEV",
        20 => "ENOTDIR",
        21 => "EISDIR",
        22 => "EINVAL",
        23 => "ENFILE",
        24 => "EMFILE",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        36 if cfg!(target_os = "linux") => "ENAMETOOLONG",
        40 if cfg!(target_os = "linux") => "ELOOP",
        122 if cfg!(target_os = "linux") => "EDQUOT",
        62 if cfg!(target_os = "macos") => "ELOOP",
        63 if cfg!(target_os = "macos") => "ENAMETOOLONG",
        69 if cfg!(target_os = "macos") => "EDQUOT",
        _ => Code::Io.word(),
    };
    name.to_owned()
}

/// Runs a part of the engine. A panic in it becomes a failure.
pub(crate) fn caught<T>(act: impl FnOnce() -> std::result::Result<T, Failure>) -> std::result::Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure::new(PANIC, format!("A bug in Sessile: {words}")))
    })
}

/// The answer of a call that runs on a thread: `{data}`, or `{failure}`.
pub(crate) fn answer(outcome: std::result::Result<Json, Failure>) -> String {
    match outcome {
        Ok(data) => ObjectWriter::new().raw("data", data.raw()).finish().to_text().into_owned(),
        Err(failure) => failure.envelope(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_pis_words_and_nodes_codes() {
        let missing = Failure::from(sessile::SessionManager::open("/no/such/session.jsonl").unwrap_err());
        assert_eq!(missing.code, "ENOENT");
        let mut session = sessile::SessionManager::in_memory("/proj");
        let unknown = Failure::from(session.branch("nope").unwrap_err());
        assert_eq!((unknown.code.as_str(), unknown.message.as_str()), ("NOT_FOUND", "Entry nope not found"));
    }

    #[test]
    fn a_panic_is_a_failure() {
        let failure = caught::<()>(|| panic!("boom {}", 1)).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), (PANIC, "A bug in Sessile: boom 1"));
        assert_eq!(answer(Err(failure)), r#"{"failure":{"code":"INTERNAL","message":"A bug in Sessile: boom 1"}}"#);
    }
}
