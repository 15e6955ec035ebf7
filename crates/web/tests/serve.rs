//! The server as its clients see it, over real sockets. No test depends on how long something takes.
#![cfg(feature = "serve")]
#![expect(clippy::disallowed_methods, reason = "tests write session files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sessile::time::Timestamp;
use sessile::{Environment, SessionId, Sessions, System};
use sessile_web::serve::{Options, Server};

/// A deadline that only a test that fails reaches.
const FOREVER: Duration = Duration::from_mins(1);

/// The real system with another home.
struct Home(PathBuf);

impl Environment for Home {
    fn now(&self) -> Timestamp {
        System.now()
    }
    fn entry_uuid(&self) -> String {
        System.entry_uuid()
    }
    fn session_uuid(&self) -> SessionId {
        System.session_uuid()
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn home(&self) -> PathBuf {
        self.0.clone()
    }
    fn current_dir(&self) -> PathBuf {
        self.0.clone()
    }
    fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.0.join("cache"))
    }
    fn state_dir(&self) -> Option<PathBuf> {
        Some(self.0.join("state"))
    }
    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}

/// A server of a store of its own.
struct Site {
    dir: tempfile::TempDir,
    server: Option<Server>,
    port: u16,
    links: Arc<Mutex<Vec<String>>>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.take().unwrap().stop();
    }
}

/// A response.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

fn sessions_in(dir: &Path) -> Sessions {
    Sessions::new(Home(dir.to_path_buf())).with_session_dir(dir.join("sessions"))
}

impl Site {
    fn new() -> Self {
        Self::with(&[("a", "Plan the trip")], |options| options)
    }

    /// A store with sessions of these ids and first prompts.
    fn with(sessions: &[(&str, &str)], change: impl FnOnce(Options) -> Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
        for (at, (id, prompt)) in sessions.iter().enumerate() {
            write_session(dir.path(), id, at, prompt, "/work/project");
        }
        Self::serve(dir, change)
    }

