//! The terminal: taken over, and given back whatever happens.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute, queue};
use ratatui_core::layout::Position;
use ratatui_core::terminal::Terminal as Frames;
use ratatui_crossterm::CrosstermBackend;

use crate::paint::Canvas;
use crate::theme::Theme;

/// Whether the terminal is ours at the moment.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether some thread has panicked since.
static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

/// How much is handed to the clipboard at most; many terminals take no more.
const MOST_COPIED: usize = 100_000;

/// The terminal while it is ours.
pub(crate) struct Terminal {
    frames: Frames<CrosstermBackend<Tty>>,
    has_mouse: bool,
}

impl Terminal {
    /// Takes the terminal over.
    pub(crate) fn take(has_mouse: bool) -> io::Result<Self> {
        give_back_on_panic();
        let tty = Tty::open()?;
        let terminal = Frames::new(CrosstermBackend::new(tty))?;
        let mut terminal = Self { frames: terminal, has_mouse };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Takes the terminal over again, after somebody else had it.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        IS_TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let tty = self.frames.backend_mut();
        // Terminals that do not know how to tell all keys apart pass over the wish that they should.
        let flags = PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES);
        execute!(tty, EnterAlternateScreen, EnableBracketedPaste, flags, cursor::Hide)?;
        if self.has_mouse {
            execute!(tty, EnableMouseCapture)?;
        }
        self.frames.clear()
    }

    /// Gives the terminal back, as it was.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        if IS_TAKEN.swap(false, Ordering::SeqCst) { restore(self.frames.backend_mut()) } else { Ok(()) }
    }

    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.frames.size()?;
        Ok((size.width, size.height))
    }

    pub(crate) fn draw(&mut self, theme: Theme, render: impl FnOnce(&mut Canvas<'_>)) -> io::Result<()> {
        self.frames.draw(|frame| {
            let mut canvas = Canvas::new(frame.buffer_mut(), theme);
            render(&mut canvas);
            if let Some((x, y)) = canvas.cursor {
                frame.set_cursor_position(Position { x, y });
            }
        })?;
        Ok(())
    }

    /// Hands text to the clipboard of the terminal. Whether it took it cannot be known.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        let end = (0..=text.len().min(MOST_COPIED)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let text = text.get(..end).unwrap_or_default();
        execute!(self.frames.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    pub(crate) fn has_panicked() -> bool {
        HAS_PANICKED.load(Ordering::SeqCst)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // There is nobody left to be told.
        self.leave().ok();
    }
}

fn restore(tty: &mut impl Write) -> io::Result<()> {
    queue!(tty, DisableMouseCapture, PopKeyboardEnhancementFlags, DisableBracketedPaste)?;
    queue!(tty, LeaveAlternateScreen, cursor::Show)?;
    tty.flush()?;
    disable_raw_mode()
}

/// Has a panic give the terminal back before it is told, so that it can be read, and seen after it.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            HAS_PANICKED.store(true, Ordering::SeqCst);
            if IS_TAKEN.swap(false, Ordering::SeqCst)
                && let Ok(mut tty) = Tty::open()
            {
                restore(&mut tty).ok();
            }
            tell(panic);
        }));
    });
}

/// Where the picture goes: standard output, or past it if that is no terminal.
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
