//! The page of a session.
//!
//! Further addresses of a session belong below `/s/{key}/` in the router, with their answers here. `Row::path` is the file
//! of the session. `App::run` runs work on another thread, `App::write` does the same for a write, and `stream` makes a
//! body for events.

use axum::http::StatusCode;
use axum::response::Response;
use maud::html;

use super::app::App;
use super::frame::frame;
use super::reply::{page, refusal};
use crate::html::Text;

/// Answers `/s/{key}`.
pub(crate) fn show(app: &App, key: &str) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else {
        return refusal(StatusCode::NOT_FOUND, "There is no such session. It may have been moved or deleted.");
    };
    page(frame(&row.title, "", &html! { h1 { (Text(&row.title)) } }))
}
