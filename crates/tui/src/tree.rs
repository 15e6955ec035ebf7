//! The tree of a session: where one was, and where to go on.

pub(crate) mod folds;
pub(crate) mod job;
pub(crate) mod model;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use sessile::ForkPosition;
use sessile::outline::Row;
use sessile::tree::Filter;
use sessile_display::drawing::Drawing;
use sessile_display::words::Words;

use crate::help::Help;
use crate::input::Input;
use crate::key::{Code, Key};
use crate::keymap::{Action, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::part::{Effect, Effects, Event, Mouse, MouseAct, Part};
use crate::status::Status;
use folds::Folds;
use job::{NAVIGATE, TreeJob, TreeNews};
use model::{Model, Survey};
use view::Layout;

/// What came of looking at a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOutcome {
    /// The text of a message that was taken back, ready to be edited and sent again.
    pub editor_text: Option<String>,
    /// The last session that was made from this one.
    pub forked: Option<PathBuf>,
    /// What was done last, in words.
    pub done: Option<String>,
    /// Why the session could not be shown.
    pub failure: Option<String>,
}

/// How wide a terminal must be to show an entry beside the tree.
const WIDE: u16 = 110;

/// How many entries are kept in words.
const MOST_WORDS: usize = 5_000;

/// What the keys go to.
#[derive(Debug, Default)]
enum Mode {
    #[default]
    Tree,
    /// A label is typed for a place.
    Label {
        place: usize,
        input: Input,
    },
    /// How to leave the branch one is on.
    Menu {
        place: usize,
        choice: usize,
    },
    /// What a summary should look at.
    Instructions {
        place: usize,
        input: Input,
    },
    /// A summary is being made.
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
const CHOICES: [&str; 3] = ["No summary", "Summarise what is left", "Summarise, with instructions"];

/// The filters in the order in which they are gone through.
const FILTERS: [Filter; 5] = [Filter::Default, Filter::NoTools, Filter::UserOnly, Filter::LabeledOnly, Filter::All];

/// The state of the tree.
#[expect(clippy::struct_excessive_bools, reason = "each is something that somebody switches on and off")]
pub(crate) struct Tree {
    keymap: Arc<Keymap>,
    size: (u16, u16),
    now_ms: i64,
    /// How far local time is ahead, in milliseconds.
    offset_ms: i64,
    model: Option<Arc<Model>>,
    survey: Option<Arc<Survey>>,
    /// Counts how often the session was opened; what belongs to an older opening counts for nothing.
    generation: u64,
    filter: Filter,
    query: Input,
    drawing: Arc<Drawing>,
    folds: Folds,
    version: u64,
    is_laying_out: bool,
    /// The row of the drawing that is chosen.
    selected: usize,
    /// The entry to stay on when the rows change.
    follow: Option<Row>,
    has_begun: bool,
    words: HashMap<u32, Words>,
    wanted_words: (usize, usize),
    shows_label_time: bool,
    shows_content: bool,
    content: Option<(Row, Vec<Line>)>,
    content_wanted: Option<Row>,
    content_top: usize,
    cost: Option<(Row, String)>,
    shows_cost: bool,
    compared_from: Option<Row>,
    last_operation: Option<String>,
    outcome: TreeOutcome,
    mode: Mode,
    status: Status,
}

impl Tree {
    pub(crate) fn new(keymap: Arc<Keymap>, filter: Filter, shows_content: bool, offset_ms: i64) -> Self {
        Self {
            keymap,
            size: (80, 24),
            now_ms: 0,
            offset_ms,
            model: None,
            survey: None,
            generation: 0,
            filter,
            query: Input::default(),
            drawing: Arc::default(),
            folds: Folds::default(),
            version: 0,
            is_laying_out: false,
            selected: 0,
            follow: None,
            has_begun: false,
            words: HashMap::new(),
            wanted_words: (0, 0),
            shows_label_time: false,
            shows_content,
            content: None,
            content_wanted: None,
            content_top: 0,
            cost: None,
            shows_cost: false,
            compared_from: None,
            last_operation: None,
            outcome: TreeOutcome::default(),
            mode: Mode::Tree,
            status: Status::default(),
        }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.size, self.shows_content && self.size.0 >= WIDE)
    }

