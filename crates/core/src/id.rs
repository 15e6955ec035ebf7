//! Ids of entries and sessions.

mod session;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::json::{JsText, Json, write_text};
pub use session::SessionId;

/// The id of an entry: any string a file may hold, compared as JavaScript compares strings.
///
/// pi writes eight hexadecimal digits but reads anything, so no format is assumed.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::EntryId;
/// let id = EntryId::from("a1b2c3d4");
/// assert_eq!(id, "a1b2c3d4");
/// ```
#[derive(Clone)]
pub struct EntryId(IdBytes);

/// Short ids are stored inline, so that a tree of a million entries needs no allocation per id.
///
/// Each id has exactly one representation, so that equal ids compare equal whatever their origin.
#[derive(Clone)]
enum IdBytes {
    Short { len: u8, bytes: [u8; MAX_SHORT] },
    // Double indirection: a thin pointer keeps every id at two words.
    Long(Box<JsText<'static>>),
}

/// The maximum number of bytes stored inline.
const MAX_SHORT: usize = 14;

impl EntryId {
    /// Eight lower-case hexadecimal digits, the format of nearly all ids.
    pub(crate) fn of_hex(value: u32) -> Self {
        let mut bytes = [0; MAX_SHORT];
        for (nth, digit) in bytes[..8].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(value >> (28 - 4 * nth) & 15) as usize];
        }
        Self(IdBytes::Short { len: 8, bytes })
    }

    /// The id as WTF-8: see [`JsText::as_wtf8`].
    pub fn as_wtf8(&self) -> &[u8] {
        match &self.0 {
            IdBytes::Short { len, bytes } => &bytes[..usize::from(*len)],
            IdBytes::Long(text) => text.as_wtf8(),
        }
    }

    /// The id as JavaScript text, including lone surrogates.
    pub fn as_text(&self) -> JsText<'_> {
        JsText::from_wtf8(self.as_wtf8())
    }

    /// The id as a JSON string.
    pub fn to_json(&self) -> Json {
        let mut text = Vec::with_capacity(10);
        write_text(&self.as_text(), &mut text);
        Json::trusted(text)
    }
}

impl From<JsText<'_>> for EntryId {
    fn from(id: JsText<'_>) -> Self {
        let given = id.as_wtf8();
        let mut bytes = [0; MAX_SHORT];
        match (bytes.get_mut(..given.len()), u8::try_from(given.len())) {
            (Some(slot), Ok(len)) => {
                slot.copy_from_slice(given);
                Self(IdBytes::Short { len, bytes })
            }
            _ => Self(IdBytes::Long(Box::new(id.into_owned()))),
        }
    }
}

impl From<&str> for EntryId {
    fn from(id: &str) -> Self {
        JsText::from(id).into()
    }
}

impl From<String> for EntryId {
    fn from(id: String) -> Self {
        JsText::from(id).into()
    }
}

impl From<&String> for EntryId {
    fn from(id: &String) -> Self {
        Self::from(id.as_str())
    }
}

impl From<&Self> for EntryId {
    fn from(id: &Self) -> Self {
        id.clone()
    }
}

impl PartialEq for EntryId {
    fn eq(&self, other: &Self) -> bool {
        self.as_wtf8() == other.as_wtf8()
    }
}

impl Eq for EntryId {}

impl Hash for EntryId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_wtf8().hash(state);
    }
}

impl PartialOrd for EntryId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EntryId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_wtf8().cmp(other.as_wtf8())
    }
}

impl PartialEq<str> for EntryId {
    fn eq(&self, other: &str) -> bool {
        self.as_wtf8() == other.as_bytes()
    }
}

impl PartialEq<&str> for EntryId {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_text(), f)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_text(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_length_keep_their_text_and_order() {
        let words: Vec<String> = (0..40).map(|len| "aé".chars().cycle().take(len).collect()).collect();
        for (len, word) in words.iter().enumerate() {
            let id = EntryId::from(word);
            assert_eq!((id.to_string(), &id), (word.clone(), &EntryId::from(word.clone())));
            assert_eq!(id.as_text().as_wtf8(), word.as_bytes());
            assert!(words[..len].iter().all(|shorter| EntryId::from(shorter) < id && EntryId::from(shorter) != id));
        }
        assert_eq!(EntryId::of_hex(0x00c0_ffee), "00c0ffee");
    }

    #[test]
    fn an_id_is_two_words() {
        assert_eq!(size_of::<Option<EntryId>>(), 16);
    }
}
