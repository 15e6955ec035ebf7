//! The data of events, in Rust and as JSON.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::compaction::{CompactionSettings, FileOperations};
use sessile_core::json::{JsText, Json, ObjectWriter, write_text};
use sessile_store::Holder;

use super::kind::EventKind;
use super::{FileChange, RecoveryReason};

/// Something that happens in a session, as reported to handlers, hooks and clients.
///
/// [`SessionEvent::to_json`] has pi's names and shapes where pi has the event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// `session_start`
    Start {
        /// The reason.
        reason: StartReason,
        /// The file of the previous session.
        previous_session_file: Option<PathBuf>,
    },
    /// `session_before_switch`
    BeforeSwitch {
        /// The reason.
        reason: SwitchReason,
        /// The file to open.
        target_session_file: Option<PathBuf>,
    },
    /// `session_before_fork`
    BeforeFork {
        /// The entry to fork at.
        entry_id: EntryId,
        /// The side of the entry.
        position: ForkPosition,
    },
    /// `session_fork`
    Fork {
        /// The file of the original; `None` in memory.
        previous_session_file: Option<PathBuf>,
        /// The file of the fork; `None` in memory.
        session_file: Option<PathBuf>,
        /// The entry at which it was forked.
        entry_id: EntryId,
        /// The side of the entry.
        position: ForkPosition,
    },
    /// `session_before_tree`
    BeforeTree(TreePreparation),
    /// `session_tree`
    Tree {
        /// The leaf now.
        new_leaf_id: Option<EntryId>,
        /// The leaf before.
        old_leaf_id: Option<EntryId>,
        /// The summary of the abandoned branch, if one was written.
        summary_entry: Option<Json>,
        /// Whether a handler made the summary; `None` if there is no summary.
        from_extension: Option<bool>,
    },
    /// `session_before_compact`
    BeforeCompact(Box<BeforeCompact>),
    /// `session_compact`
    Compact {
        /// The entry that was written.
        compaction_entry: Json,
        /// Whether a handler made the summary.
        from_extension: bool,
        /// The reason.
        reason: CompactReason,
        /// Whether the request that did not fit is retried.
        will_retry: bool,
    },
    /// `session_compact_failed`
    CompactFailed {
        /// The reason for the attempt.
        reason: CompactReason,
        /// The error; `None` if the compaction was cancelled.
        error_message: Option<String>,
        /// Whether the compaction was cancelled.
        aborted: bool,
        /// Whether the request that did not fit is retried.
        will_retry: bool,
        /// Whether a handler had made the summary.
        from_extension: bool,
    },
    /// `session_info_changed`
    InfoChanged {
        /// The session's name; `None` if it was removed.
        name: Option<String>,
    },
    /// `session_shutdown`
    Shutdown {
        /// The reason.
        reason: ShutdownReason,
        /// The file of the next session.
        target_session_file: Option<PathBuf>,
    },
    /// `entry_appended`
    EntryAppended {
        /// The session's file; `None` in memory.
        session_path: Option<PathBuf>,
        /// The stored entry.
        entry: Json,
        /// Whether we wrote it.
        own: bool,
    },
    /// `leaf_moved`
    LeafMoved {
        /// The leaf now.
        leaf_id: Option<EntryId>,
        /// The leaf before.
        previous_leaf_id: Option<EntryId>,
        /// The cause of the move.
        reason: LeafMove,
    },
    /// `divergence`
    Divergence {
        /// Our entry.
        leaf_id: EntryId,
        /// The last entry of the other program.
        foreign_leaf_id: EntryId,
        /// The last common entry.
        common_ancestor_id: Option<EntryId>,
    },
    /// `recovered`
    Recovered {
        /// The entries, oldest first.
        entry_ids: Vec<EntryId>,
        /// How they were destroyed.
        reason: RecoveryReason,
    },
    /// `session_deleted`
    Deleted {
        /// Its former path.
        session_path: PathBuf,
        /// Whether it is in the trash.
        trashed: bool,
    },
    /// `file_changed`: another program has changed the file other than by appending. It was read again.
    FileChanged {
        /// The kind of change.
        change: FileChange,
    },
    /// `file_gone`: the session's file no longer exists. Nothing is written until it exists again.
    FileGone,
    /// `written_unlocked`: another process did not release the lock in time, so we wrote without it.
    WrittenUnlocked {
        /// The lock holder, if known.
        holder: Option<Holder>,
    },
    /// `written_unguarded`: an entry was written, but could not be guarded against rewrites by other programs.
    WrittenUnguarded {
        /// The reason.
        reason: String,
    },
}

