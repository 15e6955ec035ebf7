//! Every known kind of damage: the findings, the result of repair, and that a second repair does nothing.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]
#![expect(clippy::many_single_char_names, reason = "variables are named after entry ids")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sessile::date::Timestamp;
use sessile::format::incomplete::IncompleteMark;
use sessile::repair::{Repair, RepairOptions};
use sessile::verify::{Code, Finding, Remedy, Report};
use sessile::write::StoreError;
use sessile::{SessionError, Sessions};
use sessile_testkit::Replay;
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

struct Fixture {
    dir: TempDir,
    sessions: Sessions,
}

impl Fixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let environment = Replay::new(1_735_689_600_000, 7);
        environment.set_home(dir.path());
        environment.set_current_dir(dir.path());
        Self { sessions: Sessions::new(environment), dir }
    }

    /// A file that only its owner can read.
    fn file(&self, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join("f.jsonl");
        write_private(&path, bytes.as_ref());
        path
    }

    fn verify(&self, path: &Path) -> Report {
        self.sessions.verify(path).unwrap()
    }

    fn repair(&self, path: &Path) -> Repair {
        self.sessions.repair(path, RepairOptions::default()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.dir.path()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The entries of a session, as `id<parent`.
    fn shown(&self, path: &Path) -> String {
        let session = self.sessions.open(path).unwrap();
        let outline = session.outline();
        let name = |id: Option<sessile::EntryId>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let shown = outline.entries().map(|row| format!("{}<{}", name(outline.id(row)), name(outline.parent_id(row))));
        shown.collect::<Vec<_>>().join(" ")
    }
}

fn write_private(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn message(id: &str, parent: &str, message: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{message}}}"#
    )
}

