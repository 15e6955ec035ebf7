//! Secrets in sessions.

use std::path::{Path, PathBuf};

use sessile::format::location::normalise;
use sessile::json::Raw;
use sessile::redact::{Level, RedactOptions, ScanOptions, SecretOptions};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::command::store::in_scope;
use crate::failure::Failure;

/// Returns what counts as a secret, with the user's settings.
fn options(call: &Call<'_>) -> Result<SecretOptions, Failure> {
    let options = call.server().options.sessions.current_secret_options();
    options.map_err(|error| Failure::invalid(error.to_string()))
}

/// Returns the file of the session that a command is about.
fn session_file(call: &Call<'_>) -> Result<PathBuf, Failure> {
    if let Some(path) = call.session_path()? {
        return Ok(path);
    }
    let session = call.client.current();
    let stored = session.lock().is_stored();
    let path = session.path().filter(|_| stored).map(Path::to_path_buf);
    path.ok_or_else(|| Failure::invalid("the current session has not been saved yet"))
}

pub(crate) fn scan_secrets(call: &Call<'_>) -> CommandResult {
    let scope = call.text("scope").unwrap_or_else(|| "session".to_owned());
    let paths = match (call.session_path()?, scope.as_str()) {
        (Some(path), _) => vec![path],
        (None, "session") => vec![session_file(call)?],
        (None, scope) => in_scope(call, scope)?.into_iter().map(|session| session.path).collect(),
    };
    let secrets = SecretOptions { certain_only: call.flag("certain").unwrap_or_default(), ..options(call)? };
    let options = ScanOptions { secrets, ..ScanOptions::default() };
    answered(answer::scan_report(&call.server().options.sessions.scan_secrets(&paths, &options)?))
}

pub(crate) fn export_redacted(call: &Call<'_>) -> CommandResult {
    let source = session_file(call)?;
    let level = call.text("level").map_or(Ok(Level::default()), |level| level.parse());
    let level = level.map_err(|error: sessile::redact::UnknownLevel| Failure::invalid(error.to_string()))?;
    let sessions = call.server().options.sessions.clone();
    let given = normalise(&PathBuf::from(call.required("outputPath")?), &sessions.environment().home());
    let target = call.server().options.cwd.join(given);
    let also = call.get("also").into_iter().flat_map(Raw::items).filter_map(Raw::as_string).collect();
    let stable = call.flag("stable").unwrap_or_default();
    let options = RedactOptions { level, secrets: options(call)?, also, stable, ..RedactOptions::default() };
    answered(answer::redacted_copy(&sessions.export_redacted(&source, &options, &target, false)?))
}
