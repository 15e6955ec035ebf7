//! What people type to find something.
//!
//! Words are separated by white space, and all must occur in one entry, in any
//! order. `"two words"` must stand side by side. `word*` is the beginning of a
//! word, `*word` the end, `*word*` any part of a word. `re:` makes the rest a
//! regular expression. Case does not matter.
//!
//! A word is cut as texts are: `foo_bar`, `foo.bar` and `fooBar` are the words
//! `foo bar` side by side, and `fooBar` is also found where it is written `foobar`.

use super::pattern::{BadPattern, Pattern};
use super::token::{TokenKind, Tokenizer};

/// What to look for.
#[derive(Clone, Debug)]
pub enum Query {
    /// All of these must occur.
    Clauses(Vec<Clause>),
    /// This must match one of an entry's texts.
    Pattern(Pattern),
}

/// One thing that must occur, in one of several ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The ways; there is at least one.
    pub phrases: Vec<Phrase>,
}

/// Terms that must stand side by side; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// The terms.
    pub terms: Vec<Term>,
}

/// One term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// What it is, or a part of it.
    pub text: Vec<u8>,
    /// Whether anything may follow.
    pub is_prefix: bool,
    /// Whether anything may come before. Only a phrase of one term has such a term.
    pub is_suffix: bool,
}

impl Term {
    /// Whether a token is what is meant.
    pub fn fits(&self, token: &[u8]) -> bool {
        match (self.is_suffix, self.is_prefix) {
            (false, false) => token == self.text,
            (false, true) => token.starts_with(&self.text),
            (true, false) => token.ends_with(&self.text),
            (true, true) => memchr::memmem::find(token, &self.text).is_some(),
        }
    }
}

/// Why something cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadQuery {
    /// There is nothing in it.
    #[error("there is nothing to search for")]
    Empty,
    /// What follows `re:` is no regular expression.
    #[error("not a regular expression")]
    Pattern(#[from] BadPattern),
}

impl Query {
    /// Reads what somebody typed.
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
            // Nothing but punctuation: it is looked for as it is.
            return Ok(Self::Pattern(Pattern::literal(text.trim_matches('"'))?));
        }
        Ok(Self::Clauses(clauses))
    }
}

/// One piece of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) is_quoted: bool,
}

/// Cuts at white space and around quotes, as pi's picker does. If a quote is not closed, quotes mean nothing.
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
    /// What must occur for this word; none if it has nothing that can be searched for.
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
        let mut wholes: Vec<Vec<u8>> = Vec::new();
        let mut n_words = 0;
        Tokenizer::default().run(text, |token| {
            if token.kind == TokenKind::Whole {
                // It stands for its parts only if there is nothing else.
                n_words += usize::from(token.start > 0 || token.end < text.len());
                wholes.push(token.term.to_vec());
            } else {
                terms.push((Term { text: token.term.to_vec(), is_prefix: false, is_suffix: false }, token.kind));
            }
            true
        });
        let (last, kind) = terms.last_mut()?;
        match kind {
            // One character may be followed by another one in its pair.
            TokenKind::Last => last.is_prefix = true,
            TokenKind::Word => last.is_prefix = is_prefix,
            TokenKind::Whole | TokenKind::Pair | TokenKind::Symbol => {}
        }
        if let [.., (_, TokenKind::Pair), (_, TokenKind::Last)] = terms[..] {
            // The pair before it says the same, and more may follow in the text.
            terms.pop();
        }
        // Of several terms only the last may be a part of a word: where the first one stands is looked up by its beginning.
        if let [(only, TokenKind::Word)] = &mut terms[..] {
            only.is_suffix = is_suffix;
        }
        let mut phrases = vec![Phrase { terms: terms.into_iter().map(|(term, _)| term).collect() }];
        if let (Some(whole), 0, false) = (wholes.pop(), n_words, self.is_quoted) {
            phrases.push(Phrase { terms: vec![Term { text: whole, is_prefix, is_suffix }] });
        }
        Some(Clause { phrases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clauses by `&`, ways by `|`, terms by space.
    fn shown(text: &str) -> String {
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
            assert_eq!(shown(text), expected, "{text}");
        }
        assert_eq!(Query::parse("  ").unwrap_err(), BadQuery::Empty);
        assert_eq!(Query::parse("re: ").unwrap_err(), BadQuery::Empty);
        assert!(matches!(Query::parse("re:("), Err(BadQuery::Pattern(_))));
    }
}
