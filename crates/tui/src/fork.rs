//! The fork selector: the user chooses a message from which to fork a new session.

use std::path::PathBuf;
use std::sync::Arc;

use sessile::cause::chain;
use sessile::{Cancel, EntryId, ForkMessage, ForkPosition, OperationKind, Outcome, SessionError, Sessions};

use crate::help::Help;
use crate::hint;
use crate::key::Key;
use crate::keymap::{Action, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::part::{CHANGES, Effect, Effects, Event, Job, Lane, MouseAct, Part};
use crate::status::Status;
use crate::theme::Ink;
use crate::tree::change::{forked, vetoed};

/// The result of the fork selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkOutcome {
    /// The user left without choosing.
    Nothing,
    /// There is no message to fork from.
    NoMessages,
    /// A new session was created.
    Forked {
        /// The file of the new session.
        path: Option<PathBuf>,
        /// The text of the chosen message, ready to be edited and sent again.
        text: String,
    },
    /// The session could not be read.
    Failed(String),
}

pub(crate) struct Desk {
    pub(crate) sessions: Sessions,
    pub(crate) path: PathBuf,
}

#[derive(Debug)]
pub(crate) enum ForkJob {
    Load,
    Fork(EntryId),
}

#[derive(Debug)]
pub(crate) enum ForkNews {
    Loaded(Vec<ForkMessage>),
    Forked { path: Option<PathBuf>, text: String },
    Failed(String),
}

impl Job for ForkJob {
    type News = ForkNews;
    type Desk = Desk;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Fork(_) => CHANGES,
        }
    }

    fn run(self, desk: &Desk, _cancel: &Cancel, tell: &mut dyn FnMut(ForkNews)) {
        let done = match self {
            Self::Load => desk.messages(),
            Self::Fork(id) => desk.fork(&id),
        };
        // Another program changed lines that were already read, so the file is read again.
        let done = if matches!(done, Err(SessionError::Stale { .. })) { desk.messages() } else { done };
        tell(done.unwrap_or_else(|error| ForkNews::Failed(chain(&error))));
    }
}

impl Desk {
    fn messages(&self) -> Result<ForkNews, SessionError> {
        let session = self.sessions.clone().read_only().open_existing(&self.path)?;
        session.fork_messages().map(ForkNews::Loaded)
    }

    fn fork(&self, id: &EntryId) -> Result<ForkNews, SessionError> {
        Ok(match forked(&self.sessions, &self.path, id, ForkPosition::Before, OperationKind::Fork)? {
            Outcome::Cancelled { by } => ForkNews::Failed(vetoed(&by)),
            Outcome::Done(forked) => {
                ForkNews::Forked { path: forked.session_file, text: forked.text.unwrap_or_default() }
            }
        })
    }
}

/// Lines per message: its text, its position, and an empty line.
const ITEM: usize = 3;

/// The state of the fork selector.
pub(crate) struct Fork {
    keymap: Arc<Keymap>,
    size: (u16, u16),
    now_ms: i64,
    messages: Option<Vec<ForkMessage>>,
    selected: usize,
    help: Option<Help>,
    status: Status,
}

impl Fork {
    pub(crate) fn new(keymap: Arc<Keymap>) -> Self {
        Self { keymap, size: (80, 24), now_ms: 0, messages: None, selected: 0, help: None, status: Status::default() }
    }

    fn n_messages(&self) -> usize {
        self.messages.as_ref().map_or(0, Vec::len)
    }

    /// Returns the number of messages that fit on the screen.
    fn room(&self) -> usize {
        (usize::from(self.size.1).saturating_sub(4) / ITEM).max(1)
    }

    fn first_shown(&self) -> usize {
        self.selected.saturating_sub(self.room() / 2).min(self.n_messages().saturating_sub(self.room()))
    }

    fn press(&mut self, key: Key) -> Effects<Self> {
        if let Some(help) = &mut self.help {
            if !help.press(key, &self.keymap, self.size) {
                self.help = None;
            }
            return Vec::new();
        }
        let last = self.n_messages().saturating_sub(1);
        match self.keymap.action(Where::Fork, key) {
            Some(Action::Up) => self.selected = if self.selected == 0 { last } else { self.selected - 1 },
            Some(Action::Down) => self.selected = if self.selected >= last { 0 } else { self.selected + 1 },
            Some(Action::PageUp) => self.selected = self.selected.saturating_sub(self.room()),
            Some(Action::PageDown) => self.selected = (self.selected + self.room()).min(last),
            Some(Action::First) => self.selected = 0,
            Some(Action::Last) => self.selected = last,
            Some(Action::Confirm) => return self.confirm(),
            Some(Action::Cancel) => return vec![Effect::Leave(ForkOutcome::Nothing)],
            Some(Action::Help) => self.help = Some(Help::of(Where::Fork)),
            Some(Action::Suspend) => return vec![Effect::Suspend],
            _ => {}
        }
        Vec::new()
    }

