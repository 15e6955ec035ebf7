//! Runs the user's own programs: hooks, and commands that create summaries.
//!
//! A program gets bytes on its standard input and answers with bytes on its standard output. It runs directly, without
//! a shell, in its own process group, with limits on time and output. When it exits or is killed, all its descendants
//! are killed with it. On Windows, which has no process groups, its descendants stay.
//!
//! The user's own lines, such as the one that resumes a session, run in a shell.

mod child;
mod shell;

pub use child::{Limits, ProgramEnd, ProgramResult, run};
pub use shell::shell;
