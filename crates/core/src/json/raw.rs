//! Pieces of valid JSON text, borrowed and owned, decoded on demand.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::document::in_property_order;
use super::printed::is_printed;
use super::scan::{NoMembers, scan, scan_simple, skip_space, string_end};
use super::text::{JsText, lossy_utf8};

/// Text that is not one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON value: unexpected input at byte {at}")]
pub struct NotJson {
    /// The offset of the first byte that cannot be part of a JSON value.
    pub at: usize,
}

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number in any spelling.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A valid JSON value, as the bytes in a file.
///
/// Nothing is decoded until requested, and access never changes the bytes. Where the text is ambiguous, JavaScript
/// decides: the last of duplicate keys counts.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::Raw;
/// let value = Raw::parse(br#"{"role":"user","n":1.0,"n":2}"#).unwrap();
/// assert_eq!(value.get("role").unwrap().as_text().unwrap(), "user");
/// assert_eq!(value.get("n").unwrap().as_bytes(), b"2");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Raw<'a>(&'a [u8]);

impl<'a> Raw<'a> {
    /// `null`.
    pub const NULL: Self = Self(b"null");

    /// Checks that `bytes` hold one JSON value. Surrounding white space is dropped.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NotJson> {
        let range = scan(bytes, &mut NoMembers).map_err(|at| NotJson { at })?;
        Ok(Self(&bytes[range]))
    }

    /// The simple reference implementation of [`parse`](Self::parse), which never uses SIMD instructions. For tests.
    #[doc(hidden)]
    pub fn parse_simple(bytes: &'a [u8]) -> Result<Self, NotJson> {
        let range = scan_simple(bytes).map_err(|at| NotJson { at })?;
        Ok(Self(&bytes[range]))
    }

    /// Wraps bytes that are known to be one valid JSON value without surrounding white space.
    pub(crate) fn trusted(bytes: &'a [u8]) -> Self {
        debug_assert_eq!(scan(bytes, &mut NoMembers), Ok(0..bytes.len()));
        Self(bytes)
    }

    /// Wraps a value written in this crate's source.
    pub(crate) const fn literal(bytes: &'static [u8]) -> Raw<'static> {
        Raw(bytes)
    }

    /// The bytes of the value, as they are in the file.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The JSON text, with bytes that are not UTF-8 replaced by U+FFFD.
    pub fn to_text(self) -> Cow<'a, str> {
        lossy_utf8(self.0)
    }

    /// An owned copy.
    pub fn to_json(self) -> Json {
        Json::spelled(self.0.to_vec(), false)
    }

    /// The type of this value.
    pub fn shape(self) -> Shape {
        match self.0[0] {
            b'n' => Shape::Null,
            b't' | b'f' => Shape::Bool,
            b'"' => Shape::String,
            b'[' => Shape::Array,
            b'{' => Shape::Object,
            _ => Shape::Number,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.shape() == Shape::Null
    }

    /// The boolean, if this is one.
    pub fn as_bool(self) -> Option<bool> {
        (self.shape() == Shape::Bool).then_some(self.0 == b"true")
    }

    /// The number as JavaScript reads it; `1e999` is infinite.
    pub fn as_number(self) -> Option<f64> {
        if self.shape() != Shape::Number {
            return None;
        }
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The number, if it is written as an integer that 64 bits can hold.
    pub fn as_integer(self) -> Option<i64> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The string's content, if this is a string.
    pub fn as_text(self) -> Option<JsText<'a>> {
        (self.shape() == Shape::String).then(|| JsText::decode(self.0))
    }

    /// The string's content with lone surrogates replaced, if this is a string.
    pub fn as_string(self) -> Option<String> {
        self.as_text().map(|text| text.to_str().into_owned())
    }

    /// Whether JavaScript treats the value as true: all but `null`, `false`, zero and `""`.
    pub fn is_truthy(self) -> bool {
        match self.shape() {
            Shape::Null => false,
            Shape::Bool => self.0 == b"true",
            Shape::Number => self.as_number() != Some(0.0),
            Shape::String => self.0.len() > 2,
            Shape::Array | Shape::Object => true,
        }
    }

    /// The members of an object in file order, including duplicates. Empty for other values.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        let inside = if self.shape() == Shape::Object { 1 } else { self.0.len() };
        MemberIter { bytes: self.0, at: inside }
    }

    /// The members of an object in JavaScript's enumeration order: each key once, at its first position with its last
    /// value. Keys that look like array indices come before all others. Empty for other values.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::Raw;
    /// let value = Raw::parse(br#"{"a":null,"b":1,"7":2,"a":3}"#).unwrap();
    /// let keys: Vec<String> = value.properties().iter().map(|(key, _)| key.to_str().into_owned()).collect();
    /// assert_eq!(keys, ["7", "a", "b"]);
    /// ```
    pub fn properties(self) -> Vec<(JsText<'a>, Self)> {
        in_property_order(self.members().map(|member| (JsText::decode(member.key.0), member.value)))
    }

    /// The value of a key; the last one if there are several.
    pub fn get(self, key: &str) -> Option<Self> {
        self.members().filter(|member| member.is(key)).last().map(|member| member.value)
    }

    /// The values of some keys in one pass; each as [`get`](Self::get) returns it.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::Raw;
    /// let value = Raw::parse(br#"{"a":1,"b":2,"a":3}"#).unwrap();
    /// let [a, b, c] = value.pick(["a", "b", "c"]);
    /// assert_eq!((a, b, c), (value.get("a"), value.get("b"), None));
    /// ```
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> [Option<Self>; N] {
        let mut values = [None; N];
        // Most objects have the keys in the order in which the caller wants them.
        let mut expected = 0;
        for member in self.members() {
            let token = member.key.0;
            let key = &token[1..token.len() - 1];
            let at = if memchr::memchr(b'\\', key).is_none() {
                let is_meant = |at: &usize| keys[*at].as_bytes() == key;
                (expected..N).find(is_meant).or_else(|| (0..expected).find(is_meant))
            } else {
                let key = JsText::decode(token);
                keys.iter().position(|wanted| key == **wanted)
            };
            if let Some(at) = at {
                values[at] = Some(member.value);
                expected = at + 1;
            }
        }
        values
    }

    /// The items of an array. Empty for other values.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let inside = if self.shape() == Shape::Array { 1 } else { self.0.len() };
        ItemIter { bytes: self.0, at: inside }
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// One `"key": value` of an object.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The key with its quotes and escapes.
    pub key: Raw<'a>,
    /// The value.
    pub value: Raw<'a>,
}

