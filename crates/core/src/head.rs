//! Reads the head of a line: its type, id, parent and time.
//!
//! A single pass checks that the line is valid JSON and records the positions of the few values that the outline needs.
//! So opening a session never reads a line twice and never decodes a payload.

use std::fmt;
use std::ops::Range;

use crate::date;
use crate::date::Timestamp;
use crate::json::{self, JsText, Members, NoMembers, Raw, Shape};
use crate::line::is_blank;

/// The `type` of a line.
// Exhaustive on purpose: a new type must be considered wherever types are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `session`: a header. Only the first line of a session counts as one.
    Header,
    /// `message`
    Message,
    /// `thinking_level_change`
    ThinkingLevelChange,
    /// `model_change`
    ModelChange,
    /// `usage`
    Usage,
    /// `compaction`
    Compaction,
    /// `branch_summary`
    BranchSummary,
    /// `custom`
    Custom,
    /// `custom_message`
    CustomMessage,
    /// `context_edit`
    ContextEdit,
    /// `label`
    Label,
    /// `session_info`
    SessionInfo,
    /// An object of unknown type, or without one.
    Unknown,
    /// A value that is not an object. pi keeps it in its list, and so does Sessile.
    NotObject,
}

/// The known types with their names in files and their codes in caches. A code never changes its meaning.
const KINDS: [(Kind, u8, &str); 12] = [
    (Kind::Header, 0, "session"),
    (Kind::Message, 1, "message"),
    (Kind::ThinkingLevelChange, 2, "thinking_level_change"),
    (Kind::ModelChange, 3, "model_change"),
    (Kind::Usage, 4, "usage"),
    (Kind::Compaction, 5, "compaction"),
    (Kind::BranchSummary, 6, "branch_summary"),
    (Kind::Custom, 7, "custom"),
    (Kind::CustomMessage, 8, "custom_message"),
    (Kind::ContextEdit, 9, "context_edit"),
    (Kind::Label, 10, "label"),
    (Kind::SessionInfo, 11, "session_info"),
];

/// The code of a type or role without a known name.
const UNKNOWN_CODE: u8 = u8::MAX - 1;

fn code_of<T: Copy + PartialEq>(known: &[(T, u8, &str)], wanted: T) -> u8 {
    known.iter().find(|(value, ..)| *value == wanted).map_or(UNKNOWN_CODE, |(_, code, _)| *code)
}

fn of_code<T: Copy>(known: &[(T, u8, &str)], wanted: u8) -> Option<T> {
    known.iter().find(|(_, code, _)| *code == wanted).map(|(value, ..)| *value)
}

impl Kind {
    /// The type of this name; [`Unknown`](Self::Unknown) if there is none.
    pub fn of(word: &JsText<'_>) -> Self {
        KINDS.iter().find(|(.., name)| *word == **name).map_or(Self::Unknown, |(kind, ..)| *kind)
    }

    /// A number that fits in a byte, for caches.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::NotObject => u8::MAX,
            kind => code_of(&KINDS, kind),
        }
    }

    /// The kind with this number.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        match code {
            u8::MAX => Some(Self::NotObject),
            UNKNOWN_CODE => Some(Self::Unknown),
            code => of_code(&KINDS, code),
        }
    }

    /// The name in files; `None` for kinds without a known name.
    pub fn word(self) -> Option<&'static str> {
        KINDS.iter().find(|(kind, ..)| *kind == self).map(|(.., word)| *word)
    }
}

/// The `role` of a message entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Not a message, or one without a role that is a string.
    None,
    /// `system`
    System,
    /// `user`
    User,
    /// `assistant`
    Assistant,
    /// `toolResult`
    ToolResult,
    /// `bashExecution`
    BashExecution,
    /// `custom`
    Custom,
    /// `branchSummary`
    BranchSummary,
    /// `compactionSummary`
    CompactionSummary,
    /// `hookMessage`, the name of `custom` before version 3.
    HookMessage,
    /// A role this version does not know.
    Other,
}

/// The known roles with their names in files and their codes in caches. A code never changes its meaning.
const ROLES: [(Role, u8, &str); 9] = [
    (Role::System, 0, "system"),
    (Role::User, 1, "user"),
    (Role::Assistant, 2, "assistant"),
    (Role::ToolResult, 3, "toolResult"),
    (Role::BashExecution, 4, "bashExecution"),
    (Role::Custom, 5, "custom"),
    (Role::BranchSummary, 6, "branchSummary"),
    (Role::CompactionSummary, 7, "compactionSummary"),
    (Role::HookMessage, 8, "hookMessage"),
];

