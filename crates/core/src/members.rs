//! The members of an entry besides those that all entries have, as text.

use std::ops::Range;

use crate::json::{self, Members, ObjectWriter, Raw, Shape};

/// The members that every entry has. The engine sets them.
const COMMON: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// The own members of an entry, as JSON text that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnMembers(Vec<u8>);

/// Why text is not the own members of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMembers {
    /// It is not a JSON object.
    #[error("the members of an entry must be a JSON object")]
    NotObject,
    /// It sets a member that the engine sets.
    #[error("the members of an entry must not include type, id, parentId or timestamp")]
    Common,
}

impl OwnMembers {
    /// Checks the text of an object. Its spelling is kept.
    pub fn parse(text: impl Into<Vec<u8>>) -> Result<Self, BadMembers> {
        let text = text.into();
        let mut found = CommonKeys { text: &text, has_common: false };
        let Ok(range) = json::scan(&text, &mut found) else { return Err(BadMembers::NotObject) };
        if found.has_common {
            return Err(BadMembers::Common);
        }
        if Raw::trusted(&text[range.clone()]).shape() != Shape::Object {
            return Err(BadMembers::NotObject);
        }
        Ok(if range == (0..text.len()) { Self(text) } else { Self(text[range].to_vec()) })
    }

    /// Adds the members to an object, byte for byte.
    pub fn write(&self, out: &mut ObjectWriter) {
        out.trusted_members(self.inner());
    }

    /// The members without the braces around them; empty if there are none.
    fn inner(&self) -> &[u8] {
        self.0[1..self.0.len() - 1].trim_ascii()
    }

    /// The length of the text in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.inner().is_empty()
    }
}

struct CommonKeys<'t> {
    text: &'t [u8],
    has_common: bool,
}

impl Members for CommonKeys<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, _value: Range<usize>) {
        if depth == 1 {
            let key = &self.text[key];
            self.has_common |= COMMON.iter().any(|common| json::key_is(key, common));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_spelling() {
        let members = OwnMembers::parse(r#" {"a":1e2, "message":{"id":"inner"}} "#).unwrap();
        let mut entry = ObjectWriter::new();
        members.write(entry.string("type", "x"));
        assert_eq!(entry.finish().to_text(), r#"{"type":"x","a":1e2, "message":{"id":"inner"}}"#);
        let mut first = ObjectWriter::new();
        members.write(&mut first);
        assert_eq!(first.string("z", "").finish().to_text(), r#"{"a":1e2, "message":{"id":"inner"},"z":""}"#);
    }

    #[test]
    fn no_members_add_nothing() {
        let members = OwnMembers::parse("{ }").unwrap();
        assert!(members.is_empty());
        let mut entry = ObjectWriter::new();
        members.write(&mut entry);
        assert_eq!(entry.finish().to_text(), "{}");
    }

    #[test]
    fn common_members_and_other_values_are_refused() {
        for text in [r#"{"id":1}"#, r#"{"a":2,"t\u0079pe":"x"}"#, r#"{"parentId":null}"#, r#"{"timestamp":0}"#] {
            assert_eq!(OwnMembers::parse(text), Err(BadMembers::Common), "{text}");
        }
        for text in ["", "[]", "1", "{", r#"{"a":1} {"#] {
            assert_eq!(OwnMembers::parse(text), Err(BadMembers::NotObject), "{text}");
        }
    }
}
