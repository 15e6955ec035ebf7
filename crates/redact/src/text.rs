//! Rewrites one text at a level.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use sessile_core::json::JsText;

use crate::homes::{Change, directories_in, homes_in};
use crate::names::Names;
use crate::picture::pictures_in;
use crate::pii::pii_in;
use crate::placeholder::{RunKey, made_parts};
use crate::scan::{FindSecrets, secrets_in};
use crate::spans::add_free;
use crate::{Finding, Level, Origin};

/// How often a changed text is looked at again. What stands for one thing can complete another.
const MAX_ROUNDS: usize = 8;

/// Rewrites texts, and counts what it found.
pub(crate) struct Texts<'a> {
    pub(crate) find: &'a dyn FindSecrets,
    pub(crate) key: &'a RunKey,
    pub(crate) level: Level,
    pub(crate) names: &'a mut Names,
    pub(crate) counts: Counts,
}

/// What was found, by rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) rules: BTreeMap<Arc<str>, usize>,
    pub(crate) names: usize,
}

impl Texts<'_> {
    /// The text as it stands in the copy; `None` if it stays.
    pub(crate) fn changed(&mut self, text: &JsText<'_>, origin: Origin) -> Option<JsText<'static>> {
        let mut result: Option<JsText<'static>> = None;
        for _ in 0..MAX_ROUNDS {
            let current = result.as_ref().unwrap_or(text);
            let changes = self.changes(&current.to_str(), origin);
            if changes.is_empty() {
                break;
            }
            result = Some(spliced(current, &changes));
        }
        result
    }

    /// Like [`changed`](Self::changed), for text without surrogates.
    pub(crate) fn changed_str(&mut self, text: &str, origin: Origin) -> Option<String> {
        self.changed(&JsText::from(text), origin).map(JsText::into_string)
    }

    /// A part of a text, with everything that changes in the text changed in the part.
    pub(crate) fn changed_part(&mut self, text: &str, part: Range<usize>) -> String {
        let end = text.floor_char_boundary(part.end);
        let mut at = text.floor_char_boundary(part.start).min(end);
        let mut out = String::with_capacity(end - at);
        for (range, replacement) in self.changes(text, Origin::Ordinary) {
            if range.end <= at || range.start >= end {
                continue;
            }
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(&replacement);
            at = range.end;
        }
        out.push_str(text.get(at..end).unwrap_or_default());
        out
    }

    /// The changes to a text, in order and without overlaps.
    fn changes(&mut self, text: &str, origin: Origin) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for (range, finding) in whole_findings(text, secrets_in(self.find, text, origin)) {
            *self.counts.rules.entry(finding.rule.clone()).or_default() += 1;
            changes.push((range, self.names.first_rules.placeholder(self.key, &finding)));
        }
        if self.level >= Level::Paths || self.names.has_words() {
            self.add_names(text, &mut changes);
        }
        changes
    }

    /// Adds the names of a text to the secrets that were found in it.
    fn add_names(&mut self, text: &str, changes: &mut Vec<Change>) {
        let n_secrets = changes.len();
        // What a redaction wrote stays.
        let mut spans: Vec<(Range<usize>, Option<String>)> =
            changes.drain(..).map(|(range, text)| (range, Some(text))).collect();
        add_free(&mut spans, made_parts(text).into_iter().map(|range| (range, None)).collect());
        let mut add = |found: Vec<Change>| {
            add_free(&mut spans, found.into_iter().map(|(range, name)| (range, Some(name))).collect());
        };
        if self.level >= Level::Pii {
            add(pictures_in(text));
            add(pii_in(text, self.names));
        }
        if self.level >= Level::Paths {
            add(directories_in(text, self.names));
            add(homes_in(text, self.names));
        }
        add(self.names.words_in(text, self.level >= Level::Paths));
        changes.extend(spans.into_iter().filter_map(|(range, name)| Some((range, name?))));
        self.counts.names += changes.len() - n_secrets;
    }
}

/// Findings in order. Overlapping ones become one, and a range that cuts a character grows.
fn whole_findings(text: &str, mut findings: Vec<Finding>) -> Vec<(Range<usize>, Finding)> {
    findings.sort_by_key(|finding| finding.range.start);
    let mut whole: Vec<(Range<usize>, Finding)> = Vec::new();
    for finding in findings {
        let end = text.ceil_char_boundary(finding.range.end);
        let range = text.floor_char_boundary(finding.range.start).min(end)..end;
        match whole.last_mut() {
            Some((before, _)) if range.start < before.end => before.end = before.end.max(range.end),
            _ if range.is_empty() => {}
            _ => whole.push((range, finding)),
        }
    }
    whole
}

