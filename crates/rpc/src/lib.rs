//! Sessions for programs in any language: commands, answers and events as JSON lines.
//!
//! An [`Engine`] holds the sessions and serves any number of clients at once, each over its own stream of bytes
//! ([`Engine::serve`]). Requests, answers and events are one JSON value per line. Commands of pi's RPC mode answer like
//! pi; all others are Sessile's own. [`catalogue`] lists all of them, with their parameters and answers.
//!
//! Front ends in the same process need no stream: [`Engine::call`] runs one command, and [`Engine::connect`] gives a
//! client that also has a current session, subscriptions and hooks, with an iterator over its events.
//!
//! ```
//! use sessile_rpc::{Engine, Options, Start};
//!
//! let engine = Engine::start(Options::new(sessile::Sessions::default()), &Start::Memory, None)?;
//! let requests = "{\"id\":1,\"type\":\"set_session_name\",\"name\":\"Tides\"}\n";
//! engine.serve(requests.as_bytes(), std::io::stdout());
//! // {"type":"session_info_changed","name":"Tides"}
//! // {"id":1,"type":"response","command":"set_session_name","success":true}
//! # Ok::<(), sessile_rpc::Failure>(())
//! ```

pub mod answer;
pub mod catalogue;
mod client;
mod command;
mod connection;
mod dispatch;
mod document;
mod engine;
mod envelope;
mod event_log;
mod failure;
mod frame;
mod local;
mod model;
mod options;
mod outbox;
mod server;
mod session;
pub mod shape;
#[cfg(unix)]
mod socket;
mod sync;

pub use document::{json_schema, reference_tables, typescript};
pub use engine::Engine;
pub use envelope::{NotARequest, Request};
pub use failure::{Code, Failure};
pub use frame::{MAX_RECORD, Record, Records};
pub use local::{Events, LocalClient};
pub use model::THINKING_LEVELS;
pub use options::{AnySummarizer, AskForTitle, AutoTitler, CompactionForModel, KnownModel, Options, Start};
#[cfg(unix)]
pub use socket::Socket;
