//! The reader's jobs on other threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile::export::{ExportFormat, ExportOptions};
use sessile::follow::{FollowFrom, FollowOptions};
use sessile::format::cause::chain;
use sessile::format::head::{Kind, Role};
use sessile::format::outline::Row;
use sessile::redact::ScanReport;
use sessile::team::Authors;
use sessile::{Cancel, SessionError, SessionManager, Sessions};
use sessile_display::text::{Calls, headline, start};

use crate::content::{Detail, Drawable, entry_lines, entry_pictures, entry_text};
use crate::paint::Line;
use crate::screen::{Job, Lane};
use crate::secrets::{Scanned, scan};
use crate::theme::Ink;

/// The resources of the jobs.
pub(crate) struct ReaderBackend {
    pub(crate) sessions: Sessions,
    pub(crate) path: PathBuf,
    session: Mutex<Option<SessionManager>>,
    /// Who has written the entries, if the session is on a remote that is in use.
    authors: Mutex<Option<Authors>>,
}

#[derive(Debug)]
pub(crate) enum ReaderJob {
    /// Open the session, or open it again after it has grown.
    Load,
    /// Render the lines of some entries.
    Lines {
        items: Vec<(usize, Row)>,
        width: usize,
        detail: Detail,
        edition: u64,
    },
    /// Find the next entry that contains the text; `rows` are in search order.
    Search {
        rows: Vec<(usize, Row)>,
        query: String,
    },
    /// Find all entries that contain the text. The hits before `from` are already known.
    Count {
        rows: Arc<Vec<Row>>,
        from: usize,
        hits: Vec<usize>,
        query: String,
    },
    CopyText(Row),
    Pictures(Vec<Row>),
    /// Look for secrets in the whole session.
    ScanSecrets,
    Document,
    /// Report when the session grows, until stopped.
    Follow,
}

#[derive(Debug)]
pub(crate) enum ReaderEvent {
    Loaded { rows: Vec<Row>, prompts: Vec<usize>, name: String },
    Lines { lines: Vec<(usize, Vec<Line>)>, edition: u64, is_all: bool },
    Found { item: Option<usize>, query: String },
    Counted { hits: Vec<usize>, query: String, n_rows: usize },
    TextToCopy(String),
    Pictures(Vec<Drawable>),
    Scanned(Scanned),
    Document(String),
    Grown,
    Failed(String),
    Broken(String),
}

/// The lane of following, which runs until stopped.
pub(super) const FOLLOW: Lane = 6;

/// The lanes of searching and counting, which are stopped when the query becomes empty.
pub(super) const SEARCH: Lane = 3;
pub(super) const COUNT: Lane = 8;

/// The lane of the scan for secrets, which the user can stop.
pub(super) const SCAN: Lane = 9;

/// Lines rendered before an event sends them.
const LINES_PER_EVENT: usize = 5_000;

/// Upper bound on the bytes of a session that are passed to an editor.
const MAX_DOCUMENT_BYTES: usize = 64 << 20;

impl Job for ReaderJob {
    type Event = ReaderEvent;
    type Backend = ReaderBackend;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Lines { .. } => 2,
            Self::Search { .. } => SEARCH,
            Self::Count { .. } => COUNT,
            Self::CopyText(_) => 4,
            Self::Document => 5,
            Self::Pictures(_) => 7,
            Self::Follow => FOLLOW,
            Self::ScanSecrets => SCAN,
        }
    }

    fn is_brief(&self) -> bool {
        matches!(self, Self::Lines { .. })
    }

    fn run(self, backend: &ReaderBackend, cancel: &Cancel, send: &mut dyn FnMut(ReaderEvent)) {
        let is_loading = matches!(self, Self::Load);
        let done = match self {
            Self::Load => backend.load(),
            Self::Lines { items, width, detail, edition } => {
                backend.lines(&items, width, detail, edition, cancel, send)
            }
            Self::Search { rows, query } => backend.search(&rows, query, cancel),
            Self::Count { rows, from, hits, query } => backend.count(&rows, from, hits, query, cancel),
            Self::CopyText(row) => {
                backend.with_session(|session| Ok(ReaderEvent::TextToCopy(entry_text(&session.entry_at(row)?))))
            }
            Self::Pictures(rows) => backend.with_session(|session| {
                let mut pictures = Vec::new();
                for row in rows {
                    pictures.extend(entry_pictures(&session.entry_at(row)?));
                }
                Ok(ReaderEvent::Pictures(pictures))
            }),
            Self::ScanSecrets => backend.scan_secrets(cancel),
            Self::Document => backend.document(),
            Self::Follow => backend.follow(cancel, send),
        };
        // Another program changed lines that were already read, so the file is read again.
        let done = if matches!(done, Err(SessionError::Stale { .. })) { backend.load() } else { done };
        match done {
            Ok(event) => send(event),
            Err(SessionError::Cancelled) => {}
            Err(error) if is_loading => send(ReaderEvent::Broken(chain(&error))),
            Err(error) => send(ReaderEvent::Failed(chain(&error))),
        }
    }
}

