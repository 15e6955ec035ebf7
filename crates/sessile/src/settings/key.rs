//! The available settings.

use std::path::Path;

use sessile_core::json::{Json, Raw, Shape};
use sessile_core::nearest::nearest;

use super::SettingsError;

/// A setting.
#[derive(Debug)]
pub struct Key {
    /// Its name, with dots between tables.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its default, as given on a command line.
    pub default: Option<&'static str>,
    /// The variable that overrides the file.
    pub variable: Option<&'static str>,
    /// The variable that is used if the file does not set it.
    pub later_variable: Option<&'static str>,
    /// A short description.
    pub what: &'static str,
}

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A path that is absolute or begins with `~/`.
    Path,
    /// True or false.
    Flag,
    /// A whole number, 0 or greater.
    Number,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words, in any order.
    Words(&'static [&'static str]),
    /// Any texts.
    Texts,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text, path or choice.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number.
    Number(u64),
    /// Words.
    Words(Vec<String>),
    /// A value of another component, unchanged.
    Other(Json),
}

/// The sort orders of a list.
pub const SORTS: &[&str] = &["recent", "created", "size", "cost", "messages", "name"];

/// The available columns of a list.
pub const COLUMNS: &[&str] = &[
    "place",
    "age",
    "messages",
    "session",
    "directory",
    "name",
    "id",
    "created",
    "modified",
    "size",
    "cost",
    "tokens",
    "path",
];

/// All settings.
pub const KEYS: &[Key] = &[
    Key {
        variable: Some("PI_CODING_AGENT_SESSION_DIR"),
        ..key("session_dir", Kind::Path, None, "directory of the sessions")
    },
    key("color", Kind::Choice(&["auto", "always", "never"]), Some("auto"), "when to use colour"),
    Key {
        variable: Some("SESSILE_PAGER"),
        later_variable: Some("PAGER"),
        ..key("pager", Kind::Text, Some("less -FRX"), "program that shows long output; empty for none")
    },
    key("list.columns", Kind::Words(COLUMNS), None, "columns of session lists"),
    key("list.sort", Kind::Choice(SORTS), Some("recent"), "sort order of session lists"),
    key("list.limit", Kind::Number, Some("0"), "maximum number of sessions to list; 0 for all"),
    key(
        "list.titles",
        Kind::Flag,
        Some("false"),
        "list sessions without a name by a short title instead of their first message",
    ),
    key("resume.command", Kind::Text, Some("pi --session {path}"), "command that continues a session"),
    key("remember_leaf", Kind::Flag, Some("true"), "open a session at the entry where you left it"),
    key(
        "durability",
        Kind::Choice(&["buffered", "group", "sync"]),
        Some("buffered"),
        "when written entries are flushed to disk",
    ),
    key("hooks.dir", Kind::Path, None, "directory of hooks; default: `hooks` next to this file"),
    key("hooks.timeout", Kind::Number, Some("30"), "time limit for a hook, in seconds"),
    key("mcp.scope", Kind::Choice(&["repo", "all"]), Some("repo"), "sessions that `sessile mcp` shows to agents"),
    key("mcp.exclude", Kind::Texts, None, "directories and sessions that `sessile mcp` never shows"),
    key(
        "titles.auto",
        Kind::Choice(&["off", "rule", "model"]),
        Some("off"),
        "who titles sessions that you resume or write with `sessile rpc`",
    ),
    key("titles.model", Kind::Text, None, "model for titles.auto = \"model\": provider/model"),
];

/// Tables of other components, which are not checked.
pub const RESERVED: &[&str] = &["summarizer", "compaction", "branch_summary", "remote", "secrets", "tui"];

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>, what: &'static str) -> Key {
    Key { name, kind, default, variable: None, later_variable: None, what }
}

