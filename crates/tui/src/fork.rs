//! The fork selector: the user chooses a message from which to fork a new session.

use std::path::PathBuf;
use std::sync::Arc;

use sessile::branch::{ForkMessage, ForkPosition};
use sessile::date::Timestamp;
use sessile::event::Outcome;
use sessile::format::cause::chain;
use sessile::operations::OperationKind;
use sessile::{Cancel, EntryId, SessionError, Sessions};

use crate::help::Help;
use crate::hint;
use crate::key::Key;
use crate::keymap::{Action, KeyContext, Keymap};
use crate::paint::{Canvas, Line};
use crate::screen::{CHANGES, Effect, Effects, Event, Job, Lane, MouseAction, Screen};
use crate::status::Status;
use crate::theme::Ink;
use crate::tree::change::veto_message;

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
        /// The text of the selected message, ready to be edited and sent again.
        text: String,
    },
    /// The session could not be read.
    Failed(String),
}

/// The resources of the jobs.
pub(crate) struct ForkBackend {
    pub(crate) sessions: Sessions,
    pub(crate) path: PathBuf,
}

#[derive(Debug)]
pub(crate) enum ForkJob {
    Load,
    Fork(EntryId),
}

#[derive(Debug)]
pub(crate) enum ForkEvent {
    Loaded(Vec<ForkMessage>),
    Forked { path: Option<PathBuf>, text: String },
    Failed(String),
}

impl Job for ForkJob {
    type Event = ForkEvent;
    type Backend = ForkBackend;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Fork(_) => CHANGES,
        }
    }

    fn run(self, backend: &ForkBackend, _cancel: &Cancel, send: &mut dyn FnMut(ForkEvent)) {
        let done = match self {
            Self::Load => backend.messages(),
            Self::Fork(id) => backend.fork(&id),
        };
        // Another program changed lines that were already read, so the file is read again.
        let done = if matches!(done, Err(SessionError::Stale { .. })) { backend.messages() } else { done };
        send(done.unwrap_or_else(|error| ForkEvent::Failed(chain(&error))));
    }
}

impl ForkBackend {
    fn messages(&self) -> Result<ForkEvent, SessionError> {
        let session = self.sessions.clone().read_only().open(&self.path)?;
        session.fork_messages().map(ForkEvent::Loaded)
    }

    fn fork(&self, id: &EntryId) -> Result<ForkEvent, SessionError> {
        let forked = self.sessions.fork_session(&self.path, Some(id), ForkPosition::Before, OperationKind::Fork)?;
        Ok(match forked {
            Outcome::Cancelled { by } => ForkEvent::Failed(veto_message(&by)),
            Outcome::Done(forked) => {
                ForkEvent::Forked { path: Some(forked.path), text: forked.text.unwrap_or_default() }
            }
        })
    }
}

/// Lines per message: its text, its position, and an empty line.
const LINES_PER_MESSAGE: usize = 3;

/// The state of the fork selector.
pub(crate) struct Fork {
    keymap: Arc<Keymap>,
    size: (u16, u16),
    now: Timestamp,
    messages: Option<Vec<ForkMessage>>,
    selected: usize,
    help: Option<Help>,
    status: Status,
}

impl Fork {
    pub(crate) fn new(keymap: Arc<Keymap>) -> Self {
        Self {
            keymap,
            size: (80, 24),
            now: Timestamp::EPOCH,
            messages: None,
            selected: 0,
            help: None,
            status: Status::default(),
        }
    }

    fn n_messages(&self) -> usize {
        self.messages.as_ref().map_or(0, Vec::len)
    }

    /// Returns the number of messages that fit on the screen.
    fn room(&self) -> usize {
        (usize::from(self.size.1).saturating_sub(4) / LINES_PER_MESSAGE).max(1)
    }

    fn first_visible(&self) -> usize {
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
        match self.keymap.action(KeyContext::Fork, key) {
            Some(Action::Up) => self.selected = if self.selected == 0 { last } else { self.selected - 1 },
            Some(Action::Down) => self.selected = if self.selected >= last { 0 } else { self.selected + 1 },
            Some(Action::PageUp) => self.selected = self.selected.saturating_sub(self.room()),
            Some(Action::PageDown) => self.selected = (self.selected + self.room()).min(last),
            Some(Action::First) => self.selected = 0,
            Some(Action::Last) => self.selected = last,
            Some(Action::Confirm) => return self.confirm(),
            Some(Action::Cancel) => return vec![Effect::Leave(ForkOutcome::Nothing)],
            Some(Action::Help) => self.help = Some(Help::new(KeyContext::Fork)),
            Some(Action::Suspend) => return vec![Effect::Suspend],
            _ => {}
        }
        Vec::new()
    }

    fn confirm(&self) -> Effects<Self> {
        let selected = self.messages.as_ref().and_then(|messages| messages.get(self.selected));
        selected.map(|message| Effect::Run(ForkJob::Fork(message.entry_id.clone()))).into_iter().collect()
    }
}

