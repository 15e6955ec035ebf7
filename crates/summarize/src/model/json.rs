//! Writes and reads JSON, for the four protocols.

use sessile_core::json::{Json, ObjectWriter, Raw};

use crate::usage::as_count;

/// Builds an object of string members.
pub(super) fn strings(members: &[(&str, &str)]) -> Json {
    let mut json = ObjectWriter::new();
    for (key, value) in members {
        json.string(key, value);
    }
    json.finish()
}

/// Converts a count for a JSON member.
pub(super) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the value at a path of member names, unless it is null.
pub(super) fn at<'j>(json: Raw<'j>, path: &[&str]) -> Option<Raw<'j>> {
    path.iter().try_fold(json, |json, name| json.get(name)).filter(|value| !value.is_null())
}

/// Returns the text at a path of member names.
pub(super) fn text_at(json: Raw<'_>, path: &[&str]) -> Option<String> {
    at(json, path).and_then(Raw::as_string)
}

/// Returns the number of tokens at a path of member names.
pub(super) fn tokens_at(json: Raw<'_>, path: &[&str]) -> Option<u64> {
    at(json, path).and_then(as_count)
}
