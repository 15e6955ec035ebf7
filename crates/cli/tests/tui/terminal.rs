//! A terminal without a screen: a pseudo-terminal and a parser for its output.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pty_process::blocking::{Command, Pty, open};

/// A program in a terminal.
pub(crate) struct Terminal {
    pty: Option<Arc<Pty>>,
    pub(crate) child: Child,
    output: Arc<Mutex<Output>>,
}

/// The program's output, as raw bytes and as it appears on the screen.
struct Output {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    is_over: bool,
    is_hung_up: bool,
}

/// Number of polls before giving up. Polls are counted, not seconds, because a machine may be slow or paused.
const MAX_POLLS: u32 = 60_000;

/// Opens a pseudo-terminal whose size is set before a program can ask for it.
fn open_sized(columns: u16, rows: u16) -> (Pty, pty_process::blocking::Pts) {
    let (pty, pts) = open().unwrap();
    pty.resize(pty_process::Size::new(rows, columns)).unwrap();
    (pty, pts)
}

impl Terminal {
    pub(crate) fn run(command: Command, columns: u16, rows: u16) -> Self {
        Self::run_claiming(command, (columns, rows), (columns, rows))
    }

    /// Runs a program in a terminal that claims a size it does not have.
    pub(crate) fn run_claiming(command: Command, size: (u16, u16), claimed: (u16, u16)) -> Self {
        let (pty, pts) = open_sized(claimed.0, claimed.1);
        let child = command.env("TERM", "xterm-256color").spawn(pts).unwrap();
        Self::start(pty, child, size.0, size.1)
    }

    /// Runs a program that gets no signal when the terminal hangs up, since it is not its controlling terminal.
    pub(crate) fn run_as_guest(mut command: std::process::Command, columns: u16, rows: u16) -> Self {
        let (pty, pts) = open_sized(columns, rows);
        let end = pts.as_fd().try_clone_to_owned().unwrap();
        drop(pts);
        command.env("TERM", "xterm-256color").stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap());
        let child = command.stderr(end).spawn().unwrap();
        Self::start(pty, child, columns, rows)
    }

    fn start(pty: Pty, child: Child, columns: u16, rows: u16) -> Self {
        let size = |number: u16| NonZeroU16::new(number).unwrap();
        let parser = vt100::Parser::new(size(rows), size(columns), 0);
        let output = Arc::new(Mutex::new(Output { parser, bytes: Vec::new(), is_over: false, is_hung_up: false }));
        let pty = Arc::new(pty);
        let (reader, shared) = (Arc::clone(&pty), Arc::clone(&output));
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65536];
            loop {
                let read = (&*reader).read(&mut buffer).unwrap_or(0);
                let mut shared = shared.lock().unwrap();
                if read == 0 || shared.is_hung_up {
                    shared.is_over = true;
                    return;
                }
                shared.parser.process(&buffer[..read]);
                shared.bytes.extend_from_slice(&buffer[..read]);
            }
        });
        Self { pty: Some(pty), child, output }
    }

    fn pty(&self) -> &Pty {
        self.pty.as_ref().unwrap()
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = |number: u16| NonZeroU16::new(number).unwrap();
        self.output.lock().unwrap().parser.screen_mut().set_size(size(rows), size(columns));
        self.pty().resize(pty_process::Size::new(rows, columns)).unwrap();
    }

    /// Closes the terminal, as closing a window does.
    pub(crate) fn hang_up(&mut self) {
        // The reading thread drops it on its next read.
        self.output.lock().unwrap().is_hung_up = true;
        self.pty = None;
    }

    /// Presses a key by name; a word that is not a key name is typed, with `_` for spaces.
    pub(crate) fn press(&self, key: &str) {
        let bytes = sequence(key).unwrap_or_else(|| key.replace('_', " ").into_bytes());
        (&mut self.pty()).write_all(&bytes).unwrap();
    }

    pub(crate) fn screen<T>(&self, read: impl FnOnce(&vt100::Screen) -> T) -> T {
        read(self.output.lock().unwrap().parser.screen())
    }

    pub(crate) fn text(&self) -> String {
        self.screen(vt100::Screen::contents)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.output.lock().unwrap().bytes.clone()
    }

    /// Returns the row with the list cursor.
    pub(crate) fn selected_row(&self) -> String {
        self.text().lines().find(|line| line.starts_with('›') || line.starts_with(" ›")).unwrap_or_default().to_owned()
    }

    /// Waits until something is visible.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let mut n_polls = 0;
        while !condition(self) {
            n_polls += 1;
            assert!(n_polls < MAX_POLLS, "{what} did not appear:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the program exits.
    pub(crate) fn wait_for_end(&mut self) -> std::process::ExitStatus {
        let ended = self.child.wait().unwrap();
        // The last output may still be in transit.
        self.wait("the end of the output", |it| it.output.lock().unwrap().is_over);
        ended
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the bytes that a terminal sends for a key.
pub(crate) fn sequence(name: &str) -> Option<Vec<u8>> {
    let (modifiers, key) = name.rsplit_once('+').map_or(("", name), |(modifiers, key)| (modifiers, key));
    let has = |modifier: &str| modifiers.split('+').any(|it| it == modifier);
    let (shift, alt, ctrl) = (has("shift"), has("alt"), has("ctrl"));
    let number = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl);
    let letter = |letter: char| {
        Some(if number == 1 { format!("\x1b[{letter}") } else { format!("\x1b[1;{number}{letter}") }.into_bytes())
    };
    let tilde = |code: u8| {
        Some(if number == 1 { format!("\x1b[{code}~") } else { format!("\x1b[{code};{number}~") }.into_bytes())
    };
    match key {
        "up" => letter('A'),
        "down" => letter('B'),
        "right" => letter('C'),
        "left" => letter('D'),
        "home" => letter('H'),
        "end" => letter('F'),
        "delete" => tilde(3),
        "pageUp" => tilde(5),
        "pageDown" => tilde(6),
        "enter" => Some(b"\r".to_vec()),
        "escape" => Some(b"\x1b".to_vec()),
        "tab" => Some(b"\t".to_vec()),
        "space" => Some(b" ".to_vec()),
        "f1" => Some(b"\x1bOP".to_vec()),
        "backspace" if ctrl => Some(b"\x08".to_vec()),
        "backspace" if alt => Some(b"\x1b\x7f".to_vec()),
        "backspace" => Some(b"\x7f".to_vec()),
        _ if key.chars().count() == 1 => {
            let char = key.chars().next()?;
            let typed = if shift { char.to_ascii_uppercase() } else { char };
            match (ctrl, alt, shift) {
                // Only newer terminals distinguish this key from the one without shift.
                (true, false, true) => Some(format!("\x1b[{};6u", u32::from(char)).into_bytes()),
                (true, false, false) => Some(vec![u8::try_from(char).ok()? & 0x1f]),
                (false, true, _) => Some(format!("\x1b{typed}").into_bytes()),
                (false, false, _) => Some(typed.to_string().into_bytes()),
                _ => None,
            }
        }
        _ => None,
    }
}
