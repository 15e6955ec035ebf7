//! What commands answer.

use sessile::EntryId;
use sessile::json::{Json, Raw};

/// Something that can be read from the data of an answer.
pub trait Answer: Sized {
    /// Reads it; none if the data makes no sense.
    fn read(data: Option<&Json>) -> Option<Self>;
}

impl Answer for () {
    fn read(_data: Option<&Json>) -> Option<Self> {
        Some(())
    }
}

/// The data as it is.
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

/// Makes a structure whose members are read from the members of an object.
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
    /// What there is to know about a session at a glance.
    State {
        /// The provider and the id of the model.
        model: Option<(String, String)> = |data| Some(data.get("model").and_then(|model| text(model, "provider").zip(text(model, "id")))),
        /// The thinking level.
        thinking_level: String = |data| text(data, "thinkingLevel"),
        /// Whether a compaction or a summary is under way.
        is_compacting: bool = |data| flag(data, "isCompacting"),
        /// The session's file.
        session_file: Option<String> = |data| Some(text(data, "sessionFile")),
        /// The session's id.
        session_id: String = |data| text(data, "sessionId"),
        /// The session's name.
        session_name: Option<String> = |data| Some(text(data, "sessionName")),
        /// Whether the session should be compacted by itself.
        auto_compaction_enabled: bool = |data| flag(data, "autoCompactionEnabled"),
        /// How many messages the context has.
        message_count: f64 = |data| data.get("messageCount").and_then(Raw::as_number),
    }

    /// What was written.
    Written {
        /// The entry.
        entry_id: EntryId = |data| id(data, "entryId"),
        /// Where the session goes on.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
        /// What the entry survives: `memory`, `page-cache` or `disk`.
        durable: String = |data| text(data, "durable"),
    }

    /// Where the session goes on.
    Leaf {
        /// The entry; none before all entries.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
    }

    /// Whether a hook did not want it.
    Cancelled {
        /// Whether it did not.
        cancelled: bool = |data| flag(data, "cancelled"),
    }

    /// What came of a fork.
    Forked {
        /// The text of the message that was left out.
        text: Option<String> = |data| Some(text(data, "text")),
        /// Whether a hook did not want it.
        cancelled: bool = |data| flag(data, "cancelled"),
    }

    /// Where one has gone in the tree.
    Navigated {
        /// Whether a hook did not want it, or somebody stopped it.
        cancelled: bool = |data| flag(data, "cancelled"),
        /// The text of the message one went back to.
        editor_text: Option<String> = |data| Some(text(data, "editorText")),
        /// The summary that was written.
        summary_entry: Option<Json> = |data| Some(data.get("summaryEntry").map(Raw::to_json)),
        /// Where the session goes on.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
    }

    /// A session that was made.
    Made {
        /// Its file.
        session_path: Option<String> = |data| Some(text(data, "sessionPath")),
        /// Its id.
        session_id: String = |data| text(data, "sessionId"),
        /// Where it goes on.
        leaf_id: Option<EntryId> = |data| Some(id(data, "leafId")),
    }

    /// A compaction that was written.
    CompactionResult {
        /// The summary.
        summary: String = |data| text(data, "summary"),
        /// The first entry that is kept.
        first_kept_entry_id: Option<EntryId> = |data| Some(id(data, "firstKeptEntryId")),
        /// The tokens of the context before.
        tokens_before: f64 = |data| data.get("tokensBefore").and_then(Raw::as_number),
    }

    /// A subscription.
    Subscription {
        /// Its name.
        subscription: String = |data| text(data, "subscription"),
        /// What to give back to go on from here.
        cursor: String = |data| text(data, "cursor"),
    }

    /// What a search found.
    Hits {
        /// The hits, the best first.
        hits: Vec<Json> = |data| Some(data.get("hits")?.items().map(Raw::to_json).collect()),
    }
}
