//! Pseudonyms: the same name always gets the same one.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::Finding;
use crate::placeholder::FirstRules;

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A user: `user1`.
    User,
    /// A host: `host1`.
    Host,
    /// An organisation: `org1`.
    Organisation,
    /// A working directory: `p1`.
    Project,
    /// A word that the user named: `word1`.
    Word,
    /// An e-mail address: `mail1@example.invalid`.
    Mail,
    /// The author of a commit: `person1`.
    Person,
    /// A phone number: `phone1`.
    Phone,
    /// An address of the internet protocol: `ip1`.
    Ip,
    /// A hardware address: `mac1`.
    Mac,
    /// A payment card: `card1`.
    Card,
    /// A bank account: `iban1`.
    Iban,
}

const PREFIXES: [(NameKind, &str); 12] = [
    (NameKind::User, "user"),
    (NameKind::Host, "host"),
    (NameKind::Organisation, "org"),
    (NameKind::Project, "p"),
    (NameKind::Word, "word"),
    (NameKind::Mail, "mail"),
    (NameKind::Person, "person"),
    (NameKind::Phone, "phone"),
    (NameKind::Ip, "ip"),
    (NameKind::Mac, "mac"),
    (NameKind::Card, "card"),
    (NameKind::Iban, "iban"),
];

/// The size of the compiled names, in bytes.
const MAX_PATTERN: usize = 16 << 20;

/// The names that a run must replace are too many or too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are too many names to replace, or they are too long")]
pub struct TooManyNames;

/// Whether a name is a pseudonym already: `user1`, `p2`.
pub(crate) fn is_pseudonym(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.len() < name.len() && PREFIXES.iter().any(|(_, prefix)| *prefix == stem)
}

/// The pseudonyms of a run, numbered in order of appearance. All files of a run share them.
#[derive(Debug, Default)]
pub struct Names {
    given: HashMap<(NameKind, String), String>,
    n_given: HashMap<NameKind, usize>,
    /// The names that are replaced wherever they stand as words.
    words: Vec<(NameKind, String)>,
    pattern: Option<Regex>,
    /// The working directories, the longest first, with what stands for them.
    pub(crate) directories: Vec<(String, String)>,
    pub(crate) first_rules: FirstRules,
}

impl Names {
    /// Creates names without any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the rule of a finding name its value in every placeholder. For findings of an earlier pass, whose values a
    /// later pass knows only as such.
    pub fn learn(&mut self, finding: &Finding) {
        self.first_rules.learn(finding);
    }

    /// Replaces a name wherever it stands as a word, in any case. Names of one character, and pseudonyms, are ignored.
    pub fn add_word(&mut self, kind: NameKind, name: &str) -> Result<(), TooManyNames> {
        let name = name.trim();
        if name.chars().nth(1).is_none() || is_pseudonym(name) || self.words.iter().any(|(_, word)| word == name) {
            return Ok(());
        }
        self.words.push((kind, name.to_owned()));
        // The first of several alternatives that fit counts.
        self.words.sort_by_key(|(_, word)| std::cmp::Reverse(word.len()));
        let any = self.words.iter().map(|(_, word)| regex::escape(word)).collect::<Vec<_>>().join("|");
        let pattern = RegexBuilder::new(&any).case_insensitive(true).size_limit(MAX_PATTERN).build();
        self.pattern = Some(pattern.map_err(|_error| TooManyNames)?);
        Ok(())
    }

    /// Whether the user has named words.
    pub(crate) fn has_words(&self) -> bool {
        self.words.iter().any(|(kind, _)| *kind == NameKind::Word)
    }

    /// The pseudonym of a name.
    pub fn of(&mut self, kind: NameKind, name: &str) -> String {
        let key = (kind, name.to_lowercase());
        if let Some(given) = self.given.get(&key) {
            return given.clone();
        }
        let number = self.n_given.entry(kind).or_default();
        *number += 1;
        let prefix = PREFIXES.iter().find(|(named, _)| *named == kind).map_or("", |(_, prefix)| prefix);
        let mut pseudonym = format!("{prefix}{number}");
        if kind == NameKind::Mail {
            write!(pseudonym, "@example.invalid").unwrap_or_default();
        }
        self.given.insert(key, pseudonym.clone());
        pseudonym
    }

    /// Whether a name of this kind has a pseudonym.
    pub(crate) fn knows(&self, kind: NameKind, name: &str) -> bool {
        self.given.contains_key(&(kind, name.to_lowercase()))
    }

    /// The number of pseudonyms given.
    pub fn n_given(&self) -> usize {
        self.given.len()
    }

    /// The words of a text that must go, with what stands for them; of all kinds, or only those that the user has named.
    pub(crate) fn words_in(&mut self, text: &str, of_all_kinds: bool) -> Vec<(Range<usize>, String)> {
        let Some(pattern) = self.pattern.clone() else { return Vec::new() };
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(word) = pattern.find_at(text, at) {
            // Words next to a word that does not count, or inside it, count too.
            at = word.start() + text.get(word.start()..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            if stands_alone(text, &word.range()) {
                let lower = word.as_str().to_lowercase();
                let kind = self.words.iter().find(|(_, name)| name.to_lowercase() == lower).map(|(kind, _)| *kind);
                let kind = kind.unwrap_or(NameKind::Word);
                if of_all_kinds || kind == NameKind::Word {
                    found.push((word.range(), self.of(kind, word.as_str())));
                    at = word.end();
                }
            }
        }
        found
    }
}

/// Whether neither a letter nor a digit touches a range of a text.
pub(crate) fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(names: &mut Names, text: &str) -> String {
        let mut out = text.to_owned();
        for (range, name) in names.words_in(text, true).into_iter().rev() {
            out.replace_range(range, &name);
        }
        out
    }

    #[test]
    fn names_are_numbered_in_order_and_stable() {
        let mut names = Names::new();
        assert_eq!(names.of(NameKind::User, "bob"), "user1");
        assert_eq!(names.of(NameKind::User, "alice"), "user2");
        assert_eq!(names.of(NameKind::Host, "bob"), "host1");
        assert_eq!(names.of(NameKind::User, "Bob"), "user1");
        assert_eq!(names.of(NameKind::Mail, "a@b.cd"), "mail1@example.invalid");
        assert_eq!(names.n_given(), 4);
    }

    #[test]
    fn words_are_replaced_as_words() {
        let mut names = Names::new();
        names.add_word(NameKind::User, "alice").unwrap();
        names.add_word(NameKind::Organisation, "Acme Corp").unwrap();
        names.add_word(NameKind::Word, "acme").unwrap();
        assert_eq!(replaced(&mut names, "Alice malice alice_x ALICE's alice1"), "user1 malice user1_x user1's alice1");
        assert_eq!(replaced(&mut names, "acme corp, acme.example"), "org1, word1.example");
        assert_eq!(replaced(&mut names, "İalice é"), "İalice é");
    }

    #[test]
    fn names_that_cannot_be_replaced_are_an_error() {
        assert_eq!(Names::new().add_word(NameKind::Word, &"ab".repeat(200_000)), Err(TooManyNames));
    }

    #[test]
    fn pseudonyms_are_not_replaced() {
        let mut names = Names::new();
        names.add_word(NameKind::User, "user1").unwrap();
        names.add_word(NameKind::User, "x").unwrap();
        assert_eq!(replaced(&mut names, "user1 x"), "user1 x");
        assert!(is_pseudonym("p12") && is_pseudonym("user1") && !is_pseudonym("user") && !is_pseudonym("12"));
    }
}
