//! Sessions as resources, for clients whose users attach them to a conversation.
//!
//! A resource has the text of a tool: the same frames, the same budget, and the same sessions.

use sessile::date::to_iso;
use sessile::json::{Json, ObjectWriter};
use sessile::list::SessionInfo;

use crate::cursor::{Cursor, item};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::history::History;
use crate::names::attribute;
use crate::outgoing::Outgoing;
use crate::tools::{Tool, tool};

const SCHEME: &str = "sessile://";

/// The list of recent sessions.
const RECENT: &str = "sessile://recent";

/// The templates: their address, their name, and what they are.
pub(crate) const TEMPLATES: [(&str, &str, &str); 3] = [
    ("sessile://session/{session}", "session", "Overview of an earlier session"),
    ("sessile://session/{session}/entry/{entry}", "entry", "One entry of an earlier session"),
    ("sessile://session/{session}/branch/{entry}", "branch", "The conversation that ends with an entry"),
];

/// The sessions on a page of the list.
const PAGE: usize = 20;

/// The characters of a title.
const MAX_TITLE: usize = 120;

/// The longest address, in bytes. It comes back in the answer, which has a limit.
const MAX_URI: usize = 1_000;

/// The form of all texts.
pub(crate) const TEXT_TYPE: &str = "text/markdown";

/// The tool that reads a resource, and its arguments; `None` if there is no such resource.
pub(crate) fn reading(uri: &str) -> Option<(&'static Tool, Json)> {
    if uri.len() > MAX_URI {
        return None;
    }
    let parts: Vec<String> = uri.strip_prefix(SCHEME)?.split('/').map(decoded).collect::<Option<_>>()?;
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut arguments = ObjectWriter::new();
    let name = match words.as_slice() {
        ["recent"] => "list_sessions",
        ["session", session] => {
            arguments.string("session", session);
            "get_session"
        }
        ["session", session, kind @ ("entry" | "branch"), entry] => {
            arguments.string("session", session).string("entry", entry);
            if *kind == "entry" { "read_entry" } else { "read_branch" }
        }
        _ => return None,
    };
    Some((tool(name)?, arguments.finish()))
}

/// A part of an address without its escapes.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)?.try_into().ok());
        let decoded: Option<u8> = match byte {
            b'%' => digit(rest.next()).zip(digit(rest.next())).map(|(high, low): (u8, u8)| high * 16 + low),
            byte => Some(byte),
        };
        bytes.push(decoded?);
    }
    String::from_utf8(bytes).ok().filter(|part| !part.is_empty())
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let mut out = String::with_capacity(text.len());
    for byte in text.as_bytes() {
        if is_plain(byte) {
            out.push(char::from(*byte));
        } else {
            out.extend(["%", &format!("{byte:02X}")]);
        }
    }
    out
}

/// A page of the list: the resources, and the cursor of the next page.
pub(crate) struct ResourcePage {
    pub(crate) resources: Vec<Json>,
    pub(crate) next: Option<String>,
}

/// What cursors of the list belong to.
fn list_question() -> u64 {
    item("resources/list")
}

/// Whether a cursor may be one of the list.
pub(crate) fn is_cursor(text: &str) -> bool {
    Cursor::read(text, list_question()).is_some()
}

/// A page of the list of resources: the most recent sessions, and on the first page the list of them.
pub(crate) fn list(
    history: &History,
    outgoing: &Outgoing<'_>,
    deadline: &Deadline<'_>,
    cursor: Option<&str>,
    has_times: bool,
) -> Result<ResourcePage, Failure> {
    let sessions = history.list_shown(history.widest(), deadline)?;
    let after = cursor.and_then(|cursor| Cursor::read(cursor, list_question()));
    let item_of = |session: &SessionInfo| item(&session.path.to_string_lossy());
    let start = match after {
        None => 0,
        Some(after) => {
            let at = sessions.iter().position(|session| item_of(session) == after);
            at.ok_or_else(Failure::list_changed)? + 1
        }
    };
    let page = sessions.get(start..).unwrap_or_default();
    let mut resources = Vec::new();
    if start == 0 {
        resources.push(resource(RECENT, "Recent sessions", None));
    }
    for session in page.iter().take(PAGE) {
        let title = session.name.as_ref().unwrap_or(&session.first_message);
        let title = attribute(outgoing.line(&title.to_str(), MAX_TITLE).as_str());
        let uri = format!("sessile://session/{}", encoded(session.id.as_str()));
        let modified = has_times.then(|| to_iso(session.modified));
        resources.push(resource(&uri, &title, modified.as_deref()));
    }
    let last = page.get(PAGE - 1).filter(|_| page.len() > PAGE);
    Ok(ResourcePage { resources, next: last.map(|last| Cursor::new(list_question(), item_of(last)).to_text()) })
}

fn resource(uri: &str, name: &str, modified: Option<&str>) -> Json {
    let mut out = ObjectWriter::new();
    out.string("uri", uri).string("name", name).string("mimeType", TEXT_TYPE);
    let mut annotations = ObjectWriter::new();
    annotations.array("audience", [Json::string("assistant").raw()]);
    if let Some(modified) = modified {
        annotations.string("lastModified", modified);
    }
    out.raw("annotations", annotations.finish().raw()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_tool_and_its_arguments() {
        let of = |uri: &str| reading(uri).map(|(tool, arguments)| (tool.name, arguments.to_text().into_owned()));
        assert_eq!(of(RECENT), Some(("list_sessions", "{}".to_owned())));
        assert_eq!(of("sessile://session/a%20b"), Some(("get_session", r#"{"session":"a b"}"#.to_owned())));
        let entry = Some(("read_entry", r#"{"session":"a","entry":"@leaf"}"#.to_owned()));
        assert_eq!(of("sessile://session/a/entry/%40leaf"), entry);
        assert_eq!(of("sessile://session/a/branch/b").map(|(tool, _)| tool), Some("read_branch"));
        for wrong in
            ["", "recent", "sessile://", "sessile://session/", "sessile://session/a/b", "sessile://session/%G0"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        for text in ["a b/é", "%41", "0190a1b2"] {
            assert_eq!(decoded(&encoded(text)).as_deref(), Some(text));
        }
    }
}
