//! One line of JSON, read, printed and changed in every way.

use std::collections::BTreeMap;

use sessile_core::date::{self, Utc};
use sessile_core::entry::Entry;
use sessile_core::head::{self, Kind, Parsed};
use sessile_core::json::{Edit, Json, NotJson, Raw, Shape, number_text, print};
use sessile_core::{EntryId, context, llm};

use crate::{session, views};

/// The first byte selects whether the rest is the line itself (`F`) or choices from which one is generated (`G`).
pub fn check(data: &[u8]) {
    let Some((switch, rest)) = data.split_first() else { return };
    if switch % 2 == 0 { line(rest, *switch) } else { line(&session::value(rest), *switch) }
}

fn line(line: &[u8], switch: u8) {
    let parsed = head::read(line);
    assert_eq!(parsed, head::read_simple(line));
    let raw = Raw::parse(line);
    assert_eq!(raw, Raw::parse_simple(line));
    wide_strings(line);
    grammar_is_that_of_serde(line, raw);
    let Ok(raw) = raw else {
        assert!(matches!(parsed, Parsed::Blank | Parsed::Malformed { .. }));
        return;
    };
    assert_eq!(matches!(parsed, Parsed::Value(_)), raw.is_truthy());
    values_are_those_of_serde(raw);
    printing(raw);
    coercion(raw);
    editing(raw, switch);
    typed(raw, &parsed);
}

/// Wide instructions agree with the simple reader at any position of the bytes in a block.
fn wide_strings(line: &[u8]) {
    for n_before in [0, 31, 62, 63, 64, 127] {
        let text = [b"\"", "a".repeat(n_before).as_bytes(), line, b"\""].concat();
        assert_eq!(Raw::parse(&text), Raw::parse_simple(&text));
    }
}

/// Serde reads the same grammar, except for JavaScript's extensions.
fn grammar_is_that_of_serde(line: &[u8], raw: Result<Raw<'_>, NotJson>) {
    match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
        Ok(_) => assert!(raw.is_ok()),
        Err(error) => {
            let error = error.to_string();
            let is_beyond = ["surrogate", "hex escape", "out of range", "unicode"].iter().any(|it| error.contains(it));
            assert!(is_beyond || raw.is_err(), "serde: {error}");
        }
    }
    if let Err(NotJson { at }) = raw {
        assert!(at <= line.len());
    }
}

fn values_are_those_of_serde(raw: Raw<'_>) {
    let Ok(expected) = serde_json::from_slice::<serde_json::Value>(raw.as_bytes()) else { return };
    same(raw, &expected);
    same(print(raw).raw(), &expected);
}

/// Serde goes no deeper than 128, so this may recurse.
fn same(raw: Raw<'_>, value: &serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Null => assert!(raw.is_null()),
        Value::Bool(expected) => assert_eq!(raw.as_bool(), Some(*expected)),
        Value::Number(expected) => assert_eq!(raw.as_number(), expected.as_f64()),
        Value::String(expected) => assert_eq!(raw.as_string().as_ref(), Some(expected)),
        Value::Array(expected) => {
            let items: Vec<_> = raw.items().collect();
            assert_eq!(items.len(), expected.len());
            items.into_iter().zip(expected).for_each(|(item, expected)| same(item, expected));
        }
        Value::Object(expected) => {
            let members: BTreeMap<_, _> =
                raw.members().map(|member| (member.key.as_string().unwrap(), member.value)).collect();
            assert_eq!(members.len(), expected.len());
            for (key, expected) in expected {
                assert_eq!(raw.get(key), members.get(key).copied());
                same(members[key], expected);
            }
        }
    }
}

/// Printing keeps the value, as JavaScript sees it, and is idempotent.
fn printing(raw: Raw<'_>) {
    let printed = print(raw);
    let again = Raw::parse(printed.raw().as_bytes()).unwrap();
    assert_eq!(again.as_bytes(), printed.raw().as_bytes(), "no white space around it");
    assert_eq!(print(again), printed);
    assert!(std::str::from_utf8(again.as_bytes()).is_ok());
    assert!(!again.as_bytes().iter().any(|byte| *byte < b' '));
    let is_infinite = raw.as_number().is_some_and(f64::is_infinite);
    assert!(again.shape() == raw.shape() || (is_infinite && again.is_null()));
    assert_eq!(again.as_text(), raw.as_text());
    if let Some(number) = raw.as_number().filter(|_| !is_infinite) {
        assert_eq!(number_text(number).parse(), Ok(number));
    }
}

