//! Synchronizing again whenever something changes.

use std::time::{Duration, Instant};

use sessile_core::location::fingerprint;
use sessile_remote::{RemoteError, Server};

use super::{MirrorResult, MirrorScope};
use crate::error::SessionError;
use crate::sessions::Sessions;
use crate::sync::{SyncOptions, SyncResult, SyncScope, SyncSummary};
use crate::watch::{StoreWatcher, WatchOptions};

/// How long to wait after a session has changed, because agents write several lines in a row.
const SETTLING: Duration = Duration::from_secs(1);

/// The pauses after the first and after many failures in a row.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_mins(5)];

/// How to keep sessions synchronized.
pub struct SyncWatchOptions {
    /// Which sessions.
    pub scope: SyncScope,
    /// How.
    pub options: SyncOptions,
    /// How often to ask the server for changes by other machines. Each pause is up to a fifth longer or shorter, so that
    /// many machines do not ask at once.
    pub interval: Duration,
}

/// Connects to a server. Called again after a connection was lost.
pub type Connect<'c> = &'c mut dyn FnMut() -> Result<Box<dyn Server>, RemoteError>;

/// What happened while sessions are kept synchronized.
#[derive(Debug)]
pub enum SyncWatchEvent {
    /// A session was looked at.
    Session(SyncResult),
    /// A session of another member was brought up to date.
    Mirrored(MirrorResult),
    /// All sessions were looked at.
    Round(SyncRound),
    /// The server or a file failed. The next attempt follows after a pause.
    Failed {
        /// Why.
        error: SessionError,
        /// How long the pause is.
        pause: Duration,
    },
}

/// One look at all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRound {
    /// What was found.
    pub summary: SyncSummary,
    /// The number of sessions that were looked at because something had changed.
    pub n_changed: usize,
}

impl Sessions {
    /// Keeps sessions synchronized until `options.options.cancel` fires; then it fails with [`SessionError::Cancelled`].
    ///
    /// Changes on this machine are pushed about a second after they are written, those of other machines are pulled after
    /// at most the interval. Without the server, it waits and tries again, and nothing else is affected.
    pub fn keep_synced(
        &self,
        connect: Connect<'_>,
        options: &SyncWatchOptions,
        on_event: &mut dyn FnMut(SyncWatchEvent),
    ) -> Result<(), SessionError> {
        let cancel = options.options.cancel.clone();
        let mut watcher = self.watch_store(WatchOptions { cancel, ..WatchOptions::default() })?;
        let mut server = None;
        let mut n_failures = 0;
        loop {
            match self.round(&mut server, connect, options, on_event) {
                Ok(round) => {
                    n_failures = 0;
                    on_event(SyncWatchEvent::Round(round));
                    wait_for_change(&mut watcher, self.around(options.interval))?;
                }
                Err(SessionError::Cancelled) => return Err(SessionError::Cancelled),
                Err(error) => {
                    server = None;
                    let pause = self.around(pause_after(n_failures));
                    n_failures += 1;
                    on_event(SyncWatchEvent::Failed { error, pause });
                    wait(&mut watcher, pause)?;
                }
            }
        }
    }

    fn round(
        &self,
        server: &mut Option<Box<dyn Server>>,
        connect: Connect<'_>,
        options: &SyncWatchOptions,
        on_event: &mut dyn FnMut(SyncWatchEvent),
    ) -> Result<SyncRound, SessionError> {
        let server = match server {
            Some(server) => server,
            None => server.insert(connect()?),
        };
        let mut n_changed = 0;
        let summary = self.sync(server.as_mut(), &options.scope, &options.options, &mut |result| {
            n_changed += 1;
            on_event(SyncWatchEvent::Session(result));
        })?;
        let store = self.refresh_team(server.as_mut())?;
        self.mirror_team(server.as_mut(), &store, MirrorScope::Mirrored, &options.options, &mut |mirrored| {
            n_changed += 1;
            on_event(SyncWatchEvent::Mirrored(mirrored));
        })?;
        Ok(SyncRound { summary, n_changed })
    }

    /// A duration up to a fifth longer or shorter.
    fn around(&self, duration: Duration) -> Duration {
        let random = fingerprint(self.environment().entry_uuid().as_bytes()) % 400;
        duration.mul_f64(0.8 + f64::from(u32::try_from(random).unwrap_or_default()) / 1000.0)
    }
}

/// Waits until a session of this machine has changed, or until the time is up.
fn wait_for_change(watcher: &mut StoreWatcher, interval: Duration) -> Result<(), SessionError> {
    if watcher.next(interval)?.is_some() {
        wait(watcher, SETTLING)?;
    }
    Ok(())
}

/// The pause after a failure, which doubles with each failure in a row.
fn pause_after(n_failures: u32) -> Duration {
    let [first, longest] = PAUSES;
    first.saturating_mul(2_u32.saturating_pow(n_failures)).min(longest)
}

/// Waits, whatever changes.
fn wait(watcher: &mut StoreWatcher, pause: Duration) -> Result<(), SessionError> {
    let end = Instant::now() + pause;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        // The watcher waits without using the processor, and returns early if the work is cancelled.
        watcher.next(left)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let seconds: Vec<u64> = (0..10).map(|n_failures| pause_after(n_failures).as_secs()).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(pause_after(u32::MAX).as_secs(), 300);
    }
}
