//! The trash: deleted sessions, which the user can read and restore.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui_core::layout::Rect;
use sessile::date::Timestamp;
use sessile::format::cause::chain;
use sessile::list::SessionInfo;
use sessile::operations::TrashedSession;
use sessile::text::picker::{PickerQuery, Row as QueryRow};
use sessile::{Cancel, SessionError, Sessions};
use sessile_display::measure::age;

use crate::help::Help;
use crate::hint;
use crate::key::Key;
use crate::keymap::{Action, KeyContext, Keymap};
use crate::line_editor::LineEditor;
use crate::paint::{Canvas, Line};
use crate::picker::view::short_path;
use crate::row::{Parts, title};
use crate::screen::{CHANGES, Effect, Effects, Event, Job, Lane, MouseAction, Screen};
use crate::status::Status;
use crate::theme::Ink;
use crate::undo::History;

/// The result of the trash screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TrashOutcome {
    /// The user went back.
    Back,
    /// Show this file in the reader, then return to the trash.
    Read(PathBuf),
}

/// The resources of the jobs.
pub(crate) struct TrashBackend {
    pub(crate) sessions: Sessions,
    /// The operations of the screen from which the trash was opened.
    pub(crate) history: History,
}

#[derive(Debug)]
pub(crate) enum TrashJob {
    Load,
    Restore(Box<Deleted>),
}

#[derive(Debug)]
pub(crate) enum TrashEvent {
    /// The contents of the trash. Descriptions of the sessions follow.
    Listed(Vec<TrashedSession>),
    /// Descriptions of some sessions, by their index in the list.
    Described(Vec<(usize, SessionInfo)>),
    /// The session that was restored, with its description.
    Restored(Box<Deleted>),
    Failed(String),
}

/// Sessions described per event.
const SESSIONS_PER_EVENT: usize = 20;

impl Job for TrashJob {
    type Event = TrashEvent;
    type Backend = TrashBackend;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Restore(_) => CHANGES,
        }
    }

    fn is_brief(&self) -> bool {
        false
    }

    fn run(self, backend: &TrashBackend, cancel: &Cancel, send: &mut dyn FnMut(TrashEvent)) {
        let done = match self {
            Self::Load => backend.load(cancel, send),
            Self::Restore(deleted) => backend.restore(*deleted).map(|it| send(TrashEvent::Restored(Box::new(it)))),
        };
        match done {
            Ok(()) | Err(SessionError::Cancelled) => {}
            Err(error) => send(TrashEvent::Failed(chain(&error))),
        }
    }
}

impl TrashBackend {
    fn restore(&self, Deleted { it, info }: Deleted) -> Result<Deleted, SessionError> {
        // The user may be faster than the job that describes the sessions.
        let info = info.or_else(|| self.describe(&it));
        let operation = self.sessions.restore_deleted(&it)?;
        let is_left = |other: &TrashedSession| other.operation == it.operation;
        if !self.sessions.in_trash().is_ok_and(|all| all.iter().any(is_left)) {
            // Undoing the deletion would no longer change anything.
            self.history.forget(&it.operation);
        }
        self.history.push(Some(&operation));
        Ok(Deleted { it, info })
    }

    /// Returns the description of a session. An unreadable session has none but can still be restored.
    fn describe(&self, it: &TrashedSession) -> Option<SessionInfo> {
        self.sessions.row(&it.slot.file).ok()
    }

    fn load(&self, cancel: &Cancel, send: &mut dyn FnMut(TrashEvent)) -> Result<(), SessionError> {
        let list = self.sessions.in_trash()?;
        send(TrashEvent::Listed(list.clone()));
        let indexes: Vec<usize> = (0..list.len()).collect();
        for chunk in indexes.chunks(SESSIONS_PER_EVENT) {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let info = |index: &usize| Some((*index, self.describe(&list[*index])?));
            send(TrashEvent::Described(chunk.iter().filter_map(info).collect()));
        }
        Ok(())
    }
}

/// A session in the trash.
#[derive(Clone, Debug)]
pub(crate) struct Deleted {
    it: TrashedSession,
    info: Option<SessionInfo>,
}

impl Deleted {
    fn title(&self) -> String {
        self.info.as_ref().map(title).filter(|text| !text.is_empty()).unwrap_or_else(|| self.it.session.id.to_string())
    }