fn coercion(raw: Raw<'_>) {
    let text = raw.to_js_string();
    let number = raw.to_js_number();
    match raw.shape() {
        Shape::Number => assert_eq!(raw.as_number(), Some(number)),
        Shape::String => assert_eq!(raw.as_text(), Some(text.clone())),
        _ => {}
    }
    let trimmed = text.trim();
    assert_eq!(trimmed.trim(), trimmed);
    assert!(trimmed.utf16_len() <= text.utf16_len());
    assert_eq!(text.to_str().encode_utf16().count(), text.utf16_len());
    if let Some(time) = date::parse(&text.to_str(), &Utc) {
        assert_eq!(date::parse(&date::to_iso(time), &Utc), Some(time));
    }
}

const EDITED_KEYS: &[&str] = &["id", "parentId", "type", "content", "", "1", "\"\\\n", "é", "__proto__"];

/// A change of one member leaves the bytes of all others unchanged.
fn editing(raw: Raw<'_>, switch: u8) {
    let key = EDITED_KEYS[usize::from(switch >> 1) % EDITED_KEYS.len()];
    let value = Json::parse(r#"{ "new": [1.0, "\ud800"] }"#).unwrap();
    let set = raw.edited(&[Edit::Set(key, value.raw())]);
    let removed = raw.edited(&[Edit::Remove(key)]);
    assert_eq!(raw.edited(&[]), raw.to_json());
    if raw.shape() != Shape::Object {
        assert_eq!((set, removed.raw()), (raw.to_json(), raw));
        return;
    }
    let others = |object: Raw<'_>| -> Vec<(Vec<u8>, Vec<u8>)> {
        let others = object.members().filter(|member| !member.is(key));
        others.map(|member| (member.key.as_bytes().to_vec(), member.value.as_bytes().to_vec())).collect()
    };
    for changed in [&set, &removed] {
        assert_eq!(Raw::parse(changed.raw().as_bytes()), Ok(changed.raw()));
        assert_eq!(others(changed.raw()), others(raw));
    }
    assert_eq!(set.raw().get(key), Some(value.raw()));
    assert_eq!(removed.raw().get(key), None);
    let n_members = |object: Raw<'_>| object.members().count();
    assert_eq!(n_members(set.raw()), n_members(raw) + usize::from(raw.get(key).is_none()));
    // Restoring the old value restores every byte.
    if let Some(old) = raw.get(key) {
        assert_eq!(set.raw().edited(&[Edit::Set(key, old)]), raw.to_json());
    }
}

/// The typed views agree with the head, and every accessor works on any input.
fn typed(raw: Raw<'_>, parsed: &Parsed<'_>) {
    let entry = Entry::new(raw.to_json());
    assert_eq!(entry.payload().raw(), entry.raw());
    if let Parsed::Value(head) = parsed {
        assert_eq!(entry.kind(), head.kind);
        assert_eq!(entry.id(), head.id.clone().map(EntryId::from));
        if let Some(time) = head.time {
            assert_eq!(entry.time(&Utc), Some(time));
            assert_eq!(entry.timestamp(), Some(date::to_iso(time)));
        }
    } else {
        assert_eq!(entry.kind(), Kind::NotObject);
    }
    views::read_all_fields(&entry);
    let messages = context::entry_messages(entry.kind(), entry.raw(), &Utc);
    let n_messages = messages.len();
    assert!(n_messages <= 2);
    let for_model = llm::convert(messages.iter().map(Json::raw));
    assert!(for_model.len() <= n_messages);
    for message in messages.iter().chain(&for_model) {
        assert!(Raw::parse(message.raw().as_bytes()).is_ok());
    }
}
