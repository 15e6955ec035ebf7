//! Changes single members of an object and keeps every other byte.

use std::ops::Range;

use super::raw::{Json, Raw};
use super::write_string;

/// One change to the members of an object.
#[derive(Clone, Copy, Debug)]
pub enum Edit<'a> {
    /// Sets the value of a key: in place if the key exists, else as a new last member.
    Set(&'a str, Raw<'a>),
    /// Removes every member with that key.
    Remove(&'a str),
}

impl Raw<'_> {
    /// The bytes of this part in the value that it was borrowed from, for changing several parts in one pass.
    ///
    /// # Panics
    ///
    /// If it is not a part of that value.
    pub fn span_in(self, whole: Raw<'_>) -> Range<usize> {
        let begin = offset_in(whole, self);
        let end = begin + self.as_bytes().len();
        assert!(end <= whole.as_bytes().len(), "not a part of this value");
        begin..end
    }

    /// Returns the object with some members changed and all other bytes kept.
    ///
    /// It has the effect of JavaScript's assignment and `delete`, but untouched values keep their spelling. A value
    /// that is not an object is returned unchanged.
    pub fn edited(self, edits: &[Edit<'_>]) -> Json {
        let mut object = self.to_json();
        if self.shape() != super::Shape::Object {
            return object;
        }
        let mut rest = edits;
        while let Some(first) = rest.first() {
            object = match first {
                Edit::Set(..) => {
                    let n_sets = rest.iter().take_while(|edit| matches!(edit, Edit::Set(..))).count();
                    let sets: Vec<_> = rest[..n_sets].iter().filter_map(Edit::as_set).collect();
                    rest = &rest[n_sets - 1..];
                    set(object.raw(), &sets)
                }
                Edit::Remove(key) => remove(object.raw(), key),
            };
            rest = &rest[1..];
        }
        object
    }
}

impl<'e> Edit<'e> {
    fn as_set(&self) -> Option<(&'e str, Raw<'e>)> {
        match self {
            Self::Set(key, value) => Some((key, *value)),
            Self::Remove(_) => None,
        }
    }
}

/// Sets members in one pass over the object. `sets` must not repeat a key.
fn set(object: Raw<'_>, sets: &[(&str, Raw<'_>)]) -> Json {
    let bytes = object.as_bytes();
    // The last of duplicates counts, so replace that one.
    let mut old_values: Vec<Option<Raw<'_>>> = vec![None; sets.len()];
    let mut is_empty = true;
    for member in object.members() {
        is_empty = false;
        for (old, _) in old_values.iter_mut().zip(sets).filter(|(_, (key, _))| member.is(key)) {
            *old = Some(member.value);
        }
    }
    let mut replaced: Vec<(usize, usize, Raw<'_>)> = Vec::new();
    for (old, (_, value)) in old_values.iter().zip(sets) {
        let Some(old) = old else { continue };
        let start = offset_in(object, *old);
        replaced.push((start, start + old.as_bytes().len(), *value));
    }
    replaced.sort_by_key(|(start, ..)| *start);
    let n_added: usize = sets.iter().map(|(key, value)| key.len() + value.as_bytes().len() + 8).sum();
    let mut text = Vec::with_capacity(bytes.len() + n_added);
    let mut copied = 0;
    for (start, end, value) in replaced {
        text.extend_from_slice(&bytes[copied..start]);
        text.extend_from_slice(value.as_bytes());
        copied = end;
    }
    text.extend_from_slice(&bytes[copied..bytes.len() - 1]);
    for (_, (key, value)) in old_values.iter().zip(sets).filter(|(old, _)| old.is_none()) {
        if !is_empty {
            text.push(b',');
        }
        is_empty = false;
        write_string(key, &mut text);
        text.push(b':');
        text.extend_from_slice(value.as_bytes());
    }
    text.push(b'}');
    Json::trusted(text)
}

fn remove(object: Raw<'_>, key: &str) -> Json {
    let bytes = object.as_bytes();
    let mut text = b"{".to_vec();
    // White space between the kept members goes with the commas. Their own bytes stay.
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

/// The offset in `whole` of a part borrowed from it.
pub(crate) fn offset_in(whole: Raw<'_>, part: Raw<'_>) -> usize {
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
    fn several_edits_equal_the_same_edits_in_sequence() {
        let [one, two] = [b"1", b"2"].map(|text| Raw::parse(text).unwrap());
        let edits =
            [Edit::Set("b", one), Edit::Set("a", two), Edit::Set("c", one), Edit::Remove("x"), Edit::Set("d", two)];
        for object in
            ["{}", r#"{"a":0}"#, r#"{"a":[0] ,"b":{},"a":3}"#, r#"{"c":1,"x":2,"b":""}"#, r#"{"d":1,"\u0061":5}"#]
        {
            let mut expected = object.to_owned();
            for edit in &edits {
                expected = edited(&expected, std::slice::from_ref(edit));
            }
            assert_eq!(edited(object, &edits), expected, "{object}");
        }
    }

    #[test]
    fn parts_are_found_in_their_value() {
        let whole = Raw::parse(br#"{"a":{"b":[1, 22]}}"#).unwrap();
        let last = whole.get("a").unwrap().get("b").unwrap().items().last().unwrap();
        assert_eq!(last.span_in(whole), 14..16);
    }

    #[test]
    fn removes_every_duplicate() {
        assert_eq!(edited(r#"{"a":1,"b":2,"a":3}"#, &[Edit::Remove("a")]), r#"{"b":2}"#);
        assert_eq!(edited(r#"{"a":1}"#, &[Edit::Remove("a")]), "{}");
        assert_eq!(edited(r#"{"a":1}"#, &[Edit::Remove("x")]), r#"{"a":1}"#);
    }
}
