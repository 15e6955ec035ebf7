//! The encodings that hide a secret, and the way back from a place in the decoded text.

pub(crate) mod ansi;
pub(crate) mod base64;
pub(crate) mod hex;
pub(crate) mod json;
pub(crate) mod percent;
pub(crate) mod wrapped;

use std::ops::Range;

use crate::Via;

/// A decoded text and where its bytes come from.
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) via: Via,
    /// The bytes of the outer text that were decoded.
    pub(crate) source: Range<usize>,
    /// The outer offset of each decoded byte, and the end; none if only the whole can be replaced.
    map: Option<Vec<u32>>,
}

impl Decoded {
    /// Makes a text that can only be replaced as a whole.
    fn whole(text: String, via: Via, source: Range<usize>) -> Self {
        Self { text, via, source, map: None }
    }

    /// Returns the bytes of the outer text that hold a range of the decoded text.
    pub(crate) fn outer(&self, range: &Range<usize>) -> Range<usize> {
        let Some(map) = &self.map else { return self.source.clone() };
        let place = |at: usize| map.get(at).map_or(self.source.end, |&offset| self.source.start + offset as usize);
        // Where bytes were only left out, those after the last byte do not belong to it.
        let leaves_out = matches!(self.via, Via::Ansi | Via::Wrapped) && range.end > range.start;
        let end = if leaves_out { place(range.end - 1) + 1 } else { place(range.end) };
        place(range.start)..end
    }
}

/// Builds a decoded text byte by byte, with its map.
struct Builder {
    bytes: Vec<u8>,
    map: Vec<u32>,
}

impl Builder {
    fn with_room(room: usize) -> Self {
        Self { bytes: Vec::with_capacity(room), map: Vec::with_capacity(room + 1) }
    }

    /// Adds bytes that one place of the source stands for.
    fn push(&mut self, bytes: &[u8], offset: usize) {
        self.bytes.extend_from_slice(bytes);
        self.map.extend(bytes.iter().map(|_| to_offset(offset)));
    }

    /// Adds bytes that stand for themselves.
    fn copy(&mut self, bytes: &[u8], offset: usize) {
        self.bytes.extend_from_slice(bytes);
        self.map.extend((offset..offset + bytes.len()).map(to_offset));
    }

    /// Ends the text. Invalid UTF-8 gives nothing.
    fn finish(mut self, via: Via, source: Range<usize>) -> Option<Decoded> {
        self.map.push(to_offset(source.len()));
        let text = String::from_utf8(self.bytes).ok()?;
        Some(Decoded { text, via, source, map: Some(self.map) })
    }
}

/// Texts of 4 GB are not decoded as a whole, so the offset always fits.
fn to_offset(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// Whether bytes are text that a person or a program could have written.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_ok_and(|text| !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{1b}')))
}

/// Whether the first bytes may begin a text. The last character may be cut.
fn begins_text(bytes: &[u8]) -> bool {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => bytes,
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or(&[]),
        Err(_) => return false,
    };
    is_text(whole)
}

/// Returns a value as it is, in base64, percent encoding and as part of a JSON string.
pub(crate) fn forms_of(value: &str) -> Vec<(String, Option<Via>)> {
    let mut json = Vec::new();
    sessile_core::json::write_string(value, &mut json);
    let json = String::from_utf8(json).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or("").to_owned();
    let encoded = [
        (base64::encode(value.as_bytes(), false), Via::Base64),
        (base64::encode(value.as_bytes(), true), Via::Base64),
        (percent::encode(value, char::to_ascii_uppercase), Via::Percent),
        (percent::encode(value, char::to_ascii_lowercase), Via::Percent),
        (json.replace('/', "\\/"), Via::Json),
        (json, Via::Json),
    ];
    let mut forms = vec![(value.to_owned(), None)];
    for (form, via) in encoded {
        if !form.is_empty() && forms.iter().all(|(known, _)| *known != form) {
            forms.push((form, Some(via)));
        }
    }
    forms
}
