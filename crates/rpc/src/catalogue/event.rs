//! Every event and its fields.

use crate::shape::Field;
use crate::shape::Shape::{self, Count, Flag, List, Named, Text, Words};
use crate::shape::shared::{ENTRY_ID, ENTRY_OR_NULL};

/// An event: its name, its fields besides `type`, and when it is sent.
pub type EventShape = (&'static str, &'static [Field], &'static str);

/// The events of pi's stream: sent without a subscription, to every client of the session.
pub const STREAMED: &[EventShape] = &[
    ("session_info_changed", &[Field::optional("name", Text)], "The name of the session has changed or was removed."),
    ("thinking_level_changed", &[Field::new("level", Text)], "The thinking level has changed."),
    ("compaction_start", &[Field::new("reason", COMPACT_REASON)], "A compaction has started."),
    (
        "compaction_end",
        &[
            Field::new("reason", COMPACT_REASON),
            Field::optional("result", Named("CompactionResult")),
            Field::new("aborted", Flag),
            Field::new("willRetry", Flag),
            Field::optional("errorMessage", Text),
        ],
        "A compaction has ended.",
    ),
    (
        "summarization_retry_scheduled",
        &[
            Field::new("attempt", Count),
            Field::new("maxAttempts", Count),
            Field::new("delayMs", Count),
            Field::new("errorMessage", Text),
        ],
        "A summary failed and will be retried after a delay.",
    ),
    (
        "summarization_retry_attempt_start",
        &[Field::new("source", Words(&["compaction", "branchSummary"])), Field::optional("reason", COMPACT_REASON)],
        "A retry of a summary has started.",
    ),
    ("summarization_retry_finished", &[], "The retries have ended, with or without a summary."),
    (
        "queue_update",
        &[Field::new("steering", List(&Text)), Field::new("followUp", List(&Text))],
        "The queues have changed.",
    ),
    (
        "extension_error",
        &[Field::new("extensionPath", Text), Field::new("event", Text), Field::new("error", Text)],
        "A hook has failed and gave no answer.",
    ),
];

/// The events that clients can subscribe to.
pub const SUBSCRIBED: &[EventShape] = &[
    (
        "session_start",
        &[
            Field::new("reason", Words(&["startup", "reload", "new", "resume", "fork"])),
            Field::optional("previousSessionFile", Text),
        ],
        "A client has started to work in the session.",
    ),
    (
        "session_before_switch",
        &[Field::new("reason", Words(&["new", "resume"])), Field::optional("targetSessionFile", Text)],
        "A client is about to switch to another session.",
    ),
    (
        "session_before_fork",
        &[ENTRY_ID, Field::new("position", FORK_POSITION)],
        "A client is about to fork the session.",
    ),
    (
        "session_fork",
        &[
            Field::optional("previousSessionFile", Text),
            Field::optional("sessionFile", Text),
            ENTRY_ID,
            Field::new("position", FORK_POSITION),
        ],
        "The session was forked from another one.",
    ),
    (
        "session_before_tree",
        &[Field::new("preparation", Named("TreePreparation"))],
        "A client is about to move in the tree.",
    ),
    (
        "session_tree",
        &[
            Field::new("newLeafId", ENTRY_OR_NULL),
            Field::new("oldLeafId", ENTRY_OR_NULL),
            Field::optional("summaryEntry", Named("Entry")),
            Field::optional("fromExtension", Flag),
        ],
        "A client has moved in the tree.",
    ),
    (
        "session_before_compact",
        &[
            Field::new("preparation", Named("Preparation")),
            Field::new("branchEntries", List(&Named("Entry"))),
            Field::optional("customInstructions", Text),
            Field::new("reason", COMPACT_REASON),
            Field::new("willRetry", Flag),
        ],
        "A compaction is about to start.",
    ),
    (
        "session_compact",
        &[
            Field::new("compactionEntry", Named("Entry")),
            Field::new("fromExtension", Flag),
            Field::new("reason", COMPACT_REASON),
            Field::new("willRetry", Flag),
        ],
        "A compaction has succeeded.",
    ),
    (
        "session_compact_failed",
        &[
            Field::new("reason", COMPACT_REASON),
            Field::optional("errorMessage", Text),
            Field::new("aborted", Flag),
            Field::new("willRetry", Flag),
            Field::new("fromExtension", Flag),
        ],
        "A compaction has failed.",
    ),
    ("session_info_changed", &[Field::optional("name", Text)], "The name of the session has changed or was removed."),
    (
        "session_shutdown",
        &[
            Field::new("reason", Words(&["quit", "reload", "new", "resume", "fork"])),
            Field::optional("targetSessionFile", Text),
        ],
        "A client has left the session.",
    ),
    (
        "entry_appended",
        &[Field::optional("sessionPath", Text), Field::new("entry", Named("Entry")), Field::new("own", Flag)],
        "A program has appended an entry; own is true if this server wrote it.",
    ),
    (
        "leaf_moved",
        &[Field::new("leafId", ENTRY_OR_NULL), Field::new("previousLeafId", ENTRY_OR_NULL), Field::new("reason", Text)],
        "The leaf has moved, other than by an append to it.",
    ),
    (
        "divergence",
        &[Field::new("leafId", Text), Field::new("foreignLeafId", Text), Field::new("commonAncestorId", ENTRY_OR_NULL)],
        "An entry of this server is a sibling of another program's entry, not its child.",
    ),
    (
        "recovered",
        &[Field::new("entryIds", List(&Text)), Field::new("reason", Text)],
        "The server has restored entries that another program had destroyed.",
    ),
    ("session_deleted", &[Field::new("sessionPath", Text), Field::new("trashed", Flag)], "A session was deleted."),
    (
        "file_changed",
        &[Field::new("change", Words(&["truncated", "rewritten", "replaced"]))],
        "Another program has truncated, rewritten or replaced the session's file. The server has read it again.",
    ),
    ("file_gone", &[], "The session's file no longer exists."),
    (
        "written_unlocked",
        &[Field::optional("pid", Count), Field::optional("host", Text)],
        "Another process did not release the lock in time, so the server wrote an entry without it. Names the lock holder.",
    ),
    (
        "written_unguarded",
        &[Field::new("reason", Text)],
        "An entry was written, but could not be guarded against rewrites by other programs.",
    ),
];

const COMPACT_REASON: Shape = Words(&["manual", "threshold", "overflow"]);
const FORK_POSITION: Shape = Words(&["before", "at"]);

/// The names of all events that clients can subscribe to.
pub const EVENTS: &[&str] = &[
    "session_start",
    "session_before_switch",
    "session_before_fork",
    "session_fork",
    "session_before_tree",
    "session_tree",
    "session_before_compact",
    "session_compact",
    "session_compact_failed",
    "session_info_changed",
    "session_shutdown",
    "entry_appended",
    "leaf_moved",
    "divergence",
    "recovered",
    "session_deleted",
    "file_changed",
    "file_gone",
    "written_unlocked",
    "written_unguarded",
];

/// The events that hooks are asked about before they happen.
pub const HOOK_EVENTS: &[&str] =
    &["session_before_switch", "session_before_fork", "session_before_tree", "session_before_compact"];
