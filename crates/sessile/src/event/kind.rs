//! Which events there are.

use std::fmt;

/// A kind of event. Its name is pi's where pi has the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventKind {
    /// A session has begun to be worked in.
    SessionStart,
    /// Another session is about to take the place of this one.
    SessionBeforeSwitch,
    /// A session is about to be made of a part of this one.
    SessionBeforeFork,
    /// A session was made of a part of another one.
    SessionFork,
    /// Another place in the tree is about to be gone to.
    SessionBeforeTree,
    /// Another place in the tree was gone to.
    SessionTree,
    /// A summary is about to take the place of what is old.
    SessionBeforeCompact,
    /// A summary took the place of what is old.
    SessionCompact,
    /// It did not.
    SessionCompactFailed,
    /// The session has another name.
    SessionInfoChanged,
    /// The session is no longer worked in.
    SessionShutdown,
    /// An entry was added, by whomever.
    EntryAppended,
    /// The leaf is elsewhere, and not because something was added to it.
    LeafMoved,
    /// Our entry is beside somebody else's, not behind it.
    Divergence,
    /// Entries that somebody had destroyed were put back.
    Recovered,
    /// A session was deleted.
    SessionDeleted,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 16] = [
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
    ];

    /// The name by which programs know it.
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
        }
    }

    /// The kind of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it is told before the fact, so that an answer can change what happens.
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

/// Some kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSet(u32);

impl EventSet {
    /// All kinds.
    pub const ALL: Self = Self(u32::MAX);

    /// Whether a kind is among them.
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// Whether there is none among them.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Those of both.
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
