//! What the tree has done on other threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile::compaction::{Summarizer, SummaryProgress};
use sessile::entry::{Entry, Payload};
use sessile::message::Message;
use sessile::outline::Row;
use sessile::tree::{Filter, Wanted};
use sessile::{Cancel, EntryId, ForkPosition, NavigateOptions, SessionError, SessionManager, Sessions};
use sessile_display::drawing::Drawing;
use sessile_display::measure::number_words;
use sessile_display::words::{Calls, Words, entry_words};

use super::model::{Model, Survey, id_of};
use crate::content::{Detail, entry_lines, entry_text};
use crate::paint::Line;
use crate::part::{CHANGES, Job, Lane};
use crate::picker::job::told;
use crate::theme::Ink;

/// Makes a summarizer, as the settings say.
pub type MakeSummarizer = dyn Fn() -> Result<Box<dyn Summarizer + Send + Sync>, String> + Send + Sync;

/// What jobs work with.
pub(crate) struct Desk {
    pub(crate) sessions: Sessions,
    pub(crate) path: PathBuf,
    pub(crate) summarizer: Option<Arc<MakeSummarizer>>,
    /// The session, for looking. Long work gives it back now and then.
    session: Mutex<Option<SessionManager>>,
}

impl Desk {
    pub(crate) fn new(sessions: Sessions, path: PathBuf, summarizer: Option<Arc<MakeSummarizer>>) -> Self {
        Self { sessions, path, summarizer, session: Mutex::new(None) }
    }

    fn held(&self) -> MutexGuard<'_, Option<SessionManager>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the session, again if it is open.
    fn open(&self) -> Result<(), SessionError> {
        let session = self.sessions.clone().read_only().open(&self.path, None, None)?;
        if !session.is_stored() {
            return Err(SessionError::NotASession { path: self.path.clone() });
        }
        *self.held() = Some(session);
        Ok(())
    }

    fn with<T>(&self, look: impl FnOnce(&SessionManager) -> Result<T, SessionError>) -> Result<T, SessionError> {
        if self.held().is_none() {
            self.open()?;
        }
        match self.held().as_ref() {
            Some(session) => look(session),
            None => Err(SessionError::Cancelled),
        }
    }

