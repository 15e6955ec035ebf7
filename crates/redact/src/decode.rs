//! Looks into the encoded parts of a text.

use crate::encoding::{Decoded, ansi, base64, hex, json, percent, wrapped};
use crate::engine::{Engine, Part};
use crate::known::Known;
use crate::{Finding, Via, looks, merge};

/// How many encodings may be around a secret.
const DEEPEST: usize = 2;
/// Texts beyond this size are not decoded as a whole.
const LARGEST: usize = u32::MAX as usize;

/// What to look for in decoded texts.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) known: Option<&'a Known>,
    pub(crate) depth: usize,
}

impl Decoder<'_> {
    /// Adds the findings in the encoded parts of a text. `out` holds those of the text itself.
    pub(crate) fn scan(self, text: &str, out: &mut Vec<Finding>) {
        if self.depth >= DEEPEST || text.len() >= LARGEST {
            return;
        }
        self.scan_runs(text, out);
        self.scan_wrapped(text, out);
        for stripped in ansi::strip(text) {
            self.scan_decoded(&stripped, out);
        }
        self.scan_escapes(text, out);
    }

    /// Looks into a decoded text, and adds what is in it at its place in the outer text.
    fn scan_decoded(self, decoded: &Decoded, out: &mut Vec<Finding>) {
        let mut found = Vec::new();
        self.engine.scan(&decoded.text, Part::Everything, &mut found);
        merge::add_known(&decoded.text, self.known, &mut found);
        Self { depth: self.depth + 1, ..self }.scan(&decoded.text, &mut found);
        out.extend(found.into_iter().map(|finding| Finding {
            range: decoded.outer(&finding.range),
            via: Some(decoded.via),
            ..finding
        }));
    }

    /// Looks into runs of base64 and of hexadecimal digits.
    fn scan_runs(self, text: &str, out: &mut Vec<Finding>) {
        let bytes = text.as_bytes();
        let mut joined = 0;
        let mut at = 0;
        while at < bytes.len() {
            // A run of 24 digits covers every 24th byte: most of the text is never looked at.
            let probe = at + base64::SHORTEST - 1;
            if probe >= bytes.len() {
                break;
            }
            if !base64::is_digit(bytes[probe]) {
                at = probe + 1;
                continue;
            }
            let mut start = probe - bytes[at..probe].iter().rev().take_while(|&&b| base64::is_digit(b)).count();
            let mut end = probe + bytes[probe..].iter().take_while(|&&b| base64::is_digit(b)).count();
            if bytes[start..end].starts_with(b"0x") {
                start += 2;
            }
            // In a damaged line, the letter of `\n` is not part of the run after it.
            if bytes[..start].ends_with(b"\\") && matches!(bytes[start], b'n' | b'r' | b't' | b'b' | b'f') {
                start += 1;
            }
            if end - start >= base64::SHORTEST {
                end += bytes[end..].iter().take(2).take_while(|&&b| b == b'=').count();
                let hex = bytes[start..end]
                    .iter()
                    .all(u8::is_ascii_hexdigit)
                    .then(|| hex::decode_run(text, start..end))
                    .flatten();
                if let Some(decoded) = hex.or_else(|| base64::decode_run(text, &(start..end), &mut joined)) {
                    self.scan_decoded(&decoded, out);
                    end = end.max(decoded.source.end);
                }
            }
            at = end + 1;
        }
    }

    /// Looks for keys that a line break has cut.
    fn scan_wrapped(self, text: &str, out: &mut Vec<Finding>) {
        for joined in wrapped::joined(text) {
            let mut found = Vec::new();
            self.engine.scan(&joined.decoded.text, Part::Formats, &mut found);
            merge::add_known(&joined.decoded.text, self.known, &mut found);
            for finding in found {
                if finding.range.start >= joined.first_line || finding.range.end <= joined.first_line {
                    continue;
                }
                let range = joined.decoded.outer(&finding.range);
                let is_whole = out
                    .iter()
                    .any(|known| known.via.is_none() && known.range.start == range.start && known.rule == finding.rule);
                let tail = finding.secret.expose().get(joined.first_line - finding.range.start..).unwrap_or("");
                if is_whole && !(joined.is_alone && is_rest(tail)) {
                    continue;
                }
                out.push(Finding { range, via: Some(Via::Wrapped), ..finding });
            }
        }
    }

    /// Looks into text with percent escapes, and into lines with escapes of JSON that hide something.
    fn scan_escapes(self, text: &str, out: &mut Vec<Finding>) {
        let bytes = text.as_bytes();
        let mut percent_done = 0;
        let mut json_done = 0;
        let mut at = 0;
        while let Some(found) = memchr::memchr2(b'%', b'\\', &bytes[at..]) {
            let escape = at + found;
            at = escape + 1;
            if bytes[escape] == b'%' {
                if escape >= percent_done && percent::is_escape(bytes, escape) {
                    let word = percent::word(bytes, escape, percent_done);
                    percent_done = word.end;
                    if let Some(decoded) = percent::decode(text, word) {
                        self.scan_decoded(&decoded, out);
                    }
                }
            } else if escape >= json_done && json::hides(bytes, escape) {
                let start = bytes[json_done..escape]
                    .iter()
                    .rposition(|&b| b == b'\n')
                    .map_or(json_done, |line| json_done + line + 1);
                json_done = memchr::memchr(b'\n', &bytes[escape..]).map_or(bytes.len(), |line| escape + line + 1);
                if let Some(decoded) = json::decode(text, start..json_done) {
                    self.scan_decoded(&decoded, out);
                }
            }
            // An escaped backslash does not begin another escape.
            at += usize::from(bytes[escape] == b'\\');
            at = at.min(bytes.len());
        }
    }
}

/// Whether the word on the next line is the rest of a key, not a name or a word.
fn is_rest(word: &str) -> bool {
    looks::is_random_value(word) && !word.trim_end_matches('=').contains('=')
}
