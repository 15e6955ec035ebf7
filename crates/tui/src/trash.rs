//! The trash: deleted sessions, which the user can read and restore.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui_core::layout::Rect;
use sessile::cause::chain;
use sessile::text::picker::{PickerQuery, Row as Asked};
use sessile::{Cancel, InTrash, SessionError, SessionInfo, Sessions};
use sessile_display::measure::age;

use crate::help::Help;
use crate::hint;
use crate::input::Input;
use crate::key::Key;
use crate::keymap::{Action, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::part::{CHANGES, Effect, Effects, Event, Job, Lane, MouseAct, Part};
use crate::picker::view::short_path;
use crate::row::{Parts, title};
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

pub(crate) struct Desk {
    pub(crate) sessions: Sessions,
    /// What can be undone on the screen from which the trash was opened.
    pub(crate) history: History,
}

#[derive(Debug)]
pub(crate) enum TrashJob {
    Load,
    /// Restore a session, then show this message.
    Restore {
        deleted: Box<InTrash>,
        words: String,
    },
}

#[derive(Debug)]
pub(crate) enum TrashNews {
    /// The contents of the trash. Descriptions of the sessions follow.
    Listed(Vec<InTrash>),
    /// Descriptions of some sessions, by their index in the list.
    Described(Vec<(usize, SessionInfo)>),
    Restored(String),
    Failed(String),
}

/// Sessions to read before they are shown.
const MANY: usize = 20;

impl Job for TrashJob {
    type News = TrashNews;
    type Desk = Desk;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Restore { .. } => CHANGES,
        }
    }

    fn is_brief(&self) -> bool {
        false
    }

    fn run(self, desk: &Desk, cancel: &Cancel, tell: &mut dyn FnMut(TrashNews)) {
        let done = match self {
            Self::Load => desk.load(cancel, tell),
            Self::Restore { deleted, words } => desk.restore(&deleted).map(|()| tell(TrashNews::Restored(words))),
        };
        match done {
            Ok(()) | Err(SessionError::Cancelled) => {}
            Err(error) => tell(TrashNews::Failed(chain(&error))),
        }
    }
}

impl Desk {
    fn restore(&self, deleted: &InTrash) -> Result<(), SessionError> {
        let operation = self.sessions.restore_deleted(deleted)?;
        let is_left = |it: &InTrash| it.operation == deleted.operation;
        if !self.sessions.in_trash().is_ok_and(|all| all.iter().any(is_left)) {
            // To undo the deletion would change nothing any more.
            self.history.forget(&deleted.operation);
        }
        self.history.push(Some(&operation));
        Ok(())
    }

    fn load(&self, cancel: &Cancel, tell: &mut dyn FnMut(TrashNews)) -> Result<(), SessionError> {
        let list = self.sessions.in_trash()?;
        tell(TrashNews::Listed(list.clone()));
        let places: Vec<usize> = (0..list.len()).collect();
        for some in places.chunks(MANY) {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            // An unreadable session has no title but can still be restored.
            let info = |place: &usize| Some((*place, self.sessions.row(&list[*place].place.file).ok()?));
            tell(TrashNews::Described(some.iter().filter_map(info).collect()));
        }
        Ok(())
    }
}

/// A session in the trash.
struct Deleted {
    it: InTrash,
    info: Option<SessionInfo>,
}

impl Deleted {
    fn title(&self) -> String {
        self.info.as_ref().map(title).filter(|text| !text.is_empty()).unwrap_or_else(|| self.it.session.id.clone())
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
    now_ms: i64,
    all: Option<Vec<Deleted>>,
    query: Input,
    /// The indexes of the sessions shown.
    shown: Vec<usize>,
    selected: usize,
    has_restored: bool,
    help: Option<Help>,
    status: Status,
}

/// The rows above the list: the title, the hints, the query.
const ABOVE: u16 = 3;

impl Trash {
    pub(crate) fn new(keymap: Arc<Keymap>, home: String) -> Self {
        Self {
            keymap,
            home,
            size: (80, 24),
            now_ms: 0,
            all: None,
            query: Input::default(),
            shown: Vec::new(),
            selected: 0,
            has_restored: false,
            help: None,
            status: Status::default(),
        }
    }

