//! Key and mouse handling of the picker.

use std::collections::HashSet;
use std::path::PathBuf;

use super::arrange::Sort;
use super::job::PickerJob;
use super::view::below_home;
use super::{MIN_PREVIEW_COLUMNS, Mode, Picked, Picker, Question};
use crate::help::Help;
use crate::key::Key;
use crate::keymap::{Action, KeyContext};
use crate::line_editor::{LineEditor, QueryLine};
use crate::screen::{Effect, Effects, Mouse, MouseAction};

/// Whether an action changes something at once or asks a question that a single key answers. Such a key must not act
/// while the user edits the query.
fn changes_at_once(action: Action) -> bool {
    matches!(action, Action::Delete | Action::DeleteNoninvasive | Action::Archive | Action::Undo | Action::TogglePin)
}

impl Picker {
    pub(super) fn press(&mut self, key: Key) -> Effects<Self> {
        match &mut self.mode {
            Mode::Help(help) => {
                if !help.press(key, &self.keymap, self.size) {
                    self.mode = Mode::List;
                }
                Vec::new()
            }
            Mode::Confirm(paths) => match self.keymap.answer(key) {
                Some(true) => {
                    let paths = std::mem::take(paths);
                    self.mode = Mode::List;
                    vec![Effect::Run(PickerJob::Delete { paths })]
                }
                Some(false) => {
                    self.mode = Mode::List;
                    Vec::new()
                }
                None => Vec::new(),
            },
            Mode::Prompt { input, .. } => match self.keymap.line_answer(key) {
                Some(true) => self.submit_prompt(),
                Some(false) => {
                    self.mode = Mode::List;
                    Vec::new()
                }
                None => {
                    input.press(key, &self.keymap);
                    Vec::new()
                }
            },
            Mode::List => match self.keymap.action(KeyContext::Picker, key) {
                Some(Action::DeleteNoninvasive) if !self.query.is_empty() => self.type_key(key),
                Some(action) if self.is_editing && changes_at_once(action) => self.type_or_explain(key),
                Some(action) => self.act(action),
                None => self.type_key(key),
            },
        }
    }

    fn type_key(&mut self, key: Key) -> Effects<Self> {
        if self.query_line().press(key) { self.start_query() } else { Vec::new() }
    }

    fn type_or_explain(&mut self, key: Key) -> Effects<Self> {
        if self.query_line().press_or_explain(key) { self.start_query() } else { Vec::new() }
    }

