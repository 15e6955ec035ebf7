//! Where the next page of an answer begins.

use sessile::format::location::fingerprint;
use sessile::json::Raw;

/// The place before all items.
pub(crate) const START: u64 = 0;

/// Where the next page of an answer begins: after an item of the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The question: a hash of the tool and its arguments.
    question: u64,
    /// The last item of the page before.
    after: u64,
}

/// Arguments that do not change the list.
const NOT_PART_OF_THE_QUESTION: [&str; 3] = ["cursor", "limit", "max_chars"];

/// A number for a question, by which a cursor of another one is recognised.
pub(crate) fn question(tool: &str, arguments: Option<Raw<'_>>) -> u64 {
    let mut parts: Vec<String> = arguments
        .into_iter()
        .flat_map(Raw::properties)
        .filter(|(key, _)| !NOT_PART_OF_THE_QUESTION.contains(&&*key.to_str()))
        .map(|(key, value)| format!("{}\0{}", key.to_str(), value.to_text()))
        .collect();
    parts.sort();
    fingerprint(format!("{tool}\0{}", parts.join("\0")).as_bytes())
}

/// A number for an item.
pub(crate) fn item(name: &str) -> u64 {
    fingerprint(name.as_bytes())
}

impl Cursor {
    pub(crate) fn new(question: u64, after: u64) -> Self {
        Self { question, after }
    }

    /// The cursor as text: two numbers and their check.
    pub(crate) fn to_text(self) -> String {
        let text = format!("{:016x}{:016x}", self.question, self.after);
        let check = fingerprint(text.as_bytes()) & 0xffff_ffff;
        format!("{text}{check:08x}")
    }

    /// The item after which the page begins; `None` if the text is not a cursor of this question.
    pub(crate) fn read(text: &str, question: u64) -> Option<u64> {
        let number = |range| text.get(range).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let cursor = Self { question: number(0..16)?, after: number(16..32)? };
        (cursor.question == question && cursor.to_text() == text).then_some(cursor.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_question() {
        let of = |tool, arguments: &str| question(tool, Raw::parse(arguments.as_bytes()).ok());
        let asked = of("a", r#"{"x":1,"y":"2"}"#);
        let text = Cursor::new(asked, 7).to_text();
        assert_eq!(Cursor::read(&text, asked), Some(7));
        assert_eq!(Cursor::read(&text, of("a", r#"{"y":"2","limit":3,"cursor":"c","x":1}"#)), Some(7));
        for other in [of("b", r#"{"x":1,"y":"2"}"#), of("a", r#"{"x":1}"#), of("a", "null")] {
            assert_eq!(Cursor::read(&text, other), None);
        }
        let is_refused = |text: &str| Cursor::read(text, asked).is_none();
        assert!(is_refused("") && is_refused("é".repeat(20).as_str()) && is_refused(&text.to_uppercase()));
        assert!(is_refused(&text.replace('0', "1")));
    }
}
