//! Typed answers to commands.

use sessile::json::{Json, Raw};
use sessile::{EntryId, SessionId};

/// A type that can be read from the data of an answer.
pub trait Answer: Sized {
    /// Reads the value; none if the data does not have the expected form.
    fn read(data: Option<&Json>) -> Option<Self>;
}

impl Answer for () {
    fn read(_data: Option<&Json>) -> Option<Self> {
        Some(())
    }
}

/// Returns the data unchanged.
impl Answer for Json {
    fn read(data: Option<&Json>) -> Option<Self> {
        data.cloned()
    }
}

fn text(data: Raw<'_>, key: &str) -> Option<String> {
    data.get(key).and_then(Raw::as_string)
}

fn id(data: Raw<'_>, key: &str) -> Option<EntryId> {
    data.get(key).and_then(Raw::as_text).map(EntryId::from)
}

fn flag(data: Raw<'_>, key: &str) -> Option<bool> {
    data.get(key).and_then(Raw::as_bool)
}

/// Defines structures whose fields are read from the members of an object.
macro_rules! answers {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident : $kind:ty = $read:expr,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq)]
            #[non_exhaustive]
            pub struct $name {
                $($(#[$doc])* pub $field: $kind,)*
            }

            impl Answer for $name {
                fn read(data: Option<&Json>) -> Option<Self> {
                    let data = data?.raw();
                    $(let read: fn(Raw<'_>) -> Option<$kind> = $read; let $field = read(data)?;)*
                    Some(Self { $($field,)* })
                }
            }
        )*
    };
}

answers! {
    /// A short overview of a session.
    State {
        /// The provider and the model's id.
        model: Option<(String, String)> = |data| Some(data.get("model").and_then(|model| text(model, "provider").zip(text(model, "id")))),
        /// The thinking level.
        thinking_level: String = |data| text(data, "thinkingLevel"),
        /// Whether a compaction or a branch summary is in progress.
        is_compacting: bool = |data| flag(data, "isCompacting"),
        /// The session's file.
        session_file: Option<String> = |data| Some(text(data, "sessionFile")),
        /// The session's id.
        session_id: SessionId = |data| text(data, "sessionId").map(SessionId::from),
        /// The session's name.
        session_name: Option<String> = |data| Some(text(data, "sessionName")),
        /// Whether automatic compaction is enabled.
        auto_compaction_enabled: bool = |data| flag(data, "autoCompactionEnabled"),
        /// How many messages the context has.
        message_count: f64 = |data| data.get("messageCount").and_then(Raw::as_number),
    }

    /// The result of a write.
    Written {
        /// The entry that was written.
        entry_id: EntryId = |data| id(data, "entryId"),
        /// The current leaf.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
        /// What the entry survives: `memory`, `page-cache`, `disk` or `server`.
        durable: String = |data| text(data, "durable"),
    }

    /// The current leaf.
    Leaf {
        /// The entry; none before the first entry.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
    }

    /// Whether a hook cancelled the command.
    Cancelled {
        /// True if a hook cancelled it.
        cancelled: bool = |data| flag(data, "cancelled"),
    }

    /// The result of a fork or a clone.
    Forked {
        /// The file of the new session, if the command named its source with `sessionPath`; the client then stays where
        /// it is.
        new_session_path: Option<String> = |data| Some(text(data, "newSessionPath")),
        /// The text of the message that was left out.
        text: Option<String> = |data| Some(text(data, "text")),
        /// Whether a hook cancelled it.
        cancelled: bool = |data| flag(data, "cancelled"),
    }

    /// The result of a move in the tree.
    Navigated {
        /// Whether a hook or an `abort` cancelled it.
        cancelled: bool = |data| flag(data, "cancelled"),
        /// The text of the user message that was selected.
        editor_text: Option<String> = |data| Some(text(data, "editorText")),
        /// The summary that was written.
        summary_entry: Option<Json> = |data| Some(data.get("summaryEntry").map(Raw::to_json)),
        /// The current leaf.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
    }

    /// A new session.
    BranchedSession {
        /// Its file.
        session_path: Option<String> = |data| Some(text(data, "sessionPath")),
        /// Its id.
        session_id: SessionId = |data| text(data, "sessionId").map(SessionId::from),
        /// Its leaf.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
    }

    /// A compaction that was written.
    CompactionResult {
        /// The summary.
        summary: String = |data| text(data, "summary"),
        /// The first entry that is kept.
        first_kept_entry_id: Option<EntryId> = |data| Some(id(data, "firstKeptEntryId")),
        /// The tokens of the context before the compaction.
        tokens_before: f64 = |data| data.get("tokensBefore").and_then(Raw::as_number),
    }

    /// A subscription.
    Subscription {
        /// Its name.
        subscription: String = |data| text(data, "subscription"),
        /// The cursor from which a later subscription can resume.
        cursor: String = |data| text(data, "cursor"),
    }

    /// The result of a search.
    Hits {
        /// The hits, best first.
        hits: Vec<Json> = |data| Some(data.get("hits")?.items().map(Raw::to_json).collect()),
    }
}
