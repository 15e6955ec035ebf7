//! The values that a server takes. Clients check them first, so that a mistake costs no round trip.

use crate::batch::Batch;
use crate::chain::Position;
use crate::error::RemoteError;
use crate::stored::{NewSession, Replacement};

/// The maximum length of the id in a header.
const MAX_ID: usize = 200;

/// The maximum length of a header.
const MAX_HEADER: usize = 1 << 20;

/// The maximum length of a summary.
const MAX_SUMMARY: usize = 256 << 10;

/// The maximum length of the name of a member or a project.
const MAX_NAME: usize = 200;

/// The maximum number of terms of a search.
const MAX_TERMS: usize = 64;

/// A search returns no more candidates than this, and those of the same time as the last.
pub(crate) const MOST_CANDIDATES: u32 = 1000;

/// The maximum length of a reason.
const MAX_REASON: usize = 400;

pub(crate) fn check_session(remote: &str, new: &NewSession<'_>) -> Result<(), RemoteError> {
    check_id(remote, new.header_id)?;
    check_header(remote, new.header)?;
    check_summary(remote, new.summary)
}

pub(crate) fn check_replacement(remote: &str, replacement: &Replacement<'_>) -> Result<(), RemoteError> {
    replacement.header.map_or(Ok(()), |header| check_header(remote, header))?;
    if replacement.reason.len() > MAX_REASON || replacement.reason.contains('\0') {
        return refuse(remote, format!("a reason has at most {MAX_REASON} bytes, and no NUL"));
    }
    check_summary(remote, replacement.summary)
}

pub(crate) fn check_summary(remote: &str, summary: Option<&[u8]>) -> Result<(), RemoteError> {
    if summary.is_some_and(|summary| summary.len() > MAX_SUMMARY) {
        return refuse(remote, format!("a summary has at most {MAX_SUMMARY} bytes"));
    }
    Ok(())
}

pub(crate) fn check_search(remote: &str, terms: &[u32], limit: u32) -> Result<(), RemoteError> {
    if terms.is_empty() || terms.len() > MAX_TERMS || limit == 0 {
        return refuse(remote, format!("a search has 1 to {MAX_TERMS} terms, and looks for something"));
    }
    Ok(())
}

/// Checks that a batch continues what was sent before.
pub(crate) fn check_start(remote: &str, batch: &Batch, expected: &Position) -> Result<(), RemoteError> {
    if batch.start() == *expected {
        return Ok(());
    }
    refuse(remote, "the batch does not start where the one before ends".to_owned())
}

pub(crate) fn check_id(remote: &str, header_id: &str) -> Result<(), RemoteError> {
    if header_id.is_empty() || header_id.len() > MAX_ID || header_id.contains('\0') {
        return refuse(remote, format!("the id of a session has 1 to {MAX_ID} bytes, and no NUL"));
    }
    Ok(())
}

/// Checks the name of a member or a project.
pub(crate) fn check_name(remote: &str, name: &str) -> Result<(), RemoteError> {
    if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
        return refuse(remote, format!("a name has 1 to {MAX_NAME} bytes, and no control characters"));
    }
    Ok(())
}

fn check_header(remote: &str, header: &[u8]) -> Result<(), RemoteError> {
    if header.len() > MAX_HEADER || header.contains(&b'\n') {
        return refuse(remote, format!("a header is one line of at most {MAX_HEADER} bytes"));
    }
    Ok(())
}

fn refuse(remote: &str, reason: String) -> Result<(), RemoteError> {
    Err(RemoteError::Refused { remote: remote.to_owned(), reason })
}
