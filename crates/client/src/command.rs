//! Every command as a method.

use sessile::json::{Json, ObjectWriter};

use crate::answer::{
    Answer, Cancelled, CompactionResult, Forked, Hits, Leaf, Made, Navigated, State, Subscription, Written,
};
use crate::connection::{Client, ClientError};

/// A session that commands are about.
#[derive(Clone, Copy)]
pub struct Target<'c> {
    client: &'c Client,
    session_path: Option<&'c str>,
    expected_leaf: Option<OrNull<'c>>,
}

/// The name of something, or `null` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrNull<'n>(pub Option<&'n str>);

/// A value that is sent.
trait Parameter {
    fn put(&self, key: &str, parameters: &mut ObjectWriter);
}

impl Parameter for &str {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        parameters.string(key, self);
    }
}

impl Parameter for OrNull<'_> {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        match self.0 {
            Some(name) => parameters.string(key, name),
            None => parameters.null(key),
        };
    }
}

impl Parameter for bool {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        parameters.bool(key, *self);
    }
}

impl Parameter for u64 {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        parameters.integer(key, i64::try_from(*self).unwrap_or(i64::MAX));
    }
}

impl Parameter for f64 {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        parameters.number(key, *self);
    }
}

impl Parameter for &Json {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        parameters.raw(key, self.raw());
    }
}

impl Parameter for &[&str] {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        let words: Vec<Json> = self.iter().map(|word| Json::string(word)).collect();
        parameters.array(key, words.iter().map(Json::raw));
    }
}

impl<P: Parameter> Parameter for Option<P> {
    fn put(&self, key: &str, parameters: &mut ObjectWriter) {
        if let Some(given) = self {
            given.put(key, parameters);
        }
    }
}

impl<'c> Target<'c> {
    pub(crate) fn new(client: &'c Client, session_path: Option<&'c str>) -> Self {
        Self { client, session_path, expected_leaf: None }
    }

    /// The same session, written to only if this is its leaf; none for a session without entries.
    #[must_use]
    pub fn expecting(self, leaf: Option<&'c str>) -> Self {
        Self { expected_leaf: Some(OrNull(leaf)), ..self }
    }

    fn ask<A: Answer>(&self, command: &'static str, mut parameters: ObjectWriter) -> Result<A, ClientError> {
        self.session_path.put("sessionPath", &mut parameters);
        self.expected_leaf.put("expectedLeaf", &mut parameters);
        let data = self.client.call(command, &parameters.finish())?;
        A::read(data.as_ref()).ok_or_else(|| ClientError::Unexpected {
            command,
            answer: data.map_or_else(|| "nothing".to_owned(), |data| data.to_text().into_owned()),
        })
    }
}

/// Makes a method of every command.
macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $command:literal ($($parameter:ident : $kind:ty = $key:literal),*) -> $answer:ty;)*) => {
        impl Target<'_> {
            $(
                $(#[$doc])*
                #[expect(clippy::allow_attributes, reason = "some commands take many parameters, most do not")]
                #[allow(clippy::too_many_arguments)]
                pub fn $name(&self, $($parameter: $kind),*) -> Result<$answer, ClientError> {
                    #[expect(clippy::allow_attributes, reason = "not every command has parameters")]
                    #[allow(unused_mut)]
                    let mut parameters = ObjectWriter::new();
                    $($parameter.put($key, &mut parameters);)*
                    self.ask($command, parameters)
                }
            )*
        }

        /// The commands that have a method.
        pub const COMMANDS: &[&str] = &[$($command),*];
    };
}