/// A navigation that is about to happen.
#[derive(Clone, Debug, PartialEq)]
pub struct TreePreparation {
    /// The target entry.
    pub target_id: EntryId,
    /// The current leaf.
    pub old_leaf_id: Option<EntryId>,
    /// The last entry common to both paths.
    pub common_ancestor_id: Option<EntryId>,
    /// The entries of the abandoned branch, oldest first.
    pub entries_to_summarize: Vec<Json>,
    /// Whether a summary is requested.
    pub user_wants_summary: bool,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether the custom instructions replace the summarizer's own.
    pub replace_instructions: bool,
    /// The requested label.
    pub label: Option<String>,
}

/// A compaction that is about to happen.
#[derive(Clone, Debug, PartialEq)]
pub struct BeforeCompact {
    /// The first entry to keep.
    pub first_kept_entry_id: EntryId,
    /// The messages that the summary will replace.
    pub messages_to_summarize: Vec<Json>,
    /// The beginning of the turn that is split by the cut.
    pub turn_prefix_messages: Vec<Json>,
    /// Whether the cut splits a turn.
    pub is_split_turn: bool,
    /// The tokens of the context before the compaction.
    pub tokens_before: f64,
    /// The summary of the previous compaction.
    pub previous_summary: Option<JsText<'static>>,
    /// The files that the summarised messages read, wrote or edited.
    pub files: FileOperations,
    /// How much to keep.
    pub settings: CompactionSettings,
    /// The whole path to the leaf.
    pub branch_entries: Vec<Json>,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// The reason.
    pub reason: CompactReason,
    /// Whether the request that did not fit is retried afterwards.
    pub will_retry: bool,
}

/// Defines an enumeration whose values have names in JSON.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// The name of the value.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}
pub(super) use words;

words! {
    /// Why a session starts.
    StartReason {
        /// The program has started.
        Startup = "startup",
        /// The program has reloaded its handlers.
        Reload = "reload",
        /// The user requested a new session.
        New = "new",
        /// The user requested another session.
        Resume = "resume",
        /// It was forked from another session.
        Fork = "fork",
    }
}

words! {
    /// Why another session replaces this one.
    SwitchReason {
        /// The user requested a new session.
        New = "new",
        /// The user requested another session.
        Resume = "resume",
    }
}

words! {
    /// Why work in a session ends.
    ShutdownReason {
        /// The program is exiting.
        Quit = "quit",
        /// The program reloads its handlers.
        Reload = "reload",
        /// A new session replaces it.
        New = "new",
        /// Another session replaces it.
        Resume = "resume",
        /// A fork replaces it.
        Fork = "fork",
    }
}

words! {
    /// Why a session is compacted.
    CompactReason {
        /// The user requested it.
        Manual = "manual",
        /// The window is almost full.
        Threshold = "threshold",
        /// A request did not fit into the window.
        Overflow = "overflow",
    }
}

words! {
    /// The cause of a leaf move.
    LeafMove {
        /// A move to an entry.
        Branch = "branch",
        /// A move before all entries.
        Reset = "reset",
        /// A navigation in the tree.
        Navigate = "navigate",
        /// A move to the last entry of the file.
        Follow = "follow",
        /// A compaction was appended after entries that another program had added in the meantime.
        Compact = "compact",
        /// A write followed the expected last entry of the file.
        Expect = "expect",
        /// The file was opened again at the last entry known to be on disk.
        Reopen = "reopen",
    }
}

impl From<SwitchReason> for StartReason {
    fn from(reason: SwitchReason) -> Self {
        match reason {
            SwitchReason::New => Self::New,
            SwitchReason::Resume => Self::Resume,
        }
    }
}

impl From<SwitchReason> for ShutdownReason {
    fn from(reason: SwitchReason) -> Self {
        match reason {
            SwitchReason::New => Self::New,
            SwitchReason::Resume => Self::Resume,
        }
    }
}

/// The side of an entry at which a fork is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkPosition {
    /// Omits the entry so that its text can be edited and sent again.
    Before,
    /// Keeps the entry as the last one of the fork.
    At,
}

impl ForkPosition {
    /// The name of the position.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::At => "at",
        }
    }
}

