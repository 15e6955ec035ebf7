//! The threads that read the terminal and receive signals.
//!
//! A read from a closed terminal returns at once with nothing, forever. So the thread reads only after `poll` reports
//! data, and waiting costs nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event as TermEvent};

/// Input from the terminal, or a signal.
#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "signals are events only on Unix"))]
pub(crate) enum InputEvent {
    Terminal(TermEvent),
    /// The terminal may have changed its size.
    Resized,
    /// A request to suspend the process.
    Stop,
    /// The process was suspended and continues.
    Continued,
    /// A signal that ends the process.
    End(i32),
    /// The terminal can no longer be read.
    Gone,
}

/// A callback for input; returns whether the receiver still exists.
trait InputHandler: Fn(InputEvent) -> bool + Send + 'static {}

impl<F: Fn(InputEvent) -> bool + Send + 'static> InputHandler for F {}

/// The thread that reads the terminal.
pub(crate) struct Keyboard {
    request: Arc<AtomicU8>,
    is_paused: Arc<AtomicBool>,
    waker: wait::Waker,
    thread: Option<thread::JoinHandle<()>>,
}

const LISTEN: u8 = 0;
const PAUSE: u8 = 1;
const STOP: u8 = 2;

/// How long to wait for the rest of an event that has started to arrive.
const READ_TIMEOUT: Duration = Duration::from_millis(20);

