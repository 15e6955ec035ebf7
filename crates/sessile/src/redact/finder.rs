//! The scanner with what earlier passes have learned, and without what the user allows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sessile_redact::{FindSecrets, Finding, Origin, RunKey, Scanner, Secret, Tier, Traces};

use super::options::SecretOptions;
use crate::redact_error::RedactError;

/// The values that a first pass has found, with the rule and tier that found each first.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned(HashMap<Secret, (Arc<str>, Tier)>);

/// The length from which any likely value is looked for elsewhere.
const LONG: usize = 16;

impl Learned {
    /// Remembers a finding. A certain rule names a value rather than a likely one.
    pub(super) fn learn(&mut self, finding: &Finding) {
        self.add(finding.secret.clone(), Arc::clone(&finding.rule), finding.tier);
    }

    pub(super) fn add(&mut self, secret: Secret, rule: Arc<str>, tier: Tier) {
        let now = (rule, tier);
        let known = self.0.entry(secret).or_insert_with(|| now.clone());
        if now.1 < known.1 {
            *known = now;
        }
    }

    /// Takes over what another file taught. What came first stays.
    pub(super) fn merge(&mut self, other: Self) {
        for (secret, (rule, tier)) in other.0 {
            self.add(secret, rule, tier);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values to look for everywhere. A likely value that could be an ordinary word is not one of them.
    pub(super) fn everywhere(&self) -> impl Iterator<Item = (&Secret, &(Arc<str>, Tier))> {
        self.0.iter().filter(|(secret, (_, tier))| *tier == Tier::Certain || is_distinct(secret.expose()))
    }
}

/// Whether a value is unlikely to be an ordinary word.
fn is_distinct(value: &str) -> bool {
    let classes: [fn(char) -> bool; 3] = [|c| c.is_lowercase(), |c| c.is_uppercase(), |c| c.is_ascii_digit()];
    let n_classes = classes.iter().filter(|is_of| value.chars().any(**is_of)).count();
    let n_chars = value.chars().count();
    n_chars >= LONG || n_chars >= 6 && n_classes >= 2
}

/// Finds secrets in texts.
pub(super) struct Finder {
    scanner: Scanner,
    learned: Learned,
    allowed: HashSet<String>,
    /// The key that makes the ids of allowed values.
    key: Option<RunKey>,
}

impl Finder {
    /// Prepares a scan with the built-in rules and those of the options.
    pub(super) fn new(options: &SecretOptions, learned: Learned, key: Option<&RunKey>) -> Result<Self, RedactError> {
        Self::tracing(options, learned, Vec::new(), key)
    }

    /// The same, with traces of values that an earlier scan found.
    pub(super) fn tracing(
        options: &SecretOptions,
        learned: Learned,
        traces: Vec<Traces>,
        key: Option<&RunKey>,
    ) -> Result<Self, RedactError> {
        let known = options.known.iter().chain(learned.everywhere().map(|it| it.0)).cloned().collect();
        let scanner = Scanner::new(&sessile_redact::ScanOptions {
            certain_only: options.certain_only,
            known,
            traces,
            rules: options.rules.clone(),
        });
        let scanner = scanner.map_err(|error| RedactError::BadRule { rule: error.rule, reason: error.reason })?;
        let allowed = options.allowed.iter().map(|id| id.to_ascii_lowercase()).collect();
        Ok(Self { scanner, learned, allowed, key: key.cloned() })
    }

    fn is_allowed(&self, finding: &Finding) -> bool {
        !self.allowed.is_empty() && self.key.as_ref().is_some_and(|key| self.allowed.contains(&key.id(&finding.secret)))
    }
}

impl FindSecrets for Finder {
    fn find_secrets(&self, text: &str, origin: Origin) -> Vec<Finding> {
        let mut found = self.scanner.find(text, origin);
        found.retain(|finding| !self.is_allowed(finding));
        for finding in &mut found {
            // A value that is known from another place has the rule and the tier of that place.
            if let Some((rule, tier)) = self.learned.0.get(&finding.secret) {
                finding.rule = Arc::clone(rule);
                finding.tier = *tier;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, tier: Tier, value: &str) -> Finding {
        Finding { range: 0..1, rule: rule.into(), tier, via: None, secret: Secret::new(value) }
    }

    #[test]
    fn learned_values_are_found_bare_with_their_rule() {
        let mut learned = Learned::default();
        learned.learn(&finding("assignment", Tier::Likely, "kR7vQ2x9"));
        learned.learn(&finding("assignment", Tier::Likely, "harmless"));
        let finder = Finder::new(&SecretOptions::default(), learned, None).unwrap();
        let found = finder.find_secrets("a bare kR7vQ2x9 and a harmless word", Origin::Ordinary);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&*found[0].rule, found[0].tier, found[0].range.clone()), ("assignment", Tier::Likely, 7..15));
    }

    #[test]
    fn a_certain_rule_names_a_value() {
        let mut learned = Learned::default();
        learned.learn(&finding("assignment", Tier::Likely, "v"));
        let mut other = Learned::default();
        other.learn(&finding("github-token", Tier::Certain, "v"));
        learned.merge(other);
        assert_eq!(learned.0[&Secret::new("v")], ("github-token".into(), Tier::Certain));
    }

    #[test]
    fn allowed_values_are_not_found() {
        let (key, value) = (RunKey::new(vec![7; 32]), "kR7vQ2x9");
        let options = |allowed| SecretOptions { known: vec![Secret::new(value)], allowed, ..SecretOptions::default() };
        let n_found = |allowed| {
            Finder::new(&options(allowed), Learned::default(), Some(&key))
                .unwrap()
                .find_secrets(value, Origin::Ordinary)
                .len()
        };
        assert_eq!(n_found(vec![key.id(&Secret::new(value)).to_uppercase()]), 0);
        assert_eq!(n_found(vec!["00000000".to_owned()]), 1);
    }
}
