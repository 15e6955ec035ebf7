//! What counts as a secret besides the built-in rules: the user's settings and known values.

use sessile_core::json::Json;
use sessile_redact::{RunKey, Secret};

use super::known;
use crate::error::SessionError;
use crate::redact_error::RedactError;
use crate::sessions::Sessions;
use crate::settings::{Edited, Settings, SettingsError, Value, edit_settings};

/// What counts as a secret besides the built-in rules, and what does not.
#[derive(Clone, Debug, Default)]
pub struct SecretOptions {
    /// Only findings whose format is certain.
    pub certain_only: bool,
    /// Values that are known to be secret. Each occurrence counts, encoded or not.
    pub known: Vec<Secret>,
    /// Rules of the user: a name and a regular expression. A group named `secret` is the secret; otherwise the match is.
    pub rules: Vec<(String, String)>,
    /// The ids of values that are not secrets: the digits at the end of the placeholders of
    /// [`scan_secrets`](Sessions::scan_secrets).
    pub allowed: Vec<String>,
}

/// The name of the file with the key of the store.
const KEY_NAME: &str = "redaction";

/// The setting with the ids of allowed values.
const ALLOW: &str = "secrets.allow";

impl Sessions {
    /// What the user's settings and surroundings say about secrets: rules and allowed ids of the table `secrets`, and
    /// the values of environment variables with names of secrets and of pi's `auth.json`, `mcp-auth.json` and
    /// `models.json`.
    pub fn secret_options(&self, settings: &Settings) -> SecretOptions {
        let mut options =
            SecretOptions { known: known::values(self.environment(), self.world.os()), ..SecretOptions::default() };
        for setting in settings.table("secrets") {
            let Some(value) = &setting.value else { continue };
            match setting.key.strip_prefix("secrets.rules.") {
                Some(name) => options.rules.push((name.to_owned(), value.to_text())),
                None if setting.key == ALLOW => options.allowed.extend(value.texts().unwrap_or_default()),
                None => {}
            }
        }
        options
    }

    /// Reads known secrets from a file, one per line.
    pub fn read_secrets(&self, path: &std::path::Path) -> Result<Vec<Secret>, SessionError> {
        let path = crate::directory::absolute(self.environment(), path);
        known::read_file(self.world.os(), &path)
    }

    /// Adds the id of a value to the allowed ones in the user's settings. Returns `None` if it is there already.
    pub fn allow_secret(&self, settings: &Settings, id: &str) -> Result<Option<Edited>, SettingsError> {
        let mut allowed = settings
            .get(ALLOW)
            .ok()
            .and_then(|setting| setting.value.as_ref())
            .and_then(Value::texts)
            .unwrap_or_default();
        let id = id.to_ascii_lowercase();
        if allowed.iter().any(|other| other.eq_ignore_ascii_case(&id)) {
            return Ok(None);
        }
        allowed.push(id);
        let list = allowed.iter().map(|id| Json::string(id).to_text().into_owned()).collect::<Vec<_>>().join(", ");
        edit_settings(self.environment(), self.world.os(), ALLOW, Some(&format!("[{list}]")), false).map(Some)
    }

    /// The key that is the same for all runs in this store; `None` without a state directory.
    pub(super) fn store_key(&self) -> Result<Option<RunKey>, SessionError> {
        Ok(self.secret(KEY_NAME)?.map(RunKey::new))
    }

    /// The key of the store if there is one already, or a random one. Writes nothing.
    pub(super) fn saved_store_key(&self) -> Result<RunKey, SessionError> {
        self.saved_secret(KEY_NAME).map_or_else(|| Ok(random_key()?), |key| Ok(RunKey::new(key)))
    }

    /// The key of a store whose ids must be stable.
    pub(super) fn stable_key(&self) -> Result<RunKey, SessionError> {
        self.store_key()?.ok_or_else(|| RedactError::NoStoreKey.into())
    }
}

/// Checks that a text is the id of a value, or a placeholder, and returns the id.
pub fn finding_id(text: &str) -> Result<String, RedactError> {
    let inner = text.strip_prefix("[REDACTED:").and_then(|rest| rest.strip_suffix(']'));
    let id = inner.map_or(text, |inner| inner.rsplit(':').next().unwrap_or_default());
    let is_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(id.to_ascii_lowercase()) } else { Err(RedactError::BadId { id: text.to_owned() }) }
}

/// A key that no other run has.
pub(super) fn random_key() -> Result<RunKey, RedactError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_unavailable| RedactError::NoRandom)?;
    Ok(RunKey::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_from_placeholders() {
        assert_eq!(finding_id("1F3a9c2e").unwrap(), "1f3a9c2e");
        assert_eq!(finding_id("[REDACTED:github-token:1f3a9c2e]").unwrap(), "1f3a9c2e");
        for wrong in ["", "1f3a9c2", "1f3a9c2g", "[REDACTED:x]", "hunter2hunter2"] {
            assert!(finding_id(wrong).is_err(), "{wrong}");
        }
    }
}
