//! If the system refuses something or a command panics, only that request fails, never the server.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests act as other programs and panic on failure")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::os::{Layer, Layered};
use sessile::write::{Busy, WriteOptions};
use sessile::{Sessions, draft};
use sessile_rpc::{Engine, Options, Socket, Start};
use sessile_store::planted::refuse_threads;
use tempfile::TempDir;

/// Refusing threads affects the whole process, so only one test runs at a time.
static SERIAL: Mutex<()> = Mutex::new(());

fn options(dir: &TempDir, sessions: Sessions) -> Options {
    let mut options = Options::new(sessions.caching(None).recording_operations(None));
    options.cwd = dir.path().to_path_buf();
    options.sessions = options.sessions.with_session_dir(dir.path().join("sessions"));
    options
}

/// A client that sends a request and waits for the answer.
struct Client {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Client {
    fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Self { answers: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    fn of(engine: &Arc<Engine>) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let engine = Arc::clone(engine);
        thread::spawn(move || engine.serve(theirs.try_clone().unwrap(), theirs));
        Self::new(ours)
    }

    fn read(&mut self) -> serde_json::Value {
        loop {
            let mut line = String::new();
            self.answers.read_line(&mut line).unwrap();
            let record: serde_json::Value = serde_json::from_str(&line).unwrap();
            if record["type"] == "response" {
                return record;
            }
        }
    }

    fn ask(&mut self, request: &str) -> serde_json::Value {
        self.stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        self.read()
    }
}

const APPEND: &str =
    r#"{"id":1,"type":"append_message","message":{"role":"user","content":"text","timestamp":1763164800000}}"#;
const LIST: &str = r#"{"id":2,"type":"list_sessions"}"#;
const VERIFY: &str = r#"{"id":3,"type":"verify"}"#;

#[test]
fn without_threads_requests_are_refused_and_later_ones_are_served() {
    let _serial = SERIAL.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::start(options(&dir, Sessions::default()), &Start::New, None).unwrap();
    let path = dir.path().join("socket");
    let socket = Socket::bind(&path).unwrap();
    socket.serve(&engine).unwrap();
    let mut client = Client::new(UnixStream::connect(&path).unwrap());
    assert_eq!(client.ask(APPEND)["success"], true);

    refuse_threads(true);
    assert_eq!(client.ask(APPEND)["success"], true, "a request that needs no thread succeeds");
    let refused = client.ask(VERIFY);
    assert_eq!((&refused["id"], &refused["success"], &refused["code"]), (&3.into(), &false.into(), &"IO".into()));
    let mut other = Client::new(UnixStream::connect(&path).unwrap());
    let refused = other.read();
    assert_eq!((&refused["command"], &refused["success"]), (&"connect".into(), &false.into()));
    assert!(refused["error"].as_str().unwrap().contains("thread"), "{refused}");
    refuse_threads(false);

    for request in [APPEND, VERIFY, LIST] {
        assert_eq!(client.ask(request)["success"], true, "{request}");
    }
    assert_eq!(Client::new(UnixStream::connect(&path).unwrap()).ask(LIST)["success"], true);
    socket.close();
}

/// Panics at the next metadata read, once armed.
#[derive(Debug, Default)]
struct PanicOnStat(AtomicBool);

impl Layer for PanicOnStat {
    fn before_stat(&self) {
        assert!(!self.0.swap(false, Ordering::SeqCst), "panics on purpose");
    }
}

#[test]
fn a_panicking_command_releases_the_session() {
    let _serial = SERIAL.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let trap = Arc::new(PanicOnStat::default());
    let sessions = Sessions::default().on(Arc::new(Layered::new(Arc::clone(&trap))));
    let engine = Engine::start(options(&dir, sessions), &Start::New, None).unwrap();
    let mut client = Client::of(&engine);
    assert_eq!(client.ask(APPEND)["success"], true);
    let state = client.ask(r#"{"id":4,"type":"get_state"}"#);
    let path = PathBuf::from(state["data"]["sessionFile"].as_str().unwrap());
    for round in 0..3 {
        trap.0.store(true, Ordering::SeqCst);
        let refused = client.ask(APPEND);
        assert_eq!((&refused["success"], &refused["code"]), (&false.into(), &"IO".into()), "{refused}");
        assert!(!trap.0.load(Ordering::SeqCst), "the planned panic did not happen");
        append_from_another_process(&path);
        assert_eq!(client.ask(APPEND)["success"], true);
        let entries = client.ask(r#"{"id":5,"type":"get_entries"}"#);
        assert_eq!(entries["data"]["entries"].as_array().unwrap().len(), 3 + 2 * round);
    }
}

/// Another process writes to the session, and waits only briefly for the lock.
fn append_from_another_process(path: &Path) {
    let writing = WriteOptions { busy: Busy::Fail(Duration::from_millis(200)), ..WriteOptions::default() };
    let mut session = Sessions::default().caching(None).writing(writing).open(path).unwrap();
    session.append_message(draft::UserMessage::new("elsewhere", Timestamp::from_ms(1))).unwrap();
}

#[test]
fn binding_removes_stale_socket_directories_only() {
    let dir = tempfile::tempdir().unwrap();
    // Left by an older version with the same process id.
    std::fs::create_dir(dir.path().join(format!(".sessile-{}", std::process::id()))).unwrap();
    let stale = dir.path().join(".sessile-socket-0123456789abcdef");
    std::fs::create_dir(&stale).unwrap();
    drop(std::os::unix::net::UnixListener::bind(stale.join("s")).unwrap());
    let foreign = dir.path().join(".sessile-socket-mine");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.tex"), "mine").unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    for directory in [&stale, &foreign] {
        std::fs::File::open(directory).unwrap().set_modified(long_ago).unwrap();
    }
    let path = dir.path().join("socket");
    let socket = Socket::bind(&path).unwrap();
    assert!(UnixStream::connect(&path).is_ok());
    assert!(!stale.exists(), "the directory of a stale socket is removed");
    assert!(foreign.join("thesis.tex").exists(), "the files of other programs stay");
    socket.close();
}
