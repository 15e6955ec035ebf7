//! Finds secrets in a text.

use crate::context::env_value;
use crate::decode::Decoder;
use crate::engine::{self, Engine, Part};
use crate::known::Known;
use crate::masked::Masked;
use crate::rules::context;
use crate::user_rule::{RuleError, UserRule};
use crate::{Finding, Tier, merge};

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Any text.
    Ordinary,
    /// The output of a command or a file that holds secrets, such as `.env`: every value in it counts.
    SecretSource,
}

/// What to look for besides the built-in rules.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Only findings of [`Tier::Certain`].
    pub certain_only: bool,
    /// Values that are known to be secret. Each occurrence counts, encoded or not. Values of fewer than four bytes are
    /// left out.
    pub known: Vec<crate::Secret>,
    /// The traces of values that earlier scans found. Looking for them is slow.
    pub traces: Vec<crate::Traces>,
    /// Rules of the user: a name and a regular expression. A group named `secret` is the secret; otherwise the match is.
    pub rules: Vec<(String, String)>,
}

/// How often a text is scanned again without what was found.
const MOST_ROUNDS: usize = 8;

/// Looks for secrets in texts.
#[derive(Debug)]
pub struct Scanner {
    certain_only: bool,
    known: Option<Known>,
    rules: Vec<UserRule>,
}

impl Scanner {
    /// Prepares a scan. A rule of the user that is not a regular expression, or too large, is an error.
    pub fn new(options: &ScanOptions) -> Result<Self, RuleError> {
        let known = Known::new(&options.known, &options.traces)
            .map_err(|error| RuleError { rule: context::KNOWN_VALUE.to_owned(), reason: error.to_string() })?;
        let rules =
            options.rules.iter().map(|(name, pattern)| UserRule::new(name, pattern)).collect::<Result<_, _>>()?;
        Ok(Self { certain_only: options.certain_only, known, rules })
    }

    /// Returns the secrets of a text, in its order and without overlaps.
    ///
    /// A placeholder in place of a secret can make another one visible, because a key begins where a word begins. The
    /// text is therefore scanned again without what was found, until nothing is found: a redacted text has no findings.
    pub fn find(&self, text: &str, origin: Origin) -> Vec<Finding> {
        self.find_all(text, |text| {
            let mut findings = self.find_in_text(text, origin);
            Decoder { engine: Engine::get(), known: self.known.as_ref(), depth: 0 }.scan(text, &mut findings);
            findings
        })
    }

    /// Returns the secrets of a text that no encoding hides. This is faster than [`find`](Self::find), and less sure.
    pub fn find_plain(&self, text: &str, origin: Origin) -> Vec<Finding> {
        self.find_all(text, |text| self.find_in_text(text, origin))
    }

    fn find_all(&self, text: &str, scan: impl Fn(&str) -> Vec<Finding>) -> Vec<Finding> {
        let mut all = self.finish(text, scan(text));
        for _ in 0..MOST_ROUNDS {
            if all.is_empty() {
                break;
            }
            let masked = Masked::new(text, &all);
            let more = self.finish(&masked.text, scan(&masked.text));
            if more.is_empty() {
                break;
            }
            all.extend(more.into_iter().map(|finding| masked.original(finding)));
            all.sort_by_key(|finding| finding.range.start);
        }
        all
    }

    fn find_in_text(&self, text: &str, origin: Origin) -> Vec<Finding> {
        let mut findings = Vec::new();
        Engine::get().scan(text, Part::Everything, &mut findings);
        if origin == Origin::SecretSource {
            let mut values = Vec::new();
            env_value::find(text, &mut values);
            findings.extend(values.into_iter().filter_map(|value| engine::context_finding(text, value)));
        }
        merge::add_known(text, self.known.as_ref(), &mut findings);
        for rule in &self.rules {
            rule.find(text, &mut findings);
        }
        findings
    }

    fn finish(&self, text: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
        if self.certain_only {
            findings.retain(|finding| finding.tier == Tier::Certain);
        }
        merge::merge(text, findings)
    }
}
