//! The session of the tree, and lookups in it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile::compaction::{BranchSummarySettings, Summarizer};
use sessile::compare::{Comparison, EntryDiff, Side};
use sessile::entry::{Entry, Payload};
use sessile::format::outline::Row;
use sessile::message::Message;
use sessile::redact::ScanReport;
use sessile::tree::{Filter, TreeQuery};
use sessile::{Cancel, SessionError, SessionManager, Sessions};
use sessile_display::drawing::Drawing;
use sessile_display::measure::{counted, number_words};
use sessile_display::text::{Calls, Headline, headline};
use sessile_summarize::Extractive;

use super::job::TreeEvent;
use super::model::{Model, Survey, id_of};
use crate::content::{Detail, entry_lines};
use crate::paint::Line;
use crate::secrets::{Scanned, scan};
use crate::theme::Ink;
use crate::undo::History;

/// How to summarise branches that the user leaves.
pub struct BranchSummarizer {
    /// Writes the summary.
    pub summarizer: Box<dyn Summarizer + Send + Sync>,
    /// How much room the summary leaves, and whether to ask the user first.
    pub settings: BranchSummarySettings,
}

/// Resolves the summarizer from the current settings, or returns what is wrong with them.
pub type ResolveSummarizer = dyn Fn() -> Result<BranchSummarizer, String> + Send + Sync;

/// The resources of the jobs.
pub(crate) struct TreeBackend {
    pub(crate) sessions: Sessions,
    pub(crate) path: PathBuf,
    pub(super) history: History,
    resolve_summarizer: Option<Arc<ResolveSummarizer>>,
    /// The session, for reading. Long jobs release the lock from time to time.
    session: Mutex<Option<SessionManager>>,
    /// Held while waiting for the session. A long job that has just released the session queues here, after the jobs
    /// that were already waiting; a mutex alone would give it the session again and again.
    queue: Mutex<()>,
}

impl TreeBackend {
    pub(crate) fn new(sessions: Sessions, path: PathBuf, resolve_summarizer: Option<Arc<ResolveSummarizer>>) -> Self {
        Self {
            sessions,
            path,
            history: History::default(),
            resolve_summarizer,
            session: Mutex::new(None),
            queue: Mutex::new(()),
        }
    }

