//! The usage of all sessions, counted when a page asks for it, and kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile::stats::{Ledger, LedgerOptions};
use sessile::{Cancel, threads};
use tokio::sync::watch;

use super::app::App;

/// How long a page waits for figures. After that, it shows older ones, or how far the count is.
const WAIT: Duration = Duration::from_millis(1500);

/// The usage of all sessions. Only one thread counts at a time.
pub(crate) struct Counts {
    state: Mutex<State>,
    /// Changes when a count ends.
    ends: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    ledger: Arc<Ledger>,
    /// The generation of the list that was counted.
    generation: Option<u64>,
    is_counting: bool,
    /// The sessions counted so far, and their total.
    progress: (u64, u64),
}

/// The figures for a page.
pub(crate) enum Counted {
    /// Everything was counted. `is_old` says that sessions have changed since.
    Done { ledger: Arc<Ledger>, is_old: bool },
    /// The first count goes on: the sessions counted so far, and their total.
    Counting(u64, u64),
}

impl Counts {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), ends: watch::Sender::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The figures as of now, if counting them does not take long.
    pub(crate) async fn get(app: &Arc<App>) -> Counted {
        let wanted = *app.list.changes().borrow();
        let mut ends = app.counts.ends.subscribe();
        let settle = async {
            while !app.counts.has(wanted) {
                Self::start(app);
                if ends.changed().await.is_err() {
                    return;
                }
            }
        };
        let is_old = tokio::time::timeout(WAIT, settle).await.is_err();
        let state = app.counts.state();
        match state.generation {
            Some(_) => Counted::Done { ledger: Arc::clone(&state.ledger), is_old },
            None => Counted::Counting(state.progress.0, state.progress.1),
        }
    }

    fn has(&self, wanted: u64) -> bool {
        self.state().generation.is_some_and(|generation| generation >= wanted)
    }

    /// Starts a count, unless one goes on.
    fn start(app: &Arc<App>) {
        let counting = Arc::clone(app);
        if std::mem::replace(&mut app.counts.state().is_counting, true) {
            return;
        }
        if threads::spawn("count", move || counting.counts.count(&counting)).is_err() {
            app.counts.state().is_counting = false;
        }
    }

    fn count(&self, app: &App) {
        let _end = EndOfCount(self);
        // Waits until there is a list.
        drop(app.list.snapshot());
        // The list may change after this, but then it has a later generation.
        let generation = *app.list.changes().borrow();
        let list = app.list.snapshot();
        let before = Arc::clone(&self.state().ledger);
        let cancel = Cancel::default();
        let on_progress = |n_done: u64, n_all: u64| {
            self.state().progress = (n_done, n_all);
            if *app.stop.borrow() {
                cancel.cancel();
            }
        };
        let options = LedgerOptions { cancel: cancel.clone(), is_late: None, on_progress: Some(&on_progress) };
        let infos = list.rows.iter().map(|row| row.to_info()).collect();
        if let Ok(ledger) = app.sessions.ledger(infos, &before, &options) {
            let mut state = self.state();
            state.ledger = Arc::new(ledger);
            state.generation = Some(generation);
        }
    }
}

/// Ends a count, even one that panics.
struct EndOfCount<'c>(&'c Counts);

impl Drop for EndOfCount<'_> {
    fn drop(&mut self) {
        self.0.state().is_counting = false;
        self.0.ends.send_modify(|n_ends| *n_ends += 1);
    }
}
