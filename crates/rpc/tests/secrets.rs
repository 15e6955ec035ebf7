//! The commands `scan_secrets` and `export_redacted`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sessile::Sessions;
use sessile::testing::IsolatedSystem;
use sessile_rpc::{Engine, Options, Start};

/// A made-up key in the format of a provider.
fn key() -> String {
    ["gsk_", "Qm3vX8bT1zR6wK9pL4nD7cF2hJ5s", "Y0gB3tV8xM1qZ6rW9kP4nC7d"].concat()
}

/// A home with a session that has a certain and a likely secret.
struct Stage {
    home: tempfile::TempDir,
    session: PathBuf,
}

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Stage {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let session = home.path().join("s.jsonl");
        let lines = [
            json!({"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": home.path()}),
            json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2025-01-01T00:00:01.000Z",
                "message": {"role": "user", "content": format!("{} and API_PASSWORD=k9f3Lm2xQw7Z", key()), "timestamp": 1}}),
        ];
        fs::write(&session, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        Self { home, session }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Sends a request about the session, and returns the answer. No answer has the key.
    fn ask(&self, request: Value) -> Value {
        self.ask_about(&self.session, request)
    }

    fn ask_about(&self, session: &Path, mut request: Value) -> Value {
        request["sessionPath"] = session.to_str().unwrap().into();
        self.ask_as_is(&request)
    }

    fn ask_as_is(&self, request: &Value) -> Value {
        let sessions = Sessions::new(IsolatedSystem::in_home(self.home.path()));
        let options = Options { cwd: self.home.path().to_path_buf(), ..Options::new(sessions) };
        let engine = Engine::start(options, &Start::Memory, None).unwrap();
        let captured = Captured::default();
        engine.serve(format!("{request}\n").as_bytes(), captured.clone());
        let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains(&key()) && !text.contains("k9f3Lm2xQw7Z"), "{text}");
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.into_iter().find(|record| record["type"] == "response").unwrap()
    }

    /// Sends a request that must fail, and returns the message.
    fn refused(&self, request: Value) -> String {
        let answer = self.ask(request);
        assert_eq!(answer["success"], false, "{answer}");
        answer["error"].as_str().unwrap().to_owned()
    }

    /// The names in the home, without those of the state directory.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.home.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

#[test]
fn a_scan_reports_places_and_no_values() {
    let stage = Stage::new();
    let answer = stage.ask(json!({"type": "scan_secrets"}));
    assert_eq!(answer["success"], true, "{answer}");
    let findings = answer["data"]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings.iter().all(|finding| finding["entryId"] == "a" && finding["pointer"] == "/message/content"));
    let certain = stage.ask(json!({"type": "scan_secrets", "certain": true}));
    let rules: Vec<&Value> = certain["data"]["findings"].as_array().unwrap().iter().map(|it| &it["rule"]).collect();
    assert_eq!(rules, ["groq-key"]);
    let missing = stage.ask_about(&stage.path("none.jsonl"), json!({"type": "scan_secrets"}));
    assert_eq!(missing["success"], false, "{missing}");
    let unknown = stage.ask_as_is(&json!({"type": "scan_secrets", "scope": "galaxy"}));
    assert_eq!(unknown["success"], false, "{unknown}");
    let unsaved = stage.ask_as_is(&json!({"type": "scan_secrets"}));
    assert!(unsaved["error"].as_str().unwrap().contains("has not been saved yet"), "{unsaved}");
}

#[test]
fn copies_of_every_level_are_written() {
    let stage = Stage::new();
    let before = fs::read(&stage.session).unwrap();
    for level in ["secrets", "paths", "pii", "outputs", "skeleton"] {
        let target = stage.path(&format!("{level}.jsonl"));
        let answer = stage.ask(json!({"type": "export_redacted", "level": level, "outputPath": target}));
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!((&answer["data"]["level"], &answer["data"]["path"]), (&json!(level), &json!(target)));
        let copy = fs::read_to_string(&target).unwrap();
        assert!(!copy.contains(&key()) && !copy.contains("k9f3Lm2xQw7Z"), "{copy}");
        assert!(copy.lines().next().unwrap().contains(&format!("\"level\":\"{level}\"")));
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // The level is `secrets` unless told, and a relative path is below the server's directory.
    let answer = stage.ask(json!({"type": "export_redacted", "outputPath": "r.jsonl", "also": ["API_PASSWORD"]}));
    assert_eq!(answer["data"]["level"], "secrets", "{answer}");
    assert!(fs::read_to_string(stage.path("r.jsonl")).unwrap().contains("and word1="));
    assert_eq!(fs::read(&stage.session).unwrap(), before);
}

#[test]
fn nothing_is_replaced_and_errors_leave_nothing() {
    let stage = Stage::new();
    fs::write(stage.path("taken.jsonl"), "mine").unwrap();
    symlink(stage.path("nowhere.jsonl"), stage.path("link.jsonl")).unwrap();
    let names = stage.names();
    let export = |target: &str| json!({"type": "export_redacted", "outputPath": target});
    let refused = stage.refused(export("taken.jsonl"));
    assert!(refused.contains("taken.jsonl"), "{refused}");
    assert_eq!(fs::read(stage.path("taken.jsonl")).unwrap(), b"mine");
    stage.refused(export("link.jsonl"));
    stage.refused(export("s.jsonl"));
    stage.refused(export("no/such/folder.jsonl"));
    let level = stage.refused(json!({"type": "export_redacted", "outputPath": "x.jsonl", "level": "everything"}));
    assert!(level.contains("level must be one of secrets, paths, pii, outputs, skeleton"), "{level}");
    stage.refused(json!({"type": "export_redacted"}));
    assert_eq!(stage.names(), names);
    // An id that is a secret stays in a copy, so there is none.
    let line = json!({"type": "message", "id": key(), "parentId": "a", "message": {"role": "user", "content": "x"}});
    fs::write(&stage.session, [fs::read_to_string(&stage.session).unwrap(), format!("{line}\n")].concat()).unwrap();
    let refused = stage.refused(export("x.jsonl"));
    assert!(refused.contains("s.jsonl, line 3"), "{refused}");
    assert_eq!(stage.names(), names);
    let other = stage.path("other.jsonl");
    fs::write(&other, "{}\n").unwrap();
    let answer = stage.ask_about(&other, export("x.jsonl"));
    assert_eq!(answer["success"], false, "{answer}");
    assert!(!stage.path("x.jsonl").exists());
}
