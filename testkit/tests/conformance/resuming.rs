//! The genuine pi resumes redacted copies, against a provider that checks signatures as the real ones do.
//!
//! pi takes seconds to start, so a run without settings tests a part: for each API, a copy of the level `secrets` and one
//! broken session, and for one API a copy of the level `outputs`. With `SESSILE_RESUME_ALL=1` it tests everything.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sessile::Sessions;
use sessile::redact::{Level, RedactOptions};
use sessile_testkit::resume::{APIS, Provider, Resumed};

/// The levels whose copies can be resumed.
const RESUMABLE: [Level; 4] = [Level::Secrets, Level::Paths, Level::Pii, Level::Outputs];

/// Whether to test every level of every API, open loops, and every broken session.
fn tests_all() -> bool {
    std::env::var_os("SESSILE_RESUME_ALL").is_some()
}

/// The levels to test. An open loop differs from a closed one only in its end: one level shows it.
fn levels(api: &str, is_open: bool) -> &'static [Level] {
    match (tests_all(), is_open) {
        (true, false) => &RESUMABLE,
        (false, false) if api == APIS[0] => &[Level::Secrets, Level::Outputs],
        (true, true) | (false, false) => &[Level::Secrets],
        (false, true) => &[],
    }
}

/// A folder with a project, and sessions outside of any store.
struct Stage {
    folder: tempfile::TempDir,
    sessions: Sessions,
    provider: Provider,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let sessions =
            Sessions::default().with_session_dir(folder.path().join("store")).caching(None).recording_operations(None);
        Self { folder, sessions, provider: Provider::start() }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A redacted copy whose working directory exists, as after `sessile move`.
    fn copy(&self, source: &Path, level: Level) -> PathBuf {
        let target = source.with_extension(format!("{level}.jsonl"));
        let options = RedactOptions { level, ..RedactOptions::default() };
        self.sessions.export_redacted(source, &options, &target, false).unwrap();
        if level >= Level::Paths {
            // A file that was just written may be in use, and is not moved.
            let file = fs::OpenOptions::new().write(true).open(&target).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
            let moved = self.sessions.move_session(&target, self.project(), false).unwrap();
            assert_eq!(moved.sessions[0].to, target);
        }
        target
    }

    fn resume(&self, api: &str, file: &Path) -> Resumed {
        self.provider.resume(api, file, &self.project())
    }
}

/// Fails unless the provider has accepted one request, and pi has printed its answer.
fn assert_accepted(resumed: &Resumed, what: &str) {
    assert_eq!(resumed.reasons, Vec::<String>::new(), "{what}: {}", resumed.output);
    assert!(resumed.succeeded && resumed.output.contains("accepted"), "{what}: {}", resumed.output);
    assert_eq!(resumed.requests.len(), 1, "{what}");
}

#[test]
fn copies_of_every_resumable_level_are_accepted_and_hold_no_secret() {
    let stage = Stage::new();
    for (api, is_open) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let levels = levels(api, is_open);
        if levels.is_empty() {
            continue;
        }
        let signed = stage.provider.session(api, &stage.project(), is_open);
        let source = stage.write(&format!("{api}-{is_open}.jsonl"), &signed.text);
        // pi adds its answer to the source, so the copies come first.
        let copies: Vec<PathBuf> = levels.iter().map(|level| stage.copy(&source, *level)).collect();
        // The source itself is accepted, with its secrets: pi sends what the session holds.
        let resumed = stage.resume(api, &source);
        assert_accepted(&resumed, api);
        assert!(signed.planted.iter().filter(|secret| resumed.requests[0].contains(*secret)).count() > 10, "{api}");
        for (level, copy) in levels.iter().copied().zip(copies) {
            let what = format!("{api}, open: {is_open}, {level}");
            let resumed = stage.resume(api, &copy);
            assert_accepted(&resumed, &what);
            let request = &resumed.requests[0];
            assert!(!signed.planted.iter().any(|secret| request.contains(secret)), "{what}: {request}");
            assert!(request.contains("REDACTED:groq-key:"), "{what}: {request}");
            assert!(level < Level::Paths || !request.contains("/home/alice"), "{what}: {request}");
            assert!(level < Level::Pii || !request.contains("alice.miller@"), "{what}: {request}");
            assert!(level < Level::Outputs || !request.contains("a.txt"), "{what}: {request}");
            // Nothing but what was altered is lost: the calls and the answers are all there.
            assert!(["call_a", "call_d", "Almost."].iter().all(|part| request.contains(part)), "{what}: {request}");
            assert_eq!(request.contains("this needs no key"), level < Level::Outputs, "{what}: {request}");
        }
    }
}

