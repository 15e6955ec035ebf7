//! The native part of the npm package `sessile`: pi's `SessionManager` on the engine.
//!
//! JavaScript holds the objects; this crate answers in rows (numbers) and lines (bytes), and never builds an entry. So
//! an entry that the program does not look at costs JavaScript nothing. Everything else that has a shape crosses as JSON text in the
//! shapes of [`sessile_rpc::answer`].
//!
//! A panic becomes an exception: see [`failure::caught`].
#![cfg_attr(test, allow(dead_code, reason = "napi exports nothing from a test program"))]
#![allow(unsafe_code, reason = "napi-derive generates it; there is none in these files")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::use_self,
    clippy::used_underscore_binding,
    reason = "JavaScript passes values, and napi-derive generates the rest"
)]
#![allow(missing_docs, unreachable_pub, reason = "nothing here is for Rust: index.d.ts documents the package")]

mod failure;
mod follow;
mod handle;
mod lines;
mod read;
mod store;
mod surroundings;
mod work;
mod write;
