//! A panic during a scan or a copy is an error, and leaves nothing.

use std::path::Path;

use crate::stage::Stage;
use sessile::SessionError;
use sessile::os::Os;
use sessile::redact::{RedactError, RedactOptions, ScanOptions};
use sessile::testing::HOME;

/// A session that is long enough for several reports of progress in each pass.
fn long_session() -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/x"}"#;
    let line = |n: usize| {
        let text = "some words ".repeat(60_000);
        format!(r#"{{"type":"message","id":"e{n}","parentId":null,"message":{{"role":"user","content":"{text}"}}}}"#)
    };
    [header.to_owned(), line(1), line(2), line(3), line(4), String::new()].join("\n")
}

fn names(stage: &Stage) -> Vec<String> {
    let paths = stage.os.list(Path::new(HOME)).unwrap();
    let mut names: Vec<String> =
        paths.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    // The key of the store is below a hidden directory.
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

#[test]
fn a_panic_is_an_error_and_leaves_nothing() {
    let stage = Stage::new();
    stage.write("source.jsonl", &long_session());
    let length = long_session().len() as u64;
    let source = Stage::path("source.jsonl");
    let scan = |after: u64| {
        let panics = move |n_done: u64, _: u64| assert!(n_done <= after, "quotes a secret");
        let options = ScanOptions { on_progress: Some(&panics), ..ScanOptions::default() };
        stage.sessions.scan_secrets(std::slice::from_ref(&source), &options)
    };
    assert!(matches!(scan(0), Err(SessionError::Redact(RedactError::NotScanned { line: 3, .. }))), "{:?}", scan(0));
    assert_eq!(scan(u64::MAX).unwrap().findings, []);
    let copy = |after: u64| {
        let panics = move |n_done: u64, _: u64| assert!(n_done <= after, "quotes a secret");
        let options = RedactOptions { on_progress: Some(&panics), ..RedactOptions::default() };
        stage.sessions.export_redacted(&source, &options, Stage::path("copy.jsonl"), false)
    };
    // In each pass: learning, planning, writing, and the scan of the copy.
    for pass in 0..4 {
        let result = copy(pass * length + length / 8);
        assert!(matches!(result, Err(SessionError::Redact(RedactError::NotScanned { .. }))), "pass {pass}: {result:?}");
        assert_eq!(names(&stage), ["source.jsonl"], "pass {pass}");
    }
    copy(u64::MAX).unwrap();
    assert_eq!(names(&stage), ["copy.jsonl", "source.jsonl"]);
}
