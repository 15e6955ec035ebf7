//! The picker: which session to go on with.

pub(crate) mod arrange;
pub(crate) mod job;
mod preview;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::text::excerpt::Excerpt;
use sessile::{SessionInfo, StoreEvent};

use crate::help::Help;
use crate::input::Input;
use crate::key::Key;
use crate::keymap::{Action, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::part::{Effect, Effects, Event, Mouse, MouseAct, Part};
use crate::status::Status;
use arrange::{Row, Sort, View};
use job::{PickerJob, PickerNews, SEARCH};
use view::Layout;

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of the working directory.
    #[default]
    Here,
    All,
}

impl Scope {
    fn other(self) -> Self {
        if self == Self::Here { Self::All } else { Self::Here }
    }
}

/// What came of picking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// Nothing.
    Nothing,
    /// Go on with this one.
    Resume(PathBuf),
    /// Look at its tree, and come back.
    Tree(PathBuf),
    /// Read it, and come back.
    Read(PathBuf),
}

/// Up to how many bytes of sessions have their texts read as pi reads them. Larger stores are searched by the index.
const MOST_READ: u64 = 16 << 20;

/// How wide a terminal must be to show a preview beside the list.
const WIDE: u16 = 110;

/// One of the two lists.
#[derive(Debug, Default)]
struct Listed {
    list: Arc<Vec<SessionInfo>>,
    /// How far loading has come.
    loading: Option<(usize, usize)>,
    has_begun: bool,
    is_complete: bool,
    /// Whether the texts of messages are there, or on their way.
    has_texts: bool,
}

/// What the keys go to.
#[derive(Debug, Default)]
enum Mode {
    #[default]
    List,
    Confirm(Vec<PathBuf>),
    /// A line is typed for the sessions.
    Ask {
        what: Question,
        paths: Vec<PathBuf>,
        input: Input,
    },
    Help(Help),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    Rename,
    Move,
    Export,
}

/// The state of the picker.
#[expect(clippy::struct_excessive_bools, reason = "each is something that somebody switches on and off")]
pub(crate) struct Picker {
    keymap: Arc<Keymap>,
    /// The home directory, which is shown as `~`.
    home: String,
    /// The session that somebody has open, which is not deleted.
    current: Option<PathBuf>,
    size: (u16, u16),
    now_ms: i64,
    scope: Scope,
    lists: [Listed; 2],
    query: Input,
    sort: Sort,
    named: bool,
    shows_path: bool,
    hides_children: bool,
    groups: bool,
    searches_text: bool,
    pins: HashSet<String>,
    hits: Vec<(PathBuf, Excerpt)>,
    is_searching: bool,
    /// The list that the rows are about, which may be an older one than the last that was loaded.
    shown: Arc<Vec<SessionInfo>>,
    rows: Vec<Row>,
    version: u64,
    selected: usize,
    /// Whether the selection is somebody's wish, and not just where it began.
    is_touched: bool,
    marks: HashSet<PathBuf>,
    shows_preview: bool,
    previewed: Option<(PathBuf, Vec<Line>)>,
    preview_wanted: Option<PathBuf>,
    preview_top: usize,
    last_operation: Option<String>,
    mode: Mode,
    status: Status,
}

impl Picker {
    pub(crate) fn new(keymap: Arc<Keymap>, home: String, current: Option<PathBuf>, shows_preview: bool) -> Self {
        Self {
            keymap,
            home,
            current,
            size: (80, 24),
            now_ms: 0,
            scope: Scope::Here,
            lists: [Listed::default(), Listed::default()],
            query: Input::default(),
            sort: Sort::Threaded,
            named: false,
            shows_path: false,
            hides_children: false,
            groups: false,
            searches_text: true,
            pins: HashSet::new(),
            hits: Vec::new(),
            is_searching: false,
            shown: Arc::default(),
            rows: Vec::new(),
            version: 0,
            selected: 0,
            is_touched: false,
            marks: HashSet::new(),
            shows_preview,
            previewed: None,
            preview_wanted: None,
            preview_top: 0,
            last_operation: None,
            mode: Mode::List,
            status: Status::default(),
        }
    }

    /// Begins with the sessions of all directories.
    pub(crate) fn of_all(mut self) -> Self {
        self.scope = Scope::All;
        self
    }

    /// Begins with something typed already.
    pub(crate) fn asked(mut self, query: &str) -> Self {
        self.query = Input::with(query);
        self
    }

