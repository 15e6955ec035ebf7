//! `delete --everywhere`, `push --restore` and `verify --remote`, on a real PostgreSQL.

use std::process::{Command, Stdio};

use super::syncing::{another, append, lines, only_session, with_server};
use super::team::{done, member};
use super::*;

/// Runs a statement as the superuser of the server.
#[track_caller]
fn sql(home: &Home, statement: &str) -> String {
    let remote = home.run(&["remote", "--json"]).json();
    let (url, password) = (remote[0]["url"].as_str().unwrap(), remote[0]["passwordFile"].as_str().unwrap());
    let port = url.rsplit_once(':').unwrap().1.split('/').next().unwrap();
    let output = Command::new("psql")
        .args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1"])
        .args(["--host=127.0.0.1", &format!("--port={port}"), "--username=sessile_admin", "--dbname=sessile"])
        .args(["--command", statement])
        .env("PGPASSFILE", password)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The words after `undo` in a message.
#[track_caller]
fn operation_in(text: &str) -> String {
    text.split_once("undo ").unwrap().1.split('`').next().unwrap().to_owned()
}

#[test]
fn a_session_is_deleted_everywhere_and_restored() {
    let server = with_server();
    let one = &server.0;
    let here = one.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&here);
    let path = here.to_str().unwrap();
    done(one, &["sync", "--all"]);
    let two = another(one);
    done(&two, &["sync"]);
    let there = only_session(&two);
    let whole = lines(&here);

    // A plan changes nothing, and neither does a server that is down.
    let planned = one.run(&["delete", path, "--everywhere", "--dry-run"]);
    assert_eq!(planned.code, 0, "{}", planned.err);
    assert!(planned.out.contains("1 session would be deleted from the remote"), "{}", planned.out);
    let json = one.run(&["delete", path, "--everywhere", "--dry-run", "--json"]).json();
    assert_eq!((json["operation"].as_str(), json["sessions"][0]["everywhere"].as_bool()), (None, Some(true)), "{json}");
    done(one, &["remote", "down"]);
    let down = one.run(&["delete", path, "--everywhere", "--yes"]);
    assert!(down.code != 0 && down.err.contains("cannot reach"), "{}", down.err);
    done(one, &["remote", "up"]);
    assert!(here.exists() && sql(one, "select count(*) from sessile.session") == "1");
    let both = one.run(&["delete", path, "--everywhere", "--permanent", "--yes"]);
    assert!(both.code == 2 && here.exists(), "{}", both.err);

    // The other machine is offline and goes on.
    append(&there, &user("o", Some("d"), "written offline"));
    let deleted = one.run(&["delete", path, "--everywhere", "--yes"]);
    assert_eq!(deleted.code, 0, "{}", deleted.err);
    assert!(deleted.out.contains("1 session deleted from the remote"), "{}", deleted.out);
    let undo = operation_in(&deleted.out);
    assert!(!here.exists());
    for table in ["session", "line", "pack", "terms"] {
        assert_eq!(sql(one, &format!("select count(*) from sessile.{table}")), "0", "{table}");
    }
    let planned = two.run(&["sync", "--dry-run", "--json"]).json();
    assert_eq!((planned[0]["state"].as_str(), planned[0]["ownLines"].as_bool()), (Some("deleted"), Some(true)));
    assert!(there.exists());
    let followed = two.run(&["sync"]);
    assert_eq!(followed.code, 0, "{}", followed.err);
    assert!(followed.out.contains("it is in the trash now, with lines that only this machine has"), "{}", followed.out);
    assert!(!there.exists());
    let quiet = two.run(&["sync", "--all"]);
    assert_eq!((quiet.code, quiet.out.as_str()), (0, ""), "{}", quiet.err);

    // The file comes back here, and stays here.
    done(&two, &["undo", &operation_in(&followed.out)]);
    assert!(lines(&there).contains("written offline"));
    age(&there);
    for words in [["sync", "--all"].as_slice(), &["sync"]] {
        let left = two.run(words);
        assert_eq!(left.code, 0, "{}", left.err);
        assert!(left.out.contains("was deleted everywhere, so it is not pushed"), "{}", left.out);
        assert!(left.out.contains("push s1 --restore"), "{}", left.out);
    }
    let refused = two.run(&["push", "s1"]);
    assert!(refused.code == 1 && refused.out.contains("push s1 --restore"), "{}{}", refused.out, refused.err);
    assert_eq!(sql(one, "select count(*) from sessile.session"), "0");

    // Restored, it reaches the first machine, too.
    done(&two, &["push", "s1", "--restore"]);
    assert_eq!(sql(one, "select epoch from sessile.session"), "1");
    let acts = two.run(&["remote", "audit", "--json"]).json();
    let acts: Vec<&str> = acts.as_array().unwrap().iter().filter_map(|row| row["act"].as_str()).collect();
    assert!(acts.contains(&"bury") && acts.contains(&"restore"), "{acts:?}");
    done(one, &["sync"]);
    assert_eq!(lines(&here), lines(&there));
    assert!(lines(&here).starts_with(&whole));
    append(&here, &user("q", Some("o"), "goes on"));
    done(one, &["sync"]);
    done(&two, &["sync"]);
    assert_eq!(lines(&here), lines(&there));
    // What the first machine had in its trash is in the way of nothing.
    let again = one.run(&["undo", &undo]);
    assert!(again.code != 0 && lines(&here).contains("goes on"), "{}{}", again.out, again.err);
}

