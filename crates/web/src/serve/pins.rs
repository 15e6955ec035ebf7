//! Pins and unpins sessions.

use axum::http::StatusCode;
use axum::response::Response;
use sessile::json::{Json, ObjectWriter, Raw};

use super::app::App;
use super::reply::{json, refusal};

/// Answers `{"key": …, "pinned": …}`.
pub(crate) fn pin(app: &App, asked: &Json) -> Response {
    let key = asked.raw().get("key").and_then(Raw::as_string);
    let is_pinned = asked.raw().get("pinned").and_then(Raw::as_bool);
    let (Some(key), Some(is_pinned)) = (key, is_pinned) else {
        return refusal(StatusCode::BAD_REQUEST, "The request needs `key` and `pinned`.");
    };
    let list = app.list.snapshot();
    let Some(row) = list.find(&key) else { return refusal(StatusCode::NOT_FOUND, "There is no such session.") };
    if let Err(error) = app.sessions.pin(&row.id, is_pinned) {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
    }
    app.list.touch();
    let mut out = ObjectWriter::new();
    out.bool("pinned", is_pinned);
    json(out.finish())
}
