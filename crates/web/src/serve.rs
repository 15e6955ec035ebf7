//! Serves the sessions of a store to browsers on this computer.
//!
//! [`Server::start`] listens on 127.0.0.1. One thread handles all connections; the work of a request runs on a bounded
//! number of other threads, so that the engine stays synchronous and a slow client does not hold up the others.
//!
//! Other users and web pages can reach a port of this computer, too. So `gate` checks every request before anything
//! else looks at it; docs/web.md describes what it checks and why.

mod app;
mod assets;
mod chart;
mod connection;
mod copy;
mod counts;
mod family;
mod form;
mod frame;
mod gate;
mod hex;
mod home;
mod list;
mod live;
mod pins;
mod pool;
mod reply;
mod router;
mod search;
mod secrets;
mod session;
mod stats;
mod status;
mod stream;
mod write;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use sessile::search::{IndexOptions, SearchScope};
use sessile::{Cancel, Sessions, threads};
use tokio::sync::watch;

use app::App;
use counts::Counts;
use gate::{Gate, Token};
use list::List;
use pool::Pool;
pub use write::{BranchSummarizer, ResolveSummarizer};

/// The threads that answer requests, and the requests that wait for one.
const N_THREADS: usize = 8;
const N_QUEUED: usize = 64;

/// The same for searches.
const N_SEARCH_THREADS: usize = 2;
const N_QUEUED_SEARCHES: usize = 16;

/// The same for summaries.
const N_SUMMARY_THREADS: usize = 2;
const N_QUEUED_SUMMARIES: usize = 4;

/// The same for scans for secrets, and for copies without them.
const N_SCAN_THREADS: usize = 2;
const N_QUEUED_SCANS: usize = 8;

/// How a server runs.
pub struct Options {
    /// The port; `None` for a free one.
    pub port: Option<u16>,
    /// Whether to refuse all writes.
    pub is_read_only: bool,
    /// The secret in the cookie of signed-in browsers; `None` for a new one. With the secret of an earlier server on
    /// the same port, its browsers stay signed in.
    pub secret: Option<[u8; 32]>,
    /// How long a client may read nothing before its connection is closed.
    pub write_timeout: Duration,
    /// The command that continues a session, with `{path}` for its file.
    pub resume_command: String,
    /// How to summarise a branch that the user leaves.
    pub resolve_summarizer: Box<ResolveSummarizer>,
    /// Called with the link for the next browser after a browser has signed in.
    pub on_sign_in: Box<dyn Fn(&str) + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: None,
            is_read_only: false,
            secret: None,
            write_timeout: Duration::from_secs(30),
            resume_command: "pi --session {path}".to_owned(),
            resolve_summarizer: Box::new(|| Err("This server has no summarizer.".to_owned())),
            on_sign_in: Box::new(|_| {}),
        }
    }
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port is in use, or needs privileges.
    #[error("cannot listen on 127.0.0.1:{port}")]
    Bind {
        /// The wanted port; 0 for a free one.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// The system provides no random numbers.
    #[error("the system provides no random numbers for a token")]
    Random(#[source] getrandom::Error),
    /// The system provides no further thread or event queue.
    #[error("cannot start a thread of the server")]
    Thread(#[source] io::Error),
}

/// A running server. It stops when it is dropped.
pub struct Server {
    app: Arc<App>,
    port: u16,
    stop: watch::Sender<bool>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server of these sessions on 127.0.0.1.
    pub fn start(sessions: Sessions, options: Options) -> Result<Self, ServeError> {
        let wanted = options.port.unwrap_or_default();
        let bind = |source| ServeError::Bind { port: wanted, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        let port = listener.local_addr().map_err(bind)?.port();
        let cookie = match options.secret {
            Some(secret) => Token::from_bytes(&secret),
            None => Token::random().map_err(ServeError::Random)?,
        };
        let (stop, stopped) = watch::channel(false);
        let app = Arc::new(App {
            sessions: if options.is_read_only { sessions.read_only() } else { sessions },
            list: List::new(),
            open_sessions: Arc::default(),
            live: Arc::default(),
            counts: Counts::new(),
            is_read_only: options.is_read_only,
            gate: Gate::new(port, cookie, options.is_read_only).map_err(ServeError::Random)?,
            pool: Pool::new("request", N_THREADS, N_QUEUED).map_err(ServeError::Thread)?,
            search_pool: Pool::new("search", N_SEARCH_THREADS, N_QUEUED_SEARCHES).map_err(ServeError::Thread)?,
            summary_pool: Pool::new("summary", N_SUMMARY_THREADS, N_QUEUED_SUMMARIES).map_err(ServeError::Thread)?,
            scan_pool: Pool::new("scan", N_SCAN_THREADS, N_QUEUED_SCANS).map_err(ServeError::Thread)?,
            resolve_summarizer: options.resolve_summarizer,
            resume_command: options.resume_command,
            stop: stopped.clone(),
            on_sign_in: options.on_sign_in,
            origin: format!("http://127.0.0.1:{port}"),
        });
        let cancel = Cancel::default();
        let (following, list_cancel) = (Arc::clone(&app), cancel.clone());
        threads::spawn("list", move || following.list.follow(&following.sessions, &list_cancel))
            .map_err(ServeError::Thread)?;
        let (indexing, index_cancel) = (Arc::clone(&app), cancel.clone());
        threads::spawn("index", move || update_index(&indexing.sessions, index_cancel)).map_err(ServeError::Thread)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ServeError::Thread)?;
        let front = Arc::new(Front {
            router: TowerToHyperService::new(router::router(Arc::clone(&app))),
            app: Arc::clone(&app),
        });
        let write_timeout = options.write_timeout;
        let serve = move || {
            runtime.block_on(async {
                // Fails only without a runtime.
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    connection::serve(listener, front, write_timeout, stopped).await;
                }
            });
        };
        let thread = threads::spawn("web", serve).map_err(ServeError::Thread)?;
        Ok(Self { app, port, stop, cancel, thread: Some(thread) })
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The link that signs in the next browser, once.
    pub fn link(&self) -> String {
        format!("{}{}", self.app.origin, self.app.gate.link())
    }

    /// The number of sessions that pages follow now. Each has one thread.
    pub fn n_followed(&self) -> usize {
        self.app.live.n_followed()
    }

    /// Ends open responses and closes the port.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.cancel.cancel();
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            drop(thread.join());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prepares the first search. Without an index, a search reads the sessions.
fn update_index(sessions: &Sessions, cancel: Cancel) {
    let options = IndexOptions { cancel, ..IndexOptions::default() };
    drop(sessions.update_text_index(&SearchScope::All, &options));
}

/// Passes requests to the gate, then to the routes.
struct Front {
    router: TowerToHyperService<Router>,
    app: Arc<App>,
}

impl connection::Answer for Front {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response {
        let response = match self.app.intercept(&request).await {
            Some(response) => response,
            None => match self.router.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        };
        reply::finished(response)
    }
}
