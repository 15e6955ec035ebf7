//! The scanner finds what it must, and nothing else.

#![expect(clippy::unwrap_used, clippy::string_slice, clippy::format_collect, reason = "tests panic on failure")]

mod contexts;
mod corpus;
mod encodings;
mod formats;
mod negatives;
mod properties;