    /// Takes note that somebody comes back from another screen.
    pub(crate) fn come_back(&mut self, failure: Option<String>) {
        if let Some(words) = failure {
            self.status.complain(words, self.now_ms);
        }
        // What was changed elsewhere is read again.
        self.lists.iter_mut().for_each(|listed| listed.has_begun = false);
        self.preview_wanted = None;
    }

    fn listed(&self, scope: Scope) -> &Listed {
        &self.lists[usize::from(scope == Scope::All)]
    }

    fn listed_mut(&mut self, scope: Scope) -> &mut Listed {
        &mut self.lists[usize::from(scope == Scope::All)]
    }

    fn session(&self, row: &Row) -> Option<&SessionInfo> {
        row.place().and_then(|place| self.shown.get(place))
    }

    fn chosen(&self) -> Option<&SessionInfo> {
        self.rows.get(self.selected).and_then(|row| self.session(row))
    }

    fn is_current(&self, path: &Path) -> bool {
        self.current.as_deref() == Some(path)
    }

    fn layout(&self) -> Layout {
        Layout::new(self.size, self.shows_preview && self.size.0 >= WIDE)
    }

    fn load(&mut self, scope: Scope) -> Vec<Effect<PickerJob, Picked>> {
        let listed = self.listed_mut(scope);
        if std::mem::replace(&mut listed.has_begun, true) {
            return Vec::new();
        }
        listed.loading = Some((0, 0));
        vec![Effect::Do(PickerJob::Load(scope))]
    }

    /// Has the list put in order again.
    fn arrange(&mut self) -> Effects<Self> {
        self.version += 1;
        let view = View {
            query: self.query.text().to_owned(),
            sort: self.sort,
            named: self.named,
            hides_children: self.hides_children,
            groups: self.groups,
            pins: self.pins.clone(),
            hits: self.hits.clone(),
        };
        let list = Arc::clone(&self.listed(self.scope).list);
        vec![Effect::Do(PickerJob::Arrange { list, view, version: self.version })]
    }

    /// What has to be done when something else is asked for.
    fn ask(&mut self) -> Effects<Self> {
        (self.selected, self.is_touched) = (0, false);
        self.hits.clear();
        let mut effects = vec![Effect::Stop(SEARCH)];
        let query = self.query.text().trim().to_owned();
        self.is_searching = self.searches_text && query.chars().count() > 1;
        if self.is_searching {
            effects.push(Effect::Do(PickerJob::Search { query: query.clone(), scope: self.scope }));
        }
        let scope = self.scope;
        let listed = self.listed_mut(scope);
        let n_bytes: u64 = listed.list.iter().map(|session| session.size).sum();
        if !query.is_empty() && listed.is_complete && !listed.has_texts && n_bytes <= MOST_READ {
            listed.has_texts = true;
            effects.push(Effect::Do(PickerJob::Texts(scope)));
        }
        effects.extend(self.arrange());
        effects
    }

    /// Has the chosen session described, if there is room for it.
    fn preview(&mut self) -> Effects<Self> {
        let Some(width) = self.layout().preview.map(|area| area.width) else { return Vec::new() };
        let Some(path) = self.chosen().map(|session| session.path.clone()) else { return Vec::new() };
        if self.preview_wanted.as_ref() == Some(&path) {
            return Vec::new();
        }
        self.preview_wanted = Some(path.clone());
        self.preview_top = 0;
        let (list, now_ms) = (Arc::clone(&self.shown), self.now_ms);
        vec![Effect::Do(PickerJob::Preview { path, list, width: width.into(), now_ms })]
    }

    fn select(&mut self, row: usize, is_down: bool) -> Effects<Self> {
        self.is_touched = true;
        let last = self.rows.len().saturating_sub(1);
        let mut at = row.min(last);
        // Headings are passed over, in the direction one goes, else in the other.
        let is_session = |at: usize| self.rows.get(at).is_some_and(|row| row.place().is_some());
        if !is_session(at) {
            let below = (at..self.rows.len()).find(|at| is_session(*at));
            let above = (0..at).rev().find(|at| is_session(*at));
            at = if is_down { below.or(above) } else { above.or(below) }.unwrap_or(at);
        }
        self.selected = at;
        self.preview()
    }

