//! What tests need: the genuine pi to compare with, a world that can be
//! replayed, and random sessions.
//!
//! [`Oracle`] runs pi 1.5.0 as a black box. [`Replay`] is an environment whose
//! clock and ids a test decides. [`observe`] looks at a session manager
//! through every window it has and puts what it sees in pi's words, so that the
//! two can be compared text by text. [`differential`] does that for random
//! sequences of operations, and a [`Stage`] for those that a test writes down.
//! [`compaction`] asks both what they would summarise of random branches.
//! [`rpc`] speaks with pi's RPC mode and with ours.
//! [`sim`] is an operating system whose calls fail and crash as a test wishes, and
//! [`torture`] wishes for everything that can go wrong.
//! [`torment`] torments real processes on a real kernel.
#![expect(clippy::disallowed_methods, reason = "tests make their own files, and look for pi in the environment")]
#![expect(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a test that cannot go on should stop")]

pub mod compaction;
pub mod differential;
pub mod observe;
mod oracle;
mod random;
mod replay;
pub mod rpc;
pub mod sim;
mod stage;
pub mod torment;
pub mod torture;

pub use oracle::{Answer, NO_ANSWER, Oracle, quoted};
pub use random::SplitMix;
pub use replay::Replay;
pub use stage::{Both, Stage, call, statically};
