//! Waits for changes to one file.

use std::path::Path;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;
use sessile_store::{Watch, Woken};

use super::POLL_INTERVAL;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::sessions::Sessions;

/// A watched file, created by [`Sessions::watch_file`].
pub struct FileWatcher {
    watch: Watch,
    cancel: Cancel,
}

impl Sessions {
    /// Watches one file, which need not exist. `cancel` ends a wait within a tenth of a second.
    pub fn watch_file(&self, path: impl AsRef<Path>, cancel: Cancel) -> FileWatcher {
        FileWatcher { watch: Watch::new(&absolute(self.environment(), path.as_ref())), cancel }
    }
}

impl FileWatcher {
    /// Waits until it is time to look at the file; returns false if the time is up first.
    ///
    /// A wait also ends now and then without a change, because a system may lose reports of changes. Changes since the
    /// end of the last wait end the next one at once.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, SessionError> {
        // An overflow means no deadline.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let rest = deadline.map_or(POLL_INTERVAL, |deadline| deadline.saturating_duration_since(Instant::now()));
            if self.watch.wait(rest.min(POLL_INTERVAL)) == Woken::Changed {
                return Ok(true);
            }
            if rest.is_zero() {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::IsolatedSystem;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is another program")]
    fn a_change_ends_the_wait_and_a_cancellation_fails_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let cancel = Cancel::default();
        let mut watcher = Sessions::new(IsolatedSystem::in_home(dir.path())).watch_file(&path, cancel.clone());
        std::fs::write(&path, "x").unwrap();
        assert!(watcher.wait(Duration::from_mins(1)).unwrap());
        cancel.cancel();
        assert!(matches!(watcher.wait(Duration::from_mins(1)), Err(SessionError::Cancelled)));
    }
}
