//! Redacted copies in a store: lists mark them with and without caches, imports keep the marks, and a scan assigns its
//! findings to entries.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs;
use std::path::{Path, PathBuf};

use sessile::directory::default_session_dir;
use sessile::import::ImportOptions;
use sessile::redact::{Level, RedactOptions, Tier};
use sessile::testing::IsolatedSystem;
use sessile::{Cancel, SessionError, Sessions};
use tempfile::TempDir;

/// Made up, in the format of a provider.
const KEY: &str = "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";

struct Store {
    dir: TempDir,
    sessions: Sessions,
    directory: PathBuf,
}

impl Store {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let environment = IsolatedSystem::in_home(dir.path());
        let directory = default_session_dir(&environment, Path::new("/proj"));
        fs::create_dir_all(&directory).unwrap();
        Self { sessions: Sessions::new(environment).caching(Some(dir.path().join("cache"))), directory, dir }
    }

    fn write(&self, lines: &[String]) -> PathBuf {
        let path = self.directory.join("2025-01-01T00-00-00-000Z_s.jsonl");
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }
}

fn header(cwd: &str) -> String {
    format!(r#"{{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#)
}

fn user(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
    )
}

fn planted() -> Vec<String> {
    let name =
        r#"{"type":"session_info","id":"n","parentId":"b","timestamp":"2025-01-01T00:00:02.000Z","name":"Tides"}"#;
    vec![header("/proj"), user("a", "null", "hello"), user("b", "\"a\"", &format!("use {KEY}")), name.to_owned()]
}

/// Whether the list marks the session at a path.
fn is_marked(sessions: &Sessions, path: &Path) -> bool {
    let list = sessions.list_all().unwrap();
    list.iter().find(|info| info.path == path).unwrap().is_redacted
}

#[test]
fn lists_mark_redacted_copies_with_and_without_caches() {
    let store = Store::new();
    let source = store.write(&planted());
    let copy = store.directory.join("copy.jsonl");
    store.sessions.export_redacted(&source, &RedactOptions::default(), &copy, false).unwrap();
    let scanning = store.sessions.clone().caching(None);
    // The first list fills the caches, and the second one reads them.
    for sessions in [&scanning, &store.sessions, &store.sessions] {
        assert!(is_marked(sessions, &copy) && !is_marked(sessions, &source));
    }
    fs::remove_dir_all(store.dir.path().join("cache")).unwrap();
    assert!(is_marked(&store.sessions, &copy));
    // A copy that grows stays one.
    let mut session = store.sessions.open(&copy).unwrap();
    session.append_user_message("go on").unwrap();
    drop(session);
    assert!(is_marked(&store.sessions, &copy) && is_marked(&scanning, &copy));
}

#[test]
fn an_imported_copy_keeps_its_marks_and_is_not_the_original() {
    let (store, other) = (Store::new(), Store::new());
    let source = store.write(&planted());
    let outside = store.dir.path().join("copy.jsonl");
    let options = RedactOptions { level: Level::Paths, ..RedactOptions::default() };
    let made = store.sessions.export_redacted(&source, &options, &outside, false).unwrap();
    let bytes = fs::read(&outside).unwrap();
    for (sessions, new_ids) in [(&store.sessions, false), (&other.sessions, false), (&store.sessions, true)] {
        let importing = ImportOptions { new_ids, cwd: Some("/proj".into()), ..ImportOptions::default() };
        let imported = sessions.import(std::slice::from_ref(&outside), &importing).unwrap().remove(0);
        assert_eq!(imported.id == made.id, !new_ids);
        assert_ne!(imported.id.as_str(), "s", "the id of the original is not taken");
        assert_ne!(imported.path, source);
        if !new_ids {
            assert_eq!(fs::read(&imported.path).unwrap(), bytes);
        }
        let listed = sessions.list_all().unwrap();
        let row = listed.iter().find(|info| info.path == imported.path).unwrap();
        assert!(row.is_redacted);
        assert!(row.name.as_ref().unwrap().to_str().ends_with("(redacted)"), "{:?}", row.name);
        assert_eq!(row.parent_session_path, None);
        let details = sessions.details(&imported.path, &listed).unwrap();
        assert_eq!(details.redaction.unwrap().level.as_deref(), Some("paths"));
        assert_eq!(details.copies.original_of(&imported.path), None, "it is not a copy of the same session");
        let text = fs::read_to_string(&imported.path).unwrap();
        assert!(text.trim_end().lines().last().unwrap().contains("sessile.redaction"));
    }
    // The original keeps its id for itself, and a second import of the same copy is refused.
    assert_eq!(store.sessions.open(&source).unwrap().session_id().as_str(), "s");
    assert!(!is_marked(&store.sessions, &source));
    let again = store.sessions.import(&[outside], &ImportOptions::default());
    assert!(matches!(again, Err(SessionError::SessionExists { .. })), "{again:?}");
}

