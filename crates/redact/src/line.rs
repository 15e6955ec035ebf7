//! The strings of a line, with their places.

use std::fmt::Write;
use std::ops::Range;

use sessile_core::json::{JsText, Raw, Shape, Token};

use crate::place::{Area, Class};

/// A string of a value: a member's value, an item, or a key.
#[derive(Debug)]
pub(crate) struct Piece<'w, 'a> {
    /// The bytes of the string in the value, with its quotes.
    pub(crate) token: Range<usize>,
    /// Its content.
    pub(crate) text: JsText<'a>,
    /// What it is.
    pub(crate) class: Class,
    /// Whether it is a key.
    pub(crate) is_key: bool,
    path: &'w [Step<'a>],
}

impl Piece<'_, '_> {
    /// Where the string is, as a JSON pointer. A key has the pointer of its value, without its own name.
    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::new();
        let (own, steps) = match self.path.split_last() {
            Some((_, steps)) if self.is_key => ("/…", steps),
            _ => ("", self.path),
        };
        for step in steps {
            pointer.push('/');
            match &step.name {
                Name::Item(index) => write!(pointer, "{index}").unwrap_or_default(),
                // A key that holds a secret must not reach a report.
                Name::Key(_) if step.is_hidden => pointer.push('…'),
                Name::Key(key) => pointer.push_str(&key.to_str().replace('~', "~0").replace('/', "~1")),
            }
        }
        pointer + own
    }
}

#[derive(Debug)]
struct Step<'a> {
    name: Name<'a>,
    is_hidden: bool,
}

#[derive(Debug)]
enum Name<'a> {
    Item(usize),
    Key(JsText<'a>),
}

/// What the caller says of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Pointers may name this key.
    Plain,
    /// Pointers must not name this key, because it holds a secret.
    Secret,
}

/// Passes every string of a value to `visit`, keys included, in file order. The value is a whole line if `area` is
/// [`Area::Line`].
///
/// Uses a loop, so depth costs no stack. Duplicate keys are visited like others.
pub(crate) fn each_string<'a>(value: Raw<'a>, area: Area, mut visit: impl FnMut(&Piece<'_, 'a>) -> Seen) {
    // One step for each open array or object, except the outermost value.
    let mut path: Vec<Step<'a>> = Vec::new();
    let mut open: Vec<(Shape, Area)> = Vec::new();
    // The area and class of the next value: it is outermost, an item, or the value of the key just read.
    let value_area = |path: &[Step<'a>], open: &[(Shape, Area)]| match (open.last(), path.last()) {
        (None, _) => (area, Class::Text),
        (Some((_, area)), Some(Step { name: Name::Key(key), .. })) => {
            (area.below(key.as_wtf8()), area.class(key.as_wtf8()))
        }
        (Some((_, area)), _) => (area.item(), Class::Text),
    };
    for (token, span) in value.spanned_tokens() {
        match token {
            Token::OpenArray | Token::OpenObject => {
                let is_object = token == Token::OpenObject;
                begin_item(&mut path, &open);
                let (inner, _) = value_area(&path, &open);
                let inner = if is_object { inner.object() } else { inner };
                open.push((if is_object { Shape::Object } else { Shape::Array }, inner));
                if !is_object {
                    path.push(Step { name: Name::Item(usize::MAX), is_hidden: false });
                }
            }
            Token::Close => {
                if let Some((Shape::Array, _)) = open.pop() {
                    path.pop();
                }
                end_member(&mut path, &open);
            }
            Token::Key(key) => {
                let area = open.last().map_or(Area::Free, |(_, area)| *area);
                let class = if area.keeps_key(key.as_wtf8()) { None } else { Some(Class::Text) };
                path.push(Step { name: Name::Key(key.clone()), is_hidden: false });
                if let Some(class) = class {
                    let seen = visit(&Piece { token: span, text: key, class, is_key: true, path: &path });
                    if let Some(step) = path.last_mut() {
                        step.is_hidden = seen == Seen::Secret;
                    }
                }
            }
            Token::Scalar(scalar) => {
                begin_item(&mut path, &open);
                if let Some(text) = scalar.as_text() {
                    let (_, class) = value_area(&path, &open);
                    visit(&Piece { token: span, text, class, is_key: false, path: &path });
                }
                end_member(&mut path, &open);
            }
        }
    }
}

