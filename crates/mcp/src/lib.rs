//! Earlier sessions for agents: a server of the Model Context Protocol with eight tools that only read.
//!
//! A [`Server`] answers one client over two streams of bytes, one JSON value per line. It speaks all revisions of the
//! protocol: those that begin with `initialize`, and the stateless one of 2026, on the same pipe.
//!
//! Text of a session reaches an answer only through `outgoing`, which removes what a reader cannot see, replaces
//! secrets, and frames the text as data. `budget` keeps each answer below [`MAX_ANSWER`] bytes. `history` decides which
//! sessions an agent may see at all.
//!
//! ```
//! use sessile::Sessions;
//! use sessile_mcp::{Options, Server};
//!
//! let sessions = Sessions::in_memory_system();
//! sessions.create("/proj")?.append_user_message("Why is the tide early?")?;
//! let server = Server::new(Options::new(sessions, "/proj"));
//! let requests = concat!(
//!     r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#, "\n",
//!     r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_sessions"}}"#, "\n",
//! );
//! server.serve(requests.as_bytes(), std::io::stdout());
//! # Ok::<(), sessile::SessionError>(())
//! ```

mod arguments;
mod budget;
mod call;
mod client_config;
mod completion;
mod cursor;
mod deadline;
mod failure;
mod history;
mod job;
mod names;
mod options;
mod outgoing;
mod output;
mod prompts;
mod protocol;
mod render;
mod resources;
mod server;
mod tools;
mod work;

pub use budget::{DEFAULT_ANSWER, MAX_ANSWER, MIN_ANSWER};
pub use client_config::{Client, ClientConfig, client_config};
pub use options::{Options, Redaction};
pub use server::Server;
pub use tools::{ToolSize, tool_sizes};
