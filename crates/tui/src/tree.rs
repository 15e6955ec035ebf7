//! The tree of a session: its history, and where to continue.

pub(crate) mod backend;
pub(crate) mod change;
pub(crate) mod folds;
pub(crate) mod job;
mod keys;
pub(crate) mod model;
mod secrets;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use sessile::date::Timestamp;
use sessile::format::outline::Row;
use sessile::tree::Filter;
use sessile_display::drawing::Drawing;
use sessile_display::text::Headline;

use crate::help::Help;
use crate::keymap::{Action, Keymap};
use crate::line_editor::LineEditor;
use crate::paint::{Canvas, Line};
use crate::screen::{Effect, Effects, Event, Screen};
use crate::secrets::{Secrets, SecretsScreen};
use crate::status::Status;
use folds::Folds;
use job::{TreeEvent, TreeJob};
use model::{Model, Survey};
use view::Layout;

/// The result of the tree screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOutcome {
    /// The text of the message to which the user went back, ready to be edited and sent again.
    pub editor_text: Option<String>,
    /// The last session that was forked from this one.
    pub forked: Option<PathBuf>,
    /// A description of the last change.
    pub done: Option<String>,
    /// Why the session could not be shown.
    pub failure: Option<String>,
}

/// Minimum terminal width for showing an entry beside the tree.
const MIN_CONTENT_COLUMNS: u16 = 110;

/// Upper bound on the entries whose headlines are kept.
const MAX_HEADLINES: usize = 5_000;

/// Where keys go.
#[derive(Debug, Default)]
enum Mode {
    #[default]
    Tree,
    /// The user types a label for an entry.
    Label {
        row: Row,
        input: LineEditor,
    },
    /// The user chooses how to leave the current branch.
    Menu {
        row: Row,
        choice: usize,
    },
    /// The user types instructions for the summary.
    Instructions {
        row: Row,
        input: LineEditor,
    },
    /// A summary is being written.
    Summarising {
        text: String,
    },
    Compared {
        title: String,
        left: Vec<Line>,
        right: Vec<Line>,
        top: usize,
    },
    Help(Help),
}

/// The three ways to leave a branch.
const SUMMARY_CHOICES: [&str; 3] = ["No summary", "Summarise the branch you leave", "Summarise with instructions"];

/// The indexes of two of them.
const SUMMARY: usize = 1;
const INSTRUCTIONS: usize = 2;

/// The filters in cycling order.
const FILTERS: [Filter; 5] = [Filter::Default, Filter::NoTools, Filter::UserOnly, Filter::LabeledOnly, Filter::All];

/// A model that is not on the screen yet.
struct NextModel {
    model: Arc<Model>,
    survey: Option<Arc<Survey>>,
    generation: u64,
}

/// The state of the tree.
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct Tree {
    keymap: Arc<Keymap>,
    size: (u16, u16),
    now: Timestamp,
    /// Offset of local time from UTC, in milliseconds.
    offset_ms: i64,
    /// The model that `drawing` shows.
    model: Option<Arc<Model>>,
    survey: Option<Arc<Survey>>,
    /// The number of the model; results for an older one are ignored.
    generation: u64,
    /// The newest model, until it is laid out. Nodes of one model mean nothing in another.
    next: Option<NextModel>,
    n_loads: u64,
    /// The number of the last model for which a survey was requested.
    last_surveyed: u64,
    filter: Filter,
    query: LineEditor,
    /// Whether the user typed into the query last; keys that change something are then not meant for the tree.
    is_editing: bool,
    drawing: Arc<Drawing>,
    folds: Folds,
    /// The folded entries, which stay folded when the rows change.
    folded: HashSet<Row>,
    version: u64,
    is_laying_out: bool,
    /// The selected row of the drawing.
    selected: usize,
    /// The entry to keep selected when the rows change.
    follow: Option<Row>,
    has_loaded: bool,
    headlines: HashMap<u32, Headline>,
    requested_headlines: (usize, usize),
    shows_label_time: bool,
    /// Whether archived branches are shown in full.
    shows_archived: bool,
    /// The nodes where hidden archived branches start, with the number of entries in each.
    archived: HashMap<usize, usize>,
    shows_content: bool,
    content: Option<(Row, Vec<Line>)>,
    content_requested: Option<Row>,
    content_top: usize,
    cost: Option<(Row, String)>,
    shows_cost: bool,
    compared_from: Option<Row>,
    secrets: Secrets,
    /// The last query, for finding its matches among all rows.
    last_query: String,
    /// Whether the user leaves branches without being asked how.
    skips_menu: bool,
    draws_pictures: bool,
    outcome: TreeOutcome,
    mode: Mode,
    status: Status,
}

