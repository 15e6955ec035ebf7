//! Progress bars.
//!
//! A bar is shown only on a terminal, and only after a delay. It is removed at the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sessile::threads;

use crate::screen::{ACCENT, DIM, Line, Screen};

/// The delay before the bar appears, and its update interval.
const SHOW_DELAY: Duration = Duration::from_millis(500);
const UPDATE_INTERVAL: Duration = Duration::from_millis(50);
/// The width of the bar in columns.
const COLUMNS: u64 = 30;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Sessions,
    Bytes,
}

/// A bar that the working thread updates.
#[derive(Debug)]
pub(crate) struct Bar {
    unit: Unit,
    /// When to show it next.
    due: Instant,
    is_shown: bool,
}

impl Bar {
    pub(crate) fn new(unit: Unit) -> Self {
        Self { unit, due: Instant::now() + SHOW_DELAY, is_shown: false }
    }

    /// Shows the progress, if an update is due.
    pub(crate) fn show(&mut self, n_done: u64, n_all: u64, err: &mut Screen<'_>) {
        if !err.is_terminal() || Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + UPDATE_INTERVAL;
        // A bar that cannot be shown is not an error.
        self.is_shown |= err.flash(bar_line(self.unit, n_done, n_all)).is_ok();
    }

    /// Removes the bar, so that something else can be printed.
    pub(crate) fn clear(&mut self, err: &mut Screen<'_>) {
        if std::mem::take(&mut self.is_shown) {
            drop(err.flash(Line::new()));
        }
    }
}

fn bar_line(unit: Unit, n_done: u64, n_all: u64) -> Line {
    let n_full = n_done.min(n_all) * COLUMNS / n_all.max(1);
    let part = |length: u64| "━".repeat(usize::try_from(length).unwrap_or_default());
    let text = match unit {
        Unit::Sessions => format!(" reading {n_done} of {n_all}"),
        Unit::Bytes => format!(" reading {} of {} MB", n_done >> 20, n_all >> 20),
    };
    Line::new().styled(ACCENT, &part(n_full)).styled(DIM, &part(COLUMNS - n_full)).styled(DIM, &text)
}

/// The progress of work on many threads.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    n_done: AtomicU64,
    n_all: AtomicU64,
}

impl Meter {
    /// Records the progress.
    pub(crate) fn update(&self, n_done: u64, n_all: u64) {
        self.n_done.store(n_done, Ordering::Relaxed);
        self.n_all.store(n_all, Ordering::Relaxed);
    }

    /// Runs `work`, and shows its progress on a terminal.
    pub(crate) fn watch<T: Send>(&self, unit: Unit, err: &mut Screen<'_>, work: impl FnOnce() -> T + Send) -> T {
        if !err.is_terminal() {
            return work();
        }
        let (done, is_done) = mpsc::channel();
        let mut bar = Bar::new(unit);
        let work = Mutex::new(Some(work));
        // If the thread cannot start, its closure is dropped, so the closure only borrows the work.
        let run = || {
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            work.map(|work| work())
        };
        let result = std::thread::scope(|scope| {
            if threads::spawn_in(scope, || done.send(run())).is_err() {
                // The work is done without a bar.
                return run();
            }
            loop {
                match is_done.recv_timeout(UPDATE_INTERVAL) {
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        bar.show(self.n_done.load(Ordering::Relaxed), self.n_all.load(Ordering::Relaxed), err);
                    }
                    other => return other.ok().flatten(),
                }
            }
        });
        bar.clear(err);
        // There is no result only if the thread has panicked, which the scope has already reported.
        result.unwrap_or_else(|| std::panic::resume_unwind(Box::new("the work has panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Color;
    use crate::stream::Stream;

    fn displayed(terminal_width: Option<usize>, is_due: bool) -> String {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(
            Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false },
            Color::Never,
        );
        let mut bar = Bar::new(Unit::Sessions);
        if is_due {
            bar.due = Instant::now();
        }
        bar.show(5, 10, &mut screen);
        bar.clear(&mut screen);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_bar_appears_on_terminals_after_a_delay() {
        assert_eq!(displayed(None, true), "");
        assert_eq!(displayed(Some(80), false), "");
        let output = displayed(Some(80), true);
        assert!(output.contains(" reading 5 of 10") && output.ends_with("\r\u{1b}[K"), "{output:?}");
    }

    #[test]
    fn the_result_is_the_same_with_and_without_a_terminal() {
        for terminal_width in [None, Some(80)] {
            let mut bytes = Vec::new();
            let mut screen = Screen::new(
                Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false },
                Color::Never,
            );
            let meter = Meter::default();
            meter.update(u64::MAX / 64, 0);
            assert_eq!(meter.watch(Unit::Bytes, &mut screen, || 7), 7);
        }
        drop(bar_line(Unit::Bytes, 3, 2));
    }
}