    fn query_line(&mut self) -> QueryLine<'_> {
        let Self { query, is_editing, status, keymap, now, .. } = self;
        QueryLine { query, is_editing, status, keymap, now: *now }
    }

    /// Runs the action of the prompt with the text that the user typed.
    fn submit_prompt(&mut self) -> Effects<Self> {
        let Mode::Prompt { question, paths, input } = std::mem::take(&mut self.mode) else { return Vec::new() };
        let text = input.text().trim().to_owned();
        if text.is_empty() {
            return Vec::new();
        }
        vec![Effect::Run(match question {
            Question::Rename => match paths.into_iter().next() {
                Some(path) => PickerJob::Rename { path, name: text },
                None => return Vec::new(),
            },
            Question::Move => {
                let to = match below_home(&text) {
                    Some(rest) => format!("{}/{rest}", self.home),
                    None => text,
                };
                PickerJob::Move { paths, to: PathBuf::from(to) }
            }
            Question::Export => PickerJob::Export { paths, to: text },
        })]
    }

    /// Returns the sessions that an action applies to: the marked ones, else the selected one.
    fn targets(&self) -> Vec<PathBuf> {
        if self.marks.is_empty() {
            return self.selected_session().map(|session| session.path.clone()).into_iter().collect();
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
            Action::Confirm => match self.selected_session() {
                Some(session) => vec![Effect::Leave(Picked::Chosen(session.path.clone()))],
                None => Vec::new(),
            },
            Action::Cancel if !self.query.is_empty() => {
                self.query.clear();
                self.is_editing = false;
                self.start_query()
            }
            Action::Cancel => vec![Effect::Leave(Picked::Nothing)],
            Action::OpenTrash => vec![Effect::Leave(Picked::Trash)],
            Action::OpenTree => {
                self.selected_session().map(|it| Effect::Leave(Picked::Tree(it.path.clone()))).into_iter().collect()
            }
            Action::OpenReader => {
                self.selected_session().map(|it| Effect::Leave(Picked::Read(it.path.clone()))).into_iter().collect()
            }
            Action::ToggleScope => {
                self.scope = self.scope.other();
                let mut effects = self.load(self.scope);
                effects.extend(self.start_query());
                effects
            }
            Action::ToggleSort => {
                self.sort = match self.sort {
                    Sort::Threaded => Sort::Recent,
                    Sort::Recent => Sort::Relevance,
                    Sort::Relevance => Sort::Threaded,
                };
                self.request_arrangement()
            }
            Action::ToggleNamed => self.toggle(|picker| &mut picker.named),
            Action::ToggleChildren => self.toggle(|picker| &mut picker.hides_children),
            Action::ToggleArchived => {
                self.shows_archived = !self.shows_archived;
                self.marks.clear();
                self.start_query()
            }
            Action::Archive => self.archive(),
            Action::ToggleGroups => self.toggle(|picker| &mut picker.groups),
            Action::ToggleText => {
                self.searches_text = !self.searches_text;
                let message = if self.searches_text { "Searching message text too" } else { "Searching names only" };
                self.status.show(message, self.now, 2);
                self.start_query()
            }
            Action::TogglePath => {
                self.shows_path = !self.shows_path;
                Vec::new()
            }
            Action::TogglePreview => {
                self.shows_preview = !self.shows_preview;
                self.preview_requested = None;
                if self.shows_preview && self.size.0 < MIN_PREVIEW_COLUMNS {
                    self.status.show(format!("The preview needs at least {MIN_PREVIEW_COLUMNS} columns"), self.now, 3);
                }
                self.request_preview()
            }
            Action::PreviewUp => self.scroll_preview(false),
            Action::PreviewDown => self.scroll_preview(true),
            Action::Delete | Action::DeleteNoninvasive => self.confirm_deletion(),
            Action::Rename => self.open_prompt(Question::Rename),
            Action::Move => self.open_prompt(Question::Move),
            Action::Export => self.open_prompt(Question::Export),
            Action::TogglePin => self.toggle_pin(),
            Action::Mark => {
                if let Some(path) = self.selected_session().map(|session| session.path.clone())
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
            Action::Undo => vec![Effect::Run(PickerJob::Undo)],
            Action::Help => {
                self.mode = Mode::Help(Help::new(KeyContext::Picker));
                Vec::new()
            }
            Action::Suspend => vec![Effect::Suspend],
            _ => Vec::new(),
        }
    }

    fn toggle(&mut self, flag: fn(&mut Self) -> &mut bool) -> Effects<Self> {
        let flag = flag(self);
        *flag = !*flag;
        self.request_arrangement()
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

    fn confirm_deletion(&mut self) -> Effects<Self> {
        let paths = self.targets();
        if paths.iter().any(|path| self.is_current(path)) {
            self.status.show_error("You cannot delete the open session", self.now);
        } else if !paths.is_empty() {
            self.mode = Mode::Confirm(paths);
        }
        Vec::new()
    }

    /// Archives the targets; if all of them are archived, unarchives them.
    fn archive(&mut self) -> Effects<Self> {
        let paths = self.targets();
        let is_archived = |path: &PathBuf| self.arranged.iter().any(|it| it.path == *path && it.is_archived);
        if paths.is_empty() {
            return Vec::new();
        }
        let is_archived = !paths.iter().all(is_archived);
        vec![Effect::Run(PickerJob::Archive { paths, is_archived })]
    }

    fn open_prompt(&mut self, question: Question) -> Effects<Self> {
        let paths = if question == Question::Rename {
            self.selected_session().map(|session| session.path.clone()).into_iter().collect()
        } else {
            self.targets()
        };
        let Some(selected) = self.selected_session().filter(|_| !paths.is_empty()) else { return Vec::new() };
        let input = match question {
            Question::Rename => {
                LineEditor::with_text(&selected.name.as_ref().map(|name| name.to_str()).unwrap_or_default())
            }
            Question::Move => LineEditor::with_text(&selected.cwd),
            Question::Export => LineEditor::with_text("."),
        };
        self.mode = Mode::Prompt { question, paths, input };
        Vec::new()
    }

    fn toggle_pin(&mut self) -> Effects<Self> {
        let Some(id) = self.selected_session().map(|session| session.id.clone()) else { return Vec::new() };
        let is_pinned = !self.pins.contains(&id);
        if !self.pins.remove(&id) {
            self.pins.insert(id.clone());
        }
        self.is_user_selection = true;
        let mut effects = vec![Effect::Run(PickerJob::Pin { id, is_pinned })];
        effects.extend(self.request_arrangement());
        effects
    }

    pub(super) fn handle_mouse(&mut self, mouse: Mouse) -> Effects<Self> {
        if !matches!(self.mode, Mode::List) {
            return Vec::new();
        }
        let layout = self.layout();
        let is_in = |area: ratatui_core::layout::Rect| area.contains((mouse.x, mouse.y).into());
        match mouse.action {
            MouseAction::WheelUp if layout.preview.is_some_and(is_in) => self.scroll_preview(false),
            MouseAction::WheelDown if layout.preview.is_some_and(is_in) => self.scroll_preview(true),
            MouseAction::WheelUp => self.select(self.selected.saturating_sub(3), false),
            MouseAction::WheelDown => self.select(self.selected + 3, true),
            MouseAction::Click if is_in(layout.list) => {
                let row = self.first_visible(layout.list.height.into()) + usize::from(mouse.y - layout.list.y);
                match self.rows.get(row) {
                    // A click on the selected row opens it.
                    Some(_) if row == self.selected && self.is_user_selection => self.act(Action::Confirm),
                    Some(_) => self.select(row, true),
                    None => Vec::new(),
                }
            }
            MouseAction::Click => Vec::new(),
        }
    }
}
