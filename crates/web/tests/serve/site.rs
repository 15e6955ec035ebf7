//! A server with a store of its own, and a client that sees every byte.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sessile::Sessions;
use sessile::testing::IsolatedSystem;
use sessile_web::serve::{Options, Server};

/// A deadline that only a test that fails reaches.
pub(crate) const FOREVER: Duration = Duration::from_mins(1);

/// A server of a store of its own.
pub(crate) struct Site {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Option<Server>,
    pub(crate) port: u16,
    pub(crate) links: Arc<Mutex<Vec<String>>>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.take().unwrap().stop();
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

pub(crate) fn sessions_in(dir: &Path) -> Sessions {
    let sessions = Sessions::new(IsolatedSystem::in_home(dir)).with_session_dir(dir.join("sessions"));
    sessions.remembering_leaves(dir.join("leaves"))
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(&[("a", "Plan the trip")], |options| options)
    }

    /// A store with sessions of these ids and first prompts.
    pub(crate) fn with(sessions: &[(&str, &str)], change: impl FnOnce(Options) -> Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
        for (at, (id, prompt)) in sessions.iter().enumerate() {
            write_session(dir.path(), id, at, prompt, "/p/project");
        }
        Self::serve(dir, change)
    }

    pub(crate) fn serve(dir: tempfile::TempDir, change: impl FnOnce(Options) -> Options) -> Self {
        let links: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&links);
        let on_sign_in = Box::new(move |link: &str| seen.lock().unwrap().push(link.to_owned()));
        let options = change(Options { on_sign_in, ..Options::default() });
        let server = Server::start(sessions_in(dir.path()), options).unwrap();
        Self { dir, port: server.port(), server: Some(server), links }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(FOREVER)).unwrap();
        stream
    }

    /// Sends bytes and reads responses until the server closes the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may close before it has read everything.
        drop(stream.write_all(bytes));
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host());
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        if !body.is_empty() {
            write!(request, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        parse(&self.raw(format!("{request}\r\n{body}").as_bytes()))
    }

    /// Signs in a browser, and returns its `Cookie` header.
    pub(crate) fn sign_in(&self) -> String {
        let link = self.server.as_ref().unwrap().link();
        let answer = self.ask("GET", path_of(&link), &[], "");
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.header("set-cookie").split_once(';').unwrap().0.to_owned()
    }

    pub(crate) fn get(&self, target: &str, cookie: &str) -> Answer {
        self.ask("GET", target, &[("Cookie", cookie)], "")
    }

    pub(crate) fn write_token(&self, cookie: &str) -> String {
        let answer = self.get("/api/token", cookie);
        let value: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        value["token"].as_str().unwrap().to_owned()
    }

    /// The key of the only session.
    pub(crate) fn key(&self, cookie: &str) -> String {
        let page = self.get("/", cookie).body;
        let (_, rest) = page.split_once("data-key=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }
}

pub(crate) fn path_of(link: &str) -> &str {
    link.find("/login").and_then(|at| link.get(at..)).unwrap()
}

pub(crate) fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    Answer { status: status.unwrap_or_default(), headers: lines.filter_map(header).collect(), body: body.to_owned() }
}

pub(crate) fn write_session(dir: &Path, id: &str, at: usize, prompt: &str, cwd: &str) {
    let time = format!("2026-01-{:02}T{:02}:{:02}:00.000Z", 1 + at / 1440 % 28, at / 60 % 24, at % 60);
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":{},\"timestamp\":\"{time}\",\"cwd\":{}}}\n\
         {{\"type\":\"message\",\"id\":\"e1\",\"parentId\":null,\"timestamp\":\"{time}\",\"message\":{{\"role\":\"user\",\
         \"content\":{},\"timestamp\":{}}}}}\n",
        json(id),
        json(cwd),
        json(prompt),
        1_767_225_600_000_i64 + i64::try_from(at).unwrap() * 60_000,
    );
    std::fs::write(dir.join("sessions").join(format!("2026-01-01T00-00-00-000Z_s{at}.jsonl")), text).unwrap();
}

/// Replaces a file in one step. While `fs::write` replaces its content, the file is empty, and a server that looks at that
/// moment does not list the session.
pub(crate) fn replace(path: &Path, text: &str) {
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, text).unwrap();
    std::fs::rename(&temporary, path).unwrap();
}

pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

#[track_caller]
pub(crate) fn assert_headers(answer: &Answer) {
    assert_eq!(answer.header("content-security-policy"), POLICY, "{answer:?}");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(answer.header("access-control-allow-origin"), "");
    let caching = answer.header("cache-control");
    assert!(caching == "no-store" || caching == "private, max-age=31536000, immutable", "{caching}");
}
