//! The envelopes of requests and responses.

use std::borrow::Cow;

use sessile::json::{Edit, JsText, Json, ObjectWriter, Raw, Shape};

use crate::answer::put_id_or_null;
use crate::failure::Failure;
use crate::frame::Record;

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The whole request.
    pub body: Json,
    /// The requested command, if `type` is a string.
    pub command: Option<String>,
}

/// A record that is not a request, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotARequest(pub Json);

impl Request {
    /// Creates a request for a command, without parameters.
    pub fn new(command: &str) -> Self {
        let mut body = ObjectWriter::new();
        body.string("type", command);
        Self { body: body.finish(), command: Some(command.to_owned()) }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<Json>) -> Self {
        let value = value.into();
        let body = self.body.raw().edited(&[Edit::Set(name, value.raw())]);
        let command = body.raw().get("type").and_then(Raw::as_string);
        Self { body, command }
    }

    /// Parses a record.
    pub fn read(record: Record, max_record: usize) -> Result<Self, NotARequest> {
        let bytes = match record {
            Record::Whole(bytes) => bytes,
            Record::TooLong(length) => {
                return Err(unreadable(&format!("the record has {length} bytes; the limit is {max_record}")));
            }
        };
        if let Err(error) = std::str::from_utf8(&bytes) {
            return Err(unreadable(&format!("not UTF-8 at byte {}", error.valid_up_to())));
        }
        let body = Json::parse(&bytes).map_err(|error| {
            let reason = if error.at >= bytes.len() { "unexpected end of input".to_owned() } else { error.to_string() };
            unreadable(&reason)
        })?;
        let command = body.raw().get("type").and_then(Raw::as_string);
        Ok(Self { body, command })
    }

    /// Returns the id for the answer, exactly as it was sent.
    pub fn id(&self) -> Option<Raw<'_>> {
        self.body.raw().get("id")
    }

    /// Returns a parameter; none if it is absent.
    pub fn parameter(&self, name: &str) -> Option<Raw<'_>> {
        self.body.raw().get(name)
    }

    /// Begins the answer, up to `success`.
    fn beginning(&self) -> ObjectWriter {
        let mut answer = ObjectWriter::new();
        answer.optional("id", self.id()).string("type", "response");
        answer.optional("command", self.body.raw().get("type"));
        answer
    }

    /// Returns a successful answer in three parts: the text before the data, the data, and the text after it.
    pub(crate) fn answer<'d>(&self, data: Option<&'d [u8]>) -> (Vec<u8>, &'d [u8], &'static [u8]) {
        let mut beginning = self.beginning();
        let mut text = beginning.bool("success", true).finish().into_bytes();
        match data {
            None => (text, b"", b""),
            Some(data) => {
                text.pop();
                text.extend_from_slice(b",\"data\":");
                (text, data, b"}")
            }
        }
    }

    /// Returns the answer to a failed request.
    pub(crate) fn refusal(&self, failure: &Failure) -> Json {
        let mut answer = self.beginning();
        answer.bool("success", false).string("error", &failure.message).string("code", failure.code.word());
        if let Some(leaf) = &failure.leaf {
            put_id_or_null(&mut answer, "leafId", leaf.as_ref());
        }
        answer.finish()
    }

    /// Returns the failure for an unknown command.
    pub(crate) fn unknown(&self) -> Failure {
        let command = match self.body.raw().get("type") {
            Some(kind) => kind.to_js_string(),
            None => JsText::from("undefined"),
        };
        Failure::invalid(format!("Unknown command: {command}"))
    }

    /// Whether the request is an object, as it should be.
    pub fn is_object(&self) -> bool {
        self.body.raw().shape() == Shape::Object
    }
}

fn unreadable(reason: &str) -> NotARequest {
    let mut answer = ObjectWriter::new();
    answer
        .string("type", "response")
        .string("command", "parse")
        .bool("success", false)
        .string("error", &format!("Failed to parse command: {reason}"))
        .string("code", "INVALID_ARGUMENT");
    NotARequest(answer.finish())
}

/// Returns the record for a client that cannot be served at all.
pub(crate) fn connection_refusal(failure: &Failure) -> Json {
    let mut answer = ObjectWriter::new();
    answer.string("type", "response").string("command", "connect").bool("success", false);
    answer.string("error", &failure.message).string("code", failure.code.word());
    answer.finish()
}

/// Returns data in UTF-8. Files may contain other bytes; records must not.
pub(crate) fn to_utf8(data: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(data) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> String {
        match Request::read(Record::Whole(text.to_vec()), 100) {
            Ok(request) => request.refusal(&request.unknown()).to_text().into_owned(),
            Err(NotARequest(answer)) => answer.to_text().into_owned(),
        }
    }

    #[test]
    fn answers_repeat_the_id_and_type() {
        for id in ["7", "1.0", r#""a\ud800""#, r#"{"x":[1,null]}"#, "null", "12345678901234567890"] {
            let request = format!(r#"{{"id":{id},"type":"x"}}"#);
            let expected = format!(
                r#"{{"id":{id},"type":"response","command":"x","success":false,"error":"Unknown command: x","code":"INVALID_ARGUMENT"}}"#
            );
            assert_eq!(refused(request.as_bytes()), expected);
        }
        let unknown = |command: &str, shown: &str| {
            format!(
                r#"{{"type":"response"{command},"success":false,"error":"Unknown command: {shown}","code":"INVALID_ARGUMENT"}}"#
            )
        };
        for not_a_command in ["null", "[1]", "7", "true", r#""get_state""#, "{}"] {
            assert_eq!(refused(not_a_command.as_bytes()), unknown("", "undefined"), "{not_a_command}");
        }
        assert_eq!(refused(br#"{"type":5}"#), unknown(r#","command":5"#, "5"));
        assert_eq!(refused(br#"{"type":null}"#), unknown(r#","command":null"#, "null"));
    }

    #[test]
    fn unreadable_requests_get_an_error() {
        for (text, expected) in [
            (&b""[..], "unexpected end of input"),
            (b"not json", "unexpected input at byte 0"),
            (b"{\"a\":1", "unexpected end of input"),
            (b"{\"type\":\"\xff\"}", "not UTF-8 at byte 9"),
        ] {
            let answer = refused(text);
            assert!(answer.contains(r#""command":"parse","success":false"#), "{answer}");
            assert!(answer.contains(expected), "{answer} lacks {expected}");
        }
    }
}
