//! Which hosts and sites are answered.

use crate::site::{Site, parse};

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
        for path in ["/", "/events", "/assets/style.css", "/login?token=1", "/s/x", "/s/x/events", "/statuses"] {
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
