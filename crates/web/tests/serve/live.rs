//! The stream of a session: what a page gets while other programs write.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sessile_web::serve::{Options, Server};

use crate::site::{Site, replace, sessions_in};

const FILE: &str = "sessions/2026-01-01T00-00-00-000Z_s0.jsonl";

fn line(id: &str, parent: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1767225600000}}}}\n"
    )
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    id: String,
    name: String,
    data: String,
}

impl Event {
    fn parse(text: &str) -> Self {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.unwrap_or_default().to_owned()
        };
        Self { id: field("id"), name: field("event"), data: field("data") }
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// A client that reads a stream of events.
struct Stream {
    connection: TcpStream,
    bytes: Vec<u8>,
}

impl Stream {
    fn open(site: &Site, cookie: &str, target: &str, last_id: &str) -> Self {
        let mut connection = site.connect();
        let last = if last_id.is_empty() { String::new() } else { format!("Last-Event-ID: {last_id}\r\n") };
        // The older version sends the events without a length of each piece.
        let host = site.host();
        let request = format!("GET {target} HTTP/1.0\r\nHost: {host}\r\nCookie: {cookie}\r\n{last}\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut stream = Self { connection, bytes: Vec::new() };
        let head = stream.until("\r\n\r\n");
        assert!(head.contains(" 200 OK") && head.contains("text/event-stream"), "{head}");
        stream
    }

    fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.bytes.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(at) = found {
                let rest = self.bytes.split_off(at + end.len());
                return String::from_utf8(std::mem::replace(&mut self.bytes, rest)).unwrap();
            }
            let mut piece = [0; 4096];
            let n = self.connection.read(&mut piece).unwrap();
            assert_ne!(n, 0, "the stream ended");
            self.bytes.extend_from_slice(&piece[..n]);
        }
    }

    /// The next event with this name.
    fn next(&mut self, name: &str) -> Event {
        loop {
            let event = Event::parse(&self.until("\n\n"));
            if event.name == name {
                return event;
            }
            let is_other_news = ["rows", "reset", "gone"].contains(&event.name.as_str());
            assert!(!is_other_news, "{event:?} instead of {name}");
        }
    }

    /// The rows of events until there are this many, which must follow each other. Returns the last cursor.
    fn rows(&mut self, mut from: usize, to: usize) -> String {
        loop {
            let event = self.next("rows");
            let value = event.json();
            assert_eq!(value["from"], from, "no gaps and no repeats");
            from += value["parents"].as_array().unwrap().len();
            for name in ["offsets", "lengths", "kinds"] {
                assert_eq!(value[name].as_array().unwrap().len(), value["parents"].as_array().unwrap().len());
            }
            assert!(from <= to, "{from} {to}");
            if from == to {
                return event.id;
            }
        }
    }
}

struct Shown {
    site: Site,
    cookie: String,
    path: PathBuf,
    target: String,
    /// The cursor in the page.
    cursor: String,
}

fn shown() -> Shown {
    of(Site::new())
}

/// Makes a file look as if it was last written a minute ago.
fn age(path: &Path) {
    let minute_ago = SystemTime::now() - Duration::from_mins(1);
    OpenOptions::new().append(true).open(path).unwrap().set_modified(minute_ago).unwrap();
}

fn of(site: Site) -> Shown {
    let cookie = site.sign_in();
    let key = site.key(&cookie);
    let page = site.get(&format!("/s/{key}"), &cookie).body;
    let (_, rest) = page.split_once("\"cursor\":\"").unwrap();
    let cursor = rest.split_once('"').unwrap().0.to_owned();
    Shown { path: site.dir.path().join(FILE), target: format!("/s/{key}/events"), site, cookie, cursor }
}

impl Shown {
    fn open(&self, cursor: &str) -> Stream {
        Stream::open(&self.site, &self.cookie, &format!("{}?cursor={cursor}", self.target), "")
    }
}

#[test]
fn a_page_gets_the_rows_that_it_lacks_and_its_status() {
    let shown = shown();
    age(&shown.path);
    let mut stream = shown.open(&shown.cursor);
    let status = stream.next("status").json();
    assert_eq!((&status[0][0], &status[1][0]), (&"quiet".into(), &"stopped".into()), "the prompt has no answer");
    append(&shown.path, &(line("e2", "e1") + &line("e3", "e1")));
    let event = stream.next("rows");
    let value = event.json();
    assert_eq!((&value["from"], &value["parents"]), (&2.into(), &serde_json::json!([1, 1])));
    assert_eq!((&value["leaf"], &value["kinds"]), (&3.into(), &serde_json::json!([1, 1])));
    // The browser connects again with the id of the last event, at the address that it had.
    append(&shown.path, &line("e4", "e3"));
    let target = format!("{}?cursor={}", shown.target, shown.cursor);
    let mut again = Stream::open(&shown.site, &shown.cookie, &target, &event.id);
    let last = again.rows(4, 5);
    assert_eq!(stream.rows(4, 5), last);
    // A page that has nothing gets everything.
    assert_eq!(shown.open("").rows(0, 5), last);
    assert_eq!(shown.open("0-0-0").rows(0, 5), last);
}