fn user(id: &str, parent: &str) -> String {
    message(id, parent, &format!(r#"{{"role":"user","content":"{id}","timestamp":1}}"#))
}

/// The mark for an incomplete or a missing record.
fn mark(id: &str, parent: &str, reason: &str, bytes: Option<&str>) -> String {
    let (id, parent) = (id.into(), (!parent.is_empty()).then(|| parent.into()));
    let bytes = bytes.map(str::as_bytes);
    IncompleteMark { id: &id, parent: parent.as_ref(), time: Timestamp::from_ms(1_735_689_601_000), reason, bytes }
        .to_json()
        .to_text()
        .into_owned()
}

fn codes(findings: &[Finding]) -> String {
    findings.iter().map(|finding| finding.code.word()).collect::<Vec<_>>().join(" ")
}

/// Repairs lines after a header, and expects these findings, entries, lines and remaining findings.
#[track_caller]
fn mends(lines: &str, found: &str, shown: &str, expected: &str, left: &str) {
    let fixture = Fixture::new();
    let before = format!("{HEADER}\n{lines}");
    let path = fixture.file(&before);
    let report = fixture.verify(&path);
    assert_eq!(codes(&report.findings), found, "{:#?}", report.findings);
    for finding in &report.findings {
        let line: u64 = 1 + before.as_bytes()[..usize::try_from(finding.offset).unwrap()]
            .iter()
            .map(|it| u64::from(*it == b'\n'))
            .sum::<u64>();
        assert!(finding.code == Code::Unterminated || line == finding.line, "{finding:?} is on line {line}");
    }
    let dry = fixture.sessions.repair(&path, RepairOptions { dry_run: true, permissions: false }).unwrap();
    assert_eq!((fs::read(&path).unwrap(), fixture.names()), (before.clone().into_bytes(), vec!["f.jsonl".to_owned()]));
    let repair = fixture.repair(&path);
    assert_eq!(Repair { original: None, dry_run: true, ..repair.clone() }, dry);
    let after = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    assert_eq!(after, format!("{HEADER}\n{expected}"));
    assert_eq!(fixture.shown(&path), shown);
    assert_eq!(codes(&repair.left), left);
    assert_eq!(fixture.verify(&path).findings, repair.left);
    let is_repaired = before != after;
    assert_eq!(repair.original.is_some(), is_repaired);
    assert_eq!(repair.changes.is_empty(), !is_repaired);
    if let Some(original) = &repair.original {
        assert_eq!(fs::read(original).unwrap(), before.as_bytes());
        assert!(original.extension().unwrap().to_str().unwrap().starts_with("orig-"));
    }
    // A second repair does nothing.
    let names = fixture.names();
    let again = fixture.repair(&path);
    assert_eq!((again.changes, again.original), (Vec::new(), None));
    assert_eq!((fs::read(&path).unwrap(), fixture.names()), (after.into_bytes(), names));
}

/// Expects findings that repair leaves, in a file that it does not change.
#[track_caller]
fn leaves(lines: &str, found: &str) {
    let fixture = Fixture::new();
    let path = fixture.file(format!("{HEADER}\n{lines}"));
    let shown = fixture.shown(&path);
    let report = fixture.verify(&path);
    assert!(report.findings.iter().all(|finding| matches!(finding.remedy, Remedy::Leave(_))), "{:?}", report.findings);
    mends(lines, found, &shown, lines, found);
}

#[test]
fn sound_files_are_left_alone() {
    let (a, b) = (user("a", ""), user("b", "a"));
    leaves(&format!("{a}\n{b}\n"), "");
    leaves(&format!("{a}\r\n\r\n{b}\r\n"), "");
    leaves(&format!("\n  \n{a}\n{}\n", b.replace("\"b\",\"timestamp", "\"b\u{2028}\u{2029}\u{85}\",\"timestamp")), "");
    leaves(&format!("{a}\n{b}"), "unterminated");
}

#[test]
fn torn_lines_are_marked_and_the_tree_stays_connected() {
    let (a, c, torn) = (user("a", ""), user("c", "b"), r#"{"type":"message","id":"b","par"#);
    mends(
        &format!("{a}\n{torn}\n{c}\n"),
        "torn missing-parent",
        "a<- b<a c<b",
        &format!("{a}\n{}\n{c}\n", mark("b", "a", "torn", Some(torn))),
        "incomplete",
    );
    // Without an id, the only evidence of the record is that the next entry names a missing parent.
    let nameless = r#"{"type":"message","id":"b"#;
    mends(
        &format!("{a}\n{nameless}\n{c}\n"),
        "torn missing-parent",
        "a<- b<a c<b",
        &format!("{a}\n{nameless}\n{}\n{c}\n", mark("b", "a", "missing-parent", None)),
        "torn incomplete",
    );
    // Another program may still be writing the last line.
    leaves(&format!("{a}\n{torn}"), "torn unterminated");
    leaves(&format!("{a}\nwhat is this\n"), "malformed");
}

#[test]
fn records_glued_together_are_recovered() {
    let (a, b, c, d) = (user("a", ""), user("b", "a"), user("c", "b"), user("d", "c"));
    let torn = r#"{"type":"message","id":"t","message":{"content":[{"type":"text","text":"x"#;
    let shown = "a<- b<a c<b d<c";
    mends(&format!("{a}{b}\n{c}\n{d}\n"), "fused missing-parent", shown, &format!("{a}\n{b}\n{c}\n{d}\n"), "");
    mends(&format!("{a}{b}{c}\n{d}\n"), "fused missing-parent", shown, &format!("{a}\n{b}\n{c}\n{d}\n"), "");
    let t = |parent: &str| mark("t", parent, "fused", Some(torn));
    mends(
        &format!("{a}\n{torn}{b}\n{c}\n{d}"),
        "fused missing-parent unterminated",
        "a<- t<a b<a c<b d<c",
        &format!("{a}\n{}\n{b}\n{c}\n{d}", t("a")),
        "incomplete unterminated",
    );
    mends(
        &format!("{a}\n{b}{torn}\n{c}\n{d}\n"),
        "fused missing-parent",
        "a<- b<a t<b c<b d<c",
        &format!("{a}\n{b}\n{}\n{c}\n{d}\n", t("b")),
        "incomplete",
    );
    // If two remainders have the same id, the first one stands for the record.
    mends(
        &format!("{a}\n{torn}{b}{c}{torn}\n{d}\n"),
        "fused missing-parent",
        "a<- t<a b<a c<b d<c",
        &format!("{a}\n{}\n{b}\n{c}\n{torn}\n{d}\n", t("a")),
        "incomplete torn",
    );
    // The conversation continues at the last line of the file.
    mends(
        &format!("{a}\n{b}\n{c}\n{torn}{d}\n"),
        "fused",
        "a<- b<a c<b t<c d<c",
        &format!("{a}\n{b}\n{c}\n{}\n{d}\n", t("c")),
        "incomplete",
    );
}

/// The bytes before a record look like the rest of one that contained it: it is restored only if another record names
/// it.
#[test]
fn possible_parts_are_recovered_only_if_referenced() {
    let (a, b, c) = (user("a", ""), user("b", "a"), user("c", "b"));
    let torn = r#"{"type":"custom","customType":"x","data":"#;
    mends(
        &format!("{a}\n{torn}{b}\n{c}\n"),
        "fused missing-parent",
        "a<- b<a c<b",
        &format!("{a}\n{torn}\n{b}\n{c}\n"),
        "torn",
    );
    leaves(&format!("{a}\n{torn}{b}\n"), "fused");
}

#[test]
fn holes_are_never_closed() {
    let (a, b, c) = (user("a", ""), user("b", "a"), user("c", "b"));
    let shown = "a<- b<a c<b";
    let inside = b.replace("content\":\"", "content\":\"\0\0\0");
    mends(
        &format!("{a}\n{inside}\n{c}\n"),
        "nul-bytes missing-parent",
        shown,
        &format!("{a}\n{}\n{c}\n", mark("b", "a", "nul-bytes", Some(&inside))),
        "incomplete",
    );
    mends(
        &format!("{a}\n\0\0{b}\n{c}\n"),
        "nul-bytes missing-parent",
        shown,
        &format!("{a}\n\0\0\n{b}\n{c}\n"),
        "nul-bytes",
    );
    mends(&format!("{a}\n{b}\0\0{c}\n"), "nul-bytes", shown, &format!("{a}\n{b}\n\0\0\n{c}\n"), "nul-bytes");
    leaves(&format!("{a}\n\0\0\0\n{b}\n\0\0"), "nul-bytes nul-bytes unterminated");
}

/// The hole removed the end of one order and the beginning of another. Closing it would make an order that no user
/// gave.
#[test]
fn a_hole_over_two_records_does_not_make_a_third() {
    let message_entry = |id: &str, parent: &str, text: &str| {
        user(id, parent).replace(&format!("\"content\":\"{id}\""), &format!("\"content\":\"{text}\""))
    };
    let a = message_entry("a", "", "Hello.");
    let b = message_entry("b", "a", "Delete the staging database, but first make a copy.");
    let c = message_entry("c", "b", "Wait until the copy is checked.");
    let d = message_entry("d", "c", "Never say: Drop production now");
    let e = message_entry("e", "d", "Thanks.");
    let mut file = format!("{HEADER}\n{a}\n{b}\n{c}\n{d}\n{e}\n");
    let from = file.find("but first make").unwrap();
    let to = file.find("Drop production").unwrap();
    file.replace_range(from..to, &"\0".repeat(to - from));
    let fixture = Fixture::new();
    let path = fixture.file(&file);
    assert_eq!(codes(&fixture.verify(&path).findings), "nul-bytes missing-parent");
    fixture.repair(&path);
    let session = fixture.sessions.open(&path).unwrap();
    let context = session.build_session_context().unwrap();
    let texts = format!("{:?}", context.messages);
    assert!(texts.contains("Hello.") && texts.contains("Thanks."), "{texts}");
    assert!(!texts.contains("Delete") && !texts.contains("Drop"), "{texts}");
    // Both halves are kept unchanged, and the marks for the lost entries keep the tree connected.
    assert_eq!(fixture.shown(&path), "a<- b<a d<b e<d");
    let after = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    assert!(after.contains("Delete the staging database, \",{\"nuls\":") && after.contains("Drop production now"));
    assert_eq!(codes(&fixture.verify(&path).findings), "incomplete incomplete");
}

#[test]
fn records_with_raw_newlines_are_marked() {
    let (a, c) = (user("a", ""), user("c", "b"));
    let broken = user("b", "a").replace("content\":\"b", "content\":\"one\n\n two");
    mends(
        &format!("{a}\n{broken}\n{c}\n"),
        "raw-newline missing-parent",
        "a<- b<a c<b",
        &format!("{a}\n{}\n{c}\n", mark("b", "a", "raw-newline", Some(&broken))),
        "incomplete",
    );
}

#[test]
fn lost_parents_get_placeholders() {
    // The parent of c is restored; that of b, which is restored itself, is missing.
    let (a, b, c) = (user("a", ""), user("b", "gone"), user("c", "b"));
    let gone = mark("gone", "a", "missing-parent", None);
    mends(
        &format!("{a}\ntorn{b}\n{c}\n"),
        "fused missing-parent",
        "a<- gone<a b<gone c<b",
        &format!("{a}\ntorn\n{gone}\n{b}\n{c}\n"),
        "malformed incomplete",
    );
    mends(
        &format!("{a}\n{b}\n{c}\n"),
        "missing-parent",
        "a<- gone<a b<gone c<b",
        &format!("{a}\n{gone}\n{b}\n{c}\n"),
        "incomplete",
    );
    leaves(&format!("{b}\n{c}\n"), "missing-parent");
    // Several children of one missing parent share one mark; no cycle is created.
    let d = user("d", "gone");
    mends(
        &format!("{a}\n{b}\n{d}\n"),
        "missing-parent missing-parent",
        "a<- gone<a b<gone d<gone",
        &format!("{a}\n{gone}\n{b}\n{d}\n"),
        "incomplete",
    );
    leaves(&format!("{}\n{}\n", user("a", "b"), user("b", "lost")), "missing-parent");
}

#[test]
fn existing_entries_are_not_recovered_twice() {
    let (a, b) = (user("a", ""), user("b", "a"));
    leaves(&format!("{a}\ntorn{b}\n{b}\n"), "fused");
    mends(&format!("{a}\ntorn{b}{b}\n"), "fused", "a<- b<a", &format!("{a}\ntorn\n{b}\n\n"), "malformed");
    let c = user("c", "b");
    mends(&format!("{a}\n{b}{c}\n{b}\n"), "fused", "a<- c<b b<a", &format!("{a}\n\n{c}\n{b}\n"), "");
    // Different content with the same id must not be restored; records beside it must.
    let other = b.replace("\"content\":\"b\"", "\"content\":\"other\"");
    leaves(&format!("{a}\n{b}\n{other}torn\n"), "fused");
    let fixture = Fixture::new();
    let path = fixture.file(format!("{HEADER}\n{a}\n{b}\n{other}{c}\n"));
    fixture.repair(&path);
    let after = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    let lines: Vec<&str> = after.lines().collect();
    assert_eq!((lines.len(), lines[2], lines[4]), (5, b.as_str(), c.as_str()));
    assert!(sessile::format::incomplete::is_marked(lines[3].as_bytes()) && lines[3].contains("other"), "{}", lines[3]);
}

#[test]
fn undecidable_damage_is_reported_and_left() {
    let (a, b) = (user("a", ""), user("b", "a"));
    leaves(&format!("{a}\n{b}\n{}\n", user("b", "a")), "duplicate-id");
    leaves(&format!("{}\n{}\n", user("a", "b"), user("b", "a")), "cycle");
    leaves(&format!("{}\n{b}\n", user("a", "a")), "own-parent");
    leaves(&format!("{a}\n{HEADER}\n{b}\n"), "extra-header");
    leaves(&format!("{a}\n5\nnull\n{b}\n"), "not-object empty-value");
    leaves(&format!("{a}\n{}\n", b.replace("\"id\":\"b\",", "")), "no-id");
    leaves(&format!("{a}\n{}\n", b.replace("\"a\"", "7")), "odd-parent");
    leaves(&format!("{a}\n{}\n", b.replace("2025-01-01T00:00:01.000Z", "yesterday")), "odd-time");
    let result = r#"{"role":"toolResult","toolCallId":"t","content":[]}"#;
    leaves(&format!("{a}\n{}\n", message("b", "a", result)), "orphan-tool-result");
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"n","arguments":{}}]}"#;
    leaves(&format!("{a}\n{}\n", message("b", "a", call)), "pending-tool-call");
    leaves(&format!("{a}\n{}\n{}\n", message("b", "a", call), user("c", "b")), "missing-tool-result");
}

