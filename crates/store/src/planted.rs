//! Planted bugs, with which the torture bench proves that it would notice them.
//!
//! Only built with the feature `planted-bugs`, which no shipped program enables; without it [`has`] is always false and
//! costs nothing.

/// A known bad change to the code. At most one is active in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// A torn last line is not ended before the next line is written.
    NoSeal = 1,
    /// The byte before a written line is not checked afterwards.
    NoPostCheck,
    /// An entry is reported as on disk before it was synced.
    AcknowledgeBeforeSync,
    /// A failed sync is repeated, and trusted the second time.
    RetrySync,
    /// The directory of a new file is not synced.
    NoDirectorySync,
    /// A torn last line is cut off instead of ended.
    CutTornLine,
    /// An append reports the offset of its seal instead of its first line.
    WrongOffset,
    /// An append trusts the length that the caller saw last.
    StaleLength,
    /// A lock counts although its file has been removed.
    LockOnWrongFile,
    /// Acknowledged entries are not added to the guard.
    GuardOff,
    /// The guard forgets entries as soon as it has seen them once.
    GuardForgets,
    /// A short write counts as complete.
    ShortWriteCounts,
    /// A new version of a file is written over the old one.
    RewriteInPlace,
    /// A new version of a file replaces the old one before it was synced.
    NoSyncBeforeSwap,
    /// Lines that other programs append while a file is being replaced are lost.
    NoCarryOver,
    /// Destroyed entries are restored in reverse order.
    RecoverBackwards,
    /// A file that was deleted or replaced is still written to.
    NoIdentityCheck,
    /// An entry counts before it was written.
    MemoryBeforeWrite,
    /// After a failed sync the log continues as if nothing had happened.
    NoPoison,
    /// The operation log does not record that an operation failed.
    FailureForgotten,
    /// A moved file replaces the file that already has the new name.
    RenameReplaces,
    /// A new session gets its name before it is complete.
    NoTemporaryName,
    /// An undo that failed counts as done.
    FailedUndoCounts,
    /// Two processes may undo at once.
    TwoUndosAtOnce,
    /// An undo does not check again once it has its turn.
    UndoUnchecked,
    /// A step is logged after it was done.
    LogAfterStep,
    /// An operation is logged as done before its step is.
    DoneBeforeStep,
    /// Operations of a dead process are not settled.
    NoSettling,
    /// A running operation looks like one of a dead process.
    RunningUnlocked,
    /// Checking for a session and opening or creating it are separate steps.
    ExistenceApart,
    /// A session that was chosen for pruning is removed even if it was written to since.
    NoRecheckInPrune,
    /// A session is moved or deleted without taking its turn.
    NoTurnInMove,
}

/// The bugs that show when single sessions are written to.
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

/// The bugs that show only when operations on sessions are killed, fail, or run concurrently.
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

/// Returns all bugs: each is in one of the two lists.
pub fn all() -> impl Iterator<Item = Bug> {
    OF_WRITING.into_iter().chain(OF_OPERATIONS)
}

#[cfg(feature = "planted-bugs")]
static PLANTED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Activates a bug, or none, for the whole process.
#[cfg(feature = "planted-bugs")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.store(bug.map_or(0, |bug| bug as u8), std::sync::atomic::Ordering::SeqCst);
}

/// Whether the bug is active in this process.
#[cfg(feature = "planted-bugs")]
pub fn has(bug: Bug) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == bug as u8
}

/// Whether the bug is active in this process: never.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub const fn has(_bug: Bug) -> bool {
    false
}

/// Whether thread creation fails, as at the limit on processes. For tests.
#[cfg(feature = "planted-bugs")]
static REFUSES_THREADS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Makes thread creation fail in the whole process, or work again.
#[cfg(feature = "planted-bugs")]
pub fn refuse_threads(refuses: bool) {
    REFUSES_THREADS.store(refuses, std::sync::atomic::Ordering::SeqCst);
}

/// Whether thread creation is made to fail.
#[cfg(feature = "planted-bugs")]
pub(crate) fn refuses_threads() -> bool {
    REFUSES_THREADS.load(std::sync::atomic::Ordering::Relaxed)
}

/// Whether thread creation is made to fail: never.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub(crate) const fn refuses_threads() -> bool {
    false
}
