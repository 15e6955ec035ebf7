//! Messages from the client.

use sessile::json::{Json, Raw, Shape};

/// The longest id. Each id comes back in the answer, which has a limit.
const MAX_ID: usize = 256;

/// The id of a request, as the client wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id(Json);

impl Id {
    /// A string or a number of reasonable length.
    pub(crate) fn new(raw: Raw<'_>) -> Option<Self> {
        let is_id = matches!(raw.shape(), Shape::String | Shape::Number) && raw.as_bytes().len() <= MAX_ID;
        // As text it must be valid UTF-8 and on one line.
        let text = std::str::from_utf8(raw.as_bytes()).ok().filter(|_| is_id)?;
        Json::parse(text).ok().map(Self)
    }

    pub(crate) fn raw(&self) -> Raw<'_> {
        self.0.raw()
    }

    /// The text that distinguishes requests.
    pub(crate) fn key(&self) -> &[u8] {
        self.0.raw().as_bytes()
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'m> {
    pub(crate) method: &'m str,
    pub(crate) params: Option<Raw<'m>>,
}

/// What a client sent.
#[derive(Debug)]
pub(crate) enum Message<'m> {
    /// It expects an answer.
    Request(Id, Request<'m>),
    /// It expects none.
    Notification(Request<'m>),
    /// An answer. This server asks nothing.
    Response,
    /// Several messages.
    Batch(Vec<Raw<'m>>),
}

/// A value that is not a message. The id is known if it could be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAMessage {
    pub(crate) id: Option<Id>,
    pub(crate) reason: &'static str,
}

/// Reads a value as a message. The method is a copy, because it may be escaped.
pub(crate) fn read<'m>(value: Raw<'m>, method: &'m mut String) -> Result<Message<'m>, NotAMessage> {
    if value.shape() == Shape::Array {
        return Ok(Message::Batch(value.items().collect()));
    }
    let wrong = |id, reason| Err(NotAMessage { id, reason });
    if value.shape() != Shape::Object {
        return wrong(None, "a message is an object");
    }
    let [version, id, named, params, result, error] =
        value.pick(["jsonrpc", "id", "method", "params", "result", "error"]);
    let id_given = id;
    let id = id.and_then(Id::new);
    if version.and_then(Raw::as_string).as_deref() != Some("2.0") {
        return wrong(id, "jsonrpc must be \"2.0\"");
    }
    let Some(named) = named else {
        let is_response = result.is_some() || error.is_some();
        return if is_response { Ok(Message::Response) } else { wrong(id, "method is missing") };
    };
    let Some(name) = named.as_string() else { return wrong(id, "method must be a string") };
    *method = name;
    let request = Request { method, params };
    match (id, id_given) {
        (Some(id), _) => Ok(Message::Request(id, request)),
        (None, None) => Ok(Message::Notification(request)),
        (None, Some(_)) => wrong(None, "id must be a short string or a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> String {
        let mut method = String::new();
        match read(Raw::parse(text.as_bytes()).unwrap(), &mut method) {
            Ok(Message::Request(id, request)) => format!("{} {}", id.raw().to_text(), request.method),
            Ok(Message::Notification(request)) => format!("notified {}", request.method),
            Ok(Message::Response) => "response".to_owned(),
            Ok(Message::Batch(items)) => format!("batch of {}", items.len()),
            Err(error) => format!("{:?} {}", error.id.map(|id| id.raw().to_text().into_owned()), error.reason),
        }
    }

    #[test]
    fn messages_are_told_apart() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "1 ping"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"p\u0069ng"}"#, "\"a\" ping"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "1.5 ping"),
            (r#"{"jsonrpc":"2.0","method":"ping"}"#, "notified ping"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            ("[1,2]", "batch of 2"),
            ("7", "None a message is an object"),
            (r#"{"id":3,"method":"ping"}"#, "Some(\"3\") jsonrpc must be \"2.0\""),
            (r#"{"jsonrpc":"2.0","id":3}"#, "Some(\"3\") method is missing"),
            (r#"{"jsonrpc":"2.0","id":3,"method":4}"#, "Some(\"3\") method must be a string"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "None id must be a short string or a number"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "None id must be a short string or a number"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
        assert!(kind(&format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "y".repeat(300))).starts_with("None"));
    }
}
