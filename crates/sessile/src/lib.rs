//! Reads, extends, branches and projects the sessions of coding agents exactly
//! as pi 1.5.0 does, without losing a byte.
//!
//! An agent stores every conversation as an append-only file of JSON lines
//! whose entries form a tree. [`SessionManager`] is one such session, open for
//! reading and writing:
//!
//! ```
//! use sessile::SessionManager;
//!
//! let mut session = SessionManager::in_memory("/proj/project");
//! session.append_user_message("Why does the build fail?")?;
//! session.append_assistant_message("acme", "acme-1", "A missing feature.")?;
//! session.append_session_info("Broken build")?;
//!
//! let context = session.build_session_context()?;
//! assert_eq!(context.messages.len(), 2);
//! assert_eq!(context.settings.model.unwrap().model_name().unwrap(), "acme-1");
//! # Ok::<(), sessile::SessionError>(())
//! ```
//!
//! # Where to start
//!
//! | to… | use |
//! |---|---|
//! | create, open or continue a session | [`SessionManager::create`], [`open`](SessionManager::open), [`open_or_create`](SessionManager::open_or_create), [`continue_recent`](SessionManager::continue_recent) |
//! | choose the directory, durability, caches or handlers | [`Sessions`], the store that those functions use |
//! | append to it | [`append_user_message`](SessionManager::append_user_message) and its siblings, with [`draft`] messages, [`json::Json`] or `serde_json` values |
//! | go back and try something else | [`SessionManager::branch`], [`navigate`](SessionManager::navigate) and [`branch`] |
//! | turn a branch into a session | [`SessionManager::fork`], [`fork_from`](SessionManager::fork_from) |
//! | read it | [`SessionManager::branch_path`], [`tree`](SessionManager::tree), [`entries`](SessionManager::entries) with [`entry::Entry`] and [`message::Message`] |
//! | build the prompt for a model | [`SessionManager::build_session_context`], [`llm_messages`](SessionManager::llm_messages) |
//! | make room in the context | [`SessionManager::compact`] and [`compaction`] |
//! | write from several threads or programs | [`write::SharedSession`], [`SessionManager::append_if_last`] |
//! | list, find and group sessions | [`Sessions::list`], [`list`], [`reference`](mod@reference), [`group`] |
//! | find out which sessions changed a file | [`Sessions::file_history`] and [`files`] |
//! | search their text | [`Sessions::search`] and [`search`] |
//! | follow a session, or watch a store | [`Sessions::follow`], [`Sessions::watch_store`], [`follow`], [`watch`] |
//! | count tokens, costs and messages | [`Sessions::stats`] and [`stats`] |
//! | compare two branches or sessions | [`compare`] |
//! | name, label, archive, move, delete, prune, and undo | [`operations`] |
//! | find out what is wrong with a file, and repair it | [`verify`], [`repair`] |
//! | remove text from a session for good | [`scrub`] |
//! | export or import sessions | [`export`], [`import`] |
//! | find secrets, and make copies without them | [`redact`] |
//! | see what takes up disk space, and reduce it | [`disk`], [`clean`], [`caches`] |
//! | be a host: one current session, and handlers before and after changes | [`SessionHost`], [`event`], [`hooks`] |
//! | keep sessions somewhere else than in files | [`log`] |
//! | control time, ids and environment, or test without a disk | [`Environment`], [`Sessions::in_memory_system`], [`testing`] |
//!
//! Calls without options use pi's defaults: `list(cwd)`. The same call with options ends in `_with`: `list_with(cwd, …)`.
//!
//! The repository has examples under `crates/sessile/examples`: `append_and_resume`, `follow`, `search`,
//! `fork_and_compare`, `chat` (a host with compaction), `threaded_server` and `custom_log`.
//!
//! # Types of numbers
//!
//! - Ids are [`SessionId`] and [`EntryId`]: any text that a file may hold. Instants are [`time::Timestamp`].
//! - Numbers from files are `f64`, as in JavaScript: they may have a fraction. So are sums with them, such as
//!   [`compaction::Preparation::tokens_before`], the size of a context, or the tokens in [`stats`].
//! - Our own counts and limits are `u64`: the size of a context window, the settings of compaction, the
//!   tokens of a [`draft::TokenUsage`].
//!
//! # What you can rely on
//!
//! - Reading never writes. Opening a damaged, old or unfinished file does not change it.
//! - Writing only appends. There are four exceptions: upgrading a file of
//!   version 1 or 2 at the first write, repairing, moving to another working
//!   directory, and scrubbing. They swap in a complete new file. All but
//!   scrubbing keep the original.
//! - Data from other programs is copied byte for byte, never re-serialised.
//! - An error leaves the manager unchanged.
//! - New files are readable by their owner only.
//!
//! One decision is left to your program: a write beyond the file size limit
//! ends a process that does not handle the signal for it. Call
//! [`os::outlive_file_size_limit`] once at the start, or ignore `SIGXFSZ`, and
//! such a write returns an error like any other.
//!
//! Where Sessile differs from pi, it is safer; the repository's
//! `docs/compatibility.md` lists every difference with its reason.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FrontPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/hooks.md")]
struct Hooks;

mod attribution;
pub mod begin;
pub mod branch;
pub mod caches;
pub mod clean;
pub mod compaction;
pub mod compare;
mod compose;
pub mod details;
pub mod directory;
pub mod disk;
mod environment;
mod error;
pub mod event;
pub mod export;
pub mod files;
pub mod follow;
pub mod format;
pub mod group;
pub mod hooks;
mod host;
pub mod import;
mod journal;
mod known;
pub mod list;
pub mod log;
mod manager;
pub mod merge;
pub mod operations;
mod others;
mod parallel;
mod pins;
mod record;
pub mod redact;
mod redact_error;
pub mod reference;
mod remember;
pub mod repair;
mod repository;
pub mod rows;
pub mod sample;
pub mod scrub;
pub mod search;
mod secret;
mod session;
mod session_file;
mod sessions;
pub mod settings;
mod splice;
pub mod stats;
pub mod status;
pub mod sync;
pub mod team;
pub mod testing;
pub mod time;
pub mod title;
pub mod users;
pub mod verify;
pub mod watch;
mod world;
pub mod write;

pub use environment::{Environment, System};
pub use error::SessionError;
pub use host::SessionHost;
pub use manager::{NewSession, OpenOptions, SessionManager};
pub use sessile_core::cancel::Cancel;
pub use sessile_core::search as text;
pub use sessile_core::{
    EntryId, SessionId, context, date, draft, entries, entry, header, json, label, llm, message, tree,
};
pub use sessile_program::shell;
pub use sessile_store::{os, threads};
pub use sessions::Sessions;