/// Counts an item of the innermost array.
fn begin_item(path: &mut [Step<'_>], open: &[(Shape, Area)]) {
    if let (Some((Shape::Array, _)), Some(Step { name: Name::Item(index), .. })) = (open.last(), path.last_mut()) {
        *index = index.wrapping_add(1);
    }
}

/// Leaves the member whose value has ended.
fn end_member(path: &mut Vec<Step<'_>>, open: &[(Shape, Area)]) {
    if let Some((Shape::Object, _)) = open.last() {
        path.pop();
    }
}

/// Whether a block has this type.
pub(crate) fn is_type(block: Raw<'_>, name: &str) -> bool {
    block.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &[u8]) -> Vec<(String, String, Class)> {
        let mut found = Vec::new();
        let value = Raw::parse(text).unwrap();
        each_string(value, Area::Line, |piece| {
            assert_eq!(Raw::parse(&value.as_bytes()[piece.token.clone()]).unwrap().as_text().unwrap(), piece.text);
            found.push((piece.pointer(), piece.text.to_str().into_owned(), piece.class));
            Seen::Plain
        });
        found
    }

    #[test]
    fn every_string_and_key_has_its_place() {
        let line = br#" {"type":"x", "id":"1","odd":[1,"a",{"k/~":"b"},[["c"]]],"message":{"role":"user","details":{"id":"d"},"content":[{"type":"text","text":"e"}, "f"]},"odd":"g"}"#;
        let found = strings(line);
        let short: Vec<(&str, &str)> =
            found.iter().map(|(pointer, text, _)| (pointer.as_str(), text.as_str())).collect();
        assert_eq!(
            short,
            [
                ("/type", "x"),
                ("/id", "1"),
                ("/…", "odd"),
                ("/odd/1", "a"),
                ("/odd/2/…", "k/~"),
                ("/odd/2/k~1~0", "b"),
                ("/odd/3/0/0", "c"),
                ("/message/role", "user"),
                ("/message/details/…", "id"),
                ("/message/details/id", "d"),
                ("/message/content/0/type", "text"),
                ("/message/content/0/text", "e"),
                ("/message/content/1", "f"),
                ("/…", "odd"),
                ("/odd", "g"),
            ]
        );
        let kept: Vec<&str> =
            found.iter().filter(|(.., class)| *class == Class::Kept).map(|(pointer, ..)| pointer.as_str()).collect();
        assert_eq!(kept, ["/type", "/id", "/message/role", "/message/content/0/type"]);
    }

    #[test]
    fn odd_strings_are_visited() {
        assert_eq!(strings(br#""a""#), [(String::new(), "a".to_owned(), Class::Text)]);
        assert_eq!(strings(b"[\"\xff\",\"\\ud800\"]").len(), 2);
        assert_eq!(strings(b"{\"\\u0069d\":\"k\"}")[0].2, Class::Kept);
        assert_eq!(strings(b"[[],{},1,null]").len(), 0);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = [b"{\"a\":[".repeat(100_000), b"\"x\"".to_vec(), b"]}".repeat(100_000)].concat();
        let mut n_strings = 0;
        each_string(Raw::parse(&deep).unwrap(), Area::Line, |_| {
            n_strings += 1;
            Seen::Plain
        });
        assert_eq!(n_strings, 100_001);
    }

    #[test]
    fn keys_with_secrets_are_not_in_pointers() {
        let value = Raw::parse(br#"{"data":{"SECRET":{"a":"b"}}}"#).unwrap();
        let mut last = String::new();
        each_string(value, Area::Line, |piece| {
            last = piece.pointer();
            if piece.text == "SECRET" { Seen::Secret } else { Seen::Plain }
        });
        assert_eq!(last, "/data/…/a");
    }
}
