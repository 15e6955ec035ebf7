//! Responses.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};
use sessile::json::Json;

use crate::html::Text;

/// What a page may load and run: only what this server sends, and nothing inside the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// A response with a body of this type.
pub(crate) fn reply(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A file to save. Only harmless characters of its name stay: an id may be any text.
pub(crate) fn attachment(name: &str, extension: &str, kind: &'static str, body: impl Into<Body>) -> Response {
    let name: String = name.chars().filter(|char| char.is_ascii_alphanumeric() || "-_.".contains(*char)).collect();
    let name = if name.is_empty() { "session" } else { &name };
    let mut response = reply(StatusCode::OK, kind, body);
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.{extension}\"")) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// A page, or a part of one.
pub(crate) fn page(markup: Markup) -> Response {
    reply(StatusCode::OK, "text/html; charset=utf-8", markup.into_string())
}

/// A JSON value.
pub(crate) fn json(value: Json) -> Response {
    reply(StatusCode::OK, "application/json", value.into_bytes())
}

/// A short page that says why there is nothing else. It refers to no other file, so it needs no cookie.
pub(crate) fn refusal(status: StatusCode, reason: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="dark light";
                title { (title) }
                link rel="icon" href="data:,";
            }
            body { main { h1 { (title) } p { (Text(reason)) } p { a href="/" { "All sessions" } } } }
        }
    };
    reply(status, "text/html; charset=utf-8", markup.into_string())
}

/// Adds the headers that every response has.
pub(crate) fn finished(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
