//! What events carry, in Rust and as JSON.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::compaction::{CompactionSettings, FileOperations};
use sessile_core::json::{JsText, Json, ObjectWriter, write_text};

use super::RecoveryReason;
use super::kind::EventKind;
use crate::manager::ForkPosition;

/// Something that happens in a session, as handlers, hooks and clients are told of it.
///
/// [`SessionEvent::to_json`] has pi's names and shapes where pi has the event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// `session_start`
    Start {
        /// Why.
        reason: StartReason,
        /// The file of the session that was left for it.
        previous_session_file: Option<PathBuf>,
    },
    /// `session_before_switch`
    BeforeSwitch {
        /// Why.
        reason: SwitchReason,
        /// The file that is to be opened.
        target_session_file: Option<PathBuf>,
    },
    /// `session_before_fork`
    BeforeFork {
        /// The entry that is forked at.
        entry_id: EntryId,
        /// On which side of it.
        position: ForkPosition,
    },
    /// `session_fork`
    Fork {
        /// The file that was forked from; none in memory.
        previous_session_file: Option<PathBuf>,
        /// The file of the fork; none in memory.
        session_file: Option<PathBuf>,
        /// The entry that was forked at.
        entry_id: EntryId,
        /// On which side of it.
        position: ForkPosition,
    },
    /// `session_before_tree`
    BeforeTree(TreePreparation),
    /// `session_tree`
    Tree {
        /// Where one is now.
        new_leaf_id: Option<EntryId>,
        /// Where one was.
        old_leaf_id: Option<EntryId>,
        /// The summary of what was left, if one was written.
        summary_entry: Option<Json>,
        /// Whether a handler made the summary; none if there is no summary.
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
        /// Why.
        reason: CompactReason,
        /// Whether what did not fit is tried again.
        will_retry: bool,
    },
    /// `session_compact_failed`
    CompactFailed {
        /// Why it was tried.
        reason: CompactReason,
        /// What went wrong; none if somebody stopped it.
        error_message: Option<String>,
        /// Whether somebody stopped it.
        aborted: bool,
        /// Whether what did not fit is tried again.
        will_retry: bool,
        /// Whether a handler had made the summary.
        from_extension: bool,
    },
    /// `session_info_changed`
    InfoChanged {
        /// The session's name; none if it has none any more.
        name: Option<String>,
    },
    /// `session_shutdown`
    Shutdown {
        /// Why.
        reason: ShutdownReason,
        /// The file of the session that takes its place.
        target_session_file: Option<PathBuf>,
    },
    /// `entry_appended`
    EntryAppended {
        /// The session's file; none in memory.
        session_path: Option<PathBuf>,
        /// The entry, as it is stored.
        entry: Json,
        /// Whether we wrote it.
        own: bool,
    },
    /// `leaf_moved`
    LeafMoved {
        /// Where it is.
        leaf_id: Option<EntryId>,
        /// Where it was.
        previous_leaf_id: Option<EntryId>,
        /// What moved it.
        reason: LeafMove,
    },
    /// `divergence`
    Divergence {
        /// Our entry.
        leaf_id: EntryId,
        /// The last entry of the other program.
        foreign_leaf_id: EntryId,
        /// The last entry both have in common.
        common_ancestor_id: Option<EntryId>,
    },
    /// `recovered`
    Recovered {
        /// The entries, oldest first.
        entry_ids: Vec<EntryId>,
        /// How they had been destroyed.
        reason: RecoveryReason,
    },
    /// `session_deleted`
    Deleted {
        /// Where it was.
        session_path: PathBuf,
        /// Whether it is in a trash.
        trashed: bool,
    },
}

/// A tree navigation that is about to happen.
#[derive(Clone, Debug, PartialEq)]
pub struct TreePreparation {
    /// Where one goes.
    pub target_id: EntryId,
    /// Where one is.
    pub old_leaf_id: Option<EntryId>,
    /// The last entry that both paths have.
    pub common_ancestor_id: Option<EntryId>,
    /// The entries that are left, oldest first.
    pub entries_to_summarize: Vec<Json>,
    /// Whether a summary is wanted.
    pub user_wants_summary: bool,
    /// What the summary should look at in particular.
    pub custom_instructions: Option<String>,
    /// Whether that stands instead of the summarizer's own instructions.
    pub replace_instructions: bool,
    /// The label that is wanted.
    pub label: Option<String>,
}

