//! Changing single members of an object while every other byte stays.

use super::raw::{Json, Raw};
use super::write_string;

/// One change to the members of an object.
#[derive(Clone, Copy, Debug)]
pub enum Edit<'a> {
    /// Gives the key this value: in place if the key is there, else as a new last member.
    Set(&'a str, Raw<'a>),
    /// Removes every member of that key.
    Remove(&'a str),
}

impl Raw<'_> {
    /// The object with some members changed and all other bytes kept.
    ///
    /// This is what JavaScript's assignment and `delete` would do to the
    /// members, but untouched values keep their spelling. Anything but an
    /// object comes back unchanged.
    pub fn edited(self, edits: &[Edit<'_>]) -> Json {
        let mut object = self.to_json();
        if self.shape() != super::Shape::Object {
            return object;
        }
        for edit in edits {
            object = match edit {
                Edit::Set(key, value) => set(object.raw(), key, *value),
                Edit::Remove(key) => remove(object.raw(), key),
            };
        }
        object
    }
}

fn set(object: Raw<'_>, key: &str, value: Raw<'_>) -> Json {
    let bytes = object.as_bytes();
    // The last of duplicates is the one that counts, so that is the one to replace.
    if let Some(old) = object.get(key) {
        let start = offset_in(object, old);
        let end = start + old.as_bytes().len();
        return Json::trusted([&bytes[..start], value.as_bytes(), &bytes[end..]].concat());
    }
    let mut text = bytes[..bytes.len() - 1].to_vec();
    if object.members().next().is_some() {
        text.push(b',');
    }
    write_string(key, &mut text);
    text.push(b':');
    text.extend_from_slice(value.as_bytes());
    text.push(b'}');
    Json::trusted(text)
}

fn remove(object: Raw<'_>, key: &str) -> Json {
    let bytes = object.as_bytes();
    let mut text = b"{".to_vec();
    // White space between kept members goes with the commas; their own bytes stay.
    for member in object.members().filter(|member| !member.is(key)) {
        if text.len() > 1 {
            text.push(b',');
        }
        let start = offset_in(object, member.key);
        let end = offset_in(object, member.value) + member.value.as_bytes().len();
        text.extend_from_slice(&bytes[start..end]);
    }
    text.push(b'}');
    Json::trusted(text)
}

/// Where a part borrowed from `whole` begins in it.
fn offset_in(whole: Raw<'_>, part: Raw<'_>) -> usize {
    part.as_bytes().as_ptr().addr() - whole.as_bytes().as_ptr().addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(object: &str, edits: &[Edit<'_>]) -> String {
        Raw::parse(object.as_bytes()).unwrap().edited(edits).to_text().into_owned()
    }

    #[test]
    fn sets_in_place_or_at_the_end() {
        let one = Raw::parse(b"1").unwrap();
        assert_eq!(edited("{}", &[Edit::Set("a", one)]), r#"{"a":1}"#);
        assert_eq!(edited(r#"{"b":2.0}"#, &[Edit::Set("a", one)]), r#"{"b":2.0,"a":1}"#);
        assert_eq!(edited(r#"{ "a" : {"x":"}"} , "b":1e9}"#, &[Edit::Set("a", one)]), r#"{ "a" : 1 , "b":1e9}"#);
        assert_eq!(edited(r#"{"a":5,"a":6}"#, &[Edit::Set("a", one)]), r#"{"a":5,"a":1}"#);
        assert_eq!(edited("[1]", &[Edit::Set("a", one)]), "[1]");
    }

    #[test]
    fn removes_every_duplicate() {
        assert_eq!(edited(r#"{"a":1,"b":2,"a":3}"#, &[Edit::Remove("a")]), r#"{"b":2}"#);
        assert_eq!(edited(r#"{"a":1}"#, &[Edit::Remove("a")]), "{}");
        assert_eq!(edited(r#"{"a":1}"#, &[Edit::Remove("x")]), r#"{"a":1}"#);
    }
}
