//! The building blocks of the format: lines, outlines, versions, marks, and words for what is odd in a file.
//!
//! Most programs need only the modules at the root of the crate.

pub use sessile_core::format::*;
