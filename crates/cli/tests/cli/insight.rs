//! Lists and statistics over a team: by member, project and repository.

use super::syncing::with_server;
use super::team::{done, member};
use super::*;

/// An answer that costs something.
fn answer(id: &str, parent: &str, cost: f64) -> String {
    let usage = format!(
        r#"{{"input":100,"output":20,"cacheRead":3,"cacheWrite":4,"totalTokens":127,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":{cost}}}}}"#
    );
    let message = format!(
        r#""message":{{"role":"assistant","content":[{{"type":"text","text":"yes"}}],"provider":"p","model":"m","usage":{usage},"stopReason":"stop","timestamp":1735689602000}}"#
    );
    entry("message", id, Some(parent), &message)
}

/// Makes a directory a clone.
fn clone_at(directory: &Path, address: &str) {
    std::fs::create_dir_all(directory.join(".git")).unwrap();
    std::fs::write(directory.join(".git/config"), format!("[remote \"origin\"]\n\turl = {address}\n")).unwrap();
}

/// The keys of the groups, with sessions and cost.
fn groups(stats: &Value) -> Vec<(String, u64, f64)> {
    let group = |group: &Value| {
        (
            group["key"].as_str().unwrap().to_owned(),
            group["sessions"].as_u64().unwrap(),
            group["cost"].as_f64().unwrap(),
        )
    };
    stats["groups"].as_array().unwrap().iter().map(group).collect()
}

