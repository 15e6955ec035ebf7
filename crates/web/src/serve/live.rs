//! Sends what other programs append to a session, to the pages that show it.
//!
//! One thread per session waits for changes, whatever the number of its clients, and ends when the last of them leaves.
//! It keeps no events: each client has a [`Cursor`], and gets the rows after it from the open session. So a slow client
//! costs nothing, and a client that was away gets exactly what it missed.

mod cursor;
mod follow;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use sessile::format::head::Kind;
use sessile::format::outline::Outline;
use sessile::status::Activity;
use sessile::time::Timestamp;

pub(crate) use cursor::{Cursor, fingerprint};
pub(crate) use follow::Live;

use super::app::App;
use super::pool::NoResult;
use super::reply::{refusal, reply};
use super::session::{NoPart, Opened};
use super::status::course;
use super::stream::{StreamSender, stream};
use crate::tree::kind_code;
use follow::Following;

/// The rows of one event.
const MAX_ROWS: usize = 5000;

/// The pause before another attempt when the server is busy.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// How long a browser waits before it connects again.
const RETRY_MS: u32 = 500;

/// Answers `/s/{key}/events`. `cursor` is what the client has: empty for nothing.
pub(crate) async fn events(app: Arc<App>, key: String, cursor: &str) -> Response {
    let searching = Arc::clone(&app);
    // The list may still be loading, so another thread waits for it.
    let found = app.pool.run(move || searching.list.snapshot().find(&key).map(|row| row.path.clone())).await;
    let path = match found {
        Ok(Some(path)) => path,
        Ok(None) => return refusal(StatusCode::NOT_FOUND, "There is no such session."),
        Err(_) => return refusal(StatusCode::SERVICE_UNAVAILABLE, "The server is busy. Try again."),
    };
    let Ok(following) = follow::follow(&app, &path) else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "The system provides no thread to follow the session.");
    };
    let client = Client {
        path,
        cursor: if cursor.is_empty() { Some(Cursor::default()) } else { Cursor::parse(cursor) },
        epoch: None,
        activity: None,
        is_gone: false,
        is_surveyed: None,
    };
    let (sender, body) = stream();
    tokio::spawn(serve(app, client, following, sender));
    reply(StatusCode::OK, "text/event-stream", body)
}

/// Sends events until the client leaves or the server stops.
async fn serve(app: Arc<App>, mut client: Client, mut following: Following, sender: StreamSender) {
    if !sender.send(format!("retry: {RETRY_MS}\n\n")).await {
        return;
    }
    let mut stop = app.stop.clone();
    loop {
        following.changes.borrow_and_update();
        loop {
            let (working, mut asking) = (Arc::clone(&app), client.clone());
            let news = app.pool.run(move || (asking.news(&working), asking)).await;
            let news = match news {
                Ok((news, asked)) => {
                    client = asked;
                    news
                }
                Err(NoResult::Busy) => {
                    tokio::time::sleep(BUSY_PAUSE).await;
                    continue;
                }
                Err(NoResult::Failed) => return,
            };
            if !news.text.is_empty() && !sender.send(news.text).await {
                return;
            }
            if !news.has_more {
                break;
            }
        }
        // An event and not a comment, so that the page notices a connection that died silently.
        if !sender.wait_for(&mut following.changes, &mut stop, "event: beat\ndata: 1\n\n").await {
            return;
        }
    }
}

/// What a client has been sent.
#[derive(Clone)]
struct Client {
    path: PathBuf,
    /// `None` if the client sent one that makes no sense.
    cursor: Option<Cursor>,
    /// While this stays the same, the session has only grown.
    epoch: Option<u64>,
    activity: Option<Activity>,
    is_gone: bool,
    /// Whether the client's tree leaves out answers without text, once known.
    is_surveyed: Option<bool>,
}

/// Events for a client.
#[derive(Default)]
struct News {
    text: String,
    has_more: bool,
}