    /// Returns the session's directory.
    fn folder(&self) -> String {
        let cwd = self.info.as_ref().map(|info| info.cwd.clone()).filter(|cwd| !cwd.is_empty());
        cwd.unwrap_or_else(|| self.it.session.path.to_string_lossy().into_owned())
    }
}

/// The state of the trash.
pub(crate) struct Trash {
    keymap: Arc<Keymap>,
    /// The home directory, shown as `~`.
    home: String,
    size: (u16, u16),
    now: Timestamp,
    all: Option<Vec<Deleted>>,
    query: LineEditor,
    /// The indexes of the sessions shown.
    visible: Vec<usize>,
    selected: usize,
    has_restored: bool,
    help: Option<Help>,
    status: Status,
}

/// The rows above the list: the title, the hints, the query.
const HEADER_ROWS: u16 = 3;

impl Trash {
    pub(crate) fn new(keymap: Arc<Keymap>, home: String) -> Self {
        Self {
            keymap,
            home,
            size: (80, 24),
            now: Timestamp::EPOCH,
            all: None,
            query: LineEditor::default(),
            visible: Vec::new(),
            selected: 0,
            has_restored: false,
            help: None,
            status: Status::default(),
        }
    }

    /// Handles the return from another screen.
    pub(crate) fn on_return(&mut self, failure: Option<String>) {
        if let Some(message) = failure {
            self.status.show_error(message, self.now);
        }
    }

    pub(crate) fn has_restored(&self) -> bool {
        self.has_restored
    }

    fn list(&self) -> Rect {
        Rect { x: 0, y: HEADER_ROWS, width: self.size.0, height: self.size.1.saturating_sub(HEADER_ROWS + 1).max(1) }
    }

    fn first_visible(&self) -> usize {
        let height = usize::from(self.list().height);
        self.selected.saturating_sub(height / 2).min(self.visible.len().saturating_sub(height))
    }

    fn selected_session(&self) -> Option<&Deleted> {
        self.visible.get(self.selected).and_then(|index| self.all.as_ref()?.get(*index))
    }

    /// Applies the query again and keeps the selected session.
    fn choose(&mut self) {
        let before = self.visible.get(self.selected).copied();
        let query = PickerQuery::parse(self.query.text());
        let is_shown = |deleted: &Deleted| {
            let (title, folder) = (deleted.title(), deleted.folder());
            let text = deleted.it.session.path.to_string_lossy();
            query
                .score(&QueryRow { name: &title, id: deleted.it.session.id.as_str(), text: &text, cwd: &folder })
                .is_some()
        };
        let all = self.all.iter().flatten().enumerate();
        self.visible = all.filter(|(_, deleted)| is_shown(deleted)).map(|(index, _)| index).collect();
        let kept = self.visible.iter().position(|index| Some(*index) == before);
        self.selected = kept.unwrap_or(self.selected).min(self.visible.len().saturating_sub(1));
    }

    fn press(&mut self, key: Key) -> Effects<Self> {
        if let Some(help) = &mut self.help {
            if !help.press(key, &self.keymap, self.size) {
                self.help = None;
            }
            return Vec::new();
        }
        let (last, page) = (self.visible.len().saturating_sub(1), usize::from(self.list().height));
        match self.keymap.action(KeyContext::Trash, key) {
            Some(Action::Up) => self.selected = self.selected.saturating_sub(1),
            Some(Action::Down) => self.selected = (self.selected + 1).min(last),
            Some(Action::PageUp) => self.selected = self.selected.saturating_sub(page),
            Some(Action::PageDown) => self.selected = (self.selected + page).min(last),
            Some(Action::First) => self.selected = 0,
            Some(Action::Last) => self.selected = last,
            Some(Action::Restore) => return self.restore(),
            Some(Action::OpenReader) => {
                let file = self.selected_session().map(|deleted| deleted.it.slot.file.clone());
                return file.map(|file| Effect::Leave(TrashOutcome::Read(file))).into_iter().collect();
            }
            Some(Action::Cancel) if !self.query.is_empty() => {
                self.query.clear();
                self.choose();
            }
            Some(Action::Cancel) => return vec![Effect::Leave(TrashOutcome::Back)],
            Some(Action::Help) => self.help = Some(Help::new(KeyContext::Trash)),
            Some(Action::Suspend) => return vec![Effect::Suspend],
            _ => {
                if self.query.press(key, &self.keymap) {
                    self.selected = 0;
                    self.choose();
                }
            }
        }
        Vec::new()
    }

