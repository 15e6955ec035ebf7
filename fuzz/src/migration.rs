//! Older files, upgraded to the current version.

use std::convert::Infallible;

use sessile_core::entries::{migrate_session_entries, parse_session_entries};
use sessile_core::head::Kind;
use sessile_core::json::{Json, Raw, Shape};
use sessile_core::line::{Span, split};
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_core::version::{CURRENT_VERSION, StableIds};

use crate::session;

/// The number that comes with the file selects a header of version 1, 2 or 3 to put before it, or none.
pub fn check(data: &[u8]) {
    let (rest, version) = session::file(data);
    let mut bytes = match version % 4 {
        0 => Vec::new(),
        version => format!("{{\"type\":\"session\",\"version\":{version},\"id\":\"s\"}}\n").into_bytes(),
    };
    bytes.extend_from_slice(&rest);
    list(&bytes);
    file(&bytes);
}

/// No value is lost or added, and a second migration finds nothing to do.
fn list(bytes: &[u8]) {
    let before = parse_session_entries(bytes);
    let mut after = before.clone();
    migrate_session_entries(&mut after, &mut StableIds);
    assert_eq!(after.len(), before.len());
    for (before, after) in before.iter().zip(&after) {
        assert!(Raw::parse(after.raw().as_bytes()).is_ok());
        let untouched = before.raw().shape() != Shape::Object;
        assert!(!untouched || before == after);
    }
    let mut again = after.clone();
    migrate_session_entries(&mut again, &mut StableIds);
    assert_eq!(again, after);
}

/// The upgraded lines form a file of the current version with the same entries, ids, parents and roles.
fn file(bytes: &[u8]) {
    let old = outline(bytes);
    let mut upgraded = Vec::new();
    for row in old.rows() {
        upgraded.extend_from_slice(upgrade(bytes, &old, row).raw().as_bytes());
        upgraded.push(b'\n');
    }
    // A carriage return or a newline inside a value is white space, and a value of a file has no newline.
    let new = outline(&upgraded);
    assert!(!new.upgrade().is_needed());
    assert_eq!(new.rows().len(), old.rows().len());
    assert_eq!((new.is_session(), new.leaf()), (old.is_session(), old.leaf()));
    for row in old.rows() {
        assert_eq!(new.kind(row), old.kind(row));
        assert_eq!(new.role(row), old.role(row));
        assert_eq!(new.time(row), old.time(row));
        assert_eq!(new.id(row), old.id(row));
        assert_eq!(new.parent_id(row), old.parent_id(row));
        assert_eq!(new.parent(row), old.parent(row));
        assert_eq!(upgrade(&upgraded, &new, row), value(&upgraded, &new, row));
        if !old.upgrade().is_needed() {
            assert_eq!(value(&upgraded, &new, row), value(bytes, &old, row));
        } else if new.kind(row) == Kind::Header {
            let version = value(&upgraded, &new, row).raw().get("version").and_then(Raw::as_number);
            assert_eq!(version, Some(f64::from(CURRENT_VERSION)));
        }
    }
}

fn outline(bytes: &[u8]) -> Outline {
    let mut outline = Outline::new();
    for line in split(bytes) {
        outline.push(line, &mut StableIds);
    }
    outline
}

fn value(bytes: &[u8], outline: &Outline, row: Row) -> Json {
    let Span { offset, len } = outline.span(row);
    let start = usize::try_from(offset).unwrap();
    Json::parse(&bytes[start..start + usize::try_from(len).unwrap()]).unwrap()
}

fn upgrade(bytes: &[u8], outline: &Outline, row: Row) -> Json {
    let mut read = |row| Ok::<_, Infallible>(value(bytes, outline, row));
    let Ok(upgraded) = upgrade_value(outline, row, value(bytes, outline, row).raw(), &mut read);
    upgraded
}
