//! Names of entries.

use std::fmt;

use crate::json::{JsText, Json, write_text};

/// The id of an entry: any string a file may hold, compared as JavaScript compares strings.
///
/// pi writes eight hexadecimal digits, but reads anything, so no form is assumed.
///
/// ```
/// use sessile_core::EntryId;
/// let id = EntryId::from("a1b2c3d4");
/// assert_eq!(id, "a1b2c3d4");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(JsText<'static>);

impl EntryId {
    /// The id as JavaScript text, lone surrogates included.
    pub fn as_text(&self) -> &JsText<'static> {
        &self.0
    }

    /// The id as a JSON string.
    pub fn to_json(&self) -> Json {
        let mut text = Vec::with_capacity(10);
        write_text(&self.0, &mut text);
        Json::trusted(text)
    }
}

impl From<&str> for EntryId {
    fn from(id: &str) -> Self {
        Self(id.to_owned().into())
    }
}

impl From<String> for EntryId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<&String> for EntryId {
    fn from(id: &String) -> Self {
        Self::from(id.as_str())
    }
}

impl From<JsText<'_>> for EntryId {
    fn from(id: JsText<'_>) -> Self {
        Self(id.into_owned())
    }
}

impl From<&Self> for EntryId {
    fn from(id: &Self) -> Self {
        id.clone()
    }
}

impl PartialEq<str> for EntryId {
    fn eq(&self, other: &str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<&str> for EntryId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == **other
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