impl SessionEvent {
    /// Its kind.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Start { .. } => EventKind::SessionStart,
            Self::BeforeSwitch { .. } => EventKind::SessionBeforeSwitch,
            Self::BeforeFork { .. } => EventKind::SessionBeforeFork,
            Self::Fork { .. } => EventKind::SessionFork,
            Self::BeforeTree(_) => EventKind::SessionBeforeTree,
            Self::Tree { .. } => EventKind::SessionTree,
            Self::BeforeCompact(_) => EventKind::SessionBeforeCompact,
            Self::Compact { .. } => EventKind::SessionCompact,
            Self::CompactFailed { .. } => EventKind::SessionCompactFailed,
            Self::InfoChanged { .. } => EventKind::SessionInfoChanged,
            Self::Shutdown { .. } => EventKind::SessionShutdown,
            Self::EntryAppended { .. } => EventKind::EntryAppended,
            Self::LeafMoved { .. } => EventKind::LeafMoved,
            Self::Divergence { .. } => EventKind::Divergence,
            Self::Recovered { .. } => EventKind::Recovered,
            Self::Deleted { .. } => EventKind::SessionDeleted,
            Self::FileChanged { .. } => EventKind::FileChanged,
            Self::FileGone => EventKind::FileGone,
            Self::WrittenUnlocked { .. } => EventKind::WrittenUnlocked,
            Self::WrittenUnguarded { .. } => EventKind::WrittenUnguarded,
        }
    }

    /// The event as JSON, `type` first. Absent values are omitted; a leaf before all entries is `null`.
    pub fn to_json(&self) -> Json {
        self.to_object().finish()
    }

    /// The event as a JSON object to which members can be added.
    pub fn to_object(&self) -> ObjectWriter {
        let mut json = ObjectWriter::new();
        json.string("type", self.kind().name());
        match self {
            Self::Start { reason, previous_session_file } => {
                json.string("reason", reason.word());
                path(&mut json, "previousSessionFile", previous_session_file.as_deref());
            }
            Self::BeforeSwitch { reason, target_session_file } => {
                json.string("reason", reason.word());
                path(&mut json, "targetSessionFile", target_session_file.as_deref());
            }
            Self::BeforeFork { entry_id, position } => {
                json.text("entryId", entry_id.as_text()).string("position", position.word());
            }
            Self::Fork { previous_session_file, session_file, entry_id, position } => {
                path(&mut json, "previousSessionFile", previous_session_file.as_deref());
                path(&mut json, "sessionFile", session_file.as_deref());
                json.text("entryId", entry_id.as_text()).string("position", position.word());
            }
            Self::BeforeTree(preparation) => {
                json.raw("preparation", preparation.to_json().raw());
            }
            Self::Tree { new_leaf_id, old_leaf_id, summary_entry, from_extension } => {
                put_entry_id(&mut json, "newLeafId", new_leaf_id.as_ref());
                put_entry_id(&mut json, "oldLeafId", old_leaf_id.as_ref());
                json.optional("summaryEntry", summary_entry.as_ref().map(Json::raw));
                if let Some(from_extension) = from_extension {
                    json.bool("fromExtension", *from_extension);
                }
            }
            Self::BeforeCompact(before) => before.write(&mut json),
            Self::Compact { compaction_entry, from_extension, reason, will_retry } => {
                json.raw("compactionEntry", compaction_entry.raw()).bool("fromExtension", *from_extension);
                json.string("reason", reason.word()).bool("willRetry", *will_retry);
            }
            Self::CompactFailed { reason, error_message, aborted, will_retry, from_extension } => {
                json.string("reason", reason.word());
                text(&mut json, "errorMessage", error_message.as_deref());
                json.bool("aborted", *aborted).bool("willRetry", *will_retry).bool("fromExtension", *from_extension);
            }
            Self::InfoChanged { name } => text(&mut json, "name", name.as_deref()),
            Self::Shutdown { reason, target_session_file } => {
                json.string("reason", reason.word());
                path(&mut json, "targetSessionFile", target_session_file.as_deref());
            }
            Self::EntryAppended { session_path, entry, own } => {
                path(&mut json, "sessionPath", session_path.as_deref());
                json.raw("entry", entry.raw()).bool("own", *own);
            }
            Self::LeafMoved { leaf_id, previous_leaf_id, reason } => {
                put_entry_id(&mut json, "leafId", leaf_id.as_ref());
                put_entry_id(&mut json, "previousLeafId", previous_leaf_id.as_ref());
                json.string("reason", reason.word());
            }
            Self::Divergence { leaf_id, foreign_leaf_id, common_ancestor_id } => {
                json.text("leafId", leaf_id.as_text()).text("foreignLeafId", foreign_leaf_id.as_text());
                put_entry_id(&mut json, "commonAncestorId", common_ancestor_id.as_ref());
            }
            Self::Recovered { entry_ids, reason } => {
                let ids: Vec<Json> = entry_ids.iter().map(EntryId::to_json).collect();
                json.array("entryIds", ids.iter().map(Json::raw)).string("reason", reason.word());
            }
            Self::Deleted { session_path, trashed } => {
                path(&mut json, "sessionPath", Some(session_path));
                json.bool("trashed", *trashed);
            }
            Self::FileChanged { change } => {
                json.string("change", change.word());
            }
            Self::FileGone => {}
            Self::WrittenUnlocked { holder } => {
                if let Some(holder) = holder {
                    json.integer("pid", i64::from(holder.pid)).string("host", &holder.host);
                }
            }
            Self::WrittenUnguarded { reason } => {
                json.string("reason", reason);
            }
        }
        json
    }
}