    /// Handles the return from another screen.
    pub(crate) fn come_back(&mut self, failure: Option<String>) {
        if let Some(words) = failure {
            self.status.complain(words, self.now_ms);
        }
    }

    pub(crate) fn has_restored(&self) -> bool {
        self.has_restored
    }

    fn list(&self) -> Rect {
        Rect { x: 0, y: ABOVE, width: self.size.0, height: self.size.1.saturating_sub(ABOVE + 1).max(1) }
    }

    fn first_shown(&self) -> usize {
        let height = usize::from(self.list().height);
        self.selected.saturating_sub(height / 2).min(self.shown.len().saturating_sub(height))
    }

    fn chosen(&self) -> Option<&Deleted> {
        self.shown.get(self.selected).and_then(|place| self.all.as_ref()?.get(*place))
    }

    /// Applies the query again and keeps the selected session.
    fn choose(&mut self) {
        let before = self.shown.get(self.selected).copied();
        let query = PickerQuery::parse(self.query.text());
        let is_shown = |deleted: &Deleted| {
            let (title, folder) = (deleted.title(), deleted.folder());
            let text = deleted.it.session.path.to_string_lossy();
            query.score(&Asked { name: &title, id: &deleted.it.session.id, text: &text, cwd: &folder }).is_some()
        };
        let all = self.all.iter().flatten().enumerate();
        self.shown = all.filter(|(_, deleted)| is_shown(deleted)).map(|(place, _)| place).collect();
        let kept = self.shown.iter().position(|place| Some(*place) == before);
        self.selected = kept.unwrap_or(self.selected).min(self.shown.len().saturating_sub(1));
    }

