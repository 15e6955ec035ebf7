//! Short texts without what is certainly a secret.

use sessile_redact::{FindSecrets, Origin, Tier};

use super::finder::{Finder, Learned};
use super::options::SecretOptions;
use super::quiet::quietly;
use crate::error::SessionError;
use crate::sessions::Sessions;

/// Removes secrets from texts.
pub(crate) struct CertainSecrets(Finder);

impl CertainSecrets {
    /// Uses the rules and the known values of the user.
    pub(crate) fn of(sessions: &Sessions) -> Result<Self, SessionError> {
        let options = SecretOptions { certain_only: true, ..sessions.current_secret_options()? };
        let key = sessions.store_key()?;
        Ok(Self(Finder::new(&options, Learned::default(), key.as_ref())?))
    }

    /// Returns a text without its secrets. If a rule fails, nothing of the text is left.
    pub(crate) fn removed(&self, text: &str) -> String {
        let Some(found) = quietly(|| self.0.find_secrets(text, Origin::Ordinary)) else { return String::new() };
        let mut rest = String::with_capacity(text.len());
        let mut at = 0;
        for finding in found.iter().filter(|finding| finding.tier == Tier::Certain) {
            rest.push_str(text.get(at..finding.range.start).unwrap_or_default());
            at = at.max(finding.range.end);
        }
        rest.push_str(text.get(at..).unwrap_or_default());
        rest
    }
}