    fn confirm(&self) -> Effects<Self> {
        let chosen = self.messages.as_ref().and_then(|messages| messages.get(self.selected));
        chosen.map(|message| Effect::Do(ForkJob::Fork(message.entry_id.clone()))).into_iter().collect()
    }
}

impl Part for Fork {
    type Job = ForkJob;
    type Outcome = ForkOutcome;

    fn begin(&mut self) -> Effects<Self> {
        vec![Effect::Do(ForkJob::Load)]
    }

    fn update(&mut self, event: Event<ForkNews>) -> Effects<Self> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Size(width, height) => self.size = (width, height),
            Event::Clock(now_ms) => {
                self.now_ms = now_ms;
                self.status.at(now_ms);
            }
            Event::Mouse(mouse) => match mouse.what {
                MouseAct::WheelUp => self.selected = self.selected.saturating_sub(1),
                MouseAct::WheelDown => self.selected = (self.selected + 1).min(self.n_messages().saturating_sub(1)),
                MouseAct::Click => {
                    let item = self.first_shown() + usize::from(mouse.y).saturating_sub(3) / ITEM;
                    if item == self.selected {
                        return self.confirm();
                    }
                    self.selected = item.min(self.n_messages().saturating_sub(1));
                }
            },
            Event::News(ForkNews::Loaded(messages)) => {
                if messages.is_empty() {
                    return vec![Effect::Leave(ForkOutcome::NoMessages)];
                }
                self.selected = messages.len() - 1;
                self.messages = Some(messages);
            }
            Event::News(ForkNews::Forked { path, text }) => {
                return vec![Effect::Leave(ForkOutcome::Forked { path, text })];
            }
            Event::News(ForkNews::Failed(words)) if self.messages.is_none() => {
                return vec![Effect::Leave(ForkOutcome::Failed(words))];
            }
            Event::News(ForkNews::Failed(words)) => self.status.complain(words, self.now_ms),
            Event::Paste(_) => {}
        }
        Vec::new()
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap);
        }
        let area = canvas.area();
        let told = |action, what| self.keymap.told(action, what);
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, "Fork before a message of yours"));
        let hints = [told(Action::Confirm, "forks"), told(Action::Cancel, "leaves")];
        let hint = hint::fitted(&hints, Some(&told(Action::Help, "keys")), area.width.into());
        canvas.line(area, 1, &Line::new().ink(Ink::DIM, &hint));
        self.draw_messages(canvas);
        if let Some((ink, words)) = self.status.shown() {
            canvas.notice(1, ink, words);
        }
    }
}

impl Fork {
    fn draw_messages(&self, canvas: &mut Canvas<'_>) {
        let area = canvas.area();
        let Some(messages) = &self.messages else {
            return canvas.line(area, 3, &Line::new().ink(Ink::DIM, "  Reading …"));
        };
        for (at, item) in (self.first_shown()..messages.len()).take(self.room()).enumerate() {
            let is_chosen = item == self.selected;
            let ink = if is_chosen { Ink::BOLD } else { Ink::PLAIN };
            let text = sessile_display::words::start(&messages[item].text, 500);
            let line = Line::new().ink(Ink::ACCENT, if is_chosen { "› " } else { "  " }).ink(ink, text.trim());
            let row = 3 + at * ITEM;
            if is_chosen {
                canvas.chosen_line(area, row, &line);
            } else {
                canvas.line(area, row, &line);
            }
            let which = format!("  Message {} of {}", item + 1, messages.len());
            canvas.line(area, row + 1, &Line::new().ink(Ink::DIM, &which));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Driver;

    fn selector() -> (tempfile::TempDir, Driver<Fork>) {
        let dir = tempfile::tempdir().unwrap();
        let sample = sessile::write_sample(dir.path()).unwrap();
        let desk = Desk { sessions: sample.sessions(), path: sample.richest.clone() };
        (dir, Driver::new(Fork::new(Arc::new(Keymap::default())), desk, |_| false))
    }

    #[test]
    fn screens_stay_as_they_are() {
        let (_dir, mut driver) = selector();
        driver.matches_kept("fork");
        driver.press("f1").matches_kept("fork-help");
    }

    #[test]
    fn the_last_message_is_chosen_and_one_goes_round() {
        let (_dir, mut driver) = selector();
        let last = driver.part.n_messages() - 1;
        assert_eq!(driver.part.selected, last);
        driver.press("down");
        assert_eq!(driver.part.selected, 0);
        driver.press("up ctrl+p");
        assert_eq!(driver.part.selected, last - 1);
        driver.press("ctrl+n up enter");
        let operation = driver.desk.sessions.operations().unwrap().pop().unwrap();
        assert_eq!(operation.kind, OperationKind::Fork, "it can be undone");
        let Some(ForkOutcome::Forked { path: Some(path), text }) = driver.outcome else { panic!() };
        assert!(path.exists() && !text.is_empty());
    }

    #[test]
    fn leaving_forks_nothing() {
        let (_dir, mut driver) = selector();
        driver.press("escape");
        assert_eq!(driver.outcome, Some(ForkOutcome::Nothing));
    }
}
