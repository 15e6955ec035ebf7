//! The event loop.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crossterm::event::{Event as TermEvent, KeyEventKind, MouseButton, MouseEventKind};
use sessile::Environment;
use sessile_display::picture::Protocol;

use crate::TuiError;
use crate::content::Drawable;
use crate::key::Key;
use crate::keyboard::{InputEvent, Keyboard, Signals, is_terminal_gone};
use crate::screen::{Effect, Effects, Event, Job, Mouse, MouseAction, Screen};
use crate::terminal::Terminal;
use crate::theme::Theme;
use crate::workers::{JobReport, Workers};

/// How long drawing waits for work started by the same key, so that most changes appear in one frame.
const GRACE_PERIOD: Duration = Duration::from_millis(8);

/// The editor of a user who names none.
const EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Interval of clock events while idle.
const CLOCK_INTERVAL: Duration = Duration::from_millis(500);

/// The sources of the time and of environment variables. They may differ: a made-up store has its own time.
#[derive(Clone, Copy)]
pub(crate) struct Environments<'e> {
    pub(crate) clock: &'e dyn Environment,
    pub(crate) user: &'e dyn Environment,
}

impl Environments<'_> {
    /// Returns how the terminal draws pictures, if it can.
    pub(crate) fn protocol(self) -> Option<Protocol> {
        Protocol::of_terminal(&|name| self.user.variable(name))
    }
}

/// A message to the loop.
enum Message<E> {
    Input(InputEvent),
    Job(JobReport<E>),
}

/// Runs a screen until it ends.
pub(crate) fn run<S: Screen>(
    screen: &mut S,
    backend: Arc<<S::Job as Job>::Backend>,
    terminal: &mut Terminal,
    theme: Theme,
    environments: Environments<'_>,
) -> Result<S::Outcome, TuiError> {
    let (sender, receiver) = mpsc::channel();
    let (to_loop, to_loop_too) = (sender.clone(), sender.clone());
    let keyboard = Keyboard::listen(move |event| to_loop.send(Message::Input(event)).is_ok())?;
    let signals = Signals::listen(move |event| to_loop_too.send(Message::Input(event)).is_ok())?;
    let workers = Workers::new(backend, sender, Message::Job);
    let mut state =
        Loop { screen, workers, terminal, theme, environments, keyboard, size: (0, 0), pictures: VecDeque::new() };
    let ended = state.run(&receiver);
    state.workers.stop_all();
    signals.stop();
    // Before another screen starts, the keyboard thread must stop, or it would take that screen's keys. Without a
    // terminal there are no keys, and waiting for the thread would keep the process alive.
    if ended.is_ok() {
        state.workers.finish_changes();
        state.keyboard.stop();
    }
    ended
}

struct Loop<'l, S: Screen> {
    screen: &'l mut S,
    workers: Workers<S::Job, Message<<S::Job as Job>::Event>>,
    terminal: &'l mut Terminal,
    theme: Theme,
    environments: Environments<'l>,
    keyboard: Keyboard,
    size: (u16, u16),
    /// Pictures shown instead of the screen; the first one is visible.
    pictures: VecDeque<Drawable>,
}