fn ids(list: &Value) -> Vec<String> {
    let mut ids: Vec<String> =
        list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn a_team_is_counted_by_member_project_and_repository() {
    let server = with_server();
    let ada = &server.0;
    // One session in a clone, one elsewhere.
    let clone = ada.dir.path().join("clone");
    clone_at(&clone, "git@host.example:team/site.git");
    let one = ada.session_dir().join("2025-01-01T00-00-00-000Z_s1.jsonl");
    let one = write_session(&one, clone.to_str().unwrap(), &[user("a", None, "one"), answer("b", "a", 2.0)]);
    let one = with_id(one, "s1");
    let two = with_id(
        ada.session("2025-01-02T00-00-00-000Z_s2.jsonl", &[user("c", None, "two"), answer("d", "c", 1.0)]),
        "s2",
    );
    age(&one);
    age(&two);
    done(ada, &["push", "--all"]);
    done(ada, &["remote", "projects", "--new", "website"]);
    let bob = member(ada, "bob");
    done(ada, &["remote", "grant", "bob", "--project", "website"]);
    done(ada, &["share", "s1", "--project", "website"]);
    done(ada, &["share", "s2", "--with", "bob"]);
    let his = with_id(
        bob.session("2025-01-03T00-00-00-000Z_s3.jsonl", &[user("e", None, "three"), answer("f", "e", 4.0)]),
        "s3",
    );
    age(&his);

    // Bob has fetched nothing.
    let all = |by: &str| done(&bob, &["stats", "--all", "--remote", "local", "--by", by, "--json"]).json();
    let stats = all("member");
    assert_eq!(groups(&stats), [("bob".to_owned(), 1, 4.0), ("me".to_owned(), 2, 3.0)], "{stats}");
    assert_eq!((stats["sessions"].as_u64(), stats["estimatedSessions"].as_u64()), (Some(3), Some(2)), "{stats}");
    assert_eq!((stats["cost"].as_f64(), stats["missingSessions"].is_null()), (Some(7.0), true), "{stats}");
    assert_eq!(stats["tokens"]["total"].as_f64(), Some(3.0 * 127.0), "{stats}");
    assert_eq!((stats["assistantMessages"].as_u64(), stats["totalMessages"].as_u64()), (Some(3), Some(6)), "{stats}");
    let repositories = [(String::new(), 2, 5.0), ("host.example/team/site".to_owned(), 1, 2.0)];
    assert_eq!(groups(&all("repository")), repositories);
    let projects = groups(&all("project"));
    assert!(projects.contains(&("website".to_owned(), 1, 2.0)), "{projects:?}");
    let shown = bob.run(&["stats", "--all", "--remote", "local", "--by", "member"]);
    assert!(shown.err.contains("2 sessions counted by what their owners noted"), "{}", shown.err);

    // What was not noted is not made up.
    let by_model = done(&bob, &["stats", "--all", "--remote", "local", "--by", "model", "--json"]).json();
    assert_eq!((by_model["sessions"].as_u64(), by_model["missingSessions"].as_u64()), (Some(1), Some(2)), "{by_model}");
    let later = done(&bob, &["stats", "--all", "--remote", "local", "--since", "1d", "--json"]).json();
    assert!(later["missingSessions"].is_null(), "older sessions are not missed: {later}");
    done(&bob, &["pull", "--all", "--team"]);
    let fetched = all("member");
    assert_eq!(groups(&fetched), groups(&stats));
    assert!(fetched["estimatedSessions"].is_null(), "{fetched}");
    for key in ["tokens", "totalMessages", "userMessages", "entries", "cost"] {
        assert_eq!(fetched[key], stats[key], "{key}");
    }

    // Ada's own sessions are hers, in her project, on her machine too.
    let hers = done(ada, &["stats", "--all", "--remote", "local", "--by", "project", "--json"]).json();
    assert!(groups(&hers).contains(&("website".to_owned(), 1, 2.0)), "{hers}");
    let local = done(ada, &["stats", "--all", "--by", "repository", "--json"]).json();
    assert!(groups(&local).contains(&("host.example/team/site".to_owned(), 1, 2.0)), "{local}");
    let refused = ada.run(&["stats", "--all", "--by", "member"]);
    assert!(refused.code == 2 && refused.err.contains("--by member needs --remote"), "{}", refused.err);
}

#[test]
fn lists_of_a_team_are_filtered() {
    let server = with_server();
    let ada = &server.0;
    let clone = ada.dir.path().join("clone");
    clone_at(&clone, "https://host.example/team/site");
    let name = "2025-01-01T00-00-00-000Z_s1.jsonl";
    let one = write_session(&ada.session_dir().join(name), clone.to_str().unwrap(), &[user("a", None, "word one")]);
    let one = with_id(one, "s1");
    let two = with_id(ada.session("2025-01-02T00-00-00-000Z_s2.jsonl", &[user("b", None, "word two")]), "s2");
    age(&one);
    age(&two);
    done(ada, &["push", "--all"]);
    let odd = "web\u{202e}site";
    done(ada, &["remote", "projects", "--new", odd]);
    let bob = member(ada, "bob");
    done(ada, &["remote", "grant", "bob", "--project", odd]);
    done(ada, &["share", "s1", "--project", odd]);
    done(ada, &["share", "s2", "--with", "bob"]);
    // Without a match, the code is 1.
    let list = |words: &[&str]| -> Value {
        let output = bob.run(&[&["list", "--all", "--remote", "local", "--json"], words].concat());
        serde_json::from_str(&output.out).unwrap()
    };
    assert_eq!(ids(&list(&[])), ["s1", "s2"]);
    let searches_are_filtered = |home: &Home| {
        for (words, expected) in [
            (&[][..], &["a", "b"][..]),
            (&["--project", odd], &["a"]),
            (&["--repository", "team/site"], &["a"]),
            (&["--repository", "other"], &[]),
            (&["--project", odd, "--repository", "other"], &[]),
        ] {
            let output = home.run(&[&["search", "word", "--all", "--remote", "local", "--json"], words].concat());
            let found: Value = serde_json::from_str(&output.out).unwrap();
            let mut found: Vec<&str> =
                found.as_array().unwrap().iter().map(|hit| hit["entryId"].as_str().unwrap()).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{words:?}");
        }
    };
    searches_are_filtered(&bob);
    searches_are_filtered(ada);
    let of_member = |member| bob.run(&["search", "word", "--all", "--remote", "local", "--member", member]).code;
    assert_eq!([of_member("me"), of_member("bob")], [0, 1]);
    assert_eq!(bob.run(&["search", "word", "--all", "--member", "me"]).code, 2, "it needs --remote");
    let of_project = list(&["--project", odd]);
    assert_eq!(ids(&of_project), ["s1"]);
    assert_eq!(of_project[0]["project"], odd);
    assert_eq!(of_project[0]["repository"], "host.example/team/site");
    for name in ["site", "team/site", "host.example/team/site", "git@host.example:team/site.git"] {
        assert_eq!(ids(&list(&["--repository", name])), ["s1"], "{name}");
    }
    assert_eq!(ids(&list(&["--repository", "other"])), Vec::<String>::new());
    assert_eq!(ids(&list(&["--project", "other"])), Vec::<String>::new());
    let lines = done(&bob, &["list", "--all", "--remote", "local", "--format", "{id} {project} {repository}"]).out;
    assert!(lines.contains("site host.example/team/site\n") && !lines.contains('\u{202e}'), "{lines:?}");
    assert_eq!(bob.run(&["list", "--all", "--project", odd]).code, 2, "it needs --remote");

    // Once fetched, rows say the same. Out of the project, they do not.
    done(&bob, &["pull", "--all", "--team"]);
    searches_are_filtered(&bob);
    let fetched = list(&["--project", odd]);
    assert_eq!((ids(&fetched), &fetched[0]["repository"]), (vec!["s1".to_owned()], &of_project[0]["repository"]));
    let mine = done(ada, &["list", "--all", "--remote", "local", "--project", odd, "--json"]).json();
    assert_eq!(ids(&mine), ["s1"], "an own session");
    done(ada, &["share", "s1", "--with", "bob"]);
    done(ada, &["share", "s1", "--no-project"]);
    assert_eq!(ids(&list(&["--project", odd])), Vec::<String>::new());
    assert_eq!(ids(&list(&[])), ["s1", "s2"]);
    let mine = ada.run(&["list", "--all", "--remote", "local", "--project", odd, "--json"]);
    assert_eq!(mine.out, "[]\n");
}
