//! All tests of stores on servers, in one program, so that they share a server.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

mod contract;
#[cfg(unix)]
mod crash;
#[cfg(unix)]
mod encrypted;
#[cfg(unix)]
mod large;
#[cfg(unix)]
mod local;
#[cfg(unix)]
mod logins;
#[cfg(unix)]
mod matrix;
#[cfg(unix)]
mod network;
mod on_memory;
#[cfg(unix)]
mod on_postgres;
#[cfg(unix)]
mod pooled;
#[cfg(unix)]
mod revoked;
#[cfg(unix)]
mod rights;
#[cfg(unix)]
mod sealing;
#[cfg(unix)]
mod servers;
#[cfg(unix)]
mod storage;