/// A text with some ranges of its lossy form replaced. A lone surrogate has as many bytes as U+FFFD, so both forms have
/// the same offsets.
fn spliced(text: &JsText<'_>, changes: &[Change]) -> JsText<'static> {
    let bytes = text.as_wtf8();
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for (range, replacement) in changes {
        out.extend_from_slice(&bytes[copied..range.start]);
        out.extend_from_slice(replacement.as_bytes());
        copied = range.end;
    }
    out.extend_from_slice(&bytes[copied..]);
    JsText::from_wtf8(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameKind;
    use crate::testing::finder;
    use crate::{Secret, Tier};

    fn changed_with(find: &dyn FindSecrets, level: Level, text: &str) -> (Option<String>, Counts) {
        let key = RunKey::new(vec![1; 32]);
        let mut names = Names::new();
        names.add_word(NameKind::User, "alice").unwrap();
        names.add_word(NameKind::Word, "home").unwrap();
        let mut texts = Texts { find, key: &key, level, names: &mut names, counts: Counts::default() };
        (texts.changed_str(text, Origin::Ordinary), texts.counts)
    }

    fn changed(level: Level, text: &str) -> Option<String> {
        changed_with(&finder, level, text).0
    }

    #[test]
    fn levels_include_those_before() {
        let text = "SECRET-1 /home/bob alice@x.org";
        let secret = changed(Level::Secrets, "SECRET-1").unwrap();
        // A word that the user has named goes at every level.
        assert_eq!(changed(Level::Secrets, text).unwrap(), format!("{secret} /word1/bob alice@x.org"));
        assert_eq!(changed(Level::Paths, text).unwrap(), format!("{secret} /word1/user1 user2@x.org"));
        assert_eq!(changed(Level::Pii, text).unwrap(), format!("{secret} /word1/user1 mail1@example.invalid"));
        assert_eq!(changed(Level::Pii, "nothing"), None);
        assert_eq!(changed(Level::Pii, &secret), None);
    }

    #[test]
    fn a_part_shows_no_piece_of_a_secret() {
        let key = RunKey::new(vec![1; 32]);
        let mut names = Names::new();
        let mut texts =
            Texts { find: &finder, key: &key, level: Level::Secrets, names: &mut names, counts: Counts::default() };
        let text = "ab SECRET-1 cd";
        for (part, expected) in [(0..2, "ab"), (1..5, "b [R]"), (5..7, "[R]"), (9..14, "[R] cd"), (11..99, " cd")] {
            let shown = texts.changed_part(text, part.clone());
            let placeholder = key.placeholder("test", &Secret::new("SECRET-1"));
            assert_eq!(shown.replace(&placeholder, "[R]"), expected, "{part:?}");
        }
        assert_eq!(texts.changed_part("aéb", 2..3), "é");
    }

    #[test]
    fn surrogates_survive() {
        let key = RunKey::new(vec![1; 32]);
        let mut names = Names::new();
        let mut texts =
            Texts { find: &finder, key: &key, level: Level::Secrets, names: &mut names, counts: Counts::default() };
        let odd = JsText::from_wtf8(b"\xed\xa0\x80SECRET-1\xed\xb0\x80".to_vec());
        let changed = texts.changed(&odd, Origin::Ordinary).unwrap();
        assert!(changed.as_wtf8().starts_with(b"\xed\xa0\x80[REDACTED:test:"));
        assert!(changed.as_wtf8().ends_with(b"]\xed\xb0\x80"));
    }

    #[test]
    fn odd_ranges_of_a_finder_do_no_harm() {
        let odd = |text: &str, _: Origin| {
            let finding = |range: Range<usize>| Finding {
                range,
                rule: "odd".into(),
                tier: Tier::Certain,
                via: None,
                secret: Secret::new("x"),
            };
            if text == "aéb" { vec![finding(3..900), finding(1..2), finding(1..3), finding(0..0)] } else { Vec::new() }
        };
        let (text, _) = changed_with(&odd, Level::Secrets, "aéb");
        let text = text.unwrap();
        assert!(text.starts_with("a[REDACTED:odd:") && text.matches("REDACTED").count() == 2, "{text}");
    }

    #[test]
    fn rules_are_counted() {
        let (_, counts) = changed_with(&finder, Level::Paths, "SECRET-1 SECRET-2 alice");
        assert_eq!(counts, Counts { rules: BTreeMap::from([("test".into(), 2)]), names: 1 });
    }
}
