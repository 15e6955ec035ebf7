//! Every command as a method.

use sessile::json::{Json, ObjectWriter};

use crate::answer::{
    Answer, BranchedSession, Cancelled, CompactionResult, Forked, Hits, Leaf, Navigated, State, Subscription, Written,
};
use crate::connection::{Client, ClientError};

/// The session that commands apply to.
#[derive(Clone, Copy)]
pub struct Target<'c> {
    client: &'c Client,
    session_path: Option<&'c str>,
    expected_leaf: Option<OrNull<'c>>,
}

/// A name, or `null` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrNull<'n>(pub Option<&'n str>);

/// A parameter value.
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
        if let Some(value) = self {
            value.put(key, parameters);
        }
    }
}

impl Client {
    /// Targets the server's current session for this client.
    pub fn current(&self) -> Target<'_> {
        Target { client: self, session_path: None, expected_leaf: None }
    }

    /// Targets the session in a file.
    pub fn at<'c>(&'c self, session_path: &'c str) -> Target<'c> {
        Target { client: self, session_path: Some(session_path), expected_leaf: None }
    }
}

impl<'c> Target<'c> {
    /// Makes writes conditional on this leaf; `None` expects a session without entries.
    #[must_use]
    pub fn expecting(self, leaf: Option<&'c str>) -> Self {
        Self { expected_leaf: Some(OrNull(leaf)), ..self }
    }

    fn call<A: Answer>(&self, command: &'static str, mut parameters: ObjectWriter) -> Result<A, ClientError> {
        self.session_path.put("sessionPath", &mut parameters);
        self.expected_leaf.put("expectedLeaf", &mut parameters);
        let data = self.client.call(command, &parameters.finish())?;
        A::read(data.as_ref()).ok_or_else(|| ClientError::Unexpected {
            command,
            answer: data.map_or_else(|| "nothing".to_owned(), |data| data.to_text().into_owned()),
        })
    }
}

/// Defines a method for every command.
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
                    self.call($command, parameters)
                }
            )*
        }

        /// The commands that have a method.
        pub const COMMANDS: &[&str] = &[$($command),*];
    };
}

