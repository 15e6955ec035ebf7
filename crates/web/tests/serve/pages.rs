//! What pages show.

use std::fmt::Write as _;
use std::io::{Read, Write};

use crate::site::{Site, sessions_in, write_session};

#[test]
fn text_from_sessions_is_escaped() {
    let evil = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script> needle \u{202e}gnp";
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
    write_session(dir.path(), "<b>id</b>", 0, evil, "/p/<i>\"'&dir");
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
        write_session(dir.path(), &format!("s{at}"), at, prompt, "/p/project");
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
    write_session(site.dir.path(), "b", 7, "A new question", "/p/other");
    // Each change of the list is announced, so a client that reads the list after each event sees the change.
    while !site.get("/", &cookie).body.contains("A new question") {
        read_more();
    }
}
