//! How a screen is made: state, what happens to it, and what it looks like, each apart.
//!
//! [`Part::update`] is a function of the state and an event alone. It never
//! waits: what takes time is asked for as an [`Effect`], done on another
//! thread, and comes back as an [`Event::News`]. [`Part::render`] only looks.

use sessile::Cancel;

use crate::content::Drawable;
use crate::key::Key;
use crate::paint::Canvas;

/// Something that happens to a screen.
#[derive(Clone, Debug)]
pub(crate) enum Event<N> {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    Mouse(Mouse),
    /// The size of the terminal, before the first picture and whenever it changes.
    Size(u16, u16),
    /// The time, now and then.
    Clock(i64),
    /// What came of a job.
    News(N),
}

/// What was done with the mouse, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mouse {
    pub(crate) what: MouseAct,
    pub(crate) x: u16,
    pub(crate) y: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MouseAct {
    Click,
    WheelUp,
    WheelDown,
}

/// What a screen wants done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect<J, O> {
    /// Work, on another thread.
    Do(J),
    /// Stop the work of a lane.
    Stop(Lane),
    /// Text for the clipboard.
    Copy(String),
    /// Text to be opened in the user's editor.
    Edit(String),
    /// Pictures to be shown, one after the other, each until a key is pressed.
    Show(Vec<Drawable>),
    /// Back to the shell for now.
    Suspend,
    /// The end.
    Leave(O),
}

/// Work of one kind. New work in a lane stops what is under way in it, unless the lane is [`CHANGES`].
pub(crate) type Lane = u8;

/// The lane of what changes something, and is never stopped.
pub(crate) const CHANGES: Lane = 0;

/// Work for another thread.
pub(crate) trait Job: Send + 'static {
    /// What comes of it.
    type News: Send + 'static;
    /// What it is done with.
    type Desk: Send + Sync + 'static;

    fn lane(&self) -> Lane;

    /// Whether it is over in a moment, so that the picture may wait for it.
    fn is_brief(&self) -> bool {
        true
    }

    /// Whether it changes something, so that it is waited for when somebody leaves.
    fn is_change(&self) -> bool {
        self.lane() == CHANGES
    }

    fn run(self, desk: &Self::Desk, cancel: &Cancel, tell: &mut dyn FnMut(Self::News));
}

/// The effects of a part.
pub(crate) type Effects<P> = Vec<Effect<<P as Part>::Job, <P as Part>::Outcome>>;

/// A screen.
pub(crate) trait Part {
    type Job: Job;
    type Outcome;

    /// What the screen wants done before anything happens.
    fn begin(&mut self) -> Effects<Self>
    where
        Self: Sized;

    fn update(&mut self, event: Event<<Self::Job as Job>::News>) -> Effects<Self>
    where
        Self: Sized;

    fn render(&self, canvas: &mut Canvas<'_>);
}
