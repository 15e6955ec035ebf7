//! Rules out most lines that do not match, without reading their texts.

use regex::bytes::{Regex, RegexBuilder};

use super::query::{Clause, Query};

/// A look at the bytes of a line.
#[derive(Clone, Debug)]
pub struct Glance {
    /// What a line without escaped and foreign letters must have.
    needed: Option<Regex>,
}

impl Glance {
    /// Prepares the look for a query.
    pub fn new(query: &Query) -> Self {
        let clauses = match query {
            Query::Clauses(clauses) => clauses.as_slice(),
            Query::Pattern(_) => &[],
        };
        // All clauses must match, so one is enough. The longer the words, the fewer lines have them.
        let needs = clauses.iter().filter_map(words).max_by_key(|words| words.iter().map(|word| word.len()).min());
        let build = |words: Vec<&str>| {
            let pattern = words.into_iter().map(regex::escape).collect::<Vec<_>>().join("|");
            RegexBuilder::new(&pattern).unicode(false).case_insensitive(true).build().ok()
        };
        Self { needed: needs.and_then(build) }
    }

    /// Whether a line may match. Never false for a line that does.
    pub fn admits(&self, line: &[u8]) -> bool {
        let Some(needed) = &self.needed else { return true };
        // Otherwise the letters of a word may be spelled in other ways.
        let is_plain = line.is_ascii() && memchr::memmem::find(line, b"\\u").is_none();
        !is_plain || needed.is_match(line)
    }
}

/// The longest word of each alternative; `None` if one of them has no word of ASCII letters and digits.
fn words(clause: &Clause) -> Option<Vec<&str>> {
    let longest = clause.phrases.iter().map(|phrase| {
        let texts = phrase.terms.iter().filter_map(|term| std::str::from_utf8(&term.text).ok());
        texts.filter(|text| text.is_ascii() && !text.is_empty()).max_by_key(|text| text.len())
    });
    longest.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_the_words_are_ruled_out() {
        let admits = |query: &str, line: &str| Glance::new(&Query::parse(query).unwrap()).admits(line.as_bytes());
        for (query, line, expected) in [
            ("needle", r#"{"content":"a Needle"}"#, true),
            ("needle", r#"{"content":"a need"}"#, false),
            ("needle", r#"{"content":"caf\u00e9"}"#, true),
            ("needle", "{\"content\":\"caf\u{e9}\"}", true),
            ("fooBar", r#"{"content":"FOOBAR"}"#, true),
            ("fooBar", r#"{"content":"foo bar"}"#, true),
            ("fooBar", r#"{"content":"fo ba"}"#, false),
            ("fooBar x", r#"{"content":"x"}"#, false),
            ("long* b", r#"{"content":"longer"}"#, true),
            ("*long b", r#"{"content":"b"}"#, false),
            ("東京", r#"{"content":"b"}"#, true),
            ("re:a+", r#"{"content":"b"}"#, true),
        ] {
            assert_eq!(admits(query, line), expected, "{query}: {line}");
        }
    }
}
