//! The server as clients see it: lines in, lines out.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]
#![expect(clippy::string_slice, reason = "the positions come from searches in the same text")]
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    reason = "for short tests"
)]

mod budget;
mod injection;
mod paging;
mod protocol;
mod recording_os;
mod resources;
mod revisions;
mod robustness;
mod safety;
mod store;
mod time;
mod tools;