    /// The place that is chosen.
    fn place(&self) -> Option<usize> {
        (self.selected < self.drawing.len()).then(|| self.drawing.place(self.selected))
    }

    /// The entry that is chosen.
    fn chosen(&self) -> Option<Row> {
        let model = self.model.as_ref()?;
        self.place().and_then(|place| model.rows.get(place)).copied()
    }

    fn lay_out(&mut self) -> Effects<Self> {
        let Some(model) = &self.model else { return Vec::new() };
        self.version += 1;
        self.is_laying_out = true;
        vec![Effect::Do(TreeJob::Layout {
            model: Arc::clone(model),
            survey: self.survey.clone(),
            filter: self.filter,
            query: self.query.text().to_owned(),
            follow: self.follow,
            version: self.version,
        })]
    }

    fn position(&self) -> usize {
        self.folds.position(self.selected)
    }

    /// The first position that can be seen: the chosen one stands in the middle where it can.
    fn first_shown(&self, height: usize) -> usize {
        self.position().saturating_sub(height / 2).min(self.folds.len().saturating_sub(height))
    }

    /// Goes to a position, and asks for what is to be seen there.
    fn go(&mut self, position: usize) -> Effects<Self> {
        if self.folds.len() == 0 {
            return Vec::new();
        }
        self.selected = self.folds.row(position.min(self.folds.len() - 1));
        self.follow = self.chosen();
        self.look()
    }

    /// Asks for what is to be seen and not known yet.
    fn look(&mut self) -> Effects<Self> {
        let mut effects = self.ask_words();
        effects.extend(self.ask_content());
        if self.shows_cost
            && let Some(row) = self.chosen()
            && self.cost.as_ref().is_none_or(|(known, _)| *known != row)
        {
            effects.push(Effect::Do(TreeJob::Cost(row)));
        }
        effects
    }

    fn ask_words(&mut self) -> Effects<Self> {
        let Some(model) = &self.model else { return Vec::new() };
        let height = usize::from(self.layout().list.height);
        let first = self.first_shown(height).saturating_sub(height);
        let last = (first + 3 * height).min(self.folds.len());
        let places = (first..last).map(|position| self.drawing.place(self.folds.row(position)));
        let missing: Vec<(u32, Row)> = places
            .filter_map(|place| Some((u32::try_from(place).ok()?, model.rows[place])))
            .filter(|(place, _)| !self.words.contains_key(place))
            .collect();
        if missing.is_empty() || self.wanted_words == (first, last) {
            return Vec::new();
        }
        self.wanted_words = (first, last);
        let (survey, generation) = (self.survey.clone(), self.generation);
        vec![Effect::Do(TreeJob::Words { rows: missing, survey, generation })]
    }

    fn ask_content(&mut self) -> Effects<Self> {
        let Some(width) = self.layout().content.map(|area| usize::from(area.width)) else { return Vec::new() };
        let Some(row) = self.chosen() else { return Vec::new() };
        if self.content_wanted == Some(row) {
            return Vec::new();
        }
        (self.content_wanted, self.content_top) = (Some(row), 0);
        vec![Effect::Do(TreeJob::Content { row, width: width.saturating_sub(2) })]
    }

