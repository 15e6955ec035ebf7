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
use crate::keyboard::{Heard, Keyboard, Signals, is_gone};
use crate::part::{Effect, Effects, Event, Job, Mouse, MouseAct, Part};
use crate::terminal::Terminal;
use crate::theme::Theme;
use crate::work::{Crew, Told};

/// How long drawing waits for work started by the same key, so that most changes appear in one frame.
const GRACE: Duration = Duration::from_millis(8);

/// Interval of clock events while idle.
const TICK: Duration = Duration::from_millis(500);

/// The sources of the time and of environment variables. They may differ: a made-up store has its own time.
#[derive(Clone, Copy)]
pub(crate) struct World<'w> {
    pub(crate) clock: &'w dyn Environment,
    pub(crate) surroundings: &'w dyn Environment,
}

impl World<'_> {
    /// Returns how the terminal draws pictures, if it can.
    pub(crate) fn protocol(self) -> Option<Protocol> {
        Protocol::of_terminal(&|name| self.surroundings.variable(name))
    }
}

/// A message to the loop.
enum Message<N> {
    Heard(Heard),
    Told(Told<N>),
}

/// Runs a screen until it ends.
pub(crate) fn run<P: Part>(
    part: &mut P,
    desk: Arc<<P::Job as Job>::Desk>,
    terminal: &mut Terminal,
    theme: Theme,
    world: World<'_>,
) -> Result<P::Outcome, TuiError> {
    let (sender, receiver) = mpsc::channel();
    let (to_loop, to_loop_too) = (sender.clone(), sender.clone());
    let keyboard = Keyboard::listen(move |heard| to_loop.send(Message::Heard(heard)).is_ok())?;
    let signals = Signals::listen(move |heard| to_loop_too.send(Message::Heard(heard)).is_ok())?;
    let crew = Crew::new(desk, sender, Message::Told);
    let mut state = Loop { part, crew, terminal, theme, world, keyboard, size: (0, 0), pictures: VecDeque::new() };
    let ended = state.run(&receiver);
    state.crew.stop_all();
    signals.stop();
    // Before another screen starts, the keyboard thread must stop, or it would take that screen's keys. Without a
    // terminal there are no keys, and waiting for the thread would keep the process alive.
    if ended.is_ok() {
        state.crew.finish_changes();
        state.keyboard.stop();
    }
    ended
}

struct Loop<'l, P: Part> {
    part: &'l mut P,
    crew: Crew<P::Job, Message<<P::Job as Job>::News>>,
    terminal: &'l mut Terminal,
    theme: Theme,
    world: World<'l>,
    keyboard: Keyboard,
    size: (u16, u16),
    /// Pictures shown instead of the screen; the first one is visible.
    pictures: VecDeque<Drawable>,
}

