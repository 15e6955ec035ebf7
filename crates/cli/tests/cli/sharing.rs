//! Members of a remote who share sessions, on a real PostgreSQL.

use std::os::unix::fs::PermissionsExt;

use super::syncing::{Running, with_server};
use super::*;

/// The address of the only remote, for another user.
fn url_of(home: &Home, user: &str) -> String {
    let url = home.run(&["remote", "--json"]).json()[0]["url"].as_str().unwrap().to_owned();
    url.replacen("me@", &format!("{user}@"), 1)
}

fn password_file(home: &Home) -> String {
    home.run(&["remote", "--json"]).json()[0]["passwordFile"].as_str().unwrap().to_owned()
}

/// A machine that administers the store.
#[track_caller]
fn administrator(server: &Running) -> Home {
    let home = Home::new();
    let added = home.run(&[
        "remote",
        "add",
        "work",
        &url_of(&server.0, "sessile_admin"),
        "--password-file",
        &password_file(&server.0),
    ]);
    assert_eq!(added.code, 0, "{}", added.err);
    assert!(added.out.contains("\nrights   administrator\n"), "{}", added.out);
    home
}

/// The machine of a new member.
#[track_caller]
fn member(server: &Running, admin: &Home, name: &str) -> Home {
    let home = Home::new();
    let file = home.dir.path().join("password");
    let file = file.to_str().unwrap();
    let granted = admin.run(&["remote", "grant", name, "--password-file", file, "--json"]);
    assert_eq!(granted.code, 0, "{}", granted.err);
    let json = granted.json();
    assert_eq!((json["member"].as_str(), json["passwordFile"].as_str()), (Some(name), Some(file)));
    let password = std::fs::read_to_string(file).unwrap();
    assert!(password.trim().len() == 48 && !(granted.out + &granted.err).contains(password.trim()));
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let added = home.run(&["remote", "add", "work", &url_of(&server.0, name), "--password-file", file]);
    assert_eq!(added.code, 0, "{}", added.err);
    home
}

/// The number of sessions of a member that the user of a machine sees.
#[track_caller]
fn n_seen(home: &Home, of: &str) -> u64 {
    let members = home.run(&["remote", "members", "--json"]).json();
    let member = members.as_array().unwrap().iter().find(|member| member["name"] == of);
    member.unwrap()["sessions"].as_u64().unwrap()
}

#[test]
fn members_share_sessions() {
    let server = with_server();
    let admin = administrator(&server);
    let (ada, bob) = (member(&server, &admin, "ada"), member(&server, &admin, "bob"));
    let session = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&session);
    let session = session.to_str().unwrap();

    let early = ada.run(&["share", session, "--with", "bob"]);
    assert_eq!((early.code, early.err.contains("the remote has no session s1")), (3, true), "{}", early.err);
    assert_eq!(ada.run(&["push", session]).code, 0);
    ada.run(&["share", session]).expect(1, "");
    assert_eq!(n_seen(&bob, "ada"), 0);
    let shared = ada.run(&["share", session, "--with", "bob"]);
    shared.expect(0, "");
    assert_eq!(shared.out, "bob         may read, granted by ada\n");
    assert_eq!(n_seen(&bob, "ada"), 1);
    let written = ada.run(&["share", session, "--with", "bob", "--write", "--json"]).json();
    assert_eq!((written[0]["member"].as_str(), written[0]["may"].as_str()), (Some("bob"), Some("write")));
    let unknown = ada.run(&["share", session, "--with", "zoe"]);
    assert!(unknown.code == 3 && unknown.err.contains("has no member \"zoe\""), "{}", unknown.err);
    // Bob does not own a session of this id.
    let his = bob.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    let refused = bob.run(&["share", his.to_str().unwrap(), "--with", "zoe"]);
    assert!(refused.code == 3 && refused.err.contains("the remote has no session s1"), "{}", refused.err);

    let stopped = ada.run(&["share", session, "--stop", "bob"]);
    assert_eq!((stopped.code, stopped.out.as_str()), (0, ""), "{}", stopped.err);
    assert_eq!(n_seen(&bob, "ada"), 0);
    let again = ada.run(&["share", session, "--stop", "bob"]);
    assert!(again.code == 0 && again.err.contains("it was not shared with bob"), "{}", again.err);

    let acts = ada.run(&["remote", "audit", "--since", "1d", "--json"]).json();
    let acts: Vec<&str> = acts.as_array().unwrap().iter().map(|act| act["act"].as_str().unwrap()).collect();
    assert_eq!(acts, ["unshare", "share", "share"]);
    let all = admin.run(&["remote", "audit"]);
    assert!(all.code == 0 && all.out.contains(" ada share with bob session s1: write\n"), "{}", all.out);
    assert!(all.out.contains(" sessile_admin add member with bob\n"), "{}", all.out);
    assert_eq!(admin.run(&["remote", "audit", "--limit", "1", "--jsonl"]).out.lines().count(), 1);
    assert_eq!(bob.run(&["remote", "audit"]).code, 1);
}

