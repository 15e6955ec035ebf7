//! A finding as people may see it.

use crate::Finding;
use crate::rules::public_prefix;

impl Finding {
    /// Returns the public prefix of the secret and the length of the rest, such as `ghp_…(36)`. No character of the
    /// random part is in it.
    pub fn masked(&self) -> String {
        let value = self.secret.expose();
        let prefix = public_prefix(&self.rule, value);
        format!("{prefix}…({})", value.chars().count() - prefix.chars().count())
    }
}
