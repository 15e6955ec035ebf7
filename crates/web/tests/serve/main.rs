//! The server as its clients see it, over real sockets. No test depends on how long something takes.
#![cfg(feature = "serve")]
#![expect(clippy::disallowed_methods, reason = "tests write session files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod hosts;
mod live;
mod pages;
mod requests;
mod secrets;
mod sign_in;
mod site;
mod stats;
mod writes;
