//! Composes lines: ids, times, numbers and strings as JavaScript spells them.

use sessile::date::{Timestamp, to_iso};
use sessile::json::{number_text, write_string};

/// A line under construction.
#[derive(Debug, Default)]
pub(super) struct Line(pub(super) Vec<u8>);

impl Line {
    /// Appends JSON as it is.
    pub(super) fn json(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends a string whose text is already escaped.
    pub(super) fn quoted(&mut self, escaped: &[u8]) -> &mut Self {
        self.0.push(b'"');
        self.0.extend_from_slice(escaped);
        self.0.push(b'"');
        self
    }

    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        write_string(text, &mut self.0);
        self
    }

    pub(super) fn number(&mut self, number: f64) -> &mut Self {
        self.json(&number_text(number))
    }

    pub(super) fn integer(&mut self, number: impl std::fmt::Display) -> &mut Self {
        self.json(&number.to_string())
    }
}

/// Returns the id of the entry with this number in a session: unique per number, and random-looking.
pub(super) fn entry_id(salt: u32, number: u32) -> String {
    // Each step is reversible, so no two numbers collide.
    let mut mixed = (number ^ salt).wrapping_mul(0x9e37_79b1);
    mixed ^= mixed >> 16;
    mixed = mixed.wrapping_mul(0x85eb_ca6b);
    mixed ^= mixed >> 13;
    format!("{mixed:08x}")
}

/// Returns lines as another program would append them to a session: short messages in a row after `parent`.
pub fn foreign_lines(parent: &str, n_lines: u32, salt: u32) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut parent = parent.to_owned();
    for number in 0..n_lines {
        let id = format!("f{:02x}{:05x}", salt & 0xff, number & 0xf_ffff);
        let ms = 1_790_000_000_000 + i64::from(salt) * 1_000_000 + i64::from(number) * 1_000;
        let text = format!("Note {number} of {salt}: {}", "and so it went on ".repeat(100));
        let mut line = Line::default();
        line.json(r#"{"type":"message","id":"#).string(&id).json(r#","parentId":"#).string(&parent);
        line.json(r#","timestamp":"#).string(&to_iso(Timestamp::from_ms(ms)));
        line.json(r#","message":{"role":"user","content":[{"type":"text","text":"#).string(&text);
        line.json(r#"}],"timestamp":"#).integer(ms).json("}}\n");
        lines.append(&mut line.0);
        parent = id;
    }
    lines
}