    /// Reads entries, some at a time, so that others can look in between.
    fn each(&self, rows: &[Row], cancel: &Cancel, mut take: impl FnMut(Row, &Entry)) -> Result<(), SessionError> {
        for some in rows.chunks(SOME) {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            self.with(|session| {
                session.entries_of(some.iter().copied()).try_for_each(|(row, entry)| {
                    take(row, &entry?);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}

/// How many entries are read at a time.
const SOME: usize = 512;

/// Up to how many entries everything is read before anything is shown.
const FEW: usize = 20_000;

#[derive(Debug)]
pub(crate) enum TreeJob {
    /// Opens the session; with what is known of an earlier state, if that may still hold.
    Load,
    Survey {
        model: Arc<Model>,
        generation: u64,
    },
    Layout {
        model: Arc<Model>,
        survey: Option<Arc<Survey>>,
        filter: Filter,
        query: String,
        follow: Option<Row>,
        version: u64,
    },
    Words {
        rows: Vec<(u32, Row)>,
        survey: Option<Arc<Survey>>,
        generation: u64,
    },
    Content {
        row: Row,
        width: usize,
    },
    Text(Row),
    Cost(Row),
    Compare {
        one: Row,
        other: Row,
        width: usize,
    },
    Relabel {
        row: Row,
        label: String,
    },
    Navigate {
        row: Row,
        is_taken_back: bool,
        summary: Option<String>,
        is_summarised: bool,
    },
    Fork {
        row: Row,
        position: ForkPosition,
    },
    Undo(Option<String>),
}

#[derive(Debug)]
pub(crate) enum TreeNews {
    Loaded {
        model: Arc<Model>,
        survey: Option<Arc<Survey>>,
    },
    Surveyed {
        survey: Arc<Survey>,
        generation: u64,
    },
    LaidOut {
        drawing: Arc<Drawing>,
        selected: Option<usize>,
        version: u64,
    },
    Words {
        words: Vec<(u32, Words)>,
        generation: u64,
    },
    Content {
        row: Row,
        lines: Vec<Line>,
    },
    Text(String),
    Cost {
        row: Row,
        words: String,
    },
    Compared {
        title: String,
        left: Vec<Line>,
        right: Vec<Line>,
    },
    /// The session is not what it was: what to say, how to undo it, and a text to be edited and sent again.
    Changed {
        words: String,
        operation: Option<String>,
        editor_text: Option<String>,
    },
    /// A new session was made.
    Forked {
        path: Option<PathBuf>,
        words: String,
    },
    Progress(String),
    Failed(String),
    /// The session cannot be shown at all.
    Broken(String),
}

/// The lane of going elsewhere, which can be stopped while a summary is made.
pub(super) const NAVIGATE: Lane = 9;

impl Job for TreeJob {
    type News = TreeNews;
    type Desk = Desk;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Survey { .. } => 2,
            Self::Layout { .. } => 3,
            Self::Words { .. } => 4,
            Self::Content { .. } => 5,
            Self::Text(_) => 6,
            Self::Cost(_) => 7,
            Self::Compare { .. } => 8,
            Self::Navigate { .. } => NAVIGATE,
            Self::Relabel { .. } | Self::Fork { .. } | Self::Undo(_) => CHANGES,
        }
    }

    fn is_brief(&self) -> bool {
        matches!(self, Self::Layout { .. } | Self::Words { .. } | Self::Content { .. })
    }

    fn run(self, desk: &Desk, cancel: &Cancel, tell: &mut dyn FnMut(TreeNews)) {
        let is_loading = matches!(self, Self::Load);
        let done = match self {
            Self::Load => desk.load(cancel, tell),
            Self::Survey { model, generation } => desk.survey(&model, cancel).map(|survey| {
                tell(TreeNews::Surveyed { survey: Arc::new(survey), generation });
            }),
            Self::Layout { model, survey, filter, query, follow, version } => desk
                .layout(&model, survey.as_deref(), filter, &query, follow, cancel)
                .map(|(drawing, selected)| tell(TreeNews::LaidOut { drawing: Arc::new(drawing), selected, version })),
            Self::Words { rows, survey, generation } => {
                desk.words(&rows, survey.as_deref()).map(|words| tell(TreeNews::Words { words, generation }))
            }
            Self::Content { row, width } => {
                desk.content(row, width).map(|lines| tell(TreeNews::Content { row, lines }))
            }
            Self::Text(row) => {
                desk.with(|session| Ok(entry_text(&session.entry_at(row)?))).map(|text| tell(TreeNews::Text(text)))
            }
            Self::Cost(row) => desk.cost(row, cancel).map(|words| tell(TreeNews::Cost { row, words })),
            Self::Compare { one, other, width } => desk.compare(one, other, width).map(&mut *tell),
            Self::Relabel { row, label } => desk.relabel(row, &label).map(&mut *tell),
            Self::Navigate { row, is_taken_back, summary, is_summarised } => {
                desk.navigate(row, is_taken_back, summary, is_summarised, cancel, tell)
            }
            Self::Fork { row, position } => desk.fork(row, position).map(&mut *tell),
            Self::Undo(operation) => desk.undo(operation.as_deref()).map(&mut *tell),
        };
        match done {
            Ok(()) | Err(SessionError::Cancelled) => {}
            Err(error) if is_loading => tell(TreeNews::Broken(told(&error))),
            Err(error) => tell(TreeNews::Failed(told(&error))),
        }
    }
}

impl Desk {
    fn load(&self, cancel: &Cancel, tell: &mut dyn FnMut(TreeNews)) -> Result<(), SessionError> {
        self.open()?;
        let model = self.with(|session| Model::of(session, self.sessions.environment()))?;
        let survey = if model.len() <= FEW { Some(Arc::new(self.survey(&model, cancel)?)) } else { None };
        tell(TreeNews::Loaded { model: Arc::new(model), survey });
        Ok(())
    }

    fn survey(&self, model: &Model, cancel: &Cancel) -> Result<Survey, SessionError> {
        let n_rows = self.with(|session| Ok(session.outline().rows().len()))?;
        let mut survey = Survey::for_rows(n_rows);
        self.each(&model.answers(), cancel, |row, entry| survey.take(row, entry))?;
        Ok(survey)
    }

    fn layout(
        &self,
        model: &Model,
        survey: Option<&Survey>,
        filter: Filter,
        query: &str,
        follow: Option<Row>,
        cancel: &Cancel,
    ) -> Result<(Drawing, Option<usize>), SessionError> {
        let mut shown = model.admitted(filter, survey);
        let wanted = Wanted::new(query);
        if !wanted.is_anything() {
            let mut places: Vec<(Row, usize)> =
                (0..model.len()).filter(|place| shown[*place]).map(|place| (model.rows[place], place)).collect();
            places.sort_unstable();
            let rows: Vec<Row> = places.iter().map(|(row, _)| *row).collect();
            let mut next = places.iter();
            self.each(&rows, cancel, |_, entry| {
                if let Some((_, place)) = next.next() {
                    let label = model.label(*place).map(|label| label.label.as_str());
                    shown[*place] = wanted.matches(entry, label);
                }
            })?;
        }
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let drawing = Drawing::new(&model.places(&shown));
        let selected = self.with(|session| Ok(nearest(session, model, &drawing, follow)))?;
        Ok((drawing, selected))
    }

    fn words(&self, rows: &[(u32, Row)], survey: Option<&Survey>) -> Result<Vec<(u32, Words)>, SessionError> {
        self.with(|session| {
            let mut words = Vec::with_capacity(rows.len());
            for (place, row) in rows {
                let entry = session.entry_at(*row)?;
                let mut calls = Calls::default();
                if let Some(caller) = called_by(&entry).and_then(|id| survey?.caller(&id)) {
                    note_calls(&session.entry_at(caller)?, &mut calls);
                }
                words.push((*place, entry_words(&entry, &calls)));
            }
            Ok(words)
        })
    }

    fn content(&self, row: Row, width: usize) -> Result<Vec<Line>, SessionError> {
        self.with(|session| {
            let entry = session.entry_at(row)?;
            let mut lines = vec![Line::new().ink(Ink::DIM, &about(session, row, &entry)).cut(width)];
            let is_compaction = session.outline().kind(row) == sessile::head::Kind::Compaction;
            if is_compaction
                && let Some(kept) = entry.raw().get("firstKeptEntryId").and_then(sessile::json::Raw::as_string)
            {
                lines.push(Line::new().ink(Ink::DIM, &format!("keeps what comes from {kept} on")).cut(width));
            }
            lines.push(Line::new());
            lines.extend(entry_lines(&entry, width, Detail { tools: true, thinking: true }));
            Ok(lines)
        })
    }

    /// Tokens and cost of all answers up to an entry.
    fn cost(&self, row: Row, cancel: &Cancel) -> Result<String, SessionError> {
        let rows = self.with(|session| {
            let is_costly = |row: &Row| session.outline().role(*row) == sessile::head::Role::Assistant;
            Ok(session.outline().path(row).into_iter().filter(is_costly).collect::<Vec<_>>())
        })?;
        let (mut tokens, mut cost) = (sessile::info::Tokens::default(), 0.0);
        self.each(&rows, cancel, |_, entry| {
            if let Some(usage) = entry.raw().get("message").and_then(|message| message.get("usage")) {
                let (some, price) = sessile::info::usage_of(usage);
                tokens.add(&some);
                cost += price;
            }
        })?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers to be read")]
        let number = |tokens: f64| number_words(tokens as u64);
        Ok(format!(
            "{} answers · {} in, {} cached, {} out · ${cost:.3}",
            rows.len(),
            number(tokens.input + tokens.cache_write),
            number(tokens.cache_read),
            number(tokens.output)
        ))
    }

    /// Two branches beside each other, from where they part.
    fn compare(&self, one: Row, other: Row, width: usize) -> Result<TreeNews, SessionError> {
        self.with(|session| {
            let outline = session.outline();
            let (left, right) = (outline.path(one), outline.path(other));
            let n_shared = left.iter().zip(&right).take_while(|(one, other)| one == other).count();
            let words = |row: Row| -> Result<Line, SessionError> {
                let words = entry_words(&session.entry_at(row)?, &Calls::default());
                Ok(Line::new().ink(Ink::of(words.tone), &words.lead).text(&words.text))
            };
            let column = |path: &[Row]| -> Result<Vec<Line>, SessionError> {
                let mut lines = Vec::new();
                for row in path.iter().skip(n_shared).take(MOST_COMPARED) {
                    lines.extend(words(*row)?.wrapped(width, 2).into_iter().take(3));
                }
                Ok(lines)
            };
            let title = match n_shared.checked_sub(1) {
                Some(last) => format!("{n_shared} entries in common, up to {}", words(left[last])?.to_text()),
                None => "nothing in common".to_owned(),
            };
            Ok(TreeNews::Compared { title, left: column(&left)?, right: column(&right)? })
        })
    }

    fn id(&self, row: Row) -> Result<EntryId, SessionError> {
        self.with(|session| id_of(session, row).ok_or(SessionError::NoLeaf))
    }

    fn relabel(&self, row: Row, label: &str) -> Result<TreeNews, SessionError> {
        let label = Some(label.trim()).filter(|label| !label.is_empty());
        let done = self.sessions.relabel(&self.path, &self.id(row)?, label, false)?;
        let words = match (label, done.is_change) {
            (_, false) => "The label is as it was".to_owned(),
            (Some(label), true) => format!("Labelled {label}"),
            (None, true) => "Label removed".to_owned(),
        };
        Ok(TreeNews::Changed { words, operation: done.operation, editor_text: None })
    }

    fn navigate(
        &self,
        row: Row,
        is_taken_back: bool,
        instructions: Option<String>,
        is_summarised: bool,
        cancel: &Cancel,
        tell: &mut dyn FnMut(TreeNews),
    ) -> Result<(), SessionError> {
        let id = self.id(row)?;
        if !is_summarised {
            let (to, text) = self.with(|session| {
                let parent = session.outline().parent(row).and_then(|parent| session.outline().id(parent));
                let text = is_taken_back.then(|| session.entry_at(row).map(|entry| entry_text(&entry))).transpose()?;
                Ok((if is_taken_back { parent } else { Some(id.clone()) }, text))
            })?;
            let done = self.sessions.move_leaf(&self.path, to.as_ref(), None, false)?;
            let words = "The session goes on from here".to_owned();
            tell(TreeNews::Changed { words, operation: done.operation, editor_text: text });
            return Ok(());
        }
        let summarizer = match self.summarizer.as_ref().map(|make| make()) {
            Some(Ok(summarizer)) => summarizer,
            Some(Err(what)) => {
                tell(TreeNews::Failed(what));
                return Ok(());
            }
            None => Box::new(sessile::compaction::Extractive::default()),
        };
        tell(TreeNews::Progress("Summarising what is left behind".to_owned()));
        let mut session = self.sessions.open(&self.path, None, None)?;
        let mut text = String::new();
        let mut progress = |progress: SummaryProgress<'_>| {
            if let SummaryProgress::Text(piece) = progress {
                text.push_str(piece);
                tell(TreeNews::Progress(text.clone()));
            }
        };
        let options = NavigateOptions {
            summarizer: Some(summarizer.as_ref()),
            custom_instructions: instructions,
            progress: Some(&mut progress),
            cancel: cancel.clone(),
            ..NavigateOptions::default()
        };
        let navigated = session.navigate(id, options)?;
        let words = if navigated.summary_entry_id.is_some() {
            "The session goes on from here, with a summary of what was left"
        } else {
            "The session goes on from here; there was nothing to sum up"
        };
        let words = words.to_owned();
        tell(TreeNews::Changed { words, operation: None, editor_text: navigated.editor_text });
        Ok(())
    }

    fn fork(&self, row: Row, position: ForkPosition) -> Result<TreeNews, SessionError> {
        let id = self.id(row)?;
        let mut session = self.sessions.open(&self.path, None, None)?;
        let forked = session.fork(id, position)?;
        if !session.is_stored() {
            // Nothing was said in it yet, and all the same somebody wants to go on in it.
            session.persist_now()?;
        }
        let place = forked.session_file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        Ok(TreeNews::Forked { path: forked.session_file, words: format!("Forked to {place}") })
    }

    fn undo(&self, operation: Option<&str>) -> Result<TreeNews, SessionError> {
        let undone = self.sessions.undo(operation, false)?;
        let words = format!("Undone: {}", undone.operation.kind.word());
        Ok(TreeNews::Changed { words, operation: None, editor_text: None })
    }
}

/// How many entries of a branch are compared.
const MOST_COMPARED: usize = 500;

/// Where an entry stands in a drawing, or else the nearest one above it that does, or else the last row.
fn nearest(session: &SessionManager, model: &Model, drawing: &Drawing, follow: Option<Row>) -> Option<usize> {
    let last = drawing.len().checked_sub(1)?;
    let mut by_row = vec![u32::MAX; session.outline().rows().len()];
    for (at, place) in drawing.rows() {
        if let (Some(slot), Ok(at)) = (by_row.get_mut(model.rows[place].index()), u32::try_from(at)) {
            *slot = at;
        }
    }
    let mut next = follow.filter(|row| row.index() < by_row.len());
    while let Some(row) = next {
        if by_row[row.index()] != u32::MAX {
            return Some(by_row[row.index()] as usize);
        }
        next = session.outline().parent(row);
    }
    Some(last)
}

/// The id of the call that a result answers.
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

/// Which entry it is, and when it was written.
fn about(session: &SessionManager, row: Row, entry: &Entry) -> String {
    let id = id_of(session, row).map(|id| id.to_string()).unwrap_or_default();
    let time = entry.timestamp().unwrap_or_default();
    let time = time.get(..16).unwrap_or(&time).replace('T', " ");
    format!("{id} · {time}")
}