/// A compaction that is about to happen.
#[derive(Clone, Debug, PartialEq)]
pub struct BeforeCompact {
    /// The first entry that is to be kept.
    pub first_kept_entry_id: EntryId,
    /// What the summary is to stand for.
    pub messages_to_summarize: Vec<Json>,
    /// The beginning of the turn that the cut goes through.
    pub turn_prefix_messages: Vec<Json>,
    /// Whether the cut goes through a turn.
    pub is_split_turn: bool,
    /// The tokens of the context before.
    pub tokens_before: f64,
    /// The summary of the compaction before.
    pub previous_summary: Option<JsText<'static>>,
    /// The files all of this was about.
    pub files: FileOperations,
    /// How much is kept.
    pub settings: CompactionSettings,
    /// The whole path to the leaf.
    pub branch_entries: Vec<Json>,
    /// What the summary should look at in particular.
    pub custom_instructions: Option<String>,
    /// Why.
    pub reason: CompactReason,
    /// Whether what did not fit is tried again afterwards.
    pub will_retry: bool,
}

/// An enumeration whose values are words.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// The word for it.
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
    /// Why a session has begun.
    StartReason {
        /// The program has.
        Startup = "startup",
        /// The program has read its handlers anew.
        Reload = "reload",
        /// A new session was wanted.
        New = "new",
        /// Another session was wanted.
        Resume = "resume",
        /// It was made of a part of another one.
        Fork = "fork",
    }
}

words! {
    /// Why another session takes the place of this one.
    SwitchReason {
        /// A new session is wanted.
        New = "new",
        /// Another session is wanted.
        Resume = "resume",
    }
}

words! {
    /// Why a session has ended.
    ShutdownReason {
        /// The program ends.
        Quit = "quit",
        /// The program reads its handlers anew.
        Reload = "reload",
        /// A new session takes its place.
        New = "new",
        /// Another session takes its place.
        Resume = "resume",
        /// A fork of it takes its place.
        Fork = "fork",
    }
}

words! {
    /// Why a session is compacted.
    CompactReason {
        /// Somebody asked for it.
        Manual = "manual",
        /// The window is almost full.
        Threshold = "threshold",
        /// Something did not fit into the window.
        Overflow = "overflow",
    }
}

words! {
    /// What moved a leaf.
    LeafMove {
        /// Somebody went to an entry.
        Branch = "branch",
        /// Somebody went to before all entries.
        Reset = "reset",
        /// Somebody navigated in the tree.
        Navigate = "navigate",
        /// Somebody went to the last entry of the file.
        Follow = "follow",
        /// A compaction came behind what others had added meanwhile.
        Compact = "compact",
        /// A write was made on top of the last entry of the file.
        Expect = "expect",
        /// The file was opened again at the last entry that is known to be on disk.
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

impl ForkPosition {
    /// The word for it.
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
        }
    }

    /// The event as JSON, `type` first. What is absent is left out; where one can be nowhere, that is `null`.
    pub fn to_json(&self) -> Json {
        self.to_object().finish()
    }

    /// The event as JSON to which more can be added.
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
                place(&mut json, "newLeafId", new_leaf_id.as_ref());
                place(&mut json, "oldLeafId", old_leaf_id.as_ref());
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
                place(&mut json, "leafId", leaf_id.as_ref());
                place(&mut json, "previousLeafId", previous_leaf_id.as_ref());
                json.string("reason", reason.word());
            }
            Self::Divergence { leaf_id, foreign_leaf_id, common_ancestor_id } => {
                json.text("leafId", leaf_id.as_text()).text("foreignLeafId", foreign_leaf_id.as_text());
                place(&mut json, "commonAncestorId", common_ancestor_id.as_ref());
            }
            Self::Recovered { entry_ids, reason } => {
                let ids: Vec<Json> = entry_ids.iter().map(EntryId::to_json).collect();
                json.array("entryIds", ids.iter().map(Json::raw)).string("reason", reason.word());
            }
            Self::Deleted { session_path, trashed } => {
                path(&mut json, "sessionPath", Some(session_path));
                json.bool("trashed", *trashed);
            }
        }
        json
    }
}

impl TreePreparation {
    /// The preparation in pi's words.
    pub fn to_json(&self) -> Json {
        let mut json = ObjectWriter::new();
        json.text("targetId", self.target_id.as_text());
        place(&mut json, "oldLeafId", self.old_leaf_id.as_ref());
        place(&mut json, "commonAncestorId", self.common_ancestor_id.as_ref());
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
    /// The `preparation` of the event in pi's words.
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

/// The files as arrays: what pi's extensions see as sets has no other form in JSON.
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

/// A place in the tree, which may be before all entries.
fn place(json: &mut ObjectWriter, key: &str, value: Option<&EntryId>) {
    match value {
        Some(id) => json.text(key, id.as_text()),
        None => json.null(key),
    };
}
