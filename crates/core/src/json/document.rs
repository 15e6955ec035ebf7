//! Prints a whole value as JavaScript would.

use std::borrow::Cow;
use std::collections::HashMap;

use super::number_text;
use super::printed::is_printed;
use super::raw::{Json, Raw, Shape, skip_value};
use super::scan::skip_space;
use super::text::JsText;
use super::write::write_text;

/// Returns the text of `JSON.stringify(JSON.parse(text))`.
///
/// White space is removed, numbers take their shortest form, and escapes become plain characters where possible. Of
/// duplicate keys, the last value takes the first position. Keys that look like array indices move to the front in
/// ascending order.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::{Raw, print};
/// let text = br#"{ "b": 1.0, "2": 1e21, "1": "\u00e9\/", "b": 2 }"#;
/// let printed = print(Raw::parse(text).unwrap());
/// assert_eq!(printed.to_text(), r#"{"1":"é/","2":1e+21,"b":2}"#);
/// ```
pub fn print(value: Raw<'_>) -> Json {
    if is_printed(value.as_bytes()) { value.to_json() } else { print_again(value) }
}

/// Like [`print()`], as bytes, which are borrowed if printing changes nothing.
pub fn printed_bytes(value: Raw<'_>) -> Cow<'_, [u8]> {
    let bytes = value.as_bytes();
    if is_printed(bytes) { Cow::Borrowed(bytes) } else { Cow::Owned(print_again(value).into_bytes()) }
}

/// Like [`print()`], for a value that the caller no longer needs: usually it is returned as is.
pub fn print_owned(value: Json) -> Json {
    if value.is_printed() { value } else { print_again(value.raw()) }
}

/// Parses a value and prints it. [`print()`] does this unless it can tell that printing changes nothing.
pub(super) fn print_again(value: Raw<'_>) -> Json {
    let nodes = read_nodes(value.as_bytes());
    let mut out = Vec::with_capacity(value.as_bytes().len());
    let mut todo = vec![PrintStep::Value(0)];
    while let Some(step) = todo.pop() {
        match step {
            PrintStep::Text(text) => out.extend_from_slice(text),
            PrintStep::Key(key) => {
                write_text(&key, &mut out);
                out.push(b':');
            }
            PrintStep::Value(index) => print_node(&nodes, index, &mut out, &mut todo),
        }
    }
    Json::trusted(out)
}

/// One value of the document. Containers link to their children.
struct Node<'a> {
    shape: Shape,
    key: Option<JsText<'a>>,
    /// The token of a scalar; empty for containers.
    token: &'a [u8],
    children: Vec<usize>,
}

enum PrintStep<'a> {
    Text(&'static [u8]),
    Key(JsText<'a>),
    Value(usize),
}

/// Parses all values of a valid text in one pass, the outermost first.
fn read_nodes(bytes: &[u8]) -> Vec<Node<'_>> {
    let mut nodes: Vec<Node<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut key = None;
    let mut at = 0;
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at) {
            None => return nodes,
            Some(b',') => at += 1,
            Some(b'}' | b']') => {
                open.pop();
                at += 1;
            }
            Some(first) => {
                let parent = open.last().copied();
                let in_object = parent.is_some_and(|parent| nodes[parent].shape == Shape::Object);
                if in_object && key.is_none() {
                    let end = skip_value(bytes, at);
                    key = Some(JsText::decode(&bytes[at..end]));
                    // Valid text has a colon here.
                    at = skip_space(bytes, end) + 1;
                    continue;
                }
                let index = nodes.len();
                if let Some(parent) = parent {
                    nodes[parent].children.push(index);
                }
                let is_container = matches!(first, b'{' | b'[');
                let end = if is_container { at + 1 } else { skip_value(bytes, at) };
                let token = &bytes[at..end];
                let shape = if is_container { container(*first) } else { Raw::trusted(token).shape() };
                nodes.push(Node { shape, key: key.take(), token, children: Vec::new() });
                if is_container {
                    open.push(index);
                }
                at = end;
            }
        }
    }
}

fn container(first: u8) -> Shape {
    if first == b'{' { Shape::Object } else { Shape::Array }
}

fn print_node<'a>(nodes: &[Node<'a>], index: usize, out: &mut Vec<u8>, todo: &mut Vec<PrintStep<'a>>) {
    let node = &nodes[index];
    match node.shape {
        Shape::Null | Shape::Bool => out.extend_from_slice(node.token),
        Shape::String => write_text(&JsText::decode(node.token), out),
        Shape::Number => {
            let number = Raw::trusted(node.token).as_number().unwrap_or(f64::NAN);
            out.extend_from_slice(number_text(number).as_bytes());
        }
        Shape::Array => {
            out.push(b'[');
            todo.push(PrintStep::Text(b"]"));
            for (n_before, child) in node.children.iter().enumerate().rev() {
                todo.push(PrintStep::Value(*child));
                if n_before > 0 {
                    todo.push(PrintStep::Text(b","));
                }
            }
        }
        Shape::Object => {
            out.push(b'{');
            todo.push(PrintStep::Text(b"}"));
            for (n_before, (key, child)) in property_order(nodes, node).into_iter().enumerate().rev() {
                todo.push(PrintStep::Value(child));
                todo.push(PrintStep::Key(key));
                if n_before > 0 {
                    todo.push(PrintStep::Text(b","));
                }
            }
        }
    }
}

