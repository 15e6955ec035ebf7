//! The loop: events in, pictures out.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event as TermEvent, KeyEventKind, MouseButton, MouseEventKind};
use sessile::Environment;

use crate::TuiError;
use crate::key::Key;
use crate::part::{Effect, Effects, Event, Job, Mouse, MouseAct, Part};
use crate::terminal::Terminal;
use crate::theme::Theme;
use crate::work::{Crew, Told};

/// How long a picture waits for work that was begun by the same key, so that most of it is seen at once.
const GRACE: Duration = Duration::from_millis(8);

/// How often the time is told while nothing happens.
const TICK: Duration = Duration::from_millis(500);

/// Where the time and the variables come from, which may be two places: a made-up store has a time of its own.
#[derive(Clone, Copy)]
pub(crate) struct World<'w> {
    pub(crate) clock: &'w dyn Environment,
    pub(crate) surroundings: &'w dyn Environment,
}

/// Something that the loop is told.
enum Message<N> {
    Terminal(TermEvent),
    Told(Told<N>),
    Signal(i32),
    /// The terminal cannot be read any more.
    Gone,
}

/// Runs a part until it leaves.
pub(crate) fn run<P: Part>(
    part: &mut P,
    desk: Arc<<P::Job as Job>::Desk>,
    terminal: &mut Terminal,
    theme: Theme,
    world: World<'_>,
) -> Result<P::Outcome, TuiError> {
    let (sender, receiver) = mpsc::channel();
    let keyboard = Keyboard::listen(sender.clone());
    let signals = Signals::listen(sender.clone())?;
    let crew = Crew::new(desk, sender, Message::Told);
    let mut state = Loop { part, crew, terminal, theme, world, keyboard };
    let ended = state.run(&receiver);
    state.crew.stop_all();
    state.keyboard.stop();
    signals.stop();
    ended
}

struct Loop<'l, P: Part> {
    part: &'l mut P,
    crew: Crew<P::Job, Message<<P::Job as Job>::News>>,
    terminal: &'l mut Terminal,
    theme: Theme,
    world: World<'l>,
    keyboard: Keyboard,
}

impl<P: Part> Loop<'_, P> {
    fn run(&mut self, receiver: &Receiver<Message<<P::Job as Job>::News>>) -> Result<P::Outcome, TuiError> {
        let (width, height) = Terminal::size()?;
        self.part.update(Event::Clock(self.world.clock.now_ms()));
        self.part.update(Event::Size(width, height));
        let effects = self.part.begin();
        if let Some(outcome) = self.perform(effects)? {
            return Ok(outcome);
        }
        let mut grace_until = Instant::now() + GRACE;
        loop {
            // What has come already is taken first, and what comes in a moment is waited for: so it is drawn once.
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
            let part = &*self.part;
            self.terminal.draw(self.theme, |canvas| part.render(canvas))?;
            match receiver.recv_timeout(TICK) {
                Ok(message) => {
                    // Work that a key has begun is waited for a moment; news are shown as they come.
                    let is_key = matches!(message, Message::Terminal(_));
                    if let Some(outcome) = self.take(message)? {
                        return Ok(outcome);
                    }
                    grace_until = Instant::now() + if is_key { GRACE } else { Duration::ZERO };
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(TuiError::TerminalGone),
            }
            if Terminal::has_panicked() {
                return Err(TuiError::Panicked);
            }
            self.part.update(Event::Clock(self.world.clock.now_ms()));
        }
    }

    fn take(&mut self, message: Message<<P::Job as Job>::News>) -> Result<Option<P::Outcome>, TuiError> {
        let event = match message {
            Message::Terminal(event) => match understood(event) {
                Some(event) => event,
                None => return Ok(None),
            },
            Message::Told(Told::News(news)) => Event::News(news),
            Message::Told(Told::Ended { is_brief }) => {
                self.crew.ended(is_brief);
                return Ok(None);
            }
            Message::Signal(signal) if signal == signal_hook::consts::SIGTSTP => {
                self.suspend()?;
                return Ok(None);
            }
            Message::Signal(signal) if signal == signal_hook::consts::SIGCONT => {
                // Whoever was stopped without a word has lost its screen.
                self.terminal.leave()?;
                self.come_back()?;
                return Ok(None);
            }
            Message::Signal(signal) => return Err(TuiError::Signal(signal)),
            Message::Gone => return Err(TuiError::TerminalGone),
        };
        let effects = self.part.update(event);
        self.perform(effects)
    }

    fn perform(&mut self, effects: Effects<P>) -> Result<Option<P::Outcome>, TuiError> {
        for effect in effects {
            match effect {
                Effect::Do(job) => self.crew.begin(job),
                Effect::Stop(lane) => self.crew.stop(lane),
                Effect::Copy(text) => self.terminal.copy(&text)?,
                Effect::Edit(text) => self.edit(&text)?,
                Effect::Suspend => self.suspend()?,
                Effect::Leave(outcome) => return Ok(Some(outcome)),
            }
        }
        Ok(None)
    }

    /// Stops until the shell brings us back.
    fn suspend(&mut self) -> Result<(), TuiError> {
        self.terminal.leave()?;
        #[cfg(unix)]
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.come_back()
    }

    /// Opens a text in the user's editor. What is changed there is not taken back.
    fn edit(&mut self, text: &str) -> Result<(), TuiError> {
        let mut file = tempfile::Builder::new().prefix("sessile-").suffix(".md").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let named = ["VISUAL", "EDITOR"].iter().find_map(|name| self.world.surroundings.variable(name));
        let editor = named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
        self.keyboard.pause();
        self.terminal.leave()?;
        // The variable may hold arguments, so a shell reads it, as everywhere; the file is an argument of its own.
        let ran =
            std::process::Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file.path()).status();
        self.keyboard.go_on();
        self.come_back()?;
        ran.map(drop).map_err(TuiError::Io)
    }

    fn come_back(&mut self) -> Result<(), TuiError> {
        self.terminal.enter()?;
        let (width, height) = Terminal::size()?;
        let effects = self.part.update(Event::Size(width, height));
        self.perform(effects).map(drop)
    }
}