    fn news(&mut self, news: TreeNews) -> Effects<Self> {
        match news {
            TreeNews::Loaded { model, survey } => {
                self.generation += 1;
                if !std::mem::replace(&mut self.has_begun, true) {
                    self.follow = model.leaf;
                }
                let needs_survey = survey.is_none();
                (self.model, self.survey) = (Some(Arc::clone(&model)), survey);
                self.forget_seen();
                let mut effects = self.lay_out();
                if needs_survey {
                    effects.push(Effect::Do(TreeJob::Survey { model, generation: self.generation }));
                }
                effects
            }
            TreeNews::Surveyed { survey, generation } if generation == self.generation => {
                self.survey = Some(survey);
                self.forget_seen();
                self.lay_out()
            }
            TreeNews::LaidOut { drawing, selected, version } if version == self.version => {
                self.folds = Folds::of(&drawing);
                self.drawing = drawing;
                self.is_laying_out = false;
                self.selected = selected.unwrap_or_default();
                self.wanted_words = (0, 0);
                self.look()
            }
            TreeNews::Words { words, generation } if generation == self.generation => {
                if self.words.len() > MOST_WORDS {
                    self.words.clear();
                }
                self.words.extend(words);
                self.wanted_words = (0, 0);
                Vec::new()
            }
            TreeNews::Surveyed { .. } | TreeNews::LaidOut { .. } | TreeNews::Words { .. } => Vec::new(),
            TreeNews::Content { row, lines } => {
                self.content = Some((row, lines));
                Vec::new()
            }
            TreeNews::Text(text) => {
                self.status.say("Copied", self.now_ms, 2);
                vec![Effect::Copy(text)]
            }
            TreeNews::Cost { row, words } => {
                self.cost = Some((row, words));
                Vec::new()
            }
            TreeNews::Compared { title, left, right } => {
                self.mode = Mode::Compared { title, left, right, top: 0 };
                Vec::new()
            }
            TreeNews::Changed { words, operation, editor_text } => self.changed(words, operation, editor_text),
            TreeNews::Forked { path, words } => {
                self.status.say(words.as_str(), self.now_ms, 8);
                (self.outcome.forked, self.outcome.done) = (path, Some(words));
                Vec::new()
            }
            TreeNews::Progress(progress) => {
                if let Mode::Summarising { text } = &mut self.mode {
                    *text = progress;
                }
                Vec::new()
            }
            TreeNews::Failed(words) => {
                if matches!(self.mode, Mode::Summarising { .. }) {
                    self.mode = Mode::Tree;
                }
                self.status.complain(words, self.now_ms);
                Vec::new()
            }
            TreeNews::Broken(words) => {
                vec![Effect::Leave(TreeOutcome { failure: Some(words), ..std::mem::take(&mut self.outcome) })]
            }
        }
    }

    fn changed(&mut self, words: String, operation: Option<String>, text: Option<String>) -> Effects<Self> {
        if matches!(self.mode, Mode::Summarising { .. }) {
            self.mode = Mode::Tree;
        }
        let undo = self.keymap.hint(Action::Undo);
        let hint = if operation.is_some() { format!(" · {undo} undo") } else { String::new() };
        self.status.say(format!("{words}{hint}"), self.now_ms, 5);
        self.last_operation = operation;
        if text.is_some() {
            self.outcome.editor_text = text;
        }
        self.outcome.done = Some(words);
        vec![Effect::Do(TreeJob::Load)]
    }

    fn forget_seen(&mut self) {
        self.words.clear();
        self.wanted_words = (0, 0);
        (self.content, self.content_wanted, self.cost) = (None, None, None);
    }

    fn press(&mut self, key: Key) -> Effects<Self> {
        let action = self.keymap.action(Where::Tree, key);
        match &mut self.mode {
            Mode::Tree => self.press_in_tree(key, action),
            Mode::Help(help) => {
                if !help.press(key) {
                    self.mode = Mode::Tree;
                }
                Vec::new()
            }
            Mode::Compared { top, left, right, .. } => {
                let last = left.len().max(right.len()).saturating_sub(1);
                match action {
                    Some(Action::Up) => *top = top.saturating_sub(1),
                    Some(Action::Down) => *top = (*top + 1).min(last),
                    Some(Action::PageUp) => *top = top.saturating_sub(10),
                    Some(Action::PageDown) => *top = (*top + 10).min(last),
                    _ => self.mode = Mode::Tree,
                }
                Vec::new()
            }
            Mode::Label { place, input } => match action {
                Some(Action::Confirm) => {
                    let (place, label) = (*place, input.text().to_owned());
                    self.mode = Mode::Tree;
                    self.with_row(place, |row| TreeJob::Relabel { row, label })
                }
                Some(Action::Cancel) => self.back_to_tree(),
                _ => {
                    input.press(key, &self.keymap);
                    Vec::new()
                }
            },
            Mode::Menu { place, choice } => match action {
                Some(Action::Up) => {
                    *choice = (*choice + CHOICES.len() - 1) % CHOICES.len();
                    Vec::new()
                }
                Some(Action::Down) => {
                    *choice = (*choice + 1) % CHOICES.len();
                    Vec::new()
                }
                Some(Action::Confirm) => {
                    let (place, choice) = (*place, *choice);
                    match choice {
                        2 => {
                            self.mode = Mode::Instructions { place, input: Input::default() };
                            Vec::new()
                        }
                        _ => self.navigate(place, None, choice == 1),
                    }
                }
                Some(Action::Cancel) => self.back_to_tree(),
                _ => Vec::new(),
            },
            Mode::Instructions { place, input } => match action {
                Some(Action::Confirm) => {
                    let (place, text) = (*place, input.text().trim().to_owned());
                    self.navigate(place, Some(text).filter(|text| !text.is_empty()), true)
                }
                Some(Action::Cancel) => {
                    self.mode = Mode::Menu { place: *place, choice: 2 };
                    Vec::new()
                }
                _ => {
                    input.press(key, &self.keymap);
                    Vec::new()
                }
            },
            Mode::Summarising { .. } => match action {
                Some(Action::Cancel) => {
                    self.mode = Mode::Tree;
                    self.status.say("Stopped; nothing was changed", self.now_ms, 3);
                    vec![Effect::Stop(NAVIGATE)]
                }
                _ => Vec::new(),
            },
        }
    }