    fn press(&mut self, key: Key) -> Effects<Self> {
        if let Some(help) = &mut self.help {
            if !help.press(key, &self.keymap, self.size) {
                self.help = None;
            }
            return Vec::new();
        }
        let (last, page) = (self.shown.len().saturating_sub(1), usize::from(self.list().height));
        match self.keymap.action(Where::Trash, key) {
            Some(Action::Up) => self.selected = self.selected.saturating_sub(1),
            Some(Action::Down) => self.selected = (self.selected + 1).min(last),
            Some(Action::PageUp) => self.selected = self.selected.saturating_sub(page),
            Some(Action::PageDown) => self.selected = (self.selected + page).min(last),
            Some(Action::First) => self.selected = 0,
            Some(Action::Last) => self.selected = last,
            Some(Action::Restore) => return self.restore(),
            Some(Action::OpenReader) => {
                let file = self.chosen().map(|deleted| deleted.it.place.file.clone());
                return file.map(|file| Effect::Leave(TrashOutcome::Read(file))).into_iter().collect();
            }
            Some(Action::Cancel) if !self.query.is_empty() => {
                self.query.clear();
                self.choose();
            }
            Some(Action::Cancel) => return vec![Effect::Leave(TrashOutcome::Back)],
            Some(Action::Help) => self.help = Some(Help::of(Where::Trash)),
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
        let job = |deleted: &Deleted| {
            let words = format!("{} is back in {}", deleted.title(), short_path(&deleted.folder(), &self.home));
            TrashJob::Restore { deleted: Box::new(deleted.it.clone()), words }
        };
        self.chosen().map(|deleted| Effect::Do(job(deleted))).into_iter().collect()
    }

    fn news(&mut self, news: TrashNews) -> Effects<Self> {
        match news {
            TrashNews::Listed(list) => {
                let mut before = self.all.take().unwrap_or_default();
                // Descriptions that are already known are kept until they are read again.
                let mut known = |it: &InTrash| {
                    let at = before.iter().position(|deleted| deleted.it == *it)?;
                    before.swap_remove(at).info
                };
                self.all = Some(list.into_iter().map(|it| Deleted { info: known(&it), it }).collect());
                self.choose();
            }
            TrashNews::Described(infos) => {
                for (place, info) in infos {
                    if let Some(deleted) = self.all.as_mut().and_then(|all| all.get_mut(place)) {
                        deleted.info = Some(info);
                    }
                }
                self.choose();
            }
            TrashNews::Restored(words) => {
                self.has_restored = true;
                self.status.say(words, self.now_ms, 8);
                return vec![Effect::Do(TrashJob::Load)];
            }
            TrashNews::Failed(words) => {
                self.all.get_or_insert_default();
                self.status.complain(words, self.now_ms);
            }
        }
        Vec::new()
    }

    fn draw_list(&self, canvas: &mut Canvas<'_>) {
        let list = self.list();
        if self.shown.is_empty() {
            let words = match (&self.all, self.query.is_empty()) {
                (None, _) => "  Reading …",
                (Some(_), false) => "  No deleted sessions like that.",
                (Some(_), true) => "  The trash is empty: no deleted session can be brought back.",
            };
            for (row, line) in Line::new().ink(Ink::DIM, words).wrapped(list.width.into(), 2).iter().enumerate() {
                canvas.line(list, row, line);
            }
        }
        let rows = self.shown.iter().enumerate().skip(self.first_shown()).take(list.height.into());
        for (row, (at, place)) in rows.enumerate() {
            let Some(deleted) = self.all.as_ref().and_then(|all| all.get(*place)) else { continue };
            let line = self.row_line(deleted, at == self.selected, list.width.into());
            if at == self.selected { canvas.chosen_line(list, row, &line) } else { canvas.line(list, row, &line) }
        }
        if !self.query.is_empty() || self.shown.len() > usize::from(list.height) {
            let at = (self.selected + 1).min(self.shown.len());
            let foot = Rect { y: list.y + list.height, height: 1, ..list };
            canvas.line(foot, 0, &Line::new().ink(Ink::DIM, &format!("  ({at}/{})", self.shown.len())));
        }
    }

    fn row_line(&self, deleted: &Deleted, is_chosen: bool, width: usize) -> Line {
        let has_name = deleted.info.as_ref().is_some_and(|info| info.name.is_some());
        let ink = if has_name { Ink::NAMED } else { Ink::PLAIN };
        let deleted_words = match age(self.now_ms, deleted.it.time).as_str() {
            "now" => "deleted now".to_owned(),
            age => format!("deleted {age} ago"),
        };
        let parts = Parts {
            lead: Line::new().ink(Ink::ACCENT, if is_chosen { "› " } else { "  " }),
            title: Line::new().ink(if is_chosen { ink.bold() } else { ink }, &deleted.title()),
            excerpt: None,
            path: None,
            word: None,
            folder: Some(short_path(&deleted.folder(), &self.home)),
            end: deleted_words,
            ink: Ink::DIM,
        };
        parts.line(width)
    }
}

impl Part for Trash {
    type Job = TrashJob;
    type Outcome = TrashOutcome;

    fn begin(&mut self) -> Effects<Self> {
        vec![Effect::Do(TrashJob::Load)]
    }