    fn serve(dir: tempfile::TempDir, change: impl FnOnce(Options) -> Options) -> Self {
        let links: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&links);
        let on_sign_in = Box::new(move |link: &str| seen.lock().unwrap().push(link.to_owned()));
        let options = change(Options { on_sign_in, ..Options::default() });
        let server = Server::start(sessions_in(dir.path()), options).unwrap();
        Self { dir, port: server.port(), server: Some(server), links }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(FOREVER)).unwrap();
        stream
    }

    /// Sends bytes and reads responses until the server closes the connection.
    fn raw(&self, bytes: &[u8]) -> String {
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

    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
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
    fn sign_in(&self) -> String {
        let link = self.server.as_ref().unwrap().link();
        let answer = self.ask("GET", path_of(&link), &[], "");
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.header("set-cookie").split_once(';').unwrap().0.to_owned()
    }

    fn get(&self, target: &str, cookie: &str) -> Answer {
        self.ask("GET", target, &[("Cookie", cookie)], "")
    }

    fn write_token(&self, cookie: &str) -> String {
        let answer = self.get("/api/token", cookie);
        let value: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        value["token"].as_str().unwrap().to_owned()
    }

    /// The key of the only session.
    fn key(&self, cookie: &str) -> String {
        let page = self.get("/", cookie).body;
        let (_, rest) = page.split_once("data-key=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }
}

fn path_of(link: &str) -> &str {
    link.find("/login").and_then(|at| link.get(at..)).unwrap()
}

fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    Answer { status: status.unwrap_or_default(), headers: lines.filter_map(header).collect(), body: body.to_owned() }
}

fn write_session(dir: &Path, id: &str, at: usize, prompt: &str, cwd: &str) {
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

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

#[track_caller]
fn assert_headers(answer: &Answer) {
    assert_eq!(answer.header("content-security-policy"), POLICY, "{answer:?}");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(answer.header("access-control-allow-origin"), "");
    let caching = answer.header("cache-control");
    assert!(caching == "no-store" || caching == "private, max-age=31536000, immutable", "{caching}");
}

#[test]
fn only_the_exact_host_is_answered() {
    let site = Site::new();
    let cookie = site.sign_in();
    let (port, other) = (site.port, site.port ^ 1);
    let refused = [
        // No host, or none that is ours.
        String::new(),
        " ".to_owned(),
        "attacker.com".to_owned(),
        format!("attacker.com:{port}"),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        "127.0.0.1:".to_owned(),
        "localhost:".to_owned(),
        "127.0.0.1:80".to_owned(),
        "127.0.0.1:0".to_owned(),
        format!("127.0.0.1:{other}"),
        format!("localhost:{other}"),
        format!(":{port}"),
        format!("{port}"),
        // Ports in other spellings.
        format!("127.0.0.1:0{port}"),
        format!("127.0.0.1:+{port}"),
        format!("127.0.0.1: {port}"),
        format!("127.0.0.1 :{port}"),
        format!("127.0.0.1:{port} x"),
        format!("127.0.0.1:{port}:{port}"),
        format!("127.0.0.1:{port}/"),
        format!("127.0.0.1:{port}#"),
        format!("127.0.0.1:{port}?"),
        format!("127.0.0.1:{port},attacker.com"),
        format!("127.0.0.1:{port}, 127.0.0.1:{port}"),
        format!("127.0.0.1:{}", u32::from(port) + 65_536),
        // Dots and cases.
        format!("127.0.0.1.:{port}"),
        format!("localhost.:{port}"),
        format!(".localhost:{port}"),
        format!("localhost..:{port}"),
        format!("LOCALHOST:{port}"),
        format!("Localhost:{port}"),
        // Names that resolve to this computer, or look like it.
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost.attacker.com:{port}"),
        format!("attacker.localhost:{port}"),
        format!("localhost.localdomain:{port}"),
        format!("ip6-localhost:{port}"),
        format!("localtest.me:{port}"),
        format!("xn--localhost:{port}"),
        format!("localhost%2e:{port}"),
        format!("%6cocalhost:{port}"),
        format!("127%2e0%2e0%2e1:{port}"),
        format!("localh\u{f6}st:{port}"),
        format!("\u{ff11}27.0.0.1:{port}"),
        // User information.
        format!("user@127.0.0.1:{port}"),
        format!("user:password@127.0.0.1:{port}"),
        format!("127.0.0.1:{port}@attacker.com"),
        format!("attacker.com@127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}"),
        format!("//127.0.0.1:{port}"),
        // Other addresses of this computer.
        format!("0.0.0.0:{port}"),
        format!("0:{port}"),
        format!("127.1:{port}"),
        format!("127.0.1:{port}"),
        format!("127.0.0.2:{port}"),
        format!("127.000.000.001:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f000001:{port}"),
        format!("0x7f.0.0.1:{port}"),
        format!("017700000001:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("127.0.0.1%00:{port}"),
        // IPv6, which the server does not listen on.
        "[::1]".to_owned(),
        format!("[::1]:{port}"),
        format!("::1:{port}"),
        format!("[0:0:0:0:0:0:0:1]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        format!("[::127.0.0.1]:{port}"),
        format!("[::1%25lo]:{port}"),
        format!("[::]:{port}"),
        format!("[127.0.0.1]:{port}"),
        // Separators of other protocols.
        format!("127.0.0.1:{port};"),
        format!("127.0.0.1:{port}\\"),
        format!("127.0.0.1\\@attacker.com:{port}"),
        format!("\"127.0.0.1:{port}\""),
        format!("127.0.0.1\t:{port}"),
    ];
    assert!(refused.len() >= 60, "{}", refused.len());
    for host in &refused {
        for path in ["/", "/events", "/assets/style.css", "/login?token=1", "/s/x"] {
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
            let answer = parse(&site.raw(request.as_bytes()));
            assert!([400, 403].contains(&answer.status), "{host:?} {path}: {answer:?}");
            assert!(!answer.body.contains("trip"), "{host:?}");
        }
    }
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
        assert_eq!(parse(&site.raw(request.as_bytes())).status, 200, "{host}");
    }
}

#[test]
fn requests_without_one_host_of_their_own_are_refused() {
    let site = Site::new();
    let (cookie, host) = (site.sign_in(), site.host());
    let rest = format!("Cookie: {cookie}\r\nConnection: close\r\n\r\n");
    for request in [
        format!("GET / HTTP/1.1\r\n{rest}"),
        format!("GET / HTTP/1.0\r\n{rest}"),
        format!("GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n{rest}"),
        format!("GET / HTTP/1.1\r\nHost: {host}\r\nHost: attacker.com\r\n{rest}"),
        format!("GET / HTTP/1.1\r\nHost: attacker.com\r\nHost: {host}\r\n{rest}"),
        format!("GET http://attacker.com/ HTTP/1.1\r\nHost: {host}\r\n{rest}"),
        format!("GET http://{host}/ HTTP/1.1\r\nHost: attacker.com\r\n{rest}"),
        format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{rest}"),
        format!("GET file:///etc/passwd HTTP/1.1\r\nHost: {host}\r\n{rest}"),
        format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{rest}"),
        format!("OPTIONS * HTTP/1.1\r\nHost: {host}\r\n{rest}"),
        format!("GET / HTTP/1.1\r\nHost : {host}\r\n{rest}"),
        format!("GET / HTTP/1.1\r\n Host: {host}\r\n{rest}"),
        format!("GET / HTTP/9.9\r\nHost: {host}\r\n{rest}"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(),
    ] {
        let text = site.raw(request.as_bytes());
        let answer = parse(&text);
        assert!(text.is_empty() || [400, 403].contains(&answer.status), "{request:?}: {text}");
        assert!(!text.contains("trip"), "{request:?}");
    }
    // An HTTP/1.0 client that names the host is fine.
    let old = site.raw(format!("GET / HTTP/1.0\r\nHost: {host}\r\n{rest}").as_bytes());
    assert_eq!(parse(&old).status, 200);
}

#[test]
fn a_link_signs_in_one_browser_once() {
    let site = Site::new();
    assert_eq!(site.ask("GET", "/", &[], "").status, 401);
    let link = site.server.as_ref().unwrap().link();
    assert!(link.starts_with(&format!("http://127.0.0.1:{}/login?token=", site.port)));
    // Neither a check of the link nor a page that loads it in advance uses it up.
    assert_eq!(site.ask("HEAD", path_of(&link), &[], "").status, 401);
    assert_eq!(site.ask("GET", path_of(&link), &[("Sec-Purpose", "prefetch")], "").status, 401);
    let image = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")];
    assert_eq!(site.ask("GET", path_of(&link), &image, "").status, 403);
    let answer = site.ask("GET", path_of(&link), &[], "");
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    assert_headers(&answer);
    let token = link.split_once("token=").unwrap().1;
    let cookie = answer.header("set-cookie").to_owned();
    let (pair, flags) = cookie.split_once("; ").unwrap();
    assert_eq!(flags, "HttpOnly; SameSite=Strict; Path=/");
    let value = pair.strip_prefix(&format!("sessile-{}=", site.port)).unwrap();
    assert_eq!(value.len(), 64);
    assert_ne!(value, token, "the link does not contain the cookie");
    // The link is used up, but a browser that is signed in just goes on.
    assert_eq!(site.ask("GET", path_of(&link), &[], "").status, 403);
    assert_eq!(site.get(path_of(&link), pair).header("location"), "/");
    let home = site.get("/", pair);
    assert_eq!(home.status, 200);
    assert!(!home.body.contains(token) && !home.body.contains(value));
    // A second browser has its own link.
    let links = site.links.lock().unwrap().clone();
    assert_eq!(links.len(), 1);
    assert_ne!(links[0], link);
    let second = site.ask("GET", path_of(&links[0]), &[], "");
    assert_eq!(second.status, 303);
    for cookie in [pair, second.header("set-cookie").split_once(';').unwrap().0] {
        assert_eq!(site.get("/", cookie).status, 200);
    }
}

#[test]
fn a_link_in_a_file_leads_to_a_page_of_the_site() {
    let site = Site::new();
    let link = site.server.as_ref().unwrap().link();
    let from_file = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    let answer = site.ask("GET", path_of(&link), &from_file, "");
    assert_eq!((answer.status, answer.header("refresh")), (200, "0; url=/"), "a redirect would not have the cookie");
    assert!(answer.header("set-cookie").contains("SameSite=Strict"));
    assert_headers(&answer);
}

#[test]
fn wrong_tokens_are_refused() {
    let site = Site::new();
    let cookie = site.sign_in();
    let (name, value) = cookie.split_once('=').unwrap();
    for wrong in [
        String::new(),
        name.to_owned(),
        format!("{name}="),
        format!("{name}={}", value.get(1..).unwrap()),
        format!("{name}={value}0"),
        format!("{name}={}", value.to_uppercase()),
        format!("{name}=\"{value}\""),
        format!("{name}={}", "0".repeat(64)),
        format!("other={value}"),
        format!("{name}1={value}"),
    ] {
        let answer = site.ask("GET", "/", &[("Cookie", &wrong)], "");
        assert_eq!(answer.status, 401, "{wrong:?}");
        assert!(!answer.body.contains("trip"));
        assert_headers(&answer);
    }
    for token in ["", "0", "%00", &"0".repeat(64), &"f".repeat(20_000), "../../etc", "a&token=b"] {
        let answer = site.ask("GET", &format!("/login?token={token}"), &[], "");
        assert_eq!((answer.status, answer.header("set-cookie")), (403, ""), "{token}");
    }
    // The right cookie among wrong ones of other programs counts, and so it does in a second header.
    assert_eq!(site.get("/", &format!("a=b; {name}=x; {cookie}")).status, 200);
    assert_eq!(site.ask("GET", "/", &[("Cookie", "a=b"), ("Cookie", &cookie)], "").status, 200);
}

#[test]
fn every_kind_of_response_has_the_headers() {
    let site = Site::new();
    let cookie = site.sign_in();
    let home = site.get("/", &cookie);
    let asset = |kind: &str| {
        let (_, rest) = home.body.split_once(&format!("/assets/{kind}-")).unwrap();
        format!("/assets/{kind}-{}", rest.split_once('"').unwrap().0)
    };
    let key = site.key(&cookie);
    let (style, script) = (asset("style"), asset("home"));
    for (target, status, kind) in [
        ("/", 200, "text/html; charset=utf-8"),
        ("/rows", 200, "text/html; charset=utf-8"),
        ("/search?q=trip", 200, "text/html; charset=utf-8"),
        ("/hits?q=trip", 200, "text/html; charset=utf-8"),
        ("/hits?q=re:(", 200, "text/html; charset=utf-8"),
        (&format!("/s/{key}"), 200, "text/html; charset=utf-8"),
        ("/s/none", 404, "text/html; charset=utf-8"),
        ("/nowhere", 404, "text/html; charset=utf-8"),
        ("/api/token", 200, "application/json"),
        ("/api/pin", 405, "text/html; charset=utf-8"),
        (&style, 200, "text/css; charset=utf-8"),
        (&script, 200, "text/javascript; charset=utf-8"),
        ("/assets/style.css", 404, "text/html; charset=utf-8"),
        ("/favicon.ico", 404, "text/html; charset=utf-8"),
    ] {
        let answer = site.get(target, &cookie);
        assert_eq!((answer.status, answer.header("content-type")), (status, kind), "{target}");
        assert_headers(&answer);
        let is_asset = target == style || target == script;
        assert_eq!(answer.header("cache-control") != "no-store", is_asset, "{target}");
        assert!(
            !answer.body.contains("<script>") && !answer.body.contains("<style") && !answer.body.contains(" style=")
        );
        let head = site.ask("HEAD", target, &[("Cookie", &cookie)], "");
        assert_eq!((head.status, head.body.as_str()), (status, ""), "HEAD {target}");
        assert_eq!(head.header("content-length"), answer.body.len().to_string(), "HEAD {target}");
        assert_headers(&head);
        // Nothing is there without a cookie, not even a style.
        assert_eq!(site.ask("GET", target, &[], "").status, 401, "{target}");
    }
}

#[test]
fn other_methods_are_refused() {
    let site = Site::new();
    let cookie = site.sign_in();
    for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "FOO"] {
        for target in ["/", "/api/pin", "/search"] {
            let answer = site.ask(method, target, &[("Cookie", &cookie)], "");
            assert_eq!(answer.status, 405, "{method} {target}");
            assert!(!answer.header("allow").is_empty());
            assert_headers(&answer);
        }
    }
    let preflight = [("Origin", "http://attacker.com"), ("Access-Control-Request-Method", "POST")];
    let answer = site.ask("OPTIONS", "/api/pin", &preflight, "");
    assert_eq!(answer.status, 403);
    assert_headers(&answer);
}

#[test]
fn requests_of_other_sites_are_refused() {
    let site = Site::new();
    let cookie = site.sign_in();
    for (header, value) in [
        ("Origin", "http://attacker.com"),
        ("Origin", "null"),
        ("Origin", ""),
        ("Origin", &format!("https://{}", site.host())),
        ("Origin", &format!("http://localhost:{}", site.port)),
        ("Origin", &format!("http://127.0.0.1:{}", site.port ^ 1)),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "nonsense"),
    ] {
        for target in ["/", "/events", "/hits?q=trip"] {
            let answer = site.ask("GET", target, &[("Cookie", &cookie), (header, value)], "");
            assert_eq!(answer.status, 403, "{header}: {value}");
            assert!(!answer.body.contains("trip"));
        }
    }
    for value in ["same-origin", "none"] {
        assert_eq!(site.ask("GET", "/", &[("Cookie", &cookie), ("Sec-Fetch-Site", value)], "").status, 200);
    }
}

#[test]
fn writes_need_json_the_origin_and_the_token() {
    let site = Site::new();
    let cookie = site.sign_in();
    let (token, key) = (site.write_token(&cookie), site.key(&cookie));
    let origin = format!("http://{}", site.host());
    let right = [
        ("Cookie", cookie.as_str()),
        ("Origin", &origin),
        ("Content-Type", "application/json"),
        ("X-Sessile-Token", &token),
    ];
    let body = format!("{{\"key\":\"{key}\",\"pinned\":true}}");
    let without = |name: &str| right.iter().filter(|(known, _)| *known != name).copied().collect::<Vec<_>>();
    let with = |name: &'static str, value: &'static str| [without(name), vec![(name, value)]].concat();
    for (headers, status) in [
        (without("Cookie"), 401),
        (without("Origin"), 403),
        (with("Origin", "null"), 403),
        (with("Origin", "http://attacker.com"), 403),
        (without("Content-Type"), 415),
        (with("Content-Type", "text/plain"), 415),
        (with("Content-Type", "application/x-www-form-urlencoded"), 415),
        (with("Content-Type", "multipart/form-data; boundary=x"), 415),
        (with("Content-Type", "text/plain; application/json"), 415),
        (without("X-Sessile-Token"), 403),
        (with("X-Sessile-Token", "0"), 403),
        ([right.to_vec(), vec![("Sec-Fetch-Site", "same-site")]].concat(), 403),
    ] {
        let answer = site.ask("POST", "/api/pin", &headers, &body);
        assert_eq!(answer.status, status, "{headers:?}");
        assert_headers(&answer);
    }
    let sessions = sessions_in(site.dir.path());
    assert!(sessions.pins().is_empty());
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        ("{\"key\":1,\"pinned\":true}", 400),
        ("{\"key\":\"none\",\"pinned\":true}", 404),
        ("{\"key\":\"../../etc/passwd\",\"pinned\":true}", 404),
    ] {
        assert_eq!(site.ask("POST", "/api/pin", &right, body).status, status, "{body}");
    }
    assert!(sessions.pins().is_empty());
    assert_eq!(site.ask("POST", "/api/pin", &right, &body).status, 200);
    assert_eq!(sessions.pins().into_iter().collect::<Vec<_>>(), ["a"]);
    assert!(site.get("/", &cookie).body.contains("pinned"));
    assert_eq!(site.ask("POST", "/", &right, &body).status, 405);
}

#[test]
fn a_read_only_server_refuses_writes() {
    let site = Site::with(&[("a", "Plan the trip")], |options| Options { is_read_only: true, ..options });
    let cookie = site.sign_in();
    let (token, key) = (site.write_token(&cookie), site.key(&cookie));
    let origin = format!("http://{}", site.host());
    let headers = [
        ("Cookie", cookie.as_str()),
        ("Origin", &origin),
        ("Content-Type", "application/json"),
        ("X-Sessile-Token", &token),
    ];
    let answer = site.ask("POST", "/api/pin", &headers, &format!("{{\"key\":\"{key}\",\"pinned\":true}}"));
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("read-only"));
    assert!(sessions_in(site.dir.path()).pins().is_empty());
    assert!(!site.get("/", &cookie).body.contains("class=\"pin\""));
}

