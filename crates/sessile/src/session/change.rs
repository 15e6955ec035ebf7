//! Reacting to other programs' changes to the file: append, truncate, rewrite, replace.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use sessile_core::EntryId;
use sessile_core::header::Header;
use sessile_core::json::Raw;
use sessile_core::outline::Outline;
use sessile_store::StoreError;

use super::read_outline::save_outline;
use super::{Backing, Session, scan, upgrade_header};
use crate::directory::absolute;
use crate::environment::Migrated;
use crate::error::SessionError;
use crate::event::{FileChange, SessionEvent};
use crate::world::{ExpectedLeaf, World};

impl Session {
    /// Reads what other programs have appended. The leaf does not move.
    pub(crate) fn catch_up(&mut self, world: &World) -> Result<(), SessionError> {
        self.catch_up_or(world, LostLeaf::Refuse)
    }

    /// Reads what other programs have appended or changed, and moves the leaf to the last entry.
    pub(crate) fn follow(&mut self, world: &World) -> Result<(), SessionError> {
        self.catch_up_or(world, LostLeaf::Follow)?;
        self.leaf = self.outline.leaf();
        self.foreign = None;
        Ok(())
    }

    fn catch_up_or(&mut self, world: &World, lost: LostLeaf) -> Result<(), SessionError> {
        self.take_notices();
        if self.is_stale.load(Relaxed) {
            self.reread_edited(world, lost)?;
        }
        let current = self.check_current();
        let Backing::Log { log, .. } = &self.backing else { return Ok(()) };
        let known = self.outline.end();
        let length = match current.and_then(|()| log.length()) {
            Ok(length) => length,
            Err(error) if change_of(&error).is_some() && !world.is_read_only => {
                return self.resync(world, &error, lost);
            }
            Err(error) => return Err(self.noticed(error.into())),
        };
        match length.cmp(&known) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => {
                let error = StoreError::Truncated { log: self.backing.name(), expected: known, actual: length };
                return if world.is_read_only { Err(error.into()) } else { self.resync(world, &error, lost) };
            }
            Ordering::Greater => {}
        }
        let leaf = self.leaf_id();
        let n_known = self.outline.n_entries();
        if self.outline.is_unterminated() {
            // The unfinished line may have changed, so read everything again.
            let outline = scan(world, log.as_ref())?;
            self.use_outline(outline, lost)?;
        } else {
            let (outline, mut ids) = (&mut self.outline, Migrated(world.environment()));
            log.scan(known, &mut |line| outline.push(line, &mut ids))?;
            // A program that appended may also have changed earlier lines, which a check of the end does not show.
            self.doubted = known;
        }
        self.leaf = leaf.and_then(|leaf| self.outline.find(&leaf));
        self.forget_read();
        if self.outline.n_entries() > n_known {
            self.arrived(world, |session| session.ids_from(n_known), false);
            self.foreign = self.outline.leaf().and_then(|leaf| self.outline.id(leaf));
        }
        Ok(())
    }

    /// Reads the whole file again, because one of its lines no longer matches its row.
    fn reread_edited(&mut self, world: &World, lost: LostLeaf) -> Result<(), SessionError> {
        let outline = scan(world, self.backing.log())?;
        if let Some(path) = self.backing.path() {
            save_outline(world, &absolute(world.environment(), path), &outline);
        }
        let leaf = self.leaf_id();
        self.use_outline(outline, lost)?;
        self.leaf = leaf.and_then(|leaf| self.outline.find(&leaf)).or_else(|| self.outline.leaf());
        self.forget_read();
        self.doubted = 0;
        self.is_stale = AtomicBool::new(false);
        self.notice(SessionEvent::FileChanged { change: FileChange::Rewritten });
        Ok(())
    }

    /// Before the first write: restores what an earlier process acknowledged and another program has destroyed.
    ///
    /// If the leaf was the last entry of the file, it is again the last entry afterwards.
    pub(crate) fn resume(&mut self, world: &World) -> Result<(), SessionError> {
        let Backing::Log { log, .. } = &mut self.backing else { return Ok(()) };
        if std::mem::replace(&mut self.is_writer, true) {
            return Ok(());
        }
        let resumed = log.resume();
        if !matches!(resumed, Ok(false)) {
            // Even after a failure the file may have been replaced, or be longer than we know.
            let is_last = self.leaf == self.outline.leaf();
            self.is_void = true;
            let read = self.read_again(world, None, LostLeaf::Refuse);
            match (resumed, read) {
                (_, Ok(())) if is_last => (self.leaf, self.foreign) = (self.outline.leaf(), None),
                (Ok(_), read) => read?,
                // Writing may still be possible; the next write finds out.
                (Err(error), _) => self.notice(SessionEvent::WrittenUnguarded { reason: error.to_string() }),
            }
        }
        self.take_notices();
        Ok(())
    }

    /// Reads the file again after another program has changed it other than by appending.
    ///
    /// A writer first restores missing entries that it had acknowledged.
    pub(super) fn resync(&mut self, world: &World, error: &StoreError, lost: LostLeaf) -> Result<(), SessionError> {
        let Backing::Log { log, .. } = &mut self.backing else { return Ok(()) };
        // From here on the outline no longer matches the log, whatever happens.
        self.is_void = true;
        let ready = if self.is_writer { log.recover() } else { log.reread() };
        if let Err(error) = ready {
            return Err(self.noticed(error.into()));
        }
        self.read_again(world, change_of(error), lost)
    }

    /// Reads the whole file again after a change. It must hold the same session.
    fn read_again(&mut self, world: &World, change: Option<FileChange>, lost: LostLeaf) -> Result<(), SessionError> {
        let log = self.backing.log();
        let outline = scan(world, log)?;
        let is_same = outline.header().is_some_and(|row| {
            let line = log.read(outline.span(row)).unwrap_or_default();
            Raw::parse(&line).is_ok_and(|header| Header::new(upgrade_header(&outline, header)).id() == self.header.id())
        });
        if !is_same {
            return Err(StoreError::Replaced { log: log.name() }.into());
        }
        let leaf = self.leaf_id();
        let newest = outline.leaf().and_then(|leaf| outline.id(leaf));
        let foreign = newest.filter(|id| self.outline.find(id).is_none());
        let known = self.use_outline(outline, lost)?;
        (self.is_void, self.doubted, self.is_stale) = (false, 0, AtomicBool::new(false));
        self.leaf = leaf.and_then(|leaf| self.outline.find(&leaf));
        self.forget_read();
        self.unsettled.clear();
        self.foreign = foreign.or(self.foreign.take());
        if let Some(change) = change {
            self.notice(SessionEvent::FileChanged { change });
        }
        self.take_notices_after(change);
        let is_new = |id: &EntryId| known.find(id).is_none();
        self.arrived(world, |session| session.ids_from(0).into_iter().filter(is_new).collect(), false);
        Ok(())
    }

    /// Ends the turns of a command that panicked, and marks everything known about the file as void.
    pub(crate) fn abandon(&mut self) {
        (self.retained.n_turns, self.retained.expected_leaf, self.retained.deferred) = (0, ExpectedLeaf::Any, None);
        if let Backing::Log { log, .. } = &mut self.backing {
            log.abandon_turn();
            self.is_void = true;
        }
    }

    /// Fails if the outline does not belong to the file that the log reads now.
    pub(super) fn check_current(&self) -> Result<(), StoreError> {
        if self.is_void || self.is_stale.load(Relaxed) {
            Err(StoreError::Rewritten { log: self.backing.name() })
        } else {
            Ok(())
        }
    }

    /// Replaces the outline and returns the old one; fails if the new one lacks our leaf.
    fn use_outline(&mut self, outline: Outline, lost: LostLeaf) -> Result<Outline, SessionError> {
        let leaf = self.leaf_id();
        if let Some(id) = leaf.filter(|leaf| lost == LostLeaf::Refuse && outline.find(leaf).is_none()) {
            return Err(SessionError::LeafGone { log: self.backing.name(), id });
        }
        self.retained.n_renumbered += 1;
        Ok(std::mem::replace(&mut self.outline, outline))
    }

    /// Opens the file again after an upgrade, with the leaf where it was.
    ///
    /// An upgrade keeps entries and their order, so row numbers stay valid.
    pub(crate) fn reload(&mut self, world: &World, path: &Path) -> Result<(), SessionError> {
        let reloaded = Self::open_for_writing(world, path)?;
        let is_same = reloaded.header.id() == self.header.id()
            && reloaded.outline.rows().len() >= self.outline.rows().len()
            && self.outline.rows().all(|row| self.outline.kind(row) == reloaded.outline.kind(row));
        if !is_same {
            return Err(StoreError::Replaced { log: self.backing.name() }.into());
        }
        let n_known = self.outline.n_entries();
        self.continue_with(reloaded, self.leaf);
        self.arrived(world, |session| session.ids_from(n_known), false);
        Ok(())
    }

    /// Opens the file again after a failed sync, with the leaf at the last entry known to be on disk.
    ///
    /// Entries that may not have reached the disk stay in the file as a separate branch.
    pub(crate) fn reopen(&mut self, world: &World) -> Result<(), SessionError> {
        let Backing::Log { log, path: Some(path) } = &self.backing else { return Ok(()) };
        let (path, name, n_synced) = (path.clone(), log.name(), log.n_synced());
        let first_unsettled = self.unsettled.iter().find(|(number, _)| *number > n_synced);
        let leaf = first_unsettled.map_or_else(|| self.leaf_id(), |(_, leaf)| leaf.clone());
        let mut reopened = Self::open_for_writing(world, &path)?;
        reopened.backing.log_mut().reseal_end();
        if reopened.header.id() != self.header.id() {
            return Err(StoreError::Replaced { log: name }.into());
        }
        let row = leaf.as_ref().map(|id| reopened.outline.find(id));
        if row == Some(None) {
            return Err(SessionError::LeafGone { log: name, id: leaf.unwrap_or_else(|| EntryId::from("")) });
        }
        self.continue_with(reopened, row.flatten());
        Ok(())
    }
}

/// The change by another program that an error reports, if any.
pub(super) fn change_of(error: &StoreError) -> Option<FileChange> {
    match error {
        StoreError::Truncated { .. } => Some(FileChange::Truncated),
        StoreError::Rewritten { .. } => Some(FileChange::Rewritten),
        StoreError::Replaced { .. } => Some(FileChange::Replaced),
        _ => None,
    }
}

/// What to do if our leaf is no longer in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LostLeaf {
    /// Fail: nothing may be appended to an entry that is gone.
    Refuse,
    /// Move to the last entry.
    Follow,
}
