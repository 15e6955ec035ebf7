//! The words of lines as numbers, so that a server can name candidates of a search without the text.
//!
//! A term is the CRC-32 of a token. If a line matches a query by words, the terms of the line contain all terms of at least
//! one of the query's [sets](query_terms). The reverse does not hold: the words may be in different lines or in another
//! order, and two words may have the same number. So candidates are read and [matched](super::matching).

use super::query::{Clause, Phrase, Query};
use super::texts::{Texts, read_texts};
use super::token::Tokenizer;

/// A query has no more sets than this. A clause that would make more of them is left to the matching.
const MOST_SETS: usize = 16;

/// Makes the terms of lines. Reuse it between lines for its buffers.
#[derive(Debug, Default)]
pub struct LineTerms {
    tokenizer: Tokenizer,
    terms: Vec<u32>,
}

impl LineTerms {
    /// Returns the terms of a line, each once, in order. Empty if the line is not an entry with text.
    pub fn of(&mut self, line: &[u8]) -> &[u32] {
        self.terms.clear();
        if read_texts(line, self).is_none() {
            self.terms.clear();
        }
        self.terms.sort_unstable();
        self.terms.dedup();
        &self.terms
    }
}

impl Texts for LineTerms {
    fn text(&mut self, text: &str) {
        let Self { tokenizer, terms } = self;
        tokenizer.run(text, |token| {
            terms.push(crc32fast::hash(token.term));
            true
        });
    }

    fn tool(&mut self, _name: &str) {}

    fn model(&mut self, _name: &str) {}
}

/// Returns sets of terms, each once and in order. A line that matches the query has all terms of at least one set.
///
/// Returns no set if terms cannot answer the query: a regular expression, or parts of words alone.
pub fn query_terms(query: &Query) -> Vec<Vec<u32>> {
    let Query::Clauses(clauses) = query else { return Vec::new() };
    let mut sets = vec![Vec::new()];
    for clause in clauses {
        let alternatives = clause_terms(clause);
        if sets.len() * alternatives.len() <= MOST_SETS {
            let with = |set: &Vec<u32>| alternatives.iter().map(|more| [set.as_slice(), more].concat()).collect();
            sets = sets.iter().flat_map::<Vec<Vec<u32>>, _>(with).collect();
        }
    }
    for set in &mut sets {
        set.sort_unstable();
        set.dedup();
    }
    sets.sort();
    sets.dedup();
    if sets.iter().any(Vec::is_empty) { Vec::new() } else { sets }
}