#[test]
fn no_path_leads_out_of_the_store() {
    let site = Site::new();
    std::fs::write(
        site.dir.path().join("secret.jsonl"),
        "{\"type\":\"session\",\"id\":\"x\",\"cwd\":\"/top-secret\"}\n",
    )
    .unwrap();
    let cookie = site.sign_in();
    let key = site.key(&cookie);
    let absolute = site.dir.path().join("secret.jsonl").display().to_string();
    for target in [
        "/s/",
        "/s/..",
        "/s/../../etc/passwd",
        "/s/..%2f..%2fsecret.jsonl",
        "/s/%2e%2e/secret.jsonl",
        "/s/%2e%2e%2fsecret.jsonl",
        "/s/..%5c..%5csecret.jsonl",
        "/s/secret.jsonl",
        "/s/%00",
        &format!("/s/{key}%00"),
        &format!("/s/{key}/../{key}x"),
        "/s/%c0%ae%c0%ae%c0%afsecret.jsonl",
        "/s/%ff",
        "/s/*",
        "/s/%2a",
        &format!("/s/{}", absolute.replace('/', "%2f")),
        &format!("/s/{absolute}"),
        "//etc/passwd",
        "/assets/../secret.jsonl",
        "/assets/..%2fstyle.css",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
    ] {
        let answer = site.get(target, &cookie);
        assert!([400, 404].contains(&answer.status), "{target}: {}", answer.status);
        assert!(!answer.body.contains("top-secret") && !answer.body.contains("root:"), "{target}");
        assert_headers(&answer);
    }
    assert_eq!(site.get(&format!("/s/{key}"), &cookie).status, 200);
}

