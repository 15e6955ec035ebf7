//! Matches documents by reading their texts.
//!
//! Every index must agree with this.

use std::ops::Range;

use hashbrown::HashMap;

use super::filter::Filter;
use super::query::{Phrase, Query, Term};
use super::texts::{Document, Texts};
use super::token::{TokenKind, Tokenizer};

/// The approximate number of bytes per token.
const USUAL_TOKEN: usize = 6;

/// Matches documents one after the other.
#[derive(Debug)]
pub struct Matcher<'q> {
    query: &'q Query,
    filter: &'q Filter,
    tokenizer: Tokenizer,
    /// The slots that a term fills. A slot is one term of one phrase.
    exact: HashMap<&'q [u8], Vec<usize>>,
    /// The terms that match parts of words.
    parts: Vec<(&'q Term, usize)>,
    /// Whether a relevant term may begin with each byte. Other tokens are skipped at once.
    begins: [bool; 256],
    /// The number of terms in the phrase of each slot.
    n_terms: Vec<usize>,
    /// The occurrences of each slot in the document.
    found: Vec<Vec<Occurrence>>,
    document: DocumentState,
}

/// The state of the current document.
#[derive(Debug, Default)]
struct DocumentState {
    n_texts: usize,
    position: u32,
    n_tokens: usize,
    has_tool: bool,
    has_model: bool,
    patterns: Vec<(usize, Vec<Range<usize>>)>,
}

/// One occurrence of a term.
#[derive(Clone, Copy, Debug)]
struct Occurrence {
    position: u32,
    text: usize,
    start: usize,
    end: usize,
}

/// How a document matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The number of occurrences of each clause; for a pattern, the number of matches.
    pub frequencies: Vec<u32>,
    /// The number of tokens in the document.
    pub n_tokens: usize,
}

impl<'q> Matcher<'q> {
    /// Creates a matcher for documents that pass the filter.
    pub fn new(query: &'q Query, filter: &'q Filter) -> Self {
        let mut matcher = Self {
            query,
            filter,
            tokenizer: Tokenizer::default(),
            exact: HashMap::new(),
            parts: Vec::new(),
            begins: [false; 256],
            n_terms: Vec::new(),
            found: Vec::new(),
            document: DocumentState::default(),
        };
        for phrase in phrases(query) {
            for term in &phrase.terms {
                matcher.add(term, phrase.terms.len());
            }
        }
        matcher
    }

    fn add(&mut self, term: &'q Term, n_terms: usize) {
        let slot = self.found.len();
        self.found.push(Vec::new());
        self.n_terms.push(n_terms);
        if term.is_suffix {
            self.begins = [true; 256];
        } else if let Some(first) = term.text.first() {
            self.begins[usize::from(*first)] = true;
        }
        if term.is_prefix || term.is_suffix {
            self.parts.push((term, slot));
        } else {
            self.exact.entry(&term.text).or_default().push(slot);
        }
    }

    /// Starts a new document.
    pub fn begin(&mut self) {
        self.document = DocumentState::default();
        self.found.iter_mut().for_each(Vec::clear);
    }

    /// Whether the document passes the filter and matches. Call it after all texts were passed in.
    pub fn finish(&self, document: Document) -> Option<Match> {
        if self.document.n_texts == 0 || !self.filter.admits(document, self.document.has_tool, self.document.has_model)
        {
            return None;
        }
        let frequencies = match self.query {
            Query::Pattern(_) => {
                let counts = self.document.patterns.iter().map(|(_, ranges)| ranges.len());
                vec![u32::try_from(counts.sum::<usize>()).unwrap_or(u32::MAX)]
            }
            Query::Clauses(clauses) => {
                let mut slot = 0;
                let mut frequency = |phrase: &Phrase| {
                    let first = slot;
                    slot += phrase.terms.len();
                    self.phrase_ranges(first, phrase.terms.len()).count()
                };
                let most = clauses.iter().map(|clause| clause.phrases.iter().map(&mut frequency).max().unwrap_or(0));
                most.map(|count| u32::try_from(count).unwrap_or(u32::MAX)).collect()
            }
        };
        let is_match = frequencies.iter().all(|frequency| *frequency > 0);
        is_match.then_some(Match { frequencies, n_tokens: self.document.n_tokens })
    }

    /// The matches of the query: the index of the text, counting from 0, and the byte range.
    pub fn match_ranges(&self) -> Vec<(usize, Range<usize>)> {
        let mut matches: Vec<(usize, Range<usize>)> = Vec::new();
        for (text, ranges) in &self.document.patterns {
            matches.extend(ranges.iter().map(|range| (*text, range.clone())));
        }
        let mut slot = 0;
        for phrase in phrases(self.query) {
            matches.extend(self.phrase_ranges(slot, phrase.terms.len()));
            slot += phrase.terms.len();
        }
        matches.sort_by_key(|(text, range)| (*text, range.start, range.end));
        matches
    }