impl Member<'_> {
    /// Whether the key reads as `name`.
    pub fn is(&self, name: &str) -> bool {
        key_is(self.key.0, name)
    }
}

/// Whether a key token (including quotes) reads as `name`.
#[inline]
pub(crate) fn key_is(token: &[u8], name: &str) -> bool {
    let inner = &token[1..token.len() - 1];
    inner == name.as_bytes() || (memchr::memchr(b'\\', inner).is_some() && JsText::decode(token) == *name)
}

struct MemberIter<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for MemberIter<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let key_start = skip_separators(self.bytes, self.at);
        if self.bytes.get(key_start) != Some(&b'"') {
            return None;
        }
        let key_end = skip_value(self.bytes, key_start);
        let value_start = skip_separators(self.bytes, key_end);
        let value_end = skip_value(self.bytes, value_start);
        self.at = value_end;
        Some(Member { key: Raw(&self.bytes[key_start..key_end]), value: Raw(&self.bytes[value_start..value_end]) })
    }
}

struct ItemIter<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for ItemIter<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let start = skip_separators(self.bytes, self.at);
        if matches!(self.bytes.get(start), None | Some(b']')) {
            return None;
        }
        self.at = skip_value(self.bytes, start);
        Some(Raw(&self.bytes[start..self.at]))
    }
}

/// Skips white space, commas and colons, which carry no information in valid text.
fn skip_separators(bytes: &[u8], mut at: usize) -> usize {
    at = skip_space(bytes, at);
    while matches!(bytes.get(at), Some(b',' | b':')) {
        at = skip_space(bytes, at + 1);
    }
    at
}

