//! Which rows of a session a page has.

use std::fmt;

use sessile::format::outline::Outline;

/// A number of rows from the start of a session, and a fingerprint of what they are.
///
/// It depends only on the file, so it stays valid when the server is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) n_rows: usize,
    /// The end of the last row in the file.
    end: u64,
    print: u64,
}

impl Cursor {
    /// The cursor after this number of rows.
    pub(crate) fn at(outline: &Outline, n_rows: usize) -> Self {
        Self::default().extended(outline, n_rows)
    }

    /// The cursor after all rows, whose fingerprint is known.
    pub(crate) fn after_all(outline: &Outline, print: u64) -> Self {
        let end = outline.rows().next_back().map_or(0, |row| outline.span(row).end());
        Self { n_rows: outline.rows().len(), end, print }
    }

    /// The cursor after more rows.
    pub(crate) fn extended(self, outline: &Outline, n_rows: usize) -> Self {
        let end = outline.rows().take(n_rows).next_back().map_or(0, |row| outline.span(row).end());
        Self { n_rows, end, print: fingerprint(outline, self.n_rows, n_rows, self.print) }
    }

    /// Whether the session starts with the rows of the cursor.
    pub(crate) fn is_start_of(self, outline: &Outline) -> bool {
        self.n_rows <= outline.rows().len() && Self::at(outline, self.n_rows) == self
    }

    /// Reads a cursor as [`Display`](fmt::Display) writes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let cursor = Self {
            n_rows: parts.next()?.parse().ok()?,
            end: parts.next()?.parse().ok()?,
            print: u64::from_str_radix(parts.next()?, 16).ok()?,
        };
        Some(cursor)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:x}", self.n_rows, self.end, self.print)
    }
}

/// Continues a fingerprint over some rows: their ids, places, types and parents.
pub(crate) fn fingerprint(outline: &Outline, from: usize, to: usize, start: u64) -> u64 {
    let mut print = start;
    let mut add = |number: u64| print = (print.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    for row in outline.rows().skip(from).take(to.saturating_sub(from)) {
        let span = outline.span(row);
        add(span.offset);
        add(span.len);
        add(outline.parent(row).map_or(u64::MAX, |parent| parent.index() as u64));
        add(outline.kind(row) as u64 + (outline.role(row) as u64) * 256);
        if let Some(id) = outline.id(row) {
            for piece in id.as_wtf8().chunks(8) {
                add(piece.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
            }
        }
    }
    print
}

#[cfg(test)]
mod tests {
    use sessile::Sessions;
    use sessile::testing::IsolatedSystem;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is another program")]
    fn a_cursor_fits_only_the_rows_that_it_was_made_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let sessions = Sessions::new(IsolatedSystem::in_home(dir.path())).read_only();
        let outline_of = |lines: &[&str]| {
            let header = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#;
            std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
            sessions.open(&path).unwrap()
        };
        let entry = |id: &str, parent: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"x"}}}}"#
            )
        };
        let (a, b, c) = (entry("a", "-"), entry("b", "a"), entry("c", "b"));
        let whole = outline_of(&[&a, &b, &c]);
        let cursor = Cursor::at(whole.outline(), 3);
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        assert_eq!(Cursor::at(whole.outline(), 1).extended(whole.outline(), 3), cursor);
        assert_eq!(
            Cursor::after_all(whole.outline(), Cursor::at(whole.outline(), 4).print),
            Cursor::at(whole.outline(), 4)
        );
        assert!(cursor.is_start_of(whole.outline()) && Cursor::default().is_start_of(whole.outline()));
        assert!(cursor.is_start_of(outline_of(&[&a, &b]).outline()));
        assert!(!cursor.is_start_of(outline_of(&[&a]).outline()), "too short");
        assert!(!cursor.is_start_of(outline_of(&[&a, &entry("d", "a"), &c]).outline()), "another id");
        assert!(!cursor.is_start_of(outline_of(&[&a, &entry("b", "c"), &c]).outline()), "another parent");
        assert!(!cursor.is_start_of(outline_of(&[&a, &b.replace("user", "tool"), &c]).outline()), "another role");
        for odd in ["", "1", "1-2", "x-2-3", "1-2-x", "-1-2-3", "1-2-3-4", "99999999999999999999999-1-1"] {
            assert_eq!(Cursor::parse(odd), None, "{odd}");
        }
        assert!(!Cursor::parse("4294967296-1-1").unwrap().is_start_of(whole.outline()));
    }
}
