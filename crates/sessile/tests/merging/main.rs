//! Merging while other programs write, fail or die.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]
#![expect(clippy::disallowed_methods, reason = "tests access files directly")]

mod faults;
mod growing;
mod odd_files;
mod stage;
mod together;