/// The members of an object in JavaScript's enumeration order.
fn property_order<'a>(nodes: &[Node<'a>], object: &Node<'a>) -> Vec<(JsText<'a>, usize)> {
    let children = object.children.iter();
    in_property_order(children.filter_map(|child| nodes[*child].key.clone().map(|key| (key, *child))))
}

/// Members as in a JavaScript object: each key once, at its first position with its last value. Keys that look like
/// array indices come first, in ascending order.
pub(super) fn in_property_order<'a, T>(members: impl Iterator<Item = (JsText<'a>, T)>) -> Vec<(JsText<'a>, T)> {
    let mut order: Vec<(JsText<'a>, T)> = Vec::with_capacity(members.size_hint().0);
    let mut indexes: HashMap<JsText<'a>, usize> = HashMap::new();
    for (key, value) in members {
        if let Some(&index) = indexes.get(&key) {
            order[index].1 = value;
        } else {
            indexes.insert(key.clone(), order.len());
            order.push((key, value));
        }
    }
    // A stable sort keeps all other keys in order, after the indices.
    order.sort_by_key(|(key, _)| array_index(key).map_or(u64::MAX, u64::from));
    order
}

/// The number of a key that JavaScript treats as an array index.
pub(crate) fn array_index(key: &JsText<'_>) -> Option<u32> {
    let text = std::str::from_utf8(key.as_wtf8()).ok()?;
    let index: u32 = text.parse().ok()?;
    (index != u32::MAX && index.to_string() == text).then_some(index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(text: &str) -> String {
        let value = Raw::parse(text.as_bytes()).unwrap();
        let printed = print(value).to_text().into_owned();
        assert_eq!(printed, print_again(value).to_text(), "both printers give the same text");
        printed
    }

    /// Text full of spellings that printing changes.
    fn odd_values() -> impl Strategy<Value = String> {
        let scalars = prop::sample::select(vec![
            "0",
            "-0",
            "1.0",
            "1.50",
            "0.1",
            "-0.000001",
            "0.0000001",
            "1e5",
            "123456789012345",
            "1234567890123456",
            "0.30000000000000004",
            "12345678901234567890",
            "-7",
            "0.00000",
            "-0.0",
            "100",
            "5e-324",
            "true",
            "null",
            " false",
            r#""a""#,
            "\"\"",
            r#""\n""#,
            r#""\u000a""#,
            r#""\/""#,
            r#""\ud800""#,
            r#""é😀""#,
            r#""\"\\""#,
            r#""\u00e9""#,
            "\"\u{7f}\u{2028}\"",
            r#""\u001f""#,
        ]);
        let keys = prop::sample::select(vec!["a", "b", "1", "01", "", r"a\n", "4294967295", r"\u0061"]);
        scalars.prop_map(str::to_owned).prop_recursive(4, 40, 6, move |inner| {
            let array = prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(",")));
            let member = (keys.clone(), inner).prop_map(|(key, value)| format!("\"{key}\":{value}"));
            let object = prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")));
            prop_oneof![array, object]
        })
    }

    proptest! {
        #[test]
        fn printing_does_not_change_printed_text(text in odd_values()) {
            let once = printed(&text);
            prop_assert_eq!(printed(&once), once);
        }

        #[test]
        fn only_canonical_numbers_count_as_printed(
            text in r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][-+]?[0-9]{1,3})?"
        ) {
            printed(&text);
        }
    }

    #[test]
    fn printed_text_is_recognised() {
        let message = r#"{"role":"user","content":[{"type":"text","text":"a\n\"é😀"}],"usage":{"cost":0.0125,"n":-3}}"#;
        for text in [message, "[]", "0", "{}"] {
            assert!(is_printed(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn prints_as_javascript() {
        // Obtained from Node 22.
        for (text, expected) in [
            ("[ ]", "[]"),
            (" { } ", "{}"),
            ("[1.0, -0, 1e999, 12345678901234567890]", "[1,0,null,12345678901234567000]"),
            (r#"{"10":1,"9":2,"01":3,"a":4,"4294967295":5}"#, r#"{"9":2,"10":1,"01":3,"a":4,"4294967295":5}"#),
            (r#"{"a":{"b":[{"c":[]}]},"__proto__":1}"#, r#"{"a":{"b":[{"c":[]}]},"__proto__":1}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#""\ud800\u0041\ud83d\ude00\/""#, r#""\ud800A😀/""#),
            (r#"{"a\n":"\u000b"}"#, r#"{"a\n":"\u000b"}"#),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let text = "{\"a\":[".repeat(200_000) + "1.0" + &"]}".repeat(200_000);
        assert_eq!(printed(&text), text.replace("1.0", "1"));
    }
}
