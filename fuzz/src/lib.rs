//! Properties that must hold for any input.
//!
//! Each module is a fuzz target: its `check` takes the fuzzer's bytes and panics if a property does not hold. The
//! programs in `targets/` only call it. [`session`] turns bytes into session files with deep structure.
//!
//! To add a target: a module with `check` here, a program in `targets/`, its `[[bin]]` in `Cargo.toml`, its line in
//! `TARGETS` of `xtask/src/fuzz.rs`, and at least one small input in `corpus/<name>/`. A test of `xtask` compares them.

pub mod agents;
pub mod entries;
pub mod lines;
pub mod migration;
pub mod records;
pub mod redact;
pub mod salvage;
pub mod session;
pub mod term_safe;
pub mod tree;
mod views;
