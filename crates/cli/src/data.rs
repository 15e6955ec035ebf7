//! JSON output for programs, as the library provides it.

use std::borrow::Cow;
use std::io::{self, Write};

use clap::Args;
use sessile::json::{Json, Raw, harmless};
use sessile::threads::both;

/// Prints one value. Bytes that are not UTF-8 become U+FFFD, and characters that act on a terminal are escaped; the
/// rest is not re-serialised.
pub(crate) fn write_value(out: &mut dyn Write, value: &Json) -> io::Result<()> {
    write_raw(out, value.raw())?;
    out.write_all(b"\n")
}

/// Prints a value without ending the line.
pub(crate) fn write_raw(out: &mut dyn Write, value: Raw<'_>) -> io::Result<()> {
    write_text(out, value.as_bytes())
}

/// Prints a piece of JSON text, which may end anywhere between two tokens.
pub(crate) fn write_text(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    // Checked first because validating is several times faster than the lossy conversion.
    let text = str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed);
    out.write_all(harmless(&text).as_bytes())
}

/// The layout of a list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As one array.
    Array,
    /// One per line.
    Lines,
}

/// How a list is printed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ListFormat {
    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,

    /// Print one JSON value per line
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
}

impl ListFormat {
    /// Returns the layout; `None` if the list is for people.
    pub(crate) fn layout(self) -> Option<Layout> {
        if self.jsonl { Some(Layout::Lines) } else { self.json.then_some(Layout::Array) }
    }
}

/// The number of values that two threads write at a time, which bounds the memory for their text.
const VALUES_PER_BLOCK: usize = 1024;

/// A list that is printed incrementally.
pub(crate) struct ListWriter<'o> {
    out: &'o mut dyn Write,
    layout: Layout,
    is_empty: bool,
}

impl<'o> ListWriter<'o> {
    pub(crate) fn new(out: &'o mut dyn Write, layout: Layout) -> Self {
        Self { out, layout, is_empty: true }
    }

    /// Prints the next value.
    pub(crate) fn push(&mut self, value: Raw<'_>) -> io::Result<()> {
        let before: &[u8] = match (self.layout, self.is_empty) {
            (Layout::Array, true) => b"[",
            (Layout::Array, false) => b",",
            (Layout::Lines, _) => b"",
        };
        self.is_empty = false;
        self.out.write_all(before)?;
        write_raw(self.out, value)?;
        if self.layout == Layout::Lines { self.out.write_all(b"\n") } else { Ok(()) }
    }

    /// Prints many values, which two threads write. Equals a [`push`](Self::push) of each.
    pub(crate) fn push_each<T: Sync>(&mut self, values: &[T], json: impl Fn(&T) -> Json + Sync) -> io::Result<()> {
        let layout = self.layout;
        let write = |values: &[T], is_empty, out: &mut Vec<u8>| {
            out.clear();
            let mut list = ListWriter { out, layout, is_empty };
            values.iter().try_for_each(|value| list.push(json(value).raw()))
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for block in values.chunks(VALUES_PER_BLOCK) {
            let (one, other) = block.split_at(block.len().div_ceil(2));
            let is_empty = self.is_empty;
            let (first_result, second_result) =
                both(|| write(one, is_empty, &mut first), || write(other, false, &mut second));
            first_result.and(second_result)?;
            self.out.write_all(&first)?;
            self.out.write_all(&second)?;
            self.is_empty = false;
        }
        Ok(())
    }

    /// Flushes the list, so that its reader sees it so far.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the list.
    pub(crate) fn finish(self) -> io::Result<()> {
        match (self.layout, self.is_empty) {
            (Layout::Array, true) => self.out.write_all(b"[]\n"),
            (Layout::Array, false) => self.out.write_all(b"]\n"),
            (Layout::Lines, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(layout: Layout, values: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut list = ListWriter::new(&mut out, layout);
        for value in values {
            list.push(Raw::parse(value).unwrap()).unwrap();
        }
        list.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lists_are_one_value_or_one_per_line() {
        assert_eq!(written(Layout::Array, &[]), "[]\n");
        assert_eq!(written(Layout::Lines, &[]), "");
        assert_eq!(written(Layout::Array, &[b"1.0", b"{}"]), "[1.0,{}]\n");
        assert_eq!(written(Layout::Lines, &[b"1.0", b"{}"]), "1.0\n{}\n");
    }

    #[test]
    fn many_values_are_printed_like_single_ones() {
        for n_values in [0, 1, 2, 3, VALUES_PER_BLOCK, VALUES_PER_BLOCK + 1, 3 * VALUES_PER_BLOCK - 1] {
            let values: Vec<String> = (0..n_values).map(|number| number.to_string()).collect();
            let texts: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
            for layout in [Layout::Array, Layout::Lines] {
                let mut out = Vec::new();
                let mut list = ListWriter::new(&mut out, layout);
                list.push_each(&values, |value| Json::parse(value.as_str()).unwrap()).unwrap();
                list.finish().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), written(layout, &texts));
            }
        }
    }

    #[test]
    fn output_contains_no_escape_sequences() {
        let value = "\"\u{7f}\u{9b}2J\u{61c}\u{200e}\u{202e}\u{2069}é\"";
        let expected = "[\"\\u007f\\u009b2J\\u061c\\u200e\\u202e\\u2069é\"]\n";
        assert_eq!(written(Layout::Array, &[value.as_bytes()]), expected);
    }

    #[test]
    fn output_is_utf8() {
        assert_eq!(written(Layout::Array, &[b"\"a\xff\""]), "[\"a\u{fffd}\"]\n");
    }
}
