//! The real operating system, which fails or ends the process at a chosen call.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use sessile::os::{Change, Layer, Layered, Os};

/// What happens at the chosen call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The process is killed before the call.
    Death,
    /// From this call on, the disk is full.
    FullDisk,
}

/// Counts the calls that change something.
#[derive(Debug)]
pub(super) struct Fault {
    fate: Fate,
    /// The call, counted from 1.
    at: u64,
    n_calls: AtomicU64,
}

impl Fault {
    pub(super) fn new(fate: Fate, at: u64) -> Arc<Self> {
        Arc::new(Self { fate, at, n_calls: AtomicU64::new(0) })
    }

    /// The system that it happens to.
    pub(super) fn os(self: &Arc<Self>) -> Arc<dyn Os> {
        Arc::new(Layered::new(Arc::clone(self)))
    }

    /// Whether fewer calls were made than it takes.
    pub(super) fn is_unused(&self) -> bool {
        self.n_calls.load(Ordering::SeqCst) < self.at
    }
}

impl Layer for Fault {
    fn before_change(&self, change: Change, _path: &Path) -> io::Result<()> {
        // What a full disk prevents.
        let needs_space = match change {
            Change::Create | Change::MakeDirectory | Change::Write => true,
            Change::Name | Change::Remove | Change::SetAttributes | Change::SetLength => false,
            Change::OpenToWrite | Change::Sync | Change::Lock => return Ok(()),
        };
        let number = self.n_calls.fetch_add(1, Ordering::SeqCst) + 1;
        match self.fate {
            Fate::Death if number == self.at => {
                kill_process(getpid(), Signal::KILL)?;
                loop {
                    std::thread::park();
                }
            }
            Fate::FullDisk if number >= self.at && needs_space => Err(io::Error::from(rustix::io::Errno::NOSPC)),
            _ => Ok(()),
        }
    }
}
