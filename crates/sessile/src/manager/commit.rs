//! Writing together: comparing first, waiting later, sharing one session among threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile_core::EntryId;
use sessile_store::{Durable, Ticket};

use super::SessionManager;
use crate::error::SessionError;
use crate::event::LeafMove;
use crate::session::ExpectedLeaf;

/// Something that was written and is on its way to the disk.
#[derive(Debug)]
#[must_use = "what was written is only acknowledged by waiting for it"]
pub struct Pending<T> {
    value: T,
    tickets: Vec<Ticket>,
    durable: Durable,
}

impl<T> Pending<T> {
    /// Waits until it survives what the session promises, and says what that is.
    ///
    /// If the disk fails, nothing more can be written until
    /// [`SessionManager::reopen`].
    pub fn wait(self) -> Result<(T, Durable), SessionError> {
        let is_on_disk = !self.tickets.is_empty();
        for ticket in self.tickets {
            ticket.wait()?;
        }
        Ok((self.value, if is_on_disk { Durable::Disk } else { self.durable }))
    }
}

impl SessionManager {
    /// Does something to a session while no other process of ours can write to it, after taking in what others wrote.
    pub(crate) fn in_turn<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.session.begin_turn()?;
        let acted = self.session.catch_up(&self.world).and_then(|()| act(self));
        self.session.end_turn();
        self.tell();
        acted
    }

    /// Does something only if the file's last entry is still the expected one, and on top of that entry.
    ///
    /// `None` expects a session without entries. Among programs that take
    /// Sessile's lock this is exact: nothing comes between the comparison and
    /// the write. A program that takes no lock may still slip in between; then
    /// both entries are there and [`Event::Divergence`](crate::Event) tells.
    /// If it fails, the leaf is where it was.
    pub fn append_if_leaf<T>(
        &mut self,
        expected: Option<&EntryId>,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.recover()?;
        let old_leaf = self.leaf_id();
        let session_id = self.session_id();
        let scope = Expecting::begin(self)?;
        let written = scope.manager.compare_and_write(expected, write);
        drop(scope);
        // A session that was left meanwhile has no place to go back to.
        let is_same = self.session_id() == session_id;
        if written.is_err() && is_same {
            self.session.leaf = old_leaf.and_then(|leaf| self.session.outline.find(&leaf));
        } else if is_same && old_leaf.as_ref() != expected {
            self.tell_leaf(old_leaf, LeafMove::Expect);
        }
        self.tell();
        written
    }

    fn compare_and_write<T>(
        &mut self,
        expected: Option<&EntryId>,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.session.catch_up(&self.world)?;
        self.session.expect_leaf(expected)?;
        self.session.leaf = self.session.outline.leaf();
        write(self)
    }

    /// Does something without waiting for the disk, and returns something to wait for.
    ///
    /// With [`Durability::Group`](crate::Durability) many writers can be under
    /// way at once and share a sync; in the other modes there is nothing to
    /// wait for and this is the same as calling directly.
    pub fn deferred<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<Pending<T>, SessionError> {
        let scope = Deferring::begin(self);
        let written = write(scope.manager);
        let tickets = scope.manager.session.deferred.take().unwrap_or_default();
        drop(scope);
        let durable = self.last_acknowledgement().map_or(Durable::Memory, |acknowledged| acknowledged.durable);
        written.map(|value| Pending { value, tickets, durable })
    }
}

/// A turn in which a leaf is expected. Ends also if what is done in it panics.
struct Expecting<'m> {
    manager: &'m mut SessionManager,
    outer: ExpectedLeaf,
}

impl<'m> Expecting<'m> {
    fn begin(manager: &'m mut SessionManager) -> Result<Self, SessionError> {
        manager.session.begin_turn()?;
        let outer = std::mem::take(&mut manager.session.expected_leaf);
        Ok(Self { manager, outer })
    }
}

impl Drop for Expecting<'_> {
    fn drop(&mut self) {
        self.manager.session.expected_leaf = std::mem::take(&mut self.outer);
        self.manager.session.end_turn();
    }
}

/// A time in which nobody waits for the disk. Ends also if what is done in it panics.
struct Deferring<'m> {
    manager: &'m mut SessionManager,
    outer: Option<Vec<Ticket>>,
}

impl<'m> Deferring<'m> {
    fn begin(manager: &'m mut SessionManager) -> Self {
        let outer = manager.session.deferred.replace(Vec::new());
        Self { manager, outer }
    }
}

impl Drop for Deferring<'_> {
    fn drop(&mut self) {
        self.manager.session.deferred = self.outer.take();
    }
}

/// One session that several threads write to.
///
/// Each write takes its turn; waiting for the disk happens outside of it, so
/// with [`Durability::Group`](crate::Durability) one sync serves all who wait.
#[derive(Clone, Debug)]
pub struct SharedSession(Arc<Mutex<SessionManager>>);

impl SharedSession {
    /// Shares a session.
    pub fn new(session: SessionManager) -> Self {
        Self(Arc::new(Mutex::new(session)))
    }

    /// The session, for this thread alone while the guard lives.
    pub fn lock(&self) -> MutexGuard<'_, SessionManager> {
        // Every operation leaves the session whole, also one whose listener panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, and waits until what was written survives what the session promises.
    pub fn write<T>(
        &self,
        write: impl FnOnce(&mut SessionManager) -> Result<T, SessionError>,
    ) -> Result<(T, Durable), SessionError> {
        let pending = self.lock().deferred(write)?;
        pending.wait()
    }
}
