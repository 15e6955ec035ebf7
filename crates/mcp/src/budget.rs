//! Keeps answers small. Clients cut long ones in the middle, or refuse them.

use sessile::json::{Json, ObjectWriter};

/// The most bytes of an answer: its text and its structured form together, as JSON. pi cuts results of 20 KB.
pub const MAX_ANSWER: usize = 18_000;

/// The bytes of an answer, unless a call asks for more or less.
pub const DEFAULT_ANSWER: usize = 12_000;

/// The least limit. Below it, not even one row with all its facts would fit.
pub const MIN_ANSWER: usize = 4_000;

/// Room for what every answer has besides its rows: the braces, the remarks at its end, and the cursor in two places.
const FRAME: usize = 900;

/// A limit that a caller asks for, within what is possible.
pub(crate) fn clamped(limit: usize) -> usize {
    limit.clamp(MIN_ANSWER, MAX_ANSWER)
}

/// One item of an answer, in both forms. Both have the same content: some clients give their model only one of them.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) json: Json,
    /// The number that a cursor has for it.
    pub(crate) item: u64,
    /// Whether its text is not whole.
    pub(crate) is_cut: bool,
}

impl Row {
    fn size(&self) -> usize {
        // A line feed, and a comma.
        encoded_len(&self.text) + 2 + self.json.raw().as_bytes().len() + 1
    }
}

/// The answer of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Json,
}

/// An answer in the making.
pub(crate) struct Page {
    limit: usize,
    /// The lines before the rows.
    lead: String,
    /// The name of the rows in the structured form.
    key: &'static str,
    rows: Vec<Row>,
    /// The bytes of everything so far.
    used: usize,
    /// The members before the rows.
    facts: Vec<(&'static str, Json)>,
    is_cut: bool,
}

impl Page {
    pub(crate) fn new(limit: usize, key: &'static str, lead: String) -> Self {
        let used = FRAME + encoded_len(&lead);
        Self { limit: clamped(limit), lead, key, rows: Vec::new(), used, facts: Vec::new(), is_cut: false }
    }

    /// Adds a member to the structured form.
    pub(crate) fn fact(&mut self, key: &'static str, value: Json) {
        self.used += key.len() + value.raw().as_bytes().len() + 4;
        self.facts.push((key, value));
    }

    /// Says that something outside the rows is not whole.
    pub(crate) fn mark_cut(&mut self) {
        self.is_cut = true;
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The last row.
    pub(crate) fn last(&self) -> Option<&Row> {
        self.rows.last()
    }

    /// Adds a row. `make` gets the number of bytes that each of its texts may have, and must return a smaller row for a
    /// smaller number. The first row comes in any case, cut; returns false if another one has no room.
    pub(crate) fn push(&mut self, max_text: usize, make: &mut dyn FnMut(usize) -> Row) -> bool {
        // Both forms have the text.
        let mut max_text = max_text.min(self.limit / 2);
        loop {
            let row = make(max_text);
            if self.used + row.size() <= self.limit || (self.rows.is_empty() && max_text == 0) {
                self.used += row.size();
                self.is_cut |= row.is_cut;
                self.rows.push(row);
                return true;
            }
            if !self.rows.is_empty() {
                return false;
            }
            max_text = if max_text < 16 { 0 } else { max_text * 7 / 8 };
        }
    }

    /// The answer. `tail` are remarks after the rows; `total` counts the items of all pages, and `next` is the cursor of
    /// the next one.
    pub(crate) fn finish(mut self, total: Option<usize>, next: Option<&str>, tail: &str, is_reversed: bool) -> Answer {
        if is_reversed {
            self.rows.reverse();
        }
        let mut text = self.lead;
        for part in self.rows.iter().map(|row| row.text.as_str()).chain([tail]).filter(|part| !part.is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
        let mut structured = ObjectWriter::new();
        for (key, value) in &self.facts {
            structured.raw(key, value.raw());
        }
        structured.array(self.key, self.rows.iter().map(|row| row.json.raw()));
        if let Some(total) = total {
            structured.integer("total", i64::try_from(total).unwrap_or(i64::MAX));
        }
        structured.bool("truncated", self.is_cut || next.is_some());
        if let Some(next) = next {
            structured.string("nextCursor", next);
        }
        Answer { text, structured: structured.finish() }
    }
}

/// The number of bytes of a text in JSON, without its quotes.
pub(crate) fn encoded_len(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\t' | b'\r' => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_the_json() {
        for text in ["", "a\"b\\c\n\t", "é😀", "\u{1}\u{7f}"] {
            assert!(encoded_len(text) + 2 >= Json::string(text).raw().as_bytes().len(), "{text:?}");
        }
    }

    fn row(text: &str) -> Row {
        Row { text: text.to_owned(), json: Json::string(text), item: 0, is_cut: false }
    }

    #[test]
    fn rows_come_until_there_is_no_room() {
        let mut page = Page::new(0, "rows", "lead".to_owned());
        let mut n_rows = 0;
        while page.push(400, &mut |max| row(&"x".repeat(max))) {
            n_rows += 1;
        }
        assert_eq!((n_rows, page.n_rows()), (3, 3));
        let answer = page.finish(Some(9), Some("next"), "tail", false);
        assert!(answer.text.starts_with("lead\nxxx") && answer.text.ends_with("x\ntail"));
        assert!(answer.structured.to_text().ends_with(r#""total":9,"truncated":true,"nextCursor":"next"}"#));
    }

    #[test]
    fn the_first_row_comes_cut() {
        let mut page = Page::new(MIN_ANSWER, "rows", String::new());
        assert!(page.push(50_000, &mut |max| row(&"\"".repeat(max))));
        let answer = page.finish(None, None, "", false);
        assert!((600..=MIN_ANSWER / 4).contains(&answer.text.len()), "{}", answer.text.len());
    }
}