    fn news(&mut self, news: PickerNews) -> Effects<Self> {
        match news {
            PickerNews::Loading { scope, loaded, total, list } => {
                let listed = self.listed_mut(scope);
                listed.loading = Some((loaded, total));
                let Some(list) = list else { return Vec::new() };
                listed.list = Arc::new(list);
                if scope == self.scope { self.arrange() } else { Vec::new() }
            }
            PickerNews::Loaded { scope, list, with_texts } => {
                let listed = self.listed_mut(scope);
                listed.list = Arc::new(list);
                (listed.loading, listed.is_complete) = (None, true);
                listed.has_texts |= with_texts;
                let mut effects = Vec::new();
                if scope == self.scope {
                    effects = if with_texts || self.query.is_empty() { self.arrange() } else { self.ask() };
                }
                effects
            }
            PickerNews::Arranged { version, list, rows } => {
                if version != self.version {
                    return Vec::new();
                }
                let before = self.chosen().map(|session| session.path.clone()).filter(|_| self.is_touched);
                (self.shown, self.rows) = (list, rows);
                let kept = before.and_then(|path| {
                    self.rows.iter().position(|row| self.session(row).is_some_and(|session| session.path == path))
                });
                let is_touched = self.is_touched;
                let at = if is_touched { kept.unwrap_or(self.selected) } else { 0 };
                self.preview_wanted = None;
                let effects = self.select(at, true);
                self.is_touched = is_touched;
                effects
            }
            PickerNews::Found { query, hits } => {
                if query != self.query.text().trim() {
                    return Vec::new();
                }
                (self.hits, self.is_searching) = (hits, false);
                self.arrange()
            }
            PickerNews::Previewed { path, lines } => {
                self.previewed = Some((path, lines));
                Vec::new()
            }
            PickerNews::Store(event) => self.store(&event),
            PickerNews::Pins(pins) => {
                self.pins = pins;
                self.arrange()
            }
            PickerNews::Changed { words, operation, is_undo } => {
                self.last_operation = operation.or_else(|| self.last_operation.take().filter(|_| !is_undo));
                let undo = self.keymap.hint(Action::Undo);
                let hint = if self.last_operation.is_some() { format!(" · {undo} undo") } else { String::new() };
                self.status.say(format!("{words}{hint}"), self.now_ms, 5);
                self.marks.clear();
                let scope = self.scope;
                self.listed_mut(scope).has_begun = false;
                self.listed_mut(scope.other()).has_begun = false;
                self.load(scope)
            }
            PickerNews::Failed(words) => {
                self.is_searching = false;
                self.status.complain(words, self.now_ms);
                Vec::new()
            }
        }
    }

    /// Takes what other programs did to the store into both lists.
    fn store(&mut self, event: &StoreEvent) -> Effects<Self> {
        for listed in self.lists.iter_mut().filter(|listed| listed.is_complete) {
            let list = Arc::make_mut(&mut listed.list);
            match event {
                StoreEvent::Removed(path) => list.retain(|session| session.path != *path),
                StoreEvent::Added(session) | StoreEvent::Changed(session) => {
                    if let Some(known) = list.iter_mut().find(|known| known.path == session.path) {
                        let text = std::mem::take(&mut known.all_messages_text);
                        *known = SessionInfo { all_messages_text: text, ..(**session).clone() };
                        list.sort_by_key(|session| std::cmp::Reverse(session.modified));
                    }
                }
            }
        }
        let mut effects = Vec::new();
        if matches!(event, StoreEvent::Added(_)) {
            // Which folder a new session belongs to is for the list to say.
            self.lists.iter_mut().for_each(|listed| listed.has_begun = false);
            effects = self.load(self.scope);
        }
        effects.extend(self.arrange());
        effects
    }

    fn press(&mut self, key: Key) -> Effects<Self> {
        let action = self.keymap.action(Where::Picker, key);
        match &mut self.mode {
            Mode::Help(help) => {
                if !help.press(key) {
                    self.mode = Mode::List;
                }
                Vec::new()
            }
            Mode::Confirm(paths) => match action {
                Some(Action::Confirm) => {
                    let paths = std::mem::take(paths);
                    self.mode = Mode::List;
                    vec![Effect::Do(PickerJob::Delete { paths })]
                }
                Some(Action::Cancel) => {
                    self.mode = Mode::List;
                    Vec::new()
                }
                _ => Vec::new(),
            },
            Mode::Ask { input, .. } => match action {
                Some(Action::Confirm) => self.answered(),
                Some(Action::Cancel) => {
                    self.mode = Mode::List;
                    Vec::new()
                }
                _ => {
                    input.press(key, &self.keymap);
                    Vec::new()
                }
            },
            Mode::List => match action {
                Some(Action::DeleteNoninvasive) if !self.query.is_empty() => self.type_key(key),
                Some(action) => self.act(action),
                None => self.type_key(key),
            },
        }
    }

    fn type_key(&mut self, key: Key) -> Effects<Self> {
        if self.query.press(key, &self.keymap) { self.ask() } else { Vec::new() }
    }