#[test]
fn large_requests_are_refused() {
    let site = Site::new();
    let cookie = site.sign_in();
    let token = site.write_token(&cookie);
    let host = site.host();
    let head = format!("Host: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n");
    let long = "x".repeat(100_000);
    let many: String = (0..1000).fold(String::new(), |mut out, at| {
        write!(out, "X-{at}: 1\r\n").unwrap();
        out
    });
    for request in [
        format!("GET /?q={long} HTTP/1.1\r\n{head}\r\n"),
        format!("GET / HTTP/1.1\r\n{head}X-Long: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{head}{many}\r\n"),
    ] {
        let text = site.raw(request.as_bytes());
        assert!(text.is_empty() || [400, 414, 431].contains(&parse(&text).status), "{text:.200}");
    }
    let write =
        format!("{head}Origin: http://{host}\r\nContent-Type: application/json\r\nX-Sessile-Token: {token}\r\n");
    let body = "1".repeat(2 << 20);
    let announced = format!("POST /api/pin HTTP/1.1\r\n{write}Content-Length: 1073741824\r\n\r\n");
    assert_eq!(parse(&site.raw(announced.as_bytes())).status, 413);
    let chunked = format!(
        "POST /api/pin HTTP/1.1\r\n{write}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let text = site.raw(chunked.as_bytes());
    assert!(text.is_empty() || parse(&text).status == 413, "{text:.200}");
    // Two lengths could hide a second request.
    for lengths in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: -1\r\n",
    ] {
        let request = format!("POST /api/pin HTTP/1.1\r\n{write}{lengths}\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n");
        let text = site.raw(request.as_bytes());
        assert!(!text.contains("200 OK"), "{text}");
    }
    assert_eq!(site.get("/", &cookie).status, 200);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let site = Site::new();
    let cookie = site.sign_in();
    let host = site.host();
    let one =
        |target: &str, last: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n{last}\r\n");
    let requests = format!("{}{}{}", one("/api/token", ""), one("/nowhere", ""), one("/s/x", "Connection: close\r\n"));
    let text = site.raw(requests.as_bytes());
    let statuses: Vec<&str> =
        text.match_indices("HTTP/1.1 ").map(|(at, _)| text.get(at + 9..at + 12).unwrap()).collect();
    assert_eq!(statuses, ["200", "404", "404"]);
    // The cookie of one request does not count for the next one of the connection.
    let bare = format!("{}GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", one("/api/token", ""));
    let text = site.raw(bare.as_bytes());
    assert!(text.contains("HTTP/1.1 401"), "{text}");
}