impl Tree {
    pub(crate) fn new(keymap: Arc<Keymap>, filter: Filter, shows_content: bool, offset_ms: i64) -> Self {
        Self {
            keymap,
            size: (80, 24),
            now: Timestamp::EPOCH,
            offset_ms,
            model: None,
            survey: None,
            generation: 0,
            next: None,
            n_loads: 0,
            last_surveyed: 0,
            filter,
            query: LineEditor::default(),
            is_editing: false,
            drawing: Arc::default(),
            folds: Folds::default(),
            folded: HashSet::new(),
            version: 0,
            is_laying_out: false,
            selected: 0,
            follow: None,
            has_loaded: false,
            headlines: HashMap::new(),
            requested_headlines: (0, 0),
            shows_label_time: false,
            shows_archived: false,
            archived: HashMap::new(),
            shows_content,
            content: None,
            content_requested: None,
            content_top: 0,
            cost: None,
            shows_cost: false,
            compared_from: None,
            secrets: Secrets::default(),
            last_query: String::new(),
            skips_menu: false,
            draws_pictures: false,
            outcome: TreeOutcome::default(),
            mode: Mode::Tree,
            status: Status::default(),
        }
    }

    /// Sets whether the terminal draws pictures.
    pub(crate) fn drawing_pictures(mut self, draws_pictures: bool) -> Self {
        self.draws_pictures = draws_pictures;
        self
    }

    fn layout(&self) -> Layout {
        Layout::new(self.size, self.shows_content && self.size.0 >= MIN_CONTENT_COLUMNS)
    }

    /// Returns the selected node.
    fn selected_node(&self) -> Option<usize> {
        (self.selected < self.drawing.len()).then(|| self.drawing.node(self.selected))
    }

    /// Returns the selected entry.
    fn selected_entry(&self) -> Option<Row> {
        let model = self.model.as_ref()?;
        self.selected_node().and_then(|node| model.rows.get(node)).copied()
    }

    fn request_layout(&mut self) -> Effects<Self> {
        let (model, survey) = match (&self.next, &self.model) {
            (Some(next), _) => (Arc::clone(&next.model), next.survey.clone()),
            (None, Some(model)) => (Arc::clone(model), self.survey.clone()),
            (None, None) => return Vec::new(),
        };
        self.version += 1;
        self.is_laying_out = true;
        vec![Effect::Run(TreeJob::Layout {
            model,
            survey,
            filter: self.filter,
            shows_archived: self.shows_archived,
            query: self.query.text().to_owned(),
            version: self.version,
        })]
    }

    /// Replaces the rows with the rows of the newest model.
    fn redraw(&mut self, drawing: Arc<Drawing>) {
        if let Some(next) = self.next.take() {
            (self.model, self.survey, self.generation) = (Some(next.model), next.survey, next.generation);
            self.headlines.clear();
            (self.content, self.content_requested, self.cost) = (None, None, None);
        }
        self.folds = Folds::new(&drawing);
        self.drawing = drawing;
        self.fold_again();
        self.is_laying_out = false;
        self.requested_headlines = (0, 0);
        self.selected = self.model.as_ref().map_or(0, |model| model.nearest(&self.drawing, self.follow));
    }

    fn position(&self) -> usize {
        self.folds.position(self.selected)
    }

    /// Returns the first visible position. The selected one is centred where possible.
    fn first_visible(&self, height: usize) -> usize {
        self.position().saturating_sub(height / 2).min(self.folds.len().saturating_sub(height))
    }

    /// Moves to a position and requests the data to show there.
    fn move_to(&mut self, position: usize) -> Effects<Self> {
        self.is_editing = false;
        if self.folds.len() == 0 {
            return Vec::new();
        }
        self.selected = self.folds.row(position.min(self.folds.len() - 1));
        self.follow = self.selected_entry();
        self.request_visible()
    }

