//! Changes to parts of one line, made in one pass. All other bytes stay.

use std::ops::Range;

use sessile_core::json::{Member, Raw, write_string};

/// Replacements of bytes of a value. They must not overlap.
#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<Edit>);

#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    /// What stands there instead; `None` if the bytes stay and are not to be looked at again.
    text: Option<Vec<u8>>,
}

impl Edits {
    /// Replaces bytes by JSON text, or by nothing.
    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<Vec<u8>>) {
        self.0.push(Edit { range, text: Some(text.into()) });
    }

    /// Replaces bytes by a JSON string.
    pub(crate) fn replace_string(&mut self, range: Range<usize>, text: &str) {
        let mut out = Vec::new();
        write_string(text, &mut out);
        self.replace(range, out);
    }

    /// Keeps bytes that are already judged.
    pub(crate) fn keep(&mut self, range: Range<usize>) {
        self.0.push(Edit { range, text: None });
    }

    /// Removes items of an array that is part of `whole`.
    pub(crate) fn remove_items(&mut self, whole: Raw<'_>, array: Raw<'_>, removed: impl Fn(usize) -> bool) {
        self.remove(array.items().enumerate().map(|(n, item)| (item.span_in(whole), removed(n))));
    }

    /// Removes members of an object that is part of `whole`. Call it once for each object.
    pub(crate) fn remove_members(&mut self, whole: Raw<'_>, object: Raw<'_>, removed: impl Fn(&Member<'_>) -> bool) {
        let span = |member: &Member<'_>| member.key.span_in(whole).start..member.value.span_in(whole).end;
        self.remove(object.members().map(|member| (span(&member), removed(&member))));
    }

    /// Removes parts with a comma each: the one before a part, unless all parts before it go.
    fn remove(&mut self, parts: impl Iterator<Item = (Range<usize>, bool)>) {
        let parts: Vec<_> = parts.collect();
        let mut keeps_one = false;
        for (n, (span, is_removed)) in parts.iter().enumerate() {
            if !is_removed {
                keeps_one = true;
            } else if keeps_one {
                self.replace(parts[n - 1].0.end..span.end, Vec::new());
            } else {
                self.replace(span.start..parts.get(n + 1).map_or(span.end, |(next, _)| next.start), Vec::new());
            }
        }
    }

    /// Whether there is nothing to change.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|edit| edit.text.is_none())
    }

    /// Orders the edits so far and returns what tells which parts they cover.
    pub(crate) fn covered(&mut self) -> Covered {
        self.0.sort_by_key(|edit| (edit.range.start, edit.range.end));
        Covered { ranges: self.0.iter().map(|edit| edit.range.clone()).collect(), at: 0 }
    }

    /// The bytes with all changes made.
    pub(crate) fn apply(mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut out = Vec::with_capacity(bytes.len());
        let mut copied = 0;
        for Edit { range, text } in self.0 {
            let Some(text) = text else { continue };
            debug_assert!(copied <= range.start, "edits overlap");
            out.extend_from_slice(&bytes[copied..range.start.max(copied)]);
            out.extend_from_slice(&text);
            copied = range.end.max(copied);
        }
        out.extend_from_slice(&bytes[copied..]);
        out
    }
}

/// The ranges of some edits, asked in file order.
#[derive(Debug)]
pub(crate) struct Covered {
    ranges: Vec<Range<usize>>,
    at: usize,
}

impl Covered {
    /// Whether an edit covers a token. Later calls must ask for later tokens.
    pub(crate) fn covers(&mut self, token: &Range<usize>) -> bool {
        while self.ranges.get(self.at).is_some_and(|range| range.end <= token.start) {
            self.at += 1;
        }
        self.ranges.get(self.at).is_some_and(|range| range.start <= token.start && token.end <= range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_items(array: &str, removed: &[usize]) -> String {
        let whole = Raw::parse(array.as_bytes()).unwrap();
        let mut edits = Edits::default();
        edits.remove_items(whole, whole, |n| removed.contains(&n));
        String::from_utf8(edits.apply(array.as_bytes())).unwrap()
    }

    #[test]
    fn items_go_with_their_commas() {
        let array = "[ 1 , [2] ,\"3\"]";
        for (removed, left) in [
            (&[][..], array),
            (&[0], "[ [2] ,\"3\"]"),
            (&[1], "[ 1 ,\"3\"]"),
            (&[2], "[ 1 , [2]]"),
            (&[0, 1], "[ \"3\"]"),
            (&[0, 2], "[ [2]]"),
            (&[1, 2], "[ 1]"),
            (&[0, 1, 2], "[ ]"),
        ] {
            assert_eq!(without_items(array, removed), left, "{removed:?}");
        }
    }

    #[test]
    fn members_go_with_their_commas() {
        let object = r#"{"a":1,"b":{"a":2},"a":3}"#;
        let whole = Raw::parse(object.as_bytes()).unwrap();
        let mut edits = Edits::default();
        edits.remove_members(whole, whole, |member| member.is("a"));
        assert_eq!(edits.apply(object.as_bytes()), br#"{"b":{"a":2}}"#);
    }

    #[test]
    fn covered_parts_are_known() {
        let mut edits = Edits::default();
        edits.replace(10..20, *b"x");
        edits.keep(2..4);
        assert!(!edits.is_empty());
        let mut covered = edits.covered();
        let answers: Vec<bool> = [0..2, 2..4, 4..9, 9..11, 12..20, 20..21].iter().map(|t| covered.covers(t)).collect();
        assert_eq!(answers, [false, true, false, false, true, false]);
    }
}