    fn update(&mut self, event: Event<TrashNews>) -> Effects<Self> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Paste(text) => {
                if self.help.is_none() && self.query.put(&text) {
                    self.selected = 0;
                    self.choose();
                }
            }
            Event::Size(width, height) => self.size = (width, height),
            Event::Clock(now_ms) => {
                self.now_ms = now_ms;
                self.status.at(now_ms);
            }
            Event::Mouse(_) if self.help.is_some() => {}
            Event::Mouse(mouse) => {
                let list = self.list();
                match mouse.what {
                    MouseAct::WheelUp => self.selected = self.selected.saturating_sub(3),
                    MouseAct::WheelDown => {
                        self.selected = (self.selected + 3).min(self.shown.len().saturating_sub(1));
                    }
                    MouseAct::Click if list.contains((mouse.x, mouse.y).into()) => {
                        let at = self.first_shown() + usize::from(mouse.y - list.y);
                        self.selected = if at < self.shown.len() { at } else { self.selected };
                    }
                    MouseAct::Click => {}
                }
            }
            Event::News(news) => return self.news(news),
        }
        Vec::new()
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap);
        }
        let area = canvas.area();
        let told = |action, what| self.keymap.told(action, what);
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, "Deleted sessions"));
        let hints =
            [told(Action::Restore, "bring back"), told(Action::Cancel, "back"), told(Action::OpenReader, "read")];
        let hint = hint::fitted(&hints, Some(&told(Action::Help, "keys")), area.width.into());
        canvas.line(area, 1, &Line::new().ink(Ink::DIM, &hint));
        let (line, column) = self.query.line("> ", area.width.into());
        canvas.line(area, 2, &line);
        canvas.cursor = Some((u16::try_from(column).unwrap_or_default(), 2));
        self.draw_list(canvas);
        if let Some((ink, words)) = self.status.shown() {
            canvas.notice(1, ink, words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Driver;

    /// A made-up store with some deleted sessions.
    struct Store {
        _dir: tempfile::TempDir,
        sessions: Sessions,
        paths: Vec<PathBuf>,
    }

    impl Store {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let sample = sessile::write_sample(dir.path()).unwrap();
            let sessions = sample.sessions();
            let all = sessions.list_all(None, &mut sessile::ListOptions::default()).unwrap();
            let paths: Vec<PathBuf> = all.into_iter().map(|session| session.path).take(3).collect();
            sessions.delete(&paths, sessile::Deletion::ToTrash, false).unwrap();
            Self { _dir: dir, sessions, paths }
        }

        fn desk(&self) -> Desk {
            Desk { sessions: self.sessions.clone(), history: History::default() }
        }

        fn trash(&self) -> Driver<Trash> {
            let environment = self.sessions.environment();
            let trash = Trash::new(Arc::new(Keymap::default()), environment.home().to_string_lossy().into_owned());
            let mut driver = Driver::new(trash, self.desk(), |_| false);
            driver.happen(Event::Clock(environment.now_ms()));
            driver
        }
    }

    fn n_deleted(driver: &Driver<Trash>) -> usize {
        driver.screen().iter().filter(|row| row.contains("  deleted ") || row.contains(" deleted now")).count()
    }

    #[test]
    fn screens_stay_as_they_are() {
        let store = Store::new();
        let mut driver = store.trash();
        driver.matches_kept("trash");
        driver.press("f1").matches_kept("trash-help");
        driver.press("escape nothing_like_it").matches_kept("trash-nothing");
    }

    #[test]
    fn what_was_deleted_is_seen_by_its_title_and_brought_back() {
        let store = Store::new();
        let mut driver = store.trash();
        let screen = driver.screen().join("\n");
        assert!(screen.contains("High water an hour early"), "{screen}");
        driver.press("H i g h");
        assert_eq!(driver.part.shown.len(), 1, "letters are searched for");
        let path = driver.part.chosen().unwrap().it.session.path.clone();
        assert!(store.paths.contains(&path) && !path.exists());
        driver.press("enter");
        assert!(path.exists());
        assert!(
            driver.screen()[1].contains("High water an hour early is back in ~/src/tidepool"),
            "{:#?}",
            driver.screen()
        );
        driver.press("escape");
        assert_eq!((driver.part.shown.len(), driver.outcome.as_ref()), (2, None), "the query is closed first");
        driver.press("escape");
        assert_eq!(driver.outcome, Some(TrashOutcome::Back));
    }

    /// The screen from which the trash was opened undoes the deletion as long as something of it is left.
    #[test]
    fn a_deletion_that_is_restored_is_not_undone_again() {
        let store = Store::new();
        let mut driver = store.trash();
        let deletion = driver.part.chosen().unwrap().it.operation.clone();
        driver.desk.history.push(Some(&deletion));
        assert!(!driver.part.has_restored());
        for n_operations in [2, 3, 3] {
            driver.press("enter");
            assert_eq!(driver.desk.history.len(), n_operations);
        }
        assert!(driver.part.has_restored() && store.paths.iter().all(|path| path.exists()));
        for n_left in (0..3).rev() {
            drop(driver.desk.history.undo(&store.sessions));
            assert_eq!(store.paths.iter().filter(|path| path.exists()).count(), n_left, "the restores are undone");
        }
    }

    #[test]
    fn nothing_that_is_there_is_written_over_and_the_reason_is_told_in_full() {
        let store = Store::new();
        let mut driver = store.trash();
        driver.resize(40, 12);
        let path = driver.part.chosen().unwrap().it.session.path.clone();
        #[expect(clippy::disallowed_methods, reason = "the test plays another program")]
        std::fs::write(&path, "{}\n").unwrap();
        driver.press("enter");
        let screen = driver.screen().concat().replace(' ', "");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(screen.contains(name), "{:#?}", driver.screen());
        assert_eq!(driver.part.shown.len(), 3);
    }

    /// The same session was deleted twice; the selected deletion is the one restored.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test plays another program")]
    fn an_older_deletion_can_be_undone_too() {
        let store = Store::new();
        let path = store.paths[0].clone();
        let mut driver = store.trash();
        let place = |driver: &Driver<Trash>| driver.part.chosen().unwrap().it.place.file.clone();
        while driver.part.chosen().unwrap().it.session.path != path {
            driver.press("down");
        }
        let older = std::fs::read(place(&driver)).unwrap();
        let newer = older.split_inclusive(|byte| *byte == b'\n').take(2).collect::<Vec<_>>().concat();
        std::fs::write(&path, &newer).unwrap();
        let sessions = store.sessions.clone().despite_users();
        sessions.delete(std::slice::from_ref(&path), sessile::Deletion::ToTrash, false).unwrap();
        let mut driver = store.trash();
        assert_eq!(driver.part.shown.len(), 4);
        assert_eq!(driver.part.chosen().unwrap().it.session.path, path, "the last deleted comes first");
        driver.press("down");
        while driver.part.chosen().unwrap().it.session.path != path {
            driver.press("down");
        }
        driver.press("enter");
        assert_eq!(std::fs::read(&path).unwrap(), older, "{:#?}", driver.screen());
    }

    #[test]
    fn the_mouse_chooses() {
        let store = Store::new();
        let mut driver = store.trash();
        let mut point = |what, y| {
            driver.happen(Event::Mouse(crate::part::Mouse { what, x: 4, y }));
            driver.part.selected
        };
        assert_eq!(point(MouseAct::Click, ABOVE + 1), 1);
        assert_eq!(point(MouseAct::Click, ABOVE + 9), 1, "there is nothing");
        assert_eq!(point(MouseAct::WheelDown, 0), 2);
        assert_eq!(point(MouseAct::WheelUp, 0), 0);
    }

    #[test]
    fn it_can_be_read_before() {
        let store = Store::new();
        let mut driver = store.trash();
        driver.press("ctrl+n ctrl+o");
        let Some(TrashOutcome::Read(file)) = driver.outcome else { panic!() };
        assert!(file.exists());
    }

    #[test]
    fn an_empty_trash_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = sessile::write_sample(dir.path()).unwrap().sessions();
        let trash = Trash::new(Arc::new(Keymap::default()), "/home/u".to_owned());
        let mut driver = Driver::new(trash, Desk { sessions, history: History::default() }, |_| false);
        assert!(driver.screen().join("\n").contains("The trash is empty"), "{:#?}", driver.screen());
        driver.press("enter ctrl+o down up pageDown");
        assert_eq!((n_deleted(&driver), driver.outcome.as_ref()), (0, None));
    }
}
