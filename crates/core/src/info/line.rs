//! Finds what a list needs from one line, in the pass that checks it.

use std::ops::Range;

use crate::head::{self, Kind, Parsed, Role};
use crate::json::{self, JsText, Members, Raw, Shape};
use crate::line::is_blank;

/// The result of parsing one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an object, and none is stored")]
pub(super) enum Read<'a> {
    /// Blank, or a value that pi skips.
    Nothing,
    /// Not JSON.
    Malformed,
    /// A value that is not an object.
    NotObject,
    /// An object.
    Object(Object<'a>),
}

/// The members of an object that a list needs, as spelled. The last of duplicates counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Object<'a> {
    pub(super) kind: Option<Raw<'a>>,
    pub(super) id: Option<Raw<'a>>,
    pub(super) parent: Option<Raw<'a>>,
    pub(super) timestamp: Option<Raw<'a>>,
    pub(super) name: Option<Raw<'a>>,
    pub(super) usage: Option<Raw<'a>>,
    pub(super) provider: Option<Raw<'a>>,
    pub(super) model: Option<Raw<'a>>,
    pub(super) custom_type: Option<Raw<'a>>,
    pub(super) data: Option<Raw<'a>>,
    pub(super) label: Option<Raw<'a>>,
    pub(super) message: Message<'a>,
}

/// The members of an entry's message; all missing if it is not an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) role: Option<Raw<'a>>,
    pub(super) content: Option<Raw<'a>>,
    pub(super) timestamp: Option<Raw<'a>>,
    pub(super) usage: Option<Raw<'a>>,
    pub(super) provider: Option<Raw<'a>>,
    pub(super) model: Option<Raw<'a>>,
    pub(super) stop_reason: Option<Raw<'a>>,
}

impl Object<'_> {
    /// The type of the line. Types that a list does not need are [`Kind::Unknown`].
    pub(super) fn kind(&self) -> Kind {
        const NEEDED_KINDS: [Kind; 8] = [
            Kind::Message,
            Kind::Header,
            Kind::SessionInfo,
            Kind::Usage,
            Kind::Compaction,
            Kind::BranchSummary,
            Kind::Custom,
            Kind::Label,
        ];
        let Some(word) = self.kind.and_then(Raw::as_text) else { return Kind::Unknown };
        let is_named = |kind: &Kind| kind.word().is_some_and(|known| word == *known);
        NEEDED_KINDS.into_iter().find(is_named).unwrap_or(Kind::Unknown)
    }

    /// The role of the message.
    pub(super) fn role(&self) -> Role {
        Role::of(self.message.role)
    }
}

/// Parses a line, and checks all of it in the same pass.
pub(super) fn read(line: &[u8]) -> Read<'_> {
    let mut members = LineMembers { line, object: Object::default(), inner: Message::default() };
    let range = match json::scan(line, &mut members) {
        Ok(range) => range,
        Err(_) if is_blank(line) => return Read::Nothing,
        Err(_) => return Read::Malformed,
    };
    let value = Raw::trusted(&line[range]);
    match value.shape() {
        Shape::Object => Read::Object(members.object),
        _ if value.is_truthy() => Read::NotObject,
        _ => Read::Nothing,
    }
}

/// The simple reference implementation of [`read`]: checks first, then looks up each value.
pub(super) fn read_simple(line: &[u8]) -> Read<'_> {
    match head::read_simple(line) {
        Parsed::Blank | Parsed::Falsy => Read::Nothing,
        Parsed::Malformed { .. } => Read::Malformed,
        Parsed::Value(head) if head.kind == Kind::NotObject => Read::NotObject,
        Parsed::Value(_) => match Raw::parse(line) {
            Ok(entry) => Read::Object(look_up(entry)),
            Err(_) => Read::Malformed,
        },
    }
}

fn look_up(entry: Raw<'_>) -> Object<'_> {
    let inside = |key: &str| entry.get("message").and_then(|message| message.get(key));
    Object {
        kind: entry.get("type"),
        id: entry.get("id"),
        parent: entry.get("parentId"),
        timestamp: entry.get("timestamp"),
        name: entry.get("name"),
        usage: entry.get("usage"),
        provider: entry.get("provider"),
        model: entry.get("model"),
        custom_type: entry.get("customType"),
        data: entry.get("data"),
        label: entry.get("label"),
        message: Message {
            role: inside("role"),
            content: inside("content"),
            timestamp: inside("timestamp"),
            usage: inside("usage"),
            provider: inside("provider"),
            model: inside("model"),
            stop_reason: inside("stopReason"),
        },
    }
}

struct LineMembers<'a> {
    line: &'a [u8],
    object: Object<'a>,
    /// The members of the inner object being read, not yet known to be the message's.
    inner: Message<'a>,
}