impl TreePreparation {
    /// The preparation in pi's format.
    pub fn to_json(&self) -> Json {
        let mut json = ObjectWriter::new();
        json.text("targetId", self.target_id.as_text());
        put_entry_id(&mut json, "oldLeafId", self.old_leaf_id.as_ref());
        put_entry_id(&mut json, "commonAncestorId", self.common_ancestor_id.as_ref());
        json.array("entriesToSummarize", self.entries_to_summarize.iter().map(Json::raw));
        json.bool("userWantsSummary", self.user_wants_summary);
        text(&mut json, "customInstructions", self.custom_instructions.as_deref());
        if self.replace_instructions {
            json.bool("replaceInstructions", true);
        }
        text(&mut json, "label", self.label.as_deref());
        json.finish()
    }
}

impl BeforeCompact {
    /// The `preparation` of the event in pi's format.
    pub fn preparation_json(&self) -> Json {
        let mut json = ObjectWriter::new();
        json.text("firstKeptEntryId", self.first_kept_entry_id.as_text())
            .array("messagesToSummarize", self.messages_to_summarize.iter().map(Json::raw))
            .array("turnPrefixMessages", self.turn_prefix_messages.iter().map(Json::raw))
            .bool("isSplitTurn", self.is_split_turn)
            .number("tokensBefore", self.tokens_before);
        if let Some(summary) = &self.previous_summary {
            json.text("previousSummary", summary);
        }
        json.raw("fileOps", files_json(&self.files).raw()).raw("settings", settings_json(&self.settings).raw());
        json.finish()
    }

    fn write(&self, json: &mut ObjectWriter) {
        json.raw("preparation", self.preparation_json().raw());
        json.array("branchEntries", self.branch_entries.iter().map(Json::raw));
        text(json, "customInstructions", self.custom_instructions.as_deref());
        json.string("reason", self.reason.word()).bool("willRetry", self.will_retry);
    }
}

/// The files as arrays: pi's extensions see sets, which JSON does not have.
fn files_json(files: &FileOperations) -> Json {
    let mut json = ObjectWriter::new();
    for (key, names) in [("read", &files.read), ("written", &files.written), ("edited", &files.edited)] {
        let names: Vec<Json> = names.iter().map(string).collect();
        json.array(key, names.iter().map(Json::raw));
    }
    json.finish()
}

fn settings_json(settings: &CompactionSettings) -> Json {
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut json = ObjectWriter::new();
    json.bool("enabled", settings.enabled)
        .integer("reserveTokens", tokens(settings.reserve_tokens))
        .integer("keepRecentTokens", tokens(settings.keep_recent_tokens));
    json.finish()
}

fn string(text: &JsText<'_>) -> Json {
    let mut json = Vec::new();
    write_text(text, &mut json);
    Json::parse(json).unwrap_or_else(|_| Json::null())
}

fn text(json: &mut ObjectWriter, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        json.string(key, value);
    }
}

fn path(json: &mut ObjectWriter, key: &str, value: Option<&Path>) {
    text(json, key, value.map(Path::to_string_lossy).as_deref());
}

/// An entry's id, or `null` for the place before all entries.
fn put_entry_id(json: &mut ObjectWriter, key: &str, value: Option<&EntryId>) {
    match value {
        Some(id) => json.text(key, id.as_text()),
        None => json.null(key),
    };
}