commands! {
    /// Returns a short overview of the session.
    get_state = "get_state"() -> State;
    /// Returns the messages of the context.
    get_messages = "get_messages"() -> Json;
    /// Returns the entries of all branches, or those after `since`.
    get_entries = "get_entries"(since: Option<&str> = "since") -> Json;
    /// Returns the whole tree.
    get_tree = "get_tree"() -> Json;
    /// Returns statistics of the session: messages, tokens, cost.
    get_session_stats = "get_session_stats"() -> Json;
    /// Returns the messages at which the session can be forked.
    get_fork_messages = "get_fork_messages"() -> Json;
    /// Returns the text of the last answer.
    get_last_assistant_text = "get_last_assistant_text"() -> Json;
    /// Names the session.
    set_session_name = "set_session_name"(name: &str = "name") -> ();
    /// Switches to a new session.
    new_session = "new_session"(parent_session: Option<&str> = "parentSession", cwd: Option<&str> = "cwd") -> Cancelled;
    /// Switches to another session.
    switch_session = "switch_session"(session_path: &str = "sessionPath") -> Cancelled;
    /// Switches to a copy that ends before a user message.
    fork = "fork"(entry_id: &str = "entryId") -> Forked;
    /// Switches to a copy of the path to the leaf.
    clone_session = "clone"() -> Forked;
    /// Replaces old entries with a summary.
    compact = "compact"(custom_instructions: Option<&str> = "customInstructions") -> CompactionResult;
    /// Enables or disables automatic compaction.
    set_auto_compaction = "set_auto_compaction"(enabled: bool = "enabled") -> ();
    /// Stops compactions and summaries.
    abort = "abort"() -> ();
    /// Records which model is used.
    set_model = "set_model"(provider: &str = "provider", model_id: &str = "modelId") -> Json;
    /// Returns the model of the session.
    get_available_models = "get_available_models"() -> Json;
    /// Returns null: there is no other model.
    cycle_model = "cycle_model"() -> Json;
    /// Records the thinking level.
    set_thinking_level = "set_thinking_level"(level: &str = "level") -> ();
    /// Returns the thinking levels of the model.
    get_available_thinking_levels = "get_available_thinking_levels"() -> Json;
    /// Records the next thinking level; null if the model is not known to think.
    cycle_thinking_level = "cycle_thinking_level"() -> Json;
    /// Sets how steering messages are delivered.
    set_steering_mode = "set_steering_mode"(mode: &str = "mode") -> ();
    /// Sets how follow-up messages are delivered.
    set_follow_up_mode = "set_follow_up_mode"(mode: &str = "mode") -> ();
    /// Empties the queues.
    clear_queue = "clear_queue"() -> Json;
    /// Accepted without effect.
    set_auto_retry = "set_auto_retry"(enabled: bool = "enabled") -> ();
    /// Accepted without effect.
    abort_retry = "abort_retry"() -> ();
    /// Accepted without effect.
    abort_bash = "abort_bash"() -> ();
    /// Returns the commands of extensions.
    get_commands = "get_commands"() -> Json;
    /// Writes the session as a web page, or in another format: `html`, `md`, `jsonl` or `json`.
    export_html = "export_html"(output_path: Option<&str> = "outputPath", format: Option<&str> = "format") -> Json;
    /// Adds a message.
    append_message = "append_message"(message: &Json = "message") -> Written;
    /// Records a change of the thinking level.
    append_thinking_level_change = "append_thinking_level_change"(level: &str = "thinkingLevel") -> Written;
    /// Records a change of the model.
    append_model_change = "append_model_change"(provider: &str = "provider", model_id: &str = "modelId") -> Written;
    /// Records a cost that does not belong to a message.
    append_usage = "append_usage"(kind: &str = "kind", provider: &str = "provider", model: &str = "model", usage: &Json = "usage", note: Option<&str> = "note") -> Written;
    /// Adds a compaction.
    append_compaction = "append_compaction"(summary: &str = "summary", first_kept: OrNull<'_> = "firstKeptEntryId", tokens_before: f64 = "tokensBefore", details: Option<&Json> = "details", from_hook: Option<bool> = "fromHook", usage: Option<&Json> = "usage") -> Written;
    /// Stores a program's own data.
    append_custom_entry = "append_custom_entry"(custom_type: &str = "customType", data: Option<&Json> = "data") -> Written;
    /// Adds a message of the client program, which the model sees.
    append_custom_message_entry = "append_custom_message_entry"(custom_type: &str = "customType", content: &Json = "content", display: bool = "display", details: Option<&Json> = "details") -> Written;
    /// Names the session.
    append_session_info = "append_session_info"(name: &str = "name") -> Written;
    /// Labels an entry.
    append_label_change = "append_label_change"(target_id: &str = "targetId", label: Option<&str> = "label") -> Written;
    /// Changes what the model sees of an entry.
    append_context_edit = "append_context_edit"(target_id: &str = "targetId", replacement: &Json = "replacement") -> Written;
    /// Goes to an entry and adds a summary of the branch that was left.
    branch_with_summary = "branch_with_summary"(entry_id: OrNull<'_> = "entryId", summary: &str = "summary", details: Option<&Json> = "details", from_hook: Option<bool> = "fromHook", usage: Option<&Json> = "usage") -> Written;
    /// Labels an entry.
    set_label = "set_label"(entry_id: &str = "entryId", label: Option<&str> = "label") -> Written;
    /// Names a session.
    rename_session = "rename_session"(session_path: &str = "sessionPath", name: &str = "name") -> Written;
    /// Archives or unarchives a session or one of its branches.
    archive_session = "archive_session"(entry_id: Option<&str> = "entryId", archived: Option<bool> = "archived") -> Written;
    /// Goes to an entry.
    branch = "branch"(entry_id: &str = "entryId") -> Leaf;
    /// Goes to the position before the first entry.
    reset_leaf = "reset_leaf"() -> Leaf;
    /// Goes to the last entry of the file.
    follow_leaf = "follow_leaf"() -> Leaf;
    /// Goes to another place in the tree.
    navigate_tree = "navigate_tree"(entry_id: &str = "entryId", summarize: Option<bool> = "summarize", custom_instructions: Option<&str> = "customInstructions", replace_instructions: Option<bool> = "replaceInstructions", label: Option<&str> = "label") -> Navigated;
    /// Switches to a copy of the path to an entry.
    create_branched_session = "create_branched_session"(entry_id: &str = "entryId") -> BranchedSession;
    /// Returns the entries from the root to an entry.
    get_branch = "get_branch"(entry_id: Option<&str> = "entryId") -> Json;
    /// Returns the children of an entry.
    get_children = "get_children"(parent_id: OrNull<'_> = "parentId") -> Json;
    /// Returns one entry.
    get_entry = "get_entry"(entry_id: &str = "entryId") -> Json;
    /// Returns the label of an entry.
    get_label = "get_label"(entry_id: &str = "entryId") -> Json;
    /// Returns the header of the session.
    get_header = "get_header"() -> Json;
    /// Returns the context that a model would see.
    build_session_context = "build_session_context"(leaf_id: Option<OrNull<'_>> = "leafId") -> Json;
    /// Returns the entries that make up the context.
    build_context_entries = "build_context_entries"(leaf_id: Option<OrNull<'_>> = "leafId") -> Json;
    /// Returns what a compaction would summarise and keep.
    prepare_compaction = "prepare_compaction"(keep_recent_tokens: Option<u64> = "keepRecentTokens") -> Json;
    /// Lists sessions.
    list_sessions = "list_sessions"(scope: Option<&str> = "scope", cwd: Option<&str> = "cwd", limit: Option<u64> = "limit", named: Option<bool> = "named", children: Option<&str> = "children", archived: Option<&str> = "archived") -> Json;
    /// Searches the text of sessions.
    search = "search"(query: &str = "query", scope: Option<&str> = "scope", limit: Option<u64> = "limit", filters: Option<&Json> = "filters", archived: Option<&str> = "archived") -> Hits;
    /// Looks for secrets in sessions.
    scan_secrets = "scan_secrets"(scope: Option<&str> = "scope", cwd: Option<&str> = "cwd", certain: Option<bool> = "certain") -> Json;
    /// Writes a copy of the session without its secrets.
    export_redacted = "export_redacted"(output_path: &str = "outputPath", level: Option<&str> = "level", also: Option<&[&str]> = "also", stable: Option<bool> = "stable") -> Json;
    /// Returns the session's parent and its forks.
    family = "family"() -> Json;
    /// Moves a session to the trash.
    delete_session = "delete_session"(session_path: &str = "sessionPath") -> Json;
    /// Restores a session from the trash.
    restore_session = "restore_session"(session_path: &str = "sessionPath") -> Json;
    /// Checks the session for damage.
    verify = "verify"() -> Json;
    /// Subscribes to events.
    subscribe = "subscribe"(events: Option<&[&str]> = "events", cursor: Option<&str> = "cursor", scope: Option<&str> = "scope") -> Subscription;
    /// Ends a subscription.
    unsubscribe = "unsubscribe"(subscription: &str = "subscription") -> ();
    /// Registers hooks, which the server calls before things happen.
    hook_register = "hook_register"(events: &[&str] = "events", timeout_ms: Option<u64> = "timeoutMs") -> ();
    /// Answers a hook request.
    hook_response = "hook_response"(request_id: &str = "requestId", result: Option<&Json> = "result", error: Option<&str> = "error") -> ();
}
