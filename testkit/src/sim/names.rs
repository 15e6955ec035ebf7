//! The names in all directories, in memory and on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use crate::SplitMix;

/// A directory and a name in it.
pub(super) type Name = (u64, OsString);

type Table = BTreeMap<Name, u64>;

/// The current names, the durable names, and the pending changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    current: Table,
    durable: Table,
    /// The changes that were not synced, in order.
    dirty: Vec<NameChange>,
}

/// An atomic change of names.
#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Add { name: Name, inode: u64 },
    Remove { name: Name, inode: u64 },
    Move { from: Name, to: Name, inode: u64 },
}

impl Names {
    pub(super) fn get(&self, directory: u64, name: &OsStr) -> Option<u64> {
        self.current.get(&(directory, name.to_owned())).copied()
    }

    pub(super) fn in_directory(&self, directory: u64) -> impl Iterator<Item = (&OsStr, u64)> {
        let from = (directory, OsString::new());
        let to = (directory + 1, OsString::new());
        self.current.range(from..to).map(|((_, name), inode)| (name.as_os_str(), *inode))
    }

    /// Returns how many names an inode has.
    pub(super) fn count(&self, inode: u64) -> u64 {
        self.current.values().filter(|named| **named == inode).count() as u64
    }

    pub(super) fn change(&mut self, change: NameChange) {
        change.apply(&mut self.current);
        self.dirty.push(change);
    }

    /// Makes the changes in this directory durable, and the changes they depend on.
    pub(super) fn sync(&mut self, directory: u64) {
        let mut synced: Vec<NameChange> = Vec::new();
        let mut waiting = Vec::new();
        for change in std::mem::take(&mut self.dirty).into_iter().rev() {
            let is_synced =
                change.directories().contains(&directory) || synced.iter().any(|later| later.needs(&change));
            if is_synced { synced.push(change) } else { waiting.push(change) }
        }
        for change in synced.iter().rev() {
            change.apply(&mut self.durable);
        }
        self.dirty = waiting.into_iter().rev().collect();
    }

    pub(super) fn sync_everything(&mut self) {
        for change in self.dirty.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Returns the names after power loss: each unsynced change survives or not, but never without those it needs.
    pub(super) fn after_power_loss(&self, random: &mut SplitMix) -> Self {
        let mut left = self.durable.clone();
        let mut lost: Vec<&NameChange> = Vec::new();
        for change in &self.dirty {
            if random.one_in(2) || lost.iter().any(|earlier| change.needs(earlier)) {
                lost.push(change);
            } else {
                change.apply(&mut left);
            }
        }
        Self { current: left.clone(), durable: left, dirty: Vec::new() }
    }

    pub(super) fn retain_directories(&mut self, directories: &BTreeSet<u64>) {
        self.current.retain(|(directory, _), _| directories.contains(directory));
        self.durable.retain(|(directory, _), _| directories.contains(directory));
    }
}

impl NameChange {
    fn apply(&self, table: &mut Table) {
        match self {
            Self::Add { name, inode } => drop(table.insert(name.clone(), *inode)),
            Self::Remove { name, .. } => drop(table.remove(name)),
            Self::Move { from, to, inode } => {
                table.remove(from);
                table.insert(to.clone(), *inode);
            }
        }
    }

    fn names(&self) -> Vec<&Name> {
        match self {
            Self::Add { name, .. } | Self::Remove { name, .. } => vec![name],
            Self::Move { from, to, .. } => vec![from, to],
        }
    }

    /// Returns the directories it changes.
    pub(super) fn directories(&self) -> Vec<u64> {
        self.names().into_iter().map(|(directory, _)| *directory).collect()
    }

    /// Whether a disk that has this change must also have that earlier one, as journals guarantee.
    ///
    /// Changes of one name keep their order. A file is not moved into a directory that does not exist, and a directory
    /// is not removed before the files moved out of it. A new file in a new directory needs nothing: if the directory's
    /// own name is lost, so is the file.
    fn needs(&self, earlier: &Self) -> bool {
        let shares_name = self.names().into_iter().any(|name| earlier.names().contains(&name));
        let needs_directory = match self {
            Self::Move { to: (directory, _), .. } => {
                matches!(earlier, Self::Add { inode, .. } | Self::Move { inode, .. } if inode == directory)
            }
            Self::Remove { inode, .. } => earlier.directories().contains(inode),
            Self::Add { .. } => false,
        };
        shares_name || needs_directory
    }
}
