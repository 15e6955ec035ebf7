//! The picker: the user chooses the session to resume.

pub(crate) mod arrange;
pub(crate) mod job;
mod keys;
mod preview;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::SessionId;
use sessile::date::Timestamp;
use sessile::list::{Copies, SessionInfo};
use sessile::text::excerpt::Excerpt;
use sessile::users::SessionUser;
use sessile::watch::StoreEvent;

use crate::help::Help;
use crate::keymap::{Action, Keymap};
use crate::line_editor::LineEditor;
use crate::paint::{Canvas, Line};
use crate::screen::{Effect, Effects, Event, Screen};
use crate::status::Status;
use crate::undo::History;
use arrange::{Row, Sort, View};
use job::{PickerEvent, PickerJob, SEARCH};
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

/// Why the user picks a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To resume it.
    #[default]
    Resume,
    /// To look at its tree.
    Tree,
    Read,
    Fork,
}

/// The result of the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// The user left without choosing.
    Nothing,
    /// The user chose this session.
    Chosen(PathBuf),
    /// Show the session's tree, then return to the picker.
    Tree(PathBuf),
    /// Show the session in the reader, then return to the picker.
    Read(PathBuf),
    /// Show the trash, then return to the picker.
    Trash,
}

/// Upper bound on the total bytes of sessions whose texts are read as pi reads them. Larger stores are searched through
/// the index.
const MAX_READ_BYTES: u64 = 16 << 20;

/// Minimum terminal width for a preview beside the list.
const MIN_PREVIEW_COLUMNS: u16 = 110;

/// The sessions of one scope.
#[derive(Debug, Default)]
struct SessionList {
    list: Arc<Vec<SessionInfo>>,
    /// Sessions loaded so far, and in total.
    loading: Option<(usize, usize)>,
    is_requested: bool,
    is_complete: bool,
    /// Whether the texts of messages are loaded or being loaded.
    has_texts: bool,
}

