//! Requests: methods, paths, sizes, writes, slow clients.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use sessile_web::serve::Options;

use crate::site::{Site, assert_headers, parse, sessions_in};

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
        ("/statuses", 200, "application/json"),
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