/// The end of the value that starts at `at` in valid JSON text.
pub(super) fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    loop {
        match bytes.get(at) {
            Some(b'"') => at = string_end(bytes, at).unwrap_or(bytes.len()),
            Some(b'{' | b'[') => {
                depth += 1;
                at += 1;
                continue;
            }
            Some(b'}' | b']') => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            Some(b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') => {
                at += 1;
                continue;
            }
            Some(_) => at = scalar_end(bytes, at),
            None => return bytes.len(),
        }
        if depth == 0 {
            return at;
        }
    }
}

fn scalar_end(bytes: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
    bytes[at..].iter().position(ends).map_or(bytes.len(), |length| at + length)
}

/// A valid JSON value, owned.
///
/// Made from a copy of a value in a file ([`Raw::to_json`]) or from text ([`Json::parse`]). With the feature `serde`, a
/// `serde_json::Value` converts into it, and `Json::from_serialize` takes any serialisable value.
#[derive(Clone)]
pub struct Json {
    text: Vec<u8>,
    /// Whether printing would certainly not change it. Not part of the value.
    is_printed: bool,
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Json {
    /// Validates JSON text and keeps its spelling.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, NotJson> {
        Raw::parse(text.as_ref()).map(Raw::to_json)
    }

    pub(crate) fn trusted(bytes: Vec<u8>) -> Self {
        debug_assert_eq!(scan(&bytes, &mut NoMembers), Ok(0..bytes.len()));
        Self::spelled(bytes, false)
    }

    /// Wraps text in the form that JavaScript prints, so that it need not be printed again.
    pub(crate) fn printed(text: Vec<u8>) -> Self {
        debug_assert_eq!(super::document::print_again(Raw(&text)).text, text);
        Self::spelled(text, true)
    }

    fn spelled(text: Vec<u8>, is_printed: bool) -> Self {
        Self { text, is_printed }
    }

    pub(super) fn is_printed(&self) -> bool {
        self.is_printed || is_printed(&self.text)
    }

    /// The value `null`.
    pub fn null() -> Self {
        Self::spelled(b"null".to_vec(), true)
    }

    /// A string value.
    pub fn string(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        super::write_string(text, &mut bytes);
        Self::spelled(bytes, true)
    }

    /// A borrowed view with typed access.
    pub fn raw(&self) -> Raw<'_> {
        Raw(&self.text)
    }

    /// The JSON text, with bytes that are not UTF-8 replaced by U+FFFD.
    pub fn to_text(&self) -> Cow<'_, str> {
        lossy_utf8(&self.text)
    }

    /// The bytes of the text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl From<Raw<'_>> for Json {
    fn from(raw: Raw<'_>) -> Self {
        raw.to_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_last_of_duplicate_keys_counts() {
        let value = raw(r#"{"a":1,"\u0061":{"b":[2]},"c":null}"#);
        assert_eq!(value.get("a"), Some(raw(r#"{"b":[2]}"#)));
        assert_eq!(value.get("x"), None);
        assert_eq!(value.members().count(), 3);
    }

    #[test]
    fn walks_items_of_any_shape() {
        let items: Vec<_> = raw(r#"[ 1, "a,]" ,[2,[3]],{"k":"}"} , null]"#).items().collect();
        let expected = ["1", "\"a,]\"", "[2,[3]]", "{\"k\":\"}\"}", "null"];
        assert_eq!(items, expected.map(raw));
        assert_eq!(raw("[ ]").items().count(), 0);
        assert_eq!(raw("{ }").members().count(), 0);
        assert_eq!(raw("\"[1]\"").items().count(), 0);
    }

    #[test]
    fn truthiness_is_that_of_javascript() {
        for (text, truthy) in [
            ("null", false),
            ("false", false),
            ("0", false),
            ("-0.0e5", false),
            ("\"\"", false),
            ("true", true),
            ("1e999", true),
            ("1e-999", false),
            ("\"0\"", true),
            ("[]", true),
            ("{}", true),
        ] {
            assert_eq!(raw(text).is_truthy(), truthy, "{text}");
        }
    }

    #[test]
    fn keeps_spelling() {
        let text = r#"{"n":12345678901234567890, "e":"\u00e9"}"#;
        assert_eq!(Json::parse(format!(" {text}\r")).unwrap().to_text(), text);
        assert_eq!(Json::parse("{\"a\":tru}").unwrap_err(), NotJson { at: 5 });
    }
}
