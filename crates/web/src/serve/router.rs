//! Which address leads where.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use sessile::json::ObjectWriter;

use super::app::App;
use super::assets;
use super::counts::Counts;
use super::form::Form;
use super::reply::{json, page, refusal, reply};
use super::stream::stream;
use super::{copy, family, home, live, pins, search, secrets, session, stats, write};

type Shared = State<Arc<App>>;

/// The routes. Every request has passed the gate before.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/rows", get(rows))
        .route("/search", get(find))
        .route("/hits", get(hits))
        .route("/s/{key}", get(show))
        .route("/stats", get(statistics))
        .route("/s/{key}/family", get(show_family))
        .route("/s/{key}/original", get(original))
        .route("/s/{key}/search", get(search_session))
        .route("/s/{key}/events", get(session_events))
        .route("/s/{key}/resume", get(resume))
        .route("/s/{key}/card", get(card))
        .route("/s/{key}/secrets", get(find_secrets))
        .route("/s/{key}/copy", get(redacted_copy))
        .route("/s/{key}/{part}", get(part))
        .route("/events", get(events))
        .route("/statuses", get(statuses))
        .route("/api/token", get(token))
        .route("/api/pin", post(pin))
        .route("/api/{change}", post(write::change))
        .route("/assets/{name}", get(asset))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_allowed)
        .with_state(app)
}

fn form(uri: &Uri) -> Form {
    Form::parse(uri.query().unwrap_or_default())
}

async fn list(State(app): Shared, uri: Uri) -> Response {
    app.run(move |app| page(home::page(app, &form(&uri)))).await
}

async fn rows(State(app): Shared, uri: Uri) -> Response {
    app.run(move |app| page(home::rows(app, &form(&uri)))).await
}

async fn find(State(app): Shared, uri: Uri) -> Response {
    app.run_search(move |app, cancel| page(search::page(app, &form(&uri), cancel))).await
}

async fn hits(State(app): Shared, uri: Uri) -> Response {
    app.run_search(move |app, cancel| page(search::hits(app, &form(&uri), cancel))).await
}

async fn statistics(State(app): Shared, uri: Uri) -> Response {
    let counts = Counts::get(&app).await;
    app.run(move |app| stats::show(app, &form(&uri), &counts)).await
}

async fn show_family(State(app): Shared, Path(key): Path<String>, uri: Uri) -> Response {
    app.run(move |app| family::show(app, &key, &form(&uri))).await
}

async fn show(State(app): Shared, Path(key): Path<String>) -> Response {
    app.run(move |app| session::show(app, &key)).await
}

async fn part(State(app): Shared, Path((key, part)): Path<(String, String)>, uri: Uri) -> Response {
    app.run(move |app| session::part(app, &key, &part, &form(&uri))).await
}

async fn original(State(app): Shared, Path(key): Path<String>) -> Response {
    app.run(move |app| session::original(app, &key)).await
}

async fn resume(State(app): Shared, Path(key): Path<String>) -> Response {
    app.run(move |app| session::resume(app, &key)).await
}

async fn card(State(app): Shared, Path(key): Path<String>) -> Response {
    app.run(move |app| session::card(app, &key)).await
}

async fn find_secrets(State(app): Shared, Path(key): Path<String>) -> Response {
    app.run_scan(move |app, cancel| secrets::scan(app, &key, cancel)).await
}

async fn redacted_copy(State(app): Shared, Path(key): Path<String>, uri: Uri) -> Response {
    copy::copy(app, &key, &form(&uri)).await
}

async fn search_session(State(app): Shared, Path(key): Path<String>, uri: Uri) -> Response {
    app.run(move |app| session::search(app, &key, &form(&uri))).await
}

/// Sends what is new in a session after the cursor that the page or the browser remembers.
async fn session_events(State(app): Shared, Path(key): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let form = form(&uri);
    live::events(app, key, last.unwrap_or_else(|| form.get("cursor"))).await
}

async fn statuses(State(app): Shared) -> Response {
    app.run(|app| reply(StatusCode::OK, "application/json", home::statuses(app))).await
}

/// Says when the list has changed.
async fn events(State(app): Shared) -> Response {
    let (sender, body) = stream();
    let (mut changes, mut stop) = (app.list.changes(), app.stop.clone());
    tokio::spawn(async move {
        loop {
            let generation = *changes.borrow_and_update();
            if !sender.send(format!("event: list\ndata: {generation}\n\n")).await {
                return;
            }
            if !sender.wait_for(&mut changes, &mut stop, ": \n\n").await {
                return;
            }
        }
    });
    reply(StatusCode::OK, "text/event-stream", body)
}

/// The token that a page sends with each write.
async fn token(State(app): Shared) -> Response {
    let mut out = ObjectWriter::new();
    out.string("token", app.gate.write_token());
    json(out.finish())
}

async fn pin(State(app): Shared, body: Body) -> Response {
    app.write(body, pins::pin).await
}

async fn asset(uri: Uri) -> Response {
    let Some(asset) = assets::find(uri.path()) else { return nowhere().await };
    let mut response = reply(StatusCode::OK, asset.kind, asset.content);
    let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, forever);
    response
}

async fn nowhere() -> Response {
    refusal(StatusCode::NOT_FOUND, "There is no such page.")
}

async fn not_allowed() -> Response {
    refusal(StatusCode::METHOD_NOT_ALLOWED, "This address does not accept that method.")
}
