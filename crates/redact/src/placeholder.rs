//! What stands in a copy where a secret was.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use crate::hmac::{Mac, hex};
use crate::{Finding, Secret};

/// The key of a run. Placeholders of the same value are equal under the same key, and say nothing without it.
#[derive(Clone)]
pub struct RunKey(Vec<u8>);

impl RunKey {
    /// Makes a key of random bytes, at least 16.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The first `n_bytes` bytes, at most 32, of the code of a text under this key, as hexadecimal digits.
    pub(crate) fn code(&self, text: &[u8], n_bytes: usize) -> String {
        hex(&self.mac().code(text)[..n_bytes])
    }

    /// The key, ready to make codes.
    pub(crate) fn mac(&self) -> Mac {
        Mac::new(&self.0)
    }

    /// The placeholder of a value: the name of a rule, and 8 digits that depend on the value and the key.
    ///
    /// ```
    /// # use sessile_redact::{RunKey, Secret};
    /// let key = RunKey::new(*b"0123456789abcdef");
    /// assert_eq!(key.placeholder("github-token", &Secret::new("a value")), "[REDACTED:github-token:ad40b08f]");
    /// ```
    pub fn placeholder(&self, rule: &str, secret: &Secret) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let rule: String = rule.chars().take(MAX_RULE).map(|c| if is_plain(c) { c } else { '-' }).collect();
        let rule = if rule.is_empty() { "secret" } else { &rule };
        format!("[REDACTED:{rule}:{}]", self.id(secret))
    }

    /// The 8 digits of a value's placeholder.
    pub fn id(&self, secret: &Secret) -> String {
        self.code(secret.expose().as_bytes(), 4)
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKey(…)")
    }
}

/// The length of a rule's name in a placeholder.
const MAX_RULE: usize = 64;

/// The rule that found each value first, so that the value has one placeholder wherever other rules find it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstRules(HashMap<Secret, Arc<str>>);

impl FirstRules {
    /// Remembers a finding, and returns the rule that names its value.
    pub(crate) fn learn(&mut self, finding: &Finding) -> &str {
        self.0.entry(finding.secret.clone()).or_insert_with(|| finding.rule.clone())
    }

    /// The placeholder of a finding.
    pub(crate) fn placeholder(&mut self, key: &RunKey, finding: &Finding) -> String {
        key.placeholder(self.learn(finding), &finding.secret)
    }
}

/// Placeholders, marks of removed text, and pseudonyms with characters that other rules could take for something else.
static MADE: LazyLock<Regex> = LazyLock::new(|| {
    let redacted = r"\[REDACTED:[A-Za-z0-9._-]{1,64}:[0-9a-f]{8}\]";
    let removed = r"\[removed: [0-9,]+ lines?, [0-9.,]+ [kMG]?B\]";
    let counted = r"\[[a-z ]{1,24}: [0-9,]+ chars?\]|\[command: [a-z0-9 _.+,-]*; [0-9,]+ chars?\]";
    let mail = r"\bmail[0-9]+@example\.invalid\b";
    Regex::new(&format!("{redacted}|{removed}|{counted}|{mail}")).unwrap_or_else(|error| unreachable!("{error}"))
});

/// The parts of a text that a redaction wrote.
pub(crate) fn made_parts(text: &str) -> Vec<Range<usize>> {
    MADE.find_iter(text).map(|found| found.range()).collect()
}

/// Whether a redaction wrote the whole text.
pub(crate) fn is_made(text: &str) -> bool {
    text.starts_with('[') && MADE.find(text).is_some_and(|found| found.range() == (0..text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tier;

    #[test]
    fn equal_values_have_equal_placeholders_under_one_key() {
        let [one, other] = [RunKey::new(vec![1; 32]), RunKey::new(vec![2; 32])];
        let secret = Secret::new("hunter2");
        assert_eq!(one.placeholder("r", &secret), one.placeholder("r", &secret));
        assert_ne!(one.placeholder("r", &secret), other.placeholder("r", &secret));
        assert_ne!(one.placeholder("r", &secret), one.placeholder("r", &Secret::new("hunter3")));
        assert!(!format!("{one:?}").contains('1'));
    }

    #[test]
    fn names_of_rules_cannot_break_out() {
        let key = RunKey::new(vec![1; 32]);
        let made = key.placeholder("a]\n\"b", &Secret::new("x"));
        assert!(made.starts_with("[REDACTED:a---b:"), "{made}");
        assert!(is_made(&made));
        assert!(is_made(&key.placeholder("", &Secret::new("x"))));
        assert!(is_made(&key.placeholder(&"x".repeat(500), &Secret::new("x"))));
    }

    #[test]
    fn the_first_rule_names_a_value() {
        let key = RunKey::new(vec![1; 32]);
        let finding = |rule: &str| Finding {
            range: 0..1,
            rule: rule.into(),
            tier: Tier::Certain,
            via: None,
            secret: Secret::new("v"),
        };
        let mut first = FirstRules::default();
        let made = first.placeholder(&key, &finding("github-token"));
        assert_eq!(first.placeholder(&key, &finding("known")), made);
    }

    #[test]
    fn only_whole_marks_are_made() {
        for text in ["[removed: 1,204 lines, 48 kB]", "[user text: 312 chars]", "[command: git, ls; 40 chars]"] {
            assert!(is_made(text), "{text}");
            assert!(!is_made(&format!("{text} x")), "{text}");
        }
        assert!(!is_made("[REDACTED:x:SECRET]"));
        assert_eq!(made_parts("a mail3@example.invalid b").first(), Some(&(2..23)));
    }
}
