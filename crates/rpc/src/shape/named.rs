//! Named shapes of parameters and answers. The functions of [`answer`](crate::answer) write the answers.

use super::kind::Field;
use super::kind::Shape::{self, Any, Count, Flag, List, Named, Null, Number, Object, OneOf, Text, Word, Words};
use super::shared::{DETAILS, ENTRY_OR_NULL, USAGE};
use super::stored::STORED;

/// Returns all named shapes with their descriptions.
pub fn named_shapes() -> impl Iterator<Item = &'static (&'static str, Shape, &'static str)> {
    STORED.iter().chain(NAMED)
}

/// Named shapes of parameters and answers, with descriptions.
const NAMED: &[(&str, Shape, &str)] = &[
    (
        "Header",
        Object(&[
            Field::new("type", Word("session")),
            Field::optional("version", Number),
            Field::new("id", Text),
            Field::optional("timestamp", Text),
            Field::optional("cwd", Text),
            Field::optional("parentSession", Text),
        ]),
        "The first line of a session file.",
    ),
    (
        "TreeNode",
        Object(&[
            Field::new("entry", Named("Entry")),
            Field::new("children", List(&Named("TreeNode"))),
            Field::optional("label", Text),
            Field::optional("labelTimestamp", Text),
        ]),
        "An entry with all its descendants.",
    ),
    (
        "State",
        Object(&[
            Field::optional("model", Named("Model")),
            Field::new("thinkingLevel", Text),
            Field::new("isStreaming", Flag),
            Field::new("isCompacting", Flag),
            Field::new("steeringMode", Text),
            Field::new("followUpMode", Text),
            Field::optional("sessionFile", Text),
            Field::new("sessionId", Text),
            Field::optional("sessionName", Text),
            Field::new("autoCompactionEnabled", Flag),
            Field::new("messageCount", Count),
            Field::new("pendingMessageCount", Count),
        ]),
        "An overview of a session.",
    ),
    (
        "Model",
        Object(&[
            Field::new("id", Text),
            Field::new("name", Text).about("the id if nothing else is known"),
            Field::optional("api", Text).about("the API of the model, e.g. anthropic-messages"),
            Field::new("provider", Text),
            Field::optional("baseUrl", Text),
            Field::optional("reasoning", Flag).about("whether it can think"),
            Field::optional("thinkingLevelMap", Any).about("null for a thinking level that it does not have"),
            Field::optional("input", List(&Text)).about("text, image"),
            Field::optional("inputLimits", Any),
            Field::optional(
                "cost",
                Object(&[
                    Field::new("input", Number),
                    Field::new("output", Number),
                    Field::new("cacheRead", Number),
                    Field::new("cacheWrite", Number),
                ]),
            )
            .about("in dollars per million tokens"),
            Field::optional("promptCache", Any),
            Field::optional("contextWindow", Number).about("in tokens"),
            Field::optional("maxTokens", Number).about("of an answer"),
        ]),
        "The model of a session, with what pi's files say about it.",
    ),
    (
        "Written",
        Object(&[
            Field::new("entryId", Text),
            Field::new("leafId", ENTRY_OR_NULL),
            Field::new("durable", Words(&["memory", "page-cache", "disk", "server"])),
        ]),
        "The written entry, the new leaf, and how durable the entry is.",
    ),
    (
        "SessionStats",
        Object(&[
            Field::optional("sessionFile", Text),
            Field::new("sessionId", Text),
            Field::new("userMessages", Count),
            Field::new("assistantMessages", Count),
            Field::new("toolCalls", Count),
            Field::new("toolResults", Count),
            Field::new("totalMessages", Count),
            Field::new(
                "tokens",
                Object(&[
                    Field::new("input", Number),
                    Field::new("output", Number),
                    Field::new("cacheRead", Number),
                    Field::new("cacheWrite", Number),
                    Field::new("total", Number),
                ]),
            ),
            Field::new("cost", Number),
            Field::optional(
                "contextUsage",
                Object(&[
                    Field::new("tokens", OneOf(&[Number, Null])),
                    Field::new("contextWindow", Count),
                    Field::new("percent", OneOf(&[Number, Null])),
                ]),
            ),
        ]),
        "Message counts, tokens and cost of a session, over all branches.",
    ),
    (
        "CompactionResult",
        Object(&[
            Field::new("summary", Text),
            Field::optional("firstKeptEntryId", Text),
            Field::new("tokensBefore", Number),
            Field::optional("estimatedTokensAfter", Count),
            USAGE,
            DETAILS,
        ]),
        "A compaction that was written.",
    ),
    (
        "Preparation",
        Object(&[
            Field::new("firstKeptEntryId", Text),
            Field::new("messagesToSummarize", List(&Named("Message"))),
            Field::new("turnPrefixMessages", List(&Named("Message"))),
            Field::new("isSplitTurn", Flag),
            Field::new("tokensBefore", Number),
            Field::optional("previousSummary", Text),
            Field::new(
                "fileOps",
                Object(&[
                    Field::new("read", List(&Text)),
                    Field::new("written", List(&Text)),
                    Field::new("edited", List(&Text)),
                ]),
            ),
            Field::new(
                "settings",
                Object(&[
                    Field::new("enabled", Flag),
                    Field::new("reserveTokens", Count),
                    Field::new("keepRecentTokens", Count),
                ]),
            ),
        ]),
        "The entries that a compaction would summarise and keep.",
    ),
    (
        "TreePreparation",
        Object(&[
            Field::new("targetId", Text),
            Field::new("oldLeafId", ENTRY_OR_NULL),
            Field::new("commonAncestorId", ENTRY_OR_NULL),
            Field::new("entriesToSummarize", List(&Named("Entry"))),
            Field::new("userWantsSummary", Flag),
            Field::optional("customInstructions", Text),
            Field::optional("replaceInstructions", Flag),
            Field::optional("label", Text),
        ]),
        "A move in the tree: its target and the abandoned entries.",
    ),
    (
        "SessionRow",
        Object(&[
            Field::new("path", Text),
            Field::new("id", Text),
            Field::new("cwd", Text),
            Field::optional("name", Text),
            Field::optional("parentSessionPath", Text),
            Field::new("created", OneOf(&[Text, Null])),
            Field::new("modified", Text),
            Field::new("messageCount", Count),
            Field::new("firstMessage", Text),
            Field::optional("archived", Flag).about("true if it is archived, absent otherwise"),
            Field::optional("copyOf", Text).about("the file of the same session that this file is a copy of"),
            Field::optional("redacted", Flag).about("true if it is a redacted copy of a session, absent otherwise"),
            Field::optional("importedFrom", Text).about("the agent that it was imported from"),
            Field::optional("member", Text).about("the member of a team's store that owns it, absent for your own"),
            Field::optional("project", Text).about("the project of a team's store that it is in"),
            Field::optional("repository", Text).about("host and path of its repository, if a team's store is in use"),
        ]),
        "A session in a list.",
    ),
    (
        "SearchFilters",
        Object(&[
            Field::optional("role", OneOf(&[Text, List(&Text)]))
                .about("e.g. user, assistant, tool; the error for an unknown role lists all"),
            Field::optional("tool", Text),
            Field::optional("model", Text),
            Field::optional("since", OneOf(&[Text, Number])).about("a date, or milliseconds since 1970"),
            Field::optional("until", OneOf(&[Text, Number])).about("a date, or milliseconds since 1970"),
            Field::optional("cwd", Text),
        ]),
        "Restricts the entries that a search returns.",
    ),
    (
        "TeamReach",
        Object(&[
            Field::new("complete", Flag).about("whether all sessions of other members were searched"),
            Field::new("fetched", Count).about("the number of sessions of which lines were fetched for the search"),
            Field::optional("until", Text).about("how far back those that are not on this machine were searched"),
        ]),
        "How far a search looked at the sessions of other members.",
    ),
    (
        "SearchHit",
        Object(&[
            Field::new("sessionPath", Text),
            Field::optional("entryId", Text),
            Field::optional("role", Text),
            Field::new("score", Number),
            Field::new("excerpt", Text),
            Field::new("ranges", List(&List(&Count))).about("the matches in the excerpt, in UTF-16 units"),
            Field::optional("type", Text).about("the type of the entry"),
            Field::optional("timestamp", Text),
            Field::optional("offset", Count)
                .about("byte offset of its line in the file; absent if the session is not on this machine"),
            Field::optional("author", Text).about("the member of the team's store that has written it"),
            Field::optional("authorDevice", Text).about("the device of that member"),
        ]),
        "A search result.",
    ),
    (
        "FamilyNode",
        Object(&[
            Field::optional("sessionPath", Text),
            Field::optional("id", Text),
            Field::optional("parent", Text).about("the path of the session that it was forked from"),
            Field::new("depth", Count),
            Field::optional("missing", Flag),
            Field::optional("sharedEntries", Count),
        ]),
        "A session in a family of forks.",
    ),
    (
        "Finding",
        Object(&[
            Field::new("code", Text),
            Field::new("severity", Text),
            Field::new("line", Count),
            Field::new("offset", Count),
            Field::new("message", Text),
            Field::new("consequence", Text),
            Field::new("repair", Text),
        ]),
        "A problem in a session file.",
    ),
    (
        "ScanReport",
        Object(&[
            Field::new("sessions", Count).about("the number of scanned files"),
            Field::new("findings", List(&Named("SecretFinding"))),
            Field::new(
                "counts",
                Object(&[Field::new("certain", Count), Field::new("likely", Count), Field::new("rules", Object(&[]))]),
            ),
            Field::new("bytes", Count),
            Field::new("seconds", Number),
            Field::new("rulesVersion", Count),
        ]),
        "What a scan for secrets found.",
    ),
    (
        "SecretFinding",
        Object(&[
            Field::new("sessionPath", Text),
            Field::new("line", Count),
            Field::optional("entryId", Text),
            Field::optional("type", Text),
            Field::optional("role", Text),
            Field::new("pointer", Text).about("JSON pointer of the string; after # the pointer in a signature"),
            Field::new("rule", Text),
            Field::new("tier", Count).about("1: certain, 2: likely"),
            Field::optional("via", Text).about("the encoding"),
            Field::new("placeholder", Text),
            Field::new("masked", Text).about("public prefix and the length of the rest"),
            Field::new("occurrences", Count),
            Field::optional("kept", Flag).about("in an id or a word of the format, so the session cannot be copied"),
        ]),
        "A secret in a session, without its value.",
    ),
    (
        "RedactedCopy",
        Object(&[
            Field::optional("path", Text),
            Field::new("sessionId", Text),
            Field::new("level", Text),
            Field::new("size", Count),
            Field::new("findings", Count),
            Field::new("rules", Object(&[])).about("the number of findings by rule"),
            Field::new("lines", Count),
            Field::new("changedLines", Count),
            Field::new("names", Count),
            Field::new("removedThoughts", Count),
            Field::new("removedSignatures", Count),
            Field::new("replacedPictures", Count),
            Field::optional("fullOutputs", List(&Text)).about("files with whole outputs, not part of the copy"),
            Field::optional("warnings", List(&Text)),
        ]),
        "A copy of a session without secrets.",
    ),
];
