//! Reads, extends, branches and projects the sessions of coding agents exactly
//! as pi 1.5.0 does, without losing a byte.
//!
//! An agent stores every conversation as an append-only file of JSON lines
//! whose entries form a tree. [`SessionManager`] is one such session, open for
//! reading and writing:
//!
//! ```
//! use sessile::{SessionManager, draft};
//!
//! let mut session = SessionManager::in_memory("/proj/project");
//! session.append_message(draft::UserMessage::new("Why does the build fail?", 1_763_164_800_000))?;
//! session.append_message(draft::AssistantMessage::new("acme", "acme-1", "A missing feature.", 1_763_164_801_000))?;
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
//! | start, open or continue a session | [`SessionManager::create`], [`open`](SessionManager::open), [`open_or_create`](SessionManager::open_or_create), [`continue_recent`](SessionManager::continue_recent) |
//! | use another directory for sessions | [`Sessions::with_session_dir`] |
//! | write only if no other program has written | [`SessionManager::append_if_last`] |
//! | append to it | the `append_…` methods with [`draft`] messages or any [`json::Json`] |
//! | go back and try something else | [`SessionManager::branch`], [`navigate`](SessionManager::navigate), [`branch_with_summary`](SessionManager::branch_with_summary) |
//! | turn a branch into a session | [`SessionManager::fork`], [`create_branched_session`](SessionManager::create_branched_session), [`fork_from`](SessionManager::fork_from) |
//! | view it | [`SessionManager::tree`], [`branch_path`](SessionManager::branch_path), [`entries`](SessionManager::entries), [`merge_base`](SessionManager::merge_base) |
//! | build the prompt for a model | [`SessionManager::build_session_context`], [`llm_messages`](SessionManager::llm_messages) |
//! | make room in the context | [`SessionManager::compact`] with a [`Summarizer`](compaction::Summarizer), [`context_usage`](SessionManager::context_usage), [`auto_compaction`](SessionManager::auto_compaction) |
//! | list sessions | [`SessionManager::list`], [`list_all`](SessionManager::list_all) |
//! | resolve a reference to a session or an entry | [`Sessions::find_session`], [`SessionManager::find_entry`] |
//! | pin sessions | [`Sessions::pin`], [`pins`](Sessions::pins) |
//! | group sessions by directory, project or family | [`group_by_cwd`], [`Sessions::group_by_project`], [`families`](Sessions::families) |
//! | search the text of sessions | [`Sessions::search`] with a [`text::query::Query`] |
//! | follow a session while another program appends to it | [`Sessions::follow`] |
//! | watch for new, changed and deleted sessions | [`Sessions::watch_store`] |
//! | count tokens, costs and messages | [`Sessions::stats`], [`Sessions::session_stats`] |
//! | get all details of one session | [`Sessions::details`] |
//! | compare two branches or sessions | [`compare::Comparison`] |
//! | see what takes up disk space, and reduce it | [`Sessions::disk_use`], [`disk_uses`](Sessions::disk_uses), [`slim`](Sessions::slim) |
//! | export a session | [`SessionManager::export`] |
//! | read typed values | [`entry::Entry`], [`message::Message`] |
//! | work on arrays of entries | [`entries`] |
//! | find out what is wrong with a file, and repair it | [`Sessions::verify`], [`Sessions::repair`] |
//! | name, label, archive, move, delete, prune, and undo | [`Sessions::rename`], [`relabel`](Sessions::relabel), [`archive`](Sessions::archive), [`move_session`](Sessions::move_session), [`delete`](Sessions::delete), [`prune`](Sessions::prune), [`undo`](Sessions::undo) |
//! | be a host: one current session, handlers that are called before and after changes | [`SessionHost`], [`Handlers`], [`SessionEvent`] |
//! | control time, ids and environment yourself | [`Environment`], [`Sessions`] |
//! | test your program without a disk | [`Sessions::in_memory_system`], [`SessionManager::open_in_memory`] |
//!
//! Without options, calls use pi's defaults: `list(cwd)`. The call with options ends in `_with`: `list_with(cwd, …)`.
//!
//! # What you can rely on
//!
//! - Reading never writes. Opening a damaged, old or unfinished file does not change it.
//! - Writing only appends. There are three exceptions: upgrading a file of
//!   version 1 or 2 at the first write, repairing, and moving to another
//!   working directory. They swap in a complete new file and keep the original.
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
#[doc = include_str!("../../../docs/hooks.md")]
struct Hooks;

