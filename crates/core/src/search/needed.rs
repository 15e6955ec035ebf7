//! What a text must contain so that a regular expression can match it, as terms of the index.
//!
//! The result is a condition that every match satisfies, not the reverse: what fits it must still be compared with the
//! regular expression itself.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

use super::query::{Clause, Phrase, Term};
use super::token::{is_in_word, lower_of};

/// Shorter pieces of words are in almost every text.
const SHORTEST: usize = 3;

/// The maximum number of alternatives of one condition.
const MOST_ALTERNATIVES: usize = 16;

/// The maximum number of conditions that the index answers quickly. More of them cost more than they exclude.
const MOST_CLAUSES: usize = 4;

/// A larger class of characters is not looked at one by one.
const LARGEST_CLASS: u32 = 64;

/// Returns conditions that each text must meet in which a case-insensitive regular expression has a match; none if it
/// needs no word.
///
/// Each alternative is a single term. At most one condition, the last, is slow to look up. A condition holds for words up
/// to [`LONGEST`](super::token::LONGEST) bytes: the term may be in the part of a longer word that is not indexed.
pub(super) fn needed(pattern: &str) -> Vec<Clause> {
    let parsed = ParserBuilder::new().case_insensitive(true).build().parse(pattern);
    let mut clauses = parsed.map(|hir| of_expression(&hir)).unwrap_or_default();
    // The longest words are the rarest.
    clauses.sort_by_key(|clause| std::cmp::Reverse(shortest(clause)));
    clauses.dedup();
    let (slow, mut fast): (Vec<Clause>, Vec<Clause>) = clauses.into_iter().partition(is_slow);
    fast.truncate(MOST_CLAUSES);
    fast.extend(slow.into_iter().next());
    fast
}

/// Whether a condition has a term for which all words of the index must be compared.
fn is_slow(clause: &Clause) -> bool {
    terms(clause).any(|term| term.is_suffix)
}

fn terms(clause: &Clause) -> impl Iterator<Item = &Term> {
    clause.phrases.iter().flat_map(|phrase| &phrase.terms)
}

/// The length of the shortest alternative.
fn shortest(clause: &Clause) -> usize {
    terms(clause).map(|term| term.text.len()).min().unwrap_or(0)
}

/// Recursion is bounded: the parser refuses expressions that are nested more than 250 levels deep.
fn of_expression(hir: &Hir) -> Vec<Clause> {
    let mut reader = Reader::default();
    reader.read(hir);
    reader.end(false);
    reader.clauses
}

/// Reads an expression from left to right.
#[derive(Default)]
struct Reader {
    clauses: Vec<Clause>,
    /// The letters and digits that every match has here, next to each other.
    piece: Vec<u8>,
    /// Whether the piece begins a word.
    begins_word: bool,
    /// Whether the last character read cannot be part of a word.
    is_between: bool,
}

impl Reader {
    fn read(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Literal(literal) => {
                // Bytes that are no text do not occur in texts, so the expression never matches.
                for char in String::from_utf8_lossy(&literal.0).chars() {
                    self.char(char);
                }
            }
            HirKind::Class(Class::Unicode(class)) => self.class(class),
            HirKind::Class(Class::Bytes(class)) => match class.to_unicode_class() {
                Some(class) => self.class(&class),
                None => self.end(false),
            },
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.read(part)),
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                // The first repetition follows what is before it.
                self.read(&repetition.sub);
                if repetition.max != Some(1) {
                    let is_between = self.piece.is_empty() && self.is_between;
                    self.other(is_between);
                }
            }
            HirKind::Alternation(branches) => {
                self.end(false);
                self.clauses.extend(any_of(branches));
            }
            HirKind::Look(Look::Start | Look::End) => {
                self.end(true);
                self.is_between = true;
            }
            HirKind::Repetition(_) | HirKind::Look(_) => self.end(false),
            HirKind::Empty => {}
        }
    }

    fn char(&mut self, char: char) {
        match lower_of(char) {
            Some(byte) => self.push(byte),
            None => self.other(!is_in_word(char)),
        }
    }

    fn class(&mut self, class: &ClassUnicode) {
        let size: u32 = class.iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1).sum();
        if size == 0 || size > LARGEST_CLASS {
            return self.end(false);
        }
        let chars = || class.iter().flat_map(|range| range.start()..=range.end());
        match chars().next().and_then(lower_of) {
            // The cases of one letter.
            Some(byte) if chars().all(|char| lower_of(char) == Some(byte)) => self.push(byte),
            _ => self.other(chars().all(|char| !is_in_word(char))),
        }
    }

    fn push(&mut self, byte: u8) {
        if self.piece.is_empty() {
            self.begins_word = self.is_between;
        }
        self.piece.push(byte);
        self.is_between = false;
    }

    /// Reads a character that is not a known letter or digit.
    fn other(&mut self, is_between: bool) {
        self.end(is_between);
        self.is_between = is_between;
    }

    /// Ends the piece: the next character is unknown, or cannot be part of a word.
    fn end(&mut self, ends_word: bool) {
        let text = std::mem::take(&mut self.piece);
        self.is_between = false;
        if text.len() >= SHORTEST {
            let term = Term { text, is_prefix: !ends_word, is_suffix: !self.begins_word };
            self.clauses.push(Clause { phrases: vec![Phrase { terms: vec![term] }] });
        }
    }
}

