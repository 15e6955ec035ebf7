//! Lines of session files, in pi's spelling.

use std::fmt::Write;

use sessile_testkit::differential::Op;
use sessile_testkit::quoted;

/// A valid header: session s1 of `/tmp`.
pub(crate) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp"}"#;

/// The same header in a version 1 file.
pub(crate) const HEADER_V1: &str =
    r#"{"type":"session","id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp"}"#;

/// A user message, as appended.
pub(crate) const HI: &str = r#"{"role":"user","content":"hi","timestamp":1}"#;

/// An answer, as appended.
pub(crate) const YO: &str = r#"{"role":"assistant","content":[{"type":"text","text":"yo"}],"api":"x","provider":"prov","model":"mod","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":2}"#;

/// Returns a file of these lines.
pub(crate) fn file<L: AsRef<str>>(lines: &[L]) -> String {
    let mut file = String::new();
    for line in lines {
        writeln!(file, "{}", line.as_ref()).expect("writing to a string cannot fail");
    }
    file
}

/// Returns the header with one field replaced by another, both as JSON.
pub(crate) fn header_with(field: &str, replacement: &str) -> String {
    assert!(HEADER.contains(field), "{field} is in the header");
    HEADER.replace(field, replacement)
}

/// Returns the JSON of an id, or `null`.
fn id(id: Option<&str>) -> String {
    id.map_or_else(|| "null".to_owned(), quoted)
}

/// Returns a message entry at a second of the first minute of 2025.
pub(crate) fn message<'a>(own: &str, parent: impl Into<Option<&'a str>>, second: u32, message: &str) -> String {
    entry("message", own, parent, second, &format!("\"message\":{message}"))
}

/// Returns an entry of any type; `fields` are the members after the usual ones.
pub(crate) fn entry<'a>(
    kind: &str,
    own: &str,
    parent: impl Into<Option<&'a str>>,
    second: u32,
    fields: &str,
) -> String {
    format!(
        r#"{{"type":"{kind}","id":{},"parentId":{},"timestamp":"2025-01-01T00:00:{second:02}.000Z",{fields}}}"#,
        quoted(own),
        id(parent.into())
    )
}

/// Returns a user message whose text is its id.
pub(crate) fn user<'a>(own: &str, parent: impl Into<Option<&'a str>>) -> String {
    user_saying(own, parent, own)
}

/// Returns a user message.
pub(crate) fn user_saying<'a>(own: &str, parent: impl Into<Option<&'a str>>, text: &str) -> String {
    message(own, parent, 1, &format!(r#"{{"role":"user","content":{},"timestamp":1735689601000}}"#, quoted(text)))
}

/// Returns an answer whose text is its id.
pub(crate) fn assistant<'a>(own: &str, parent: impl Into<Option<&'a str>>) -> String {
    let text = YO.replace("\"yo\"", &quoted(own)).replace("\"timestamp\":2}", "\"timestamp\":1735689602000}");
    message(own, parent, 2, &text)
}

/// Returns a label entry.
pub(crate) fn label<'a>(
    own: &str,
    parent: impl Into<Option<&'a str>>,
    second: u32,
    target: &str,
    label: Option<&str>,
) -> String {
    let label = label.map_or_else(String::new, |label| format!(",\"label\":{}", quoted(label)));
    entry("label", own, parent, second, &format!("\"targetId\":{}{label}", quoted(target)))
}

/// Returns a compaction that keeps the entries from `kept` on.
pub(crate) fn compaction<'a>(own: &str, parent: impl Into<Option<&'a str>>, kept: &str, summary: &str) -> String {
    let fields = format!(r#""summary":{},"firstKeptEntryId":{},"tokensBefore":7"#, quoted(summary), quoted(kept));
    entry("compaction", own, parent, 5, &fields)
}

/// Returns a context edit with these fields after its target.
pub(crate) fn context_edit<'a>(
    own: &str,
    parent: impl Into<Option<&'a str>>,
    target: &str,
    replacement: &str,
) -> String {
    entry("context_edit", own, parent, 5, &format!("\"targetId\":{}{replacement}", quoted(target)))
}

/// Returns a line of a version 1 file: a message without id and parent.
pub(crate) fn old_user(text: &str) -> String {
    format!(
        r#"{{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":{},"timestamp":1}}}}"#,
        quoted(text)
    )
}

/// Returns the operation that appends a user message.
pub(crate) fn user_op(text: &str) -> Op {
    Op::Message(HI.replace("\"hi\"", &quoted(text)))
}

/// Returns the operation that appends an answer.
pub(crate) fn answer(text: &str) -> Op {
    Op::Message(YO.replace("\"yo\"", &quoted(text)))
}

/// Returns the number of lines of a file.
pub(crate) fn n_lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

/// Returns the last line of a file.
pub(crate) fn last_line(bytes: &[u8]) -> String {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    String::from_utf8_lossy(lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned()
}