impl Key {
    /// The setting of this name.
    pub fn of(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    pub(super) fn default_value(&self) -> Option<Value> {
        self.default.and_then(|text| self.kind.parse(text))
    }
}

impl Kind {
    /// Parses a word from a command line; `None` if it is not of this type.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Path => is_anchored(text).then(|| Value::Text(text.to_owned())),
            Self::Flag => text.parse().ok().map(Value::Flag),
            Self::Number => text.parse().ok().map(Value::Number),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Texts => {
                let given: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
                given.iter().all(|word| !word.is_empty()).then_some(Value::Words(given))
            }
            Self::Words(words) => {
                let given: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
                let are_known = !given.is_empty() && given.iter().all(|word| words.contains(word));
                are_known.then(|| Value::Words(given.into_iter().map(str::to_owned).collect()))
            }
        }
    }

    /// A description of the expected value.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Path => "a path that is absolute or starts with ~/".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number => "a whole number".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Words(words) => format!("a list of words from {}", words.join(", ")),
            Self::Texts => "a list of texts".to_owned(),
        }
    }
}

impl Value {
    /// The value as a list of texts: those of an array, or one text. `None` if it is neither.
    pub fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::Text(text) => Some(vec![text.clone()]),
            Self::Words(words) => Some(words.clone()),
            Self::Other(json) if json.raw().shape() == Shape::Array => json.raw().items().map(Raw::as_string).collect(),
            Self::Other(json) => json.raw().as_string().map(|text| vec![text]),
            Self::Flag(_) | Self::Number(_) => None,
        }
    }

    /// The value as it would be given on a command line.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Words(words) => words.join(","),
            Self::Other(json) => json.raw().as_string().unwrap_or_else(|| json.to_text().into_owned()),
        }
    }
}

/// Whether a path does not depend on the working directory.
pub(super) fn is_anchored(text: &str) -> bool {
    Path::new(text).is_absolute() || text == "~" || text.starts_with("~/")
}

/// Whether a key belongs to a table of another component.
pub(super) fn is_reserved(key: &str) -> bool {
    key.split_once('.').is_some_and(|(table, rest)| RESERVED.contains(&table) && !rest.is_empty())
}

/// The most similar setting.
pub(super) fn nearest_key(word: &str) -> Option<&'static str> {
    nearest(word, KEYS.iter().map(|key| key.name).chain(RESERVED.iter().copied()))
}

pub(super) fn unknown(key: &str) -> SettingsError {
    SettingsError::UnknownKey { key: key.to_owned(), nearest: nearest_key(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_have_the_right_kind() {
        for key in KEYS {
            assert_eq!(key.default.is_some(), key.default_value().is_some(), "{}", key.name);
            assert!(!is_reserved(key.name));
        }
    }

    #[test]
    fn values_are_parsed_by_kind() {
        let sorts = Kind::Choice(SORTS);
        assert_eq!(sorts.parse("cost"), Some(Value::Text("cost".to_owned())));
        assert_eq!(sorts.parse("price"), None);
        assert_eq!(Kind::Words(COLUMNS).parse("age, id"), Some(Value::Words(vec!["age".into(), "id".into()])));
        assert_eq!(Kind::Words(COLUMNS).parse("age,nonsense"), None);
        assert_eq!(Kind::Words(COLUMNS).parse(""), None);
        assert_eq!(Kind::Number.parse("-1"), None);
        assert_eq!(Kind::Flag.parse("yes"), None);
        assert_eq!(Kind::Path.parse("relative/to/what"), None);
        assert_eq!(Kind::Path.parse("~/sessions").map(|value| value.to_text()), Some("~/sessions".to_owned()));
        assert_eq!(nearest_key("sesion_dir"), Some("session_dir"));
        assert_eq!(nearest_key("columns"), None);
    }

    #[test]
    fn a_list_setting_accepts_one_text_or_several() {
        let other = |json: &str| Value::Other(Json::parse(json).unwrap()).texts();
        assert_eq!(Value::Text("a".to_owned()).texts(), Some(vec!["a".to_owned()]));
        assert_eq!(Value::Words(vec!["a".to_owned(), "b".to_owned()]).texts(), other(r#"["a","b"]"#));
        assert_eq!(other(r#""a""#), Some(vec!["a".to_owned()]));
        assert_eq!(other("[]"), Some(Vec::new()));
        for wrong in ["1", "null", r#"{"a":"b"}"#, r#"["a",1]"#, "[[]]"] {
            assert_eq!(other(wrong), None, "{wrong}");
        }
        assert_eq!((Value::Flag(true).texts(), Value::Number(1).texts()), (None, None));
    }
}
