//! Messages to the client.

use sessile::json::{Json, ObjectWriter};

use super::message::Id;
use super::revision::{LEGACY, Revision, supported};
use crate::budget::Answer;
use crate::completion::Values;
use crate::prompts;
use crate::resources::{ResourcePage, TEMPLATES, TEXT_TYPE};
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
    /// Before the revision of 2026, which uses the code for bad parameters.
    NoSuchResource,
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
            Self::NoSuchResource => -32002,
        }
    }
}

/// How long a client may keep definitions, in milliseconds. They do not change while the server runs.
const DEFINITIONS_FRESH_MS: i64 = 3_600_000;

/// How long a client may keep what it has read of sessions, in milliseconds.
const HISTORY_FRESH_MS: i64 = 5_000;

/// The code for a resource that does not exist.
pub(crate) fn no_such_resource(revision: Revision) -> Code {
    if revision.is_stateless() { Code::BadParams } else { Code::NoSuchResource }
}

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

fn capabilities(revision: Revision) -> Json {
    let nothing = object(|_| {});
    object(|out| {
        out.raw("tools", nothing.raw()).raw("resources", nothing.raw()).raw("prompts", nothing.raw());
        if revision.has_completions() {
            out.raw("completions", nothing.raw());
        }
    })
}

/// How long and by whom a result may be kept.
fn put_caching(out: &mut ObjectWriter, revision: Revision, fresh_ms: i64) {
    if revision.is_stateless() {
        out.integer("ttlMs", fresh_ms).string("cacheScope", "private");
    }
}

/// The result of `initialize`.
pub(crate) fn initialized(revision: Revision) -> Json {
    result(revision.min(LEGACY), |out| {
        out.string("protocolVersion", revision.word()).raw("capabilities", capabilities(revision).raw());
        out.raw("serverInfo", server_info().raw()).string("instructions", INSTRUCTIONS);
    })
}

/// The result of `server/discover`.
pub(crate) fn discovered(revision: Revision) -> Json {
    result(revision, |out| {
        let known: Vec<Json> = supported().into_iter().map(Json::string).collect();
        out.array("supportedVersions", known.iter().map(Json::raw)).raw("capabilities", capabilities(revision).raw());
        out.string("instructions", INSTRUCTIONS);
        put_caching(out, revision, DEFINITIONS_FRESH_MS);
        let meta = object(|out| {
            out.raw("io.modelcontextprotocol/serverInfo", server_info().raw());
        });
        out.raw("_meta", meta.raw());
    })
}

/// A list of definitions.
fn definition_list(revision: Revision, key: &str, definitions: &[Json]) -> Json {
    result(revision, |out| {
        out.array(key, definitions.iter().map(Json::raw));
        put_caching(out, revision, DEFINITIONS_FRESH_MS);
    })
}

/// The result of `tools/list`.
pub(crate) fn tools(revision: Revision) -> Json {
    definition_list(revision, "tools", &definitions(revision.has_annotations(), revision.has_structure()))
}

/// The result of `prompts/list`.
pub(crate) fn prompt_list(revision: Revision) -> Json {
    definition_list(revision, "prompts", &prompts::definitions())
}

/// The result of `resources/templates/list`.
pub(crate) fn templates(revision: Revision) -> Json {
    let template = |(uri, name, description): (&str, &str, &str)| {
        object(|out| {
            out.string("uriTemplate", uri).string("name", name).string("description", description);
            out.string("mimeType", TEXT_TYPE);
        })
    };
    definition_list(revision, "resourceTemplates", &TEMPLATES.map(template))
}

/// The result of `prompts/get`.
pub(crate) fn prompt_message(revision: Revision, description: &str, text: &str) -> Json {
    let message = object(|out| {
        out.string("role", "user").raw("content", content(text).raw());
    });
    result(revision, |out| {
        out.string("description", description).array("messages", [message.raw()]);
    })
}

/// The result of `resources/list`.
pub(crate) fn resource_list(revision: Revision, page: &ResourcePage) -> Json {
    result(revision, |out| {
        out.array("resources", page.resources.iter().map(Json::raw));
        if let Some(next) = &page.next {
            out.string("nextCursor", next);
        }
        put_caching(out, revision, HISTORY_FRESH_MS);
    })
}

/// The result of `resources/read`.
pub(crate) fn resource_contents(revision: Revision, uri: &str, text: &str) -> Json {
    let contents = object(|out| {
        out.string("uri", uri).string("mimeType", TEXT_TYPE).string("text", text);
    });
    result(revision, |out| {
        out.array("contents", [contents.raw()]);
        put_caching(out, revision, HISTORY_FRESH_MS);
    })
}

/// The result of `completion/complete`.
pub(crate) fn completed(revision: Revision, found: &Values) -> Json {
    let values: Vec<Json> = found.values.iter().map(|value| Json::string(value)).collect();
    let completion = object(|out| {
        out.array("values", values.iter().map(Json::raw));
        out.integer("total", i64::try_from(found.total).unwrap_or(i64::MAX));
        out.bool("hasMore", found.total > found.values.len());
    });
    result(revision, |out| {
        out.raw("completion", completion.raw());
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