impl Role {
    /// The role that a message's `role` value names.
    pub fn of(value: Option<Raw<'_>>) -> Self {
        let Some(word) = value.and_then(Raw::as_text) else { return Self::None };
        ROLES.iter().find(|(.., name)| word == **name).map_or(Self::Other, |(role, ..)| *role)
    }

    /// A number that fits in a byte, for caches.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::None => u8::MAX,
            role => code_of(&ROLES, role),
        }
    }

    /// The role with this number.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        match code {
            u8::MAX => Some(Self::None),
            UNKNOWN_CODE => Some(Self::Other),
            code => of_code(&ROLES, code),
        }
    }

    /// The name in files; `None` for roles without a known name.
    pub fn word(self) -> Option<&'static str> {
        ROLES.iter().find(|(role, ..)| *role == self).map(|(.., word)| *word)
    }

    /// Whether a message of this role makes a session worth writing to a file.
    pub fn is_conversation(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

/// The name in files. A role without a known name is `unknown`.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word().unwrap_or("unknown"))
    }
}

/// The value of a `parentId`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParentRef<'a> {
    /// `null`: a root.
    Null,
    /// No `parentId` at all. Also a root, but not among the children of `null`.
    Absent,
    /// The id of the parent.
    Id(JsText<'a>),
    /// A value that is neither `null` nor a string, and so does not name an entry.
    Odd,
}

/// The head of a line that pi keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The type of the line.
    pub kind: Kind,
    /// The id, if it is a string.
    pub id: Option<JsText<'a>>,
    /// The parent.
    pub parent: ParentRef<'a>,
    /// The time, if it is in the format pi writes.
    pub time: Option<Timestamp>,
    /// The role of the message.
    pub role: Role,
}

impl Head<'_> {
    /// Whether a file that begins with this line is a session.
    pub fn is_session_header(&self) -> bool {
        self.kind == Kind::Header && self.id.is_some()
    }
}

/// The result of parsing one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// Only white space.
    Blank,
    /// Not JSON; pi skips it silently.
    Malformed {
        /// The offset of the error within the line.
        at: usize,
    },
    /// `null`, `false`, zero or `""`, which pi skips.
    Falsy,
    /// A value that counts.
    Value(Head<'a>),
}

/// Reads the head of a line and checks the whole line in the same pass.
pub fn read(line: &[u8]) -> Parsed<'_> {
    let mut positions = HeadPositions::default();
    let range = match json::scan(line, &mut Listener { line, positions: &mut positions }) {
        Ok(range) => range,
        Err(_) if is_blank(line) => return Parsed::Blank,
        Err(at) => return Parsed::Malformed { at },
    };
    let value = Raw::trusted(&line[range]);
    match value.shape() {
        Shape::Object => Parsed::Value(positions.into_head(line)),
        _ if value.is_truthy() => Parsed::Value(NOT_OBJECT),
        _ => Parsed::Falsy,
    }
}