/// A condition that holds whichever branch matches, if each needs a word.
fn any_of(branches: &[Hir]) -> Option<Clause> {
    let mut phrases = Vec::new();
    for branch in branches {
        let best = of_expression(branch).into_iter().max_by_key(|clause| (shortest(clause), !is_slow(clause)))?;
        phrases.extend(best.phrases);
        if phrases.len() > MOST_ALTERNATIVES {
            return None;
        }
    }
    (!phrases.is_empty()).then_some(Clause { phrases })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern::Pattern;
    use super::super::token::{LONGEST, Tokenizer};
    use super::*;

    fn display(pattern: &str) -> String {
        let star = |is_open: bool| if is_open { "*" } else { "" };
        let term = |term: &Term| {
            format!("{}{}{}", star(term.is_suffix), String::from_utf8_lossy(&term.text), star(term.is_prefix))
        };
        let clause = |clause: &Clause| terms(clause).map(term).collect::<Vec<_>>().join("|");
        needed(pattern).iter().map(clause).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn words_that_every_match_has() {
        for (pattern, expected) in [
            ("needle", "*needle*"),
            (r"Needle\d+", "*needle*"),
            ("^needle$", "needle"),
            ("one of these words here", "these&words&here*&*one"),
            (r"fn\s+parse_(all|some)\(", "parse&*all*|*some*"),
            (r"fn\s+parse\(", "parse"),
            ("(?:abc)+def", "*abc*"),
            ("ab(cd)ef", "*abcdef*"),
            ("a{3}", ""),
            ("abc{2}d", "*abc*"),
            ("(abc|defg)", "*abc*|*defg*"),
            ("(abc|de)", ""),
            ("(abc)?", ""),
            ("[abc]def", "*def*"),
            ("[aA]bc", "*abc*"),
            ("(?-i)Abc", "*abc*"),
            ("straße abc ", "abc&*stra*"),
            ("x京abc ", "abc"),
            (r"look at [a-z]+lantern\d+ before", "before*&*lantern*"),
            ("a.b", ""),
            ("", ""),
            ("(", ""),
        ] {
            assert_eq!(display(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn deep_and_wide_expressions_end() {
        assert_eq!(display(&format!("{}abc{}", "(".repeat(100_000), ")".repeat(100_000))), "");
        let wide: Vec<String> = (0..100).map(|number| format!("{number}word")).collect();
        assert_eq!(display(&wide.join("|")), "");
    }

    /// Whether a text meets the conditions, as the index decides it.
    fn is_met(clauses: &[Clause], text: &str) -> bool {
        let (mut words, mut has_long) = (Vec::new(), false);
        Tokenizer::default().run(text, |token| {
            words.push(token.term.to_vec());
            has_long |= token.end - token.start > LONGEST;
            true
        });
        let has = |term: &Term| words.iter().any(|word| term.fits(word));
        has_long || clauses.iter().all(|clause| terms(clause).any(has))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn every_match_meets_the_conditions(
            pattern in r"(\^|\\b)?([a-cA-CsSkK0-9]{1,4}|[ ._/京é-]|\[a-c\]|\(abc\|[bskſ\u{212a}]{3,4} ?\)|\\d\+|\\s|\(ab\)\{1,2\}|a\*|cab\+|\.){1,6}\$?",
            text in r"([a-cA-CsSkKſ\u{212a}0-9]{1,6}|[ ._/京éé\u{301}-]|abc|cab|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa){0,12}",
        ) {
            let Ok(built) = Pattern::new(&pattern) else { return Ok(()) };
            if built.is_match(&text) {
                prop_assert!(is_met(&needed(&pattern), &text), "{:?}", needed(&pattern));
            }
        }
    }
}
