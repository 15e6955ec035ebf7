//! Conversions from and to serde (feature `serde`).
//!
//! Session files hold values that `serde_json::Value` cannot represent, see [`json`](crate::json). Serialising
//! therefore copies the text of a value, and deserialising a [`Json`] keeps the text. Both take any depth, because
//! `serde_json` skips over raw text without recursion. Conversions into other types fail beyond 128 levels.

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::date::Timestamp;
use crate::entry::Entry;
use crate::header::Header;
use crate::json::{Json, Raw, print};
use crate::message::Message;
use crate::{EntryId, SessionId};

/// Writes the text of the value unchanged, for serialisers of `serde_json`.
///
/// Formats other than JSON have no raw text. Give them the result of [`to_value`](Raw::to_value).
impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_text();
        let raw: &RawValue = serde_json::from_str(&text).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl Raw<'_> {
    /// Reads the value as one of your types. Needs the feature `serde`.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use serde::Deserialize;
    /// use sessile::json::Raw;
    ///
    /// #[derive(Deserialize)]
    /// struct Arguments {
    ///     path: String,
    /// }
    ///
    /// let raw = Raw::parse(br#"{"path":"src/main.rs","limit":20}"#)?;
    /// assert_eq!(raw.deserialize::<Arguments>()?.path, "src/main.rs");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Fails for anything that `serde_json` rejects: a shape that does not match, more than 128 levels, a lone
    /// surrogate in a string, a number beyond the range of the target type.
    pub fn deserialize<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.to_text())
    }

    /// The value for `serde_json`. Needs the feature `serde`.
    ///
    /// Fails as [`deserialize`](Self::deserialize) does.
    pub fn to_value(self) -> Result<Value, serde_json::Error> {
        self.deserialize()
    }
}

impl TryFrom<Raw<'_>> for Value {
    type Error = serde_json::Error;

    fn try_from(raw: Raw<'_>) -> Result<Self, Self::Error> {
        raw.to_value()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw().serialize(serializer)
    }
}

/// Keeps the text of the value, if the deserialiser is one of `serde_json`.
impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(de::Error::custom)
    }
}

/// Prints the value as JavaScript does.
///
/// ```
/// # use sessile_core as sessile;
/// use serde_json::json;
/// use sessile::json::Json;
///
/// let message = Json::from(json!({"role": "user", "content": "Hello"}));
/// assert_eq!(message.raw().get("content").unwrap().as_text().unwrap(), "Hello");
/// ```
///
/// `serde_json` sorts the keys of its objects unless your program enables its feature `preserve_order`.
impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        print(Raw::trusted(value.to_string().as_bytes()))
    }
}

impl TryFrom<&Json> for Value {
    type Error = serde_json::Error;

    fn try_from(json: &Json) -> Result<Self, Self::Error> {
        json.to_value()
    }
}

impl TryFrom<Json> for Value {
    type Error = serde_json::Error;

    fn try_from(json: Json) -> Result<Self, Self::Error> {
        json.to_value()
    }
}

impl Json {
    /// The JSON of any serialisable value, printed as JavaScript prints it. Needs the feature `serde`.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use serde::Serialize;
    /// use sessile::json::Json;
    ///
    /// #[derive(Serialize)]
    /// struct Message {
    ///     role: &'static str,
    ///     content: &'static str,
    /// }
    ///
    /// let message = Json::from_serialize(&Message { role: "user", content: "Hello" })?;
    /// assert_eq!(message.to_text(), r#"{"role":"user","content":"Hello"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Fails where the value's own serialisation fails, such as a map whose keys are not strings.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_vec(value)?;
        // Checked, because a type can write raw text that is not JSON.
        let raw = Raw::parse(&text).map_err(<serde_json::Error as ser::Error>::custom)?;
        Ok(print(raw))
    }

    /// The value for `serde_json`, see [`Raw::to_value`]. Needs the feature `serde`.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        self.raw().to_value()
    }
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw().serialize(serializer)
    }
}

impl Message<'_> {
    /// Reads the message as one of your types, see [`Raw::deserialize`]. Needs the feature `serde`.
    pub fn deserialize<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        self.raw().deserialize()
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw().serialize(serializer)
    }
}

/// Accepts any value, as a session file does.
impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// Writes a string. An id with a lone surrogate, which no other program writes, becomes raw text.
impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.as_wtf8()) {
            Ok(id) => serializer.serialize_str(id),
            Err(_) => self.to_json().serialize(serializer),
        }
    }
}

/// Reads a string. Fails for a lone surrogate.
impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;

        impl Visitor<'_> for Id {
            type Value = EntryId;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the id of an entry")
            }

            fn visit_str<E: de::Error>(self, id: &str) -> Result<EntryId, E> {
                Ok(EntryId::from(id))
            }
        }

        deserializer.deserialize_str(Id)
    }
}

/// Writes a string.
impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Reads a string.
impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Writes the milliseconds as a number.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.as_ms())
    }
}

