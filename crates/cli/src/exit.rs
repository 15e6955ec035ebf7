//! How a command ends.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded, or found something.
    Done,
    /// Nothing was found; or a check found a problem.
    Nothing,
    /// The arguments are invalid.
    Usage,
    /// Something could not be read or written.
    Error,
    /// Another process is already doing this.
    Busy,
    /// The user interrupted it.
    Interrupted,
    /// A signal ended it.
    Signalled(i32),
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Nothing => 1,
            Self::Usage => 2,
            Self::Error => 3,
            Self::Busy => 4,
            Self::Interrupted => 130,
            // The code that shells use for a process ended by a signal.
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