/// Reads the head of a line that this library has just written, without looking at the rest.
///
/// Such a line is valid, starts with the common keys in a fixed order, and repeats none of them, so its first few bytes
/// suffice. Returns `None` if they are not as expected. In that case [`read`] decides.
pub fn read_own(line: &[u8]) -> Option<Head<'_>> {
    let (kind, rest) = plain_string(line.strip_prefix(br#"{"type":"#)?)?;
    let (id, rest) = plain_string(rest.strip_prefix(br#","id":"#)?)?;
    let rest = rest.strip_prefix(br#","parentId":"#)?;
    let (parent, rest) = match rest.strip_prefix(b"null") {
        Some(rest) => (Raw::trusted(b"null"), rest),
        None => plain_string(rest)?,
    };
    let (timestamp, rest) = plain_string(rest.strip_prefix(br#","timestamp":"#)?)?;
    let role = match rest.strip_prefix(br#","message":{"role":"#) {
        Some(rest) => Some(plain_string(rest)?.0),
        None if kind.as_bytes() == br#""message""# => return None,
        None => None,
    };
    Some(head_of(Some(kind), Some(id), Some(parent), Some(timestamp), role))
}

/// The string at the start of valid text, if it is short and has no escapes, and the text after it.
fn plain_string(text: &[u8]) -> Option<(Raw<'_>, &[u8])> {
    let inner = text.get(1..text.len().min(65))?;
    let end = inner.iter().position(|byte| matches!(byte, b'"' | b'\\'))? + 1;
    (text[0] == b'"' && text[end] == b'"').then(|| (Raw::trusted(&text[..=end]), &text[end + 1..]))
}

/// The simple reference implementation of [`read`]: checks first, then looks up each value.
pub fn read_simple(line: &[u8]) -> Parsed<'_> {
    if is_blank(line) {
        return Parsed::Blank;
    }
    let range = match json::scan(line, &mut NoMembers) {
        Ok(range) => range,
        Err(at) => return Parsed::Malformed { at },
    };
    let value = Raw::trusted(&line[range]);
    if !value.is_truthy() {
        return Parsed::Falsy;
    }
    if value.shape() != Shape::Object {
        return Parsed::Value(NOT_OBJECT);
    }
    let message = value.get("message");
    Parsed::Value(head_of(
        value.get("type"),
        value.get("id"),
        value.get("parentId"),
        value.get("timestamp"),
        message.and_then(|message| message.get("role")),
    ))
}

const NOT_OBJECT: Head<'static> =
    Head { kind: Kind::NotObject, id: None, parent: ParentRef::Absent, time: None, role: Role::None };

fn head_of<'a>(
    kind: Option<Raw<'a>>,
    id: Option<Raw<'a>>,
    parent: Option<Raw<'a>>,
    timestamp: Option<Raw<'a>>,
    role: Option<Raw<'a>>,
) -> Head<'a> {
    let kind = kind.and_then(Raw::as_text).map_or(Kind::Unknown, |word| Kind::of(&word));
    Head {
        kind,
        id: id.and_then(Raw::as_text),
        parent: match parent {
            None => ParentRef::Absent,
            Some(value) if value.is_null() => ParentRef::Null,
            Some(value) => value.as_text().map_or(ParentRef::Odd, ParentRef::Id),
        },
        time: timestamp
            .filter(|value| value.shape() == Shape::String)
            .and_then(|value| date::parse_utc_iso(&value.as_bytes()[1..value.as_bytes().len() - 1])),
        role: if kind == Kind::Message { Role::of(role) } else { Role::None },
    }
}

/// The positions of a head's values in the line.
#[derive(Default)]
struct HeadPositions {
    kind: Option<Range<usize>>,
    id: Option<Range<usize>>,
    parent: Option<Range<usize>>,
    timestamp: Option<Range<usize>>,
    role: Option<Range<usize>>,
    /// The `role` of the inner object being read, not yet known to be the message's.
    inner_role: Option<Range<usize>>,
}

impl HeadPositions {
    fn into_head(self, line: &[u8]) -> Head<'_> {
        let raw = |range: Option<Range<usize>>| range.map(|range| Raw::trusted(&line[range]));
        head_of(raw(self.kind), raw(self.id), raw(self.parent), raw(self.timestamp), raw(self.role))
    }
}

struct Listener<'l> {
    line: &'l [u8],
    positions: &'l mut HeadPositions,
}

impl Members for Listener<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
        let key = &self.line[key];
        let is = |name: &str| json::key_is(key, name);
        let positions = &mut *self.positions;
        if depth == 2 {
            if is("role") {
                positions.inner_role = Some(value);
            }
            return;
        }
        let inner_role = positions.inner_role.take();
        if is("type") {
            positions.kind = Some(value);
        } else if is("id") {
            positions.id = Some(value);
        } else if is("parentId") {
            positions.parent = Some(value);
        } else if is("timestamp") {
            positions.timestamp = Some(value);
        } else if is("message") {
            positions.role = inner_role;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(line: &str) -> Head<'_> {
        match read(line.as_bytes()) {
            Parsed::Value(head) => head,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn roles_show_their_name_in_files() {
        assert_eq!(Role::ToolResult.to_string(), "toolResult");
        assert_eq!(format!("{:>9}|{}", Role::User, Role::Other), "     user|unknown");
    }

    #[test]
    fn reads_heads_in_any_order() {
        let expected = Head {
            kind: Kind::Message,
            id: Some("a".into()),
            parent: ParentRef::Id("b".into()),
            time: Some(Timestamp::from_ms(1_735_689_600_000)),
            role: Role::User,
        };
        for line in [
            r#"{"type":"message","id":"a","parentId":"b","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user"}}"#,
            r#" {"message":{"x":{"role":"no"},"role":"user","y":[{"role":"no"}]},"other":{"role":"no"},"timestamp":"2025-01-01T00:00:00.000Z","parentId":"b","id":"a","type":"message"} "#,
            r#"{"type":"x","id":1,"id":"a","message":{"role":"no"},"parentId":null,"\u0070arentId":"b","type":"message","message":{"role":"no","role":"user"},"timestamp":"2025-01-01T00:00:00.000Z"}"#,
        ] {
            assert_eq!(kept(line), expected);
        }
    }

    proptest! {
        #[test]
        fn the_short_reader_of_own_lines_agrees_with_the_full_one(
            kind in "(message|label|custom|compaction|session_info)",
            id in r#"([0-9a-f]{8}|\\u0061|é|"")"#.prop_map(|id: String| id.replace('"', "")),
            parent in r#"(null|"[0-9a-f]{8}"|"a\\n")"#,
            rest in r#"(,"message":\{"role":"(user|assistant|x)","content":"\\\\"\}|,"message":\{"content":1,"role":"user"\}|,"label":"l"|)"#,
        ) {
            let line = format!(
                r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:00.000Z"{rest}}}"#
            );
            if let Some(own) = read_own(line.as_bytes()) {
                prop_assert_eq!(read(line.as_bytes()), Parsed::Value(own));
            }
        }
    }

    #[test]
    fn lines_that_sessile_writes_take_the_short_path() {
        for rest in [r#","message":{"role":"user","content":"hi"}"#, ""] {
            let kind = if rest.is_empty() { "label" } else { "message" };
            let line = format!(
                r#"{{"type":"{kind}","id":"1a2b3c4d","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z"{rest}}}"#
            );
            assert_eq!(Parsed::Value(read_own(line.as_bytes()).unwrap()), read(line.as_bytes()));
        }
    }

    #[test]
    fn odd_heads_are_read_verbatim() {
        assert_eq!(kept(r#"{"type":"message","message":[{"role":"user"}]}"#).role, Role::None);
        assert_eq!(kept(r#"{"type":"message","message":{"role":"user"},"message":5}"#).role, Role::None);
        assert_eq!(kept(r#"{"type":5,"id":5,"parentId":5}"#).parent, ParentRef::Odd);
        assert_eq!(kept("{}").parent, ParentRef::Absent);
        assert_eq!(kept("123").kind, Kind::NotObject);
        assert_eq!(read(b" \r"), Parsed::Blank);
        assert_eq!(read(b"0"), Parsed::Falsy);
        assert_eq!(read(br#"{"type":"message","id":"torn"#), Parsed::Malformed { at: 28 });
    }

    #[test]
    fn words_and_kinds_are_inverse() {
        for (kind, _, word) in KINDS {
            assert_eq!(Kind::of(&word.into()), kind);
            assert_eq!(kind.word(), Some(word));
        }
    }

    #[test]
    fn codes_and_kinds_are_inverse() {
        for kind in KINDS.iter().map(|(kind, ..)| *kind).chain([Kind::Unknown, Kind::NotObject]) {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
        }
        for role in ROLES.iter().map(|(role, ..)| *role).chain([Role::None, Role::Other]) {
            assert_eq!(Role::from_code(role.code()), Some(role));
        }
        assert_eq!((Kind::from_code(200), Role::from_code(200)), (None, None));
    }

    /// Objects full of the relevant keys, in odd places and spellings.
    fn lines() -> impl Strategy<Value = String> {
        let key = prop_oneof![
            Just("\"type\""),
            Just("\"id\""),
            Just("\"parentId\""),
            Just("\"timestamp\""),
            Just("\"message\""),
            Just("\"role\""),
            Just(r#""\u0069d""#),
            Just("\"x\""),
        ];
        let scalar = prop_oneof![
            Just("null".to_owned()),
            Just("\"message\"".to_owned()),
            Just("\"user\"".to_owned()),
            Just("1e999".to_owned()),
            Just(r#""\ud800""#.to_owned()),
            Just("\"2025-01-01T00:00:00.000Z\"".to_owned()),
            Just("\"é\"".to_owned()),
        ];
        scalar.prop_recursive(3, 24, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec((key.clone(), inner.clone()), 0..6).prop_map(|members| {
                    let members: Vec<_> = members.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
                proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            ]
        })
    }

    proptest! {
        #[test]
        fn one_pass_equals_the_simple_way(line in lines(), cut in 0usize..400, flip in any::<u8>()) {
            let mut bytes = line.into_bytes();
            prop_assert_eq!(read(&bytes), read_simple(&bytes));
            if cut < bytes.len() {
                bytes[cut] ^= flip;
                prop_assert_eq!(read(&bytes), read_simple(&bytes));
                bytes.truncate(cut);
                prop_assert_eq!(read(&bytes), read_simple(&bytes));
            }
        }
    }
}