    fn back_to_tree(&mut self) -> Effects<Self> {
        self.mode = Mode::Tree;
        Vec::new()
    }

    fn with_row(&self, place: usize, job: impl FnOnce(Row) -> TreeJob) -> Effects<Self> {
        let row = self.model.as_ref().and_then(|model| model.rows.get(place)).copied();
        row.map(|row| Effect::Do(job(row))).into_iter().collect()
    }

    fn navigate(&mut self, place: usize, instructions: Option<String>, is_summarised: bool) -> Effects<Self> {
        let is_taken_back = self.model.as_ref().is_some_and(|model| model.is_taken_back(place));
        self.mode = if is_summarised { Mode::Summarising { text: String::new() } } else { Mode::Tree };
        self.with_row(place, |row| TreeJob::Navigate { row, is_taken_back, summary: instructions, is_summarised })
    }

    fn press_in_tree(&mut self, key: Key, action: Option<Action>) -> Effects<Self> {
        match action {
            Some(action) => self.act(action),
            // Only what is typed or deleted at the end goes to the search; everything else moves in the tree.
            None if key.typed().is_some() || key.code == Code::Backspace => {
                if self.query.press(key, &self.keymap) {
                    self.search()
                } else {
                    Vec::new()
                }
            }
            None => Vec::new(),
        }
    }

    fn search(&mut self) -> Effects<Self> {
        self.lay_out()
    }

    fn filter_by(&mut self, filter: Filter) -> Effects<Self> {
        self.filter = filter;
        self.lay_out()
    }

    /// The filter, or the usual one if it is in force already.
    fn toggle_filter(&mut self, filter: Filter) -> Effects<Self> {
        self.filter_by(if self.filter == filter { Filter::Default } else { filter })
    }

    fn cycle_filter(&mut self, step: usize) -> Effects<Self> {
        let at = FILTERS.iter().position(|filter| *filter == self.filter).unwrap_or_default();
        self.filter_by(FILTERS[(at + step) % FILTERS.len()])
    }

