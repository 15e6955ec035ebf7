//! What a scrub changes in a file, computed and checked before anything is written.

use std::borrow::Cow;
use std::path::Path;

use sessile_core::head::{Parsed, read};
use sessile_core::json::Raw;
use sessile_core::line::{Line, Span};

use super::{ScrubbedKind, Scrubber};
use crate::error::SessionError;
use crate::splice::{Splice, Spliced, Text};

/// Members besides those of the head by which entries refer to each other, and the version of the format.
const KEPT: [&str; 4] = ["version", "targetId", "fromId", "firstKeptEntryId"];

/// The changes to a text.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The changed lines, in order.
    pub(super) splices: Vec<Splice>,
    /// The number of lines.
    pub(super) n_lines: usize,
    /// The length of the text.
    pub(super) length: u64,
    /// The new length of a last line without a newline; zero if there is none.
    pub(super) torn: u64,
}

impl Plan {
    /// Passes the lines of a text from an offset on, where a line begins, to a scrubber.
    ///
    /// In a session and in the trash, each new line must be the same entry as before.
    pub(super) fn new(
        path: &Path,
        text: &dyn Text,
        from: u64,
        kind: ScrubbedKind,
        scrubber: &mut dyn Scrubber,
    ) -> Result<Self, SessionError> {
        if from == 0 {
            scrubber.begin(kind, path);
        }
        let is_checked = matches!(kind, ScrubbedKind::Session | ScrubbedKind::Trash);
        let mut plan = Self { length: text.length(), ..Self::default() };
        let mut failed = None;
        text.lines(Span { offset: from, len: text.length() - from }, &mut |line| {
            if failed.is_none() {
                failed = plan.add(path, line, is_checked, scrubber).err();
            }
        })?;
        failed.map_or(Ok(plan), Err)
    }

    fn add(
        &mut self,
        path: &Path,
        line: Line<'_>,
        is_checked: bool,
        scrubber: &mut dyn Scrubber,
    ) -> Result<(), SessionError> {
        self.n_lines += 1;
        let number = self.n_lines as u64;
        let refused = |what: &str| {
            let (path, what) = (path.to_path_buf(), what.to_owned());
            Err(SessionError::ScrubFailed { path, line: number, what })
        };
        let whole = line.span;
        let line = line.without_bom();
        let Some(bytes) = line.bytes else { return refused("it is too long to be searched") };
        let new = rewrite_line(scrubber, path, number, bytes)?;
        if !line.terminated {
            self.torn = whole.len - line.span.len + new.len() as u64;
        }
        if *new == *bytes {
            return Ok(());
        }
        if memchr::memchr(b'\n', &new).is_some() {
            return refused("it would become several lines");
        }
        if is_checked && !is_same_entry(bytes, &new) {
            return refused("its type, id, parent, time or role would change");
        }
        self.splices.push(Splice { at: line.span, with: new.into_owned() });
        Ok(())
    }

    /// The length of the text with the changes.
    pub(super) fn length_after(&self, text: &dyn Text) -> u64 {
        Spliced::new(text, &self.splices).length()
    }
}

/// Passes lines to a scrubber, and adds the place to its refusals.
pub(super) fn rewrite_line<'l>(
    scrubber: &mut dyn Scrubber,
    path: &Path,
    number: u64,
    line: &'l [u8],
) -> Result<Cow<'l, [u8]>, SessionError> {
    scrubber.line(line).map_err(|what| SessionError::ScrubFailed { path: path.to_path_buf(), line: number, what })
}

/// Whether a reader takes two lines for the same entry, or skips both for the same reason.
fn is_same_entry(old: &[u8], new: &[u8]) -> bool {
    match (read(old), read(new)) {
        (Parsed::Value(old_head), Parsed::Value(new_head)) => {
            let kept = |line| Raw::parse(line).ok().map(|value| KEPT.map(|key| value.get(key).map(Raw::to_json)));
            old_head == new_head && kept(old) == kept(new)
        }
        (Parsed::Malformed { .. }, Parsed::Malformed { .. }) => true,
        (old, new) => old == new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_the_same_entry() {
        let entry = br#"{"type":"label","id":"a","parentId":"b","timestamp":"2025-01-01T00:00:01.000Z","targetId":"c","label":"x"}"#;
        let with = |from: &str, to: &str| String::from_utf8_lossy(entry).replace(from, to).into_bytes();
        assert!(is_same_entry(entry, &with("\"x\"", "\"y\"")));
        for (from, to) in [
            ("label\",\"id", "custom\",\"id"),
            ("\"a\"", "\"z\""),
            ("\"b\"", "null"),
            ("00:01", "00:02"),
            ("\"c\"", "\"d\""),
            ("}", ""),
        ] {
            assert!(!is_same_entry(entry, &with(from, to)), "{from} {to}");
        }
        assert!(is_same_entry(b"torn {", b"torn"));
        assert!(!is_same_entry(b"torn {", b"{}"));
        assert!(!is_same_entry(b"torn {", b" "));
        let version = |number| format!(r#"{{"type":"session","id":"a","version":{number}}}"#).into_bytes();
        assert!(!is_same_entry(&version(2), &version(3)));
    }
}
