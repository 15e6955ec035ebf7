//! A client of `sessile rpc` for Rust programs.
//!
//! [`Client`] starts the program, connects to its socket, or uses any two streams. Every command is a method of
//! [`Target`], which selects the session: [`Client::current`], or [`Client::at`] for another one. Methods wait for the
//! answer; any number of threads may call them at once. Events and other unsolicited records arrive through
//! [`Client::next_event`].
//!
//! ```no_run
//! use sessile_client::Client;
//!
//! let client = Client::start("sessile", &["--session", "/proj/project/session.jsonl"])?;
//! let before = client.current().get_state()?;
//! let message = sessile::json::Json::parse(r#"{"role":"user","content":"hello","timestamp":1}"#).unwrap();
//! let written = client.current().expecting(None).append_message(&message);
//! println!("{:?} {:?}", before.session_name, written);
//! # Ok::<(), sessile_client::ClientError>(())
//! ```

mod answer;
mod command;
mod connection;

pub use answer::{
    Answer, BranchedSession, Cancelled, CompactionResult, Forked, Hits, Leaf, Navigated, State, Subscription, Written,
};
pub use command::{COMMANDS, OrNull, Target};
pub use connection::{Client, ClientError, EventRecord};
