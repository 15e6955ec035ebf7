//! Secrets: scans, copies without them, and the mark of such copies.

use std::fs;

use sessile::redact::RedactOptions;
use sessile::settings::Settings;

use crate::site::{Answer, Site, assert_headers, replace, sessions_in};

/// Made up, in the format of a provider.
const KEY: &str = "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";
const RANDOM_PART: &str = "7Kq2vTz9LmNp4RsWb8YcD3fGh6Jk";
const FILE: &str = "sessions/2026-01-01T00-00-00-000Z_s0.jsonl";

fn site() -> (Site, String, String) {
    let site = Site::with(
        &[("a", &format!("in {}, with {KEY} and https://me:kR7-vQ2x9Lw@db.internal/x", "/home/alice"))],
        |it| it,
    );
    let cookie = site.sign_in();
    let key = site.key(&cookie);
    (site, cookie, key)
}

fn json(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[test]
fn names_of_files_hold_nothing_but_harmless_characters() {
    for (id, name) in [("x\"; filename=evil.exe;é/../y", "xfilenameevil.exe..y"), ("é", "session")] {
        let site = Site::with(&[(id, "hello")], |it| it);
        let cookie = site.sign_in();
        let key = site.key(&cookie);
        for (part, ending) in
            [("original", "jsonl"), ("copy?level=none&format=html", "html"), ("copy?level=none&format=md", "md")]
        {
            let answer = site.get(&format!("/s/{key}/{part}"), &cookie);
            assert_eq!(answer.status, 200, "{part}: {answer:?}");
            let expected = format!("attachment; filename=\"{name}.{ending}\"");
            assert_eq!(answer.header("content-disposition"), expected, "{part}");
        }
    }
}

#[test]
fn a_scan_names_entries_and_rules_but_no_value() {
    let (site, cookie, key) = site();
    let answer = site.get(&format!("/s/{key}/secrets"), &cookie);
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_headers(&answer);
    let found = json(&answer);
    assert_eq!((&found["certain"], &found["likely"], &found["entries"]), (&1.into(), &1.into(), &1.into()), "{found}");
    let first = &found["findings"][0];
    assert_eq!((&first["row"], &first["tier"]), (&1.into(), &"certain".into()), "{found}");
    assert_eq!((&first["masked"], &first["place"]), (&"gsk_…(52)".into(), &"/message/content".into()), "{found}");
    for value in [RANDOM_PART, "kR7-vQ2x9Lw"] {
        assert!(!answer.body.contains(value), "{}", answer.body);
    }
    assert_eq!(site.get("/s/none/secrets", &cookie).status, 404);
    assert_eq!(site.get(&format!("/s/{key}/secrets"), "").status, 401);
}

#[test]
fn copies_have_no_secrets_at_any_level_and_in_any_format() {
    let (site, cookie, key) = site();
    let before = fs::read(site.dir.path().join(FILE)).unwrap();
    for level in ["secrets", "paths", "pii", "outputs", "skeleton"] {
        for format in ["jsonl", "md", "html"] {
            let answer = site.get(&format!("/s/{key}/copy?level={level}&format={format}"), &cookie);
            assert_eq!(answer.status, 200, "{level} {format}: {answer:?}");
            assert_headers(&answer);
            let name = answer.header("content-disposition");
            assert!(name.starts_with("attachment; filename=\""), "{name}");
            assert!(name.ends_with(&format!("-redacted.{format}\"")), "{name}");
            assert!(!answer.header("content-type").starts_with("text/html"), "no browser shows it as a page of ours");
            assert!(!answer.body.contains(RANDOM_PART), "{level} {format}");
            assert!(answer.body.to_lowercase().contains("redacted"), "{level} {format} says what it is");
            if format == "jsonl" {
                assert_eq!(answer.body.contains("/home/alice"), level == "secrets", "{}", answer.body);
                assert_eq!(answer.body.contains("and https"), level != "skeleton", "{}", answer.body);
            }
        }
    }
    for format in ["md", "html"] {
        let answer = site.get(&format!("/s/{key}/copy?level=none&format={format}"), &cookie);
        assert_eq!(answer.status, 200, "{format}: {answer:?}");
        assert!(answer.header("content-disposition").ends_with(&format!(".{format}\"")), "{answer:?}");
        assert!(!answer.header("content-disposition").contains("redacted"), "{answer:?}");
        assert!(answer.body.contains(RANDOM_PART), "{format} has everything, a page also without JavaScript");
    }
    assert_eq!(fs::read(site.dir.path().join(FILE)).unwrap(), before);
    for (wrong, status) in
        [("level=none&format=jsonl", 400), ("level=secrets&format=exe", 400), ("", 400), ("level=&format=md", 400)]
    {
        let answer = site.get(&format!("/s/{key}/copy?{wrong}"), &cookie);
        assert_eq!(answer.status, status, "{wrong}: {answer:?}");
        assert!(!answer.body.contains(RANDOM_PART));
    }
    assert_eq!(site.get("/s/none/copy?level=secrets&format=md", &cookie).status, 404);
    assert_eq!(site.get(&format!("/s/{key}/copy?level=secrets&format=md"), "").status, 401);
}

#[test]
fn without_a_scan_there_is_no_result_and_no_copy() {
    let (site, cookie, key) = site();
    let scan = || site.get(&format!("/s/{key}/secrets"), &cookie);
    let copy = || site.get(&format!("/s/{key}/copy?level=secrets&format=jsonl"), &cookie);
    let config = Settings::path(sessions_in(site.dir.path()).environment()).unwrap();
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "[secrets.rules]\nbad = '('\n").unwrap();
    for answer in [scan(), copy()] {
        assert_eq!(answer.status, 500, "{answer:?}");
        assert_headers(&answer);
        assert!(json(&answer)["error"].as_str().unwrap().contains("the rule bad cannot be used"), "{answer:?}");
        assert!(!answer.body.contains("message"), "{answer:?}");
    }
    fs::remove_file(&config).unwrap();
    assert_eq!((scan().status, copy().status), (200, 200));

    // An id that is a secret stays in every copy, so there is none.
    let path = site.dir.path().join(FILE);
    let text = fs::read_to_string(&path).unwrap().replace("\"e1\"", &format!("\"{KEY}\""));
    replace(&path, &text);
    let refused = copy();
    assert_eq!(refused.status, 500, "{refused:?}");
    assert!(json(&refused)["error"].as_str().unwrap().contains("nothing was written"), "{refused:?}");
    assert!(!refused.body.contains(RANDOM_PART) && !scan().body.contains(RANDOM_PART));
}

