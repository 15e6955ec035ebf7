//! Every command with its parameters and answers, and every event. All descriptions of the protocol are generated from
//! this.
//!
//! The module [`answer`](crate::answer) writes the data of commands and the named shapes. Each command in `command/`
//! calls a function of it.

mod event;

pub use event::{EVENTS, EventShape, HOOK_EVENTS, STREAMED, SUBSCRIBED};

use crate::command::{
    CommandFn, agent, append, compact, export, hooks, navigate, read, replace, secrets, state, store, subscribe,
};
use crate::shape::Field;
use crate::shape::Shape::{self, Any, Count, Flag, List, Named, Null, Number, Object, OneOf, Text, Words};
pub use crate::shape::named_shapes;
use crate::shape::shared::{DETAILS, ENTRY_ID, ENTRY_OR_NULL, USAGE};

/// The origin of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A command of pi, which answers like pi.
    Pi,
    /// A command of pi that needs an agent, which this server does not have.
    Agent,
    /// A command of this server only.
    Sessile,
}

/// A command.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its name: the request's `type`.
    pub name: &'static str,
    /// A description in one line.
    pub description: &'static str,
    /// The origin.
    pub origin: Origin,
    /// The parameters, besides `id` and `type`.
    pub parameters: &'static [Field],
    /// The data of the answer; none if it has no data.
    pub data: Option<Shape>,
    /// Whether it refers to a session, and so takes a `sessionPath`.
    pub is_about_session: bool,
    /// Whether it adds an entry, and so takes an `expectedLeaf`.
    pub writes: bool,
    /// Whether it may take long, so that later commands may overtake it.
    pub takes_long: bool,
    pub(crate) run: CommandFn,
}

const NO_FIELDS: &[Field] = &[];

const fn command(name: &'static str, description: &'static str, run: CommandFn) -> Command {
    Command {
        name,
        description,
        origin: Origin::Sessile,
        parameters: NO_FIELDS,
        data: None,
        is_about_session: false,
        writes: false,
        takes_long: false,
        run,
    }
}

impl Command {
    const fn of_pi(self) -> Self {
        Self { origin: Origin::Pi, ..self }
    }

    const fn takes(self, parameters: &'static [Field]) -> Self {
        Self { parameters, ..self }
    }

    const fn gives(self, data: Shape) -> Self {
        Self { data: Some(data), ..self }
    }

    const fn of_session(self) -> Self {
        Self { is_about_session: true, ..self }
    }

    const fn writes(self) -> Self {
        Self { is_about_session: true, writes: true, data: Some(Named("Written")), ..self }
    }

    /// Like [`writes`](Self::writes()), but with the answer of pi.
    const fn guarded(self) -> Self {
        Self { is_about_session: true, writes: true, ..self }
    }

    const fn long(self) -> Self {
        Self { takes_long: true, ..self }
    }

    /// Returns the command of this name.
    pub fn of(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Returns all parameters, including those that many commands share.
    pub fn all_parameters(&self) -> impl Iterator<Item = &'static Field> {
        let of_session = if self.is_about_session { SESSION_PATH } else { NO_FIELDS };
        let of_write = if self.writes { EXPECTED_LEAF } else { NO_FIELDS };
        let own = |name: &str| self.parameters.iter().any(|field| field.name == name);
        let shared = of_session.iter().chain(of_write).filter(move |field| !own(field.name));
        self.parameters.iter().chain(shared)
    }
}

/// The session that a command refers to.
pub const SESSION_PATH: &[Field] =
    &[Field::optional("sessionPath", Text).about("path of the session; default: the current one")];

/// The leaf that a write expects.
pub const EXPECTED_LEAF: &[Field] = &[Field::optional("expectedLeaf", ENTRY_OR_NULL)
    .about("fail with LEAF_MOVED unless this is the leaf; null for a session without entries")];