impl Keyboard {
    #[expect(private_bounds, reason = "an alias for a long bound")]
    pub(crate) fn listen(on_input: impl InputHandler) -> io::Result<Self> {
        let (request, is_paused) = (Arc::new(AtomicU8::new(LISTEN)), Arc::new(AtomicBool::new(false)));
        let (requested, paused) = (Arc::clone(&request), Arc::clone(&is_paused));
        let (waker, mut waiter) = wait::pair()?;
        let listen = move || {
            loop {
                match requested.load(Ordering::SeqCst) {
                    STOP => return,
                    PAUSE => {
                        paused.store(true, Ordering::SeqCst);
                        thread::sleep(READ_TIMEOUT);
                        continue;
                    }
                    _ => paused.store(false, Ordering::SeqCst),
                }
                let event = match waiter.wait() {
                    wait::Waited::Woken => continue,
                    wait::Waited::Gone => InputEvent::Gone,
                    wait::Waited::Readable => match event::poll(READ_TIMEOUT) {
                        Ok(false) => continue,
                        Ok(true) => event::read().map_or(InputEvent::Gone, InputEvent::Terminal),
                        Err(_) => InputEvent::Gone,
                    },
                };
                let is_gone = matches!(event, InputEvent::Gone);
                if !on_input(event) || is_gone {
                    return;
                }
                // One read may have buffered several events, which waiting for the terminal would not report.
                while requested.load(Ordering::SeqCst) == LISTEN && event::poll(READ_TIMEOUT).unwrap_or_default() {
                    if !event::read().is_ok_and(|event| on_input(InputEvent::Terminal(event))) {
                        return;
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("sessile-keys".to_owned()).spawn(listen)?;
        Ok(Self { request, is_paused, waker, thread: Some(thread) })
    }

    /// Leaves the terminal to another program; returns once the thread has stopped reading.
    pub(crate) fn pause(&mut self) {
        self.request(PAUSE);
        while !self.is_paused.load(Ordering::SeqCst) && self.thread.as_ref().is_some_and(|it| !it.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn resume(&mut self) {
        self.request(LISTEN);
    }

    /// Stops listening; returns once the thread has ended.
    pub(crate) fn stop(&mut self) {
        self.request(STOP);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }

    fn request(&mut self, request: u8) {
        self.request.store(request, Ordering::SeqCst);
        self.waker.wake();
    }
}

/// Returns whether the terminal is gone.
pub(crate) fn is_terminal_gone() -> bool {
    wait::is_terminal_gone()
}

#[cfg(unix)]
mod wait {
    use std::fs::File;
    use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
    use std::os::fd::{AsFd, BorrowedFd};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// The result of waiting for the terminal.
    pub(super) enum Waited {
        Readable,
        /// The waker was used: the request has changed.
        Woken,
        Gone,
    }

    /// Wakes the thread that waits for the terminal.
    pub(super) struct Waker(PipeWriter);

    impl Waker {
        pub(super) fn wake(&mut self) {
            // A thread that has ended need not be woken.
            self.0.write_all(b"!").ok();
        }
    }

    pub(super) struct Waiter {
        waker: PipeReader,
        tty: Tty,
    }

    pub(super) fn pair() -> io::Result<(Waker, Waiter)> {
        let (reader, writer) = io::pipe()?;
        Ok((Waker(writer), Waiter { waker: reader, tty: Tty::open()? }))
    }

    /// The source of keys: standard input, or the terminal device if standard input is not a terminal.
    enum Tty {
        Stdin(io::Stdin),
        File(File),
    }

    impl Tty {
        fn open() -> io::Result<Self> {
            let stdin = io::stdin();
            if stdin.is_terminal() { Ok(Self::Stdin(stdin)) } else { File::open("/dev/tty").map(Self::File) }
        }
    }

    impl AsFd for Tty {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self {
                Self::Stdin(stdin) => stdin.as_fd(),
                Self::File(file) => file.as_fd(),
            }
        }
    }

    const LOST: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

    /// Upper bound on one wait. After it, the thread looks for keys that were buffered without a notification.
    const MAX_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

    impl Waiter {
        pub(super) fn wait(&mut self) -> Waited {
            let mut fds = [PollFd::new(&self.tty, PollFlags::IN), PollFd::new(&self.waker, PollFlags::IN)];
            match poll(&mut fds, Some(&MAX_WAIT)) {
                Err(rustix::io::Errno::INTR) => return Waited::Woken,
                Err(_) => return Waited::Gone,
                Ok(_) => {}
            }
            let [tty, waker] = fds.map(|fd| fd.revents());
            if tty.intersects(LOST) {
                return Waited::Gone;
            }
            if waker.is_empty() {
                return Waited::Readable;
            }
            match self.waker.read(&mut [0; 16]) {
                Ok(1..) => Waited::Woken,
                // The waker was dropped, so there is no receiver any more.
                Ok(0) | Err(_) => Waited::Gone,
            }
        }
    }

    pub(super) fn is_terminal_gone() -> bool {
        let Ok(tty) = Tty::open() else { return true };
        let mut fds = [PollFd::new(&tty, PollFlags::IN)];
        let is_polled = poll(&mut fds, Some(&Timespec::default())).is_ok();
        is_polled && fds[0].revents().intersects(LOST)
    }
}

#[cfg(not(unix))]
mod wait {
    use std::io;

    pub(super) enum Waited {
        Readable,
        #[expect(dead_code, reason = "only Unix has it")]
        Woken,
        #[expect(dead_code, reason = "only Unix has it")]
        Gone,
    }

    pub(super) struct Waker;

    impl Waker {
        pub(super) fn wake(&mut self) {}
    }

    pub(super) struct Waiter;

    pub(super) fn pair() -> io::Result<(Waker, Waiter)> {
        Ok((Waker, Waiter))
    }

    impl Waiter {
        pub(super) fn wait(&mut self) -> Waited {
            Waited::Readable
        }
    }

    pub(super) fn is_terminal_gone() -> bool {
        false
    }
}

/// The thread that receives signals.
pub(crate) struct Signals(#[cfg(unix)] signal_hook::iterator::Handle);

impl Signals {
    #[cfg(unix)]
    #[expect(private_bounds, reason = "an alias for a long bound")]
    pub(crate) fn listen(on_input: impl InputHandler) -> io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
        let signals = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH];
        let mut signals = signal_hook::iterator::Signals::new(signals)?;
        let handle = signals.handle();
        thread::Builder::new().name("sessile-signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                let event = match signal {
                    SIGWINCH => InputEvent::Resized,
                    SIGTSTP => InputEvent::Stop,
                    SIGCONT => InputEvent::Continued,
                    other => InputEvent::End(other),
                };
                if !on_input(event) {
                    return;
                }
            }
        })?;
        Ok(Self(handle))
    }

    #[cfg(not(unix))]
    #[expect(private_bounds, reason = "an alias for a long bound")]
    pub(crate) fn listen(_on_input: impl InputHandler) -> io::Result<Self> {
        Ok(Self())
    }

    pub(crate) fn stop(&self) {
        #[cfg(unix)]
        self.0.close();
    }
}
