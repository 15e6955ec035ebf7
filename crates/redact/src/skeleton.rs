//! The level `skeleton`: a line without its texts.

use std::collections::HashSet;

use sessile_core::head::{Kind, Role};
use sessile_core::json::{JsText, Raw, Shape, Token, write_string, write_text};

use crate::Origin;
use crate::allowed::{ENTRY, Field, Fields, REDACTION, block_fields};
use crate::commands::command_mark;
use crate::copy::{MARK_TYPE, NAME_SUFFIX};
use crate::line::is_type;
use crate::marks::{counted, removed_text};
use crate::picture::{PIXEL, PIXEL_TYPE};
use crate::placeholder::is_made;
use crate::rewrite::Rewriter;

/// Names of tools that run shell commands.
const SHELLS: [&str; 6] = ["bash", "Bash", "shell", "exec", "terminal", "run_command"];

impl Rewriter<'_> {
    /// A line without its texts.
    pub(crate) fn skeleton(&mut self, line: Raw<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        if line.shape() == Shape::Object {
            self.object(line, ENTRY, "text", &mut out);
        } else {
            opaque(line, &mut out);
        }
        out
    }

    fn object(&mut self, object: Raw<'_>, fields: Fields, whose: &str, out: &mut Vec<u8>) {
        let role = object.get("role").map(|role| role_text(Role::of(Some(role))));
        let whose = role.unwrap_or(whose);
        let is_mark = object.get("customType").and_then(Raw::as_text).is_some_and(|name| name == *MARK_TYPE);
        let mut separator = b'{';
        let mut written = HashSet::new();
        for (key, value) in object.properties() {
            let listed = fields.iter().find(|(name, _)| key == **name).map(|(_, field)| *field);
            let listed = listed.or_else(|| (is_mark && key == *"data").then_some(Field::Object(REDACTION)));
            if matches!(listed, Some(Field::Dropped)) {
                continue;
            }
            let mut name = Vec::new();
            self.key(&key, listed.is_some(), &mut name);
            // Two keys can become the same one: a name and the pseudonym that it gets. The first stands for both.
            if !written.insert(name.clone()) {
                continue;
            }
            out.push(std::mem::replace(&mut separator, b','));
            out.append(&mut name);
            out.push(b':');
            match listed {
                Some(Field::Shape) if is_type(object, "toolCall") && is_shell(object) => self.shape(value, true, out),
                Some(field) => self.field(value, field, whose, out),
                None => opaque(value, out),
            }
        }
        if separator == b'{' {
            out.push(b'{');
        }
        out.push(b'}');
    }

    fn key(&mut self, key: &JsText<'_>, is_listed: bool, out: &mut Vec<u8>) {
        match self.texts.changed(key, Origin::Ordinary).filter(|_| !is_listed) {
            Some(changed) => write_text(&changed, out),
            None => write_text(key, out),
        }
    }

    fn field(&mut self, value: Raw<'_>, field: Field, whose: &str, out: &mut Vec<u8>) {
        let shape = value.shape();
        let string = value.as_string();
        match (field, shape, string) {
            (_, Shape::Null, _)
            | (Field::Kept, Shape::String, _)
            | (Field::Number | Field::Time, Shape::Number, _)
            | (Field::Bool, Shape::Bool, _) => out.extend_from_slice(value.as_bytes()),
            (Field::Word, _, Some(word)) if is_word(&word) => {
                write_string(&self.texts.changed_str(&word, Origin::Ordinary).unwrap_or(word), out);
            }
            (Field::Time, _, Some(time)) if is_time(&time) => write_string(&time, out),
            (Field::Time, Shape::Array, _)
                if value.items().all(|item| item.as_string().is_some_and(|text| is_time(&text))) =>
            {
                out.extend_from_slice(value.as_bytes());
            }
            (Field::Kind, _, Some(kind)) => match Kind::of(&JsText::from(kind.as_str())).word() {
                Some(word) => write_string(word, out),
                None => write_string(&count("type", &kind), out),
            },
            (Field::Role, _, Some(role)) => match Role::of(Some(value)).word() {
                Some(word) => write_string(word, out),
                None => write_string(&count("role", &role), out),
            },
            (Field::CustomType, _, Some(name)) => {
                let is_own = name.starts_with("sessile") && is_word(&name);
                write_string(&if is_own { name } else { count("custom type", &name) }, out);
            }
            (Field::Text(what), _, Some(text)) => {
                let text = if text.trim().is_empty() { String::new() } else { count(what, &text) };
                write_string(&text, out);
            }
            (Field::Command, _, Some(command)) => {
                write_string(&if is_made(&command) { command } else { command_mark(&command) }, out);
            }
            (Field::Content, _, Some(text)) => {
                write_string(&if text.is_empty() { text } else { count(whose, &text) }, out);
            }
            (Field::Content, Shape::Array, _) => self.blocks(value, whose, out),
            (Field::Shape, ..) => self.shape(value, false, out),
            (Field::Picture, ..) => write_string(PIXEL, out),
            (Field::PictureType, ..) => write_string(PIXEL_TYPE, out),
            (Field::Object(fields), Shape::Object, _) => self.object(value, fields, whose, out),
            (Field::List(fields), Shape::Array, _) => self.list(value, |_| fields, whose, out),
            _ => hollow(value, out),
        }
    }

    fn blocks(&mut self, blocks: Raw<'_>, whose: &str, out: &mut Vec<u8>) {
        let fields = |block: Raw<'_>| block_fields(&block.get("type").and_then(Raw::as_string).unwrap_or_default());
        self.list(blocks, fields, whose, out);
    }

    fn list(&mut self, items: Raw<'_>, fields: impl Fn(Raw<'_>) -> Fields, whose: &str, out: &mut Vec<u8>) {
        out.push(b'[');
        for (n_before, item) in items.items().enumerate() {
            if n_before > 0 {
                out.push(b',');
            }
            if item.shape() == Shape::Object {
                self.object(item, fields(item), whose, out);
            } else {
                opaque(item, out);
            }
        }
        out.push(b']');
    }

    /// The keys and the shape of a value. Texts become their lengths, and numbers 0 or 1.
    fn shape(&mut self, value: Raw<'_>, is_shell: bool, out: &mut Vec<u8>) {
        let mut open = Vec::new();
        let mut is_command = false;
        for token in value.tokens() {
            if !matches!(out.last(), None | Some(b'[' | b'{' | b':')) && token != Token::Close {
                out.push(b',');
            }
            match token {
                Token::OpenArray | Token::OpenObject => {
                    let (begin, end) = if token == Token::OpenArray { (b'[', b']') } else { (b'{', b'}') };
                    out.push(begin);
                    open.push(end);
                }
                Token::Close => out.extend(open.pop()),
                Token::Key(key) => {
                    is_command = is_shell && open.len() == 1 && key == *"command";
                    self.key(&key, false, out);
                    out.push(b':');
                }
                Token::Scalar(scalar) => match scalar.as_string() {
                    Some(text) if text.is_empty() || is_made(&text) => write_string(&text, out),
                    Some(text) if is_command && open.len() == 1 => write_string(&command_mark(&text), out),
                    Some(text) => write_string(&counted("text", &text), out),
                    None if scalar.shape() == Shape::Number => {
                        out.push(if scalar.is_truthy() { b'1' } else { b'0' });
                    }
                    None => out.extend_from_slice(scalar.as_bytes()),
                },
            }
        }
    }
}

