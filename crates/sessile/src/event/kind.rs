//! The kinds of events.

use std::fmt;

/// A kind of event. It has pi's name if pi has the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventKind {
    /// A host has begun to work in a session.
    SessionStart,
    /// Another session is about to replace this one.
    SessionBeforeSwitch,
    /// This session is about to be forked.
    SessionBeforeFork,
    /// A session was forked.
    SessionFork,
    /// The leaf is about to move to another place in the tree.
    SessionBeforeTree,
    /// The leaf has moved to another place in the tree.
    SessionTree,
    /// A summary is about to replace older entries in the context.
    SessionBeforeCompact,
    /// A summary has replaced older entries in the context.
    SessionCompact,
    /// A compaction failed.
    SessionCompactFailed,
    /// The session's name changed.
    SessionInfoChanged,
    /// A host no longer works in the session.
    SessionShutdown,
    /// An entry was appended, by us or by another program.
    EntryAppended,
    /// The leaf moved, other than by an append.
    LeafMoved,
    /// Our entry is on another branch than another program's entry.
    Divergence,
    /// Destroyed entries were restored.
    Recovered,
    /// A session was deleted.
    SessionDeleted,
    /// Another program has changed the session's file other than by appending.
    FileChanged,
    /// The session's file no longer exists.
    FileGone,
    /// An entry was written without the lock.
    WrittenUnlocked,
    /// An entry was written without protection against rewrites.
    WrittenUnguarded,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::SessionStart,
        Self::SessionBeforeSwitch,
        Self::SessionBeforeFork,
        Self::SessionFork,
        Self::SessionBeforeTree,
        Self::SessionTree,
        Self::SessionBeforeCompact,
        Self::SessionCompact,
        Self::SessionCompactFailed,
        Self::SessionInfoChanged,
        Self::SessionShutdown,
        Self::EntryAppended,
        Self::LeafMoved,
        Self::Divergence,
        Self::Recovered,
        Self::SessionDeleted,
        Self::FileChanged,
        Self::FileGone,
        Self::WrittenUnlocked,
        Self::WrittenUnguarded,
    ];

    /// The name of the event in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::SessionBeforeSwitch => "session_before_switch",
            Self::SessionBeforeFork => "session_before_fork",
            Self::SessionFork => "session_fork",
            Self::SessionBeforeTree => "session_before_tree",
            Self::SessionTree => "session_tree",
            Self::SessionBeforeCompact => "session_before_compact",
            Self::SessionCompact => "session_compact",
            Self::SessionCompactFailed => "session_compact_failed",
            Self::SessionInfoChanged => "session_info_changed",
            Self::SessionShutdown => "session_shutdown",
            Self::EntryAppended => "entry_appended",
            Self::LeafMoved => "leaf_moved",
            Self::Divergence => "divergence",
            Self::Recovered => "recovered",
            Self::SessionDeleted => "session_deleted",
            Self::FileChanged => "file_changed",
            Self::FileGone => "file_gone",
            Self::WrittenUnlocked => "written_unlocked",
            Self::WrittenUnguarded => "written_unguarded",
        }
    }

    /// The kind of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it is sent before the fact, so that a reply can change what happens.
    pub const fn is_before(self) -> bool {
        matches!(
            self,
            Self::SessionBeforeSwitch | Self::SessionBeforeFork | Self::SessionBeforeTree | Self::SessionBeforeCompact
        )
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of event kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSet(u32);

impl EventSet {
    /// All kinds.
    pub const ALL: Self = Self(u32::MAX);

    /// Whether the set contains a kind.
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl From<EventKind> for EventSet {
    fn from(kind: EventKind) -> Self {
        Self(1 << kind as u32)
    }
}

impl FromIterator<EventKind> for EventSet {
    fn from_iter<I: IntoIterator<Item = EventKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::default(), |set, kind| set.union(kind.into()))
    }
}

impl<const N: usize> From<[EventKind; N]> for EventSet {
    fn from(kinds: [EventKind; N]) -> Self {
        kinds.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_kinds_belong_together() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::of(kind.name()), Some(kind));
            assert_eq!(kind.is_before(), kind.name().contains("_before_"));
            assert!(EventSet::ALL.contains(kind) && EventSet::from(kind).contains(kind));
            assert!(!EventSet::default().contains(kind));
        }
        assert_eq!(EventKind::of("session_switch"), None);
        let some = EventSet::from([EventKind::SessionStart, EventKind::SessionDeleted]);
        assert_eq!(EventKind::ALL.into_iter().filter(|kind| some.contains(*kind)).count(), 2);
    }
}