impl ReaderBackend {
    pub(crate) fn new(sessions: Sessions, path: PathBuf) -> Self {
        Self { sessions, path, session: Mutex::new(None), authors: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<SessionManager>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_session<T>(
        &self,
        read: impl FnOnce(&SessionManager) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        match self.lock().as_ref() {
            Some(session) => read(session),
            None => Err(SessionError::Cancelled),
        }
    }

    fn load(&self) -> Result<ReaderEvent, SessionError> {
        let session = self.sessions.clone().read_only().open(&self.path)?;
        if !session.is_stored() {
            return Err(SessionError::NotASession { path: self.path.clone() });
        }
        let outline = session.outline();
        let rows = session.path();
        let is_prompt = |(_, row): &(usize, &Row)| outline.role(**row) == Role::User;
        let prompts = rows.iter().enumerate().filter(is_prompt).map(|(item, _)| item).collect();
        let name = match session.session_name()? {
            Some(name) => name,
            None => first_question(&session, &rows)?,
        };
        let authors = self.sessions.authors(&self.path);
        *self.authors.lock().unwrap_or_else(PoisonError::into_inner) = authors;
        *self.lock() = Some(session);
        Ok(ReaderEvent::Loaded { rows, prompts, name })
    }

    /// Returns who has written an entry, unless it is the owner of the session.
    fn author_of(&self, session: &SessionManager, row: Row) -> Option<String> {
        let authors = self.authors.lock().unwrap_or_else(PoisonError::into_inner);
        let author = authors.as_ref()?.at(session.outline().span(row).offset)?;
        (!author.is_owner).then(|| author.member.clone())
    }

    fn lines(
        &self,
        items: &[(usize, Row)],
        width: usize,
        detail: Detail,
        edition: u64,
        cancel: &Cancel,
        send: &mut dyn FnMut(ReaderEvent),
    ) -> Result<ReaderEvent, SessionError> {
        let (mut lines, mut n_lines) = (Vec::new(), 0);
        for (item, row) in items {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let rendered = self.with_session(|session| {
                let author = self.author_of(session, *row);
                render_entry(session, *row, width, detail, author.as_deref())
            })?;
            n_lines += rendered.len();
            lines.push((*item, rendered));
            // Small entries are shown without waiting for large ones near them.
            if n_lines > LINES_PER_EVENT {
                n_lines = 0;
                send(ReaderEvent::Lines { lines: std::mem::take(&mut lines), edition, is_all: false });
            }
        }
        Ok(ReaderEvent::Lines { lines, edition, is_all: true })
    }

    fn search(&self, rows: &[(usize, Row)], query: String, cancel: &Cancel) -> Result<ReaderEvent, SessionError> {
        let lower = query.to_lowercase();
        for (item, row) in rows {
            if self.contains(*row, &lower, cancel)? {
                return Ok(ReaderEvent::Found { item: Some(*item), query });
            }
        }
        Ok(ReaderEvent::Found { item: None, query })
    }

    fn count(
        &self,
        rows: &[Row],
        from: usize,
        mut hits: Vec<usize>,
        query: String,
        cancel: &Cancel,
    ) -> Result<ReaderEvent, SessionError> {
        let lower = query.to_lowercase();
        for (item, row) in rows.iter().enumerate().skip(from) {
            if self.contains(*row, &lower, cancel)? {
                hits.push(item);
            }
        }
        Ok(ReaderEvent::Counted { hits, query, n_rows: rows.len() })
    }

    /// Returns whether an entry contains a text, given in lower case.
    fn contains(&self, row: Row, lower: &str, cancel: &Cancel) -> Result<bool, SessionError> {
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let text = self.with_session(|session| Ok(entry_text(&session.entry_at(row)?)))?;
        Ok(text.to_lowercase().contains(lower))
    }

    fn scan_secrets(&self, cancel: &Cancel) -> Result<ReaderEvent, SessionError> {
        let assign = |report: ScanReport| self.with_session(|session| Ok(report.into_entries(session)));
        scan(&self.sessions, &self.path, cancel, assign).map(ReaderEvent::Scanned)
    }

    fn document(&self) -> Result<ReaderEvent, SessionError> {
        let mut bytes = Vec::new();
        self.with_session(|session| {
            let options = ExportOptions { format: ExportFormat::Markdown, ..ExportOptions::default() };
            session.export(&options, &mut |piece: &[u8]| {
                if bytes.len() < MAX_DOCUMENT_BYTES {
                    bytes.extend_from_slice(piece);
                }
                Ok::<(), SessionError>(())
            })
        })?;
        Ok(ReaderEvent::Document(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn follow(&self, cancel: &Cancel, send: &mut dyn FnMut(ReaderEvent)) -> Result<ReaderEvent, SessionError> {
        let options = FollowOptions { from: FollowFrom::Now, cancel: cancel.clone(), polls: false };
        let mut follower = self.sessions.follow(&self.path, options)?;
        loop {
            if follower.next(Duration::from_mins(1))?.is_some() {
                // Entries that are written together are shown together.
                while follower.next(Duration::from_millis(20))?.is_some() {}
                send(ReaderEvent::Grown);
            }
        }
    }
}

/// Returns the first question, as a title for an unnamed session.
fn first_question(session: &SessionManager, rows: &[Row]) -> Result<String, SessionError> {
    let first = rows.iter().find(|row| session.outline().role(**row) == Role::User);
    let text = first.map(|row| session.entry_at(*row).map(|entry| entry_text(&entry))).transpose()?;
    Ok(start(text.unwrap_or_default().trim(), 200).replace(['\n', '\t'], " "))
}

/// Renders an entry: conversation in full, everything else in one line. `author` is another member who has written it.
pub(super) fn render_entry(
    session: &SessionManager,
    row: Row,
    width: usize,
    detail: Detail,
    author: Option<&str>,
) -> Result<Vec<Line>, SessionError> {
    let by = author.map(|author| Line::new().ink(Ink::PERSON, &format!("by {author}  "))).unwrap_or_default();
    let entry = session.entry_at(row)?;
    let kind = session.outline().kind(row);
    let is_talk = matches!(kind, Kind::Message | Kind::CustomMessage | Kind::Compaction | Kind::BranchSummary);
    if !is_talk {
        let headline = headline(&entry, &Calls::default());
        let words = Line::new().ink(Ink::DIM, &format!("· {}{}", headline.lead, headline.text));
        return Ok(vec![by.join(words).cut(width)]);
    }
    let mut lines = entry_lines(&entry, width, detail);
    if let Some(label) = entry.id().map(|id| session.label(id)).transpose()?.flatten()
        && let Some(first) = lines.first_mut()
    {
        *first = Line::new().ink(Ink::NAMED, &format!("[{label}] ")).join(std::mem::take(first));
    }
    if let Some(first) = lines.first_mut().filter(|_| author.is_some()) {
        *first = by.join(std::mem::take(first)).cut(width);
    }
    lines.push(Line::new());
    Ok(lines)
}