/// What breaks a session, by API: what to replace in its lines, and what the provider says.
const BROKEN: [(&str, &str, &str, &str); 14] = [
    ("anthropic-messages", "Privately: this needs", "Privately: this wants", "invalid `signature`"),
    ("anthropic-messages", "\"thinkingSignature\":\"?\"", "\"x\":1", "sent as visible text"),
    ("anthropic-messages", "\"redacted\":true", "\"redacted\":false", "invalid `signature`"),
    ("anthropic-messages", "\"toolCallId\":\"call_c\"", "\"toolCallId\":\"call_x\"", "no call has the id call_x"),
    ("bedrock-converse-stream", "Privately: this needs", "Privately: this wants", "invalid `signature`"),
    ("bedrock-converse-stream", "\"toolCallId\":\"call_c\"", "\"toolCallId\":\"call_x\"", "no call has the id call_x"),
    ("openai-responses", "Privately: this needs", "Privately: this wants", "could not be verified"),
    ("openai-responses", "\"thinkingSignature\":\"?\"", "\"x\":1", "without its required 'reasoning' item"),
    ("openai-responses", "|fc_4_d\"", "\"", "without its required following item"),
    ("openai-responses", "\"toolCallId\":\"call_c", "\"toolCallId\":\"call_x", "no call has the id call_x"),
    ("openai-completions", "Privately: this needs", "Privately: this wants", "invalid signature in reasoning_details"),
    ("openai-completions", "\"toolCallId\":\"call_c\"", "\"toolCallId\":\"call_x\"", "no call has the id call_x"),
    ("google-generative-ai", "Privately: this needs", "Privately: this wants", "Thought signature is not valid"),
    ("google-generative-ai", "\"toolCallId\":\"call_c\"", "\"toolCallId\":\"call_x\"", "no call has the id call_x"),
];

#[test]
fn the_provider_refuses_broken_sessions() {
    let stage = Stage::new();
    let mut tested = BTreeSet::new();
    for (number, (api, part, replacement, reason)) in BROKEN.into_iter().enumerate() {
        if !tested.insert(api) && !tests_all() {
            continue;
        }
        let signed = stage.provider.session(api, &stage.project(), false);
        let broken = replaced(&signed.text, part, replacement);
        assert_ne!(broken, signed.text, "{api}: {part}");
        let resumed = stage.resume(api, &stage.write(&format!("{number}.jsonl"), &broken));
        assert!(resumed.reasons.iter().any(|found| found.contains(reason)), "{api}, {part}: {resumed:?}");
        assert!(!resumed.succeeded, "{api}, {part}: {}", resumed.output);
    }
}

/// Replaces all occurrences of a part. `?` stands for the rest of a JSON string.
fn replaced(text: &str, part: &str, replacement: &str) -> String {
    let Some((before, after)) = part.split_once('?') else { return text.replace(part, replacement) };
    let mut out = String::new();
    let mut rest = text;
    while let Some((start, value)) = rest.split_once(before) {
        let mut is_escaped = false;
        let end = value
            .find(|c: char| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            })
            .unwrap();
        out.push_str(start);
        out.push_str(replacement);
        rest = value.split_at(end).1.strip_prefix(after).unwrap();
    }
    out + rest
}

#[test]
fn a_secret_that_only_replaced_text_would_leak_is_noticed() {
    // A copy that replaces the thought but not the item in its signature sends the secret again.
    let stage = Stage::new();
    let signed = stage.provider.session("openai-responses", &stage.project(), false);
    let naive: String = signed.text.lines().map(|line| naively(line) + "\n").collect();
    let resumed = stage.resume("openai-responses", &stage.write("naive.jsonl", &naive));
    assert!(signed.planted.iter().any(|secret| resumed.requests[0].contains(secret)));
}

/// Replaces secrets in the texts of thoughts only.
fn naively(line: &str) -> String {
    let mut entry: Value = serde_json::from_str(line).unwrap();
    let blocks = entry.pointer_mut("/message/content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        if block["type"] == "thinking" {
            block["thinking"] = "[REDACTED]".into();
        }
    }
    entry.to_string()
}