impl<'a> LineMembers<'a> {
    #[inline]
    fn take(&mut self, depth: usize, key: &[u8], value: Range<usize>) {
        let line = self.line;
        let value = || Some(Raw::trusted(&line[value]));
        let object = &mut self.object;
        if depth == 2 {
            match key {
                b"role" => self.inner.role = value(),
                b"content" => self.inner.content = value(),
                b"timestamp" => self.inner.timestamp = value(),
                b"usage" => self.inner.usage = value(),
                b"provider" => self.inner.provider = value(),
                b"model" => self.inner.model = value(),
                b"stopReason" => self.inner.stop_reason = value(),
                _ => {}
            }
            return;
        }
        let inner: Message<'a> = std::mem::take(&mut self.inner);
        match key {
            b"type" => object.kind = value(),
            b"id" => object.id = value(),
            b"parentId" => object.parent = value(),
            b"timestamp" => object.timestamp = value(),
            b"message" => object.message = inner,
            b"name" => object.name = value(),
            b"usage" => object.usage = value(),
            b"provider" => object.provider = value(),
            b"model" => object.model = value(),
            b"customType" => object.custom_type = value(),
            b"data" => object.data = value(),
            b"label" => object.label = value(),
            _ => {}
        }
    }
}

impl Members for LineMembers<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
        let token = &self.line[key];
        let inner = &token[1..token.len() - 1];
        // A key may be spelled with escapes, but hardly any is.
        if inner.contains(&b'\\') {
            let text = JsText::decode(token);
            self.take(depth, text.as_wtf8(), value);
        } else {
            self.take(depth, inner, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Objects full of the relevant keys, in odd places and spellings.
    fn lines() -> impl Strategy<Value = String> {
        let words = [
            "\"type\"",
            "\"id\"",
            "\"parentId\"",
            "\"timestamp\"",
            "\"message\"",
            "\"role\"",
            "\"content\"",
            "\"name\"",
            "\"usage\"",
            "\"provider\"",
            "\"model\"",
            "\"customType\"",
            "\"stopReason\"",
            "\"data\"",
            "\"label\"",
            r#""\u0069d""#,
            r#""n\u0061me""#,
            "\"x\"",
        ];
        let key = proptest::sample::select(words.to_vec());
        let scalars = [
            "null",
            "\"message\"",
            "\"user\"",
            "1e999",
            r#""\ud800""#,
            "\"2025-01-01T00:00:00.000Z\"",
            "\"é\"",
            "0",
            "{}",
        ];
        let scalar = proptest::sample::select(scalars.to_vec()).prop_map(str::to_owned);
        scalar.prop_recursive(3, 24, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec((key.clone(), inner.clone()), 0..8).prop_map(|members| {
                    let members: Vec<_> = members.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
                proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_readings_agree(line in lines(), cut in any::<prop::sample::Index>(), is_cut in any::<bool>()) {
            let bytes = line.as_bytes();
            let bytes = if is_cut { &bytes[..cut.index(bytes.len() + 1)] } else { bytes };
            prop_assert_eq!(read(bytes), read_simple(bytes));
        }
    }

    #[test]
    fn members_of_the_message_are_not_mixed_up_with_those_of_others() {
        let line =
            br#"{"other":{"role":"user"},"message":{"model":"m","x":{"role":"no"}},"type":"message","model":"top"}"#;
        let Read::Object(object) = read(line) else { panic!("not an object") };
        assert_eq!((object.role(), object.kind()), (Role::None, Kind::Message));
        assert_eq!(object.message.model.and_then(Raw::as_string).as_deref(), Some("m"));
        assert_eq!(object.model.and_then(Raw::as_string).as_deref(), Some("top"));
        let Read::Object(object) = read(br#"{"message":{"role":"user"},"message":5}"#) else { panic!("not an object") };
        assert_eq!(object.message, Message::default());
    }
}
