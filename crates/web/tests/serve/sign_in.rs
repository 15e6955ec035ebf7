//! Signing in: links, tokens and secrets.

use std::io::{Read, Write};
use std::net::TcpStream;

use sessile_web::serve::{Options, Server};

use crate::site::{Site, assert_headers, parse, path_of, sessions_in};

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
        assert_eq!(
            (mode(".local/state/sessile/secrets"), mode(".local/state/sessile/secrets/serve-1")),
            (0o700, 0o600)
        );
    }
    // A damaged file is replaced.
    std::fs::write(dir.path().join(".local/state/sessile/secrets/serve-1"), "short").unwrap();
    assert_ne!(sessions.secret("serve-1").unwrap(), Some(secret));
}
