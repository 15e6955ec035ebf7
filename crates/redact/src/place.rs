//! What the places of a line mean: which strings belong to the format, and which are text.

/// The kind of object or array in which a string stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// The whole line.
    Line,
    /// The outermost object.
    Entry,
    /// A message.
    Message,
    /// The content of a message.
    Content,
    /// A block of a content.
    Block,
    /// What a context edit puts in.
    Replacement,
    /// The calls that a tool made itself, and each of them.
    Nested,
    Calls,
    Call,
    /// An answer that is fetched later.
    Deferred,
    /// Reports of a provider, and each of them.
    Diagnostics,
    Diagnostic,
    /// Numbers of tokens.
    Usage,
    /// Anything that a program, a tool or a user put there.
    Free,
}

/// What to do with a string value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// An id, a time or a word of the format. It always stays.
    Kept,
    /// Text.
    Text,
    /// A provider's signature of a block.
    Signature,
    /// The data of a picture, or text.
    Data,
}

impl Area {
    /// The area of the value of a key.
    pub(crate) fn below(self, key: &[u8]) -> Self {
        match (self, key) {
            (Self::Entry, b"message" | b"systemMessage") => Self::Message,
            (Self::Entry | Self::Message | Self::Replacement, b"content") => Self::Content,
            (Self::Entry, b"replacement") => Self::Replacement,
            (Self::Entry | Self::Message, b"usage") | (Self::Usage, b"cost") => Self::Usage,
            (Self::Message, b"nestedCalls") => Self::Nested,
            (Self::Message, b"deferred") => Self::Deferred,
            (Self::Message, b"diagnostics") => Self::Diagnostics,
            (Self::Nested, b"calls") => Self::Calls,
            _ => Self::Free,
        }
    }

    /// The area of the items of an array.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::Content => Self::Block,
            Self::Calls => Self::Call,
            Self::Diagnostics => Self::Diagnostic,
            _ => Self::Free,
        }
    }

    /// The area of an object's members, given the area of the object.
    pub(crate) fn object(self) -> Self {
        match self {
            Self::Line => Self::Entry,
            Self::Content | Self::Calls | Self::Diagnostics => Self::Free,
            other => other,
        }
    }

    /// What a string value of a key is.
    pub(crate) fn class(self, key: &[u8]) -> Class {
        let is_kept = match self {
            Self::Entry => matches!(
                key,
                b"type"
                    | b"id"
                    | b"parentId"
                    | b"targetId"
                    | b"fromId"
                    | b"firstKeptEntryId"
                    | b"timestamp"
                    | b"provider"
                    | b"modelId"
                    | b"model"
            ),
            Self::Message => matches!(
                key,
                b"role"
                    | b"fromId"
                    | b"toolCallId"
                    | b"timestamp"
                    | b"provider"
                    | b"model"
                    | b"api"
                    | b"stopReason"
                    | b"toolName"
            ),
            Self::Block => matches!(key, b"type" | b"id" | b"mimeType"),
            Self::Call => key == b"id",
            Self::Deferred => matches!(key, b"provider" | b"modelId" | b"api" | b"id"),
            Self::Diagnostic => matches!(key, b"type" | b"timestamp"),
            _ => false,
        };
        match (self, key) {
            _ if is_kept => Class::Kept,
            (Self::Block, b"thinkingSignature" | b"textSignature" | b"thoughtSignature") => Class::Signature,
            (Self::Block, b"data") => Class::Data,
            _ => Class::Text,
        }
    }

    /// Whether a key of an object belongs to the format. All other keys are text.
    pub(crate) fn keeps_key(self, key: &[u8]) -> bool {
        self != Self::Free && FORMAT_KEYS.binary_search_by(|name| name.as_bytes().cmp(key)).is_ok()
    }
}

/// The keys of the format outside of free areas, sorted by their bytes.
const FORMAT_KEYS: &[&str] = &[
    "api",
    "arguments",
    "argumentsBytes",
    "argumentsError",
    "cacheRead",
    "cacheWrite",
    "cacheWrite1h",
    "calls",
    "cancelled",
    "code",
    "command",
    "complete",
    "content",
    "cost",
    "customType",
    "cwd",
    "data",
    "deferred",
    "details",
    "diagnostics",
    "display",
    "durationMs",
    "endTurn",
    "error",
    "errorMessage",
    "excludeFromContext",
    "exitCode",
    "expiresAt",
    "firstKeptEntryId",
    "firstKeptEntryIndex",
    "fromHook",
    "fromId",
    "fullOutputPath",
    "id",
    "input",
    "isError",
    "kind",
    "label",
    "message",
    "mimeType",
    "model",
    "modelId",
    "name",
    "namespace",
    "nestedCalls",
    "note",
    "output",
    "parentId",
    "parentSession",
    "pollAfterMs",
    "provider",
    "providerThinkingLevel",
    "rawStopReason",
    "reasoning",
    "redacted",
    "replacement",
    "responseId",
    "responseModel",
    "role",
    "sections",
    "status",
    "stopReason",
    "summary",
    "systemMessage",
    "targetId",
    "text",
    "textSignature",
    "thinking",
    "thinkingLevel",
    "thinkingSignature",
    "thoughtSignature",
    "timestamp",
    "tokensBefore",
    "toolCallId",
    "toolName",
    "toolsAdded",
    "toolsRemoved",
    "total",
    "totalFromProvider",
    "totalTokens",
    "truncated",
    "type",
    "usage",
    "version",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_format_are_sorted() {
        assert!(FORMAT_KEYS.is_sorted());
        assert!(Area::Entry.keeps_key(b"parentSession"));
        assert!(!Area::Entry.keeps_key(b"parentsession"));
        assert!(!Area::Free.keeps_key(b"content"));
    }

    #[test]
    fn words_of_the_format_are_kept_only_in_their_places() {
        assert_eq!(Area::Entry.class(b"id"), Class::Kept);
        assert_eq!(Area::Message.class(b"id"), Class::Text);
        assert_eq!(Area::Free.class(b"id"), Class::Text);
        assert_eq!(Area::Message.below(b"details").class(b"type"), Class::Text);
        assert_eq!(Area::Block.class(b"thinkingSignature"), Class::Signature);
    }
}