    /// Requests the visible data that is not known yet.
    fn request_visible(&mut self) -> Effects<Self> {
        let mut effects = self.request_headlines();
        effects.extend(self.request_content());
        if self.shows_cost
            && let Some(row) = self.selected_entry()
            && self.cost.as_ref().is_none_or(|(known, _)| *known != row)
        {
            effects.push(Effect::Run(TreeJob::Cost(row)));
        }
        effects
    }

    /// Requests the survey of the visible model, if it has none. Not earlier, because it takes longer than everything
    /// that the first rows need.
    fn request_survey(&mut self) -> Effects<Self> {
        let Some(model) = self.model.as_ref().filter(|_| self.survey.is_none()) else { return Vec::new() };
        if std::mem::replace(&mut self.last_surveyed, self.generation) == self.generation {
            return Vec::new();
        }
        vec![Effect::Run(TreeJob::Survey { model: Arc::clone(model), generation: self.generation })]
    }

    fn request_headlines(&mut self) -> Effects<Self> {
        let Some(model) = &self.model else { return Vec::new() };
        let height = usize::from(self.layout().list.height);
        let first = self.first_visible(height).saturating_sub(height);
        let last = (first + 3 * height).min(self.folds.len());
        let nodes = (first..last).map(|position| self.drawing.node(self.folds.row(position)));
        let missing: Vec<(u32, Row)> = nodes
            .filter_map(|node| Some((u32::try_from(node).ok()?, model.rows[node])))
            .filter(|(node, _)| !self.headlines.contains_key(node))
            .collect();
        if missing.is_empty() || self.requested_headlines == (first, last) {
            return Vec::new();
        }
        self.requested_headlines = (first, last);
        let (survey, generation) = (self.survey.clone(), self.generation);
        vec![Effect::Run(TreeJob::Headlines { rows: missing, survey, generation })]
    }

    fn request_content(&mut self) -> Effects<Self> {
        let Some(width) = self.layout().content.map(|area| usize::from(area.width)) else { return Vec::new() };
        let Some(row) = self.selected_entry() else { return Vec::new() };
        if self.content_requested == Some(row) {
            return Vec::new();
        }
        (self.content_requested, self.content_top) = (Some(row), 0);
        vec![Effect::Run(TreeJob::Content { row, width: width.saturating_sub(2) })]
    }

    fn handle_job_event(&mut self, event: TreeEvent) -> Effects<Self> {
        match event {
            TreeEvent::Loaded { model, survey } => {
                self.n_loads += 1;
                self.secrets.outdate();
                let generation = self.n_loads;
                if !std::mem::replace(&mut self.has_loaded, true) {
                    self.follow = model.leaf;
                }
                self.next = Some(NextModel { model, survey, generation });
                self.request_layout()
            }
            TreeEvent::Surveyed { survey, generation } if generation == self.n_loads => {
                let model = self.next.take().map(|next| next.model).or_else(|| self.model.clone());
                self.next = model.map(|model| NextModel { model, survey: Some(survey), generation });
                self.request_layout()
            }
            TreeEvent::LaidOut { drawing, archived, version } if version == self.version => {
                self.archived = archived;
                self.redraw(drawing);
                let mut effects = self.request_visible();
                effects.extend(self.request_survey());
                effects
            }
            TreeEvent::LayoutFailed { message, version } if version == self.version => {
                // The current rows may belong to an older query.
                self.redraw(Arc::default());
                self.status.show_error(message, self.now);
                Vec::new()
            }
            TreeEvent::Headlines { headlines, generation } if generation == self.generation => {
                if self.headlines.len() > MAX_HEADLINES {
                    self.headlines.clear();
                }
                self.headlines.extend(headlines);
                self.requested_headlines = (0, 0);
                Vec::new()
            }
            TreeEvent::Content { row, lines } => {
                self.content = Some((row, lines));
                Vec::new()
            }
            TreeEvent::TextToCopy(text) => {
                self.status.show("Copied", self.now, 2);
                vec![Effect::Copy(text)]
            }
            TreeEvent::Found { row: Some(row), version } if version == self.version => {
                self.status = Status::default();
                self.move_to(self.folds.position(row))
            }
            TreeEvent::Found { row: None, .. } => {
                self.status.show(format!("No match: {}", self.last_query), self.now, 4);
                Vec::new()
            }
            // Results for an outdated state.
            TreeEvent::Found { .. }
            | TreeEvent::Surveyed { .. }
            | TreeEvent::LaidOut { .. }
            | TreeEvent::LayoutFailed { .. }
            | TreeEvent::Headlines { .. } => Vec::new(),
            TreeEvent::Pictures(pictures) => {
                if pictures.is_empty() {
                    self.status.show("This entry has no pictures", self.now, 3);
                    return Vec::new();
                }
                vec![Effect::ShowPictures(pictures)]
            }
            TreeEvent::SettingsRead { skips_menu } => {
                self.skips_menu = skips_menu;
                Vec::new()
            }
            TreeEvent::Cost { row, text } => {
                self.cost = Some((row, text));
                Vec::new()
            }
            TreeEvent::Scanned(scanned) => self.scanned(scanned),
            TreeEvent::Compared { title, left, right } => {
                self.mode = Mode::Compared { title, left, right, top: 0 };
                Vec::new()
            }
            TreeEvent::Changed { message, can_undo, editor_text } => self.changed(message, can_undo, editor_text),
            TreeEvent::Undone { message, removed } => {
                if self.outcome.forked.as_ref().is_some_and(|path| removed.contains(path)) {
                    self.outcome.forked = None;
                }
                self.changed(message, false, None)
            }
            TreeEvent::Forked { path, message, can_undo } => {
                self.show_done(&message, can_undo);
                (self.outcome.forked, self.outcome.done) = (path, Some(message));
                Vec::new()
            }
            TreeEvent::Progress(progress) => {
                if let Mode::Summarising { text } = &mut self.mode {
                    *text = progress;
                }
                Vec::new()
            }
            TreeEvent::Failed(message) => {
                if matches!(self.mode, Mode::Summarising { .. }) {
                    self.mode = Mode::Tree;
                }
                self.status.show_error(message, self.now);
                Vec::new()
            }
            TreeEvent::Broken(message) => {
                vec![Effect::Leave(TreeOutcome { failure: Some(message), ..std::mem::take(&mut self.outcome) })]
            }
        }
    }