#[test]
fn slow_clients_hold_up_no_other() {
    let sessions: Vec<(String, String)> =
        (0..100).map(|at| (format!("s{at}"), format!("Prompt {at} {}", "x".repeat(400)))).collect();
    let sessions: Vec<(&str, &str)> = sessions.iter().map(|(id, prompt)| (id.as_str(), prompt.as_str())).collect();
    let site = Site::with(&sessions, |options| Options { write_timeout: Duration::from_millis(200), ..options });
    let cookie = site.sign_in();
    // Clients that never finish their requests.
    let unfinished: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = site.connect();
            stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\nX-A: ", site.host()).as_bytes()).unwrap();
            stream
        })
        .collect();
    // A client that asks for much and reads nothing.
    let mut greedy = site.connect();
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", site.host());
    greedy.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    for _ in 0..1000 {
        if greedy.write_all(request.as_bytes()).is_err() {
            break;
        }
    }
    for _ in 0..5 {
        assert_eq!(site.get("/", &cookie).status, 200);
    }
    // The server gives up on it and closes the connection, although it was never read.
    let is_open = |stream: &mut TcpStream| match stream.write_all(b"x") {
        Ok(()) => true,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    while is_open(&mut greedy) {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(unfinished);
}

#[test]
fn text_from_sessions_is_escaped() {
    let evil = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script> needle \u{202e}gnp";
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
    write_session(dir.path(), "<b>id</b>", 0, evil, "/work/<i>\"'&dir");
    let path = dir.path().join("sessions/2026-01-01T00-00-00-000Z_s0.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    let name = serde_json::to_string(&format!("{evil} name")).unwrap();
    writeln!(
        text,
        "{{\"type\":\"message\",\"id\":\"\\\"><script>id\",\"parentId\":\"e1\",\"timestamp\":\"2026-01-01T00:01:00.000Z\",\
         \"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":{name}}}],\
         \"provider\":\"<u>\",\"model\":\"<u>m</u>\",\"timestamp\":1767225660000}}}}\n\
         {{\"type\":\"session_info\",\"id\":\"e3\",\"parentId\":\"e1\",\"timestamp\":\"2026-01-01T00:02:00.000Z\",\"name\":{name}}}"
    )
    .unwrap();
    std::fs::write(&path, text).unwrap();
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    let key = site.key(&cookie);
    for target in [
        "/",
        "/?group=project&sort=family",
        "/?q=%3Cscript%3Ealert(3)%3C/script%3E&since=%22%3E%3Cscript%3E&sort=%3Cscript%3E&project=%22%3E%3Cscript%3E",
        "/search?q=needle",
        "/search?q=%22%3E%3Cscript%3Ealert(4)&role=%3Cscript%3E",
        "/search?q=re:%3Cscript%3E(",
        "/hits?q=needle",
        "/hits?q=script",
        &format!("/s/{key}"),
    ] {
        let answer = site.get(target, &cookie);
        assert_eq!(answer.status, 200, "{target}");
        let own = ["type=\"module\" src=\"/assets/", "src=\"/assets/", "id=\"index\" type=\"application/json\">"];
        let body = own.iter().fold(answer.body, |body, own| body.replace(&format!("<script {own}"), ""));
        for raw in ["<script", "<img", "<b>", "<i>", "<u>", "\u{202e}", "onerror=alert(1)>"] {
            assert!(!body.contains(raw), "{target} has {raw}: {body}");
        }
    }
    let hits = site.get("/hits?q=needle", &cookie).body;
    assert!(hits.contains("<mark>needle</mark>") && hits.contains("&lt;img"), "{hits}");
    assert!(hits.contains(&format!("/s/{key}#entry-")), "{hits}");
}

