//! Single rules.

use sessile_merge::{Bytes, MergeError, MergeOptions, Merger};

use crate::generate::header;
use crate::merged;

fn session(lines: &[&str]) -> String {
    header(0) + "\n" + &lines.iter().map(|line| format!("{line}\n")).collect::<String>()
}

fn entry(id: &str, parent: &str, second: u32, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"custom","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:{second:02}.000Z"{rest}}}"#
    )
}

fn body(text: &str) -> Vec<String> {
    text.lines().skip(1).map(str::to_owned).collect()
}

fn error(copies: &[&str]) -> MergeError<std::convert::Infallible> {
    let copies: Vec<_> = copies.iter().map(|copy| Bytes(copy.as_bytes())).collect();
    Merger::read(&copies, MergeOptions::default()).unwrap_err()
}

#[test]
fn copies_must_be_copies() {
    let one = session(&[]);
    assert!(matches!(error(&[&one, ""]), MergeError::NotASession { copy: 1 }));
    assert!(matches!(error(&[&one, "{\"id\":\"a\"}\n"]), MergeError::NotASession { copy: 1 }));
    assert!(matches!(
        error(&[&one, &one.replace("the-s", "another-s")]),
        MergeError::OtherSession { first: 0, other: 1 }
    ));
    assert!(matches!(error(&[&one.replace("\"version\":3", "\"version\":4")]), MergeError::Newer { copy: 0 }));
}

#[test]
fn the_least_header_counts() {
    let [one, two] = [header(1), header(2)].map(|header| format!(" {header}\r\n"));
    assert_eq!(merged(&[&two, &one]), header(1) + "\n");
}