impl<S: Screen> Loop<'_, S> {
    fn run(&mut self, receiver: &Receiver<Message<<S::Job as Job>::Event>>) -> Result<S::Outcome, TuiError> {
        self.size = Terminal::size()?;
        self.screen.update(Event::Clock(self.environments.clock.now()));
        self.screen.update(Event::Size(self.size.0, self.size.1));
        let effects = self.screen.start();
        if let Some(outcome) = self.perform(effects)? {
            return Ok(outcome);
        }
        let mut grace_until = Instant::now() + GRACE_PERIOD;
        loop {
            // Pending messages, and those that arrive within the grace period, are handled before one frame is drawn.
            while let Ok(message) = receiver.try_recv() {
                if let Some(outcome) = self.handle(message)? {
                    return Ok(outcome);
                }
            }
            while self.workers.is_busy() {
                let left = grace_until.saturating_duration_since(Instant::now());
                match receiver.recv_timeout(left) {
                    Ok(message) => {
                        if let Some(outcome) = self.handle(message)? {
                            return Ok(outcome);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return Err(TuiError::TerminalGone),
                }
            }
            // The panic message is on the restored screen and must not be drawn over.
            if Terminal::has_panicked() {
                return Err(TuiError::Panicked);
            }
            if self.pictures.is_empty() {
                let screen = &*self.screen;
                self.terminal.draw(self.theme, |canvas| screen.render(canvas))?;
            }
            match receiver.recv_timeout(CLOCK_INTERVAL) {
                Ok(message) => {
                    // Drawing waits briefly for work that a key started; events from jobs are shown as they arrive.
                    let is_key = matches!(message, Message::Input(_));
                    if let Some(outcome) = self.handle(message)? {
                        return Ok(outcome);
                    }
                    grace_until = Instant::now() + if is_key { GRACE_PERIOD } else { Duration::ZERO };
                }
                // The keyboard may not notice while it waits for the rest of a key.
                Err(RecvTimeoutError::Timeout) if is_terminal_gone() => return Err(TuiError::TerminalGone),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(TuiError::TerminalGone),
            }
            self.screen.update(Event::Clock(self.environments.clock.now()));
        }
    }

    fn handle(&mut self, message: Message<<S::Job as Job>::Event>) -> Result<Option<S::Outcome>, TuiError> {
        let event = match message {
            Message::Input(event) => match self.handle_input(event)? {
                Some(event) => event,
                None => return Ok(None),
            },
            Message::Job(JobReport::Event(event)) => Event::Job(event),
            Message::Job(JobReport::Ended { is_brief }) => {
                self.workers.ended(is_brief);
                return Ok(None);
            }
        };
        let effects = self.screen.update(event);
        self.perform(effects)
    }

    /// Translates terminal input or a signal into an event for the screen, if it is one.
    fn handle_input(&mut self, event: InputEvent) -> Result<Option<Event<<S::Job as Job>::Event>>, TuiError> {
        match event {
            InputEvent::Terminal(TermEvent::Resize(..)) | InputEvent::Resized => {
                let size = Terminal::size()?;
                let is_other = std::mem::replace(&mut self.size, size) != size;
                if is_other {
                    self.show_picture()?;
                }
                Ok(is_other.then_some(Event::Size(size.0, size.1)))
            }
            InputEvent::Terminal(event) if !self.pictures.is_empty() => {
                // Any key shows the next picture; after the last one the screen returns.
                if matches!(translate::<()>(event), Some(Event::Key(_) | Event::Mouse(_))) {
                    self.pictures.pop_front();
                    self.show_picture()?;
                }
                Ok(None)
            }
            InputEvent::Terminal(event) => Ok(translate(event)),
            InputEvent::Stop => self.suspend().map(|()| None),
            InputEvent::Continued => {
                // After an uncatchable stop, the screen contents are lost.
                self.terminal.leave()?;
                self.reenter().map(|()| None)
            }
            InputEvent::End(signal) => Err(TuiError::Signal(signal)),
            InputEvent::Gone => Err(TuiError::TerminalGone),
        }
    }

    fn perform(&mut self, effects: Effects<S>) -> Result<Option<S::Outcome>, TuiError> {
        for effect in effects {
            match effect {
                Effect::Run(job) => self.workers.start(job),
                Effect::Stop(lane) => self.workers.stop(lane),
                Effect::Copy(text) => self.terminal.copy(&text)?,
                Effect::Edit(text) => self.edit(&text)?,
                Effect::ShowPictures(pictures) => {
                    self.pictures = pictures.into();
                    self.show_picture()?;
                }
                Effect::Suspend => self.suspend()?,
                Effect::Leave(outcome) => return Ok(Some(outcome)),
            }
        }
        Ok(None)
    }

    /// Shows the first picture; the screen again if none is left.
    fn show_picture(&mut self) -> Result<(), TuiError> {
        let Some(protocol) = self.environments.protocol() else {
            self.pictures.clear();
            return Ok(());
        };
        let n_more = self.pictures.len().saturating_sub(1);
        let _: () = match self.pictures.front() {
            Some(picture) => self.terminal.show_picture(protocol, picture, n_more)?,
            None => self.terminal.clear_pictures(protocol)?,
        };
        Ok(())
    }

    /// Suspends until the shell resumes the process.
    fn suspend(&mut self) -> Result<(), TuiError> {
        self.terminal.leave()?;
        #[cfg(unix)]
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.reenter()
    }

    /// Opens a text in the user's editor. Changes made there are ignored.
    fn edit(&mut self, text: &str) -> Result<(), TuiError> {
        let mut file = tempfile::Builder::new().prefix("sessile-").suffix(".md").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let named = ["VISUAL", "EDITOR"].iter().find_map(|name| self.environments.user.variable(name));
        let editor = named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| EDITOR.to_owned());
        self.keyboard.pause();
        self.terminal.leave()?;
        // The variable may contain arguments, so a shell parses it, as other programs do.
        let status = sessile::shell(|file| format!("{editor} {file}"), file.path()).status();
        self.keyboard.resume();
        self.reenter()?;
        status.map(drop).map_err(TuiError::Io)
    }

    fn reenter(&mut self) -> Result<(), TuiError> {
        self.terminal.enter()?;
        self.size = Terminal::size()?;
        let effects = self.screen.update(Event::Size(self.size.0, self.size.1));
        self.perform(effects).map(drop)
    }
}

/// Translates a terminal event, if it has a meaning.
fn translate<E>(event: TermEvent) -> Option<Event<E>> {
    match event {
        TermEvent::Key(key) if key.kind != KeyEventKind::Release => Key::pressed(key).map(Event::Key),
        TermEvent::Paste(text) => Some(Event::Paste(text)),
        TermEvent::Mouse(mouse) => {
            let action = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseAction::Click,
                MouseEventKind::ScrollUp => MouseAction::WheelUp,
                MouseEventKind::ScrollDown => MouseAction::WheelDown,
                _ => return None,
            };
            Some(Event::Mouse(Mouse { action, x: mouse.column, y: mouse.row }))
        }
        _ => None,
    }
}