#[test]
fn a_colleague_keeps_what_was_read_and_cannot_delete() {
    let server = with_server();
    let ada = &server.0;
    let path = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&path);
    done(ada, &["push", "--all"]);
    let bob = member(ada, "bob");
    done(ada, &["share", "s1", "--with", "bob", "--write"]);
    done(&bob, &["entries", "s1", "--remote", "local", "--json"]);
    let listed = bob.run(&["list", "--all", "--remote", "local", "--json"]).json();
    let mirror = PathBuf::from(listed[0]["path"].as_str().unwrap());
    age(&mirror);
    let refused = bob.run(&["delete", mirror.to_str().unwrap(), "--everywhere", "--yes"]);
    assert!(refused.code != 0 && refused.err.contains("only its owner deletes it everywhere"), "{}", refused.err);
    assert_eq!(sql(ada, "select count(*) from sessile.session"), "1");

    let text = lines(&mirror);
    done(ada, &["delete", "s1", "--everywhere", "--yes"]);
    // What Bob has read stays with him, until he deletes it.
    let synced = done(&bob, &["sync"]);
    assert_eq!(synced.out, "", "{}", synced.out);
    done(&bob, &["entries", "s1", "--remote", "local", "--json"]);
    assert_eq!(lines(&mirror), text);
    done(&bob, &["delete", mirror.to_str().unwrap(), "--yes"]);
    assert_eq!(bob.run(&["list", "--all", "--remote", "local", "--json"]).out, "[]\n");
    // The same after a restoration: it is a new session, which Ada has not shared.
    done(ada, &["undo"]);
    age(&path);
    done(ada, &["push", "s1", "--restore"]);
    assert_eq!(bob.run(&["list", "--all", "--remote", "local", "--json"]).out, "[]\n");
    done(ada, &["share", "s1", "--with", "bob"]);
    done(&bob, &["entries", "s1", "--remote", "local", "--json"]);
    assert_eq!(lines(&mirror), lines(&path));
}

/// The codes and lines of the findings about a session.
#[track_caller]
fn findings(home: &Home, id: &str) -> Vec<(String, u64)> {
    let output = home.run(&["verify", "--remote", "local", "--json"]);
    let reports: Value = serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{}{}", output.out, output.err));
    let report = reports.as_array().unwrap().iter().find(|report| report["id"] == id).unwrap();
    let found: Vec<(String, u64)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["code"].as_str().unwrap().to_owned(), it["line"].as_u64().unwrap_or_default()))
        .collect();
    assert_eq!(
        output.code,
        i32::from(reports.as_array().unwrap().iter().any(|it| it["findings"] != Value::Array(vec![])))
    );
    found
}

#[test]
fn verify_names_what_is_wrong_on_the_remote() {
    let server = with_server();
    let one = &server.0;
    let here = one.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&here);
    done(one, &["sync", "--all"]);
    let sound = done(one, &["verify", "--remote", "local"]);
    let n_lines = lines(&here).lines().count();
    let words = format!("1 session, {n_lines} lines, 1 compared with this machine, no problems found\n");
    assert_eq!(sound.out, words);
    assert_eq!(done(one, &["verify", "s1", "--remote", "local"]).out, words);
    assert!(findings(one, "s1").is_empty());
    let none = one.run(&["verify", "none", "--remote", "local"]);
    assert!(none.code == 3 && none.err.contains("the remote has no session none"), "{}", none.err);
    assert_eq!(one.run(&["verify", "s1", "s1"]).code, 2);

    sql(one, "update sessile.line set codec = 0, data = '{\"type\":\"forged\"}' where seq = 2");
    assert_eq!(findings(one, "s1"), [("changed".to_owned(), 3)]);
    let shown = one.run(&["verify", "s1", "--remote", "local"]);
    assert!(shown.code == 1 && shown.out.contains("line 3: it is not the line that was pushed"), "{}", shown.out);
    assert!(!shown.out.contains("forged\""), "{}", shown.out);
    // All hashes are forged, too: a machine that has seen the lines knows, and a new one cannot.
    sql(
        one,
        "do $$ declare c bytea := '\\x00000000000000000000000000000000'; r record; begin \
         for r in select * from sessile.line order by seq loop \
           c := substring(sha256(c || convert_from(r.data, 'utf8')::bytea) from 1 for 16); \
           update sessile.line set chain = c where session = r.session and seq = r.seq; \
         end loop; update sessile.session set chain = c; end $$",
    );
    assert_eq!(findings(one, "s1"), [("forged".to_owned(), 3)]);
    let fresh = another(one);
    assert!(findings(&fresh, "s1").is_empty());
    sql(one, "delete from sessile.session");
    assert_eq!(findings(one, "s1"), [("gone".to_owned(), 0)]);
}
