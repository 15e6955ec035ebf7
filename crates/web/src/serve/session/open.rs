//! The sessions that pages show.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sessile::format::head::{Kind, Role};
use sessile::tree::Filter;
use sessile::{SessionError, SessionManager, Sessions};

use super::super::live::{Cursor, fingerprint};
use super::NoPart;
use crate::tree::{RowFacts, TreeRows};

/// The sessions that stay open. Opening one again is cheap.
const MAX_OPEN: usize = 8;

/// With more than this to read, a thread finds the answers without text, which the tree shows until then, and the costs.
const MAX_SURVEYED_BYTES: u64 = 64 << 20;

/// How long that thread keeps other requests for the session waiting, and for how long it then lets them work.
const SURVEY_STEP: Duration = Duration::from_millis(10);
const SURVEY_PAUSE: Duration = Duration::from_millis(1);

/// Counts the epochs of all sessions.
static N_EPOCHS: AtomicU64 = AtomicU64::new(1);

/// An open session, which is only read.
pub(crate) struct Opened {
    pub(crate) session: SessionManager,
    /// What the tree needs of payloads, as far as they have been read.
    facts: RowFacts,
    /// Whether a thread reads the payloads.
    is_large: bool,
    /// While this stays the same, the session has only grown.
    pub(crate) epoch: u64,
    /// The rows that were there last, and their fingerprint.
    seen: (usize, u64),
}

impl Opened {
    fn new(session: SessionManager) -> Self {
        let mut opened = Self { session, facts: RowFacts::default(), is_large: false, epoch: 0, seen: (usize::MAX, 0) };
        opened.note_rows();
        opened
    }

    /// The cursor of a page that has all rows.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor::after_all(self.session.outline(), self.seen.1)
    }

    /// Reads what other programs have appended.
    fn refresh(&mut self) -> Result<(), SessionError> {
        self.session.refresh()?;
        if self.session.outline().rows().len() != self.seen.0 {
            // What a program writes is what its user looks at.
            self.session.follow_leaf()?;
        }
        self.note_rows();
        Ok(())
    }

    /// Begins another epoch unless the session has only grown. A new row can also give earlier rows another parent.
    fn note_rows(&mut self) {
        let outline = self.session.outline();
        let n_rows = outline.rows().len();
        let (n_seen, print_seen) = self.seen;
        if n_seen == n_rows {
            return;
        }
        let print = if n_seen <= n_rows { fingerprint(outline, 0, n_seen, 0) } else { 0 };
        if n_seen > n_rows || print != print_seen {
            self.epoch = N_EPOCHS.fetch_add(1, Ordering::Relaxed);
            self.facts = RowFacts::default();
            self.is_large = false;
            self.seen = (n_rows, fingerprint(outline, 0, n_rows, 0));
        } else {
            self.seen = (n_rows, fingerprint(outline, n_seen, n_rows, print));
        }
    }

    /// The rows that a filter shows.
    pub(crate) fn tree(&mut self, filter: Filter) -> Result<Vec<u8>, SessionError> {
        if self.can_survey_now() {
            self.survey(Duration::MAX)?;
        }
        let n_surveyed = self.facts.len();
        self.facts.resize(self.session.outline().rows().len());
        let tree = TreeRows::new(&self.session)?.drawn(self.session.outline(), filter, &self.facts);
        self.facts.resize(n_surveyed);
        Ok(tree)
    }

    /// Whether so little is left to survey that a request may wait for it.
    fn can_survey_now(&self) -> bool {
        let outline = self.session.outline();
        let from = outline.rows().nth(self.facts.len()).map_or(outline.end(), |row| outline.span(row).offset);
        outline.end() - from <= MAX_SURVEYED_BYTES
    }

    /// Reads payloads for a while. Returns whether there are more rows.
    fn survey(&mut self, limit: Duration) -> Result<bool, SessionError> {
        let begun = Instant::now();
        let outline = self.session.outline();
        let n_rows = outline.rows().len();
        let Some(first) = outline.entries().next() else {
            self.facts.resize(n_rows);
            return Ok(false);
        };
        for row in outline.rows().skip(self.facts.len()) {
            if begun.elapsed() >= limit {
                break;
            }
            self.facts.resize(row.index() + 1);
            // Most bytes of a large session are outputs of tools, which have no text of their own and hardly ever a cost.
            let is_answer = outline.role(row) == Role::Assistant;
            let is_read = !self.is_large || outline.kind(row) != Kind::Message || is_answer;
            if row >= first && is_read {
                self.facts.note(row, &self.session.entry_at(row)?);
            }
        }
        Ok(self.facts.len() < n_rows)
    }

    /// Whether a thread must read the payloads, and none does so yet. The caller starts it.
    pub(crate) fn begins_survey(&mut self) -> bool {
        !self.can_survey_now() && !std::mem::replace(&mut self.is_large, true)
    }

    /// Whether the tree was too large to leave out answers without text at first.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large
    }

    /// Whether the tree leaves out answers without text.
    pub(crate) fn is_surveyed(&self) -> bool {
        self.can_survey_now()
    }
}

/// Reads the payloads of a session, in steps between which other requests can use it.
pub(crate) fn survey(open: &OpenSessions, sessions: &Sessions, path: &Path) {
    loop {
        match open.with(sessions, path, |opened| Ok(opened.survey(SURVEY_STEP)?)) {
            Ok(true) => std::thread::sleep(SURVEY_PAUSE),
            Ok(false) | Err(_) => return,
        }
    }
}

/// The sessions that were shown last.
#[derive(Default)]
pub(crate) struct OpenSessions(Mutex<Vec<(PathBuf, Arc<Mutex<Opened>>)>>);

impl OpenSessions {
    /// Closes a session that a change has moved, removed or given another leaf.
    pub(crate) fn forget(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != path);
    }

    /// Runs work on a session, which is opened first, or brought up to date.
    pub(crate) fn with<T>(
        &self,
        sessions: &Sessions,
        path: &Path,
        work: impl FnOnce(&mut Opened) -> Result<T, NoPart>,
    ) -> Result<T, NoPart> {
        if let Some(opened) = self.known(path) {
            let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
            if opened.refresh().is_ok() {
                return work(&mut opened);
            }
            // Another file took its place, or its content changed.
            self.lock().retain(|(known, _)| known != path);
        }
        let opened = Arc::new(Mutex::new(Opened::new(sessions.clone().read_only().open(path)?)));
        {
            let mut open = self.lock();
            open.retain(|(known, _)| known != path);
            open.push((path.to_path_buf(), Arc::clone(&opened)));
            let n_extra = open.len().saturating_sub(MAX_OPEN);
            open.drain(..n_extra);
        }
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut opened)
    }

    /// A session that is open, which becomes the last to be closed.
    fn known(&self, path: &Path) -> Option<Arc<Mutex<Opened>>> {
        let mut open = self.lock();
        let at = open.iter().position(|(known, _)| known == path)?;
        let known = open.remove(at);
        let opened = Arc::clone(&known.1);
        open.push(known);
        Some(opened)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, Arc<Mutex<Opened>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
