//! Every known kind of damage: what is found, what repair makes of it, and that it does so once.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at their own files")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sessile::{Code, Finding, Remedy, Repair, RepairOptions, Report, SessionError, Sessions, StoreError};
use sessile_testkit::Replay;
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

struct Place {
    dir: TempDir,
    sessions: Sessions,
}

impl Place {
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

    /// The entries that a session shows, as `id<parent`.
    fn shown(&self, path: &Path) -> String {
        let session = self.sessions.open(path, None, None).unwrap();
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

fn codes(findings: &[Finding]) -> String {
    findings.iter().map(|finding| finding.code.word()).collect::<Vec<_>>().join(" ")
}

/// Repairs lines behind a header, and expects these findings, these entries, these lines, and what is left.
#[track_caller]
fn mends(lines: &str, found: &str, shown: &str, expected: &str, left: &str) {
    let place = Place::new();
    let before = format!("{HEADER}\n{lines}");
    let path = place.file(&before);
    let report = place.verify(&path);
    assert_eq!(codes(&report.findings), found, "{:#?}", report.findings);
    for finding in &report.findings {
        let line: u64 = 1 + before.as_bytes()[..usize::try_from(finding.offset).unwrap()]
            .iter()
            .map(|it| u64::from(*it == b'\n'))
            .sum::<u64>();
        assert!(finding.code == Code::Unterminated || line == finding.line, "{finding:?} is on line {line}");
    }
    let dry = place.sessions.repair(&path, RepairOptions { dry_run: true, permissions: false }).unwrap();
    assert_eq!((fs::read(&path).unwrap(), place.names()), (before.clone().into_bytes(), vec!["f.jsonl".to_owned()]));
    let repair = place.repair(&path);
    assert_eq!(Repair { original: None, dry_run: true, ..repair.clone() }, dry);
    let after = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    assert_eq!(after, format!("{HEADER}\n{expected}"));
    assert_eq!(place.shown(&path), shown);
    assert_eq!(codes(&repair.left), left);
    assert_eq!(place.verify(&path).findings, repair.left);
    let is_repaired = before != after;
    assert_eq!(repair.original.is_some(), is_repaired);
    assert_eq!(repair.changes.is_empty(), !is_repaired);
    if let Some(original) = &repair.original {
        assert_eq!(fs::read(original).unwrap(), before.as_bytes());
        assert!(original.extension().unwrap().to_str().unwrap().starts_with("orig-"));
    }
    // Once more: nothing.
    let names = place.names();
    let again = place.repair(&path);
    assert_eq!((again.changes, again.original), (Vec::new(), None));
    assert_eq!((fs::read(&path).unwrap(), place.names()), (after.into_bytes(), names));
}

/// Findings that repair leaves, in a file that it does not touch.
#[track_caller]
fn leaves(lines: &str, found: &str) {
    let place = Place::new();
    let path = place.file(format!("{HEADER}\n{lines}"));
    let shown = place.shown(&path);
    let report = place.verify(&path);
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
fn torn_lines_stay_and_what_they_cut_off_is_hung_up_again() {
    let (a, c, torn) = (user("a", ""), user("c", "b"), r#"{"type":"message","id":"b","par"#);
    mends(
        &format!("{a}\n{torn}\n{c}\n"),
        "torn missing-parent",
        "a<- c<a",
        &format!("{a}\n{torn}\n{}\n", c.replace("\"parentId\":\"b\"", "\"parentId\":\"a\"")),
        "torn",
    );
    leaves(&format!("{a}\n{torn}"), "torn unterminated");
    leaves(&format!("{a}\nwhat is this\n"), "malformed");
}

#[test]
fn records_glued_together_come_back() {
    let (a, b, c, d) = (user("a", ""), user("b", "a"), user("c", "b"), user("d", "c"));
    let torn = r#"{"type":"message","id":"t","message":{"content":[{"type":"text","text":"x"#;
    let shown = "a<- b<a c<b d<c";
    mends(&format!("{a}{b}\n{c}\n{d}\n"), "fused missing-parent", shown, &format!("{a}\n{b}\n{c}\n{d}\n"), "");
    mends(&format!("{a}{b}{c}\n{d}\n"), "fused missing-parent", shown, &format!("{a}\n{b}\n{c}\n{d}\n"), "");
    mends(
        &format!("{a}\n{torn}{b}\n{c}\n{d}"),
        "fused missing-parent unterminated",
        shown,
        &format!("{a}\n{torn}\n{b}\n{c}\n{d}"),
        "torn unterminated",
    );
    mends(
        &format!("{a}\n{b}{torn}\n{c}\n{d}\n"),
        "fused missing-parent",
        shown,
        &format!("{a}\n{b}\n{torn}\n{c}\n{d}\n"),
        "torn",
    );
    mends(
        &format!("{a}\n{torn}{b}{c}{torn}\n{d}\n"),
        "fused missing-parent",
        shown,
        &format!("{a}\n{torn}\n{b}\n{c}\n{torn}\n{d}\n"),
        "torn torn",
    );
    // The last line of the file is where the conversation goes on.
    mends(&format!("{a}\n{b}\n{c}\n{torn}{d}\n"), "fused", shown, &format!("{a}\n{b}\n{c}\n{torn}\n{d}\n"), "torn");
}

#[test]
fn nul_bytes_are_taken_out_of_records_alone() {
    let (a, b, c) = (user("a", ""), user("b", "a"), user("c", "b"));
    let shown = "a<- b<a c<b";
    let inside = b.replace("content\":\"", "content\":\"\0\0\0");
    mends(&format!("{a}\n{inside}\n{c}\n"), "nul-bytes missing-parent", shown, &format!("{a}\n{b}\n{c}\n"), "");
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

#[test]
fn records_with_raw_newlines_become_one_line() {
    let (a, c) = (user("a", ""), user("c", "b"));
    let broken = user("b", "a").replace("content\":\"b", "content\":\"one\n\n two");
    let mended = broken.replace('\n', "\\n");
    mends(
        &format!("{a}\n{broken}\n{c}\n"),
        "raw-newline missing-parent",
        "a<- b<a c<b",
        &format!("{a}\n{mended}\n{c}\n"),
        "",
    );
    leaves(
        &format!("{a}\n{}\n{c}\n", broken.split('\n').next().unwrap())
            .replace("\"parentId\":\"b\"", "\"parentId\":\"a\""),
        "torn",
    );
}

#[test]
fn orphans_are_hung_on_what_comes_back() {
    // The parent of c is salvaged; that of b, which is salvaged itself, is nowhere.
    let (a, b, c) = (user("a", ""), user("b", "gone"), user("c", "b"));
    let hung = b.replace("\"gone\"", "\"a\"");
    mends(
        &format!("{a}\ntorn{b}\n{c}\n"),
        "fused missing-parent",
        "a<- b<a c<b",
        &format!("{a}\ntorn\n{hung}\n{c}\n"),
        "malformed",
    );
    mends(&format!("{a}\n{b}\n{c}\n"), "missing-parent", "a<- b<a c<b", &format!("{a}\n{hung}\n{c}\n"), "");
    leaves(&format!("{b}\n{c}\n"), "missing-parent");
}

#[test]
fn what_the_file_has_already_does_not_come_back_twice() {
    let (a, b) = (user("a", ""), user("b", "a"));
    leaves(&format!("{a}\ntorn{b}\n{b}\n"), "fused");
    mends(&format!("{a}\ntorn{b}{b}\n"), "fused", "a<- b<a", &format!("{a}\ntorn\n{b}\n\n"), "malformed");
    let c = user("c", "b");
    mends(&format!("{a}\n{b}{c}\n{b}\n"), "fused", "a<- c<b b<a", &format!("{a}\n\n{c}\n{b}\n"), "");
    // Another content under the same id must not come to light.
    let other = b.replace("\"content\":\"b\"", "\"content\":\"other\"");
    leaves(&format!("{a}\n{b}\n{other}{c}\n"), "fused");
}

#[test]
fn what_cannot_be_decided_is_told_and_left() {
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
    let place = Place::new();
    let (a, b) = (user("a", ""), user("b", "lost"));
    let check = |content: String, found: &str| {
        let path = place.file(&content);
        let report = place.verify(&path);
        assert_eq!(codes(&report.findings), found, "{content}");
        place.repair(&path);
        String::from_utf8(fs::read(&path).unwrap()).unwrap()
    };
    let newer = format!("{}\n{a}\ntorn{b}\n{}\n", HEADER.replace(":3,", ":4,"), user("c", "lost"));
    assert_eq!(check(newer.clone(), "newer-version fused missing-parent"), newer);
    let odd = format!("{}\n{a}\n", HEADER.replace(":3,", ":\"abc\","));
    assert_eq!(check(odd.clone(), "odd-version"), odd);
    let old = format!("{}\n{a}{a}\n", HEADER.replace("\"version\":3,", ""));
    assert_eq!(check(old.clone(), "older-version fused"), old);
    let second = format!("{}\n{a}\ntorn{b}\n", HEADER.replace(":3,", ":2,"));
    let mended = second.replace("torn{", "torn\n{").replace("\"lost\"", "\"a\"");
    assert_eq!(check(second, "older-version fused"), mended);
    assert_eq!(check(format!("\u{feff}{HEADER}\n{a}\n"), "byte-order-mark"), format!("{HEADER}\n{a}\n"));
    // A header that can be found again, and one that cannot.
    assert_eq!(check(format!("\0\0{HEADER}\n{a}\n"), "nul-bytes no-header"), format!("\0\0\n{HEADER}\n{a}\n"));
    assert_eq!(
        check(format!("{HEADER}{a}\n{b}\n"), "fused no-header missing-parent"),
        format!("{HEADER}\n{a}\n{b}\n").replace("\"lost\"", "\"a\"")
    );
    // Nothing may come to stand before the header.
    let early = format!("torn{a}\n{HEADER}\n");
    assert_eq!(check(early.clone(), "fused"), early);
    for content in ["", "\n", "hello\n", &a, "\0\0\0"] {
        let path = place.file(content);
        assert!(matches!(place.sessions.verify(&path), Err(SessionError::NotASession { .. })), "{content:?}");
        assert!(matches!(
            place.sessions.repair(&path, RepairOptions { dry_run: false, permissions: true }),
            Err(SessionError::NotASession { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), content.as_bytes());
    }
}

#[test]
fn permissions_change_only_when_asked() {
    let place = Place::new();
    let path = place.dir.path().join("sessions/x.jsonl");
    write_private(&path, format!("{HEADER}\n{}{}\n", user("a", ""), user("b", "a")).as_bytes());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let dir = path.parent().unwrap().to_path_buf();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(codes(&place.verify(&path).findings), "permissions fused");
    let options = |dry_run| RepairOptions { dry_run, permissions: true };
    let dry = place.sessions.repair(&path, options(true)).unwrap();
    assert_eq!((mode(&path), mode(&dir), dry.changes.len()), (0o644, 0o755, 3));
    let done = place.sessions.repair(&path, options(false)).unwrap();
    assert_eq!((mode(&path), mode(&dir), mode(&done.original.unwrap())), (0o600, 0o700, 0o600));
    assert_eq!(place.sessions.repair(&path, options(false)).unwrap().changes, []);
    // A directory that holds other things is not a session's own.
    fs::write(dir.join("notes.txt"), "").unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(codes(&place.verify(&path).findings), "");
}

#[test]
fn namesakes_are_told() {
    let place = Place::new();
    let dir = place.dir.path().join(".pi/agent/sessions/--a-b-c--");
    for (name, cwd) in [("1.jsonl", "/a/b-c"), ("2.jsonl", "/a-b/c"), ("3.jsonl", "/elsewhere")] {
        write_private(&dir.join(name), format!("{}\n{}\n", HEADER.replace("/proj", cwd), user("a", "")).as_bytes());
    }
    write_private(&dir.join("4.jsonl"), b"no session");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let mut seen = Vec::new();
    place
        .sessions
        .verify_all(None, &sessile::Cancel::default(), &mut |verified| {
            let told = verified.report.map_or_else(|error| error.to_string(), |report| codes(&report.findings));
            seen.push((verified.path.file_name().unwrap().to_str().unwrap().to_owned(), told));
        })
        .unwrap();
    assert_eq!(seen[0], ("1.jsonl".to_owned(), "directory-collision".to_owned()));
    assert_eq!(seen[1].1, "directory-collision");
    assert_eq!(seen[2].1, "");
    assert!(seen[3].1.contains("is not a session"));
}

#[test]
fn what_is_damaged_is_seen_only_after_repair() {
    let place = Place::new();
    let path = place.file(format!("{HEADER}\n{}\ntorn{}\n", user("a", ""), user("b", "a")));
    assert_eq!(place.shown(&path), "a<-");
    let hidden = place.sessions.hidden_records(&path).unwrap();
    assert_eq!((hidden.len(), hidden[0].line, hidden[0].record.to_text().as_ref()), (1, 3, user("b", "a").as_str()));
    place.repair(&path);
    assert_eq!(place.shown(&path), "a<- b<a");
    assert_eq!(place.sessions.hidden_records(&path).unwrap(), []);
}

#[test]
fn links_are_not_repaired() {
    let place = Place::new();
    let path = place.file(format!("{HEADER}\n{}{}\n", user("a", ""), user("b", "a")));
    let link = place.dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(codes(&place.verify(&link).findings), "fused");
    let before = fs::read(&path).unwrap();
    assert!(place.sessions.repair(&link, RepairOptions::default()).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A dry run has to say what would happen, a link to a sound session is still a link, and asking about either must
/// leave no sidecars beside it.
#[test]
fn links_are_refused_before_anything_else_is_done() {
    let place = Place::new();
    let (a, b) = (user("a", ""), user("b", "a"));
    let link = place.dir.path().join("link.jsonl");
    for lines in [format!("{a}{b}\n"), format!("{a}\n{b}\n")] {
        let path = place.file(format!("{HEADER}\n{lines}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for (dry_run, permissions) in [(true, false), (true, true), (false, false), (false, true)] {
            let refused = place.sessions.repair(&link, RepairOptions { dry_run, permissions });
            let is_told =
                matches!(&refused, Err(SessionError::Store(StoreError::NotRegular { path })) if *path == link);
            assert!(is_told, "{dry_run} {permissions}: {refused:?}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        }
        assert_eq!(place.names(), ["f.jsonl", "link.jsonl"]);
        fs::remove_file(&link).unwrap();
    }
}

#[test]
fn what_is_left_of_a_line_does_not_become_an_entry() {
    let (a, b) = (user("a", ""), user("b", "a"));
    leaves(&format!("{a}\n{{\"x\":1}}{b}\n"), "fused");
    leaves(&format!("{a}\n{b}5\n"), "fused");
    mends(&format!("{a}\n{b}null\n"), "fused", "a<- b<a", &format!("{a}\n{b}\nnull\n"), "empty-value");
}

/// Sessions in pieces.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_ruin_is_repaired_once(content in ruins()) {
        let place = Place::new();
        let path = place.file(&content);
        let before = place.verify(&path);
        let repair = place.repair(&path);
        let promised = before.findings.iter().any(|finding| matches!(finding.remedy, Remedy::Repair(_)));
        prop_assert_eq!(promised, !repair.changes.is_empty());
        let after = fs::read(&path).unwrap();
        let again = place.repair(&path);
        prop_assert_eq!((again.changes, again.original), (Vec::new(), None));
        prop_assert_eq!(fs::read(&path).unwrap(), after);
    }
}
