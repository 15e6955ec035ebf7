//! A simulated process: its calls, and the faults planned for it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use rustix::io::Errno;

use super::SimOs;

/// The calls of [`Os`](sessile_store::os::Os) and [`OsFile`](sessile_store::os::OsFile) that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the methods")]
pub enum CallKind {
    Open,
    Stat,
    LinkStat,
    Rename,
    Link,
    Remove,
    MakeDirectory,
    RemoveDirectory,
    SetMode,
    Touch,
    SyncDirectory,
    List,
    IsShared,
    FileStat,
    ReadAt,
    Append,
    Position,
    WriteAt,
    SetLength,
    SyncData,
    SyncAll,
    Reserve,
    FreeSpace,
    TryLock,
    Unlock,
}

impl CallKind {
    /// Whether it writes bytes.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Append | Self::WriteAt)
    }

    /// Whether it is a sync.
    pub fn is_sync(self) -> bool {
        matches!(self, Self::SyncData | Self::SyncAll | Self::SyncDirectory)
    }

    /// Whether it changes names, modes or times.
    pub fn changes_names(self) -> bool {
        use CallKind::{Link, MakeDirectory, Remove, RemoveDirectory, Rename, SetMode, Touch};
        matches!(self, Rename | Link | Remove | MakeDirectory | RemoveDirectory | SetMode | Touch)
    }
}

/// How much of a call is done when its process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// Nothing.
    Nothing,
    /// The first half of a write; nothing of any other call.
    Half,
    /// All but the last byte of a write; nothing of any other call.
    AllButOne,
    /// Everything: the call is done, but never returns.
    All,
}

impl Tear {
    /// All values, for tests that try each.
    pub const EVERY: [Self; 4] = [Self::Nothing, Self::Half, Self::AllButOne, Self::All];

    fn of(self, length: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Half => length / 2,
            Self::AllButOne => length.saturating_sub(1),
            Self::All => length,
        }
    }
}

/// The error of every call by a dead process.
#[derive(Debug)]
struct Death;

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated process is dead")
    }
}

impl std::error::Error for Death {}

pub(super) fn death() -> io::Error {
    io::Error::other(Death)
}

/// Whether this error means only that the simulated process died.
pub fn is_death(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Death>()).is_some()
}

pub(super) type Hook = Box<dyn FnOnce(&SimOs) + Send>;

/// Lets a process make its next call, or continue after a wait (then with `true`).
pub type Gate = Arc<dyn Fn(bool) + Send + Sync>;

/// One process.
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) host: String,
    pub(super) is_alive: bool,
    pub(super) has_crashed: bool,
    pub(super) calls: Vec<String>,
    pub(super) gate: Option<Gate>,
    n_calls: u64,
    hooks: Vec<(u64, Hook)>,
    faults: BTreeMap<u64, Fault>,
    /// The error of the next write, after a short one.
    next_write: Option<Errno>,
    lasting: Option<Lasting>,
}

enum Fault {
    Fail(Errno),
    Short(Errno, usize),
    Crash(Tear),
}

struct Lasting {
    from: u64,
    errno: Errno,
    concerns: Box<dyn Fn(CallKind) -> bool + Send>,
}

/// The fate of a call.
pub(super) enum Verdict {
    /// It is performed, up to this many bytes of a write.
    Do(usize),
    /// It fails without any effect.
    Fail(Errno),
    /// This many bytes of a write are written, or another call is performed if `is_done`; then the process dies.
    Die { length: usize, is_done: bool },
}

impl Process {
    pub(super) fn new(pid: u32, host: String) -> Self {
        Self {
            pid,
            host,
            is_alive: true,
            has_crashed: false,
            calls: Vec::new(),
            gate: None,
            n_calls: 0,
            hooks: Vec::new(),
            faults: BTreeMap::new(),
            next_write: None,
            lasting: None,
        }
    }

    pub(super) fn plan_failure(&mut self, n: u64, errno: Errno) {
        self.faults.insert(self.number(n), Fault::Fail(errno));
    }

    pub(super) fn plan_short(&mut self, n: u64, errno: Errno, written: usize) {
        self.faults.insert(self.number(n), Fault::Short(errno, written));
    }

    pub(super) fn plan_crash(&mut self, n: u64, tear: Tear) {
        self.faults.insert(self.number(n), Fault::Crash(tear));
    }

    pub(super) fn plan_lasting(&mut self, n: u64, errno: Errno, concerns: Box<dyn Fn(CallKind) -> bool + Send>) {
        self.lasting = Some(Lasting { from: self.number(n), errno, concerns });
    }

    pub(super) fn plan_hook(&mut self, n: u64, hook: Hook) {
        self.hooks.push((self.number(n), hook));
    }

    pub(super) fn heal(&mut self) {
        self.faults.clear();
        self.next_write = None;
        self.lasting = None;
    }

    /// Returns the number that the `n`-th call from now will have.
    fn number(&self, n: u64) -> u64 {
        assert!(n >= 1, "the next call is call 1");
        self.n_calls + n
    }

    /// Counts a call, and returns the hooks to run just before it.
    pub(super) fn begin(&mut self) -> (u64, Vec<Hook>) {
        self.n_calls += 1;
        let number = self.n_calls;
        let due = self.hooks.extract_if(.., |(at, _)| *at == number);
        (number, due.map(|(_, hook)| hook).collect())
    }

    /// Decides the fate of a call, which may be a write of `length` bytes.
    pub(super) fn judge(&mut self, number: u64, kind: CallKind, length: usize) -> Verdict {
        if kind.is_write()
            && let Some(errno) = self.next_write.take()
        {
            return Verdict::Fail(errno);
        }
        match self.faults.remove(&number) {
            Some(Fault::Fail(errno)) => return Verdict::Fail(errno),
            Some(Fault::Short(errno, written)) if kind.is_write() => {
                self.next_write = Some(errno);
                return Verdict::Do(written.min(length));
            }
            Some(Fault::Crash(tear)) => {
                let length = tear.of(length);
                let is_done = tear == Tear::All || (kind.is_write() && length > 0);
                return Verdict::Die { length, is_done };
            }
            Some(Fault::Short(..)) | None => {}
        }
        match &self.lasting {
            Some(lasting) if number >= lasting.from && (lasting.concerns)(kind) => Verdict::Fail(lasting.errno),
            _ => Verdict::Do(length),
        }
    }
}
