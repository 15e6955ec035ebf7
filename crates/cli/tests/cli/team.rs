//! A team: members that share sessions through a remote.

use std::os::unix::fs::PermissionsExt;

use super::syncing::{append, lines, with_server};
use super::*;

/// Runs a command that must succeed.
#[track_caller]
pub(super) fn done(home: &Home, words: &[&str]) -> CommandOutput {
    let output = home.run(words);
    assert_eq!(output.code, 0, "{words:?}: {}", output.err);
    output
}

/// Another member of the same server, on a machine of its own.
pub(super) fn member(first: &Home, name: &str) -> Home {
    let home = Home::new();
    let password = home.dir.path().join("password");
    let password = password.to_str().unwrap();
    done(first, &["remote", "grant", name, "--password-file", password]);
    let url =
        first.run(&["remote", "--json"]).json()[0]["url"].as_str().unwrap().replace("//me@", &format!("//{name}@"));
    done(&home, &["remote", "add", "local", &url, "--password-file", password]);
    home
}

#[test]
fn a_colleague_reads_what_was_shared() {
    let server = with_server();
    let ada = &server.0;
    let path = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&path);
    done(ada, &["push", "--all"]);
    let bob = member(ada, "bob");
    assert_eq!(bob.run(&["list", "--all", "--remote", "local", "--json"]).out, "[]\n");
    done(ada, &["share", "s1", "--with", "bob"]);

    // The list comes from the server alone.
    let listed = bob.run(&["list", "--all", "--remote", "local", "--json"]).json();
    assert_eq!((listed[0]["id"].as_str(), listed[0]["member"].as_str()), (Some("s1"), Some("me")), "{listed}");
    let mirror = PathBuf::from(listed[0]["path"].as_str().unwrap());
    assert!(!mirror.exists() && mirror.starts_with(bob.dir.path().join("SESSILE_STATE_DIR/remote")));
    assert_eq!(bob.run(&["list", "--all", "--json"]).out, "[]\n", "only with --remote");
    let shown = bob.run(&["list", "--all", "--remote", "local"]);
    assert!(shown.out.contains("[me] "), "{}", shown.out);

    // Opening fetches, also by the position in the list and by the path that it printed.
    for word in ["@1", mirror.to_str().unwrap()] {
        let refused = bob.run(&["entries", word]);
        assert!(refused.code != 0 && !mirror.exists(), "{}", refused.err);
        assert!(refused.err.contains("is not on this machine yet\nhint: `--remote NAME` fetches"), "{}", refused.err);
    }
    let entries = bob.run(&["entries", "@1", "--remote", "local", "--json"]).json();
    assert_eq!(entries.as_array().unwrap().len(), lines(&path).lines().count());
    std::fs::remove_file(&mirror).unwrap();
    done(&bob, &["entries", mirror.to_str().unwrap(), "--remote", "local"]);
    let entries = bob.run(&["entries", "s1", "--remote", "local", "--json"]).json();
    assert_eq!(entries.as_array().unwrap().len(), lines(&path).lines().count());
    assert_eq!(lines(&mirror), lines(&path));
    assert_eq!(std::fs::metadata(&mirror).unwrap().permissions().mode() & 0o777, 0o600);

    // What Ada adds comes with the next look.
    append(&path, &user("h", Some("d"), "a rare zebra"));
    done(ada, &["sync"]);
    done(&bob, &["entries", "s1", "--remote", "local", "--json"]);
    assert_eq!(lines(&mirror), lines(&path));

    // Bob may not write: his own entry stays here.
    done(&bob, &["append", "s1", "mine", "--remote", "local"]);
    let log = lines(&path);
    done(ada, &["sync"]);
    assert_eq!(lines(&path), log);
    assert!(lines(&mirror).contains("mine"));

    // Without the server, Bob has what he has.
    done(ada, &["remote", "down"]);
    let offline = bob.run(&["list", "--all", "--remote", "local", "--json"]);
    assert_eq!(offline.code, 0, "{}", offline.err);
    let listed: Value = serde_json::from_str(&offline.out).unwrap();
    assert_eq!(listed[0]["id"].as_str(), Some("s1"));
    assert!(offline.err.contains("using what is known of local"), "{}", offline.err);
}

#[test]
fn hostile_text_of_a_colleague_is_printed_harmlessly() {
    let server = with_server();
    let ada = &server.0;
    let path = super::hostile::hostile_session(ada);
    age(&path);
    let id = ada.json(&["info", "--json"], &path)["id"].as_str().unwrap().to_owned();
    done(ada, &["push", "--all", "--allow-secrets", "--json"]);
    let project = "p\u{202e}x";
    done(ada, &["remote", "projects", "--new", project]);
    let bob = member(ada, "bob");
    done(ada, &["share", &id, "--with", "bob"]);
    let everywhere = ["list", "--all", "--remote", "local"];
    for (home, words) in [
        (ada, ["sync", "--json"].as_slice()),
        (ada, &["sync"]),
        (ada, &["remote", "--json"]),
        (ada, &["remote", "status"]),
        (ada, &["remote", "members"]),
        (ada, &["remote", "members", "--json"]),
        (ada, &["remote", "projects"]),
        (ada, &["remote", "projects", "--json"]),
        (ada, &["remote", "audit"]),
        (ada, &["remote", "audit", "--json"]),
        (ada, &["share", &id]),
        (ada, &["share", &id, "--json"]),
        (ada, &["verify", "--remote", "local"]),
        (ada, &["verify", "--remote", "local", "--json"]),
        (ada, &["delete", &id, "--everywhere", "--dry-run"]),
        (&bob, &everywhere),
        (&bob, &[everywhere.as_slice(), &["--json"]].concat()),
        (&bob, &["entries", &id, "--remote", "local"]),
        (&bob, &["search", "a", "--all", "--remote", "local"]),
        (&bob, &["pull", "--all", "--team", "--json"]),
    ] {
        let output = home.run(words);
        assert!(output.code <= 1, "{words:?}: {}", output.err);
        for printed in [&output.out, &output.err] {
            let is_harmful = |char: &char| *char != '\n' && sessile::format::display_control::affects_display(*char);
            let harmful: Vec<char> = printed.chars().filter(is_harmful).collect();
            assert!(harmful.is_empty(), "{words:?} prints {harmful:?}");
        }
    }
}
