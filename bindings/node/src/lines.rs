//! Lines on their way to JavaScript.

use napi::bindgen_prelude::{Buffer, Uint8Array, Uint32Array};
use napi_derive::napi;
use sessile::rows::message_start;

use crate::handle::number;

/// Lines of rows: JavaScript parses them.
///
/// They are in ASCII; other characters are JSON escapes. So JavaScript makes one string of all lines, which is outside of
/// its heap if it is long, and parses slices of it: nothing else fills the heap with garbage.
#[napi(object, object_from_js = false)]
pub struct Lines {
    /// The lines, unless they are in the caller's buffer.
    pub bytes: Option<Buffer>,
    /// Where each line ends. The next one begins one byte later.
    pub ends: Uint32Array,
    /// For each line: where its message begins if it may be a message as pi writes it, see [`message_start`]; otherwise 0.
    pub messages: Uint8Array,
}

/// Collects lines.
#[derive(Default)]
pub(crate) struct LineTable {
    ends: Vec<u32>,
    messages: Vec<u8>,
    /// The last line that was not in ASCII.
    escaped: Vec<u8>,
}

impl LineTable {
    /// Puts a line into the caller's buffer, or into `own` if it is the first and too long. False if there is no room.
    pub(crate) fn put_into(&mut self, room: &mut [u8], own: &mut Option<Vec<u8>>, line: &[u8]) -> bool {
        if own.is_some() {
            return false;
        }
        let start = self.ends.last().map_or(0, |end| *end as usize + 1);
        let line = ascii(line, &mut self.escaped);
        match room.get_mut(start..).and_then(|rest| rest.get_mut(..line.len())) {
            Some(place) => place.copy_from_slice(line),
            None if start == 0 => *own = Some(line.to_vec()),
            None => return false,
        }
        self.ends.push(number(start + line.len()));
        self.messages.push(message_place(line));
        true
    }

    /// Appends a line to `text`, which has all the lines so far.
    pub(crate) fn append_to(&mut self, text: &mut Vec<u8>, line: &[u8]) {
        let line = ascii(line, &mut self.escaped);
        text.extend_from_slice(line);
        self.ends.push(number(text.len()));
        self.messages.push(message_place(line));
        text.push(b'\n');
    }

    /// The lines, with their text if it is not in the caller's buffer.
    pub(crate) fn finish(self, text: Option<Vec<u8>>) -> Lines {
        Lines { bytes: text.map(Buffer::from), ends: self.ends.into(), messages: self.messages.into() }
    }
}

fn message_place(line: &[u8]) -> u8 {
    message_start(line).and_then(|start| u8::try_from(start).ok()).unwrap_or_default()
}

/// A line of JSON in ASCII, with the same value. As in pi, bytes that are not UTF-8 become U+FFFD.
fn ascii<'l>(line: &'l [u8], escaped: &'l mut Vec<u8>) -> &'l [u8] {
    if line.is_ascii() {
        return line;
    }
    escaped.clear();
    match str::from_utf8(line) {
        Ok(text) => push_escaped(text, escaped),
        Err(_) => {
            for chunk in line.utf8_chunks() {
                push_escaped(chunk.valid(), escaped);
                if !chunk.invalid().is_empty() {
                    push_escape(char::REPLACEMENT_CHARACTER, escaped);
                }
            }
        }
    }
    escaped
}

/// Appends a text with escapes. Texts are mostly ASCII, so it is copied in runs.
fn push_escaped(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let (plain, others) = rest.split_at(n_leading_ascii(rest.as_bytes()));
        out.extend_from_slice(plain.as_bytes());
        let mut chars = others.chars();
        let Some(char) = chars.next() else { return };
        push_escape(char, out);
        rest = chars.as_str();
    }
}

fn n_leading_ascii(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let n_blocks = blocks.iter().take_while(|block| block.is_ascii()).count();
    let rest = bytes.iter().skip(n_blocks * BLOCK);
    n_blocks * BLOCK + rest.take_while(|byte| byte.is_ascii()).count()
}

/// Appends a character as `\uXXXX`, or as two of them.
fn push_escape(char: char, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for unit in char.encode_utf16(&mut [0; 2]) {
        out.extend_from_slice(b"\\u");
        out.extend([12, 8, 4, 0].map(|shift| DIGITS[usize::from(*unit >> shift & 15)]));
    }
}
