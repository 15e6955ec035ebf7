//! Sessions of a remote in the browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use super::syncing::{append, with_server};
use super::team::{done, member};
use super::*;

/// A web server of a member, and a browser that has signed in.
struct Site {
    child: Child,
    host: String,
    cookie: String,
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Site {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["serve", "--json", "--remote", "local"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = ready["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (host, path) = address.split_once('/').unwrap();
        let mut site = Self { child, host: host.to_owned(), cookie: String::new() };
        let answer = site.get(&format!("/{path}"));
        let (_, rest) = answer.split_once("set-cookie: ").unwrap();
        rest.split_once(';').unwrap().0.clone_into(&mut site.cookie);
        site
    }

    /// Sends a request, in the older version of HTTP, which has no pieces with lengths.
    fn ask(&self, target: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let (host, cookie) = (&self.host, &self.cookie);
        write!(stream, "GET {target} HTTP/1.0\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n").unwrap();
        stream
    }

    fn get(&self, target: &str) -> String {
        let mut answer = String::new();
        self.ask(target).read_to_string(&mut answer).unwrap();
        answer
    }

    /// The list once it has something.
    fn list_with(&self, what: &str) -> String {
        loop {
            let list = self.get("/");
            if list.contains(what) {
                return list;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

#[test]
fn a_browser_shows_sessions_of_colleagues_and_what_they_write() {
    let server = with_server();
    let ada = &server.0;
    let path = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    done(ada, &["push", "--all"]);
    let bob = member(ada, "bob");
    done(ada, &["share", "s1", "--with", "bob"]);
    let site = Site::start(&bob);
    let list = site.list_with("first question");
    assert!(list.contains("<span class=\"mark\">me</span>"), "{list}");

    // A session that is shared later appears by itself, and the first one stays.
    let other = ada.session("2025-01-02T00-00-00-000Z_s2.jsonl", &[user("a", None, "another one")]);
    with_id(other, "s2");
    done(ada, &["push", "--all"]);
    done(ada, &["share", "s2", "--with", "bob"]);
    let list = site.list_with("another one");
    assert!(list.contains("first question"), "{list}");
    assert_eq!(list.matches("<span class=\"mark\">me</span>").count(), 2, "{list}");

    // Its page opens, and gets what Ada writes.
    let row = list.split("data-key=\"").find(|row| row.contains("first question")).unwrap();
    let key = row.split_once('"').unwrap().0;
    let page = site.get(&format!("/s/{key}"));
    assert!(page.contains(" 200 OK"), "{page}");
    let cursor = page.split_once("\"cursor\":\"").unwrap().1.split_once('"').unwrap().0;
    let mut events = BufReader::new(site.ask(&format!("/s/{key}/events?cursor={cursor}")));
    append(&path, &user("h", Some("d"), "from Ada"));
    done(ada, &["sync"]);
    let rows = loop {
        let mut line = String::new();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "the events have ended");
        assert!(!line.contains("event: reset") && !line.contains("event: gone"), "{line}");
        if line.starts_with("data: {\"from\":") {
            break line;
        }
    };
    let rows: Value = serde_json::from_str(rows.strip_prefix("data: ").unwrap()).unwrap();
    // The header and five entries were there.
    assert_eq!((rows["from"].as_u64(), rows["parents"].as_array().unwrap().len()), (Some(6), 1), "{rows}");
}