    fn act(&mut self, action: Action) -> Effects<Self> {
        let page = usize::from(self.layout().list.height).max(2) - 1;
        let (at, n_seen) = (self.position(), self.folds.len());
        match action {
            Action::Up if at == 0 => self.go(n_seen.saturating_sub(1)),
            Action::Up => self.go(at - 1),
            Action::Down if at + 1 >= n_seen => self.go(0),
            Action::Down => self.go(at + 1),
            Action::PageUp | Action::TreePageUp => self.go(at.saturating_sub(page)),
            Action::PageDown | Action::TreePageDown => self.go(at + page),
            Action::First => self.go(0),
            Action::Last => self.go(usize::MAX - 1),
            Action::FoldOrUp => self.fold_or_up(),
            Action::UnfoldOrDown => self.unfold_or_down(),
            Action::NextLabel => self.jump(true, Self::is_labelled),
            Action::PreviousLabel => self.jump(false, Self::is_labelled),
            Action::NextBranch => self.jump(true, |tree, row| tree.drawing.n_children(row) > 1),
            Action::PreviousBranch => self.jump(false, |tree, row| tree.drawing.n_children(row) > 1),
            Action::ToLeaf => {
                self.follow = self.model.as_ref().and_then(|model| model.leaf);
                self.lay_out()
            }
            Action::FilterDefault => self.filter_by(Filter::Default),
            Action::FilterNoTools => self.toggle_filter(Filter::NoTools),
            Action::FilterUserOnly => self.toggle_filter(Filter::UserOnly),
            Action::FilterLabeledOnly => self.toggle_filter(Filter::LabeledOnly),
            Action::FilterAll => self.toggle_filter(Filter::All),
            Action::FilterForward => self.cycle_filter(1),
            Action::FilterBackward => self.cycle_filter(FILTERS.len() - 1),
            Action::Cancel if !self.query.is_empty() => {
                self.query.clear();
                self.search()
            }
            Action::Cancel => vec![Effect::Leave(std::mem::take(&mut self.outcome))],
            Action::Confirm => self.confirm(),
            Action::Copy => self.of_chosen(TreeJob::Text),
            Action::EditLabel => {
                if let (Some(place), Some(model)) = (self.place(), &self.model) {
                    let label = model.label(place).map(|label| label.label.clone()).unwrap_or_default();
                    self.mode = Mode::Label { place, input: Input::with(&label) };
                }
                Vec::new()
            }
            Action::ToggleLabelTime => {
                self.shows_label_time = !self.shows_label_time;
                Vec::new()
            }
            Action::ToggleContent => {
                self.shows_content = !self.shows_content;
                self.content_wanted = None;
                if self.shows_content && self.size.0 < WIDE {
                    self.status.say(format!("The entry beside the tree needs {WIDE} columns"), self.now_ms, 3);
                }
                self.look()
            }
            Action::ContentUp => self.scroll_content(false),
            Action::ContentDown => self.scroll_content(true),
            Action::ToggleCost => {
                self.shows_cost = !self.shows_cost;
                self.look()
            }
            Action::Compare => self.compare(),
            Action::ForkHere => {
                let is_question =
                    self.place().zip(self.model.as_ref()).is_some_and(|(it, model)| model.is_taken_back(it));
                let position = if is_question { ForkPosition::Before } else { ForkPosition::At };
                self.of_chosen(|row| TreeJob::Fork { row, position })
            }
            Action::CloneHere => self.of_chosen(|row| TreeJob::Fork { row, position: ForkPosition::At }),
            Action::Undo => vec![Effect::Do(TreeJob::Undo(self.last_operation.take()))],
            Action::Help => {
                self.mode = Mode::Help(Help::default());
                Vec::new()
            }
            Action::Suspend => vec![Effect::Suspend],
            _ => Vec::new(),
        }
    }

    fn of_chosen(&self, job: impl FnOnce(Row) -> TreeJob) -> Effects<Self> {
        self.chosen().map(|row| Effect::Do(job(row))).into_iter().collect()
    }

    fn is_labelled(&self, row: usize) -> bool {
        self.model.as_ref().is_some_and(|model| model.is_labelled(self.drawing.place(row)))
    }

    fn confirm(&mut self) -> Effects<Self> {
        let Some(place) = self.place() else { return Vec::new() };
        if self.chosen() == self.model.as_ref().and_then(|model| model.leaf) {
            self.status.say("This is where the session goes on already", self.now_ms, 3);
            return Vec::new();
        }
        self.mode = Mode::Menu { place, choice: 0 };
        Vec::new()
    }

    fn compare(&mut self) -> Effects<Self> {
        let Some(row) = self.chosen() else { return Vec::new() };
        let Some(one) = self.compared_from.take() else {
            self.compared_from = Some(row);
            let key = self.keymap.hint(Action::Compare);
            self.status.say(format!("Choose the end of the other branch, then {key}"), self.now_ms, 10);
            return Vec::new();
        };
        let width = usize::from(self.size.0 / 2).saturating_sub(3);
        vec![Effect::Do(TreeJob::Compare { one, other: row, width })]
    }

