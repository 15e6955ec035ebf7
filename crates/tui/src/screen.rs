//! The structure of a screen: state, update and drawing are separate.
//!
//! [`Screen::update`] depends on the state and an event alone. It never waits: it requests slow work as an [`Effect`],
//! which runs on another thread and reports back as an [`Event::Job`]. [`Screen::render`] only reads the state.

use sessile::Cancel;
use sessile::date::Timestamp;

use crate::content::Drawable;
use crate::key::Key;
use crate::paint::Canvas;

/// An event for a screen.
#[derive(Clone, Debug)]
pub(crate) enum Event<E> {
    /// A key press.
    Key(Key),
    /// Pasted text.
    Paste(String),
    Mouse(Mouse),
    /// The terminal size, before the first frame and after every change.
    Size(u16, u16),
    /// The current time, sent from time to time.
    Clock(Timestamp),
    /// An event from a job.
    Job(E),
}

/// A mouse event and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mouse {
    pub(crate) action: MouseAction,
    pub(crate) x: u16,
    pub(crate) y: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MouseAction {
    Click,
    WheelUp,
    WheelDown,
}

/// A request from a screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect<J, O> {
    /// Run a job on another thread.
    Run(J),
    /// Stop the jobs of a lane.
    Stop(Lane),
    /// Copy text to the clipboard.
    Copy(String),
    /// Open text in the user's editor.
    Edit(String),
    /// Show pictures one after the other, each until a key is pressed.
    ShowPictures(Vec<Drawable>),
    /// Suspend to the shell.
    Suspend,
    /// Leave the screen.
    Leave(O),
}

/// A kind of job. A new job stops the running job of its lane, except that jobs of [`CHANGES`] run one after the other.
pub(crate) type Lane = u8;

/// The lane of jobs that change something. They are never stopped.
pub(crate) const CHANGES: Lane = 0;

/// A job for another thread.
pub(crate) trait Job: Send + 'static {
    /// What the job reports to its screen.
    type Event: Send + 'static;
    /// The resources that the job uses.
    type Backend: Send + Sync + 'static;

    fn lane(&self) -> Lane;

    /// Whether the job is short enough for drawing to wait for it.
    fn is_brief(&self) -> bool {
        true
    }

    /// Whether the job changes something, so that leaving the screen waits for it.
    fn is_change(&self) -> bool {
        self.lane() == CHANGES
    }

    /// Runs the job, and sends events to its screen.
    fn run(self, backend: &Self::Backend, cancel: &Cancel, send: &mut dyn FnMut(Self::Event));
}

/// The effects that a screen requests.
pub(crate) type Effects<S> = Vec<Effect<<S as Screen>::Job, <S as Screen>::Outcome>>;

/// A screen.
pub(crate) trait Screen {
    type Job: Job;
    type Outcome;

    /// Returns the effects requested before the first event.
    fn start(&mut self) -> Effects<Self>
    where
        Self: Sized;

    /// Handles an event; returns the effects that it requests.
    fn update(&mut self, event: Event<<Self::Job as Job>::Event>) -> Effects<Self>
    where
        Self: Sized;

    /// Draws the screen.
    fn render(&self, canvas: &mut Canvas<'_>);
}
