//! Clients in the same process: commands without a stream of bytes, and an iterator over events.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sessile::Sessions;
use sessile::json::Json;
use sessile_rpc::{AutoTitler, Code, Engine, Options, Request, Start};
use tempfile::TempDir;

/// An engine on a new directory.
struct World {
    _dir: TempDir,
    engine: Arc<Engine>,
}

impl World {
    fn new() -> Self {
        Self::with_titles(None)
    }

    /// An engine that gives titles to sessions.
    fn with_titles(auto_titler: Option<AutoTitler>) -> Self {
        let dir = TempDir::new().unwrap();
        let sessions = Sessions::default().caching(None).recording_operations(None);
        let mut options = Options::new(sessions.with_session_dir(dir.path().join("sessions")));
        options.cwd = dir.path().to_path_buf();
        options.auto_titler = auto_titler;
        Self { _dir: dir, engine: Engine::start(options, &Start::New, None).unwrap() }
    }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn message(text: &str) -> Request {
    let message = json(&format!(r#"{{"role":"user","content":"{text}","timestamp":1}}"#));
    Request::new("append_message").with("message", message)
}

fn text_at(value: &Json, key: &str) -> String {
    value
        .raw()
        .get(key)
        .and_then(sessile::json::Raw::as_string)
        .unwrap_or_else(|| panic!("no {key}: {}", value.to_text()))
}

#[test]
fn a_single_call_answers_like_a_stream() {
    let world = World::new();
    let appended = world.engine.call(&message("one")).unwrap().unwrap();
    let entry = Request::new("get_entry").with("entryId", text_at(&appended, "entryId"));
    let fetched = world.engine.call(&entry).unwrap().unwrap();
    // The same request over a stream.
    let mut stream = entry.body.into_bytes();
    stream.push(b'\n');
    let (mut reader, writer) = std::io::pipe().unwrap();
    world.engine.serve(&stream[..], writer);
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut reader, &mut answer).unwrap();
    let expected =
        format!(r#"{{"type":"response","command":"get_entry","success":true,"data":{}}}"#, fetched.to_text());
    assert_eq!(answer.trim_end(), expected);
}

#[test]
fn a_call_fails_with_the_code_of_the_command() {
    let world = World::new();
    let code = |request: Request| world.engine.call(&request).unwrap_err().code;
    assert_eq!(code(Request::new("no_such_command")), Code::InvalidArgument);
    assert_eq!(code(Request::new("append_message").with("message", 7_i64)), Code::InvalidArgument);
    assert_eq!(code(Request::new("get_state").with("sessionPath", "/no/such/session.jsonl")), Code::NotFound);
    assert_eq!(code(message("x").with("expectedLeaf", "deadbeef")), Code::LeafMoved);
}

#[test]
fn a_single_call_leaves_no_subscription_or_hook() {
    let world = World::new();
    world.engine.call(&Request::new("subscribe")).unwrap();
    world.engine.call(&Request::new("hook_register").with("events", json(r#"["session_before_switch"]"#))).unwrap();
    let first = text_at(&world.engine.call(&Request::new("get_state")).unwrap().unwrap(), "sessionId");
    // A hook that still existed would make this wait for an answer.
    world.engine.call(&Request::new("new_session")).unwrap();
    let state = world.engine.call(&Request::new("get_state")).unwrap().unwrap();
    assert_eq!(text_at(&state, "sessionId"), first, "each call begins at the session of the engine");
}

#[test]
fn a_client_has_a_current_session_and_reads_its_events_in_order() {
    let world = World::new();
    let (client, mut events) = world.engine.connect();
    let first = text_at(&client.call(&Request::new("get_state")).unwrap().unwrap(), "sessionId");
    client.call(&Request::new("new_session")).unwrap();
    let second = text_at(&client.call(&Request::new("get_state")).unwrap().unwrap(), "sessionId");
    assert_ne!(first, second);
    client.call(&Request::new("set_session_name").with("name", "Tides")).unwrap();
    let renamed = events.find(|event| text_at(event, "type") == "session_info_changed").unwrap();
    assert_eq!(text_at(&renamed, "name"), "Tides");
    client.call(&Request::new("subscribe")).unwrap();
    for word in ["a", "b", "c"] {
        client.call(&message(word)).unwrap();
    }
    let appended: Vec<String> = events
        .by_ref()
        .filter(|event| text_at(event, "type") == "event" && event.to_text().contains("entry_appended"))
        .take(3)
        .map(|event| event.to_text().into_owned())
        .collect();
    for (event, word) in appended.iter().zip(["a", "b", "c"]) {
        assert!(event.contains(&format!(r#""content":"{word}""#)), "{event}");
    }
    drop(client);
    let last = events.last().unwrap();
    assert!(
        last.to_text().contains("session_shutdown"),
        "the last event is not the client's shutdown: {}",
        last.to_text()
    );
}

#[test]
fn a_hook_is_answered_from_the_thread_that_reads_events() {
    let world = World::new();
    let (client, events) = world.engine.connect();
    client.call(&Request::new("hook_register").with("events", json(r#"["session_before_switch"]"#))).unwrap();
    let client = Arc::new(client);
    let answering = {
        let client = Arc::clone(&client);
        thread::spawn(move || {
            let mut n_asked = 0;
            for event in events {
                if text_at(&event, "type") == "hook_request" {
                    n_asked += 1;
                    let refusal = Request::new("hook_response").with("requestId", text_at(&event, "requestId"));
                    client.call(&refusal.with("result", json(r#"{"cancel":true}"#))).unwrap();
                    return n_asked;
                }
            }
            n_asked
        })
    };
    let answer = client.call(&Request::new("new_session")).unwrap().unwrap();
    assert_eq!(answer.to_text(), r#"{"cancelled":true}"#);
    assert_eq!(answering.join().unwrap(), 1);
}

#[test]
fn a_client_that_never_reads_blocks_neither_itself_nor_the_others() {
    let world = World::new();
    let (silent, _events) = world.engine.connect();
    silent.call(&Request::new("subscribe")).unwrap();
    let (other, mut events) = world.engine.connect();
    other.call(&Request::new("subscribe")).unwrap();
    for nth in 0..600_i64 {
        silent.call(&Request::new("set_session_name").with("name", format!("name {nth}"))).unwrap();
    }
    let last = events.find(|event| event.to_text().contains("name 599")).unwrap();
    assert!(!last.to_text().is_empty());
    drop(silent);
}

#[test]
fn the_end_of_the_engine_ends_the_events() {
    let world = World::new();
    let (client, mut events) = world.engine.connect();
    assert!(events.next_within(Duration::from_millis(10)).is_none(), "nothing has happened yet");
    world.engine.stop();
    assert!(events.next().is_none());
    drop(client);
    let (client, events) = world.engine.connect();
    drop(events);
    client.call(&Request::new("set_session_name").with("name", "unread")).unwrap();
}

fn answer(stop_reason: &str) -> Request {
    let message = format!(
        r#"{{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{{}},"stopReason":"{stop_reason}","timestamp":2}}"#
    );
    Request::new("append_message").with("message", json(&message))
}

#[test]
fn a_session_gets_a_title_after_the_first_answer_if_the_user_wants_it() {
    let world = World::with_titles(Some(AutoTitler::Rule));
    let (client, mut events) = world.engine.connect();
    client.call(&message("Fix the flaky build. It fails on Mondays.")).unwrap();
    let called = client.call(&answer("toolUse")).unwrap().unwrap();
    assert_eq!(text_at(&called, "leafId"), text_at(&called, "entryId"), "the turn goes on");
    let answered = client.call(&answer("stop")).unwrap().unwrap();
    assert_ne!(text_at(&answered, "leafId"), text_at(&answered, "entryId"), "the title is the new leaf");
    let renamed = events.find(|event| text_at(event, "type") == "session_info_changed").unwrap();
    assert_eq!(text_at(&renamed, "name"), "Fix the flaky build");
    // A client that follows the leaf of the answers goes on without a conflict.
    client.call(&message("And now?").with("expectedLeaf", text_at(&answered, "leafId"))).unwrap();
    let answered = client.call(&answer("stop")).unwrap().unwrap();
    assert_eq!(text_at(&answered, "leafId"), text_at(&answered, "entryId"), "a session gets its title once");
}

#[test]
fn a_model_makes_the_title_while_the_client_goes_on() {
    let (allow, allowed) = std::sync::mpsc::channel::<()>();
    let allowed = std::sync::Mutex::new(allowed);
    let ask = move |text: &str| {
        assert!(text.contains("Fix the flaky build"), "{text}");
        allowed.lock().unwrap().recv().unwrap();
        Ok("Flaky build on Mondays".to_owned())
    };
    let world = World::with_titles(Some(AutoTitler::Model(Arc::new(ask))));
    let (client, mut events) = world.engine.connect();
    client.call(&message("Fix the flaky build")).unwrap();
    let answered = client.call(&answer("stop")).unwrap().unwrap();
    assert_eq!(text_at(&answered, "leafId"), text_at(&answered, "entryId"));
    client.call(&message("And now?").with("expectedLeaf", text_at(&answered, "leafId"))).unwrap();
    client.call(&answer("stop")).unwrap();
    allow.send(()).unwrap();
    let renamed = events.find(|event| text_at(event, "type") == "session_info_changed").unwrap();
    assert_eq!(text_at(&renamed, "name"), "Flaky build on Mondays");
}