/// The terms of each alternative.
fn clause_terms(clause: &Clause) -> Vec<Vec<u32>> {
    let whole = |phrase: &Phrase| {
        let words = phrase.terms.iter().filter(|term| !term.is_prefix && !term.is_suffix);
        words.map(|term| crc32fast::hash(&term.text)).collect()
    };
    clause.phrases.iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::filter::Filter;
    use super::super::glance::Glance;
    use super::super::matching::Matcher;
    use super::*;

    fn sets(query: &str) -> Vec<Vec<u32>> {
        query_terms(&Query::parse(query).unwrap())
    }

    fn numbers(words: &[&str]) -> Vec<u32> {
        let mut numbers: Vec<u32> = words.iter().map(|word| crc32fast::hash(word.as_bytes())).collect();
        numbers.sort_unstable();
        numbers
    }

    fn user(text: &str) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(r#"{{"type":"message","id":"a","message":{{"role":"user","content":{text}}}}}"#)
    }

    #[test]
    fn lines_have_the_terms_of_their_texts() {
        let mut terms = LineTerms::default();
        assert_eq!(terms.of(user("fooBar foo_x").as_bytes()), numbers(&["foo", "bar", "foobar", "x"]));
        assert!(terms.of(br#"{"type":"model_change","modelId":"foo"}"#).is_empty());
        assert!(terms.of(b"not json").is_empty());
        assert!(terms.of(user("").as_bytes()).is_empty());
    }

    #[test]
    fn queries_have_sets_of_terms() {
        assert_eq!(sets("one Two one"), [numbers(&["one", "two"])]);
        assert_eq!(sets(r#""one two" pre*"#), [numbers(&["one", "two"])]);
        let mut camel = vec![numbers(&["camel", "case"]), numbers(&["camelcase"])];
        camel.sort();
        assert_eq!(sets("camelCase"), camel);
        assert_eq!(sets("aBc aBc aBc").len(), 3, "equal sets are one");
        for unanswerable in ["pre*", "*end", "re:a.b", "->", "京", "camelC* *x"] {
            assert!(sets(unanswerable).is_empty(), "{unanswerable}");
        }
        // Clauses that would make too many sets do not count.
        assert_eq!(sets("aaBb ccDd eeFf ggHh iiJj kkLl plain").len(), 16);
        assert!(sets("aaBb ccDd eeFf ggHh iiJj kkLl plain").iter().all(|set| set.contains(&numbers(&["plain"])[0])));
    }

    /// Words that occur often, so that queries match.
    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(&["foo", "bar", "fooBar", "foobar", "snake_case", "HTTPServer", "http", "E0599", "東京都",
                "京都", "都", "👍", "a.b/c", "Größe", "x1", "cafe\u{301}"][..]).prop_map(str::to_owned),
            1 => "[a-cA-C]{1,4}",
            1 => "\\PC{1,6}",
        ]
    }

    fn query() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            6 => word(),
            1 => word().prop_map(|word| format!("{word}*")),
            1 => word().prop_map(|word| format!("*{word}")),
            2 => prop::collection::vec(word(), 1..3).prop_map(|words| format!("\"{}\"", words.join(" "))),
        ];
        prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.join(" "))
    }

    /// The lines of entries of several kinds with this text.
    fn lines(text: &str) -> Vec<String> {
        let text = serde_json::to_string(text).unwrap();
        vec![
            format!(r#"{{"type":"message","message":{{"role":"user","content":{text}}}}}"#),
            format!(
                r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":{text}}},{{"type":"toolCall","name":"foo","arguments":{{"k":[{text},12]}}}}]}}}}"#
            ),
            format!(r#"{{"type":"message","message":{{"role":"bashExecution","command":"foo","output":{text}}}}}"#),
            format!(r#"{{"type":"compaction","summary":{text}}}"#),
            format!(r#"{{"type":"session_info","name":{text}}}"#),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_line_that_matches_has_all_terms_of_a_set_and_is_admitted(
            words in prop::collection::vec(word(), 0..12),
            separators in prop::collection::vec(prop::sample::select(&[" ", "\n", "", "-", "\t\""][..]), 12),
            query in query(),
        ) {
            let text: String = words.iter().zip(&separators).flat_map(|(word, gap)| [word.as_str(), gap]).collect();
            let Ok(query) = Query::parse(&query) else { return Ok(()) };
            let sets = query_terms(&query);
            let filter = Filter::default();
            let mut terms = LineTerms::default();
            let glance = Glance::new(&query);
            for line in lines(&text) {
                let mut matcher = Matcher::new(&query, &filter);
                matcher.begin();
                let document = read_texts(line.as_bytes(), &mut matcher);
                let is_match = document.and_then(|document| matcher.finish(document)).is_some();
                let terms = terms.of(line.as_bytes());
                let is_candidate = sets.is_empty()
                    || sets.iter().any(|set| set.iter().all(|term| terms.binary_search(term).is_ok()));
                prop_assert!(is_candidate || !is_match, "{line}");
                prop_assert!(glance.admits(line.as_bytes()) || !is_match, "{line}");
            }
        }
    }

    #[test]
    fn the_property_above_is_about_lines_that_match() {
        let (query, filter) = (Query::parse("fooBar 京都").unwrap(), Filter::default());
        let n_matches = lines("FOOBAR 東京都").into_iter().filter(|line| {
            let mut matcher = Matcher::new(&query, &filter);
            let document = read_texts(line.as_bytes(), &mut matcher);
            document.and_then(|document| matcher.finish(document)).is_some()
        });
        assert_eq!(n_matches.count(), 5);
    }
}