    fn restore(&self) -> Effects<Self> {
        let job = |deleted: &Deleted| TrashJob::Restore(Box::new(deleted.clone()));
        self.selected_session().map(|deleted| Effect::Run(job(deleted))).into_iter().collect()
    }

    fn handle_job_event(&mut self, event: TrashEvent) -> Effects<Self> {
        match event {
            TrashEvent::Listed(list) => {
                let mut before = self.all.take().unwrap_or_default();
                // Descriptions that are already known are kept until they are read again.
                let mut known = |it: &TrashedSession| {
                    let at = before.iter().position(|deleted| deleted.it == *it)?;
                    before.swap_remove(at).info
                };
                self.all = Some(list.into_iter().map(|it| Deleted { info: known(&it), it }).collect());
                self.choose();
            }
            TrashEvent::Described(infos) => {
                for (index, info) in infos {
                    if let Some(deleted) = self.all.as_mut().and_then(|all| all.get_mut(index)) {
                        deleted.info = Some(info);
                    }
                }
                self.choose();
            }
            TrashEvent::Restored(deleted) => {
                self.has_restored = true;
                let message = format!("{} restored to {}", deleted.title(), short_path(&deleted.folder(), &self.home));
                self.status.show(message, self.now, 8);
                return vec![Effect::Run(TrashJob::Load)];
            }
            TrashEvent::Failed(message) => {
                self.all.get_or_insert_default();
                self.status.show_error(message, self.now);
            }
        }
        Vec::new()
    }

    fn draw_list(&self, canvas: &mut Canvas<'_>) {
        let list = self.list();
        if self.visible.is_empty() {
            let text = match (&self.all, self.query.is_empty()) {
                (None, _) => "  Reading …",
                (Some(_), false) => "  No matching deleted sessions.",
                (Some(_), true) => "  The trash is empty: there is nothing to restore.",
            };
            for (row, line) in Line::new().ink(Ink::DIM, text).wrapped(list.width.into(), 2).iter().enumerate() {
                canvas.line(list, row, line);
            }
        }
        let rows = self.visible.iter().enumerate().skip(self.first_visible()).take(list.height.into());
        for (row, (at, index)) in rows.enumerate() {
            let Some(deleted) = self.all.as_ref().and_then(|all| all.get(*index)) else { continue };
            let line = self.row_line(deleted, at == self.selected, list.width.into());
            if at == self.selected { canvas.selected_line(list, row, &line) } else { canvas.line(list, row, &line) }
        }
        if !self.query.is_empty() || self.visible.len() > usize::from(list.height) {
            let at = (self.selected + 1).min(self.visible.len());
            let foot = Rect { y: list.y + list.height, height: 1, ..list };
            canvas.line(foot, 0, &Line::new().ink(Ink::DIM, &format!("  ({at}/{})", self.visible.len())));
        }
    }

    fn row_line(&self, deleted: &Deleted, is_selected: bool, width: usize) -> Line {
        let has_name = deleted.info.as_ref().is_some_and(|info| info.name.is_some());
        let ink = if has_name { Ink::NAMED } else { Ink::PLAIN };
        let deleted_text = match age(self.now, deleted.it.time).as_str() {
            "now" => "deleted now".to_owned(),
            age => format!("deleted {age} ago"),
        };
        let parts = Parts {
            lead: Line::new().ink(Ink::ACCENT, if is_selected { "› " } else { "  " }),
            title: Line::new().ink(if is_selected { ink.bold() } else { ink }, &deleted.title()),
            excerpt: None,
            path: None,
            note: None,
            folder: Some(short_path(&deleted.folder(), &self.home)),
            end: deleted_text,
            ink: Ink::DIM,
        };
        parts.line(width)
    }
}

impl Screen for Trash {
    type Job = TrashJob;
    type Outcome = TrashOutcome;

    fn start(&mut self) -> Effects<Self> {
        vec![Effect::Run(TrashJob::Load)]
    }