    /// Returns how to summarise branches; by default the offline rule.
    pub(super) fn branch_summarizer(&self) -> Result<BranchSummarizer, String> {
        match &self.resolve_summarizer {
            Some(resolve) => resolve(),
            None => Ok(BranchSummarizer {
                summarizer: Box::new(Extractive::default()),
                settings: BranchSummarySettings::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<SessionManager>> {
        let _turn = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the session, even if it is already open.
    fn open(&self) -> Result<(), SessionError> {
        let session = self.opened()?;
        *self.lock() = Some(session);
        Ok(())
    }

    fn opened(&self) -> Result<SessionManager, SessionError> {
        let session = self.sessions.clone().read_only().open(&self.path)?;
        if session.is_stored() { Ok(session) } else { Err(SessionError::NotASession { path: self.path.clone() }) }
    }

    pub(super) fn with_session<T>(
        &self,
        read: impl FnOnce(&SessionManager) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let mut session = self.lock();
        match session.as_ref() {
            Some(session) => read(session),
            None => read(session.insert(self.opened()?)),
        }
    }

    /// Reads entries in chunks, so that other jobs can use the session in between.
    fn for_each_entry(
        &self,
        rows: &[Row],
        cancel: &Cancel,
        mut take: impl FnMut(Row, &Entry),
    ) -> Result<(), SessionError> {
        for chunk in rows.chunks(CHUNK_ENTRIES) {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            self.with_session(|session| {
                session.entries_of(chunk.iter().copied()).try_for_each(|(row, entry)| {
                    take(row, &entry?);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}

/// Upper bound on the lines of an entry shown beside the tree; the reader shows all of them.
const MAX_CONTENT_LINES: usize = 2_000;

/// Entries read per chunk.
const CHUNK_ENTRIES: usize = 512;

/// Up to this many entries, everything is read before anything is shown.
const MAX_ENTRIES_SURVEYED_FIRST: usize = 20_000;

impl TreeBackend {
    pub(super) fn load(&self, cancel: &Cancel, send: &mut dyn FnMut(TreeEvent)) -> Result<(), SessionError> {
        self.open()?;
        let model = self.with_session(|session| Model::new(session, self.sessions.environment()))?;
        let survey =
            if model.len() <= MAX_ENTRIES_SURVEYED_FIRST { Some(Arc::new(self.survey(&model, cancel)?)) } else { None };
        send(TreeEvent::Loaded { model: Arc::new(model), survey });
        Ok(())
    }

    pub(super) fn survey(&self, model: &Model, cancel: &Cancel) -> Result<Survey, SessionError> {
        let n_rows = self.with_session(|session| Ok(session.outline().rows().len()))?;
        let mut survey = Survey::for_rows(n_rows);
        self.for_each_entry(&model.answers(), cancel, |row, entry| survey.take(row, entry))?;
        Ok(survey)
    }

    /// Returns the rows of a tree, and the nodes where hidden archived branches start, with the number of entries in
    /// each.
    pub(super) fn layout(
        &self,
        model: &Model,
        survey: Option<&Survey>,
        (filter, shows_archived, query): (Filter, bool, &str),
        cancel: &Cancel,
    ) -> Result<(Drawing, HashMap<usize, usize>), SessionError> {
        let mut is_shown = model.admitted(filter, survey);
        let wanted = TreeQuery::new(query);
        if !wanted.is_anything() {
            let mut nodes: Vec<(Row, usize)> =
                (0..model.len()).filter(|node| is_shown[*node]).map(|node| (model.rows[node], node)).collect();
            nodes.sort_unstable();
            let rows: Vec<Row> = nodes.iter().map(|(row, _)| *row).collect();
            let mut next = nodes.iter();
            self.for_each_entry(&rows, cancel, |_, entry| {
                if let Some((_, node)) = next.next() {
                    let label = model.label(*node).map(|label| label.label.as_str());
                    is_shown[*node] = wanted.matches(entry, label);
                }
            })?;
        }
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let archived = if shows_archived { HashMap::new() } else { model.hide_archived(&mut is_shown) };
        Ok((Drawing::new(&model.nodes(&is_shown)), archived))
    }

    pub(super) fn headlines(
        &self,
        rows: &[(u32, Row)],
        survey: Option<&Survey>,
    ) -> Result<Vec<(u32, Headline)>, SessionError> {
        self.with_session(|session| {
            let mut headlines = Vec::with_capacity(rows.len());
            for (node, row) in rows {
                let entry = session.entry_at(*row)?;
                let mut calls = Calls::default();
                if let Some(caller) = called_by(&entry).and_then(|id| survey?.caller(&id)) {
                    note_calls(&session.entry_at(caller)?, &mut calls);
                }
                headlines.push((*node, headline(&entry, &calls)));
            }
            Ok(headlines)
        })
    }

    pub(super) fn content(&self, row: Row, width: usize) -> Result<Vec<Line>, SessionError> {
        self.with_session(|session| {
            let entry = session.entry_at(row)?;
            let mut lines = vec![Line::new().ink(Ink::DIM, &id_and_time(session, row, &entry)).cut(width)];
            let is_compaction = session.outline().kind(row) == sessile::format::head::Kind::Compaction;
            if is_compaction
                && let Some(kept) = entry.raw().get("firstKeptEntryId").and_then(sessile::json::Raw::as_string)
            {
                lines.push(Line::new().ink(Ink::DIM, &format!("keeps the entries from {kept} on")).cut(width));
            }
            lines.push(Line::new());
            lines.extend(entry_lines(
                &entry,
                width,
                Detail { tools: true, thinking: true, max_lines: MAX_CONTENT_LINES },
            ));
            Ok(lines)
        })
    }

    /// Returns tokens and cost of all answers up to an entry, and since the last branch point.
    pub(super) fn cost(&self, row: Row, cancel: &Cancel) -> Result<String, SessionError> {
        let (path, parts_at) = self.with_session(|session| {
            let path = session.outline().path(row);
            let forks: HashSet<Row> = session.branch_points().into_iter().filter_map(|point| point.at).collect();
            let parts_at = path.iter().rposition(|at| *at != row && forks.contains(at));
            Ok((path, parts_at))
        })?;
        let whole = self.spent(&path, cancel)?;
        let branch = parts_at.map(|at| self.spent(&path[at + 1..], cancel)).transpose()?;
        let branch = branch.map(|spent| format!("; this branch: {}", spent.text())).unwrap_or_default();
        Ok(format!("{}{branch}", whole.text()))
    }

    /// Adds up the tokens and cost of the answers among some entries.
    fn spent(&self, path: &[Row], cancel: &Cancel) -> Result<Spent, SessionError> {
        let rows = self.with_session(|session| {
            let is_costly = |row: &Row| session.outline().role(*row) == sessile::format::head::Role::Assistant;
            Ok(path.iter().copied().filter(is_costly).collect::<Vec<_>>())
        })?;
        let mut spent = Spent { n_answers: rows.len(), ..Spent::default() };
        self.for_each_entry(&rows, cancel, |_, entry| {
            if let Some(usage) = entry.raw().get("message").and_then(|message| message.get("usage")) {
                let (tokens, cost) = sessile::format::info::usage_of(usage);
                spent.tokens.add(&tokens);
                spent.cost += cost;
            }
        })?;
        Ok(spent)
    }

    /// Shows two branches side by side from where they part. Common text is dimmed.
    pub(super) fn compare(
        &self,
        one: Row,
        other: Row,
        width: usize,
        cancel: &Cancel,
    ) -> Result<TreeEvent, SessionError> {
        let (left, right, comparison) = self.with_session(|session| {
            let (left, right) = (session.outline().path(one), session.outline().path(other));
            let (one, other) = (Side { session, path: &left }, Side { session, path: &right });
            // The screen has no room for more, and other jobs need the session as well.
            let max_entries = one.n_shared_rows(&other) + MAX_COMPARED_ENTRIES;
            let first = |path: &'_ [Row]| path.len().min(max_entries);
            let (one, other) =
                (Side { session, path: &left[..first(&left)] }, Side { session, path: &right[..first(&right)] });
            let comparison = Comparison::new(one, other, cancel)?;
            Ok((left, right, comparison))
        })?;
        let n_shared = comparison.n_common;
        let same: HashSet<Row> = (comparison.pieces.iter())
            .flat_map(|piece| match *piece {
                EntryDiff::Same { left, right } => [Some(left), Some(right)],
                _ => [None, None],
            })
            .flatten()
            .collect();
        let line_of = |row: Row| -> Result<Line, SessionError> {
            self.with_session(|session| {
                let headline = headline(&session.entry_at(row)?, &Calls::default());
                if same.contains(&row) {
                    return Ok(Line::new().ink(Ink::DIM, &headline.lead).ink(Ink::DIM, &headline.text));
                }
                Ok(Line::new().ink(Ink::of(headline.tone), &headline.lead).text(&headline.text))
            })
        };
        let column = |path: &[Row]| -> Result<Vec<Line>, SessionError> {
            let path = &path[n_shared..];
            let spent = self.spent(path, cancel)?.text();
            let total = format!("{}, {spent}", counted(path.len(), "entry", "entries"));
            let mut lines = vec![Line::new().ink(Ink::DIM, &total).cut(width), Line::new()];
            for row in path.iter().take(MAX_COMPARED_ENTRIES) {
                lines.extend(line_of(*row)?.wrapped(width, 2).into_iter().take(3));
            }
            Ok(lines)
        };
        let title = match n_shared.checked_sub(1) {
            Some(last) => {
                let shared = counted(n_shared, "entry", "entries");
                format!("{shared} in common, up to {}", line_of(left[last])?.to_text())
            }
            None => "nothing in common".to_owned(),
        };
        Ok(TreeEvent::Compared { title, left: column(&left)?, right: column(&right)? })
    }

    pub(super) fn scan_secrets(&self, cancel: &Cancel) -> Result<Scanned, SessionError> {
        let assign = |report: ScanReport| self.with_session(|session| Ok(report.into_entries(session)));
        scan(&self.sessions, &self.path, cancel, assign)
    }

    /// Finds the next row of a drawing that matches the query, forwards or backwards, wrapping around.
    pub(super) fn find(
        &self,
        (model, drawing): (&Model, &Drawing),
        (query, from): (&str, usize),
        is_down: bool,
        cancel: &Cancel,
    ) -> Result<Option<usize>, SessionError> {
        let wanted = TreeQuery::new(query);
        let n_rows = drawing.len();
        let order = (1..=n_rows).map(|step| if is_down { from + step } else { from + n_rows - step } % n_rows);
        for chunk in order.collect::<Vec<_>>().chunks(CHUNK_ENTRIES) {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let found = self.with_session(|session| {
                for at in chunk {
                    let node = drawing.node(*at);
                    let label = model.label(node).map(|label| label.label.as_str());
                    if wanted.matches(&session.entry_at(model.rows[node])?, label) {
                        return Ok(Some(*at));
                    }
                }
                Ok(None)
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Tokens and cost of some answers.
#[derive(Debug, Default)]
struct Spent {
    n_answers: usize,
    tokens: sessile::format::info::TokenCounts,
    cost: f64,
}

impl Spent {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of tokens")]
    fn text(&self) -> String {
        let Self { n_answers, tokens, cost } = self;
        format!(
            "{}, {} tokens, ${cost:.3}",
            counted(*n_answers, "answer", "answers"),
            number_words(tokens.total() as u64)
        )
    }
}

/// Upper bound on the entries compared per branch.
const MAX_COMPARED_ENTRIES: usize = 500;

/// Returns the id of the tool call that a result answers.
fn called_by(entry: &Entry) -> Option<String> {
    let Payload::Message(message) = entry.payload() else { return None };
    match message.message()? {
        Message::ToolResult(result) => result.tool_call_id(),
        _ => None,
    }
}

fn note_calls(entry: &Entry, calls: &mut Calls) {
    if let Payload::Message(message) = entry.payload()
        && let Some(Message::Assistant(answer)) = message.message()
    {
        calls.note(&answer.content());
    }
}

/// Describes an entry by its id and time.
fn id_and_time(session: &SessionManager, row: Row, entry: &Entry) -> String {
    let id = id_of(session, row).map(|id| id.to_string()).unwrap_or_default();
    let time = entry.timestamp().unwrap_or_default();
    let time = time.get(..16).unwrap_or(&time).replace('T', " ");
    format!("{id} · {time}")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use sessile::date::Timestamp;
    use sessile::draft;

    use super::*;
    use crate::testing::FixedEnvironment;

    /// A job that reads everything must not keep others from the session until it has ended: the headlines on the screen
    /// would wait for it.
    #[test]
    fn a_long_job_lets_waiting_jobs_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(FixedEnvironment { home: dir.path().to_path_buf() });
        let mut session = sessions.create(dir.path()).unwrap();
        let text = |number: usize| draft::UserMessage::new(format!("entry {number}").as_str(), Timestamp::EPOCH);
        (0..=2 * CHUNK_ENTRIES).for_each(|number| drop(session.append_message(text(number)).unwrap()));
        let rows: Vec<Row> = session.path();
        let backend = TreeBackend::new(sessions, session.session_file().unwrap().to_path_buf(), None);
        drop(session);
        backend.open().unwrap();
        let (sender, order) = channel();
        thread::scope(|scope| {
            let mut n_taken = 0;
            let took = backend.for_each_entry(&rows, &Cancel::default(), |_, _| {
                n_taken += 1;
                if n_taken == 1 {
                    let other = sender.clone();
                    let backend = &backend;
                    scope.spawn(move || {
                        let waiting = backend.with_session(|_| {
                            other.send("waiting").unwrap();
                            Ok(())
                        });
                        waiting.unwrap();
                    });
                    // Until it waits: then it holds the queue.
                    while backend.queue.try_lock().is_ok() {
                        thread::yield_now();
                    }
                }
                if n_taken % CHUNK_ENTRIES == 1 {
                    sender.send("long").unwrap();
                }
            });
            took.unwrap();
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), ["long", "waiting", "long", "long"]);
    }
}