    /// Goes to the next row that is of a kind, forwards or backwards, folded or not.
    fn jump(&mut self, is_down: bool, is_wanted: fn(&Self, usize) -> bool) -> Effects<Self> {
        let at = self.selected;
        let found = if is_down {
            (at + 1..self.drawing.len()).find(|row| is_wanted(self, *row))
        } else {
            (0..at.min(self.drawing.len())).rev().find(|row| is_wanted(self, *row))
        };
        if let Some(row) = found {
            return self.go(self.folds.position(row));
        }
        self.status.say("There is no further one", self.now_ms, 2);
        Vec::new()
    }

    fn fold_or_up(&mut self) -> Effects<Self> {
        let at = self.selected;
        if at >= self.drawing.len() {
            return Vec::new();
        }
        if self.drawing.is_foldable(at) && !self.folds.is_folded(at) {
            self.folds.toggle(at, &self.drawing);
            return self.look();
        }
        let above = std::iter::successors(self.drawing.parent(at), |row| self.drawing.parent(*row));
        let mut to = at;
        for row in above {
            to = row;
            if self.drawing.is_branch(row) {
                break;
            }
        }
        self.go(self.folds.position(to))
    }

    fn unfold_or_down(&mut self) -> Effects<Self> {
        let mut at = self.selected;
        if at >= self.drawing.len() {
            return Vec::new();
        }
        if self.folds.is_folded(at) {
            self.folds.toggle(at, &self.drawing);
            return self.look();
        }
        // In pre-order an only child stands right below, and so does the first of several.
        while self.drawing.n_children(at) == 1 {
            at += 1;
        }
        let to = if self.drawing.n_children(at) > 1 { at + 1 } else { at };
        self.go(self.folds.position(to))
    }

    fn scroll_content(&mut self, is_down: bool) -> Effects<Self> {
        let n_lines = self.content.as_ref().map_or(0, |(_, lines)| lines.len());
        let most = n_lines.saturating_sub(1);
        self.content_top = if is_down { (self.content_top + 3).min(most) } else { self.content_top.saturating_sub(3) };
        Vec::new()
    }

    fn point(&mut self, mouse: Mouse) -> Effects<Self> {
        if !matches!(self.mode, Mode::Tree) {
            return Vec::new();
        }
        let layout = self.layout();
        let is_in = |area: ratatui_core::layout::Rect| area.contains((mouse.x, mouse.y).into());
        match mouse.what {
            MouseAct::WheelUp if layout.content.is_some_and(is_in) => self.scroll_content(false),
            MouseAct::WheelDown if layout.content.is_some_and(is_in) => self.scroll_content(true),
            MouseAct::WheelUp => self.go(self.position().saturating_sub(3)),
            MouseAct::WheelDown => self.go(self.position() + 3),
            MouseAct::Click if is_in(layout.list) => {
                let position = self.first_shown(layout.list.height.into()) + usize::from(mouse.y - layout.list.y);
                if position >= self.folds.len() {
                    return Vec::new();
                }
                // A click on what is chosen already goes there.
                if position == self.position() { self.confirm() } else { self.go(position) }
            }
            MouseAct::Click => Vec::new(),
        }
    }
}

impl Part for Tree {
    type Job = TreeJob;
    type Outcome = TreeOutcome;

    fn begin(&mut self) -> Effects<Self> {
        vec![Effect::Do(TreeJob::Load)]
    }

    fn update(&mut self, event: Event<TreeNews>) -> Effects<Self> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => match &mut self.mode {
                Mode::Label { input, .. } | Mode::Instructions { input, .. } => {
                    input.put(&text);
                    Vec::new()
                }
                Mode::Tree if self.query.put(&text) => self.search(),
                _ => Vec::new(),
            },
            Event::Mouse(mouse) => self.point(mouse),
            Event::Size(width, height) => {
                self.size = (width, height);
                self.content_wanted = None;
                self.wanted_words = (0, 0);
                self.look()
            }
            Event::Clock(now_ms) => {
                self.now_ms = now_ms;
                self.status.at(now_ms);
                Vec::new()
            }
            Event::News(news) => self.news(news),
        }
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        self.draw(canvas);
    }
}
