//! The torture bench: faults at every point, and no acknowledged entry may be lost.
//!
//! [`simulated`] runs the engine on a simulated operating system and is deterministic. [`processes`] stresses real
//! processes on a real kernel.

pub mod processes;
#[cfg(unix)]
pub mod simulated;
