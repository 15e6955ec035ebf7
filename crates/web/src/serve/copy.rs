//! Downloads of a session as a page or a document, and of redacted copies.

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use sessile::export::{ExportFormat, ExportOptions};
use sessile::redact::{Level, RedactOptions};
use sessile::write::StoreError;
use sessile::{Cancel, SessionError, SessionManager};
use tokio::sync::oneshot;

use super::app::{App, CancelOnDrop};
use super::form::Form;
use super::reply::attachment;
use super::secrets::{failed, missing, refused};
use super::stream::{StreamSender, stream};
use crate::export::{self, PageSink, export_html};
use crate::page::Card;

/// The form of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Jsonl,
    Markdown,
    Html,
}

impl Format {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "jsonl" => Self::Jsonl,
            "md" => Self::Markdown,
            "html" => Self::Html,
            _ => return None,
        })
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Jsonl => "application/jsonl",
            Self::Markdown => "text/markdown; charset=utf-8",
            // A browser must not show a copy as a page of this server.
            Self::Html => "application/octet-stream",
        }
    }
}

/// A copy to make.
struct Wanted {
    path: PathBuf,
    /// Nothing is left out without a level.
    level: Option<Level>,
    format: Format,
    cancel: Cancel,
    sender: StreamSender,
    /// Receives the name of the file, without its extension, once the copy is made and has no findings, or the reason why there is none.
    ready: Option<oneshot::Sender<Result<String, SessionError>>>,
}

/// Answers `/s/{key}/copy?level=…&format=…`. No copy is sent unless a scan of it has found nothing.
///
/// The level `none` is for pages and documents of everything: the page asks before that if there are secrets. The work ends when the client leaves.
pub(crate) async fn copy(app: Arc<App>, key: &str, form: &Form) -> Response {
    let wanted = Format::of(form.get("format")).and_then(|format| match (form.get("level"), format) {
        // There is another address for the file itself.
        ("none", Format::Jsonl) => None,
        ("none", _) => Some((None, format)),
        (level, _) => Some((Some(level.parse::<Level>().ok()?), format)),
    });
    let Some((level, format)) = wanted else {
        return refused(StatusCode::BAD_REQUEST, "There is no such level or format.");
    };
    let key = key.to_owned();
    let find = move |app: &App| app.list.snapshot().find(&key).map(|row| row.path.clone());
    let Ok(path) = app.result_of(find).await else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "The server is busy. Try again.");
    };
    let Some(path) = path else { return missing() };
    let guard = CancelOnDrop(Cancel::default());
    let (sender, body) = stream();
    let (ready, is_ready) = oneshot::channel();
    let wanted = Wanted { path, level, format, cancel: guard.0.clone(), sender, ready: Some(ready) };
    let worker = Arc::clone(&app);
    tokio::spawn(async move {
        let job = Arc::clone(&worker);
        // If the job does not run, `ready` is dropped, which is the answer.
        worker.scan_pool.run(move || wanted.make(&job)).await.ok();
    });
    let name = match is_ready.await {
        Ok(Ok(name)) => name,
        Ok(Err(error)) => return failed(&error),
        Err(_) => return refused(StatusCode::SERVICE_UNAVAILABLE, "The server is busy. Try again."),
    };
    attachment(&name, format.extension(), format.media_type(), body)
}

impl Wanted {
    /// Makes the copy and sends it.
    fn make(mut self, app: &App) {
        if let Err(error) = self.try_make(app) {
            match self.ready.take() {
                // The handler may be gone.
                Some(ready) => drop(ready.send(Err(error))),
                // A part is sent already, so the download must fail.
                None => self.sender.fail_from_thread(),
            }
        }
    }

    fn try_make(&mut self, app: &App) -> Result<(), SessionError> {
        let sessions = &app.sessions;
        let session = sessions.clone().read_only().open(&self.path)?;
        let Some(level) = self.level else {
            let name = session.session_id().to_string();
            // Relatives are in other files, which a reader of this one does not have.
            let card = Card::of(sessions, &self.path, &[]);
            return self.send(app, &session, &name, card);
        };
        let options = RedactOptions {
            level,
            secrets: sessions.current_secret_options()?,
            cancel: self.cancel.clone(),
            ..RedactOptions::default()
        };
        // A document shows the branch that the session continues from.
        let leaf = session.leaf_id();
        let directory = tempfile::Builder::new().prefix("sessile-redacted-").tempdir();
        let directory =
            directory.map_err(|source| StoreError::io_at("create a directory in", &std::env::temp_dir(), source))?;
        let source = self.path.clone();
        sessions.with_redacted(&source, &options, directory.path(), |mut copy, made| {
            if let Some(leaf) = leaf.filter(|leaf| matches!(copy.entry(leaf.clone()), Ok(Some(_)))) {
                copy.branch(&leaf)?;
            }
            // A redacted copy has no place and no relatives.
            let card = Card::of_copy(&copy)?;
            self.send(app, &copy, &format!("{}-redacted", made.id.as_str()), card)
        })
    }

    fn send(&mut self, app: &App, session: &SessionManager, name: &str, card: Card) -> Result<(), SessionError> {
        if let Some(ready) = self.ready.take()
            && ready.send(Ok(name.to_owned())).is_err()
        {
            return Err(SessionError::Cancelled);
        }
        let sender = &self.sender;
        let mut write = |bytes: &[u8]| {
            if sender.send_from_thread(bytes.to_vec()) { Ok(()) } else { Err(SessionError::Cancelled) }
        };
        match self.format {
            Format::Jsonl => session.export_original(&mut write),
            Format::Markdown => session
                .export(&ExportOptions { format: ExportFormat::Markdown, ..ExportOptions::default() }, &mut write),
            Format::Html => {
                let environment = app.sessions.environment();
                let card = Card { exported: Some(environment.now()), ..card };
                export_html(session, &card, environment, export::Form::OneFile, &mut PageSink { write: &mut write })
            }
        }
    }
}
