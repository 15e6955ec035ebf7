//! The threads that listen to the terminal and to signals.
//!
//! A read from a closed terminal returns at once with nothing, for ever. So the thread reads only after `poll` reports
//! data, and waiting costs nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event as TermEvent};

/// Input from the terminal, or a signal.
#[derive(Debug)]
pub(crate) enum Heard {
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
trait Tell: Fn(Heard) -> bool + Send + 'static {}

impl<F: Fn(Heard) -> bool + Send + 'static> Tell for F {}

/// The thread that reads the terminal.
pub(crate) struct Keyboard {
    wish: Arc<AtomicU8>,
    is_resting: Arc<AtomicBool>,
    bell: wait::Bell,
    thread: Option<thread::JoinHandle<()>>,
}

const LISTEN: u8 = 0;
const REST: u8 = 1;
const STOP: u8 = 2;

/// How long to wait for the rest of an event that has begun to arrive.
const PATIENCE: Duration = Duration::from_millis(20);

impl Keyboard {
    #[expect(private_bounds, reason = "a name for what is written out otherwise")]
    pub(crate) fn listen(tell: impl Tell) -> io::Result<Self> {
        let (wish, is_resting) = (Arc::new(AtomicU8::new(LISTEN)), Arc::new(AtomicBool::new(false)));
        let (wished, resting) = (Arc::clone(&wish), Arc::clone(&is_resting));
        let (bell, mut ear) = wait::bell()?;
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
                let heard = match ear.wait() {
                    wait::Waited::Rung => continue,
                    wait::Waited::Gone => Heard::Gone,
                    wait::Waited::Readable => match event::poll(PATIENCE) {
                        Ok(false) => continue,
                        Ok(true) => event::read().map_or(Heard::Gone, Heard::Terminal),
                        Err(_) => Heard::Gone,
                    },
                };
                let is_gone = matches!(heard, Heard::Gone);
                if !tell(heard) || is_gone {
                    return;
                }
                // One read may have buffered several events, which waiting for the terminal would not report.
                while wished.load(Ordering::SeqCst) == LISTEN && event::poll(PATIENCE).unwrap_or_default() {
                    if !event::read().is_ok_and(|event| tell(Heard::Terminal(event))) {
                        return;
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("sessile-keys".to_owned()).spawn(listen)?;
        Ok(Self { wish, is_resting, bell, thread: Some(thread) })
    }

    /// Leaves the terminal to another program; returns once the thread has stopped reading.
    pub(crate) fn pause(&mut self) {
        self.wish(REST);
        while !self.is_resting.load(Ordering::SeqCst) && self.thread.as_ref().is_some_and(|it| !it.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn go_on(&mut self) {
        self.wish(LISTEN);
    }

    /// Stops listening; returns once the thread has ended.
    pub(crate) fn stop(&mut self) {
        self.wish(STOP);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }

    fn wish(&mut self, wish: u8) {
        self.wish.store(wish, Ordering::SeqCst);
        self.bell.ring();
    }
}

/// Returns whether the terminal is gone.
pub(crate) fn is_gone() -> bool {
    wait::is_gone()
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
        /// The bell was rung: the wish has changed.
        Rung,
        Gone,
    }

    /// Wakes the thread that waits for the terminal.
    pub(super) struct Bell(PipeWriter);

    impl Bell {
        pub(super) fn ring(&mut self) {
            // A thread that has ended need not be woken.
            self.0.write_all(b"!").ok();
        }
    }

    pub(super) struct Ear {
        bell: PipeReader,
        tty: Tty,
    }

    pub(super) fn bell() -> io::Result<(Bell, Ear)> {
        let (reader, writer) = io::pipe()?;
        Ok((Bell(writer), Ear { bell: reader, tty: Tty::open()? }))
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

    /// Upper bound on one wait. Keys that were read but missed while this thread waited for its turn are found then.
    const LOOK_ANYWAY: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

    impl Ear {
        pub(super) fn wait(&mut self) -> Waited {
            let mut fds = [PollFd::new(&self.tty, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
            match poll(&mut fds, Some(&LOOK_ANYWAY)) {
                Err(rustix::io::Errno::INTR) => return Waited::Rung,
                Err(_) => return Waited::Gone,
                Ok(_) => {}
            }
            let [tty, bell] = fds.map(|fd| fd.revents());
            if tty.intersects(LOST) {
                return Waited::Gone;
            }
            if bell.is_empty() {
                return Waited::Readable;
            }
            match self.bell.read(&mut [0; 16]) {
                Ok(1..) => Waited::Rung,
                // The ringing side is gone, and with it every receiver.
                Ok(0) | Err(_) => Waited::Gone,
            }
        }
    }

    pub(super) fn is_gone() -> bool {
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
        #[expect(dead_code, reason = "only where there is something to wait with")]
        Rung,
        #[expect(dead_code, reason = "only where there is something to wait with")]
        Gone,
    }

    pub(super) struct Bell;

    impl Bell {
        pub(super) fn ring(&mut self) {}
    }

    pub(super) struct Ear;

    pub(super) fn bell() -> io::Result<(Bell, Ear)> {
        Ok((Bell, Ear))
    }

    impl Ear {
        pub(super) fn wait(&mut self) -> Waited {
            Waited::Readable
        }
    }

    pub(super) fn is_gone() -> bool {
        false
    }
}

/// The thread that receives signals.
pub(crate) struct Signals(#[cfg(unix)] signal_hook::iterator::Handle);

impl Signals {
    #[cfg(unix)]
    #[expect(private_bounds, reason = "a name for what is written out otherwise")]
    pub(crate) fn listen(tell: impl Tell) -> io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
        let signals = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH];
        let mut signals = signal_hook::iterator::Signals::new(signals)?;
        let handle = signals.handle();
        thread::Builder::new().name("sessile-signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                let heard = match signal {
                    SIGWINCH => Heard::Resized,
                    SIGTSTP => Heard::Stop,
                    SIGCONT => Heard::Continued,
                    other => Heard::End(other),
                };
                if !tell(heard) {
                    return;
                }
            }
        })?;
        Ok(Self(handle))
    }

    #[cfg(not(unix))]
    #[expect(private_bounds, reason = "a name for what is written out otherwise")]
    pub(crate) fn listen(_tell: impl Tell) -> io::Result<Self> {
        Ok(Self())
    }

    pub(crate) fn stop(&self) {
        #[cfg(unix)]
        self.0.close();
    }
}