#[test]
fn findings_belong_to_entries() {
    let store = Store::new();
    let key = |suffix: char| KEY.replace('x', &suffix.to_string());
    let lines = [
        header(&format!("/proj/{}", key('h'))),
        user("a", "null", "hello"),
        String::new(),
        format!("torn {}", key('t')),
        user("b", "\"a\"", &format!("use {} and {}", key('1'), key('2'))),
        user("c", "\"b\"", "nothing"),
        user("b", "\"c\"", &format!("the same id and {}", key('3'))),
    ];
    let path = store.write(&lines);
    let session = store.sessions.open(&path).unwrap();
    let report = store.sessions.scan_session(&path, &Cancel::default()).unwrap();
    let found = report.clone().into_entries(&session);
    let outline = session.outline();
    let places: Vec<(u64, usize)> =
        found.by_row.iter().map(|(row, findings)| (outline.line_number(*row), findings.len())).collect();
    assert_eq!(places, [(5, 2), (7, 1)]);
    assert_eq!(found.elsewhere.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 4]);
    assert_eq!((found.count(Tier::Certain), found.count(Tier::Likely)), (5, 0));
    let shown = format!("{found:?}");
    assert!(!shown.contains("7Kq2vTz9"), "{shown}");

    // Entries that came after the session was opened are elsewhere, and so are those of another file.
    fs::write(&path, lines.join("\n") + "\n" + &user("d", "\"b\"", &key('4')) + "\n").unwrap();
    let grown = store.sessions.scan_session(&path, &Cancel::default()).unwrap().into_entries(&session);
    assert_eq!((grown.by_row.len(), grown.elsewhere.len()), (2, 3));
    let shifted = [lines[0].clone(), user("z", "null", "new"), user("y", "null", "new"), user("x", "null", &key('5'))];
    fs::write(&path, shifted.join("\n") + "\n").unwrap();
    let other = store.sessions.scan_session(&path, &Cancel::default()).unwrap().into_entries(&session);
    assert!(other.by_row.is_empty(), "{other:?}");

    let cancel = Cancel::default();
    cancel.cancel();
    assert!(matches!(store.sessions.scan_session(&path, &cancel), Err(SessionError::Cancelled)));
}

#[test]
fn a_scan_uses_the_settings_of_now_and_fails_with_bad_ones() {
    let store = Store::new();
    let path = store.write(&[header("/proj"), user("a", "null", "number E-123456")]);
    let config = sessile::settings::Settings::path(store.sessions.environment()).unwrap();
    let scan = || store.sessions.scan_session(&path, &Cancel::default());
    assert_eq!(scan().unwrap().findings.len(), 0);
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "[secrets.rules]\nemployee = 'E-(?<secret>[0-9]{6})'\n").unwrap();
    assert_eq!(scan().unwrap().findings.len(), 1);
    for bad in ["[secrets.rules]\nbad = '('\n", "not toml"] {
        fs::write(&config, bad).unwrap();
        assert!(matches!(scan(), Err(SessionError::Redact(_))), "{bad}");
    }
}