#[test]
fn nothing_is_lost_or_repeated_when_the_server_starts_again() {
    let secret = [7; 32];
    let mut shown = of(Site::with(&[("a", "Plan the trip")], |options| Options { secret: Some(secret), ..options }));
    let mut stream = shown.open(&shown.cursor);
    append(&shown.path, &line("e2", "e1"));
    let last = stream.rows(2, 3);
    shown.site.server.take().unwrap().stop();
    append(&shown.path, &(line("e3", "e2") + &line("e4", "e3") + &line("e5", "e4")));
    let options = Options { port: Some(shown.site.port), secret: Some(secret), ..Options::default() };
    shown.site.server = Some(Server::start(sessions_in(shown.site.dir.path()), options).unwrap());
    let mut stream = Stream::open(&shown.site, &shown.cookie, &shown.target, &last);
    stream.rows(3, 6);
    append(&shown.path, &line("e6", "e5"));
    stream.rows(6, 7);
}

#[test]
fn other_rows_reset_the_page() {
    let shown = shown();
    let text = std::fs::read_to_string(&shown.path).unwrap();
    let three = text.clone() + &line("e2", "e1") + &line("e3", "e2");
    append(&shown.path, &(line("e2", "e1") + &line("e3", "e2")));
    let mut stream = shown.open(&shown.cursor);
    let cursor = stream.rows(2, 4);
    // Another file in its place, with another entry.
    replace(&shown.path, &three.replace("\"e2\"", "\"f2\""));
    let reset = stream.next("reset").id;
    assert_ne!(reset, cursor);
    // A shorter file.
    OpenOptions::new().write(true).open(&shown.path).unwrap().set_len(text.len() as u64).unwrap();
    let shorter = stream.next("reset").id;
    assert_eq!(shorter, shown.cursor);
    // A longer one with the same start is only longer.
    replace(&shown.path, &three);
    assert_eq!(stream.rows(2, 4), cursor);
    // An entry that earlier rows name as their parent.
    append(&shown.path, &line("orphan", "late"));
    stream.rows(4, 5);
    append(&shown.path, &line("late", "e3"));
    stream.next("reset");
    for odd in ["x", "9999999-1-1", "2-1-0"] {
        shown.open(odd).next("reset");
    }
    // A file that is not there, and is there again.
    std::fs::remove_file(&shown.path).unwrap();
    stream.next("gone");
    replace(&shown.path, &text);
    stream.next("reset");
}

#[test]
fn a_slow_client_gets_everything_in_fewer_events() {
    let shown = shown();
    let mut slow = shown.open(&shown.cursor);
    let mut fast = shown.open(&shown.cursor);
    let n = 12_000;
    for chunk in 0..n / 100 {
        let lines: String = (0..100).map(|at| line(&format!("c{chunk}-{at}"), "e1")).collect();
        append(&shown.path, &lines);
    }
    assert_eq!(fast.rows(2, 2 + n), slow.rows(2, 2 + n));
}

#[test]
fn clients_of_a_session_share_one_follower() {
    let shown = shown();
    let n_followed = || shown.site.server.as_ref().unwrap().n_followed();
    assert_eq!(n_followed(), 0);
    let mut clients: Vec<Stream> = (0..40).map(|_| shown.open(&shown.cursor)).collect();
    for client in &mut clients {
        client.next("status");
    }
    assert_eq!(n_followed(), 1);
    append(&shown.path, &line("e2", "e1"));
    let cursors: Vec<String> = clients.iter_mut().map(|client| client.rows(2, 3)).collect();
    assert!(cursors.iter().all(|cursor| *cursor == cursors[0]));
    drop(clients);
    while n_followed() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(shown.site.get(&shown.target.replace("/s/", "/s/0"), &shown.cookie).status, 404);
}

#[test]
fn the_list_has_dots_and_their_course() {
    let shown = shown();
    age(&shown.path);
    let is_quiet =
        |page: &str| page.contains("class=\"dot\" role=\"img\" aria-label=\"Busy, nothing written for a while\"");
    // The list notices the new time by itself.
    while !is_quiet(&shown.site.get("/", &shown.cookie).body) {}
    let statuses: serde_json::Value = serde_json::from_str(&shown.site.get("/statuses", &shown.cookie).body).unwrap();
    let key = shown.site.key(&shown.cookie);
    let words: Vec<_> = statuses[&key].as_array().unwrap().iter().map(|step| step[0].as_str().unwrap()).collect();
    assert_eq!(words, ["quiet", "stopped"]);
}

#[test]
fn the_tree_of_a_large_session_loses_silent_answers_when_they_are_known() {
    let shown = shown();
    let message = |id: &str, parent: &str, message: &str| {
        format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"message\":{message}}}\n")
    };
    let silent = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{}}]}"#;
    let long = format!("{{\"role\":\"user\",\"content\":\"{}\"}}", "x".repeat(65 << 20));
    append(&shown.path, &(message("e2", "e1", silent) + &message("e3", "e2", &long) + &message("e4", "e3", silent)));
    let mut stream = shown.open(&shown.cursor);
    stream.rows(2, 5);
    // For each row, two bytes: the distance from the row before it, and its level.
    let tree = || shown.site.get(&shown.target.replace("/events", "/tree-default"), &shown.cookie).body.len() / 2;
    assert_eq!(tree(), 4, "nothing is known about the answers at first");
    stream.next("tree");
    assert_eq!(tree(), 3, "the leaf is shown in any case");
    // A page that connects later may have loaded the tree before.
    shown.open(&shown.cursor).rows(2, 5);
    append(&shown.path, &line("e5", "e4"));
    stream.rows(5, 6);
    assert_eq!(tree(), 3, "new answers are read at once");
}
