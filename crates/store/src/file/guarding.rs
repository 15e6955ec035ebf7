//! Maintains the guard: adds lines, has them looked after, removes the file.

use std::path::Path;
use std::sync::Arc;

use sessile_core::cause::chain;

use super::{FileLog, TurnState};
use crate::error::StoreError;
use crate::guard::{CONFIRMED_AFTER_MS, Guard, Moment, WrittenAt, guard_path, peek};
use crate::lock::TurnLock;
use crate::log::{Log, Notice, Turn};
use crate::os::Mode;
use crate::recovery::{claim, put_back, settle, wait_until_quiet};
use crate::sentinel::Sentinel;

/// The state of the guard's upkeep.
#[derive(Debug, Default)]
pub(super) struct Guarding {
    /// Whether the known state of the guard is valid for this turn.
    pub(super) is_ready: bool,
    /// Lines that were written without the lock and are therefore not in the guard yet.
    pub(super) waiting: Vec<(WrittenAt, Vec<u8>)>,
    /// Whether the caller was notified that there can be no lock file and no guard.
    pub(super) has_reported: bool,
    /// When a thread was last asked to look after the guard, by the boot clock.
    pub(super) settled_ms: Option<i64>,
    /// When lines were last written, by the same clock.
    pub(super) written_ms: Option<i64>,
}

impl FileLog {
    /// Restores lines from a guard that an earlier process left, unless another process is at work.
    pub(super) fn restore_leftover_guard(&mut self) -> Result<bool, StoreError> {
        if !self.options.guard || self.turn.depth > 0 || self.os.stat(&guard_path(&self.path)).is_err() {
            return Ok(false);
        }
        let mut lock = TurnLock::new(Arc::clone(&self.os), &self.path);
        if !matches!(lock.try_take(None), Ok(true)) {
            return Ok(false);
        }
        self.turn = TurnState { lock: Some(lock), depth: 1, current: Some(Turn::Ours), is_kept: self.turn.is_kept };
        self.ready_guard();
        let settled = self.settle();
        self.end_turn();
        match settled {
            Ok(true) => self.recover().map(|()| true),
            settled => settled,
        }
    }

    /// Adds written lines to the guard. A failure only causes a notice, because the lines are written and count.
    ///
    /// `boot_ms` is the time by the boot clock.
    pub(super) fn remember(&mut self, boot_ms: i64, offset: u64, lines: &[u8]) {
        if !self.options.guard {
            return;
        }
        self.guarding.written_ms = Some(boot_ms);
        let moment = Moment::at(self.os.as_ref(), boot_ms);
        let written_at = WrittenAt { moment, known_for_ms: 0, offset, identity: self.identity };
        let remembered = match &mut self.guard {
            Some(guard) if self.turn.current == Some(Turn::Ours) => guard.remember(written_at, lines),
            // The lock holder may be writing to the guard, so these lines wait until we hold the lock.
            _ if self.turn.current == Some(Turn::Unlocked) => {
                self.guarding.waiting.push((written_at, lines.to_vec()));
                return;
            }
            _ => return,
        };
        if let Err(error) = remembered {
            self.notify(Notice::Unguarded { reason: chain(&error) });
        }
        if !is_recent(self.guarding.settled_ms, boot_ms) {
            self.guarding.settled_ms = Some(boot_ms);
            self.start_sentinel();
        }
    }

    /// Has a thread look after the guard, or does it here if there are no threads.
    pub(super) fn start_sentinel(&mut self) {
        if !self.os.has_threads() || self.turn.is_kept == Some(true) {
            // A thread could not get the lock that we keep. The next append checks the end of the file and notices
            // lines that have vanished.
            drop(self.settle());
            return;
        }
        if self.sentinel.as_ref().is_none_or(Sentinel::has_finished) {
            self.sentinel = Sentinel::start(&self.os, &self.path, &self.notices);
        }
    }

    /// Drops lines from the guard that are safe by now. True if lines have vanished.
    pub(super) fn settle(&mut self) -> Result<bool, StoreError> {
        match &mut self.guard {
            Some(guard) => settle(guard, self.file.as_ref(), self.identity),
            None => Ok(false),
        }
    }

    /// Opens the guard, or reads the records that other processes have added. Without a guard, writing continues.
    ///
    /// Returns whether the guard is a different file than before.
    pub(super) fn ready_guard(&mut self) -> bool {
        if !self.options.guard || self.guarding.is_ready || self.turn.current != Some(Turn::Ours) {
            return false;
        }
        self.guarding.is_ready = true;
        let was_held_only_here = self.turn.lock.as_ref().is_some_and(TurnLock::was_held_only_here);
        if was_held_only_here && self.guard.is_some() && self.guarding.waiting.is_empty() {
            // A process changes the guard only while it holds the lock.
            return false;
        }
        let opened = match self.guard.take() {
            Some(mut guard) => guard.catch_up(&self.path).map(|is_another| (guard, is_another)),
            None => Guard::open(&self.os, &self.path).map(|guard| (guard, true)),
        };
        let opened = opened.and_then(|(mut guard, is_another)| {
            if guard.owner().is_none() {
                claim(&mut guard, self.file.as_ref(), &self.path)?;
            }
            guard.flush()?;
            for (written_at, lines) in std::mem::take(&mut self.guarding.waiting) {
                guard.remember(written_at, &lines)?;
            }
            Ok((guard, is_another))
        });
        match opened {
            Ok((guard, is_another)) => {
                self.guard = Some(guard);
                if let Some(lock) = &mut self.turn.lock {
                    lock.caught_up();
                }
                is_another
            }
            Err(error) => {
                self.notify(Notice::Unguarded { reason: chain(&error) });
                true
            }
        }
    }

