//! The terminal: taken over, and always restored.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui_core::backend::Backend as _;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_crossterm::CrosstermBackend;
use sessile_display::picture::Protocol;
use sessile_display::{clean, first_columns};

use crate::content::Drawable;
use crate::paint::Canvas;
use crate::theme::Theme;

/// Whether this process currently controls the terminal.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether a thread has panicked.
static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

/// Serialises terminal output: a frame must not be drawn over a panic message.
static OUTPUT: Mutex<()> = Mutex::new(());

/// Upper bound on the bytes copied to the clipboard; many terminals take no more.
const MAX_COPIED_BYTES: usize = 100_000;

/// Maximum columns and rows that are used. No screen has more; a terminal may claim 65535 of each, whose cells would
/// not fit into memory.
const MAX_SIZE: (u16, u16) = (2000, 1000);

/// Returns the part of a terminal of this size that is used.
fn usable((width, height): (u16, u16)) -> (u16, u16) {
    let (width, height) = (if width == 0 { 80 } else { width }, if height == 0 { 24 } else { height });
    (width.min(MAX_SIZE.0), height.min(MAX_SIZE.1))
}

/// The terminal while this process controls it.
///
/// It is never queried: a terminal that does not answer would block the UI.
pub(crate) struct Terminal {
    output: CrosstermBackend<Tty>,
    /// The frame on the screen.
    displayed: Buffer,
    has_mouse: bool,
}

impl Terminal {
    /// Takes the terminal over.
    pub(crate) fn take(has_mouse: bool) -> io::Result<Self> {
        restore_on_panic();
        let output = CrosstermBackend::new(Tty::open()?);
        let mut terminal = Self { output, displayed: Buffer::default(), has_mouse };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Takes the terminal over again after another program used it.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        IS_TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let tty = &mut self.output;
        // Terminals that cannot distinguish all keys ignore this request.
        let flags = PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES);
        execute!(tty, EnterAlternateScreen, EnableBracketedPaste, flags, cursor::Hide)?;
        if self.has_mouse {
            execute!(tty, EnableMouseCapture)?;
        }
        self.clear()
    }

    fn clear(&mut self) -> io::Result<()> {
        let (width, height) = Self::size()?;
        self.displayed = Buffer::empty(Rect { x: 0, y: 0, width, height });
        execute!(self.output, Clear(ClearType::All))
    }

    /// Restores the terminal.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        if IS_TAKEN.swap(false, Ordering::SeqCst) { restore(&mut self.output) } else { Ok(()) }
    }

    pub(crate) fn size() -> io::Result<(u16, u16)> {
        // Some terminals report that they do not know their size.
        Ok(usable(terminal::size()?))
    }

    pub(crate) fn draw(&mut self, theme: Theme, render: impl FnOnce(&mut Canvas<'_>)) -> io::Result<()> {
        let (width, height) = Self::size()?;
        let area = Rect { x: 0, y: 0, width, height };
        let mut next = Buffer::empty(area);
        let mut canvas = Canvas::new(&mut next, theme);
        render(&mut canvas);
        let cursor = canvas.cursor;
        let _lock = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
        if !IS_TAKEN.load(Ordering::SeqCst) {
            return Ok(());
        }
        if self.displayed.area != area {
            self.clear()?;
            // The size may have changed again since.
            self.displayed = Buffer::empty(area);
        }
        // Terminals that support it show the update at once, others as it arrives.
        queue!(self.output, BeginSynchronizedUpdate, cursor::Hide)?;
        self.output.draw(self.displayed.diff(&next).into_iter())?;
        if let Some((x, y)) = cursor {
            queue!(self.output, cursor::MoveTo(x, y), cursor::Show)?;
        }
        queue!(self.output, EndSynchronizedUpdate)?;
        self.displayed = next;
        io::Write::flush(&mut self.output)
    }

    /// Shows a picture as large as possible, or why it cannot be shown, with a description.
    pub(crate) fn show_picture(&mut self, protocol: Protocol, picture: &Drawable, n_more: usize) -> io::Result<()> {
        let rows = usize::from(Self::size()?.1.saturating_sub(3)).max(1);
        self.clear_pictures(protocol)?;
        let drawn = protocol.drawn(&picture.mime_type, &picture.data, rows);
        let more = if n_more > 0 { format!("{n_more} more") } else { "last picture".to_owned() };
        let cannot = if drawn.is_some() { "" } else { "this terminal cannot draw it · " };
        let text = clean(&format!("{} · {cannot}{more} · press any key", picture.description));
        let text = first_columns(&text, self.displayed.area.width.into()).clone();
        execute!(self.output, cursor::MoveTo(0, 0), Print(text), cursor::MoveTo(0, 2))?;
        self.output.write_all(drawn.unwrap_or_default().as_bytes())?;
        io::Write::flush(&mut self.output)
    }

    /// Removes pictures, so that the next frame is drawn completely.
    pub(crate) fn clear_pictures(&mut self, protocol: Protocol) -> io::Result<()> {
        self.output.write_all(protocol.cleared().as_bytes())?;
        self.clear()
    }

    /// Copies text to the terminal's clipboard. The terminal does not report whether that worked.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        let end =
            (0..=text.len().min(MAX_COPIED_BYTES)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let text = text.get(..end).unwrap_or_default();
        execute!(self.output, CopyToClipboard::to_clipboard_from(text))
    }

    pub(crate) fn has_panicked() -> bool {
        HAS_PANICKED.load(Ordering::SeqCst)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Errors cannot be reported any more.
        self.leave().ok();
    }
}

fn restore(tty: &mut impl Write) -> io::Result<()> {
    queue!(tty, DisableMouseCapture, PopKeyboardEnhancementFlags, DisableBracketedPaste)?;
    queue!(tty, LeaveAlternateScreen, cursor::Show)?;
    tty.flush()?;
    disable_raw_mode()
}

/// Restores the terminal on a panic before the message is printed, so that the message is readable and stays visible.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            HAS_PANICKED.store(true, Ordering::SeqCst);
            let _lock = lock_output();
            if IS_TAKEN.swap(false, Ordering::SeqCst)
                && let Ok(mut tty) = Tty::open()
            {
                restore(&mut tty).ok();
            }
            default_hook(panic);
        }));
    });
}

/// Waits for other threads to finish writing to the terminal. The wait is bounded, since the writer may be the thread
/// that panicked.
fn lock_output() -> Option<MutexGuard<'static, ()>> {
    for _ in 0..100 {
        match OUTPUT.try_lock() {
            Ok(turn) => return Some(turn),
            Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    None
}

/// Where frames go: standard output, or the terminal device if standard output is not a terminal.
enum Tty {
    Stdout(io::Stdout),
    File(File),
}

impl Tty {
    fn open() -> io::Result<Self> {
        let stdout = io::stdout();
        if stdout.is_terminal() {
            return Ok(Self::Stdout(stdout));
        }
        OpenOptions::new().read(true).write(true).open("/dev/tty").map(Self::File)
    }
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}
