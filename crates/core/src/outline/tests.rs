//! The contract of the outline, and checks that its fast paths keep it.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::line::split;
use crate::version::StableIds;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#;

/// An outline of entries written as `id<parent`, after a header.
fn outline(entries: &str) -> Outline {
    let mut text = format!("{HEADER}\n");
    for entry in entries.split_whitespace() {
        let (id, parent) = entry.split_once('<').unwrap_or((entry, "null"));
        let parent = if parent == "null" { parent.to_owned() } else { format!("\"{parent}\"") };
        writeln!(
            text,
            "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:00.000Z\"}}"
        )
        .unwrap();
    }
    read(text.as_bytes())
}

fn read(bytes: &[u8]) -> Outline {
    let mut outline = Outline::new();
    for line in split(bytes) {
        outline.push(line, &mut StableIds);
    }
    outline
}

fn path(outline: &Outline, id: &str) -> String {
    let row = outline.find(&id.into()).unwrap();
    names(outline, &outline.path(row))
}

fn names(outline: &Outline, rows: &[Row]) -> String {
    rows.iter().map(|row| outline.id(*row).unwrap().to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn paths_follow_parents_in_any_file_order() {
    let outline = outline("b<a a c<b d<gone");
    assert_eq!(path(&outline, "c"), "a b c");
    assert_eq!(path(&outline, "d"), "d");
    assert_eq!(outline.leaf().and_then(|leaf| outline.id(leaf)).unwrap(), "d");
}

#[test]
fn the_first_member_of_a_loop_is_a_root() {
    assert_eq!(path(&outline("a<a b<a"), "b"), "a b");
    let loop_of_three = outline("r x<z y<x z<y t<y");
    assert_eq!(path(&loop_of_three, "t"), "x y t");
    assert_eq!(path(&loop_of_three, "z"), "x y z");
    assert_eq!(path(&loop_of_three, "x"), "x");
    let two_loops = outline("a<b b<a c<d d<c e<d");
    assert_eq!(path(&two_loops, "e"), "c d e");
    assert_eq!(path(&two_loops, "b"), "a b");
}

#[test]
fn a_reused_id_that_closes_a_loop_is_a_root() {
    let outline = outline("b<a a a<b c<b");
    assert_eq!(path(&outline, "c"), "a b c");
    assert_eq!(outline.n_ids(), 3);
    assert_eq!(outline.n_entries(), 4);
}

#[test]
fn children_are_entries_with_that_parent_id() {
    let outline = outline("a b<a c<a b<null a2<a");
    let children = |parent: Option<&str>| names(&outline, &outline.children(parent.map(EntryId::from).as_ref()));
    assert_eq!(children(Some("a")), "c a2");
    assert_eq!(children(None), "a b");
    assert_eq!(children(Some("nobody")), "");
}

#[test]
fn odd_lines_are_reported_with_their_position() {
    let text = format!("\u{feff}{HEADER}\nbroken\n\nnull\n5\n{HEADER}\n{{\"type\":\"x\",\"id\":\"a\",\"parentId\":7}}");
    let outline = read(text.as_bytes());
    let found: Vec<_> = outline.diagnostics().into_iter().map(|it| (it.line, it.oddity, it.severity)).collect();
    let expected = [
        (1, Oddity::ByteOrderMark, Severity::Note),
        (2, Oddity::Malformed, Severity::Error),
        (4, Oddity::Empty, Severity::Note),
        (5, Oddity::NotObject, Severity::Note),
        (6, Oddity::ExtraHeader, Severity::Note),
        (7, Oddity::OddParent, Severity::Warning),
        (7, Oddity::OddTime, Severity::Note),
        (7, Oddity::Unterminated, Severity::Note),
    ];
    assert_eq!(found, expected);
    assert!(outline.is_session());
}

#[test]
fn deep_and_wide_trees_are_read() {
    let mut deep = Outline::new();
    let mut wide = Outline::new();
    let n_entries = 200_000u64;
    for index in 0..n_entries {
        for (outline, parent) in [(&mut deep, index.saturating_sub(1)), (&mut wide, 0)] {
            let line = format!(r#"{{"type":"custom","id":"{index:08x}","parentId":"{parent:08x}"}}"#);
            let span = Span { offset: outline.end(), len: line.len() as u64 };
            outline.push(Line { span, bytes: Some(line.as_bytes()), terminated: true }, &mut StableIds);
        }
    }
    assert_eq!(deep.path(deep.leaf().unwrap()).len() as u64, n_entries);
    assert_eq!(wide.path(wide.leaf().unwrap()).len(), 2);
}

/// The path to an entry, found the slow way by following parents.
fn slow_path(outline: &Outline, start: Row) -> Vec<Row> {
    let mut path = vec![outline.current(start)];
    while let Some(parent) = outline.parent(path[path.len() - 1]) {
        assert!(!path.contains(&parent), "a circle of parents was not broken");
        path.push(parent);
    }
    path.reverse();
    path
}

/// A line of any kind, with ids that often collide.
fn odd_line() -> impl Strategy<Value = String> {
    let id = || prop_oneof![4 => "[0-3]{8}", 1 => "[a-b]{0,2}", 1 => Just("\\ud800".to_owned())];
    let entry = (id(), id(), "message|custom|label|what", "user|toolResult|hookMessage").prop_map(
        |(id, parent, kind, role)| {
            format!(r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}","timestamp":"2025-01-01T00:00:00.000Z","message":{{"role":"{role}"}}}}"#)
        },
    );
    let odd = prop_oneof![
        Just(HEADER.to_owned()),
        Just(HEADER.replace('3', "1")),
        Just(HEADER.replace('3', "4")),
        Just(format!("\u{feff}{HEADER}")),
        Just("{\"type\":\"x\",\"id\":7,\"parentId\":null}".to_owned()),
        Just("{\"type\":\"x\",\"id\":\"a\",\"parentId\":[]}".to_owned()),
        "|broken|null|5|\\[\\]| ",
    ];
    prop_oneof![3 => entry, 1 => odd].prop_map(|line| line + "\n")
}

/// Every value that an outline's methods return.
fn dump(outline: &Outline) -> String {
    let rows: Vec<_> = outline
        .rows()
        .map(|row| {
            let facts = (outline.span(row), outline.kind(row), outline.role(row), outline.time(row));
            let position =
                (outline.line_number(row), outline.current(row), outline.parent(row), outline.placement(row));
            let id = outline.id(row);
            let found = id.as_ref().map(|id| (outline.find(id), outline.children(Some(id))));
            (facts, position, id, outline.parent_id(row), outline.has_null_parent(row), found)
        })
        .collect();
    let counts = (outline.n_lines(), outline.n_entries(), outline.n_ids(), outline.end(), outline.leaf());
    let facts = (outline.is_session(), outline.has_conversation(), outline.upgrade(), outline.is_unterminated());
    format!("{rows:?} {counts:?} {facts:?} {:?}", outline.diagnostics())
}

proptest! {
    #[test]
    fn paths_end_for_any_parents(links in proptest::collection::vec((0u8..8, 0u8..10), 0..30)) {
        let text: Vec<_> = links.iter().map(|(id, parent)| format!("{id}<{parent}")).collect();
        let outline = outline(&text.join(" "));
        for row in outline.entries() {
            prop_assert_eq!(outline.path(row), slow_path(&outline, row));
            // Cutting a loop makes exactly one of its members a root, so every entry stays reachable.
            prop_assert!(outline.parent(outline.path(row)[0]).is_none());
        }
    }

    #[test]
    fn parts_and_saved_outlines_equal_the_pushed_outline(
        lines in proptest::collection::vec(odd_line(), 0..40),
        cuts in proptest::collection::vec(0usize..40, 0..4),
        is_ended in any::<bool>(),
    ) {
        let mut bytes = lines.concat();
        if !is_ended {
            bytes.pop();
        }
        let pushed = read(bytes.as_bytes());
        let mut in_parts = Outline::new();
        let mut part = OutlinePart::new();
        for (index, line) in split(bytes.as_bytes()).into_iter().enumerate() {
            if cuts.contains(&index) {
                in_parts.push_part(&std::mem::take(&mut part), &mut StableIds);
            }
            part.push(line);
        }
        in_parts.push_part(&part, &mut StableIds);
        prop_assert_eq!(dump(&in_parts), dump(&pushed));
        if let Some(body) = pushed.body() {
            let header = HEADER.replace("2025", "2031") + "  ";
            let text = format!("{header}\n{}", bytes.get(usize::try_from(body.start).unwrap()..).unwrap());
            let forked = pushed.after_header(header.as_bytes()).unwrap();
            prop_assert_eq!(dump(&forked), dump(&read(text.as_bytes())));
        }
        // The fast lookups agree with the slow ones.
        for (index, row) in pushed.rows().enumerate() {
            let begin = pushed.span(row).offset;
            for offset in [begin, begin + 1] {
                let slow = pushed.rows().position(|row| pushed.span(row).offset >= offset);
                prop_assert_eq!(pushed.first_row_from(offset), slow.unwrap_or(pushed.rows().len()));
            }
            let slow: Vec<Row> = pushed.entries().filter(|row| row.index() >= index).collect();
            prop_assert_eq!(pushed.entries_from(index).collect::<Vec<_>>(), slow);
        }
        prop_assert_eq!(pushed.entries_from(usize::MAX).count(), 0);
        match pushed.save() {
            Some(saved) => {
                let loaded = Outline::load(&saved).unwrap();
                prop_assert_eq!(dump(&loaded), dump(&pushed));
                prop_assert_eq!(loaded.save(), Some(saved));
            }
            None => prop_assert!(pushed.is_unterminated()),
        }
    }

    #[test]
    fn no_bytes_make_loading_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
        drop(Outline::load(&bytes));
        let saved = outline("b<a a c<b d<gone").save().unwrap();
        let mut damaged = saved.clone();
        let offset = cut % damaged.len();
        damaged[offset] ^= bytes.first().copied().unwrap_or(1).max(1);
        if let Some(loaded) = Outline::load(&damaged) {
            drop(dump(&loaded));
        }
        prop_assert!(Outline::load(&saved[..offset]).is_none());
    }

    #[test]
    fn any_bytes_are_accepted(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let outline = read(&bytes);
        prop_assert_eq!(outline.end(), bytes.len() as u64);
        drop(outline.diagnostics());
    }
}