/// Where keys go.
#[derive(Debug, Default)]
enum Mode {
    #[default]
    List,
    Confirm(Vec<PathBuf>),
    /// The user answers a question about these sessions.
    Prompt {
        question: Question,
        paths: Vec<PathBuf>,
        input: LineEditor,
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
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct Picker {
    keymap: Arc<Keymap>,
    purpose: Purpose,
    /// The home directory, shown as `~`.
    home: String,
    /// Where sessions are stored.
    root: PathBuf,
    /// The session that is currently open and must not be deleted.
    current: Option<PathBuf>,
    size: (u16, u16),
    now: Timestamp,
    scope: Scope,
    lists: [SessionList; 2],
    query: LineEditor,
    /// Whether the user typed into the query last; keys that change something are then not meant for the list.
    is_editing: bool,
    /// Why the query cannot find anything.
    problem: Option<String>,
    sort: Sort,
    named: bool,
    shows_path: bool,
    hides_children: bool,
    /// Whether the list shows only archived sessions.
    shows_archived: bool,
    /// The number of archived sessions that the list hides.
    n_archived: usize,
    groups: bool,
    searches_text: bool,
    pins: HashSet<SessionId>,
    /// The users of each session when the list was last read.
    users: HashMap<PathBuf, Vec<SessionUser>>,
    hits: Vec<(PathBuf, Excerpt)>,
    is_searching: bool,
    /// The list that the rows refer to; it may be older than the last one loaded.
    arranged: Arc<Vec<SessionInfo>>,
    /// Which of the shown files hold the same session as another one.
    copies: Copies,
    rows: Vec<Row>,
    version: u64,
    selected: usize,
    /// Whether the user moved the selection.
    is_user_selection: bool,
    marks: HashSet<PathBuf>,
    shows_preview: bool,
    previewed: Option<(PathBuf, Vec<Line>)>,
    preview_requested: Option<PathBuf>,
    preview_top: usize,
    /// The operations of this screen that can be undone.
    history: History,
    mode: Mode,
    status: Status,
}

impl Picker {
    pub(crate) fn new(keymap: Arc<Keymap>, home: String, current: Option<PathBuf>, shows_preview: bool) -> Self {
        Self {
            keymap,
            purpose: Purpose::Resume,
            home,
            root: PathBuf::new(),
            current,
            size: (80, 24),
            now: Timestamp::EPOCH,
            scope: Scope::Here,
            lists: [SessionList::default(), SessionList::default()],
            query: LineEditor::default(),
            is_editing: false,
            problem: None,
            sort: Sort::Threaded,
            named: false,
            shows_path: false,
            hides_children: false,
            shows_archived: false,
            n_archived: 0,
            groups: false,
            searches_text: true,
            pins: HashSet::new(),
            users: HashMap::new(),
            hits: Vec::new(),
            is_searching: false,
            arranged: Arc::default(),
            copies: Copies::default(),
            rows: Vec::new(),
            version: 0,
            selected: 0,
            is_user_selection: false,
            marks: HashSet::new(),
            shows_preview,
            previewed: None,
            preview_requested: None,
            preview_top: 0,
            history: History::default(),
            mode: Mode::List,
            status: Status::default(),
        }
    }

    /// Starts with the sessions of all directories.
    pub(crate) fn with_all_sessions(mut self) -> Self {
        self.scope = Scope::All;
        self
    }

    /// Starts with a query.
    pub(crate) fn with_query(mut self, query: &str) -> Self {
        self.query = LineEditor::with_text(query);
        self.is_editing = !query.is_empty();
        self
    }

    /// Sets the directory where sessions are stored.
    pub(crate) fn with_root(mut self, root: PathBuf) -> Self {
        self.root = root;
        self
    }

    /// Sets the purpose.
    pub(crate) fn with_purpose(mut self, purpose: Purpose) -> Self {
        self.purpose = purpose;
        self
    }

    /// Handles the return from another screen.
    pub(crate) fn on_return(&mut self, failure: Option<String>) {
        if let Some(message) = failure {
            self.status.show_error(message, self.now);
        }
        // Other screens may have changed sessions, so the lists are read again.
        self.lists.iter_mut().for_each(|listed| listed.is_requested = false);
        self.preview_requested = None;
    }

    /// The operations of this screen that can be undone.
    pub(crate) fn history(&self) -> History {
        self.history.clone()
    }

    /// Removes the status message, because it no longer applies.
    pub(crate) fn clear_message(&mut self) {
        self.status = Status::default();
    }

    fn listed(&self, scope: Scope) -> &SessionList {
        &self.lists[usize::from(scope == Scope::All)]
    }

    fn listed_mut(&mut self, scope: Scope) -> &mut SessionList {
        &mut self.lists[usize::from(scope == Scope::All)]
    }

    fn session(&self, row: &Row) -> Option<&SessionInfo> {
        row.index().and_then(|index| self.arranged.get(index))
    }

    fn selected_session(&self) -> Option<&SessionInfo> {
        self.rows.get(self.selected).and_then(|row| self.session(row))
    }

    fn is_current(&self, path: &Path) -> bool {
        self.current.as_deref() == Some(path)
    }

    fn layout(&self) -> Layout {
        Layout::new(self.size, self.shows_preview && self.size.0 >= MIN_PREVIEW_COLUMNS)
    }

    fn load(&mut self, scope: Scope) -> Vec<Effect<PickerJob, Picked>> {
        let listed = self.listed_mut(scope);
        if std::mem::replace(&mut listed.is_requested, true) {
            return Vec::new();
        }
        listed.loading = Some((0, 0));
        vec![Effect::Run(PickerJob::Load(scope))]
    }

    /// Requests a new arrangement of the list.
    fn request_arrangement(&mut self) -> Effects<Self> {
        self.version += 1;
        let view = View {
            query: self.query.text().to_owned(),
            sort: self.sort,
            named: self.named,
            hides_children: self.hides_children,
            shows_archived: self.shows_archived,
            groups: self.groups,
            pins: self.pins.clone(),
            hits: self.hits.clone(),
        };
        let list = Arc::clone(&self.listed(self.scope).list);
        vec![Effect::Run(PickerJob::Arrange { list, view, version: self.version })]
    }

    /// Starts a new query.
    fn start_query(&mut self) -> Effects<Self> {
        (self.selected, self.is_user_selection) = (0, false);
        self.hits.clear();
        self.problem = None;
        self.repeat_query()
    }

    /// Repeats the query for another list. Earlier results stay until new ones arrive.
    fn repeat_query(&mut self) -> Effects<Self> {
        let mut effects = vec![Effect::Stop(SEARCH)];
        let query = self.query.text().trim().to_owned();
        self.is_searching = self.searches_text && query.chars().count() > 1;
        if self.is_searching {
            let (scope, shows_archived) = (self.scope, self.shows_archived);
            effects.push(Effect::Run(PickerJob::Search { query: query.clone(), scope, shows_archived }));
        }
        let scope = self.scope;
        let listed = self.listed_mut(scope);
        let n_bytes: u64 = listed.list.iter().map(|session| session.size).sum();
        if !query.is_empty() && listed.is_complete && !listed.has_texts && n_bytes <= MAX_READ_BYTES {
            listed.has_texts = true;
            effects.push(Effect::Run(PickerJob::Texts(scope)));
        }
        effects.extend(self.request_arrangement());
        effects
    }

    /// Requests a preview of the selected session, if there is room for it.
    fn request_preview(&mut self) -> Effects<Self> {
        let Some(width) = self.layout().preview.map(|area| area.width) else { return Vec::new() };
        let Some(path) = self.selected_session().map(|session| session.path.clone()) else { return Vec::new() };
        if self.preview_requested.as_ref() == Some(&path) {
            return Vec::new();
        }
        self.preview_requested = Some(path.clone());
        self.preview_top = 0;
        let (list, now) = (Arc::clone(&self.arranged), self.now);
        vec![Effect::Run(PickerJob::Preview { path, list, width: width.into(), now })]
    }

    fn select(&mut self, row: usize, is_down: bool) -> Effects<Self> {
        (self.is_user_selection, self.is_editing) = (true, false);
        let last = self.rows.len().saturating_sub(1);
        let mut at = row.min(last);
        // Headings are skipped: in the direction of the move, else in the other.
        let is_session = |at: usize| self.rows.get(at).is_some_and(|row| row.index().is_some());
        if !is_session(at) {
            let below = (at..self.rows.len()).find(|at| is_session(*at));
            let above = (0..at).rev().find(|at| is_session(*at));
            at = if is_down { below.or(above) } else { above.or(below) }.unwrap_or(at);
        }
        self.selected = at;
        self.request_preview()
    }

    fn handle_job_event(&mut self, event: PickerEvent) -> Effects<Self> {
        match event {
            PickerEvent::Loading { scope, loaded, total, list } => {
                let listed = self.listed_mut(scope);
                listed.loading = Some((loaded, total));
                // The first part of a new list does not replace a complete one, because the selected session may be
                // missing from it.
                let Some(list) = list.filter(|_| !listed.is_complete || listed.list.is_empty()) else {
                    return Vec::new();
                };
                listed.list = Arc::new(list);
                if scope == self.scope { self.request_arrangement() } else { Vec::new() }
            }
            PickerEvent::Loaded { scope, list, with_texts } => {
                let listed = self.listed_mut(scope);
                listed.list = Arc::new(list);
                (listed.loading, listed.is_complete) = (None, true);
                listed.has_texts |= with_texts;
                let loaded = Arc::clone(&listed.list);
                let mut effects = Vec::new();
                if scope == self.scope {
                    effects = if with_texts || self.query.is_empty() {
                        self.request_arrangement()
                    } else {
                        self.repeat_query()
                    };
                }
                if !with_texts {
                    effects.push(Effect::Run(PickerJob::Users(loaded)));
                }
                effects
            }
            PickerEvent::Arranged { version, list, rows, problem } => {
                if version != self.version {
                    return Vec::new();
                }
                let before =
                    self.selected_session().map(|session| session.path.clone()).filter(|_| self.is_user_selection);
                if !Arc::ptr_eq(&self.arranged, &list) {
                    self.copies = Copies::among(&list);
                }
                (self.arranged, self.rows, self.problem) = (list, rows, problem);
                let n_archived = self.arranged.iter().filter(|session| session.is_archived).count();
                self.n_archived = if self.shows_archived { 0 } else { n_archived };
                let kept = before.and_then(|path| {
                    self.rows.iter().position(|row| self.session(row).is_some_and(|session| session.path == path))
                });
                let (is_user_selection, is_editing) = (self.is_user_selection, self.is_editing);
                let at = if is_user_selection { kept.unwrap_or(self.selected) } else { 0 };
                self.preview_requested = None;
                let effects = self.select(at, true);
                (self.is_user_selection, self.is_editing) = (is_user_selection, is_editing);
                effects
            }
            PickerEvent::Found { query, hits } => {
                if query != self.query.text().trim() {
                    return Vec::new();
                }
                (self.hits, self.is_searching) = (hits, false);
                self.request_arrangement()
            }
            PickerEvent::Previewed { path, lines } => {
                self.previewed = Some((path, lines));
                Vec::new()
            }
            PickerEvent::Store(event) => self.apply_store_event(&event),
            PickerEvent::Users { list, used } => {
                for session in list.iter() {
                    self.users.remove(&session.path);
                }
                self.users.extend(used);
                Vec::new()
            }
            PickerEvent::Pins(pins) => {
                self.pins = pins;
                self.request_arrangement()
            }
            PickerEvent::Changed { message, can_undo } => {
                let undo = self.keymap.key_name(Action::Undo);
                let hint = if can_undo { format!(" · {undo} undo") } else { String::new() };
                self.status.show(format!("{message}{hint}"), self.now, 8);
                self.marks.clear();
                let scope = self.scope;
                self.listed_mut(scope).is_requested = false;
                self.listed_mut(scope.other()).is_requested = false;
                self.load(scope)
            }
            PickerEvent::Failed(message) => {
                self.is_searching = false;
                self.status.show_error(message, self.now);
                Vec::new()
            }
        }
    }

    /// Applies changes by other programs to both lists.
    fn apply_store_event(&mut self, event: &StoreEvent) -> Effects<Self> {
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
            // Only a listing of the store shows which folder a new session belongs to.
            self.lists.iter_mut().for_each(|listed| listed.is_requested = false);
            effects = self.load(self.scope);
        }
        effects.extend(self.request_arrangement());
        effects
    }

    /// Returns the first visible row. The selected row is centred where possible.
    fn first_visible(&self, height: usize) -> usize {
        self.selected.saturating_sub(height / 2).min(self.rows.len().saturating_sub(height))
    }
}

impl Screen for Picker {
    type Job = PickerJob;
    type Outcome = Picked;

    fn start(&mut self) -> Effects<Self> {
        let mut effects = self.load(self.scope);
        effects.push(Effect::Run(PickerJob::Pins));
        effects.push(Effect::Run(PickerJob::Watch));
        if !self.query.is_empty() {
            effects.extend(self.start_query());
        }
        effects
    }

    fn update(&mut self, event: Event<PickerEvent>) -> Effects<Self> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => match &mut self.mode {
                Mode::Prompt { input, .. } => {
                    input.put(&text);
                    Vec::new()
                }
                Mode::List if self.query.put(&text) => {
                    self.is_editing = true;
                    self.start_query()
                }
                _ => Vec::new(),
            },
            Event::Mouse(mouse) => self.handle_mouse(mouse),
            Event::Size(width, height) => {
                self.size = (width, height);
                self.preview_requested = None;
                self.request_preview()
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
