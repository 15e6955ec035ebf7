//! Search queries.
//!
//! Words are separated by white space, and all must occur in one entry, in any order. `"two words"` must be adjacent.
//! `word*` matches the beginning of a word, `*word` the end, `*word*` any part of a word. `re:` makes the rest a
//! regular expression. Case does not matter.
//!
//! Words are split like texts: `foo_bar`, `foo.bar` and `fooBar` are the adjacent words `foo bar`, and `fooBar` also
//! matches the spelling `foobar`.

use super::pattern::{BadPattern, Pattern};
use super::token::{TokenKind, Tokenizer};

/// A parsed query.
#[derive(Clone, Debug)]
pub enum Query {
    /// All of these must occur.
    Clauses(Vec<Clause>),
    /// This must match one of the texts of an entry.
    Pattern(Pattern),
}

/// A condition that must hold, with one or more alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The alternatives; at least one.
    pub phrases: Vec<Phrase>,
}

/// Terms that must be adjacent; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// The terms.
    pub terms: Vec<Term>,
}

/// One term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The text of the term, or a part of it.
    pub text: Vec<u8>,
    /// Whether more text may follow.
    pub is_prefix: bool,
    /// Whether more text may precede. Only single-term phrases have such a term.
    pub is_suffix: bool,
}

impl Term {
    /// Whether a token matches.
    pub fn fits(&self, token: &[u8]) -> bool {
        match (self.is_suffix, self.is_prefix) {
            (false, false) => token == self.text,
            (false, true) => token.starts_with(&self.text),
            (true, false) => token.ends_with(&self.text),
            (true, true) => memchr::memmem::find(token, &self.text).is_some(),
        }
    }
}

/// Why a query is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadQuery {
    /// The query is empty.
    #[error("the search query is empty")]
    Empty,
    /// The text after `re:` is not a regular expression.
    #[error("not a regular expression")]
    Pattern(#[from] BadPattern),
}

impl Query {
    /// Whether an index helps to answer it. Otherwise all texts must be read.
    pub fn uses_index(&self) -> bool {
        match self {
            Self::Clauses(_) => true,
            Self::Pattern(pattern) => !pattern.needed().is_empty(),
        }
    }

    /// Parses a query.
    pub fn parse(text: &str) -> Result<Self, BadQuery> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadQuery::Empty);
        }
        if let Some(pattern) = text.strip_prefix("re:") {
            let pattern = pattern.trim();
            return if pattern.is_empty() { Err(BadQuery::Empty) } else { Ok(Self::Pattern(Pattern::new(pattern)?)) };
        }
        let clauses: Vec<Clause> = words(text).iter().filter_map(Word::clause).collect();
        if clauses.is_empty() {
            // Only punctuation: search for it literally.
            return Ok(Self::Pattern(Pattern::literal(text.trim_matches('"'))?));
        }
        Ok(Self::Clauses(clauses))
    }
}

/// One piece of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) is_quoted: bool,
}

/// Splits at white space and around quotes, as in pi's picker. If a quote is not closed, quotes have no meaning.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    let mut end = |word: &mut String, is_quoted: bool| {
        if !word.trim().is_empty() {
            words.push(Word { text: word.trim().to_owned(), is_quoted });
        }
        word.clear();
    };
    for char in text.chars() {
        match char {
            '"' => {
                end(&mut word, is_quoted);
                is_quoted = !is_quoted;
            }
            char if char.is_whitespace() && !is_quoted => end(&mut word, false),
            char => word.push(char),
        }
    }
    if is_quoted {
        let plain = |text: &str| Word { text: text.to_owned(), is_quoted: false };
        return text.split_whitespace().map(plain).collect();
    }
    end(&mut word, false);
    words
}

