//! Options for writing.

use std::time::Duration;

use sessile_core::line::LINE_CAP;

/// What must have happened before an entry counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing: entries stay in memory and the file is only read.
    Memory,
    /// The operating system has the entry. It survives the end of this process, but not a crash of the machine.
    #[default]
    Buffered,
    /// Like `Buffered`, with a sync at this interval.
    Interval(Duration),
    /// The entry is on disk. One sync serves all waiting writers.
    Group,
    /// The entry is on disk, with a sync for each append.
    Sync,
}

impl Durability {
    /// Whether an acknowledgement promises that the entry is on disk, so that new files and names must be synced, too.
    pub fn is_on_disk(self) -> bool {
        matches!(self, Self::Group | Self::Sync)
    }
}

/// How durable an acknowledged entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// In this process only.
    Memory,
    /// In the operating system's cache: survives this process.
    PageCache,
    /// On disk: survives power loss.
    Disk,
    /// Also committed by a server: survives the loss of this machine.
    Server,
}

impl Durable {
    /// Returns the word that programs see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::PageCache => "page-cache",
            Self::Disk => "disk",
            Self::Server => "server",
        }
    }
}

/// What to do while another process has its turn at a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// Wait as long as it takes.
    Wait,
    /// Wait this long, then fail and name the lock holder.
    Fail(Duration),
    /// Wait this long, then write without the lock. No bytes are at risk; the entry may become a sibling of another
    /// one.
    Continue(Duration),
}

impl Default for Busy {
    fn default() -> Self {
        Self::Continue(Duration::from_secs(2))
    }
}

impl Busy {
    pub(crate) fn timeout(self) -> Option<Duration> {
        match self {
            Self::Wait => None,
            Self::Fail(timeout) | Self::Continue(timeout) => Some(timeout),
        }
    }
}

/// Options for writing to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// When an entry counts as written.
    pub durability: Durability,
    /// What to do while another process has its turn.
    pub busy: Busy,
    /// Whether acknowledged lines are kept beside the file until they are safe from rewrites by other programs.
    pub guard: bool,
    /// The longest line that may be written, in bytes without its end: readers skip longer ones.
    pub longest_line: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { durability: Durability::default(), busy: Busy::default(), guard: true, longest_line: LINE_CAP }
    }
}