/// What an event of the terminal means, if anything.
fn understood<N>(event: TermEvent) -> Option<Event<N>> {
    match event {
        TermEvent::Key(key) if key.kind != KeyEventKind::Release => Key::pressed(key).map(Event::Key),
        TermEvent::Paste(text) => Some(Event::Paste(text)),
        TermEvent::Resize(width, height) => Some(Event::Size(width, height)),
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

/// The thread that reads the terminal.
struct Keyboard {
    wish: Arc<AtomicU8>,
    is_resting: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

const LISTEN: u8 = 0;
const REST: u8 = 1;
const STOP: u8 = 2;

/// How long the keyboard is listened to before anybody looks whether it still should be.
const PATIENCE: Duration = Duration::from_millis(20);

impl Keyboard {
    fn listen<N: Send + 'static>(sender: Sender<Message<N>>) -> Self {
        let (wish, is_resting) = (Arc::new(AtomicU8::new(LISTEN)), Arc::new(AtomicBool::new(false)));
        let (wished, resting) = (Arc::clone(&wish), Arc::clone(&is_resting));
        let listen = move || {
            loop {
                match wished.load(Ordering::SeqCst) {
                    STOP => return,
                    REST => {
                        resting.store(true, Ordering::SeqCst);
                        thread::sleep(PATIENCE);
                        continue;
                    }
                    _ => resting.store(false, Ordering::SeqCst),
                }
                let message = match event::poll(PATIENCE) {
                    Ok(false) => continue,
                    Ok(true) => event::read().map_or(Message::Gone, Message::Terminal),
                    Err(_) => Message::Gone,
                };
                let is_gone = matches!(message, Message::Gone);
                if sender.send(message).is_err() || is_gone {
                    return;
                }
            }
        };
        Self { wish, is_resting, thread: thread::Builder::new().name("sessile-keys".to_owned()).spawn(listen).ok() }
    }

    /// Leaves the terminal to somebody else, and waits until that is so.
    fn pause(&self) {
        self.wish.store(REST, Ordering::SeqCst);
        while !self.is_resting.load(Ordering::SeqCst) && self.thread.as_ref().is_some_and(|it| !it.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn go_on(&self) {
        self.wish.store(LISTEN, Ordering::SeqCst);
    }

    fn stop(&mut self) {
        self.wish.store(STOP, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The thread that hears of signals.
struct Signals(#[cfg(unix)] signal_hook::iterator::Handle);

impl Signals {
    #[cfg(unix)]
    fn listen<N: Send + 'static>(sender: Sender<Message<N>>) -> io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        let mut signals = signal_hook::iterator::Signals::new([SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP])?;
        let handle = signals.handle();
        thread::Builder::new().name("sessile-signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                if sender.send(Message::Signal(signal)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self(handle))
    }

    #[cfg(not(unix))]
    fn listen<N: Send + 'static>(_sender: Sender<Message<N>>) -> io::Result<Self> {
        Ok(Self())
    }

    fn stop(&self) {
        #[cfg(unix)]
        self.0.close();
    }
}