    /// Does what was asked for a line about.
    fn answered(&mut self) -> Effects<Self> {
        let Mode::Ask { what, paths, input } = std::mem::take(&mut self.mode) else { return Vec::new() };
        let text = input.text().trim().to_owned();
        if text.is_empty() {
            return Vec::new();
        }
        let to = PathBuf::from(match text.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.home),
            None => text.clone(),
        });
        vec![Effect::Do(match what {
            Question::Rename => match paths.into_iter().next() {
                Some(path) => PickerJob::Rename { path, name: text },
                None => return Vec::new(),
            },
            Question::Move => PickerJob::Move { paths, to },
            Question::Export => PickerJob::Export { paths, to },
        })]
    }

    /// The sessions that an action is about: those that are marked, else the chosen one.
    fn meant(&self) -> Vec<PathBuf> {
        if self.marks.is_empty() {
            return self.chosen().map(|session| session.path.clone()).into_iter().collect();
        }
        let mut marked: Vec<PathBuf> = self.marks.iter().cloned().collect();
        marked.sort();
        marked
    }

    fn act(&mut self, action: Action) -> Effects<Self> {
        let page = self.layout().list.height.max(2).into();
        match action {
            Action::Up => self.select(self.selected.saturating_sub(1), false),
            Action::Down => self.select(self.selected + 1, true),
            Action::PageUp => self.select(self.selected.saturating_sub(page), false),
            Action::PageDown => self.select(self.selected + page, true),
            Action::First => self.select(0, true),
            Action::Last => self.select(usize::MAX, false),
            Action::Confirm => match self.chosen() {
                Some(session) => vec![Effect::Leave(Picked::Resume(session.path.clone()))],
                None => Vec::new(),
            },
            Action::Cancel => vec![Effect::Leave(Picked::Nothing)],
            Action::OpenTree => {
                self.chosen().map(|it| Effect::Leave(Picked::Tree(it.path.clone()))).into_iter().collect()
            }
            Action::OpenReader => {
                self.chosen().map(|it| Effect::Leave(Picked::Read(it.path.clone()))).into_iter().collect()
            }
            Action::ToggleScope => {
                self.scope = self.scope.other();
                let mut effects = self.load(self.scope);
                effects.extend(self.ask());
                effects
            }
            Action::ToggleSort => {
                self.sort = match self.sort {
                    Sort::Threaded => Sort::Recent,
                    Sort::Recent => Sort::Relevance,
                    Sort::Relevance => Sort::Threaded,
                };
                self.arrange()
            }
            Action::ToggleNamed => self.toggle(|picker| &mut picker.named),
            Action::ToggleChildren => self.toggle(|picker| &mut picker.hides_children),
            Action::ToggleGroups => self.toggle(|picker| &mut picker.groups),
            Action::ToggleText => {
                self.searches_text = !self.searches_text;
                let words = if self.searches_text { "Searching what was said, too" } else { "Searching names only" };
                self.status.say(words, self.now_ms, 2);
                self.ask()
            }
            Action::TogglePath => {
                self.shows_path = !self.shows_path;
                Vec::new()
            }
            Action::TogglePreview => {
                self.shows_preview = !self.shows_preview;
                self.preview_wanted = None;
                if self.shows_preview && self.size.0 < WIDE {
                    self.status.say(format!("A preview needs {WIDE} columns"), self.now_ms, 3);
                }
                self.preview()
            }
            Action::PreviewUp => self.scroll_preview(false),
            Action::PreviewDown => self.scroll_preview(true),
            Action::Delete | Action::DeleteNoninvasive => self.ask_deletion(),
            Action::Rename => self.question(Question::Rename),
            Action::Move => self.question(Question::Move),
            Action::Export => self.question(Question::Export),
            Action::TogglePin => self.toggle_pin(),
            Action::Mark => {
                if let Some(path) = self.chosen().map(|session| session.path.clone())
                    && !self.marks.remove(&path)
                {
                    self.marks.insert(path);
                }
                self.select(self.selected + 1, true)
            }
            Action::MarkAll => {
                let all: HashSet<PathBuf> =
                    self.rows.iter().filter_map(|row| self.session(row)).map(|it| it.path.clone()).collect();
                self.marks = if self.marks == all { HashSet::new() } else { all };
                Vec::new()
            }
            Action::Undo => vec![Effect::Do(PickerJob::Undo(self.last_operation.take()))],
            Action::Help => {
                self.mode = Mode::Help(Help::default());
                Vec::new()
            }
            Action::Suspend => vec![Effect::Suspend],
            _ => Vec::new(),
        }
    }

    fn toggle(&mut self, flag: fn(&mut Self) -> &mut bool) -> Effects<Self> {
        let flag = flag(self);
        *flag = !*flag;
        self.arrange()
    }

    fn scroll_preview(&mut self, is_down: bool) -> Effects<Self> {
        let n_lines = self.previewed.as_ref().map_or(0, |(_, lines)| lines.len());
        self.preview_top = if is_down {
            (self.preview_top + 3).min(n_lines.saturating_sub(1))
        } else {
            self.preview_top.saturating_sub(3)
        };
        Vec::new()
    }

    fn ask_deletion(&mut self) -> Effects<Self> {
        let paths = self.meant();
        if paths.iter().any(|path| self.is_current(path)) {
            self.status.complain("The session that is open cannot be deleted", self.now_ms);
        } else if !paths.is_empty() {
            self.mode = Mode::Confirm(paths);
        }
        Vec::new()
    }

    fn question(&mut self, what: Question) -> Effects<Self> {
        if self.listed(self.scope).loading.is_some() {
            self.status.say("One moment: sessions are still being read", self.now_ms, 2);
            return Vec::new();
        }
        let paths = if what == Question::Rename {
            self.chosen().map(|session| session.path.clone()).into_iter().collect()
        } else {
            self.meant()
        };
        let Some(chosen) = self.chosen().filter(|_| !paths.is_empty()) else { return Vec::new() };
        let input = match what {
            Question::Rename => Input::with(&chosen.name.as_ref().map(|name| name.to_str()).unwrap_or_default()),
            Question::Move => Input::with(&chosen.cwd),
            Question::Export => Input::with("."),
        };
        self.mode = Mode::Ask { what, paths, input };
        Vec::new()
    }

    fn toggle_pin(&mut self) -> Effects<Self> {
        let Some(id) = self.chosen().map(|session| session.id.clone()) else { return Vec::new() };
        let is_pinned = !self.pins.contains(&id);
        if !self.pins.remove(&id) {
            self.pins.insert(id.clone());
        }
        self.is_touched = true;
        let mut effects = vec![Effect::Do(PickerJob::Pin { id, is_pinned })];
        effects.extend(self.arrange());
        effects
    }

    fn point(&mut self, mouse: Mouse) -> Effects<Self> {
        if !matches!(self.mode, Mode::List) {
            return Vec::new();
        }
        let layout = self.layout();
        let is_in = |area: ratatui_core::layout::Rect| area.contains((mouse.x, mouse.y).into());
        match mouse.what {
            MouseAct::WheelUp if layout.preview.is_some_and(is_in) => self.scroll_preview(false),
            MouseAct::WheelDown if layout.preview.is_some_and(is_in) => self.scroll_preview(true),
            MouseAct::WheelUp => self.select(self.selected.saturating_sub(3), false),
            MouseAct::WheelDown => self.select(self.selected + 3, true),
            MouseAct::Click if is_in(layout.list) => {
                let row = self.first_shown(layout.list.height.into()) + usize::from(mouse.y - layout.list.y);
                match self.rows.get(row) {
                    // A click on what is chosen already opens it.
                    Some(_) if row == self.selected && self.is_touched => self.act(Action::Confirm),
                    Some(_) => self.select(row, true),
                    None => Vec::new(),
                }
            }
            MouseAct::Click => Vec::new(),
        }
    }

    /// The first row that can be seen: the chosen one stands in the middle where it can.
    fn first_shown(&self, height: usize) -> usize {
        self.selected.saturating_sub(height / 2).min(self.rows.len().saturating_sub(height))
    }
}

impl Part for Picker {
    type Job = PickerJob;
    type Outcome = Picked;

    fn begin(&mut self) -> Effects<Self> {
        let mut effects = self.load(self.scope);
        effects.push(Effect::Do(PickerJob::Pins));
        effects.push(Effect::Do(PickerJob::Watch));
        if !self.query.is_empty() {
            effects.extend(self.ask());
        }
        effects
    }

    fn update(&mut self, event: Event<PickerNews>) -> Effects<Self> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => match &mut self.mode {
                Mode::Ask { input, .. } => {
                    input.put(&text);
                    Vec::new()
                }
                Mode::List if self.query.put(&text) => self.ask(),
                _ => Vec::new(),
            },
            Event::Mouse(mouse) => self.point(mouse),
            Event::Size(width, height) => {
                self.size = (width, height);
                self.preview_wanted = None;
                self.preview()
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
