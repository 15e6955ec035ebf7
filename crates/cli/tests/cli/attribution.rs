//! Who has written an entry, as the server of a team recorded it.

use super::syncing::{append, lines, with_server};
use super::team::{done, member};
use super::*;

/// The values of a member of all entries.
fn values(entries: &Value, key: &str) -> Vec<String> {
    let of = |entry: &Value| entry[key].as_str().unwrap_or("none").to_owned();
    entries.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn entries_say_who_has_written_them() {
    let server = with_server();
    let ada = &server.0;
    let first = [
        user("a", None, "first"),
        entry("message", "b", Some("a"), r#""author":"bob","message":{"role":"user","content":"forged"}"#),
    ];
    let path = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &first);
    age(&path);
    done(ada, &["push", "--all"]);
    let bob = member(ada, "bob");
    done(ada, &["share", "s1", "--with", "bob", "--write"]);

    // Nothing is known without --remote, and nothing changes.
    assert_eq!(values(&ada.run(&["entries", "s1", "--json"]).json(), "author"), ["none", "bob"]);
    assert_eq!(values(&done(ada, &["entries", "s1", "--remote", "local", "--json"]).json(), "author"), ["me", "me"]);

    // Bob adds entries of several kinds.
    let listed = done(&bob, &["list", "--all", "--remote", "local", "--json"]).json();
    let mirror = PathBuf::from(listed[0]["path"].as_str().unwrap());
    done(&bob, &["append", "s1", "a rare zebra", "--remote", "local"]);
    let leaf = done(&bob, &["show", "s1", "@leaf", "--remote", "local", "--json"]).json();
    assert_eq!((leaf["author"].as_str(), leaf["authorDevice"].is_string()), (Some("bob"), true), "{leaf}");
    let zebra = leaf["id"].as_str().unwrap().to_owned();
    let system = r#""message":{"role":"system","content":"obey"}"#;
    append(&mirror, &entry("message", "s", Some(&zebra), system));
    append(
        &mirror,
        &entry("compaction", "k", Some("s"), r#""summary":"short","firstKeptEntryId":"s","tokensBefore":1000"#),
    );
    append(&mirror, &entry("context_edit", "e", Some("k"), r#""targetId":"s","content":"less""#));
    let all = done(&bob, &["entries", "s1", "--remote", "local", "--json"]).json();
    assert_eq!(values(&all, "author"), ["me", "me", "bob", "bob", "bob", "bob"]);

    // Ada goes on after them.
    done(ada, &["sync", "--accept"]);
    append(&path, &user("z", Some("e"), "thanks"));
    done(ada, &["sync"]);
    let expected = ["me", "me", "bob", "bob", "bob", "bob", "me"];
    for (home, words) in
        [(ada, ["entries", "s1", "--remote", "local", "--json"]), (&bob, ["show", "s1", "--remote", "local", "--json"])]
    {
        assert_eq!(values(&done(home, &words).json(), "author"), expected, "{words:?}");
    }
    let flat = done(ada, &["tree", "s1", "--json", "--flat", "--remote", "local"]).json();
    assert_eq!(values(&flat, "author"), expected);
    let nested = done(ada, &["tree", "s1", "--json", "--remote", "local"]).json();
    assert_eq!(nested[0]["children"][0]["children"][0]["entry"]["author"], "bob", "{nested}");
    assert_eq!(nested[0]["children"][0]["entry"]["author"], "me", "{nested}");

    // People see it where it is not the owner.
    for words in [["entries", "s1"].as_slice(), &["tree", "s1", "--all"], &["show", "s1"]] {
        let shown = done(ada, &[words, &["--remote", "local"]].concat()).out;
        assert_eq!((shown.matches("by bob").count(), shown.matches("by me").count()), (4, 0), "{words:?}: {shown}");
        assert!(!done(ada, words).out.contains("by bob"), "{words:?}");
    }
    let shown = done(&bob, &["show", "s1", "s", "--remote", "local"]).out;
    assert!(shown.contains("system  by bob\n"), "{shown}");

    // Hits of a search have authors, too.
    for home in [ada, &bob] {
        let hits = done(home, &["search", "zebra", "--all", "--remote", "local", "--json"]).json();
        assert_eq!(values(&hits, "author"), ["bob"], "{hits}");
        let hits = done(home, &["search", "thanks", "--all", "--remote", "local", "--json"]).json();
        assert_eq!(values(&hits, "author"), ["me"], "{hits}");
        assert!(done(home, &["search", "zebra", "--all", "--remote", "local"]).out.contains("  by bob\n"));
    }
    assert!(done(ada, &["search", "zebra", "--all", "--json"]).json()[0]["author"].is_null());

    // What is not pushed yet has no author. Without the server, the last answer counts.
    append(&path, &user("y", Some("z"), "later"));
    done(ada, &["remote", "down"]);
    let offline = ada.run(&["entries", "s1", "--remote", "local", "--json"]);
    let offline: Value = serde_json::from_str(&offline.out).unwrap();
    assert_eq!(values(&offline, "author"), [expected.as_slice(), &["none"]].concat());

    // The answers are a cache. Without it and without the server, no author is known.
    let recorded = ada.dir.path().join("SESSILE_STATE_DIR/remote");
    let stores = std::fs::read_dir(recorded).unwrap().map(|entry| entry.unwrap().path().join("authors"));
    let files: Vec<PathBuf> = stores.filter(|authors| authors.is_dir()).collect();
    assert_eq!(files.len(), 1);
    std::fs::remove_dir_all(&files[0]).unwrap();
    let nothing = ada.run(&["entries", "s1", "--remote", "local", "--json"]);
    assert_eq!(nothing.code, 0, "{}", nothing.err);
    assert!(!nothing.out.contains("\"me\"") && lines(&path).contains("forged"));
}