#[test]
fn the_list_is_filtered_sorted_and_paged() {
    let sessions: Vec<(String, String)> =
        (0..250).map(|at| (format!("s{at}"), format!("Prompt number {at}"))).collect();
    let sessions: Vec<(&str, &str)> = sessions.iter().map(|(id, prompt)| (id.as_str(), prompt.as_str())).collect();
    let site = Site::with(&sessions, |options| options);
    let cookie = site.sign_in();
    let rows = |target: &str| site.get(target, &cookie).body.matches("<li class=\"s\"").count();
    while site.get("/", &cookie).body.contains("still reading") {}
    let page = site.get("/", &cookie).body;
    assert_eq!(page.matches("<li class=\"s\"").count(), 100);
    assert!(page.contains("href=\"/?from=100\" rel=\"next\""));
    assert!(page.find("number 249<").unwrap() < page.find("number 248<").unwrap());
    assert_eq!(["/?from=100", "/?from=200", "/?from=999999", "/?from=-1"].map(rows), [100, 50, 0, 100]);
    assert_eq!(["/rows?n=1000", "/rows?n=0", "/rows?n=7&from=245"].map(rows), [200, 1, 5]);
    assert!(site.get("/rows?from=100&q=number", &cookie).body.contains("href=\"/?q=number&amp;from=200\""));
    assert_eq!(["/?q=number+249", "/?q=PROMPT+24", "/?q=s12&n=200", "/?q=nothing"].map(rows), [1, 13, 11, 0]);
    assert_eq!(["/?since=today", "/?archived=only", "/?project=none", "/?archived=all"].map(rows), [0, 0, 0, 100]);
    for sort in ["family", "created", "messages", "cost", "size", "name", "unknown"] {
        assert_eq!(rows(&format!("/?sort={sort}&group=project&from=200")), 50, "{sort}");
    }
    assert_eq!(site.get("/rows?group=project", &cookie).body.matches("class=\"group\"").count(), 1);
    assert_eq!(site.get("/rows?group=project&from=100", &cookie).body.matches("class=\"group\"").count(), 0);
}