#[test]
fn headers_and_versions() {
    let fixture = Fixture::new();
    let (a, b) = (user("a", ""), user("b", "lost"));
    let check = |content: String, found: &str| {
        let path = fixture.file(&content);
        let report = fixture.verify(&path);
        assert_eq!(codes(&report.findings), found, "{content}");
        fixture.repair(&path);
        String::from_utf8(fs::read(&path).unwrap()).unwrap()
    };
    let newer = format!("{}\n{a}\ntorn{b}\n{}\n", HEADER.replace(":3,", ":4,"), user("c", "lost"));
    assert_eq!(check(newer.clone(), "newer-version fused missing-parent"), newer);
    let odd = format!("{}\n{a}\n", HEADER.replace(":3,", ":\"abc\","));
    assert_eq!(check(odd.clone(), "odd-version"), odd);
    let old = format!("{}\n{a}{a}\n", HEADER.replace("\"version\":3,", ""));
    assert_eq!(check(old.clone(), "older-version fused"), old);
    let second = format!("{}\n{a}\ntorn{b}\n", HEADER.replace(":3,", ":2,"));
    let lost = mark("lost", "a", "missing-parent", None);
    let lossy_utf8 = second.replace("torn{", &format!("torn\n{lost}\n{{"));
    assert_eq!(check(second, "older-version fused"), lossy_utf8);
    assert_eq!(check(format!("\u{feff}{HEADER}\n{a}\n"), "byte-order-mark"), format!("{HEADER}\n{a}\n"));
    // A header that can be restored, and one that cannot.
    assert_eq!(check(format!("\0\0{HEADER}\n{a}\n"), "nul-bytes no-header"), format!("\0\0\n{HEADER}\n{a}\n"));
    assert_eq!(
        check(format!("{HEADER}{a}\n{b}\n"), "fused no-header missing-parent"),
        format!("{HEADER}\n{a}\n{lost}\n{b}\n")
    );
    // Nothing may precede the header.
    let early = format!("torn{a}\n{HEADER}\n");
    assert_eq!(check(early.clone(), "fused"), early);
    for content in ["", "\n", "hello\n", "{\"type\":\"message\"}", "{\"id\":\"a\",\"parentId\":null}", "\0\0\0"] {
        let path = fixture.file(content);
        assert!(matches!(fixture.sessions.verify(&path), Err(SessionError::NotASession { .. })), "{content:?}");
        assert!(matches!(
            fixture.sessions.repair(&path, RepairOptions { dry_run: false, permissions: true }),
            Err(SessionError::NotASession { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), content.as_bytes());
    }
}

#[test]
fn permissions_change_only_when_asked() {
    let fixture = Fixture::new();
    let path = fixture.dir.path().join("sessions/x.jsonl");
    write_private(&path, format!("{HEADER}\n{}{}\n", user("a", ""), user("b", "a")).as_bytes());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let dir = path.parent().unwrap().to_path_buf();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(codes(&fixture.verify(&path).findings), "permissions fused");
    let options = |dry_run| RepairOptions { dry_run, permissions: true };
    let dry = fixture.sessions.repair(&path, options(true)).unwrap();
    assert_eq!((mode(&path), mode(&dir), dry.changes.len()), (0o644, 0o755, 3));
    let done = fixture.sessions.repair(&path, options(false)).unwrap();
    assert_eq!((mode(&path), mode(&dir), mode(&done.original.unwrap())), (0o600, 0o700, 0o600));
    assert_eq!(fixture.sessions.repair(&path, options(false)).unwrap().changes, []);
    // A directory with other files is not exclusive to sessions.
    fs::write(dir.join("notes.txt"), "").unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(codes(&fixture.verify(&path).findings), "");
}

#[test]
fn sessions_with_the_same_id_are_reported() {
    let fixture = Fixture::new();
    let dir = fixture.dir.path().join(".pi/agent/sessions/--a-b-c--");
    for (name, cwd) in [("1.jsonl", "/a/b-c"), ("2.jsonl", "/a-b/c"), ("3.jsonl", "/elsewhere")] {
        let header = HEADER.replace("/proj", cwd).replacen("\"s1\"", &format!("\"{name}\""), 1);
        write_private(&dir.join(name), format!("{header}\n{}\n", user("a", "")).as_bytes());
    }
    write_private(&dir.join("4.jsonl"), b"no session");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let mut seen = Vec::new();
    fixture
        .sessions
        .verify_all(&sessile::Cancel::default(), &mut |verified| {
            let reported = verified.report.map_or_else(|error| error.to_string(), |report| codes(&report.findings));
            seen.push((verified.path.file_name().unwrap().to_str().unwrap().to_owned(), reported));
        })
        .unwrap();
    assert_eq!(seen[0], ("1.jsonl".to_owned(), "directory-collision".to_owned()));
    assert_eq!(seen[1].1, "directory-collision");
    assert_eq!(seen[2].1, "");
    assert!(seen[3].1.contains("is not a session"));
}

#[test]
fn records_hidden_by_damage_appear_after_repair() {
    let fixture = Fixture::new();
    let path = fixture.file(format!("{HEADER}\n{}\ntorn{}\n", user("a", ""), user("b", "a")));
    assert_eq!(fixture.shown(&path), "a<-");
    let hidden = fixture.sessions.hidden_records(&path).unwrap();
    assert_eq!((hidden.len(), hidden[0].line, hidden[0].record.to_text().as_ref()), (1, 3, user("b", "a").as_str()));
    fixture.repair(&path);
    assert_eq!(fixture.shown(&path), "a<- b<a");
    assert_eq!(fixture.sessions.hidden_records(&path).unwrap(), []);
}

#[test]
fn links_are_not_repaired() {
    let fixture = Fixture::new();
    let path = fixture.file(format!("{HEADER}\n{}{}\n", user("a", ""), user("b", "a")));
    let link = fixture.dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(codes(&fixture.verify(&link).findings), "fused");
    let before = fs::read(&path).unwrap();
    assert!(fixture.sessions.repair(&link, RepairOptions::default()).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A dry run must report what would happen, a link to a sound session is still a link, and neither may leave sidecars
/// beside it.
#[test]
fn links_are_refused_before_anything_else_is_done() {
    let fixture = Fixture::new();
    let (a, b) = (user("a", ""), user("b", "a"));
    let link = fixture.dir.path().join("link.jsonl");
    for lines in [format!("{a}{b}\n"), format!("{a}\n{b}\n")] {
        let path = fixture.file(format!("{HEADER}\n{lines}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for (dry_run, permissions) in [(true, false), (true, true), (false, false), (false, true)] {
            let refused = fixture.sessions.repair(&link, RepairOptions { dry_run, permissions });
            let is_reported =
                matches!(&refused, Err(SessionError::Store(StoreError::NotRegular { path })) if *path == link);
            assert!(is_reported, "{dry_run} {permissions}: {refused:?}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        }
        assert_eq!(fixture.names(), ["f.jsonl", "link.jsonl"]);
        fs::remove_file(&link).unwrap();
    }
}

#[test]
fn the_rest_of_a_line_does_not_become_an_entry() {
    let (a, b) = (user("a", ""), user("b", "a"));
    mends(&format!("{a}\n{b}null\n"), "fused", "a<- b<a", &format!("{a}\n{b}\nnull\n"), "empty-value");
    for (before, after) in [("{\"x\":1}", ""), ("", "5")] {
        let fixture = Fixture::new();
        let path = fixture.file(format!("{HEADER}\n{a}\n{before}{b}{after}\n"));
        fixture.repair(&path);
        let lines = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let marks: Vec<&str> = lines.lines().filter(|line| line.contains("sessile:incomplete")).collect();
        assert_eq!((marks.len(), lines.lines().count()), (1, 4), "{lines}");
        assert!(lines.lines().any(|line| line == b));
        assert_eq!(codes(&fixture.verify(&path).findings), "incomplete");
    }
}

/// The name of a file whose session has this id.
const NAMED: &str = "2025-01-01T00-00-00-000Z_0193f5a2-aaaa-7000-8000-000000000001.jsonl";

/// A file without its header in a directory of pi's store.
fn headerless(fixture: &Fixture, name: &str, directory: &str, content: &str) -> PathBuf {
    let path = fixture.dir.path().join(".pi/agent/sessions").join(directory).join(name);
    write_private(&path, content.as_bytes());
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn header_of(path: &Path) -> serde_json::Value {
    serde_json::from_str(fs::read_to_string(path).unwrap().lines().next().unwrap()).unwrap()
}

#[test]
fn a_lost_header_is_rebuilt() {
    let fixture = Fixture::new();
    let (a, b) = (user("a", ""), user("b", "a"));
    for torn in ["{\"type\":\"session\",\"ver\n", "", "\0\0\0\0\n", "x\"}\n", "{\"type\":\"session\",\"ver"] {
        let content = format!("{torn}{a}\n{b}\n");
        let path = headerless(&fixture, NAMED, "--home-me-proj--", &content);
        let report = fixture.verify(&path);
        assert_eq!(report.findings[0].code, Code::NoHeader, "{torn}: {report:?}");
        assert!(matches!(report.findings[0].remedy, Remedy::Repair(_)));
        let repair = fixture.repair(&path);
        assert_eq!(fs::read(repair.original.unwrap()).unwrap(), content.as_bytes());
        assert_eq!(codes(&repair.left), "rebuilt-header", "{torn}");
        assert_eq!(fixture.verify(&path).findings, repair.left);
        assert!(fixture.verify(&path).is_sound());
        let header = header_of(&path);
        assert_eq!(header["id"], "0193f5a2-aaaa-7000-8000-000000000001");
        assert_eq!(
            (&header["cwd"], &header["timestamp"]),
            (&"/home/me/proj".into(), &"2025-01-01T00:00:01.000Z".into())
        );
        assert_eq!(header["sessile:rebuilt"]["id"], "the file name");
        let pieces = header["sessile:rebuilt"]["pieces"].to_string();
        let pieces = sessile::json::Json::parse(&pieces).unwrap();
        let kept = sessile::format::incomplete::bytes_of(pieces.raw()).unwrap_or_default();
        assert_eq!(kept, torn.trim_end_matches('\n').as_bytes(), "{torn}");
        assert_eq!(fixture.shown(&path), "a<- b<a");
        assert_eq!(fixture.repair(&path).changes, []);
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}

#[test]
fn a_header_is_rebuilt_from_known_values() {
    let fixture = Fixture::new();
    let a = user("a", "");
    // The entries contain the path, whose encoded name is ambiguous.
    let knowing = a.replace("\"content\":\"a\"", "\"content\":\"look at /home/me/my-proj/src/x.rs\"");
    let path = headerless(&fixture, "x.jsonl", "--home-me-my-proj--", &format!("torn\n{knowing}\n"));
    fixture.repair(&path);
    let header = header_of(&path);
    assert_eq!(
        (&header["cwd"], &header["sessile:rebuilt"]["cwd"]),
        (&"/home/me/my-proj".into(), &"the entries".into())
    );
    assert_eq!(header["sessile:rebuilt"]["id"], "nowhere (it is new)");
    // Another session in the directory also has the path.
    write_private(&path, format!("{}\n{a}\n", HEADER.replace("/proj", "/home/me/my-proj")).as_bytes());
    let other = headerless(&fixture, "y.jsonl", "--home-me-my-proj--", &format!("{a}\n"));
    fixture.repair(&other);
    assert_eq!(header_of(&other)["cwd"], "/home/me/my-proj");
    // The remains of the header take precedence over everything else, except for the id in the file name.
    let torn =
        r#"{"type":"session","version":3,"id":"old","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/else","paren"#;
    let path = headerless(&fixture, "z.jsonl", "--home-me-my-proj--", &format!("{torn}\n{a}\n"));
    fixture.repair(&path);
    let header = header_of(&path);
    assert_eq!((&header["id"], &header["cwd"]), (&"old".into(), &"/else".into()));
    assert_eq!(header["timestamp"], "2024-01-01T00:00:00.000Z");
    // A header further down is used as the header.
    let path = headerless(&fixture, "w.jsonl", "--home-me-my-proj--", &format!("{a}\n{HEADER}\n"));
    let repair = fixture.repair(&path);
    assert_eq!(codes(&repair.left), "extra-header");
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEADER}\n{a}\n{HEADER}\n"));
}

#[test]
fn entries_without_a_header_are_distinguished_from_other_files() {
    let fixture = Fixture::new();
    let path = fixture.file(format!("{}\n{}\n", user("b", "a"), user("c", "b")));
    let found = fixture.sessions.headerless(&path).unwrap().unwrap();
    assert_eq!((found.n_entries, found.first_id, found.first_parent), (2, "b".into(), Some("a".into())));
    let path = fixture.file(format!("{HEADER}\n{}\n", user("a", "")));
    assert_eq!(fixture.sessions.headerless(&path).unwrap(), None);
    let path = fixture.file("{\"log\":1}\n{\"log\":2}\n");
    assert_eq!(fixture.sessions.headerless(&path).unwrap(), None);
}

#[test]
fn a_list_names_the_files_it_skips() {
    let fixture = Fixture::new();
    let a = user("a", "");
    let torn = headerless(&fixture, "t.jsonl", "--p--", &format!("{{\"type\":\"sess\n{a}\n"));
    headerless(&fixture, "e.jsonl", "--p--", "");
    headerless(&fixture, "n.jsonl", "--p--", "notes\n");
    headerless(&fixture, "s.jsonl", "--p--", &format!("{HEADER}\n{a}\n"));
    for _ in 0..2 {
        let mut skipped = Vec::new();
        let mut options =
            sessile::list::ListOptions { skipped: Some(&mut skipped), ..sessile::list::ListOptions::default() };
        assert_eq!(fixture.sessions.list_all_with(&mut options).unwrap().len(), 1);
        skipped.sort();
        let explained: Vec<_> = skipped.iter().map(|path| fixture.sessions.explain_skipped(path)).collect();
        let reported: Vec<_> = explained.iter().map(|file| (file.reason.as_str(), file.is_repairable)).collect();
        assert_eq!(
            reported,
            [
                ("it is empty", false),
                ("it has no header and does not consist of entries", false),
                ("its header is missing; 1 entry can be read", true),
            ]
        );
        assert!(explained[2].repair.starts_with("rebuilds the header"), "{explained:?}");
    }
    fixture.repair(&torn);
    let mut options = sessile::list::ListOptions::default();
    assert_eq!(fixture.sessions.list_all_with(&mut options).unwrap().len(), 2);
}

/// Sessions in fragments.
fn ruins() -> impl Strategy<Value = String> {
    let id = || prop_oneof![Just("a"), Just("b"), Just("c"), Just("d"), Just("lost")];
    let record = (id(), id()).prop_map(|(id, parent)| user(id, parent));
    let torn = (record.clone(), 0usize..150).prop_map(|(record, cut)| record.get(..cut).unwrap_or(&record).to_owned());
    let broken = record.clone().prop_map(|record| record.replace("content\":\"", "content\":\"x\ny"));
    let piece = prop_oneof![
        4 => record,
        2 => torn,
        1 => broken,
        1 => Just(HEADER.to_owned()),
        1 => Just("\0\0".to_owned()),
        1 => r#"[{}\[\]",:x 1\r]{1,3}"#,
        1 => Just("{\"type\":\"".to_owned()),
        4 => Just("\n".to_owned()),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| format!("{HEADER}\n{}", pieces.concat()))
}

/// The second record of the last line becomes visible only after the first one is repaired.
#[test]
fn damage_revealed_by_a_repair_is_repaired_too() {
    let fixture = Fixture::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#,
        r#"{"type":"message","id":"lost","parentId":"a","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"lost","timestamp":"#,
        r#"{"type":"message","id":"c","parentId":"a","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"x"#,
        r#"yc","timestamp":1}}{"type":"message","id":"a",{"type":"message","id":"c","parentId":"c","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"c","timestamp":1}}"#,
    ];
    let content = lines.join("\n");
    let path = fixture.file(&content);
    let changes = fixture.repair(&path).changes;
    assert!(changes.len() > 1);
    for change in &changes {
        let before = content.as_bytes().iter().take(usize::try_from(change.offset).unwrap());
        assert_eq!(change.line, before.filter(|byte| **byte == b'\n').count() as u64 + 1, "{change:?}");
    }
    let again = fixture.repair(&path);
    assert_eq!((again.changes, again.original), (Vec::new(), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_damage_is_repaired_in_one_run(content in ruins()) {
        let fixture = Fixture::new();
        let path = fixture.file(&content);
        let before = fixture.verify(&path);
        let repair = fixture.repair(&path);
        let promised = before.findings.iter().any(|finding| matches!(finding.remedy, Remedy::Repair(_)));
        prop_assert_eq!(promised, !repair.changes.is_empty());
        let after = fs::read(&path).unwrap();
        let again = fixture.repair(&path);
        prop_assert_eq!((again.changes, again.original), (Vec::new(), None));
        prop_assert_eq!(fs::read(&path).unwrap(), after);
    }
}
