//! Stores in PostgreSQL.
//!
//! [`PostgresServer`] is a member's connection, [`Admin`] that of an administrator. Statements are unnamed and keep no
//! state in the connection, so pgbouncer works in transaction mode. Everything has a deadline.

mod admin;
mod authors;
mod codec;
mod config;
mod failure;
mod finding;
mod large;
mod membership;
mod packs;
mod reading;
mod rows;
mod sealing;
mod server;
mod socket;
mod team;
mod tls;
mod wire;
mod writing;

pub use admin::{Admin, Migrated};
pub use config::Config;
pub use membership::Joining;
pub use server::PostgresServer;

/// The version of the schema that this program uses.
pub const SCHEMA_VERSION: u32 = 1;