#[test]
fn a_collision_renames_the_later_entry_and_everything_follows() {
    let [a, early, late] = [entry("a", "", 0, ""), entry("b", "a", 1, r#","v":1"#), entry("b", "a", 2, r#","v":2"#)];
    let children = [
        entry("c", "b", 3, ""),
        entry("d", "c", 4, r#","targetId":"b""#),
        entry("e", "d", 5, r#","firstKeptEntryId":"b""#),
        entry("f", "e", 6, r#","fromId":"b","data":{"targetId":"b"}"#),
    ];
    let one = session(&[&a, &early]);
    let two = session(
        &[&[&a, &late][..], &children.iter().collect::<Vec<_>>()]
            .concat()
            .iter()
            .map(|line| line.as_str())
            .collect::<Vec<_>>(),
    );
    let lines = body(&merged(&[&one, &two]));
    assert_eq!(lines[..2], [a.clone(), early]);
    let new = lines[2].split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(new.len(), 8);
    assert_eq!(
        lines[2],
        late.replace("\"id\":\"b\"", &format!("\"id\":\"{new}\"")).replace('}', ",\"renamedFrom\":\"b\"}")
    );
    assert_eq!(lines[3], children[0].replace("\"b\"", &format!("\"{new}\"")));
    assert_eq!(lines[4], children[1].replace("\"b\"", &format!("\"{new}\"")));
    assert_eq!(lines[5], children[2].replace("\"b\"", &format!("\"{new}\"")));
    assert_eq!(lines[6], children[3].replacen("\"b\"", &format!("\"{new}\""), 1), "payloads are not touched");
    // An entry that has the derived id already keeps it.
    let third = session(&[&a, &entry(&new, "a", 9, "")]);
    let all = merged(&[&one, &two, &third]);
    assert!(body(&all).contains(&entry(&new, "a", 9, "")));
    assert_eq!(body(&all).iter().filter(|line| line.contains("renamedFrom")).count(), 1);
    assert_eq!(merged(&[&merged(&[&one, &two]), &third]), all);
}

#[test]
fn hidden_entries_become_visible() {
    let copy = session(&[&entry("a", "", 0, r#","v":1"#), &entry("b", "a", 1, ""), &entry("a", "", 2, r#","v":2"#)]);
    let lines = body(&merged(&[&copy]));
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], entry("a", "", 0, r#","v":1"#));
    assert!(lines[1].contains("\"renamedFrom\":\"a\"") && lines[1].contains("\"v\":2"), "{lines:?}");
    assert!(lines[2].contains("\"id\":\"b\"") && !lines[2].contains("\"parentId\":\"a\""), "b is below the second one");
}

#[test]
fn a_child_is_never_before_its_parent() {
    let lines = [entry("a", "", 9, ""), entry("b", "a", 1, ""), entry("c", "", 5, "")];
    let copy = session(&[&lines[1], &lines[2], &lines[0]]);
    assert_eq!(body(&merged(&[&copy])), [lines[2].clone(), lines[0].clone(), lines[1].clone()]);
}

#[test]
fn loops_come_first_and_stay() {
    let [a, b] = [entry("a", "b", 1, ""), entry("b", "a", 2, "")];
    let (own, below, good) = (entry("s", "s", 9, ""), entry("x", "a", 9, ""), entry("g", "", 0, ""));
    let copy = session(&[&good, &a, &b, &own, &below]);
    let lines = body(&merged(&[&copy]));
    assert_eq!(lines.last(), Some(&good));
    assert_eq!(lines.len(), 5);
    let other = session(&[&below, &own, &b, &a]);
    assert_eq!(body(&merged(&[&other, &copy])), lines);
}

#[test]
fn a_parent_that_a_copy_lost_comes_from_another() {
    let lines = [entry("a", "", 1, ""), entry("b", "a", 2, ""), entry("c", "b", 3, ""), entry("d", "c", 4, "")];
    let [a, b, c, d] = [0, 1, 2, 3].map(|index| lines[index].as_str());
    let whole = session(&[a, b, c, d]);
    let damaged =
        [session(&[a, "{\"type\":\"cus", c, d]), session(&[a, b, "{\"type\":\"custom\",\"id\":\"c\",\"par", d])];
    assert_eq!(merged(&[&damaged[0], &whole]), whole);
    assert_eq!(merged(&[&damaged[1], &damaged[0]]), whole);
    // Without the other copy, it stays as it was.
    assert_eq!(body(&merged(&[&damaged[0]])).len(), 3);
}

#[test]
fn spellings_are_one_entry() {
    let plain = entry("a", "", 1, r#","v":1,"t":"é""#);
    let spellings = [
        plain.replace("\":", "\" : "),
        plain.clone() + "\r",
        plain.replace("\"v\":1", "\"v\":1.0"),
        plain.replace("\"v\":1", "\"v\":1e0"),
        plain.replace('é', "\\u00e9"),
        plain.replace("\"id\"", "\"\\u0069d\""),
    ];
    for spelling in &spellings {
        let result = merged(&[session(&[&plain]), session(&[spelling])]);
        // Links are always spelled plainly, so that they can be exchanged and put back.
        let least = plain.clone().min(spelling.trim_end().replace("\\u0069", "i"));
        assert_eq!(body(&result), [least], "{spelling}");
    }
    let all: Vec<String> = spellings.iter().map(|spelling| session(&[spelling])).collect();
    assert_eq!(body(&merged(&all)).len(), 1);
}

#[test]
fn odd_lines_are_kept_once() {
    let odd = ["{\"type\":\"session\",\"id\":\"x\"}", "[1]", "{\"no\":\"id\"}", "nonsense"];
    let one = session(&[odd[0], odd[1], "", odd[2], odd[3]]);
    let two = session(&[odd[3], odd[1], &entry("a", "", 1, "")]);
    let lines = body(&merged(&[&one, &two]));
    assert_eq!(lines.len(), 5);
    assert!(odd.iter().all(|odd| lines[..4].contains(&(*odd).to_owned())));
}

#[test]
fn many_levels_and_a_long_loop() {
    // A million in release.
    let n_levels = if cfg!(debug_assertions) { 50_000 } else { 1_000_000u32 };
    let mut deep = header(0) + "\n";
    for number in 0..n_levels {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"{:08x}\"", number - 1) };
        deep += &format!("{{\"type\":\"x\",\"id\":\"{number:08x}\",\"parentId\":{parent}}}\n");
    }
    assert_eq!(merged(&[&deep]), deep);
    let mut round = header(0) + "\n";
    let n_in_loop = n_levels / 10;
    for number in 0..n_in_loop {
        round += &format!("{{\"type\":\"x\",\"id\":\"{number}\",\"parentId\":\"{}\"}}\n", (number + 1) % n_in_loop);
    }
    let once = merged(&[&round]);
    assert_eq!(once.lines().count(), n_in_loop as usize + 1);
    assert_eq!(merged(&[&once, &round]), once);
    // All with the same id: one is visible.
    let same = header(0)
        + "\n"
        + &(0..n_in_loop).map(|number| entry("a", "b", 1, &format!(",\"v\":{number}")) + "\n").collect::<String>();
    let once = merged(&[&same]);
    assert_eq!(once.matches("renamedFrom").count(), n_in_loop as usize - 1);
    assert_eq!(merged(&[&once, &same]), once);
    // All have lost their parent, and the other copy has as many with that id.
    let parents = same.replace("\"id\":\"a\"", "\"id\":\"b\"").replace("\"parentId\":\"b\"", "\"parentId\":null");
    let all = merged(&[&same, &parents]);
    assert_eq!(all.lines().count(), 2 * n_in_loop as usize + 1);
    assert_eq!(merged(&[&parents, &same]), all);
    // Torn lines that begin alike.
    let begin = format!("{{\"type\":\"x\",\"long\":\"{}", "y".repeat(80));
    let torn = header(0) + "\n" + &(0..n_in_loop / 10).map(|number| format!("{begin}{number}\n")).collect::<String>();
    let whole =
        torn.replace(&begin, "{\"id\":\"").lines().skip(1).map(|line| format!("{line}\"}}\n")).collect::<String>();
    let whole = header(0) + "\n" + &whole + &format!("{begin}123456\",\"id\":\"w\"}}\n");
    let all = merged(&[&torn, &whole]);
    // 1, 12, 123, … begin the whole one.
    let n_begin = (1..=6).filter(|digits| "123456"[..*digits].parse::<u32>().unwrap() < n_in_loop / 10).count();
    assert_eq!(all.lines().count(), torn.lines().count() - n_begin + whole.lines().count() - 1);
}

#[test]
fn a_copy_that_changes_is_noticed() {
    use sessile_core::line::{Line, Span};
    use sessile_merge::Source;

    /// Gives another text after the first pass.
    struct Changing(String, std::cell::Cell<bool>);
    impl Source for Changing {
        type Error = std::convert::Infallible;

        fn scan(&self, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), Self::Error> {
            Bytes(self.0.as_bytes()).scan(on_line)
        }

        fn read(&self, span: Span) -> Result<Vec<u8>, Self::Error> {
            self.1.set(true);
            let Ok(bytes) = Bytes(self.0.as_bytes()).read(span);
            Ok(String::from_utf8(bytes).unwrap().replace("\"v\":1", "\"v\":2").into_bytes())
        }
    }
    let copies = [Changing(session(&[&entry("a", "", 1, r#","v":1"#)]), false.into())];
    let merger = Merger::read(&copies, MergeOptions::default()).unwrap();
    assert!(matches!(merger.canonical().write(&mut |_| Ok(())), Err(MergeError::Changed { copy: 0 })));
}

#[test]
fn every_changed_byte_is_noticed() {
    use std::cell::Cell;

    use sessile_core::line::{Line, Span};
    use sessile_merge::Source;

    /// Gives another byte at an offset after the first pass.
    struct Flipped<'t>(&'t str, Cell<u64>);
    impl Source for Flipped<'_> {
        type Error = std::convert::Infallible;

        fn scan(&self, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), Self::Error> {
            Bytes(self.0.as_bytes()).scan(on_line)
        }

        fn read(&self, span: Span) -> Result<Vec<u8>, Self::Error> {
            let Ok(mut bytes) = Bytes(self.0.as_bytes()).read(span);
            let place = self.1.get().checked_sub(span.offset).and_then(|at| usize::try_from(at).ok());
            if let Some(byte) = place.and_then(|at| bytes.get_mut(at)) {
                *byte ^= 1;
            }
            Ok(bytes)
        }
    }
    let text = session(&[&entry("a", "", 1, ""), &entry("b", "a", 2, ""), &entry("c", "b", 3, "")]);
    let copies = [Flipped(&text, Cell::new(u64::MAX))];
    let merger = Merger::read(&copies, MergeOptions::default()).unwrap();
    assert!(merger.canonical().write(&mut |_| Ok(())).is_ok());
    let begin = text.find('\n').unwrap() + 1;
    // The newline after the last line is written, not copied.
    for at in begin..text.trim_end().len() {
        copies[0].1.set(at as u64);
        let written = merger.canonical().write(&mut |_| Ok(()));
        assert!(matches!(written, Err(MergeError::Changed { copy: 0 })), "{at}: {:?}", &text[begin..at]);
    }
}