    /// The places where the terms of the slots from `first` on are adjacent.
    fn phrase_ranges(&self, first: usize, n_terms: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.found[first].iter().filter_map(move |start| {
            let mut end = start.end;
            for offset in 1..n_terms {
                let wanted = start.position + u32::try_from(offset).ok()?;
                let others = &self.found[first + offset];
                let other = others.binary_search_by_key(&wanted, |other| other.position).ok()?;
                end = end.max(others[other].end);
            }
            Some((start.text, start.start..end))
        })
    }
}

fn phrases(query: &Query) -> impl Iterator<Item = &Phrase> {
    let clauses = match query {
        Query::Clauses(clauses) => clauses.as_slice(),
        Query::Pattern(_) => &[],
    };
    clauses.iter().flat_map(|clause| &clause.phrases)
}

impl Texts for Matcher<'_> {
    fn text(&mut self, text: &str) {
        let Self { tokenizer, exact, parts, begins, n_terms, found, document, query, .. } = self;
        let number = document.n_texts;
        document.n_texts += 1;
        if let Query::Pattern(pattern) = query {
            let ranges = pattern.find(text);
            if !ranges.is_empty() {
                document.patterns.push((number, ranges));
            }
            // A pattern is not answered from an index, so the length need not agree with one.
            document.n_tokens += text.len() / USUAL_TOKEN + 1;
            return;
        }
        tokenizer.run(text, |token| {
            let is_whole = token.kind == TokenKind::Whole;
            let position = document.position;
            if !is_whole {
                document.position += 1;
                document.n_tokens += 1;
            }
            if !begins[usize::from(token.term[0])] {
                return true;
            }
            let occurrence = Occurrence { position, text: number, start: token.start, end: token.end };
            // A whole word has no neighbours.
            let fits = |slot: usize| !is_whole || n_terms[slot] == 1;
            for slot in exact.get(token.term).into_iter().flatten().copied().filter(|slot| fits(*slot)) {
                found[slot].push(occurrence);
            }
            for (term, slot) in parts.iter().filter(|(_, slot)| fits(*slot)) {
                if term.fits(token.term) {
                    found[*slot].push(occurrence);
                }
            }
            true
        });
        // A phrase never continues from one text into the next.
        document.position += 1;
    }

    fn tool(&mut self, name: &str) {
        self.document.has_tool |= self.filter.is_tool(name);
    }

    fn model(&mut self, name: &str) {
        self.document.has_model |= self.filter.is_model(name);
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::DocumentKind;
    use super::*;

    fn frequencies(query: &str, texts: &[&str]) -> Option<Vec<u32>> {
        let (query, filter) = (Query::parse(query).unwrap(), Filter::default());
        let mut matcher = Matcher::new(&query, &filter);
        // Earlier documents must not matter.
        matcher.text("something foo bar baz");
        matcher.begin();
        for text in texts {
            matcher.text(text);
        }
        matcher.finish(Document { kind: DocumentKind::User, time: None }).map(|found| found.frequencies)
    }

    #[test]
    fn words_phrases_prefixes_and_patterns_match() {
        for (query, texts, expected) in [
            ("foo", vec!["Foo bar", "foo"], Some(vec![2])),
            ("foo bar", vec!["bar", "foo"], Some(vec![1, 1])),
            (r#""foo bar""#, vec!["bar foo", "bar"], None),
            (r#""foo bar""#, vec!["a foo-bar fooBar FOO  bar"], Some(vec![3])),
            ("fooBar", vec!["foobar", "foo_bar"], Some(vec![1])),
            ("foobar", vec!["fooBar"], Some(vec![1])),
            ("foob*", vec!["fooBar foobaz"], Some(vec![2])),
            ("foo_b*", vec!["fooBar foo.baz foo.car"], Some(vec![2])),
            ("*needle*", vec!["quixoticNeedle42 and a needle"], Some(vec![3])),
            ("*dle42", vec!["a needle", "needle42"], Some(vec![1])),
            ("*needle", vec!["needles"], None),
            ("京都", vec!["東京都"], Some(vec![1])),
            ("東都", vec!["東京都"], None),
            ("京", vec!["東京都 京"], Some(vec![2])),
            ("東京abc", vec!["東京abc"], Some(vec![1])),
            ("👩‍💻", vec!["by 👩‍💻."], Some(vec![1])),
            ("re:fo+ b", vec!["x", "a FOO bar"], Some(vec![1])),
            ("=>", vec!["(a) => b => c"], Some(vec![2])),
            ("foo", vec![], None),
        ] {
            assert_eq!(frequencies(query, &texts), expected, "{query}");
        }
    }
}
