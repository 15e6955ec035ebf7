//! The allow list of the level `skeleton`: what each field may keep. A field that is not listed is opaque.

/// What a field may keep.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    /// An id, or the name of a model: every string.
    Kept,
    /// One word that a program chose.
    Word,
    /// One of the words of the format: the types of entries, or the roles of messages.
    Kind,
    Role,
    /// The name that an extension gave to its entries. Only Sessile's own stay.
    CustomType,
    Number,
    Bool,
    /// A date or a number.
    Time,
    /// The length of a text of this name.
    Text(&'static str),
    /// The programs of a shell command.
    Command,
    /// A text or blocks.
    Content,
    /// Keys and shape.
    Shape,
    /// A picture's data, and its type.
    Picture,
    PictureType,
    /// An object with these fields.
    Object(Fields),
    /// An array of objects with these fields.
    List(Fields),
    /// Nothing, not even the key.
    Dropped,
}

/// The fields that an object may keep.
pub(crate) type Fields = &'static [(&'static str, Field)];

use Field::{
    Bool, Command, Content, CustomType, Dropped, Kept, Kind, List, Number, Object, Picture, PictureType, Role, Shape,
    Text, Time, Word,
};

pub(crate) const ENTRY: Fields = &[
    ("type", Kind),
    ("version", Number),
    ("id", Kept),
    ("parentId", Kept),
    ("targetId", Kept),
    ("fromId", Kept),
    ("firstKeptEntryId", Kept),
    ("firstKeptEntryIndex", Number),
    ("timestamp", Time),
    ("message", Object(MESSAGE)),
    ("systemMessage", Object(MESSAGE)),
    ("thinkingLevel", Word),
    ("provider", Kept),
    ("modelId", Kept),
    ("model", Kept),
    ("kind", Word),
    ("usage", Object(USAGE)),
    ("note", Text("note")),
    ("summary", Text("summary")),
    ("tokensBefore", Number),
    ("fromHook", Bool),
    ("customType", CustomType),
    ("content", Content),
    ("display", Bool),
    ("replacement", Object(&[("content", Content)])),
    ("label", Text("label")),
    ("name", Text("name")),
    ("parentSession", Dropped),
    ("branchedFrom", Dropped),
];

/// The data of the mark that a copy has.
pub(crate) const REDACTION: Fields =
    &[("by", Kept), ("level", Word), ("source", Word), ("findings", Number), ("at", Time)];

pub(crate) const MESSAGE: Fields = &[
    ("role", Role),
    ("content", Content),
    ("timestamp", Time),
    ("toolCallId", Kept),
    ("toolName", Word),
    ("isError", Bool),
    ("api", Kept),
    ("provider", Kept),
    ("model", Kept),
    ("responseModel", Kept),
    ("stopReason", Word),
    ("rawStopReason", Word),
    ("thinkingLevel", Word),
    ("providerThinkingLevel", Word),
    ("endTurn", Bool),
    ("durationMs", Number),
    ("usage", Object(USAGE)),
    ("errorMessage", Text("error")),
    ("command", Command),
    ("output", Text("output")),
    ("exitCode", Number),
    ("cancelled", Bool),
    ("truncated", Bool),
    ("excludeFromContext", Bool),
    ("display", Bool),
    ("customType", CustomType),
    ("summary", Text("summary")),
    ("fromId", Kept),
    ("tokensBefore", Number),
    ("sections", Shape),
    ("toolsAdded", List(TOOL)),
    ("toolsRemoved", List(TOOL)),
    ("nestedCalls", Object(&[("calls", List(NESTED_CALL)), ("complete", Bool)])),
    ("diagnostics", List(DIAGNOSTIC)),
    ("deferred", Object(DEFERRED)),
];

const USAGE: Fields = &[
    ("input", Number),
    ("output", Number),
    ("cacheRead", Number),
    ("cacheWrite", Number),
    ("cacheWrite1h", Number),
    ("reasoning", Number),
    ("totalTokens", Number),
    ("cost", Object(COST)),
];

const COST: Fields = &[
    ("input", Number),
    ("output", Number),
    ("cacheRead", Number),
    ("cacheWrite", Number),
    ("total", Number),
    ("totalFromProvider", Bool),
];

const TOOL: Fields = &[("name", Word), ("description", Text("description")), ("parameters", Shape)];

const NESTED_CALL: Fields = &[
    ("id", Kept),
    ("name", Word),
    ("arguments", Shape),
    ("argumentsBytes", Number),
    ("status", Word),
    ("durationMs", Number),
    ("error", Text("error")),
];

const DIAGNOSTIC: Fields = &[("type", Word), ("timestamp", Time), ("error", Object(ERROR))];

const ERROR: Fields = &[("name", Word), ("message", Text("error")), ("stack", Text("stack")), ("code", Word)];

const DEFERRED: Fields =
    &[("provider", Kept), ("modelId", Kept), ("api", Kept), ("id", Kept), ("expiresAt", Time), ("pollAfterMs", Number)];

/// The fields of a block of a type.
pub(crate) fn block_fields(kind: &str) -> Fields {
    match kind {
        "text" => &[("type", Word), ("text", Content), ("textSignature", Dropped)],
        "thinking" => {
            &[("type", Word), ("thinking", Text("thinking")), ("thinkingSignature", Dropped), ("redacted", Dropped)]
        }
        "image" => &[("type", Word), ("data", Picture), ("mimeType", PictureType)],
        "toolCall" => &[
            ("type", Word),
            ("id", Kept),
            ("name", Word),
            ("arguments", Shape),
            ("namespace", Word),
            ("argumentsError", Text("error")),
            ("thoughtSignature", Dropped),
        ],
        _ => &[],
    }
}