commands! {
    /// What there is to know about the session at a glance.
    get_state = "get_state"() -> State;
    /// The messages of the context.
    get_messages = "get_messages"() -> Json;
    /// The entries of all branches, or those behind one.
    get_entries = "get_entries"(since: Option<&str> = "since") -> Json;
    /// The whole tree.
    get_tree = "get_tree"() -> Json;
    /// What the session took.
    get_session_stats = "get_session_stats"() -> Json;
    /// The messages at which one can fork.
    get_fork_messages = "get_fork_messages"() -> Json;
    /// What the last answer says.
    get_last_assistant_text = "get_last_assistant_text"() -> Json;
    /// Names the session.
    set_session_name = "set_session_name"(name: &str = "name") -> ();
    /// Leaves the session for a new one.
    new_session = "new_session"(parent_session: Option<&str> = "parentSession", cwd: Option<&str> = "cwd") -> Cancelled;
    /// Leaves the session for another one.
    switch_session = "switch_session"(session_path: &str = "sessionPath") -> Cancelled;
    /// Leaves the session for a copy that ends before a message of the user.
    fork = "fork"(entry_id: &str = "entryId") -> Forked;
    /// Leaves the session for a copy of the path to its leaf.
    clone_session = "clone"() -> Forked;
    /// Puts a summary in the place of what is old.
    compact = "compact"(custom_instructions: Option<&str> = "customInstructions") -> CompactionResult;
    /// Says whether the session should be compacted by itself.
    set_auto_compaction = "set_auto_compaction"(enabled: bool = "enabled") -> ();
    /// Stops compactions and summaries.
    abort = "abort"() -> ();
    /// Notes which model is used.
    set_model = "set_model"(provider: &str = "provider", model_id: &str = "modelId") -> Json;
    /// Notes how much the model thinks.
    set_thinking_level = "set_thinking_level"(level: &str = "level") -> ();
    /// How messages that steer would be taken.
    set_steering_mode = "set_steering_mode"(mode: &str = "mode") -> ();
    /// How messages that follow would be taken.
    set_follow_up_mode = "set_follow_up_mode"(mode: &str = "mode") -> ();
    /// Empties the queues.
    clear_queue = "clear_queue"() -> Json;
    /// Accepted.
    set_auto_retry = "set_auto_retry"(enabled: bool = "enabled") -> ();
    /// Accepted.
    abort_retry = "abort_retry"() -> ();
    /// Accepted.
    abort_bash = "abort_bash"() -> ();
    /// The commands of extensions.
    get_commands = "get_commands"() -> Json;
    /// Adds a message.
    append_message = "append_message"(message: &Json = "message") -> Written;
    /// Notes that the thinking level changed.
    append_thinking_level_change = "append_thinking_level_change"(level: &str = "thinkingLevel") -> Written;
    /// Notes that the model changed.
    append_model_change = "append_model_change"(provider: &str = "provider", model_id: &str = "modelId") -> Written;
    /// Notes a cost that belongs to no message.
    append_usage = "append_usage"(kind: &str = "kind", provider: &str = "provider", model: &str = "model", usage: &Json = "usage", note: Option<&str> = "note") -> Written;
    /// Adds a compaction.
    append_compaction = "append_compaction"(summary: &str = "summary", first_kept: OrNull<'_> = "firstKeptEntryId", tokens_before: f64 = "tokensBefore", details: Option<&Json> = "details", from_hook: Option<bool> = "fromHook", usage: Option<&Json> = "usage") -> Written;
    /// Keeps a program's own data.
    append_custom_entry = "append_custom_entry"(custom_type: &str = "customType", data: Option<&Json> = "data") -> Written;
    /// Adds a program's own message.
    append_custom_message_entry = "append_custom_message_entry"(custom_type: &str = "customType", content: &Json = "content", display: bool = "display", details: Option<&Json> = "details") -> Written;
    /// Names the session.
    append_session_info = "append_session_info"(name: &str = "name") -> Written;
    /// Labels an entry.
    append_label_change = "append_label_change"(target_id: &str = "targetId", label: Option<&str> = "label") -> Written;
    /// Changes what the model sees of an entry.
    append_context_edit = "append_context_edit"(target_id: &str = "targetId", replacement: &Json = "replacement") -> Written;
    /// Goes to an entry and notes there what happened on the branch left.
    branch_with_summary = "branch_with_summary"(entry_id: OrNull<'_> = "entryId", summary: &str = "summary", details: Option<&Json> = "details", from_hook: Option<bool> = "fromHook", usage: Option<&Json> = "usage") -> Written;
    /// Labels an entry.
    set_label = "set_label"(entry_id: &str = "entryId", label: Option<&str> = "label") -> Written;
    /// Names a session.
    rename_session = "rename_session"(session_path: &str = "sessionPath", name: &str = "name") -> Written;
    /// Archives a session, or a branch of it; or takes that back.
    archive_session = "archive_session"(entry_id: Option<&str> = "entryId", archived: Option<bool> = "archived") -> Written;
    /// Goes to an entry.
    branch = "branch"(entry_id: &str = "entryId") -> Leaf;
    /// Goes to before all entries.
    reset_leaf = "reset_leaf"() -> Leaf;
    /// Goes to the last entry of the file.
    follow_leaf = "follow_leaf"() -> Leaf;
    /// Goes elsewhere in the tree.
    navigate_tree = "navigate_tree"(entry_id: &str = "entryId", summarize: Option<bool> = "summarize", custom_instructions: Option<&str> = "customInstructions", replace_instructions: Option<bool> = "replaceInstructions", label: Option<&str> = "label") -> Navigated;
    /// Leaves the session for a copy of the path to an entry.
    create_branched_session = "create_branched_session"(entry_id: &str = "entryId") -> Made;
    /// The entries from the root to an entry.
    get_branch = "get_branch"(entry_id: Option<&str> = "entryId") -> Json;
    /// The entries below an entry.
    get_children = "get_children"(parent_id: OrNull<'_> = "parentId") -> Json;
    /// One entry.
    get_entry = "get_entry"(entry_id: &str = "entryId") -> Json;
    /// The label of an entry.
    get_label = "get_label"(entry_id: &str = "entryId") -> Json;
    /// The header of the session.
    get_header = "get_header"() -> Json;
    /// What a model would see.
    build_session_context = "build_session_context"(leaf_id: Option<OrNull<'_>> = "leafId") -> Json;
    /// The entries that the context is made of.
    build_context_entries = "build_context_entries"(leaf_id: Option<OrNull<'_>> = "leafId") -> Json;
    /// What compacting would summarise and keep.
    prepare_compaction = "prepare_compaction"(keep_recent_tokens: Option<u64> = "keepRecentTokens") -> Json;
    /// Lists sessions.
    list_sessions = "list_sessions"(scope: Option<&str> = "scope", cwd: Option<&str> = "cwd", limit: Option<u64> = "limit", named: Option<bool> = "named", children: Option<&str> = "children", archived: Option<&str> = "archived") -> Json;
    /// Finds what was said.
    search = "search"(query: &str = "query", scope: Option<&str> = "scope", limit: Option<u64> = "limit", filters: Option<&Json> = "filters", archived: Option<&str> = "archived") -> Hits;
    /// Whom a session was forked from, and what was forked from it.
    family = "family"() -> Json;
    /// Moves a session to the trash.
    delete_session = "delete_session"(session_path: &str = "sessionPath") -> Json;
    /// Brings a session back from the trash.
    restore_session = "restore_session"(session_path: &str = "sessionPath") -> Json;
    /// Looks for damage.
    verify = "verify"() -> Json;
    /// Asks to be told what happens.
    subscribe = "subscribe"(events: Option<&[&str]> = "events", cursor: Option<&str> = "cursor", scope: Option<&str> = "scope") -> Subscription;
    /// Ends a subscription.
    unsubscribe = "unsubscribe"(subscription: &str = "subscription") -> ();
    /// Asks to be asked before things happen.
    hook_register = "hook_register"(events: &[&str] = "events", timeout_ms: Option<u64> = "timeoutMs") -> ();
    /// Answers what was asked.
    hook_response = "hook_response"(request_id: &str = "requestId", result: Option<&Json> = "result", error: Option<&str> = "error") -> ();
}
