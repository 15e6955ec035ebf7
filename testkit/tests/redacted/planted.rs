//! How a secret can be written, and whether one is left in a line.

use std::fmt::Write;

use crate::corpus::{encode, encode_plain};
use serde_json::Value;
use sessile_testkit::SplitMix;

/// A way to write a secret in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    Plain,
    Base64,
    Base64Url,
    Hex,
    Percent,
    /// A JSON text in the text.
    Json,
    /// With colours of a terminal in the middle.
    Coloured,
}

pub(crate) const ENCODINGS: [Encoding; 7] = [
    Encoding::Plain,
    Encoding::Base64,
    Encoding::Base64Url,
    Encoding::Hex,
    Encoding::Percent,
    Encoding::Json,
    Encoding::Coloured,
];

impl Encoding {
    /// Writes a secret.
    pub(crate) fn write(self, value: &str) -> String {
        let bytes = value.as_bytes();
        match self {
            Self::Plain => value.to_owned(),
            Self::Base64 => {
                let digits = encode_plain(bytes);
                let padding = "=".repeat((4 - digits.len() % 4) % 4);
                digits + &padding
            }
            Self::Base64Url => encode(bytes),
            Self::Hex => hex(value),
            Self::Percent => percent(value),
            Self::Json => serde_json::json!({"user": "x", "value": value}).to_string(),
            Self::Coloured => {
                let (first, second) = value.split_at(value.len() / 2);
                format!("\u{1b}[1m{first}\u{1b}[0m{second}")
            }
        }
    }
}

fn hex(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Writes a string as JSON, with escapes that are not needed.
pub(crate) fn escaped(text: &str, random: &mut SplitMix) -> String {
    let rate = random.pick(&[0, 0, 3, 1]);
    let mut out = String::from("\"");
    for c in text.chars() {
        if c == '/' && rate > 0 {
            out.push_str("\\/");
        } else if rate > 0 && c.is_ascii_alphanumeric() && random.one_in(rate) {
            write!(out, "\\u{:04x}", u32::from(c)).unwrap();
        } else {
            let one = Value::from(c.to_string()).to_string();
            out.push_str(&one[1..one.len() - 1]);
        }
    }
    out.push('"');
    out
}

/// Takes back the escapes that [`escaped`] adds. It works for damaged JSON, too.
pub(crate) fn unescaped(line: &str) -> String {
    let line = line.replace("\\/", "/");
    let mut parts = line.split("\\u");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match digits.and_then(char::from_u32) {
            Some(c) if c.is_ascii_alphanumeric() => {
                out.push(c);
                out.push_str(&part[4..]);
            }
            _ => {
                out.push_str("\\u");
                out.push_str(part);
            }
        }
    }
    out
}

/// The strings of a line in which a secret is left, plainly or encoded.
pub(crate) fn leaks(value: &str, line: &str) -> Vec<String> {
    let aligned = |skip: usize, encode: fn(&[u8]) -> String| {
        // The digits that depend only on the secret, if it begins after `skip` other bytes.
        let digits = encode(&[&vec![0; skip][..], value.as_bytes()].concat());
        let begin = (skip * 8).div_ceil(6);
        let end = (skip + value.len()) * 8 / 6;
        digits[begin..end].to_owned()
    };
    let mut forms =
        vec![value.to_owned(), hex(value), hex(value).to_uppercase(), percent(value), percent(value).to_lowercase()];
    for skip in 0..3 {
        forms.extend([aligned(skip, encode), aligned(skip, encode_plain)]);
    }
    // Damaged JSON has no strings, so its escapes are taken back in the whole line.
    let mut texts = vec![line.to_owned(), unescaped(line)];
    let mut at = 0;
    while at < texts.len() {
        // Strings of JSON in strings are looked at, too.
        if let Ok(inner) = serde_json::from_str::<Value>(&texts[at]) {
            strings(&inner, &mut texts);
        }
        at += 1;
    }
    for text in &mut texts {
        *text = without_colours(text);
    }
    texts.retain(|text| forms.iter().any(|form| text.contains(form.as_str())));
    texts
}

fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(members) => {
            for (key, member) in members {
                texts.push(key.clone());
                strings(member, texts);
            }
        }
        _ => {}
    }
}

fn without_colours(text: &str) -> String {
    text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")
}
