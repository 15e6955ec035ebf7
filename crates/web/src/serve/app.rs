//! What all requests share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{LOCATION, REFRESH, SET_COOKIE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use sessile::json::Json;
use sessile::{Cancel, Sessions};
use tokio::sync::watch;

use super::counts::Counts;
use super::form::Form;
use super::gate::{Asked, Gate, MAX_BODY, Refused};
use super::list::List;
use super::live::Live;
use super::pool::{NoResult, Pool};
use super::reply::refusal;
use super::session::OpenSessions;
use super::write::ResolveSummarizer;

/// How long the body of a request may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// What all requests share.
pub(crate) struct App {
    pub(crate) sessions: Sessions,
    pub(crate) list: List,
    pub(crate) open_sessions: Arc<OpenSessions>,
    /// The sessions that pages follow.
    pub(crate) live: Arc<Live>,
    pub(crate) counts: Counts,
    pub(crate) is_read_only: bool,
    pub(crate) gate: Gate,
    /// Threads for answers that take little time.
    pub(crate) pool: Pool,
    /// Threads for searches, which may take longer, so that other answers do not wait for them.
    pub(crate) search_pool: Pool,
    /// Threads for summaries, which may wait for a model.
    pub(crate) summary_pool: Pool,
    /// Threads for scans for secrets, and for copies without them, which read whole sessions.
    pub(crate) scan_pool: Pool,
    pub(crate) resolve_summarizer: Box<ResolveSummarizer>,
    /// The command that continues a session, with `{path}` for its file.
    pub(crate) resume_command: String,
    /// Becomes true when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
    /// Called with the link for the next browser after a browser has signed in.
    pub(crate) on_sign_in: Box<dyn Fn(&str) + Send + Sync>,
    /// The address without a path.
    pub(crate) origin: String,
}

/// Cancels work that no client waits for any more.
pub(crate) struct CancelOnDrop(pub(crate) Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl App {
    /// Runs the work of a request on another thread.
    pub(crate) async fn run(self: &Arc<Self>, work: impl FnOnce(&Self) -> Response + Send + 'static) -> Response {
        let app = Arc::clone(self);
        answered(self.pool.run(move || work(&app)).await)
    }

    /// Runs a search on another thread, until the client leaves.
    pub(crate) async fn run_search(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Cancel) -> Response + Send + 'static,
    ) -> Response {
        let app = Arc::clone(self);
        let guard = CancelOnDrop(Cancel::default());
        let cancel = guard.0.clone();
        answered(self.search_pool.run(move || work(&app, &cancel)).await)
    }

    /// Runs a scan for secrets on another thread, until the client leaves.
    pub(crate) async fn run_scan(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Cancel) -> Response + Send + 'static,
    ) -> Response {
        let app = Arc::clone(self);
        let guard = CancelOnDrop(Cancel::default());
        let cancel = guard.0.clone();
        answered(self.scan_pool.run(move || work(&app, &cancel)).await)
    }

    /// Runs a write on another thread, with the JSON of its body.
    pub(crate) async fn write(
        self: &Arc<Self>,
        body: Body,
        work: impl FnOnce(&Self, &Json) -> Response + Send + 'static,
    ) -> Response {
        match self.json_of(body).await {
            Ok(json) => self.run(move |app| work(app, &json)).await,
            Err(response) => response,
        }
    }

    /// The JSON of a request, or the response to a body that is none.
    pub(crate) async fn json_of(&self, body: Body) -> Result<Json, Response> {
        let Ok(read) = tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY)).await else {
            return Err(refusal(StatusCode::REQUEST_TIMEOUT, "The request took too long."));
        };
        let Ok(bytes) = read else {
            return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large."));
        };
        Json::parse(&bytes).map_err(|_not_json| refusal(StatusCode::BAD_REQUEST, "The request is not JSON."))
    }

    /// The result of work on another thread, or the response if there is none.
    pub(crate) async fn result_of<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Response> {
        let app = Arc::clone(self);
        self.pool.run(move || work(&app)).await.map_err(no_result)
    }

    /// Like [`result_of`](Self::result_of), for work that may write a summary. It is cancelled if the client leaves.
    pub(crate) async fn run_summary<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Cancel) -> T + Send + 'static,
    ) -> Result<T, Response> {
        let app = Arc::clone(self);
        let guard = CancelOnDrop(Cancel::default());
        let cancel = guard.0.clone();
        self.summary_pool.run(move || work(&app, &cancel)).await.map_err(no_result)
    }

    /// Answers a request that must not reach its route, or that signs in; `None` for any other.
    pub(crate) async fn intercept<B>(&self, request: &Request<B>) -> Option<Response> {
        let asked = Asked { method: request.method(), uri: request.uri(), headers: request.headers() };
        let result = self.check(asked);
        match result {
            Ok(answer) => answer,
            Err(refused) => {
                let delay = if refused.is_guess { self.gate.count_wrong(Instant::now()) } else { Duration::ZERO };
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                Some(refusal(refused.status, refused.reason))
            }
        }
    }

    fn check(&self, asked: Asked<'_>) -> Result<Option<Response>, Refused> {
        self.gate.check_origin(asked)?;
        let signed_in = self.gate.check_cookie(asked.headers);
        if asked.is_sign_in() {
            if signed_in.is_err() {
                let form = Form::parse(asked.uri.query().unwrap_or_default());
                self.gate.sign_in(form.get("token"))?;
                (self.on_sign_in)(&format!("{}{}", self.origin, self.gate.link()));
            }
            return Ok(Some(self.signed_in(asked)));
        }
        signed_in?;
        if asked.method == Method::POST {
            self.gate.check_write(asked)?;
        }
        Ok(None)
    }

    /// Sets the cookie, and leads to an address without a token.
    fn signed_in(&self, asked: Asked<'_>) -> Response {
        let mut response = if asked.needs_own_page() {
            // After a redirect, the browser would still regard the request as one of the other site and would not
            // send the cookie. A page of ours makes the next request one of this site.
            let mut page = refusal(StatusCode::OK, "You are signed in.");
            page.headers_mut().insert(REFRESH, HeaderValue::from_static("0; url=/"));
            page
        } else {
            let mut redirect = Response::new(Body::empty());
            *redirect.status_mut() = StatusCode::SEE_OTHER;
            redirect.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
            redirect
        };
        if let Ok(mut cookie) = HeaderValue::from_str(&self.gate.set_cookie()) {
            cookie.set_sensitive(true);
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }
}

fn answered(result: Result<Response, NoResult>) -> Response {
    result.unwrap_or_else(no_result)
}

fn no_result(reason: NoResult) -> Response {
    match reason {
        NoResult::Busy => refusal(StatusCode::SERVICE_UNAVAILABLE, "The server is busy. Try again."),
        NoResult::Failed => refusal(StatusCode::INTERNAL_SERVER_ERROR, "The request failed because of a bug."),
    }
}
