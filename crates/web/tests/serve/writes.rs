//! Changes to sessions: their results in the files, conflicts, hostile values, other programs.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sessile::Cancel;
use sessile::compaction::{
    BranchSummarySettings, Generator, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
    summarizer_fn,
};
use sessile_web::serve::{BranchSummarizer, Options};

use crate::site::{Answer, Site, assert_headers, sessions_in, write_session};

/// Makes a file look as if no program has written to it lately.
fn age(path: &Path) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
}

const ENTRIES: &str = r#"{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T00:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"By train"}],"timestamp":1767225660000}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-01T00:02:00.000Z","message":{"role":"user","content":"And back?","timestamp":1767225720000}}
{"type":"message","id":"e4","parentId":"e3","timestamp":"2026-01-01T00:03:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"By boat"}],"timestamp":1767225780000}}
"#;

/// A server with a session of four entries, and a page of it.
struct Writer {
    site: Site,
    cookie: String,
    token: String,
    key: String,
}

impl Writer {
    fn new() -> Self {
        Self::with(|options| options)
    }

    fn with(change: impl FnOnce(Options) -> Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sessions")).unwrap();
        write_session(dir.path(), "a", 0, "Plan the trip", "/p/project");
        let path = file_in(dir.path());
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + ENTRIES).unwrap();
        age(&path);
        let site = Site::serve(dir, change);
        let cookie = site.sign_in();
        let (token, key) = (site.write_token(&cookie), site.key(&cookie));
        Self { site, cookie, token, key }
    }

    fn file(&self) -> PathBuf {
        file_in(self.site.dir.path())
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.file()).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        lines_of(&self.file())
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.site.dir.path().join("sessions")).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
    }

    fn headers<'h>(&'h self, origin: &'h str) -> [(&'h str, &'h str); 4] {
        [
            ("Cookie", &self.cookie),
            ("Origin", origin),
            ("Content-Type", "application/json"),
            ("X-Sessile-Token", &self.token),
        ]
    }

    fn post_text(&self, what: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.site.host());
        let answer = self.site.ask("POST", &format!("/api/{what}"), &self.headers(&origin), body);
        assert_headers(&answer);
        answer
    }

    /// The bytes of a request.
    fn request(&self, what: &str, body: &[u8]) -> Vec<u8> {
        let host = self.site.host();
        let mut out = format!("POST /api/{what} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in self.headers(&format!("http://{host}")) {
            write!(out, "{name}: {value}\r\n").unwrap();
        }
        [out.as_bytes(), b"Connection: close\r\n\r\n", body].concat()
    }

    /// Asks for a change of the session, and returns the status and the answer.
    fn post(&self, what: &str, mut body: Value) -> (u16, Value) {
        body.as_object_mut().unwrap().entry("key").or_insert(json!(self.key));
        let answer = self.post_text(what, &body.to_string());
        (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    fn done(&self, what: &str, body: Value) -> Value {
        let (status, answer) = self.post(what, body);
        assert_eq!(status, 200, "{what}: {answer}");
        answer
    }

    fn state(&self, row: usize) -> Value {
        let answer = self.site.get(&format!("/s/{}/state?row={row}", self.key), &self.cookie);
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    fn last(&self) -> Value {
        self.state(0)["last"].clone()
    }
}

fn file_in(dir: &Path) -> PathBuf {
    dir.join("sessions/2026-01-01T00-00-00-000Z_s0.jsonl")
}

fn lines_of(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every change that compares the end of the session, with what else it needs.
fn changes() -> [(&'static str, Value); 6] {
    [
        ("name", json!({"name": "A trip"})),
        ("label", json!({"entry": "e2", "label": "plan"})),
        ("clone", json!({})),
        ("leaf", json!({"entry": "e2"})),
        ("leaf", json!({"entry": "e2", "summary": true})),
        ("delete", json!({})),
    ]
}

fn with_last(mut body: Value, last: Value) -> Value {
    body.as_object_mut().unwrap().insert("last".to_owned(), last);
    body
}

/// Options of a server whose summaries have this text.
fn with_summary(options: Options) -> Options {
    let resolve = || {
        let summarizer = Box::new(summarizer_fn(|_| Ok(Summary::new("They went by boat"))));
        Ok(BranchSummarizer { summarizer, settings: BranchSummarySettings::default() })
    };
    Options { resolve_summarizer: Box::new(resolve), ..options }
}

#[test]
fn a_name_is_set_and_removed() {
    let writer = Writer::new();
    let before = writer.bytes();
    let answer = writer.done("name", json!({"last": "e4", "name": "The trip\nto the sea"}));
    assert_eq!((&answer["changed"], &answer["title"]), (&json!(true), &json!("The trip to the sea")));
    assert!(writer.bytes().starts_with(&before), "a name is appended");
    let line = writer.lines().pop().unwrap();
    assert_eq!((&line["type"], &line["parentId"]), (&json!("session_info"), &json!("e4")));
    assert_eq!(writer.state(0)["name"], "The trip to the sea");
    let page = writer.site.get(&format!("/s/{}", writer.key), &writer.cookie).body;
    assert!(page.contains("<title>The trip to the sea</title>"), "{page}");
    // The same name again changes nothing.
    let length = writer.bytes().len();
    let answer = writer.done("name", json!({"last": writer.last(), "name": "The trip to the sea"}));
    assert_eq!((&answer["changed"], &answer["operation"]), (&json!(false), &Value::Null));
    assert_eq!(writer.bytes().len(), length);
    writer.done("name", json!({"last": writer.last(), "name": null}));
    assert_eq!(writer.state(0)["name"], "");
    let (status, answer) = writer.post("name", json!({"last": writer.last(), "name": " \n "}));
    assert_eq!((status, &answer["error"]), (400, &json!("a name must not be blank")));
}

#[test]
fn a_label_is_set_and_removed() {
    let writer = Writer::new();
    let row = (0..9).find(|row| writer.state(*row)["entry"] == "e2").unwrap();
    assert_eq!(writer.state(row)["label"], "");
    writer.done("label", json!({"last": "e4", "entry": "e2", "label": " plan "}));
    let line = writer.lines().pop().unwrap();
    assert_eq!((&line["type"], &line["targetId"], &line["label"]), (&json!("label"), &json!("e2"), &json!("plan")));
    assert_eq!(writer.state(row)["label"], "plan");
    writer.done("label", json!({"last": writer.last(), "entry": "e2", "label": null}));
    assert_eq!(writer.state(row)["label"], "");
    let (status, answer) = writer.post("label", json!({"last": writer.last(), "entry": "none", "label": "x"}));
    assert_eq!((status, &answer["kind"]), (404, &json!("missing")));
}

#[test]
fn forks_and_clones_are_new_sessions_that_open() {
    let writer = Writer::new();
    let before = writer.bytes();
    for (what, body, ids, text) in [
        // Before a message of the user, so that it can be written again; at any other entry.
        ("fork", json!({"entry": "e3"}), vec!["e1", "e2"], json!("And back?")),
        ("fork", json!({"entry": "e2"}), vec!["e1", "e2"], Value::Null),
        ("fork", json!({"entry": "e1"}), vec![], json!("Plan the trip")),
        ("clone", json!({"last": "e4"}), vec!["e1", "e2", "e3", "e4"], Value::Null),
    ] {
        let known = writer.files();
        let answer = writer.done(what, body);
        assert_eq!(answer["text"], text);
        let files = writer.files();
        let new = files.iter().find(|file| !known.contains(file)).unwrap();
        let lines = lines_of(new);
        assert_eq!(lines[0]["parentSession"], json!(writer.file()));
        assert_eq!(lines[1..].iter().map(|line| line["id"].as_str().unwrap()).collect::<Vec<_>>(), ids, "{what}");
        let key = answer["key"].as_str().unwrap();
        assert_eq!(writer.site.get(&format!("/s/{key}"), &writer.cookie).status, 200, "the list has it already");
        assert_eq!(writer.bytes(), before, "the original stays");
        // Undo moves it to the trash.
        let undone = writer.done("undo", json!({"operation": answer["operation"]}));
        assert_eq!((&undone["key"], &undone["removed"]), (&answer["key"], &json!(true)));
        assert!(!new.exists());
        assert_eq!(writer.site.get(&format!("/s/{key}"), &writer.cookie).status, 404);
    }
    let (status, answer) = writer.post("fork", json!({"entry": "none"}));
    assert_eq!((status, &answer["kind"]), (404, &json!("missing")));
}

#[test]
fn the_leaf_moves_with_and_without_a_summary() {
    let writer = Writer::with(with_summary);
    let before = writer.bytes();
    let leaf = || sessions_in(writer.site.dir.path()).open(writer.file()).unwrap().leaf_id();
    // Without a summary the file stays as it is, and the page shows the new leaf.
    let answer = writer.done("leaf", json!({"last": "e4", "entry": "e2"}));
    assert_eq!((&answer["changed"], &answer["summarized"]), (&json!(true), &json!(false)));
    assert_eq!((writer.bytes(), leaf()), (before.clone(), Some("e2".into())));
    assert_eq!((&writer.state(0)["leaf"], &answer["text"]), (&json!("e2"), &Value::Null));
    assert_eq!(writer.done("leaf", json!({"last": "e4", "entry": "e2"}))["changed"], false);
    writer.done("undo", json!({"operation": answer["operation"]}));
    assert_eq!((leaf(), &writer.state(0)["leaf"]), (Some("e4".into()), &json!("e4")));
    // Before a message of the user, whose text comes back.
    let answer = writer.done("leaf", json!({"last": "e4", "entry": "e3"}));
    assert_eq!((&answer["text"], leaf()), (&json!("And back?"), Some("e2".into())));
    writer.done("undo", json!({"operation": answer["operation"]}));
    let answer = writer.done("leaf", json!({"last": "e4", "entry": "e2", "summary": true, "instructions": "short"}));
    assert_eq!(answer["summarized"], true);
    let line = writer.lines().pop().unwrap();
    assert_eq!((&line["type"], &line["parentId"]), (&json!("branch_summary"), &json!("e2")));
    assert!(line["summary"].as_str().unwrap().contains("They went by boat"), "{line}");
    assert!(writer.bytes().starts_with(&before));
    let without = Writer::new();
    let (status, answer) = without.post("leaf", json!({"last": "e4", "entry": "e2", "summary": true}));
    assert_eq!((status, &answer["error"]), (409, &json!("This server has no summarizer.")));
}

#[test]
fn a_deleted_session_leaves_the_list_and_undo_brings_it_back() {
    let writer = Writer::new();
    let before = writer.bytes();
    let answer = writer.done("delete", json!({"last": "e4"}));
    assert_eq!(answer["title"], "Plan the trip");
    assert!(!writer.file().exists());
    assert!(writer.site.get("/", &writer.cookie).body.contains("There are no sessions yet."));
    assert_eq!(writer.post("delete", json!({"last": "e4"})).0, 404);
    // Without an id, undo takes the last operation.
    let undone = writer.done("undo", json!({"operation": null}));
    assert_eq!(
        (&undone["kind"], &undone["key"], &undone["removed"], &undone["title"]),
        (&json!("delete"), &json!(writer.key), &json!(false), &json!("Plan the trip"))
    );
    assert_eq!(writer.bytes(), before);
    assert_eq!(writer.site.get(&format!("/s/{}", writer.key), &writer.cookie).status, 200);
    let (status, answer) = writer.post("undo", json!({"operation": null}));
    assert_eq!((status, &answer["error"]), (409, &json!("there is nothing to undo")));
    let (status, answer) = writer.post("undo", json!({"operation": "no-such-operation"}));
    assert_eq!((status, &answer["kind"]), (404, &json!("missing")));
    // Undoing the undo deletes it again.
    assert_eq!(writer.done("undo", json!({"operation": undone["operation"]}))["removed"], true);
    assert!(!writer.file().exists());
}

#[test]
fn undo_takes_back_a_name_unless_it_has_changed_since() {
    let writer = Writer::new();
    let first = writer.done("name", json!({"last": "e4", "name": "One"}));
    writer.done("undo", json!({"operation": first["operation"]}));
    assert_eq!(writer.state(0)["name"], "");
    let (status, answer) = writer.post("undo", json!({"operation": first["operation"]}));
    assert_eq!((status, &answer["kind"]), (409, &json!("refused")), "it was undone already");
    let second = writer.done("name", json!({"last": writer.last(), "name": "Two"}));
    sessions_in(writer.site.dir.path()).rename(writer.file(), Some("Of another program"), false).unwrap();
    let length = writer.bytes().len();
    let (status, answer) = writer.post("undo", json!({"operation": second["operation"]}));
    assert_eq!((status, &answer["kind"]), (409, &json!("refused")), "{answer}");
    assert_eq!(writer.bytes().len(), length);
}

#[test]
fn a_change_that_has_not_seen_the_end_writes_nothing() {
    let writer = Writer::with(with_summary);
    // Another program appends after the page was loaded.
    let mut other = sessions_in(writer.site.dir.path()).open(writer.file()).unwrap();
    other.append_user_message("I am still working").unwrap();
    drop(other);
    age(&writer.file());
    let before = writer.bytes();
    for (what, body) in changes() {
        for seen in [json!("e4"), json!("none"), Value::Null] {
            let (status, answer) = writer.post(what, with_last(body.clone(), seen));
            assert_eq!((status, &answer["kind"]), (409, &json!("changed")), "{what}: {answer}");
            assert!(answer["error"].as_str().unwrap().starts_with("Another program has added"), "{answer}");
        }
    }
    assert_eq!(writer.bytes(), before);
    assert_eq!(writer.files(), [writer.file()]);
    assert_eq!(sessions_in(writer.site.dir.path()).operations().unwrap(), []);
    assert_eq!(writer.state(0)["leaf"], writer.last());
    // With the new end, each of them is made.
    for (what, body) in changes() {
        writer.done(what, with_last(body, writer.last()));
    }
    assert!(!writer.file().exists());
}

#[test]
fn a_read_only_server_refuses_every_change() {
    let writer = Writer::with(|options| Options { is_read_only: true, ..options });
    let before = writer.bytes();
    let others = [("fork", json!({"entry": "e2"})), ("undo", json!({"operation": null}))];
    for (what, body) in changes().into_iter().chain(others) {
        let answer = writer.post_text(what, &with_last(body, json!("e4")).to_string());
        assert_eq!(answer.status, 403, "{what}");
        assert!(answer.body.contains("read-only"), "{what}");
    }
    assert_eq!((writer.bytes(), writer.files()), (before, vec![writer.file()]));
    let page = writer.site.get(&format!("/s/{}", writer.key), &writer.cookie).body;
    assert!(page.contains("\"writes\":false"), "{page}");
    assert!(!writer.site.get("/", &writer.cookie).body.contains("data-writes"));
    // To show the command that continues a session changes nothing.
    assert_eq!(writer.site.get(&format!("/s/{}/resume", writer.key), &writer.cookie).status, 200);
}

#[test]
fn the_resume_command_is_a_line_for_a_shell() {
    let writer = Writer::with(|options| Options { resume_command: "agent '{path}' --go".to_owned(), ..options });
    let line = writer.site.get(&format!("/s/{}/resume", writer.key), &writer.cookie).body;
    assert_eq!(line, format!("agent {} --go", writer.file().display()), "its directory does not exist");
    assert_eq!(writer.site.get("/s/none/resume", &writer.cookie).status, 404);
}

#[test]
fn incomplete_and_hostile_requests_are_refused() {
    let writer = Writer::new();
    let before = writer.bytes();
    for (what, body, status) in [
        ("nothing", json!({}), 404),
        ("name", json!({"name": "x"}), 400),
        ("name", json!({"last": 4, "name": "x"}), 400),
        ("name", json!({"last": "e4"}), 400),
        ("name", json!({"last": "e4", "name": {}}), 400),
        ("name", json!({"key": "none", "last": "e4", "name": "x"}), 404),
        ("name", json!({"key": "../../etc/passwd", "last": "e4", "name": "x"}), 404),
        ("name", json!({"key": null, "last": "e4", "name": "x"}), 400),
        ("label", json!({"last": "e4", "label": "x"}), 400),
        ("label", json!({"last": "e4", "entry": null, "label": "x"}), 400),
        ("fork", json!({}), 400),
        ("clone", json!({}), 400),
        ("leaf", json!({"last": "e4"}), 400),
        ("delete", json!({}), 400),
        ("delete", json!({"key": "none", "last": "e4"}), 404),
        ("undo", json!({}), 400),
        ("undo", json!({"operation": 1}), 400),
    ] {
        assert_eq!(writer.post(what, body.clone()).0, status, "{what} {body}");
    }
    for body in ["", "{", "[]", "null", "\"x\"", "{\"key\":\"\u{0}\"}"] {
        assert_eq!(writer.post_text("name", body).status, 400, "{body}");
    }
    let start = format!("{{\"key\":\"{}\",\"last\":\"e4\",\"name\":\"", writer.key);
    let huge = format!("{start}{}\"}}", "x".repeat(1 << 20));
    assert_eq!(writer.post_text("name", &huge).status, 413);
    assert_eq!(writer.bytes(), before);
    // Whatever becomes of bytes that are not UTF-8, the file stays valid.
    let broken = [start.as_bytes(), b"\xff\xfe\"}"].concat();
    let answer = writer.site.raw(&writer.request("name", &broken));
    assert!(answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 200"), "{answer}");
    writer.lines();
}

#[test]
fn hostile_texts_are_stored_as_one_line_and_shown_escaped() {
    let writer = Writer::new();
    let long = "y".repeat(900_000);
    let texts = [
        "\\u0000\\u001b[2J\\u0007 \\u009b x",
        "</script><script>alert(1)</script>",
        "\\ud800 lone \\udc00",
        "a\\nb\\r\\nc\\u2028d",
        "\\u202egnp.exe",
        "\\\"},{\\\"type\\\":\\\"message\\\"}\\n{",
        &long,
    ];
    for text in texts {
        for what in ["name", "label"] {
            let n_lines = writer.lines().len();
            let last = writer.last();
            let body = format!("{{\"key\":\"{}\",\"last\":{last},\"entry\":\"e2\",\"{what}\":\"{text}\"}}", writer.key);
            let answer = writer.post_text(what, &body);
            assert_eq!(answer.status, 200, "{what} {answer:?}");
            assert_eq!(writer.lines().len(), n_lines + 1, "{what}");
        }
        for target in ["/".to_owned(), format!("/s/{}", writer.key)] {
            let page = writer.site.get(&target, &writer.cookie).body;
            assert!(!page.contains("<script>") && !page.contains('\u{202e}') && !page.contains('\u{1b}'), "{text}");
        }
    }
}

#[test]
fn of_clients_that_saw_the_same_end_one_wins() {
    let writer = Writer::new();
    for round in 0..5 {
        let last = writer.last();
        let n_wins = AtomicUsize::new(0);
        thread::scope(|scope| {
            for client in 0..4 {
                let (writer, last, n_wins) = (&writer, last.clone(), &n_wins);
                scope.spawn(move || {
                    let name = format!("round {round} client {client}");
                    let (status, answer) = writer.post("name", json!({"last": last, "name": name}));
                    if status == 200 {
                        n_wins.fetch_add(1, Ordering::Relaxed);
                    } else {
                        assert_eq!((status, &answer["kind"]), (409, &json!("changed")), "{answer}");
                    }
                });
            }
        });
        assert_eq!(n_wins.into_inner(), 1);
        assert_eq!(writer.lines().len(), 5 + round + 1);
    }
}

#[test]
fn a_session_whose_lock_another_process_holds_is_not_disturbed() {
    let writer = Writer::new();
    let before = writer.bytes();
    let held = File::open(writer.file()).unwrap();
    held.lock().unwrap();
    let label = json!({"entry": "e2", "label": "x"});
    for (what, body) in [("name", json!({"name": "x"})), ("label", label), ("delete", json!({}))] {
        let (status, answer) = writer.post(what, with_last(body, json!("e4")));
        assert_eq!((status, &answer["kind"]), (409, &json!("busy")), "{what}: {answer}");
    }
    assert_eq!(writer.bytes(), before);
    drop(held);
    writer.done("name", json!({"last": "e4", "name": "x"}));
}

#[test]
fn a_session_that_another_program_writes_to_is_deleted_only_by_force() {
    let writer = Writer::new();
    // As after a write of another program. While `fs::write` replaces the content, the file is empty, and the server's list
    // may leave it out.
    File::options().append(true).open(writer.file()).unwrap().set_modified(SystemTime::now()).unwrap();
    let (status, answer) = writer.post("delete", json!({"last": "e4"}));
    assert_eq!((status, &answer["kind"]), (409, &json!("inUse")));
    let words = answer["error"].as_str().unwrap();
    assert!(words.contains("is in use: "), "the words of the command line: {words}");
    assert!(writer.file().exists());
    // Names and labels are appended beside a running agent.
    writer.done("name", json!({"last": "e4", "name": "x"}));
    writer.done("delete", json!({"last": writer.last(), "force": true}));
    assert!(!writer.file().exists());
}

/// Waits until it is released or cancelled.
struct Slow {
    began: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
    was_cancelled: Arc<Mutex<Vec<bool>>>,
}

impl Summarizer for Slow {
    fn generator(&self) -> Generator {
        Generator::Model
    }

    fn summarize(
        &self,
        _: &SummaryRequest<'_>,
        _: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        self.began.lock().unwrap().send(()).unwrap();
        let release = self.release.lock().unwrap();
        while !cancel.is_cancelled() && release.recv_timeout(Duration::from_millis(5)).is_err() {}
        self.was_cancelled.lock().unwrap().push(cancel.is_cancelled());
        Ok(Summary::new("Slowly written"))
    }
}

#[test]
fn a_slow_summary_holds_up_no_other_request_and_ends_with_its_client() {
    let (began, has_begun) = channel();
    let (release, releases) = channel::<Receiver<()>>();
    let (began, releases) = (Mutex::new(began), Mutex::new(releases));
    let was_cancelled: Arc<Mutex<Vec<bool>>> = Arc::default();
    let seen = Arc::clone(&was_cancelled);
    let resolve = move || {
        let summarizer = Box::new(Slow {
            began: Mutex::new(began.lock().unwrap().clone()),
            release: Mutex::new(releases.lock().unwrap().recv().unwrap()),
            was_cancelled: Arc::clone(&seen),
        });
        Ok(BranchSummarizer { summarizer, settings: BranchSummarySettings::default() })
    };
    let writer = Writer::with(|options| Options { resolve_summarizer: Box::new(resolve), ..options });
    let body = json!({"key": writer.key, "last": "e4", "entry": "e2", "summary": true}).to_string();
    let before = writer.bytes();
    // A client that leaves: nothing is written.
    let (_held, waits) = channel();
    release.send(waits).unwrap();
    let mut client = writer.site.connect();
    client.write_all(&writer.request("leaf", body.as_bytes())).unwrap();
    has_begun.recv().unwrap();
    assert_eq!(writer.site.get("/", &writer.cookie).status, 200, "other requests are answered");
    drop(client);
    while was_cancelled.lock().unwrap().is_empty() {
        thread::yield_now();
    }
    assert_eq!(*was_cancelled.lock().unwrap(), [true]);
    // A client that waits while another program appends: the summary is not written.
    let (go, waits) = channel();
    release.send(waits).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| writer.post_text("leaf", &body));
        has_begun.recv().unwrap();
        writer.done("name", json!({"last": "e4", "name": "other"}));
        go.send(()).unwrap();
        let answer = waiting.join().unwrap();
        assert_eq!(answer.status, 409, "{answer:?}");
    });
    assert!(writer.bytes().starts_with(&before));
    assert_eq!(writer.lines().len(), 6, "only the name was appended");
}