#[test]
fn pages_mark_redacted_copies_and_imported_sessions() {
    let (site, cookie, _key) = site();
    let sessions = sessions_in(site.dir.path());
    let copy = site.dir.path().join("sessions/2026-01-01T00-00-00-000Z_copy.jsonl");
    assert!(!site.get("/", &cookie).body.contains(">redacted<"));
    sessions.export_redacted(site.dir.path().join(FILE), &RedactOptions::default(), &copy, false).unwrap();
    let imported = site.dir.path().join("sessions/2026-01-02T00-00-00-000Z_imported.jsonl");
    let text = std::fs::read_to_string(site.dir.path().join(FILE)).unwrap();
    std::fs::write(imported, text.replacen(r#""cwd":"#, r#""importedFrom":{"agent":"claude"},"cwd":"#, 1)).unwrap();
    let mut before = site;
    let dir = std::mem::replace(&mut before.dir, tempfile::tempdir().unwrap());
    drop(before);
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    let list = site.get("/", &cookie).body;
    assert_eq!(list.matches(">claude<").count(), 1, "{list}");
    assert_eq!(list.matches(">redacted<").count(), 1, "{list}");
    let rows: Vec<&str> = list.split("<li class=\"s\"").skip(1).collect();
    for row in rows {
        let key = row.split("data-key=\"").nth(1).unwrap().split('"').next().unwrap();
        let page = site.get(&format!("/s/{key}"), &cookie).body;
        assert_eq!(page.contains("This is a redacted copy of a session, made by sessile"), row.contains(">redacted<"));
    }
}