#[test]
fn the_list_has_families_pins_and_archived_sessions() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
    for (at, prompt) in ["Parent", "Fork", "Other", "Old"].iter().enumerate() {
        write_session(dir.path(), &format!("s{at}"), at, prompt, "/work/project");
    }
    let path = |at: usize| dir.path().join(format!("sessions/2026-01-01T00-00-00-000Z_s{at}.jsonl"));
    let parent = serde_json::to_string(path(0).to_str().unwrap()).unwrap();
    let fork = std::fs::read_to_string(path(1)).unwrap();
    std::fs::write(path(1), fork.replacen("\"cwd\"", &format!("\"parentSession\":{parent},\"cwd\""), 1)).unwrap();
    let sessions = sessions_in(dir.path());
    sessions.open(path(3)).unwrap().set_archived(None, true).unwrap();
    sessions.pin(&"s2".into(), true).unwrap();
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    let titles = |target: &str| {
        let page = site.get(target, &cookie).body;
        let titles = page.split("class=\"title\"").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1));
        titles.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(titles("/"), "Other Fork Parent", "pinned sessions come first");
    assert_eq!(titles("/?sort=family"), "Other Parent Fork");
    assert_eq!(titles("/?archived=only"), "Old");
    assert_eq!(titles("/?archived=all&sort=created"), "Other Old Fork Parent");
    let page = site.get("/?sort=family", &cookie).body;
    assert_eq!(page.matches("data-depth=\"1\"").count(), 1);
    // A search leaves archived sessions out, too.
    assert!(site.get("/hits?q=old", &cookie).body.contains("Nothing found"));
    assert!(site.get("/hits?q=old&archived=all", &cookie).body.contains("<mark>Old</mark>"));
    assert!(site.get("/hits?q=parent&role=user", &cookie).body.contains("<mark>Parent</mark>"));
    assert!(site.get("/hits?q=parent&role=assistant", &cookie).body.contains("Nothing found"));
    assert!(site.get("/hits?q=parent&since=today", &cookie).body.contains("Nothing found"));
    assert!(site.get("/hits?q=parent&project=none", &cookie).body.contains("Nothing found"));
}

