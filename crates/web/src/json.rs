//! JSON for readers: the original tokens, one member per line.

use sessile::json::Raw;

/// A value up to this length stays on one line.
const MAX_LINE: usize = 60;

/// Deeper levels are not indented further, so that the text is not much longer than the value.
const MAX_INDENT: usize = 20;

/// The text of a value with line breaks and indentation. Nothing but white space differs from the original.
pub(crate) fn indented(value: Raw<'_>) -> String {
    let text = value.to_text();
    if text.len() <= MAX_LINE {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len() * 3 / 2);
    let mut depth = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                out.push(char);
                while let Some(char) = chars.next() {
                    out.push(char);
                    match char {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(char);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    push_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                push_line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(char);
                push_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if char.is_ascii_whitespace() => {}
            _ => out.push(char),
        }
    }
    out
}

fn push_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn indented_text(text: &str) -> String {
        indented(Raw::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn long_values_have_a_line_per_member_and_the_original_tokens() {
        assert_eq!(indented_text(r#"{"a":[1,2]}"#), r#"{"a":[1,2]}"#);
        let text =
            r#"{ "n" :1.50e2,"a":[ ],"o":{},"list":["a,b:{\"}",null],"n":2, "long":"xxxxxxxxxxxxxxxxxxxxxxxxx"}"#;
        let expected = "{\n  \"n\": 1.50e2,\n  \"a\": [],\n  \"o\": {},\n  \"list\": [\n    \"a,b:{\\\"}\",\n    null\n  ],\n  \
                        \"n\": 2,\n  \"long\": \"xxxxxxxxxxxxxxxxxxxxxxxxx\"\n}";
        assert_eq!(indented_text(text), expected);
    }

    #[test]
    fn a_deep_value_takes_space_in_proportion() {
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let out = indented_text(&text);
        assert!(out.len() < text.len() * 50);
        assert_eq!(out.split_ascii_whitespace().collect::<String>(), text);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(".*", inner, 0..6).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same(value in value()) {
            let again: Value = serde_json::from_str(&indented_text(&value.to_string())).unwrap();
            prop_assert_eq!(again, value);
        }
    }
}