const FROM_HOOK: Field = Field::optional("fromHook", Flag);
const ARCHIVED: Shape = OneOf(&[Flag, Words(&["shown", "hidden", "only"])]);
const ABOUT_ARCHIVED: &str = "archived sessions: hidden or false (default), shown, or only or true (no other sessions)";
const ABOUT_MEMBER: &str = "only sessions of this member of a team's store";
const ABOUT_PROJECT: &str = "only sessions of this project of a team's store";
const ABOUT_REPOSITORY: &str = "only sessions of this repository: an address, or the last parts of its path";
const SCOPES: Shape = Words(&["cwd", "repo", "all"]);
const CANCELLED: Shape = Object(&[Field::new("cancelled", Flag)]);
const MADE: Field = Field::optional("newSessionPath", Text)
    .about("path of the new session if sessionPath was given; the client then stays in its session");
const ENTRIES: Shape = Object(&[Field::new("entries", List(&Named("Entry")))]);
const LEAF: Shape = Object(&[Field::new("leafId", ENTRY_OR_NULL)]);
const QUEUE_MODE: &[Field] = &[Field::new("mode", Words(&["all", "one-at-a-time"]))];

/// All commands.
pub const COMMANDS: &[Command] = &[
    // pi's commands for sessions.
    command("get_state", "Returns an overview of the session", state::get_state)
        .of_pi()
        .of_session()
        .gives(Named("State")),
    command("get_messages", "Returns the messages that a model would see (the context)", state::get_messages)
        .of_pi()
        .of_session()
        .gives(Object(&[Field::new("messages", List(&Named("Message")))])),
    command("get_entries", "Returns the entries of all branches, in file order", state::get_entries)
        .of_pi()
        .of_session()
        .takes(&[Field::optional("since", Text).about("only entries after this one")])
        .gives(Object(&[Field::new("entries", List(&Named("Entry"))), Field::new("leafId", ENTRY_OR_NULL)])),
    command("get_tree", "Returns the whole tree", state::get_tree)
        .of_pi()
        .of_session()
        .gives(Object(&[Field::new("tree", List(&Named("TreeNode"))), Field::new("leafId", ENTRY_OR_NULL)])),
    command("get_session_stats", "Returns message counts, tokens and cost of the session", state::get_session_stats)
        .of_pi()
        .of_session()
        .gives(Named("SessionStats")),
    command(
        "get_fork_messages",
        "Returns the user messages at which the session can be forked",
        state::get_fork_messages,
    )
    .of_pi()
    .of_session()
    .gives(Object(&[Field::new("messages", List(&Object(&[Field::new("entryId", Text), Field::new("text", Text)])))])),
    command("get_last_assistant_text", "Returns the text of the last answer", state::get_last_assistant_text)
        .of_pi()
        .of_session()
        .gives(Object(&[Field::optional("text", Text)])),
    command("set_session_name", "Names the session", state::set_session_name)
        .of_pi()
        .guarded()
        .takes(&[Field::new("name", Text)]),
    command("new_session", "Creates a session and switches to it", replace::new_session)
        .of_pi()
        .takes(&[
            Field::optional("parentSession", Text),
            Field::optional("cwd", Text).about("its working directory; default: the current session's"),
        ])
        .gives(CANCELLED),
    command("switch_session", "Switches to another session", replace::switch_session)
        .of_pi()
        .takes(&[Field::new("sessionPath", Text)])
        .gives(CANCELLED),
    command("fork", "Copies the entries before a user message into a new session and switches to it", replace::fork)
        .of_pi()
        .of_session()
        .takes(&[ENTRY_ID])
        .gives(Object(&[Field::optional("text", Text), Field::new("cancelled", Flag), MADE])),
    command("clone", "Copies the path to the leaf into a new session and switches to it", replace::clone)
        .of_pi()
        .of_session()
        .gives(Object(&[Field::new("cancelled", Flag), MADE])),
    command("compact", "Replaces older messages in the context by a summary", compact::compact)
        .of_pi()
        .guarded()
        .takes(&[Field::optional("customInstructions", Text)])
        .gives(Named("CompactionResult"))
        .long(),
    command("set_auto_compaction", "Turns automatic compaction on or off", state::set_auto_compaction)
        .of_pi()
        .takes(&[Field::new("enabled", Flag)]),
    command("abort", "Cancels running compactions and summaries, and waits until they have ended", compact::abort)
        .of_pi()
        .of_session(),
    command("set_model", "Records the model in use", state::set_model)
        .of_pi()
        .guarded()
        .takes(&[Field::new("provider", Text), Field::new("modelId", Text)])
        .gives(Named("Model")),
    command(
        "get_available_models",
        "Returns the model of the session, else that of the latest one: Sessile has no list of models",
        agent::get_available_models,
    )
    .of_pi()
    .of_session()
    .gives(Object(&[Field::new("models", List(&Named("Model")))])),
    command("cycle_model", "Returns null, as pi does if there is no other model", agent::cycle_model)
        .of_pi()
        .of_session()
        .gives(Null),
    command("set_thinking_level", "Records the thinking level", state::set_thinking_level)
        .of_pi()
        .guarded()
        .takes(&[Field::new("level", Text)]),
    command(
        "get_available_thinking_levels",
        "Returns the thinking levels of the model; all levels if nothing is known about it",
        agent::get_available_thinking_levels,
    )
    .of_pi()
    .of_session()
    .gives(Object(&[Field::new("levels", List(&Text))])),
    command(
        "cycle_thinking_level",
        "Records the next thinking level of the model; null if it is not known to think",
        agent::cycle_thinking_level,
    )
    .of_pi()
    .guarded()
    .gives(OneOf(&[Null, Object(&[Field::new("level", Text)])])),
    command(
        "set_steering_mode",
        "Sets the mode of the steering queue, which get_state returns",
        agent::set_steering_mode,
    )
    .of_pi()
    .takes(QUEUE_MODE),
    command(
        "set_follow_up_mode",
        "Sets the mode of the follow-up queue, which get_state returns",
        agent::set_follow_up_mode,
    )
    .of_pi()
    .takes(QUEUE_MODE),
    command("clear_queue", "Empties the queues, which are always empty without an agent", agent::clear_queue)
        .of_pi()
        .gives(Object(&[Field::new("steering", List(&Text)), Field::new("followUp", List(&Text))])),
    command("set_auto_retry", "Accepted without effect: there is nothing to retry", agent::accept)
        .of_pi()
        .takes(&[Field::new("enabled", Flag)]),
    command("abort_retry", "Accepted without effect: there is nothing to stop", agent::accept).of_pi(),
    command("abort_bash", "Accepted without effect: there is nothing to stop", agent::accept).of_pi(),
    command("get_commands", "Returns the commands of extensions: always an empty list", agent::get_commands)
        .of_pi()
        .gives(Object(&[Field::new("commands", List(&Any))])),
    command("export_html", "Writes the session as a web page, or in another format", export::export_html)
        .of_pi()
        .of_session()
        .takes(&[
            Field::optional("outputPath", OneOf(&[Text, Null]))
                .about("file to write or replace; default: pi-session-NAME.html in the working directory"),
            Field::optional("format", Words(&["html", "md", "jsonl", "json"])).about("default: html"),
        ])
        .gives(Object(&[Field::new("path", Text)]))
        .long(),
    // pi's commands that need an agent.
    without_agent("prompt"),
    without_agent("steer"),
    without_agent("follow_up"),
    without_agent("bash"),
    // Ours: adding to a session.
    command("append_message", "Appends a message of any role", append::message)
        .takes(&[Field::new("message", Named("Message"))])
        .writes(),
    command("append_thinking_level_change", "Appends a change of the thinking level", append::thinking_level_change)
        .takes(&[Field::new("thinkingLevel", Text)])
        .writes(),
    command("append_model_change", "Appends a change of the model", append::model_change)
        .takes(&[Field::new("provider", Text), Field::new("modelId", Text)])
        .writes(),
    command("append_usage", "Appends a cost that belongs to no message", append::usage)
        .takes(&[
            Field::new("kind", Text),
            Field::new("provider", Text),
            Field::new("model", Text),
            Field::new("usage", Any),
            Field::optional("note", Text),
        ])
        .writes(),
    command("append_compaction", "Appends a compaction that the client has created", append::compaction)
        .takes(&[
            Field::new("summary", Text),
            Field::new("firstKeptEntryId", ENTRY_OR_NULL).about("null if no entry before the compaction is kept"),
            Field::new("tokensBefore", Number),
            DETAILS,
            FROM_HOOK,
            USAGE,
        ])
        .writes(),
    command("append_custom_entry", "Appends a program's own data, which the model never sees", append::custom_entry)
        .takes(&[Field::new("customType", Text), Field::optional("data", Any)])
        .writes(),
    command(
        "append_custom_message_entry",
        "Appends a client program's message, which the model sees",
        append::custom_message_entry,
    )
    .takes(&[
        Field::new("customType", Text),
        Field::new("content", OneOf(&[Text, List(&Any)])),
        Field::new("display", Flag),
        DETAILS,
    ])
    .writes(),
    command("append_session_info", "Names the session; an empty name removes the name", append::session_info)
        .takes(&[Field::new("name", Text)])
        .writes(),
    command("append_label_change", "Labels an entry; without a label, removes its label", append::label_change)
        .takes(&[Field::new("targetId", Text), Field::optional("label", ENTRY_OR_NULL)])
        .writes(),
    command("append_context_edit", "Changes what the model sees of an entry", append::context_edit)
        .takes(&[
            Field::new("targetId", Text),
            Field::new("replacement", OneOf(&[Null, Object(&[Field::new("content", OneOf(&[Text, List(&Any)]))])])),
        ])
        .writes(),
    command(
        "branch_with_summary",
        "Moves to an entry and appends a summary of the abandoned branch",
        append::branch_with_summary,
    )
    .takes(&[
        Field::new("entryId", ENTRY_OR_NULL).about("null for the position before the first entry"),
        Field::new("summary", Text),
        DETAILS,
        FROM_HOOK,
        USAGE,
    ])
    .writes(),
    command("set_label", "Labels an entry, like append_label_change", append::set_label)
        .takes(&[ENTRY_ID, Field::optional("label", ENTRY_OR_NULL)])
        .writes(),
    command("rename_session", "Names a session, like append_session_info", append::rename_session)
        .takes(&[Field::new("sessionPath", Text), Field::new("name", Text)])
        .writes(),
    command("archive_session", "Archives or unarchives a session or one of its branches", append::archive)
        .takes(&[
            Field::optional("entryId", Text).about("first entry of the branch; default: the whole session"),
            Field::optional("archived", Flag).about("false unarchives it"),
        ])
        .writes(),
    // Ours: moving in the tree.
    command("branch", "Moves to an entry: the next append becomes its child", navigate::branch)
        .of_session()
        .takes(&[ENTRY_ID])
        .gives(LEAF),
    command("reset_leaf", "Moves to the position before the first entry", navigate::reset_leaf)
        .of_session()
        .gives(LEAF),
    command("follow_leaf", "Moves to the last entry of the file", navigate::follow_leaf).of_session().gives(LEAF),
    command(
        "navigate_tree",
        "Moves to an entry, or before a user message, with or without a summary of the abandoned branch",
        navigate::navigate_tree,
    )
    .guarded()
    .takes(&[
        ENTRY_ID,
        Field::optional("summarize", Flag),
        Field::optional("customInstructions", Text),
        Field::optional("replaceInstructions", Flag),
        Field::optional("label", Text).about("for the summary if there is one, else for the entry"),
    ])
    .gives(Object(&[
        Field::new("cancelled", Flag),
        Field::optional("editorText", Text),
        Field::optional("summaryEntry", Named("Entry")),
        Field::new("leafId", ENTRY_OR_NULL),
    ]))
    .long(),
    command(
        "create_branched_session",
        "Copies the path to an entry into a new session and switches to it",
        replace::create_branched_session,
    )
    .of_session()
    .takes(&[ENTRY_ID])
    .gives(Object(&[
        Field::optional("sessionPath", Text),
        Field::new("sessionId", Text),
        Field::new("leafId", ENTRY_OR_NULL),
    ])),
    // Ours: reading.
    command("get_branch", "Returns the entries from the root to an entry, or to the leaf", read::get_branch)
        .of_session()
        .takes(&[Field::optional("entryId", Text)])
        .gives(ENTRIES),
    command("get_children", "Returns the children of an entry; null for the roots", read::get_children)
        .of_session()
        .takes(&[Field::new("parentId", ENTRY_OR_NULL)])
        .gives(ENTRIES),
    command("get_entry", "Returns one entry", read::get_entry)
        .of_session()
        .takes(&[ENTRY_ID])
        .gives(Object(&[Field::optional("entry", Named("Entry"))])),
    command("get_label", "Returns the label of an entry", read::get_label)
        .of_session()
        .takes(&[ENTRY_ID])
        .gives(Object(&[Field::optional("label", Text)])),
    command("get_header", "Returns the header of the session", read::get_header)
        .of_session()
        .gives(Object(&[Field::new("header", Named("Header"))])),
    command(
        "build_session_context",
        "Returns what a model would see at an entry, or at the leaf",
        read::build_session_context,
    )
    .of_session()
    .takes(&[Field::optional("leafId", ENTRY_OR_NULL)])
    .gives(Object(&[
        Field::new("messages", List(&Named("Message"))),
        Field::optional("thinkingLevel", Any),
        Field::new("model", OneOf(&[Null, Any])),
    ])),
    command("build_context_entries", "Returns the entries that make up the context", read::build_context_entries)
        .of_session()
        .takes(&[Field::optional("leafId", ENTRY_OR_NULL)])
        .gives(ENTRIES),
    command(
        "prepare_compaction",
        "Returns which entries a compaction would summarise and keep, or nothing if the session is too short; writes nothing",
        compact::prepare_compaction,
    )
    .of_session()
    .takes(&[Field::optional("keepRecentTokens", Count)])
    .gives(Object(&[Field::optional("preparation", Named("Preparation"))])),
    // Ours: the store.
    command(
        "list_sessions",
        "Lists the sessions of a directory, a repository or all, newest first",
        store::list_sessions,
    )
    .takes(&[
        Field::optional("scope", SCOPES).about("default: cwd"),
        Field::optional("cwd", Text),
        Field::optional("limit", Count),
        Field::optional("named", Flag).about("only sessions with a name"),
        Field::optional("children", OneOf(&[Flag, Words(&["shown", "hidden", "only"])]))
            .about("forks: shown or true (default), hidden or false, or only (no other sessions)"),
        Field::optional("archived", ARCHIVED).about(ABOUT_ARCHIVED),
        Field::optional("member", Text).about(ABOUT_MEMBER),
        Field::optional("project", Text).about(ABOUT_PROJECT),
        Field::optional("repository", Text).about(ABOUT_REPOSITORY),
    ])
    .gives(Object(&[Field::new("sessions", List(&Named("SessionRow")))]))
    .long(),
    command("search", "Searches messages, tool calls, names and labels", store::search)
        .takes(&[
            Field::new("query", Text),
            Field::optional("scope", Words(&["session", "cwd", "repo", "all"])).about("default: cwd"),
            Field::optional("limit", Count).about("default: 50"),
            Field::optional("filters", Named("SearchFilters")),
            Field::optional("archived", ARCHIVED).about(ABOUT_ARCHIVED),
            Field::optional("cwd", Text).about("the directory that scope refers to"),
            Field::optional("sessionPath", Text).about("only this session"),
            Field::optional("member", Text).about(ABOUT_MEMBER),
            Field::optional("project", Text).about(ABOUT_PROJECT),
            Field::optional("repository", Text).about(ABOUT_REPOSITORY),
        ])
        .gives(Object(&[
            Field::new("hits", List(&Named("SearchHit"))),
            Field::optional("team", Named("TeamReach")),
        ]))
        .long(),
    command("family", "Returns the sessions that a session was forked from, and its own forks", store::family)
        .of_session()
        .gives(Object(&[Field::new("root", Text), Field::new("nodes", List(&Named("FamilyNode")))]))
        .long(),
    command("delete_session", "Moves a session to the trash", store::delete_session)
        .takes(&[
            Field::new("sessionPath", Text),
            Field::optional("force", Flag).about("delete it even if other programs use it"),
        ])
        .gives(Object(&[Field::new("trashed", OneOf(&[Text, Flag]))
            .about("its path in the trash; true if the trash program took it, false if it was deleted permanently")])),
    command("restore_session", "Restores a session from the trash", store::restore_session)
        .takes(&[Field::new("sessionPath", Text).about("its former path, or its id")])
        .gives(Object(&[Field::new("sessionPath", Text)])),
    command("verify", "Checks a session for damage", store::verify)
        .of_session()
        .gives(Object(&[Field::new("findings", List(&Named("Finding")))]))
        .long(),
    command("scan_secrets", "Finds secrets in a session or in many, and never returns a value", secrets::scan_secrets)
        .of_session()
        .takes(&[
            Field::optional("scope", Words(&["session", "cwd", "repo", "all"])).about("default: session"),
            Field::optional("cwd", Text).about("working directory of the scope; default: that of the current session"),
            Field::optional("certain", Flag).about("only findings whose format is certain"),
        ])
        .gives(Named("ScanReport"))
        .long(),
    command("export_redacted", "Writes a copy of a session without secrets", secrets::export_redacted)
        .of_session()
        .takes(&[
            Field::optional("level", Words(&["secrets", "paths", "pii", "outputs", "skeleton"]))
                .about("default: secrets"),
            Field::new("outputPath", Text).about("file to write; it must not exist"),
            Field::optional("also", List(&Text)).about("words to replace as well"),
            Field::optional("stable", Flag).about("the same placeholders in all copies"),
        ])
        .gives(Named("RedactedCopy"))
        .long(),
    // Ours: events and hooks.
    command("subscribe", "Subscribes to events, from now on or since a cursor", subscribe::subscribe)
        .of_session()
        .takes(&[
            Field::optional("events", List(&Words(EVENTS))).about("default: all events"),
            Field::optional("cursor", Text).about("continue after the event that carried this cursor"),
            Field::optional("scope", Words(&["session", "store"])).about("default: session"),
        ])
        .gives(Object(&[Field::new("subscription", Text), Field::new("cursor", Text)])),
    command("unsubscribe", "Ends a subscription", subscribe::unsubscribe)
        .takes(&[Field::new("subscription", Text)])
        .gives(Object(NO_FIELDS)),
    command("hook_register", "Registers the client as a hook: the server asks it before these events", hooks::hook_register)
        .takes(&[
            Field::new("events", List(&Words(HOOK_EVENTS))),
            Field::optional("timeoutMs", Count).about("time limit for an answer; default: 30000"),
        ])
        .gives(Object(NO_FIELDS)),
    command("hook_response", "Answers a hook_request", hooks::hook_response)
        .takes(&[Field::new("requestId", Text), Field::optional("result", Any), Field::optional("error", Text)])
        .gives(Object(NO_FIELDS)),
];

