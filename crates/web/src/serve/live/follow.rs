//! The threads that wait for changes of sessions, one for each session that a page follows.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sessile::{Cancel, threads};
use tokio::sync::watch;

use super::super::app::App;

/// How often a follower may stop waiting for changes.
const WAIT: Duration = Duration::from_hours(1);

/// The shortest and longest rest after a look at a session; in between, four times the duration of the look.
const REST: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(80)];

/// The sessions that clients follow.
#[derive(Default)]
pub(crate) struct Live(Mutex<HashMap<PathBuf, Followed>>);

struct Followed {
    n_clients: usize,
    changes: watch::Sender<u64>,
    /// Ends the thread.
    cancel: Cancel,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Followed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of sessions that clients follow.
    pub(crate) fn n_followed(&self) -> usize {
        self.lock().len()
    }

    /// Makes the clients of a session look at it.
    pub(crate) fn touch(&self, path: &Path) {
        if let Some(followed) = self.lock().get(path) {
            followed.changes.send_modify(|count| *count += 1);
        }
    }
}

/// A client's part in following a session.
pub(super) struct Following {
    app: Arc<App>,
    path: PathBuf,
    /// Counts the changes.
    pub(super) changes: watch::Receiver<u64>,
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut all = self.app.live.lock();
        let Some(followed) = all.get_mut(&self.path) else { return };
        followed.n_clients -= 1;
        if followed.n_clients == 0 {
            followed.cancel.cancel();
            all.remove(&self.path);
        }
    }
}

/// Follows a session; starts a thread for it unless there is one.
pub(super) fn follow(app: &Arc<App>, path: &Path) -> io::Result<Following> {
    let mut all = app.live.lock();
    let changes = if let Some(followed) = all.get_mut(path) {
        followed.n_clients += 1;
        followed.changes.subscribe()
    } else {
        let (changes, receiver) = watch::channel(0);
        let cancel = Cancel::default();
        let (following, sender, thread_path, thread_cancel) =
            (Arc::clone(app), changes.clone(), path.to_path_buf(), cancel.clone());
        threads::spawn("follow", move || wait_for_changes(&following, &thread_path, &sender, &thread_cancel))?;
        all.insert(path.to_path_buf(), Followed { n_clients: 1, changes, cancel });
        receiver
    };
    Ok(Following { app: Arc::clone(app), path: path.to_path_buf(), changes })
}

fn wait_for_changes(app: &App, path: &Path, changes: &watch::Sender<u64>, cancel: &Cancel) {
    let mut watcher = app.sessions.watch_file(path, cancel.clone());
    let mut seen = None;
    // The first look is for changes between the first event of a client and the start of the watch.
    loop {
        let begun = Instant::now();
        let state = app.open_sessions.with(&app.sessions, path, |opened| {
            Ok((opened.epoch, opened.session.outline().end(), opened.session.activity()?))
        });
        let state = Some(state.ok());
        if seen != state {
            seen = state;
            changes.send_modify(|count| *count += 1);
        }
        // A program that writes all the time must not keep a core busy.
        let [least, most] = REST;
        std::thread::sleep((begun.elapsed() * 4).clamp(least, most));
        if watcher.wait(WAIT).is_err() {
            return;
        }
    }
}