impl Word {
    /// The clause for this word; `None` if it contains nothing searchable.
    fn clause(&self) -> Option<Clause> {
        let (text, is_prefix) = match self.text.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (self.text.as_str(), false),
        };
        let (text, is_suffix) = match text.strip_prefix('*') {
            Some(end) => (end, true),
            None => (text, false),
        };
        let mut terms: Vec<(Term, TokenKind)> = Vec::new();
        let mut whole_words: Vec<Vec<u8>> = Vec::new();
        let mut n_words = 0;
        Tokenizer::default().run(text, |token| {
            if token.kind == TokenKind::Whole {
                // It can replace its parts only if there is nothing else.
                n_words += usize::from(token.start > 0 || token.end < text.len());
                whole_words.push(token.term.to_vec());
            } else {
                terms.push((Term { text: token.term.to_vec(), is_prefix: false, is_suffix: false }, token.kind));
            }
            true
        });
        let (last, kind) = terms.last_mut()?;
        match kind {
            // A single character may be the first of a pair.
            TokenKind::Last => last.is_prefix = true,
            TokenKind::Word => last.is_prefix = is_prefix,
            TokenKind::Whole | TokenKind::Pair | TokenKind::Symbol => {}
        }
        if let [.., (_, TokenKind::Pair), (_, TokenKind::Last)] = terms[..] {
            // The pair before it already covers this character, and more may follow in the text.
            terms.pop();
        }
        // Only the last of several terms may match part of a word, because a term is looked up by its beginning.
        if let [(only, TokenKind::Word)] = &mut terms[..] {
            only.is_suffix = is_suffix;
        }
        let mut phrases = vec![Phrase { terms: terms.into_iter().map(|(term, _)| term).collect() }];
        if let (Some(whole), 0, false) = (whole_words.pop(), n_words, self.is_quoted) {
            phrases.push(Phrase { terms: vec![Term { text: whole, is_prefix, is_suffix }] });
        }
        Some(Clause { phrases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clauses separated by `&`, alternatives by `|`, terms by spaces.
    fn display(text: &str) -> String {
        let Query::Clauses(clauses) = Query::parse(text).unwrap() else { return "re".to_owned() };
        let star = |is_open: bool| if is_open { "*" } else { "" };
        let term = |term: &Term| {
            format!("{}{}{}", star(term.is_suffix), String::from_utf8_lossy(&term.text), star(term.is_prefix))
        };
        let phrase = |phrase: &Phrase| phrase.terms.iter().map(term).collect::<Vec<_>>().join(" ");
        let clause = |clause: &Clause| clause.phrases.iter().map(phrase).collect::<Vec<_>>().join("|");
        clauses.iter().map(clause).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn queries_are_read() {
        for (text, expected) in [
            ("one  Two", "one&two"),
            (r#"one "two Three" four"#, "one&two three&four"),
            (r#"one"two three"four"#, "one&two three&four"),
            (r#""not closed"#, "not&closed"),
            ("snake_case path/to.rs", "snake case&path to rs"),
            ("camelCase", "camel case|camelcase"),
            ("a.camelCase", "a camel case"),
            (r#""camelCase""#, "camel case"),
            ("camelC*", "camel c*|camelc*"),
            ("pre* snake_c*", "pre*&snake c*"),
            ("*part* *end one", "*part*&*end&one"),
            ("*camelCase*", "camel case*|*camelcase*"),
            ("*snake_case", "snake case"),
            ("*京都*", "京都"),
            ("* **", "re"),
            ("東京", "東京"),
            ("東京都", "東京 京都"),
            ("京", "京*"),
            ("東京ab", "東京 京 ab"),
            ("👍", "👍"),
            ("E0599 - foo", "e0599&foo"),
            ("->", "re"),
            ("re:a.*b", "re"),
        ] {
            assert_eq!(display(text), expected, "{text}");
        }
        assert_eq!(Query::parse("  ").unwrap_err(), BadQuery::Empty);
        assert_eq!(Query::parse("re: ").unwrap_err(), BadQuery::Empty);
        assert!(matches!(Query::parse("re:("), Err(BadQuery::Pattern(_))));
    }
}