    fn update(&mut self, event: Event<TrashEvent>) -> Effects<Self> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Paste(text) => {
                if self.help.is_none() && self.query.put(&text) {
                    self.selected = 0;
                    self.choose();
                }
            }
            Event::Size(width, height) => self.size = (width, height),
            Event::Clock(now) => {
                self.now = now;
                self.status.expire(now);
            }
            Event::Mouse(_) if self.help.is_some() => {}
            Event::Mouse(mouse) => {
                let list = self.list();
                match mouse.action {
                    MouseAction::WheelUp => self.selected = self.selected.saturating_sub(3),
                    MouseAction::WheelDown => {
                        self.selected = (self.selected + 3).min(self.visible.len().saturating_sub(1));
                    }
                    MouseAction::Click if list.contains((mouse.x, mouse.y).into()) => {
                        let at = self.first_visible() + usize::from(mouse.y - list.y);
                        self.selected = if at < self.visible.len() { at } else { self.selected };
                    }
                    MouseAction::Click => {}
                }
            }
            Event::Job(event) => return self.handle_job_event(event),
        }
        Vec::new()
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap);
        }
        let area = canvas.area();
        let key_hint = |action, what| self.keymap.hint(action, what);
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, "Deleted sessions"));
        let hints = [
            key_hint(Action::Restore, "restore"),
            key_hint(Action::Cancel, "back"),
            key_hint(Action::OpenReader, "read"),
        ];
        let hint = hint::fit(&hints, Some(&key_hint(Action::Help, "keys")), area.width.into());
        canvas.line(area, 1, &Line::new().ink(Ink::DIM, &hint));
        let (line, column) = self.query.line("> ", area.width.into());
        canvas.line(area, 2, &line);
        canvas.cursor = Some((u16::try_from(column).unwrap_or_default(), 2));
        self.draw_list(canvas);
        if let Some((ink, message)) = self.status.message() {
            canvas.notice(1, ink, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;

    /// A made-up store with some deleted sessions.
    struct Store {
        _dir: tempfile::TempDir,
        sessions: Sessions,
        paths: Vec<PathBuf>,
    }

    impl Store {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let sample = sessile::sample::write_sample(dir.path()).unwrap();
            let sessions = sample.sessions();
            let all = sessions.list_all().unwrap();
            let paths: Vec<PathBuf> = all.into_iter().map(|session| session.path).take(3).collect();
            sessions.delete(&paths, sessile::operations::Deletion::ToTrash, false).unwrap();
            Self { _dir: dir, sessions, paths }
        }

        fn backend(&self) -> TrashBackend {
            TrashBackend { sessions: self.sessions.clone(), history: History::default() }
        }

        fn trash(&self) -> Driver<Trash> {
            let environment = self.sessions.environment();
            let trash = Trash::new(Arc::new(Keymap::default()), environment.home().to_string_lossy().into_owned());
            let mut driver = Driver::new(trash, self.backend(), |_| false);
            driver.send(Event::Clock(environment.now()));
            driver
        }
    }

    fn n_deleted(driver: &Driver<Trash>) -> usize {
        driver.lines().iter().filter(|row| row.contains("  deleted ") || row.contains(" deleted now")).count()
    }

    #[test]
    fn screens_equal_the_stored_screens() {
        let store = Store::new();
        let mut driver = store.trash();
        driver.assert_stored_screens("trash");
        driver.press("f1").assert_stored_screens("trash-help");
        driver.press("escape nothing_like_it").assert_stored_screens("trash-nothing");
    }

    #[test]
    fn deleted_sessions_show_their_title_and_are_restored() {
        let store = Store::new();
        let mut driver = store.trash();
        let screen = driver.lines().join("\n");
        assert!(screen.contains("High water an hour early"), "{screen}");
        driver.press("H i g h");
        assert_eq!(driver.screen.visible.len(), 1, "letters go into the query");
        let path = driver.screen.selected_session().unwrap().it.session.path.clone();
        assert!(store.paths.contains(&path) && !path.exists());
        driver.press("enter");
        assert!(path.exists());
        assert!(
            driver.lines()[1].contains("High water an hour early restored to ~/src/tidepool"),
            "{:#?}",
            driver.lines()
        );
        driver.press("escape");
        assert_eq!((driver.screen.visible.len(), driver.outcome.as_ref()), (2, None), "the query is closed first");
        driver.press("escape");
        assert_eq!(driver.outcome, Some(TrashOutcome::Back));
    }

    #[test]
    fn a_session_that_is_not_described_yet_is_restored_with_its_title() {
        let store = Store::new();
        let mut driver = store.trash();
        let described = driver.screen.all.as_mut().unwrap();
        let at = described.iter().position(|it| it.title().contains("High water")).unwrap();
        for it in described.iter_mut() {
            it.info = None;
        }
        driver.screen.selected = at;
        driver.press("enter");
        assert!(
            driver.lines()[1].contains("High water an hour early restored to ~/src/tidepool"),
            "{:?}",
            driver.lines()
        );
    }

    /// The screen from which the trash was opened undoes the deletion as long as a part of it is in the trash.
    #[test]
    fn a_restored_deletion_is_not_undone_again() {
        let store = Store::new();
        let mut driver = store.trash();
        let deletion = driver.screen.selected_session().unwrap().it.operation.clone();
        driver.backend.history.push(Some(&deletion));
        assert!(!driver.screen.has_restored());
        for n_operations in [2, 3, 3] {
            driver.press("enter");
            assert_eq!(driver.backend.history.len(), n_operations);
        }
        assert!(driver.screen.has_restored() && store.paths.iter().all(|path| path.exists()));
        for n_left in (0..3).rev() {
            drop(driver.backend.history.undo(&store.sessions));
            assert_eq!(store.paths.iter().filter(|path| path.exists()).count(), n_left, "undo reverts the restores");
        }
    }

    #[test]
    fn restoring_never_overwrites_and_shows_the_whole_reason() {
        let store = Store::new();
        let mut driver = store.trash();
        driver.resize(40, 12);
        let path = driver.screen.selected_session().unwrap().it.session.path.clone();
        #[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
        std::fs::write(&path, "{}\n").unwrap();
        driver.press("enter");
        let screen = driver.lines().concat().replace(' ', "");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(screen.contains(name), "{:#?}", driver.lines());
        assert_eq!(driver.screen.visible.len(), 3);
    }

    /// The same session was deleted twice; the selected deletion is the one restored.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
    fn an_older_deletion_can_be_restored() {
        let store = Store::new();
        let path = store.paths[0].clone();
        let mut driver = store.trash();
        let file = |driver: &Driver<Trash>| driver.screen.selected_session().unwrap().it.slot.file.clone();
        while driver.screen.selected_session().unwrap().it.session.path != path {
            driver.press("down");
        }
        let older = std::fs::read(file(&driver)).unwrap();
        let newer = older.split_inclusive(|byte| *byte == b'\n').take(2).collect::<Vec<_>>().concat();
        std::fs::write(&path, &newer).unwrap();
        let sessions = store.sessions.clone().ignoring_users();
        sessions.delete(std::slice::from_ref(&path), sessile::operations::Deletion::ToTrash, false).unwrap();
        let mut driver = store.trash();
        assert_eq!(driver.screen.visible.len(), 4);
        assert_eq!(driver.screen.selected_session().unwrap().it.session.path, path, "the last deleted comes first");
        driver.press("down");
        while driver.screen.selected_session().unwrap().it.session.path != path {
            driver.press("down");
        }
        driver.press("enter");
        assert_eq!(std::fs::read(&path).unwrap(), older, "{:#?}", driver.lines());
    }

    #[test]
    fn the_mouse_selects() {
        let store = Store::new();
        let mut driver = store.trash();
        let mut point = |action, y| {
            driver.send(Event::Mouse(crate::screen::Mouse { action, x: 4, y }));
            driver.screen.selected
        };
        assert_eq!(point(MouseAction::Click, HEADER_ROWS + 1), 1);
        assert_eq!(point(MouseAction::Click, HEADER_ROWS + 9), 1, "a click below the list");
        assert_eq!(point(MouseAction::WheelDown, 0), 2);
        assert_eq!(point(MouseAction::WheelUp, 0), 0);
    }

    #[test]
    fn deleted_sessions_can_be_read() {
        let store = Store::new();
        let mut driver = store.trash();
        driver.press("ctrl+n ctrl+o");
        let Some(TrashOutcome::Read(file)) = driver.outcome else { panic!() };
        assert!(file.exists());
    }

    #[test]
    fn an_empty_trash_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = sessile::sample::write_sample(dir.path()).unwrap().sessions();
        let trash = Trash::new(Arc::new(Keymap::default()), "/home/u".to_owned());
        let mut driver = Driver::new(trash, TrashBackend { sessions, history: History::default() }, |_| false);
        assert!(driver.lines().join("\n").contains("The trash is empty"), "{:#?}", driver.lines());
        driver.press("enter ctrl+o down up pageDown");
        assert_eq!((n_deleted(&driver), driver.outcome.as_ref()), (0, None));
    }
}