#[test]
fn projects_share_their_sessions() {
    let server = with_server();
    let admin = administrator(&server);
    let (ada, bob) = (member(&server, &admin, "ada"), member(&server, &admin, "bob"));
    let session = ada.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&session);
    let session = session.to_str().unwrap();
    assert_eq!(ada.run(&["push", session]).code, 0);
    assert_eq!(ada.run(&["remote", "projects"]).code, 1);
    ada.run(&["remote", "projects", "--new", "website"]).expect(0, "");
    let taken = bob.run(&["remote", "projects", "--new", "website"]);
    assert!(taken.code == 3 && taken.err.contains("this name of a project is taken"), "{}", taken.err);
    let hidden = bob.run(&["remote", "projects", "website"]);
    assert!(hidden.code == 3 && hidden.err.contains("has no project \"website\""), "{}", hidden.err);
    assert_eq!(bob.run(&["remote", "grant", "bob", "--project", "website"]).code, 3);

    assert_eq!(ada.run(&["share", session, "--project", "website"]).code, 0);
    assert_eq!(n_seen(&bob, "ada"), 0);
    let granted = ada.run(&["remote", "grant", "bob", "--project", "website"]);
    assert_eq!(granted.out, "bob may read the sessions of website\n", "{}", granted.err);
    assert_eq!(n_seen(&bob, "ada"), 1);
    let projects = bob.run(&["remote", "projects", "--json"]).json();
    let website = &projects[0];
    assert_eq!((website["name"].as_str(), website["madeBy"].as_str()), (Some("website"), Some("ada")));
    assert_eq!((website["may"].as_str(), website["sessions"].as_u64()), (Some("read"), Some(1)));
    let shares = ada.run(&["share", session]);
    assert_eq!(shares.out, "bob         may read by project website, granted by ada\n");
    assert_eq!(bob.run(&["remote", "projects", "website", "--jsonl"]).out.lines().count(), 2);
    // An administrator sees that the project exists, and nothing of it.
    let seen = admin.run(&["remote", "projects", "--json"]).json();
    assert!(seen[0]["name"] == "website" && seen[0]["sessions"].is_null() && seen[0]["may"].is_null(), "{seen}");

    assert_eq!(ada.run(&["remote", "revoke", "bob", "--project", "website"]).code, 0);
    assert_eq!(ada.run(&["remote", "revoke", "bob", "--project", "website"]).code, 1);
    assert_eq!(n_seen(&bob, "ada"), 0);
    assert_eq!(ada.run(&["share", session, "--no-project"]).code, 0);

    // Names come from the server, so they may be hostile.
    let odd = "a\u{202e}b\u{2066}";
    assert_eq!(ada.run(&["remote", "projects", "--new", odd]).code, 0);
    for command in [["remote", "projects"], ["remote", "audit"]] {
        let shown = ada.run(&command);
        assert!(shown.code == 0 && !shown.out.contains(['\u{202e}', '\u{2066}']), "{:?}", shown.out);
        let json = ada.run(&[command[0], command[1], "--json"]);
        assert!(!json.out.contains(['\u{202e}', '\u{2066}']), "{:?}", json.out);
        assert!(json.json().to_string().contains(odd));
    }
}

#[test]
fn a_revoked_member_is_out() {
    let server = with_server();
    let admin = administrator(&server);
    let bob = member(&server, &admin, "bob");
    assert_eq!(bob.run(&["remote", "grant", "eve"]).code, 3);
    assert_eq!(bob.run(&["remote", "revoke", "me"]).code, 3);
    let nameless = admin.run(&["remote", "grant", "eve"]);
    assert!(nameless.code == 3 && nameless.err.contains("--password-file"), "{}", nameless.err);
    let session = bob.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&session);
    assert_eq!(bob.run(&["sync", "--all"]).code, 0);

    let revoked = admin.run(&["remote", "revoke", "bob", "--json"]);
    assert_eq!((revoked.code, revoked.json()["changed"].as_bool()), (0, Some(true)));
    assert_eq!(admin.run(&["remote", "revoke", "bob"]).code, 1);
    let out = bob.run(&["sync"]);
    assert!(out.code == 3 && out.err.contains("refused user bob"), "{}", out.err);
    // What is here stays.
    assert_eq!(bob.run(&["show", session.to_str().unwrap()]).code, 0);
    let members = admin.run(&["remote", "members"]);
    assert!(members.out.starts_with("bob         revoked "), "{}", members.out);

    // Back again, with the same password.
    assert_eq!(admin.run(&["remote", "grant", "bob", "--admin"]).code, 0);
    assert_eq!(bob.run(&["sync"]).code, 0);
    let status = bob.run(&["remote", "status"]);
    assert!(status.out.contains("\nrights   administrator\n"), "{}", status.out);
}
