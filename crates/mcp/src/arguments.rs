//! The arguments of a call.

use sessile::json::{Raw, Shape};
use sessile::text::texts::DocumentKind;

use crate::failure::Failure;
use crate::names::attribute;

/// The arguments of a call, checked as they are read.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a>(Option<Raw<'a>>);

impl<'a> Arguments<'a> {
    /// Checks that the arguments are an object with known members.
    pub(crate) fn new(raw: Option<Raw<'a>>, known: &[&str]) -> Result<Self, Failure> {
        let unknown = raw.into_iter().flat_map(Raw::properties).find(|(key, _)| !known.contains(&&*key.to_str()));
        match unknown {
            None => Ok(Self(raw)),
            Some((key, _)) => {
                let key = attribute(&key.to_str());
                Err(Failure::explained(format!("unknown argument {key:?}; the arguments are {}", known.join(", "))))
            }
        }
    }

    /// An argument; `null` counts as missing.
    fn get(self, key: &str) -> Option<Raw<'a>> {
        self.0?.get(key).filter(|value| !value.is_null())
    }

    /// A text.
    pub(crate) fn text(self, key: &str) -> Result<Option<String>, Failure> {
        let Some(value) = self.get(key) else { return Ok(None) };
        // Numbers stand for themselves: an id may consist of digits.
        let text = if value.shape() == Shape::Number { Some(value.to_text().into_owned()) } else { value.as_string() };
        text.map(Some).ok_or_else(|| Failure::explained(format!("{key} must be a string")))
    }

    /// A text that must be there.
    pub(crate) fn required(self, key: &str) -> Result<String, Failure> {
        let text = self.text(key)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| Failure::explained(format!("{key} is missing")))
    }

    /// A whole number that is at least 0. A text of digits counts too.
    pub(crate) fn count(self, key: &str) -> Result<Option<usize>, Failure> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = || Failure::explained(format!("{key} must be a whole number"));
        let text = value.as_string().unwrap_or_else(|| value.to_text().into_owned());
        let number: f64 = text.trim().parse().map_err(|_not_a_number| wrong())?;
        if number.fract() != 0.0 || !(0.0..=1e15).contains(&number) {
            return Err(wrong());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        Ok(Some(number as usize))
    }

    /// How many rows to return: the given number, at least 1 and at most `most`, or `usual`.
    pub(crate) fn limit(self, usual: usize, most: usize) -> Result<usize, Failure> {
        Ok(self.count("limit")?.map_or(usual, |limit| limit.clamp(1, most)))
    }

    /// True or false.
    pub(crate) fn flag(self, key: &str) -> Result<Option<bool>, Failure> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| Failure::explained(format!("{key} must be true or false")))
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Failure> {
        let Some(given) = self.text(key)? else { return Ok(None) };
        let known = words.iter().find(|(word, _)| *word == given);
        let all = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        known
            .map(|(_, value)| Some(*value))
            .ok_or_else(|| Failure::explained(format!("{key} must be one of {}", all())))
    }

    /// A role.
    pub(crate) fn role(self) -> Result<Option<DocumentKind>, Failure> {
        let Some(word) = self.text("role")? else { return Ok(None) };
        let known = || DocumentKind::ALL.map(DocumentKind::word).join(", ");
        let role = DocumentKind::of_word(&word).map(Some);
        role.ok_or_else(|| Failure::explained(format!("unknown role; the roles are {}", known())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Arguments<'_> {
        Arguments::new(Raw::parse(text.as_bytes()).ok(), &["a", "limit"]).unwrap()
    }

    #[test]
    fn values_are_read_by_type() {
        assert_eq!(arguments(r#"{"a":12}"#).text("a").unwrap().as_deref(), Some("12"));
        assert_eq!(arguments(r#"{"a":null}"#).text("a").unwrap(), None);
        assert!(arguments(r#"{"a":[]}"#).text("a").is_err());
        assert_eq!(arguments(r#"{"limit":"7"}"#).limit(3, 5).unwrap(), 5);
        assert_eq!(arguments(r#"{"limit":0}"#).limit(3, 5).unwrap(), 1);
        assert_eq!(arguments("{}").limit(3, 5).unwrap(), 3);
        for wrong in ["1.5", "-1", "1e99", "\"x\"", "[]", "true"] {
            assert!(arguments(&format!("{{\"limit\":{wrong}}}")).limit(3, 5).is_err(), "{wrong}");
        }
        assert!(Arguments::new(Raw::parse(b"{\"b\":1}").ok(), &["a"]).is_err());
    }
}