#[test]
fn the_list_follows_the_store() {
    let site = Site::new();
    let cookie = site.sign_in();
    let mut events = site.connect();
    let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", site.host());
    events.write_all(request.as_bytes()).unwrap();
    let mut read = String::new();
    let mut read_more = || {
        let mut piece = [0; 4096];
        let n = events.read(&mut piece).unwrap();
        assert_ne!(n, 0, "the stream ended");
        read.push_str(&String::from_utf8_lossy(&piece[..n]));
        read.clone()
    };
    while !read_more().contains("event: list\ndata: ") {}
    write_session(site.dir.path(), "b", 7, "A new question", "/work/other");
    // Each change of the list is announced, so a client that reads the list after each event sees the change.
    while !site.get("/", &cookie).body.contains("A new question") {
        read_more();
    }
}

#[test]
fn a_server_with_the_same_secret_knows_its_browsers() {
    let site = Site::with(&[("a", "Plan the trip")], |options| Options { secret: Some([7; 32]), ..options });
    let (cookie, token) = (site.sign_in(), site.write_token(&site.sign_in()));
    let sessions = sessions_in(site.dir.path());
    let port = site.port;
    drop(site);
    let options = Options { port: Some(port), secret: Some([7; 32]), ..Options::default() };
    let server = Server::start(sessions, options).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request =
        format!("GET /api/token HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(parse(&text).status, 200);
    assert!(!text.contains(&token), "each start has its own write token");
    server.stop();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the port is closed");
}

#[test]
fn secrets_are_kept_in_files_of_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions_in(dir.path());
    let secret = sessions.secret("serve-1").unwrap().unwrap();
    assert_eq!(sessions.secret("serve-1").unwrap(), Some(secret));
    assert_ne!(sessions.secret("serve-2").unwrap(), Some(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| std::fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("state/secrets"), mode("state/secrets/serve-1")), (0o700, 0o600));
    }
    // A damaged file is replaced.
    std::fs::write(dir.path().join("state/secrets/serve-1"), "short").unwrap();
    assert_ne!(sessions.secret("serve-1").unwrap(), Some(secret));
}