mod begin;
mod caches;
mod clean;
pub mod compare;
mod compose;
mod details;
mod directory;
mod disk;
mod environment;
mod error;
mod event;
mod follow;
mod group;
mod hooks;
mod host;
mod import;
mod list;
pub mod log;
mod manager;
mod operations;
mod pins;
mod reference;
mod remember;
mod repair;
mod sample;
mod search;
mod session;
pub mod settings;
mod splice;
mod stats;
pub mod testing;
mod users;
mod verify;
mod watch;
mod world;

pub use begin::{Begin, StartedSession};
pub use caches::{CacheStatus, Rebuilding};
pub use clean::{Cleaned, Cleaning, KEPT_MS, LeftOver, Stays, TEMPORARY_MS};
pub use details::SessionDetails;
pub use directory::{agent_dir, default_session_dir, sessions_root};
pub use disk::{DiskOptions, DiskUse, DiskUses};
pub use environment::{Environment, System, local_time, time_of};
pub use error::SessionError;
pub use event::{
    BadReply, BeforeCompact, CompactReason, EventContext, EventKind, EventSet, FileChange, HandlerError,
    HandlerFailure, HandlerId, Handlers, LeafMove, Outcome, RecoveryReason, Reply, SessionEvent, ShutdownReason,
    StartReason, SwitchReason, TreePreparation, Verdict,
};
pub use follow::{FollowEvent, FollowFrom, FollowOptions, Follower};
pub use group::{
    CwdGroup, Family, FamilyMember, FamilyTree, Project, ProjectDirectory, ProjectOf, ProjectPlace, Relative, Who,
    group_by_cwd,
};
pub use hooks::{BadAnswer, HOOK_VARIABLE, HookError, HookFolder};
pub use host::SessionHost;
pub use import::{Imported, Importing};
pub use list::{
    Archived, Children, Copies, DamagedFile, ListOptions, Progress, Selection, SessionCandidate, SessionInfo, SortBy,
};
pub use manager::{
    BranchSummary, CompactOptions, Compacted, Compaction, CompactionPlan, CompactionRecord, CompactionReport,
    ContextUsage, ExportFormat, ExportOptions, FinishedCompaction, FinishedNavigation, ForkLinks, ForkMessage,
    ForkPosition, Forked, LeftBranch, ModelLimits, NavigateOptions, Navigated, NavigationPlan, NewSession, OpenOptions,
    Pending, PlannedCompaction, SessionManager, Sessions, SharedSession, SuppliedCompaction, TreeNode, UsageNote,
};
pub use operations::{
    Annotated, Deleted, DeletedSession, Deletion, InTrash, Kept, LastChange, Moved, Moving, Operation, OperationKind,
    OperationState, PruneScope, Pruned, Pruning, Reason, Reunited, SessionPlace, Slimmed, Slimming, Step, Stray,
    TrashedTo, Undone,
};
pub use reference::{EntryCandidate, ReferenceError, is_path};
pub use repair::{Change, Closed, Repair, RepairOptions};
pub use sample::{Sample, drop_old_samples, keep_sample, open_sample, write_sample};
pub use search::{Backlog, IndexOptions, OnPath, SearchHit, SearchOptions, SearchResult, SearchScope, Upkeep};
pub use sessile_core::cancel::Cancel;
pub use sessile_core::headerless::Headerless;
pub use sessile_core::search as text;
pub use sessile_core::stats::{OTHER_MODELS, Tally};
pub use sessile_core::verify::{Code, Finding, Remedy};
pub use sessile_core::{
    EntryId, acting, archive, bulk, cause, compaction, context, date, diagnostic, draft, entries, entry, head, header,
    incomplete, info, json, label, line, llm, location, message, migrate, nearest, outline, picture, tree, version,
};
pub use sessile_index::{CacheUsage, Dropped};
pub use sessile_store::{
    Busy, Durability, Durable, Holder, LeftoverKind, Restart, StoreError, TrashPlace, WriteOptions,
};
pub use sessile_store::{os, threads};
pub use sessile_text::Updated;
pub use session::Acknowledgement;
pub use stats::{Grouping, SessionStats, Stats, StatsGroup, StatsOptions};
pub use users::{AgentSign, SessionUser};
pub use verify::{HiddenRecord, Report, Verified};
pub use watch::{StoreEvent, StoreWatcher, WatchOptions};
