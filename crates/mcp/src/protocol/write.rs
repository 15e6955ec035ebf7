//! Messages to the client.

use sessile::json::{Json, ObjectWriter};

use super::message::Id;
use super::revision::{LEGACY, Revision, supported};
use crate::budget::Answer;
use crate::tools::{INSTRUCTIONS, definitions};

/// Why a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    NotJson,
    NotARequest,
    NoSuchMethod,
    BadParams,
    /// A bug, or too much work at once.
    Internal,
    UnsupportedRevision,
}

impl Code {
    fn number(self) -> i64 {
        match self {
            Self::NotJson => -32700,
            Self::NotARequest => -32600,
            Self::NoSuchMethod => -32601,
            Self::BadParams => -32602,
            Self::Internal => -32603,
            Self::UnsupportedRevision => -32022,
        }
    }
}

/// How long a client may keep a list of tools, in milliseconds. They do not change while the server runs.
const TOOLS_FRESH_MS: i64 = 3_600_000;

fn object(write: impl FnOnce(&mut ObjectWriter)) -> Json {
    let mut out = ObjectWriter::new();
    write(&mut out);
    out.finish()
}

/// The answer to a request that succeeded.
pub(crate) fn succeeded(id: &Id, result: &Json) -> Json {
    object(|out| {
        out.string("jsonrpc", "2.0").raw("id", id.raw()).raw("result", result.raw());
    })
}

/// The answer to a request that failed, or to something that is not a request.
pub(crate) fn failed(id: Option<&Id>, code: Code, message: &str, requested: Option<&str>) -> Json {
    let error = object(|out| {
        out.integer("code", code.number()).string("message", message);
        if let Some(requested) = requested {
            let data = object(|out| {
                let known: Vec<Json> = supported().into_iter().map(Json::string).collect();
                out.array("supported", known.iter().map(Json::raw)).string("requested", requested);
            });
            out.raw("data", data.raw());
        }
    });
    object(|out| {
        out.string("jsonrpc", "2.0");
        match id {
            Some(id) => out.raw("id", id.raw()),
            None => out.null("id"),
        };
        out.raw("error", error.raw());
    })
}

/// Begins a result. The newest revision says that it is complete.
fn result(revision: Revision, write: impl FnOnce(&mut ObjectWriter)) -> Json {
    object(|out| {
        if revision.is_stateless() {
            out.string("resultType", "complete");
        }
        write(out);
    })
}

/// An empty result.
pub(crate) fn nothing(revision: Revision) -> Json {
    result(revision, |_| {})
}

fn server_info() -> Json {
    object(|out| {
        out.string("name", "sessile").string("version", env!("CARGO_PKG_VERSION"));
    })
}

fn capabilities() -> Json {
    object(|out| {
        out.raw("tools", object(|_| {}).raw());
    })
}

/// How long and by whom a result may be kept.
fn put_caching(out: &mut ObjectWriter, revision: Revision) {
    if revision.is_stateless() {
        out.integer("ttlMs", TOOLS_FRESH_MS).string("cacheScope", "private");
    }
}

/// The result of `initialize`.
pub(crate) fn initialized(revision: Revision) -> Json {
    result(revision.min(LEGACY), |out| {
        out.string("protocolVersion", revision.word()).raw("capabilities", capabilities().raw());
        out.raw("serverInfo", server_info().raw()).string("instructions", INSTRUCTIONS);
    })
}

/// The result of `server/discover`.
pub(crate) fn discovered(revision: Revision) -> Json {
    result(revision, |out| {
        let known: Vec<Json> = supported().into_iter().map(Json::string).collect();
        out.array("supportedVersions", known.iter().map(Json::raw)).raw("capabilities", capabilities().raw());
        out.string("instructions", INSTRUCTIONS);
        put_caching(out, revision);
        let meta = object(|out| {
            out.raw("io.modelcontextprotocol/serverInfo", server_info().raw());
        });
        out.raw("_meta", meta.raw());
    })
}

/// The result of `tools/list`.
pub(crate) fn tools(revision: Revision) -> Json {
    let tools = definitions(revision.has_annotations(), revision.has_structure());
    result(revision, |out| {
        out.array("tools", tools.iter().map(Json::raw));
        put_caching(out, revision);
    })
}

fn content(text: &str) -> Json {
    object(|out| {
        out.string("type", "text").string("text", text);
    })
}

/// The result of `tools/call`.
pub(crate) fn tool_result(revision: Revision, answer: &Answer) -> Json {
    result(revision, |out| {
        out.array("content", [content(&answer.text).raw()]);
        if revision.has_structure() {
            out.raw("structuredContent", answer.structured.raw());
        }
        out.bool("isError", false);
    })
}

/// The result of `tools/call` if the tool has no answer. The model reads the text, and may try again.
pub(crate) fn tool_failed(revision: Revision, text: &str) -> Json {
    result(revision, |out| {
        out.array("content", [content(text).raw()]).bool("isError", true);
    })
}
