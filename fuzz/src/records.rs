//! What RPC clients may send: anything.
//!
//! A server with a session in memory gets the raw bytes. It answers every record once, in one line of valid UTF-8 JSON;
//! it answers an invalid request with a failure; and an id is returned as it was spelled.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, OnceLock};

use sessile_core::json::{Json, Raw};
use sessile_rpc::{Engine, MAX_RECORD, NotARequest, Options, Record, Records, Request, Start};

/// Commands that access files or wait for the clock are left to tests.
const SKIPPED: &[&str] = &[
    "switch_session",
    "list_sessions",
    "search",
    "family",
    "delete_session",
    "restore_session",
    "verify",
    "subscribe",
    "hook_register",
    "rename_session",
];

/// Checks one stream of records.
pub fn check(bytes: &[u8]) {
    let whole: Vec<Record> = cut(bytes, usize::MAX);
    // However the stream is split, the records are the same.
    let step = 1 + bytes.first().copied().map_or(0, usize::from) % 7;
    assert_eq!(whole, cut(bytes, step));
    let mut asked: Vec<u8> = Vec::new();
    let mut expected: Vec<Option<Json>> = Vec::new();
    for record in whole {
        let Record::Whole(text) = &record else { continue };
        match Request::read(record.clone(), MAX_RECORD) {
            Err(NotARequest(answer)) => assert!(Raw::parse(answer.raw().as_bytes()).is_ok()),
            Ok(request) => {
                let is_skipped = request.command.as_deref().is_some_and(|command| SKIPPED.contains(&command));
                let has_no_answer = request.command.as_deref() == Some("extension_ui_response");
                // A request with a path would access the file.
                if is_skipped || has_no_answer || request.parameter("sessionPath").is_some() {
                    continue;
                }
                expected.push(request.id().map(Raw::to_json));
                asked.extend_from_slice(text);
                asked.push(b'\n');
            }
        }
    }
    let answers = served(&asked);
    let mut answered: Vec<Option<Json>> = Vec::new();
    for line in answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(std::str::from_utf8(line).is_ok(), "an answer is not UTF-8");
        let record = Raw::parse(line).expect("an answer is JSON");
        if record.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "response") {
            answered.push(record.get("id").map(Raw::to_json));
        }
    }
    let sorted = |ids: &[Option<Json>]| {
        let mut texts: Vec<Option<Vec<u8>>> =
            ids.iter().map(|id| id.as_ref().map(|id| id.to_text().into_owned().into_bytes())).collect();
        texts.sort();
        texts
    };
    assert_eq!(sorted(&answered), sorted(&expected));
}

/// A stream that returns a few bytes at a time.
struct Steps<'s>(&'s [u8], usize);

impl Read for Steps<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

fn cut(bytes: &[u8], step: usize) -> Vec<Record> {
    let mut records = Records::new(Steps(bytes, step), 1 << 16);
    std::iter::from_fn(|| records.read().expect("memory can be read")).collect()
}

/// Returns everything that a server sends to a client for these bytes.
fn served(bytes: &[u8]) -> Vec<u8> {
    #[derive(Clone, Default)]
    struct CapturedOutput(Arc<Mutex<Vec<u8>>>);
    impl Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no code panics while it holds this lock").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    static OPTIONS: OnceLock<Options> = OnceLock::new();
    let options =
        OPTIONS.get_or_init(|| Options::new(sessile::Sessions::default().caching(None).recording_operations(None)));
    let engine = Engine::start(options.clone(), &Start::Memory, None).expect("a session in memory can be created");
    let captured = CapturedOutput::default();
    engine.serve(bytes, captured.clone());
    captured.0.lock().expect("no code panics while it holds this lock").clone()
}