    /// Adds the first lines of a new file to the guard.
    pub(super) fn guard_created(&mut self, bytes: &[u8]) {
        if self.options.guard && self.begin_turn().is_ok() {
            self.ready_guard();
            self.remember(self.os.boot_ms(), 0, bytes);
            self.end_turn();
        }
    }

    pub(super) fn recover_in_turn(&mut self) -> Result<(), StoreError> {
        if self.options.guard {
            wait_until_quiet(self.os.as_ref(), &self.path);
        }
        self.reopen()?;
        self.follow_file()?;
        self.ready_guard();
        let is_ours = self.turn.current == Some(Turn::Ours);
        if let Some(guard) = self.guard.as_mut().filter(|_| is_ours) {
            let lines = put_back(self.os.as_ref(), &self.path, guard)?;
            if !lines.is_empty() {
                self.notify(Notice::Recovered { lines });
            }
        }
        Ok(())
    }

    /// Replaces the held lock if the name leads to another file by now.
    fn follow_file(&mut self) -> Result<(), StoreError> {
        let is_other = |lock: &TurnLock| lock.identity() != Some(self.identity);
        if self.turn.current == Some(Turn::Ours) && self.turn.lock.as_ref().is_some_and(is_other) {
            self.turn.current = Some(self.take_lock()?);
            self.guarding.is_ready = false;
        }
        Ok(())
    }

    /// Returns the guard that another process has left, if there is one.
    pub(super) fn leftover_guard(&self) -> Result<Option<Guard>, StoreError> {
        match self.os.stat(&guard_path(&self.path)) {
            Ok(_) => Guard::open(&self.os, &self.path).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Removes a guard unless it holds lines that are not safe. True if it was removed.
    ///
    /// Lines are safe only in the file that has the session's name now, not in a file that has been replaced.
    pub(super) fn remove_if_unneeded(&self, mut guard: Guard) -> bool {
        let Ok(session) = self.os.open(&self.path, Mode::Read) else { return false };
        let Ok(stat) = session.stat() else { return false };
        guard.catch_up(&self.path).is_ok()
            && guard.is_ours_alone()
            && matches!(settle(&mut guard, session.as_ref(), stat.identity), Ok(false))
            && guard.remove_if_unused()
    }

    /// Ends the turn of a session that has been removed or moved. Removes its lock file. Removes its guard, too, or
    /// moves it to the new path.
    ///
    /// Call this during a turn. Without one, there are no sidecars of ours to remove.
    pub fn retire(mut self, new_path: Option<&Path>) {
        (self.sentinel, self.guard) = (None, None);
        let Some(lock) = self.turn.lock.take().filter(TurnLock::is_held) else { return };
        let guard = guard_path(&self.path);
        match (new_path, peek(self.os.as_ref(), &self.path)) {
            // A guard that is already at the new path belongs to the same file, and is newer.
            (Some(path), Ok(records)) if !records.is_empty() && self.os.stat(&guard_path(path)).is_err() => {
                drop(self.os.rename(&guard, &guard_path(path)));
            }
            _ => drop(self.os.remove(&guard)),
        }
        lock.retire();
    }

    /// Removes the sidecars if they are no longer needed.
    pub(super) fn tidy_up(&mut self) {
        let Some(mut lock) = self.turn.lock.take() else { return };
        // Recently written lines are not safe yet, so the guard has to stay.
        let is_fresh = is_recent(self.guarding.written_ms, self.os.boot_ms());
        if is_fresh && self.guard.is_some() && self.guarding.waiting.is_empty() {
            return;
        }
        if !(lock.is_held() || lock.try_take(None).unwrap_or(false)) {
            return;
        }
        if !self.guarding.waiting.is_empty() {
            (self.turn.current, self.guarding.is_ready) = (Some(Turn::Ours), false);
            self.ready_guard();
        }
        let is_tidy = match self.guard.take().map_or_else(|| self.leftover_guard(), |guard| Ok(Some(guard))) {
            Ok(None) => true,
            Ok(Some(guard)) => self.remove_if_unneeded(guard),
            Err(_) => false,
        };
        if is_tidy {
            lock.remove();
        }
    }
}

/// Whether lines written at that time are too recent to be safe.
fn is_recent(then_ms: Option<i64>, now_ms: i64) -> bool {
    then_ms.is_some_and(|then_ms| (0..CONFIRMED_AFTER_MS).contains(&now_ms.saturating_sub(then_ms)))
}