impl Client {
    /// What the client does not know yet.
    fn news(&mut self, app: &App) -> News {
        let news = self.try_news(app).or_else(|_| {
            // Another program may have replaced the file while it was read.
            app.open_sessions.forget(&self.path);
            self.try_news(app)
        });
        match news {
            Ok(news) => {
                self.is_gone = false;
                news
            }
            Err(_) if self.is_gone => News::default(),
            Err(_) => {
                self.is_gone = true;
                News { text: "event: gone\ndata: 1\n\n".to_owned(), has_more: false }
            }
        }
    }

    /// What the client does not know yet. An error leaves the client as it was, because nothing is sent.
    fn try_news(&mut self, app: &App) -> Result<News, NoPart> {
        let mut asking = self.clone();
        let path = &self.path;
        let now = app.sessions.environment().now();
        let news = app.open_sessions.with(&app.sessions, path, |opened| asking.read(opened, now))?;
        *self = asking;
        Ok(news)
    }

    fn read(&mut self, opened: &mut Opened, now: Timestamp) -> Result<News, NoPart> {
        let mut news = News::default();
        let outline = opened.session.outline();
        let n_rows = outline.rows().len();
        let is_grown = self.epoch == Some(opened.epoch);
        let known = self.cursor.filter(|cursor| is_grown || cursor.is_start_of(outline));
        self.epoch = Some(opened.epoch);
        let leaf = opened.session.path().last().map_or(-1, |row| i64::try_from(row.index()).unwrap_or(-1));
        match known {
            None => {
                let cursor = opened.cursor();
                self.cursor = Some(cursor);
                // The tree that the client loads now has whatever is known now.
                self.is_surveyed = Some(opened.is_surveyed());
                write!(news.text, "id: {cursor}\nevent: reset\ndata: 1\n\n").ok();
            }
            Some(cursor) if cursor.n_rows < n_rows => {
                let to = n_rows.min(cursor.n_rows + MAX_ROWS);
                let next = cursor.extended(outline, to);
                write!(news.text, "id: {next}\nevent: rows\ndata: {}\n\n", rows(outline, cursor.n_rows, to, leaf)).ok();
                self.cursor = Some(next);
                news.has_more = to < n_rows;
            }
            Some(_) => {}
        }
        // A client of a large session may have loaded its tree before or after the survey.
        let was_surveyed = self.is_surveyed.replace(opened.is_surveyed()).unwrap_or(!opened.is_large());
        if !was_surveyed && opened.is_surveyed() {
            news.text.push_str("event: tree\ndata: 1\n\n");
        }
        if !news.has_more {
            let activity = opened.session.activity()?;
            if let Some(activity) = activity.filter(|activity| self.activity != Some(*activity)) {
                self.activity = Some(activity);
                write!(news.text, "event: status\ndata: {}\n\n", course(activity, now)).ok();
            }
        }
        Ok(news)
    }
}

/// Some rows as `{from, parents, offsets, lengths, kinds, labels, leaf}`.
fn rows(outline: &Outline, from: usize, to: usize, leaf: i64) -> String {
    let all = || outline.rows().skip(from).take(to - from);
    let list = |numbers: &mut dyn Iterator<Item = i64>| {
        let mut text = String::new();
        for (at, number) in numbers.enumerate() {
            write!(text, "{}{number}", if at == 0 { "" } else { "," }).ok();
        }
        text
    };
    let parent = |row| outline.parent(row).map_or(-1, |parent| i64::try_from(parent.index()).unwrap_or(-1));
    format!(
        "{{\"from\":{from},\"parents\":[{}],\"offsets\":[{}],\"lengths\":[{}],\"kinds\":[{}],\"labels\":{},\"leaf\":{leaf}}}",
        list(&mut all().map(parent)),
        list(&mut all().map(|row| outline.span(row).offset.cast_signed())),
        list(&mut all().map(|row| outline.span(row).len.cast_signed())),
        list(&mut all().map(|row| i64::from(kind_code(outline.kind(row), outline.role(row))))),
        all().any(|row| outline.kind(row) == Kind::Label),
    )
}
