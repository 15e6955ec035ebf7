//! Bugs on purpose, so that the torture bench can show that it would notice them.
//!
//! Only built with the feature `planted-bugs`, which no shipped program turns
//! on; without it [`has`] is always false and costs nothing.

/// A known-bad change to the code. At most one is active in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// A torn last line is not ended before the next line is written.
    NoSeal = 1,
    /// What stands before a written line is not looked at afterwards.
    NoPostCheck,
    /// An entry is said to be on disk before it was synced.
    AcknowledgeBeforeSync,
    /// A failed sync is repeated, and believed the second time.
    RetrySync,
    /// The directory of a new file is not synced.
    NoDirectorySync,
    /// A torn last line is cut off instead of ended.
    CutTornLine,
    /// An append reports where its seal went instead of its first line.
    WrongOffset,
    /// An append trusts the length it saw last.
    StaleLength,
    /// A lock on a file that was removed meanwhile counts.
    LockOnWrongFile,
    /// Acknowledged entries are not remembered in the guard.
    GuardOff,
    /// The guard forgets entries as soon as it has seen them once.
    GuardForgets,
    /// A write that was cut short counts as a write.
    ShortWriteCounts,
    /// A new version of a file is written over the old one.
    RewriteInPlace,
    /// A new version of a file takes the old one's place before it was synced.
    NoSyncBeforeSwap,
    /// What others append while a file is being replaced stays behind.
    NoCarryOver,
    /// Destroyed entries are put back last first.
    RecoverBackwards,
    /// A file that was deleted or replaced is written to all the same.
    NoIdentityCheck,
    /// An entry counts before it was written.
    MemoryBeforeWrite,
    /// After a failed sync the log goes on as if nothing had happened.
    NoPoison,
    /// The log does not say that an operation failed.
    FailureForgotten,
    /// A file takes the place of another one that has its new name.
    RenameReplaces,
    /// A new session has its name before it is whole.
    NoTemporaryName,
    /// An undo that failed counts as done.
    FailedUndoCounts,
    /// Two processes may undo at once.
    TwoUndosAtOnce,
    /// An undo does not look again once it has its turn.
    UndoUnchecked,
    /// A step is written down after it was done.
    LogAfterStep,
    /// An operation is said to be done before its step is.
    DoneBeforeStep,
    /// What a dead process left is left.
    NoSettling,
    /// A running operation looks like that of a dead process.
    RunningUnlocked,
    /// A session is looked for, and then opened or made.
    ExistenceApart,
    /// A session that was chosen to be pruned goes even if it was written to since.
    NoRecheckInPrune,
    /// A session is moved or deleted without its turn.
    NoTurnInMove,
}

/// Those that show when single sessions are written to.
pub const OF_WRITING: [Bug; 19] = [
    Bug::NoSeal,
    Bug::NoPostCheck,
    Bug::AcknowledgeBeforeSync,
    Bug::RetrySync,
    Bug::NoDirectorySync,
    Bug::CutTornLine,
    Bug::WrongOffset,
    Bug::StaleLength,
    Bug::LockOnWrongFile,
    Bug::GuardOff,
    Bug::GuardForgets,
    Bug::ShortWriteCounts,
    Bug::RewriteInPlace,
    Bug::NoSyncBeforeSwap,
    Bug::NoCarryOver,
    Bug::RecoverBackwards,
    Bug::NoIdentityCheck,
    Bug::MemoryBeforeWrite,
    Bug::NoPoison,
];

/// Those that show only when operations on sessions are killed, fail, or meet each other.
pub const OF_OPERATIONS: [Bug; 13] = [
    Bug::FailureForgotten,
    Bug::RenameReplaces,
    Bug::NoTemporaryName,
    Bug::FailedUndoCounts,
    Bug::TwoUndosAtOnce,
    Bug::UndoUnchecked,
    Bug::LogAfterStep,
    Bug::DoneBeforeStep,
    Bug::NoSettling,
    Bug::RunningUnlocked,
    Bug::ExistenceApart,
    Bug::NoRecheckInPrune,
    Bug::NoTurnInMove,
];

/// Every bug there is to plant: each is in one of the two lists.
pub fn all() -> impl Iterator<Item = Bug> {
    OF_WRITING.into_iter().chain(OF_OPERATIONS)
}

#[cfg(feature = "planted-bugs")]
static PLANTED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Makes the whole process have this bug, or none.
#[cfg(feature = "planted-bugs")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.store(bug.map_or(0, |bug| bug as u8), std::sync::atomic::Ordering::SeqCst);
}

/// Whether this process has the bug.
#[cfg(feature = "planted-bugs")]
pub fn has(bug: Bug) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == bug as u8
}

/// Whether this process has the bug: never.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub const fn has(_bug: Bug) -> bool {
    false
}

/// Whether the system gives this process no more threads, as at the limit on processes. For tests.
#[cfg(feature = "planted-bugs")]
static REFUSES_THREADS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Makes the whole process get no more threads, or get them again.
#[cfg(feature = "planted-bugs")]
pub fn refuse_threads(refuses: bool) {
    REFUSES_THREADS.store(refuses, std::sync::atomic::Ordering::SeqCst);
}

/// Whether this process gets no more threads.
#[cfg(feature = "planted-bugs")]
pub(crate) fn refuses_threads() -> bool {
    REFUSES_THREADS.load(std::sync::atomic::Ordering::Relaxed)
}

/// Whether this process gets no more threads: the system decides.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub(crate) const fn refuses_threads() -> bool {
    false
}
