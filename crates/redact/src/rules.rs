//! The rules for keys that carry their kind in themselves: a table of key formats.
//!
//! The formats are facts that the issuers of the keys publish or that their keys show. Secrets that only the words
//! around them betray are found by the modules of `context`.

mod ai;
mod cloud;
mod commerce;
pub(crate) mod context;
mod data;
mod forge;
mod messages;
mod monitor;
mod tools;

use crate::Tier;

/// The version of the rule table. It changes when a rule is added, removed or changed.
pub const RULES_VERSION: u32 = 1;

/// A check of a whole match. Its argument is the match.
pub(crate) type Check = fn(&str) -> bool;

/// Where the match lies in relation to the anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The match begins with the anchor, which is public.
    Start,
    /// The anchor is inside the match, at most so many bytes after its start.
    Inside(usize),
    /// The anchor begins the match, and the first group is the secret.
    Before,
}

/// A format of keys.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) anchors: &'static [&'static str],
    pub(crate) pattern: &'static str,
    pub(crate) place: Place,
    pub(crate) tier: Tier,
    /// The least Shannon entropy of the part after the anchor, in bits per character.
    pub(crate) floor: f32,
    /// A match that fails this check is not a key.
    pub(crate) check: Option<Check>,
    /// A match that fails this check is only likely a key.
    pub(crate) checksum: Option<Check>,
    /// Keys that may be longer than a window.
    pub(crate) long: bool,
}

impl Rule {
    const fn new(
        name: &'static str,
        description: &'static str,
        anchors: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self {
            name,
            description,
            anchors,
            pattern,
            place: Place::Start,
            tier: Tier::Certain,
            floor: 3.0,
            check: None,
            checksum: None,
            long: false,
        }
    }

    const fn inside(mut self, before: usize) -> Self {
        self.place = Place::Inside(before);
        self
    }

    const fn before(mut self) -> Self {
        self.place = Place::Before;
        self
    }

    const fn likely(mut self) -> Self {
        self.tier = Tier::Likely;
        self
    }

    const fn floor(mut self, bits: f32) -> Self {
        self.floor = bits;
        self
    }

    const fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    const fn checksum(mut self, check: Check) -> Self {
        self.checksum = Some(check);
        self
    }

    const fn long(mut self) -> Self {
        self.long = true;
        self
    }
}

/// What a rule is, for a list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// The name, such as `github-token`.
    pub name: &'static str,
    /// What the rule finds.
    pub description: &'static str,
    /// How sure a finding is at best.
    pub tier: Tier,
    /// Whether the format has a checksum or a structure that the scanner verifies.
    pub has_checksum: bool,
    /// The literals that announce a key of this kind. Rules that look at the context have none.
    pub anchors: &'static [&'static str],
}

/// Returns the built-in rules.
pub fn rules() -> impl Iterator<Item = RuleInfo> {
    let formats = table().map(|rule| RuleInfo {
        name: rule.name,
        description: rule.description,
        tier: rule.tier,
        has_checksum: rule.checksum.is_some(),
        anchors: rule.anchors,
    });
    formats.chain(context::CONTEXT.iter().map(|(name, description, tier)| RuleInfo {
        name,
        description,
        tier: *tier,
        has_checksum: false,
        anchors: &[],
    }))
}

/// Returns the rules of the table.
pub(crate) fn table() -> impl Iterator<Item = &'static Rule> {
    [ai::RULES, cloud::RULES, commerce::RULES, data::RULES, forge::RULES, messages::RULES, monitor::RULES, tools::RULES]
        .into_iter()
        .flatten()
}

/// Returns the public prefix with which a secret of a rule begins. It never contains a random character.
pub(crate) fn public_prefix<'a>(rule: &str, secret: &'a str) -> &'a str {
    let rule = table().find(|known| known.name == rule && known.place == Place::Start);
    rule.map_or("", |rule| public_prefix_of(rule, secret))
}

/// The same for a rule that is at hand.
pub(crate) fn public_prefix_of<'a>(rule: &Rule, secret: &'a str) -> &'a str {
    let longest = rule.anchors.iter().filter(|anchor| secret.starts_with(**anchor)).map(|anchor| anchor.len()).max();
    longest.and_then(|length| secret.get(..length)).unwrap_or("")
}
