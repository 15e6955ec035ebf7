//! Test tools: the genuine pi to compare with, an environment that can be replayed, and random sessions.
//!
//! - [`Oracle`] runs pi 1.5.0 as a black box.
//! - [`Replay`] is an environment whose clock and ids the test controls.
//! - [`Notices`] records what other programs did to a session.
//! - [`observe`] returns all views of a session manager in pi's format, so that the two can be compared as text.
//! - [`differential`] does that for random sequences of operations, and a [`SideBySide`] for sequences written by hand.
//! - [`compaction`] asks both what they would summarise of random branches.
//! - [`log_kit`] states what every log must do.
//! - [`resume`] lets pi resume sessions against a provider that checks signatures.
//! - [`rpc`] talks to pi's RPC mode and to ours.
//! - [`sim`] is an operating system whose calls fail and crash as the test demands.
//! - [`soak`] lets many programs use one store for hours and samples what they take.
//! - [`team_faults`] tries what can go wrong between machines and a real server.
//! - [`torture`] tries everything that can go wrong, on that system and with real processes on a real kernel.
//!
//! On Windows there are only those modules that need no calls of Unix.
#![expect(clippy::disallowed_methods, reason = "tests access files and the environment directly")]
#![expect(clippy::missing_panics_doc, clippy::unwrap_used, reason = "tests panic on failure")]

pub mod compaction;
pub mod differential;
pub mod log_kit;
mod notices;
pub mod observe;
mod oracle;
mod random;
mod replay;
pub mod resume;
pub mod rpc;
mod side_by_side;
#[cfg(unix)]
pub mod sim;
#[cfg(unix)]
pub mod soak;
#[cfg(unix)]
pub mod team_faults;
pub mod torture;

pub use notices::Notices;
pub use oracle::{Answer, NO_ANSWER, Oracle, quoted};
pub use random::SplitMix;
pub use replay::Replay;
pub use side_by_side::{Both, SideBySide, call, static_call};