impl<P: Part> Loop<'_, P> {
    fn run(&mut self, receiver: &Receiver<Message<<P::Job as Job>::News>>) -> Result<P::Outcome, TuiError> {
        self.size = Terminal::size()?;
        self.part.update(Event::Clock(self.world.clock.now_ms()));
        self.part.update(Event::Size(self.size.0, self.size.1));
        let effects = self.part.begin();
        if let Some(outcome) = self.perform(effects)? {
            return Ok(outcome);
        }
        let mut grace_until = Instant::now() + GRACE;
        loop {
            // Pending messages, and those that arrive within the grace period, are handled before one frame is drawn.
            while let Ok(message) = receiver.try_recv() {
                if let Some(outcome) = self.take(message)? {
                    return Ok(outcome);
                }
            }
            while self.crew.is_busy() {
                let left = grace_until.saturating_duration_since(Instant::now());
                match receiver.recv_timeout(left) {
                    Ok(message) => {
                        if let Some(outcome) = self.take(message)? {
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
                let part = &*self.part;
                self.terminal.draw(self.theme, |canvas| part.render(canvas))?;
            }
            match receiver.recv_timeout(TICK) {
                Ok(message) => {
                    // Drawing waits briefly for work that a key started; news are shown as they arrive.
                    let is_key = matches!(message, Message::Heard(_));
                    if let Some(outcome) = self.take(message)? {
                        return Ok(outcome);
                    }
                    grace_until = Instant::now() + if is_key { GRACE } else { Duration::ZERO };
                }
                // The keyboard may not notice while it waits for the rest of a key.
                Err(RecvTimeoutError::Timeout) if is_gone() => return Err(TuiError::TerminalGone),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(TuiError::TerminalGone),
            }
            self.part.update(Event::Clock(self.world.clock.now_ms()));
        }
    }

    fn take(&mut self, message: Message<<P::Job as Job>::News>) -> Result<Option<P::Outcome>, TuiError> {
        let event = match message {
            Message::Heard(heard) => match self.hear(heard)? {
                Some(event) => event,
                None => return Ok(None),
            },
            Message::Told(Told::News(news)) => Event::News(news),
            Message::Told(Told::Ended { is_brief }) => {
                self.crew.ended(is_brief);
                return Ok(None);
            }
        };
        let effects = self.part.update(event);
        self.perform(effects)
    }

    /// Translates terminal input or a signal into an event for the screen, if it is one.
    fn hear(&mut self, heard: Heard) -> Result<Option<Event<<P::Job as Job>::News>>, TuiError> {
        match heard {
            Heard::Terminal(TermEvent::Resize(..)) | Heard::Resized => {
                let size = Terminal::size()?;
                let is_other = std::mem::replace(&mut self.size, size) != size;
                if is_other {
                    self.show_picture()?;
                }
                Ok(is_other.then_some(Event::Size(size.0, size.1)))
            }
            Heard::Terminal(event) if !self.pictures.is_empty() => {
                // Any key shows the next picture; after the last one the screen returns.
                if matches!(understood::<()>(event), Some(Event::Key(_) | Event::Mouse(_))) {
                    self.pictures.pop_front();
                    self.show_picture()?;
                }
                Ok(None)
            }
            Heard::Terminal(event) => Ok(understood(event)),
            Heard::Stop => self.suspend().map(|()| None),
            Heard::Continued => {
                // After an uncatchable stop, the screen contents are lost.
                self.terminal.leave()?;
                self.come_back().map(|()| None)
            }
            Heard::End(signal) => Err(TuiError::Signal(signal)),
            Heard::Gone => Err(TuiError::TerminalGone),
        }
    }

    fn perform(&mut self, effects: Effects<P>) -> Result<Option<P::Outcome>, TuiError> {
        for effect in effects {
            match effect {
                Effect::Do(job) => self.crew.begin(job),
                Effect::Stop(lane) => self.crew.stop(lane),
                Effect::Copy(text) => self.terminal.copy(&text)?,
                Effect::Edit(text) => self.edit(&text)?,
                Effect::Show(pictures) => {
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
        let Some(protocol) = self.world.protocol() else {
            self.pictures.clear();
            return Ok(());
        };
        let n_more = self.pictures.len().saturating_sub(1);
        let _: () = match self.pictures.front() {
            Some(picture) => self.terminal.show(protocol, picture, n_more)?,
            None => self.terminal.show_text_again(protocol)?,
        };
        Ok(())
    }

    /// Suspends until the shell resumes the process.
    fn suspend(&mut self) -> Result<(), TuiError> {
        self.terminal.leave()?;
        #[cfg(unix)]
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.come_back()
    }

    /// Opens a text in the user's editor. Changes made there are ignored.
    fn edit(&mut self, text: &str) -> Result<(), TuiError> {
        let mut file = tempfile::Builder::new().prefix("sessile-").suffix(".md").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let named = ["VISUAL", "EDITOR"].iter().find_map(|name| self.world.surroundings.variable(name));
        let editor = named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
        self.keyboard.pause();
        self.terminal.leave()?;
        // The variable may contain arguments, so a shell parses it, as other programs do; the file is a separate
        // argument.
        let ran =
            std::process::Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file.path()).status();
        self.keyboard.go_on();
        self.come_back()?;
        ran.map(drop).map_err(TuiError::Io)
    }

    fn come_back(&mut self) -> Result<(), TuiError> {
        self.terminal.enter()?;
        self.size = Terminal::size()?;
        let effects = self.part.update(Event::Size(self.size.0, self.size.1));
        self.perform(effects).map(drop)
    }
}

/// Translates a terminal event, if it has a meaning.
fn understood<N>(event: TermEvent) -> Option<Event<N>> {
    match event {
        TermEvent::Key(key) if key.kind != KeyEventKind::Release => Key::pressed(key).map(Event::Key),
        TermEvent::Paste(text) => Some(Event::Paste(text)),
        TermEvent::Mouse(mouse) => {
            let what = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseAct::Click,
                MouseEventKind::ScrollUp => MouseAct::WheelUp,
                MouseEventKind::ScrollDown => MouseAct::WheelDown,
                _ => return None,
            };
            Some(Event::Mouse(Mouse { what, x: mouse.column, y: mouse.row }))
        }
        _ => None,
    }
}
