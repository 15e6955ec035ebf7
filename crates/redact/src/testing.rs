//! A simple finder and source for tests.

use crate::{Finding, Origin, Secret, Tier};

/// The name of a tool that reads secrets.
pub(crate) const SECRET_TOOL: &str = "read_secrets";

/// Finds `SECRET-1`, and `SOURCE` in secret sources.
pub(crate) fn finder(text: &str, origin: Origin) -> Vec<Finding> {
    let pattern = if origin == Origin::SecretSource { "SECRET-[0-9]+|SOURCE" } else { "SECRET-[0-9]+" };
    let finding = |found: regex::Match<'_>| Finding {
        range: found.range(),
        rule: "test".into(),
        tier: Tier::Certain,
        via: None,
        secret: Secret::new(found.as_str()),
    };
    regex::Regex::new(pattern).unwrap().find_iter(text).map(finding).collect()
}

/// Whether a call reads secrets.
pub(crate) fn is_source(name: &str, arguments: &str) -> bool {
    name == SECRET_TOOL || arguments.contains("printenv")
}