/// A value without anything in it. What JavaScript takes for false stays, because it decides what an entry means.
fn opaque(value: Raw<'_>, out: &mut Vec<u8>) {
    let text = value.as_string();
    match text {
        _ if !value.is_truthy() => out.extend_from_slice(value.as_bytes()),
        Some(text) if is_made(&text) => write_string(&text, out),
        Some(text) => write_string(&removed_text(&text), out),
        None => write_string(&removed_text(&value.to_text()), out),
    }
}

/// A value of a listed field in a shape that the format does not expect. The shape stays, because readers look at it.
fn hollow(value: Raw<'_>, out: &mut Vec<u8>) {
    match value.shape() {
        Shape::Array => out.extend_from_slice(b"[]"),
        Shape::Object => out.extend_from_slice(b"{}"),
        Shape::Number if value.is_truthy() => out.push(b'1'),
        Shape::String => opaque(value, out),
        _ => out.extend_from_slice(value.as_bytes()),
    }
}

fn count(what: &str, text: &str) -> String {
    let stem = text.strip_suffix(NAME_SUFFIX).unwrap_or(text);
    if is_made(stem) { text.to_owned() } else { counted(what, text) }
}

fn is_shell(call: Raw<'_>) -> bool {
    call.get("name").and_then(Raw::as_string).is_some_and(|name| SHELLS.contains(&name.as_str()))
}

/// Whether a string is one short word, as programs choose them.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '+');
    text.len() <= 64 && text.chars().all(is_plain)
}

/// Whether a text is nothing but a date.
pub(crate) fn is_time(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '+' | ' ' | ',' | '/');
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    text.len() <= 40 && text.chars().all(is_plain) && words.all(|word| is_number(word) || is_date_word(word))
}

/// Whether a word is a part of a date, also between digits: `01T00`, `00Z`, `Jan`, `Monday`.
fn is_date_word(word: &str) -> bool {
    const WORDS: [&str; 36] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "sept",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "t",
        "z",
        "am",
        "pm",
        "ut",
        "utc",
        "gmt",
        "est",
        "edt",
        "cst",
        "cdt",
        "mst",
        "mdt",
        "pst",
        "pdt",
        "tues",
    ];
    let letters = word.trim_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
    WORDS
        .iter()
        .any(|known| *known == letters || (letters.len() == 3 && known.len() > 4 && known.starts_with(&letters)))
}

fn role_text(role: Role) -> &'static str {
    match role {
        Role::System => "system text",
        Role::User => "user text",
        Role::Assistant => "assistant text",
        Role::ToolResult => "tool result",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_only_dates() {
        for date in
            ["2025-01-01T00:00:00.000Z", "2025", "Wed, 01 Jan 2025 00:00:00 GMT", "5 January 2025 10:00 PM", "1/5/2025"]
        {
            assert!(is_time(date), "{date}");
        }
        for other in ["2025 (a note)", "the day was Jan 1 2025", "alice", "2025 Mars", "1st Jan", "\u{e9}"] {
            assert!(!is_time(other), "{other}");
        }
    }
}