/// Reads whole milliseconds.
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_ms)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::entry::Payload;

    /// Values that `serde_json::Value` would change or reject.
    const ODD_VALUES: [&str; 6] = [
        r#"{"b":1.0,"a":12345678901234567890123}"#,
        r#"{"a":1,"a":2}"#,
        r#""\ud800""#,
        "[1e999,-0,1E2]",
        r#"{"escaped\u0041":"\u00e9"}"#,
        "[ ]",
    ];

    #[test]
    fn texts_are_kept_both_ways() {
        for text in ODD_VALUES {
            let json: Json = serde_json::from_str(text).unwrap();
            assert_eq!(json.to_text(), text);
            assert_eq!(serde_json::to_string(&json).unwrap(), text);
            assert_eq!(serde_json::to_string(&[json.raw()]).unwrap(), format!("[{text}]"));
            let entry: Entry = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&entry).unwrap(), text);
        }
        assert!(serde_json::from_str::<Json>("{\"a\":tru}").is_err());
        // Bytes that are not UTF-8 read as JavaScript reads them.
        let broken = Json::parse(b"\"a\xff\"").unwrap();
        assert_eq!(serde_json::to_string(&broken).unwrap(), "\"a\u{fffd}\"");
    }

    #[test]
    fn values_go_in_and_out() {
        let value =
            json!({"role": "user", "content": [{"type": "text", "text": "é\n"}], "n": [1.0, -0.0, 1e300, null]});
        let json = Json::from(value.clone());
        assert_eq!(
            json.to_text(),
            r#"{"content":[{"type":"text","text":"é\n"}],"n":[1,0,1e+300,null],"role":"user"}"#
                .replace(r#"{"type":"text","text":"é\n"}"#, r#"{"text":"é\n","type":"text"}"#)
        );
        assert_eq!(json, Json::from_serialize(&value).unwrap());
        assert_eq!(Value::try_from(&json).unwrap()["content"], value["content"]);
        assert_eq!(serde_json::to_value(&json).unwrap(), json.to_value().unwrap());
        assert_eq!(serde_json::from_value::<Json>(json!({"a": [true]})).unwrap().to_text(), r#"{"a":[true]}"#);
        for text in [r#""\ud800""#, "1e999"] {
            assert!(Json::parse(text).unwrap().to_value().is_err(), "{text}");
        }
    }

    #[test]
    fn messages_are_read_as_own_types() {
        #[derive(Deserialize, Debug, PartialEq)]
        #[serde(tag = "role", rename_all = "camelCase")]
        enum Own {
            User { content: String },
            Assistant { model: String },
        }
        let entry = Entry::new(json!({"type": "message", "message": {"role": "user", "content": "hi"}}).into());
        let Payload::Message(message_entry) = entry.payload() else { panic!() };
        let message = message_entry.message().unwrap();
        assert_eq!(message.deserialize::<Own>().unwrap(), Own::User { content: "hi".to_owned() });
        assert_eq!(serde_json::to_string(&message).unwrap(), message.raw().to_text());
        assert_eq!(serde_json::to_string(&message_entry).unwrap(), entry.raw().to_text());
        let error = Json::parse(r#"{"role":"assistant"}"#).unwrap().raw().deserialize::<Own>().unwrap_err();
        assert_eq!(error.to_string(), "missing field `model`");
        let header = Header::compose("s", "t", "/", None);
        assert_eq!(serde_json::to_string(&header).unwrap(), header.json().to_text());
    }

    #[test]
    fn depth_costs_no_stack() {
        let text = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let json: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert_eq!(Json::from_serialize(&json).unwrap(), json);
        let error = json.to_value().unwrap_err();
        assert!(error.to_string().starts_with("recursion limit exceeded"), "{error}");
        assert!(serde_json::to_value(&json).is_err());
        assert!(json.raw().deserialize::<Vec<Value>>().is_err());
    }

    #[test]
    fn ids_are_strings_and_keys() {
        let ids = BTreeMap::from([(EntryId::from("a1"), EntryId::from("a rather long id, not inline"))]);
        let text = serde_json::to_string(&ids).unwrap();
        assert_eq!(text, r#"{"a1":"a rather long id, not inline"}"#);
        assert_eq!(serde_json::from_str::<BTreeMap<EntryId, EntryId>>(&text).unwrap(), ids);
        assert!(serde_json::from_str::<EntryId>("7").is_err());
        let lone = Entry::new(Json::parse(r#"{"id":"\ud800"}"#).unwrap()).id().unwrap();
        assert_eq!(serde_json::to_string(&lone).unwrap(), r#""\ud800""#);
        assert!(serde_json::from_str::<EntryId>(r#""\ud800""#).is_err());
        let session = BTreeMap::from([(SessionId::from("a"), SessionId::from("é"))]);
        assert_eq!(serde_json::to_string(&session).unwrap(), r#"{"a":"é"}"#);
        assert_eq!(serde_json::from_str::<BTreeMap<SessionId, SessionId>>(r#"{"a":"é"}"#).unwrap(), session);
        assert!(serde_json::from_str::<SessionId>("7").is_err());
    }

    #[test]
    fn times_are_numbers() {
        let time = Timestamp::from_ms(-1_735_689_600_000);
        assert_eq!(serde_json::to_string(&time).unwrap(), "-1735689600000");
        assert_eq!(serde_json::from_str::<Timestamp>("-1735689600000").unwrap(), time);
        assert!(serde_json::from_str::<Timestamp>("1.5").is_err());
    }

    #[test]
    fn raw_text_that_is_not_json_is_refused() {
        struct Fake;
        impl Serialize for Fake {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let mut raw = serializer.serialize_struct("$serde_json::private::RawValue", 1)?;
                raw.serialize_field("$serde_json::private::RawValue", "{]")?;
                raw.end()
            }
        }
        assert!(Json::from_serialize(&Fake).is_err());
    }

    proptest! {
        #[test]
        fn any_valid_text_survives(text in r#"[\[\]{}",:0-9a-e.+\-\\utrn ]{0,24}"#) {
            if let Ok(json) = Json::parse(&text) {
                let written = serde_json::to_string(&json).unwrap();
                prop_assert_eq!(&written, &*json.to_text());
                prop_assert_eq!(serde_json::from_str::<Json>(&written).unwrap(), json);
            }
        }
    }
}