const fn without_agent(name: &'static str) -> Command {
    let description = "Fails with NOT_SUPPORTED: there is no agent here";
    Command { origin: Origin::Agent, ..command(name, description, agent::not_supported) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_shapes_exist() {
        for (index, command) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS[..index].iter().all(|other| other.name != command.name), "{} twice", command.name);
            command.data.iter().for_each(resolve);
            command.all_parameters().for_each(|field| resolve(&field.shape));
        }
        for (_, shape, _) in named_shapes() {
            resolve(shape);
        }
    }

    #[test]
    fn every_event_is_described() {
        let described: Vec<&str> = SUBSCRIBED.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(described, EVENTS);
        let known: Vec<&str> = sessile::event::EventKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(described, known);
        let before: Vec<&str> =
            sessile::event::EventKind::ALL.iter().filter(|kind| kind.is_before()).map(|kind| kind.name()).collect();
        assert_eq!(HOOK_EVENTS, before);
        SUBSCRIBED.iter().chain(STREAMED).flat_map(|(_, fields, _)| *fields).for_each(|field| resolve(&field.shape));
    }

    fn resolve(shape: &Shape) {
        match shape {
            Named(name) => assert!(named_shapes().any(|(known, _, _)| known == name), "{name} is not defined"),
            List(inner) => resolve(inner),
            OneOf(shapes) => shapes.iter().for_each(resolve),
            Object(fields) => fields.iter().for_each(|field| resolve(&field.shape)),
            _ => {}
        }
    }
}
