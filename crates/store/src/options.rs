//! What a caller may choose about writing.

use std::time::Duration;

use sessile_core::line::LINE_CAP;

/// What has to have happened before an entry counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing: entries stay in memory and the file is only read.
    Memory,
    /// The operating system has it. Survives the death of this process, not of the machine.
    #[default]
    Buffered,
    /// As buffered, and the disk is told to catch up every so often.
    Interval(Duration),
    /// The disk has it. One sync serves all who wait.
    Group,
    /// The disk has it, each append by a sync of its own.
    Sync,
}

impl Durability {
    /// Whether an acknowledgement promises that the disk has it, so that new files and names have to be synced too.
    pub fn is_on_disk(self) -> bool {
        matches!(self, Self::Group | Self::Sync)
    }
}

/// Where an acknowledged entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// In this process alone.
    Memory,
    /// With the operating system: survives this process.
    PageCache,
    /// On disk: survives power loss.
    Disk,
}

impl Durable {
    /// The word for it that programs see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::PageCache => "page-cache",
            Self::Disk => "disk",
        }
    }
}

/// What to do while another process has its turn at a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// Wait as long as it takes.
    Wait,
    /// Wait this long, then fail and say who it is.
    Fail(Duration),
    /// Wait this long, then write all the same. No byte is in danger; the entry may become a sibling of another one.
    Continue(Duration),
}

impl Default for Busy {
    fn default() -> Self {
        Self::Continue(Duration::from_secs(2))
    }
}

impl Busy {
    pub(crate) fn patience(self) -> Option<Duration> {
        match self {
            Self::Wait => None,
            Self::Fail(patience) | Self::Continue(patience) => Some(patience),
        }
    }
}

/// How a log writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// When an entry counts as written.
    pub durability: Durability,
    /// What to do while another process has its turn.
    pub busy: Busy,
    /// Whether acknowledged lines are remembered beside the file until they are safe from rewrites by others.
    pub guard: bool,
    /// The longest line that is written, in bytes without its end: readers pass over what is longer.
    pub longest_line: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { durability: Durability::default(), busy: Busy::default(), guard: true, longest_line: LINE_CAP }
    }
}