    /// Shows a message about a change, and how to undo it.
    fn show_done(&mut self, message: &str, can_undo: bool) {
        let undo = self.keymap.key_name(Action::Undo);
        let hint = if can_undo { format!(" · {undo} undo") } else { String::new() };
        self.status.show(format!("{message}{hint}"), self.now, 8);
    }

    fn changed(&mut self, message: String, can_undo: bool, text: Option<String>) -> Effects<Self> {
        if matches!(self.mode, Mode::Summarising { .. }) {
            self.mode = Mode::Tree;
        }
        self.show_done(&message, can_undo);
        if text.is_some() {
            self.outcome.editor_text = text;
        }
        self.outcome.done = Some(message);
        vec![Effect::Run(TreeJob::Load)]
    }

    fn toggle_fold(&mut self, at: usize) -> Effects<Self> {
        self.folds.toggle(at, &self.drawing);
        if let Some(row) = self.model.as_ref().map(|model| model.rows[self.drawing.node(at)])
            && !self.folded.remove(&row)
        {
            self.folded.insert(row);
        }
        self.request_visible()
    }

    fn fold_again(&mut self) {
        let Some(model) = &self.model else { return };
        if !self.folded.is_empty() {
            let is_folded = |(at, node): (usize, usize)| self.folded.contains(&model.rows[node]).then_some(at);
            self.folds.fold(self.drawing.rows().filter_map(is_folded), &self.drawing);
        }
    }
}

impl Screen for Tree {
    type Job = TreeJob;
    type Outcome = TreeOutcome;

    fn start(&mut self) -> Effects<Self> {
        vec![Effect::Run(TreeJob::Load), Effect::Run(TreeJob::ReadSettings)]
    }

    fn update(&mut self, event: Event<TreeEvent>) -> Effects<Self> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => match &mut self.mode {
                Mode::Label { input, .. } | Mode::Instructions { input, .. } => {
                    input.put(&text);
                    Vec::new()
                }
                Mode::Tree if self.query.put(&text) => {
                    self.is_editing = true;
                    self.search()
                }
                _ => Vec::new(),
            },
            Event::Mouse(mouse) => self.handle_mouse(mouse),
            Event::Size(width, height) => {
                self.size = (width, height);
                self.content_requested = None;
                self.requested_headlines = (0, 0);
                self.request_visible()
            }
            Event::Clock(now) => {
                self.now = now;
                self.status.expire(now);
                Vec::new()
            }
            Event::Job(event) => self.handle_job_event(event),
        }
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        self.draw(canvas);
    }
}
