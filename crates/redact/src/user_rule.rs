//! Rules of the user.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::{Finding, Secret, Tier};

/// The largest compiled rule, in bytes.
const LARGEST: usize = 1 << 20;

/// Why a rule of the user cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The name of the rule.
    pub rule: String,
    /// The reason.
    pub reason: String,
}

/// A rule of the user, ready to use.
#[derive(Debug)]
pub(crate) struct UserRule {
    name: Arc<str>,
    regex: Regex,
}

impl UserRule {
    pub(crate) fn new(name: &str, pattern: &str) -> Result<Self, RuleError> {
        let regex = RegexBuilder::new(pattern).size_limit(LARGEST).dfa_size_limit(2 * LARGEST).build();
        let regex = regex.map_err(|error| RuleError { rule: name.to_owned(), reason: error.to_string() })?;
        Ok(Self { name: Arc::from(name), regex })
    }

    /// Adds the matches of a text: the group `secret`, or else the whole match.
    pub(crate) fn find(&self, text: &str, out: &mut Vec<Finding>) {
        out.extend(self.regex.captures_iter(text).filter_map(|found| {
            let secret = found.name("secret").or_else(|| found.get(0)).filter(|secret| !secret.is_empty())?;
            Some(Finding {
                range: secret.range(),
                rule: Arc::clone(&self.name),
                tier: Tier::Certain,
                via: None,
                secret: Secret::new(secret.as_str()),
            })
        }));
    }
}