impl Screen for Fork {
    type Job = ForkJob;
    type Outcome = ForkOutcome;

    fn start(&mut self) -> Effects<Self> {
        vec![Effect::Run(ForkJob::Load)]
    }

    fn update(&mut self, event: Event<ForkEvent>) -> Effects<Self> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Size(width, height) => self.size = (width, height),
            Event::Clock(now) => {
                self.now = now;
                self.status.expire(now);
            }
            Event::Mouse(mouse) => match mouse.action {
                MouseAction::WheelUp => self.selected = self.selected.saturating_sub(1),
                MouseAction::WheelDown => self.selected = (self.selected + 1).min(self.n_messages().saturating_sub(1)),
                MouseAction::Click => {
                    let item = self.first_visible() + usize::from(mouse.y).saturating_sub(3) / LINES_PER_MESSAGE;
                    if item == self.selected {
                        return self.confirm();
                    }
                    self.selected = item.min(self.n_messages().saturating_sub(1));
                }
            },
            Event::Job(ForkEvent::Loaded(messages)) => {
                if messages.is_empty() {
                    return vec![Effect::Leave(ForkOutcome::NoMessages)];
                }
                self.selected = messages.len() - 1;
                self.messages = Some(messages);
            }
            Event::Job(ForkEvent::Forked { path, text }) => {
                return vec![Effect::Leave(ForkOutcome::Forked { path, text })];
            }
            Event::Job(ForkEvent::Failed(message)) if self.messages.is_none() => {
                return vec![Effect::Leave(ForkOutcome::Failed(message))];
            }
            Event::Job(ForkEvent::Failed(message)) => self.status.show_error(message, self.now),
            Event::Paste(_) => {}
        }
        Vec::new()
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap);
        }
        let area = canvas.area();
        let key_hint = |action, what| self.keymap.hint(action, what);
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, "Fork before one of your messages"));
        let hints = [key_hint(Action::Confirm, "fork"), key_hint(Action::Cancel, "leave")];
        let hint = hint::fit(&hints, Some(&key_hint(Action::Help, "keys")), area.width.into());
        canvas.line(area, 1, &Line::new().ink(Ink::DIM, &hint));
        self.draw_messages(canvas);
        if let Some((ink, message)) = self.status.message() {
            canvas.notice(1, ink, message);
        }
    }
}

impl Fork {
    fn draw_messages(&self, canvas: &mut Canvas<'_>) {
        let area = canvas.area();
        let Some(messages) = &self.messages else {
            return canvas.line(area, 3, &Line::new().ink(Ink::DIM, "  Reading …"));
        };
        for (at, item) in (self.first_visible()..messages.len()).take(self.room()).enumerate() {
            let is_selected = item == self.selected;
            let ink = if is_selected { Ink::BOLD } else { Ink::PLAIN };
            let text = sessile_display::text::start(&messages[item].text, 500);
            let line = Line::new().ink(Ink::ACCENT, if is_selected { "› " } else { "  " }).ink(ink, text.trim());
            let row = 3 + at * LINES_PER_MESSAGE;
            if is_selected {
                canvas.selected_line(area, row, &line);
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
    use crate::driver::Driver;

    fn selector() -> (tempfile::TempDir, Driver<Fork>) {
        let dir = tempfile::tempdir().unwrap();
        let sample = sessile::sample::write_sample(dir.path()).unwrap();
        let backend = ForkBackend { sessions: sample.sessions(), path: sample.richest.clone() };
        (dir, Driver::new(Fork::new(Arc::new(Keymap::default())), backend, |_| false))
    }

    #[test]
    fn screens_equal_the_stored_screens() {
        let (_dir, mut driver) = selector();
        driver.assert_stored_screens("fork");
        driver.press("f1").assert_stored_screens("fork-help");
    }

    #[test]
    fn the_last_message_is_selected_and_moving_wraps_around() {
        let (_dir, mut driver) = selector();
        let last = driver.screen.n_messages() - 1;
        assert_eq!(driver.screen.selected, last);
        driver.press("down");
        assert_eq!(driver.screen.selected, 0);
        driver.press("up ctrl+p");
        assert_eq!(driver.screen.selected, last - 1);
        driver.press("ctrl+n up enter");
        let operation = driver.backend.sessions.operations().unwrap().pop().unwrap();
        assert_eq!(operation.kind, OperationKind::Fork, "the fork is recorded for undo");
        let Some(ForkOutcome::Forked { path: Some(path), text }) = driver.outcome else { panic!() };
        assert!(path.exists() && !text.is_empty());
    }

    #[test]
    fn leaving_creates_no_fork() {
        let (_dir, mut driver) = selector();
        driver.press("escape");
        assert_eq!(driver.outcome, Some(ForkOutcome::Nothing));
    }
}
