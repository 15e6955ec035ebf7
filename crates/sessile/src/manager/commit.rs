//! Coordinated writes: compare and append, deferred syncs, one session shared among threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile_core::EntryId;
use sessile_store::{Durable, Ticket};

use super::SessionManager;
use crate::error::SessionError;
use crate::event::LeafMove;
use crate::world::ExpectedLeaf;

/// A completed write whose data may not be on disk yet.
#[derive(Debug)]
#[must_use = "what was written is only acknowledged by waiting for it"]
pub struct Pending<T> {
    value: T,
    tickets: Vec<Box<dyn Ticket>>,
    durable: Durable,
}

impl<T> Pending<T> {
    /// Waits until the data has the durability that the session promises, and returns that durability.
    ///
    /// If the disk fails, every write is refused until
    /// [`SessionManager::reopen`].
    pub fn wait(self) -> Result<(T, Durable), SessionError> {
        let mut durable = self.durable;
        for ticket in self.tickets {
            durable = ticket.wait()?;
        }
        Ok((self.value, durable))
    }
}

impl SessionManager {
    /// Runs `act` while holding the session's lock, after reading what other programs wrote.
    pub(crate) fn with_turn<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.session.begin_turn()?;
        let acted = self.session.catch_up(&self.world).and_then(|()| act(self));
        self.session.end_turn();
        self.notify_handlers();
        acted
    }

    /// Runs `act`, in which every append requires the last entry that the [`Sessions`](crate::Sessions) expect, if any.
    pub(crate) fn as_expected<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let ExpectedLeaf::Exactly(last) = self.world.expected_last.clone() else { return act(self) };
        self.refresh()?;
        let outer = std::mem::take(&mut self.session.retained.expected_leaf);
        let acted = self.session.expect_leaf(last.as_ref()).and_then(|()| act(self));
        self.session.retained.expected_leaf = outer;
        acted
    }

    /// Runs `write` at the current leaf, but only if the file's last entry is still `last`.
    ///
    /// Get `last` from [`last_id`](Self::last_id) when you read the session; `None` means a session without entries.
    /// The leaf may be elsewhere, such as after a [`branch`](Self::branch): this does not move it. If another writer
    /// has appended since, this fails with [`SessionError::LeafMoved`] and nothing changes.
    ///
    /// Among programs that take Sessile's lock the comparison is exact: nothing comes between it and the write. A
    /// program that takes no lock may still append in between. In that case both entries exist and
    /// [`SessionEvent::Divergence`](crate::event::SessionEvent) reports it.
    ///
    /// ```
    /// use sessile::SessionManager;
    /// let mut session = SessionManager::in_memory("/proj");
    /// let first = session.append_user_message("one")?;
    /// session.append_user_message("two")?;
    ///
    /// // Try something else after the first message, unless another program writes in the meantime.
    /// let seen = session.last_id();
    /// session.branch(&first)?;
    /// let third = session.append_if_last(seen.as_ref(), |session| {
    ///     session.append_user_message("three")
    /// })?;
    /// assert_eq!(session.entry(&third)?.unwrap().parent_id(), Some(first));
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn append_if_last<T>(
        &mut self,
        last: Option<&EntryId>,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.write_if_last(last, false, write)
    }

    /// Like [`append_if_last`](Self::append_if_last), but first moves the leaf to that last entry.
    ///
    /// For requests that name the entry to continue from, such as `ifLeaf` in RPC. On failure the leaf does not move.
    pub fn append_to_last<T>(
        &mut self,
        last: Option<&EntryId>,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.write_if_last(last, true, write)
    }

    fn write_if_last<T>(
        &mut self,
        last: Option<&EntryId>,
        moves_leaf: bool,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.recover()?;
        let old_leaf = self.leaf_id();
        let session_id = self.session_id();
        let scope = Expecting::begin(self)?;
        let written = scope.manager.compare_and_write(last, moves_leaf, write);
        drop(scope);
        // If `write` switched to another session, there is no leaf to restore.
        let is_same = self.session_id() == session_id;
        if written.is_err() && is_same {
            self.session.leaf = old_leaf.and_then(|leaf| self.session.outline.find(&leaf));
        } else if moves_leaf && is_same && old_leaf.as_ref() != last {
            self.leaf_moved(old_leaf, LeafMove::Expect);
        }
        self.notify_handlers();
        written
    }

    fn compare_and_write<T>(
        &mut self,
        last: Option<&EntryId>,
        moves_leaf: bool,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.session.catch_up(&self.world)?;
        self.session.expect_leaf(last)?;
        if moves_leaf {
            self.session.leaf = self.session.outline.leaf();
        }
        write(self)
    }

    /// Runs `write` without waiting for the disk, and returns a handle to wait on.
    ///
    /// With [`Durability::Group`](crate::write::Durability) many writers can be
    /// in flight and share a sync. The other modes have nothing to wait for, so
    /// this is the same as calling `write` directly.
    pub fn deferred<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<Pending<T>, SessionError> {
        let scope = Deferring::begin(self);
        let written = write(scope.manager);
        let tickets = scope.manager.session.retained.deferred.take().unwrap_or_default();
        drop(scope);
        let durable = self.last_acknowledgement().map_or(Durable::Memory, |acknowledged| acknowledged.durable);
        written.map(|value| Pending { value, tickets, durable })
    }
}

/// A turn that expects a leaf. Ends even if the code in it panics.
struct Expecting<'m> {
    manager: &'m mut SessionManager,
    outer: ExpectedLeaf,
}

impl<'m> Expecting<'m> {
    fn begin(manager: &'m mut SessionManager) -> Result<Self, SessionError> {
        manager.session.begin_turn()?;
        let outer = std::mem::take(&mut manager.session.retained.expected_leaf);
        Ok(Self { manager, outer })
    }
}

impl Drop for Expecting<'_> {
    fn drop(&mut self) {
        self.manager.session.retained.expected_leaf = std::mem::take(&mut self.outer);
        self.manager.session.end_turn();
    }
}

/// A scope in which appends do not wait for the disk. Ends even if the code in it panics.
struct Deferring<'m> {
    manager: &'m mut SessionManager,
    outer: Option<Vec<Box<dyn Ticket>>>,
}

impl<'m> Deferring<'m> {
    fn begin(manager: &'m mut SessionManager) -> Self {
        let outer = manager.session.retained.deferred.replace(Vec::new());
        Self { manager, outer }
    }
}

impl Drop for Deferring<'_> {
    fn drop(&mut self) {
        self.manager.session.retained.deferred = self.outer.take();
    }
}

/// A session that several threads write to.
///
/// Writers take turns but wait for the disk outside of their turn, so with
/// [`Durability::Group`](crate::write::Durability) one sync serves all waiting writers.
#[derive(Clone, Debug)]
pub struct SharedSession(Arc<Mutex<SessionManager>>);

impl SharedSession {
    /// Shares a session.
    pub fn new(session: SessionManager) -> Self {
        Self(Arc::new(Mutex::new(session)))
    }

    /// Locks the session for this thread while the guard lives.
    pub fn lock(&self) -> MutexGuard<'_, SessionManager> {
        // Every operation leaves the session consistent, even if a listener panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, and waits until the data has the durability that the session promises.
    pub fn write<T>(
        &self,
        write: impl FnOnce(&mut SessionManager) -> Result<T, SessionError>,
    ) -> Result<(T, Durable), SessionError> {
        let pending = self.lock().deferred(write)?;
        pending.wait()
    }
}
