//! Real programs as summarizers.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_core::compaction::{FileLists, Purpose, Summarizer, Summary, SummaryFailure, SummaryRequest, serialize};
use sessile_core::json::Raw;
use sessile_summarize::Command;

fn run(script: &str, time: Duration, cancel: &Cancel) -> Result<Summary, SummaryFailure> {
    let message = Raw::parse(br#"{"role":"user","content":"Hello \"there\" \ud800"}"#).unwrap();
    let (conversation, files) =
        (serialize([message]).finish(), FileLists { read: vec!["a".into()], modified: Vec::new() });
    let mut request = SummaryRequest::new(Purpose::Update, &conversation, &files);
    request.previous_summary = Some("before");
    let words = ["sh", "-c", script].map(str::to_owned);
    Command::new(&words, time).unwrap().summarize(&request, &mut |_| {}, cancel)
}

fn quickly(script: &str) -> Result<Summary, String> {
    run(script, Duration::from_mins(10), &Cancel::default()).map_err(|failure| failure.to_string())
}

#[test]
fn the_program_reads_and_writes_json() {
    let dir = tempfile::tempdir().unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        r#"cat > {}; echo '{{"summary":"short","usage":{{"input":3,"output":2,"cost":{{"total":0.5}}}}}}'"#,
        seen.display()
    );
    let summary = quickly(&script).unwrap();
    assert_eq!(summary.text, "short");
    let usage = summary.usage.unwrap();
    assert_eq!((usage.input, usage.total_tokens), (3, 5));
    let seen = std::fs::read(seen).unwrap();
    let json = Raw::parse(&seen).unwrap();
    let text = |key: &str| json.get(key).and_then(Raw::as_string).unwrap();
    assert_eq!((text("purpose").as_str(), text("previousSummary").as_str()), ("update", "before"));
    assert_eq!(text("conversation"), "[User]: Hello \"there\" \u{fffd}");
    assert_eq!(json.get("readFiles").unwrap().to_text(), r#"["a"]"#);
    assert!(text("prompt").contains("<previous-summary>\nbefore") && text("system").contains("handover"));
}

#[test]
fn a_program_may_ignore_its_input() {
    assert_eq!(quickly(r#"exec 0<&-; echo ' {"summary":"x"} '"#).unwrap().text, "x");
}

#[test]
fn failures_are_described() {
    for (script, expected) in [
        ("echo oh dear >&2; exit 3", "sh failed (exit status: 3): oh dear"),
        ("echo nonsense", "sh did not print JSON"),
        ("true", "sh did not print JSON"),
        (r#"echo '{"summary":5}'"#, "sh printed JSON without a string `summary`"),
        (r#"echo '{"summary":" "}'"#, "sh returned an empty summary"),
        (r#"echo '{"error":"no credit"}'"#, "sh reported an error: no credit"),
        ("yes 12345678", "sh printed more than 4194304 bytes"),
        ("kill -9 $$", "sh failed (signal: 9 (SIGKILL))"),
    ] {
        assert_eq!(quickly(script).unwrap_err(), expected, "{script}");
    }
    let missing = Command::new(&["/nowhere/at/all".to_owned()], Duration::from_secs(1)).unwrap();
    let (conversation, files) = (serialize([]).finish(), FileLists::default());
    let request = SummaryRequest::new(Purpose::History, &conversation, &files);
    let failure = missing.summarize(&request, &mut |_| {}, &Cancel::default()).unwrap_err();
    assert_eq!(failure.to_string(), "cannot run /nowhere/at/all");
}

#[test]
fn a_timeout_ends_the_program_and_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let sign = dir.path().join("sign");
    // The program's background process would create this file if it survived.
    let script = format!("(sleep 2; touch {}) & sleep 3600", sign.display());
    let failure = run(&script, Duration::from_millis(300), &Cancel::default()).unwrap_err();
    assert_eq!(failure.to_string(), "sh took longer than 0.3 s");
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!sign.exists());
}

#[test]
fn a_process_that_holds_the_pipe_open_is_not_awaited() {
    assert_eq!(quickly(r#"echo '{"summary":"x"}'; sleep 3600 &"#).unwrap().text, "x");
}

#[test]
fn cancelling_stops_the_summary() {
    let cancel = Cancel::default();
    let other = cancel.clone();
    let waiting = std::thread::spawn(move || run("sleep 3600", Duration::from_hours(1), &other));
    std::thread::sleep(Duration::from_millis(100));
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(SummaryFailure::Cancelled)));
}
