//! Remotes: a real PostgreSQL, and machines that share sessions through it.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A server that ends with the test.
pub(super) struct Running(pub(super) Home);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.command(&["remote", "down"]).output());
    }
}

/// A machine with a private server.
#[track_caller]
pub(super) fn with_server() -> Running {
    let home = Running(Home::new());
    // As root, the server runs as another user, which must reach its directory.
    std::fs::set_permissions(home.0.dir.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let state = home.0.dir.path().join("SESSILE_STATE_DIR");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::set_permissions(&state, PermissionsExt::from_mode(0o711)).unwrap();
    let up = home.0.run(&["remote", "up"]);
    assert_eq!(up.code, 0, "{}", up.err);
    assert!(up.out.contains("\nmember   me\n"), "{}", up.out);
    home
}

/// Another machine of the same person.
pub(super) fn another(first: &Home) -> Home {
    let home = Home::new();
    let config = |home: &Home| home.dir.path().join("SESSILE_CONFIG_DIR/config.toml");
    std::fs::create_dir_all(config(&home).parent().unwrap()).unwrap();
    std::fs::copy(config(first), config(&home)).unwrap();
    home
}

pub(super) fn lines(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.split_once('\n').unwrap().1.to_owned()
}

/// The file of the only session.
pub(super) fn only_session(home: &Home) -> PathBuf {
    home.run(&["list", "--all", "--json"]).json()[0]["path"].as_str().unwrap().into()
}

pub(super) fn append(path: &Path, line: &str) {
    let mut text = std::fs::read_to_string(path).unwrap();
    text.push_str(line);
    text.push('\n');
    std::fs::write(path, text).unwrap();
    age(path);
}

#[test]
fn two_machines_share_their_sessions() {
    let server = with_server();
    let one = &server.0;
    let here = one.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&here);
    let none = one.run(&["sync"]);
    none.expect(0, "local: 0 sessions synchronized, 0 unchanged\n");
    let planned = one.run(&["sync", "--all", "--dry-run", "--json"]).json();
    assert_eq!((planned[0]["id"].as_str(), planned[0]["state"].as_str()), (Some("s1"), Some("ahead")));
    let pushed = one.run(&["sync", "--all", "--json"]).json();
    let n_lines = lines(&here).lines().count();
    assert_eq!((pushed[0]["state"].as_str(), pushed[0]["pushed"].as_u64()), (Some("equal"), Some(n_lines as u64)));
    one.run(&["sync"]).expect(0, "local: 0 sessions synchronized, 1 unchanged\n");

    let two = another(one);
    assert_eq!(two.run(&["sync"]).code, 0);
    let there = only_session(&two);
    assert_eq!(lines(&there), lines(&here));
    assert_eq!(std::fs::metadata(&there).unwrap().permissions().mode() & 0o777, 0o600);

    // Both go on.
    append(&here, &user("h", Some("d"), "here"));
    append(&there, &user("t", Some("d"), "there"));
    assert_eq!(two.run(&["push", "--all"]).code, 0);
    let diverged = one.run(&["push", "--all", "--json"]).json();
    assert_eq!(diverged[0]["state"], "diverged");
    let synced = one.run(&["sync"]);
    assert_eq!(synced.code, 0, "{}", synced.err);
    assert!(synced.out.ends_with(": pushed 1 line, pulled 1 line\n"), "{}", synced.out);
    assert_eq!(two.run(&["pull", "--all"]).code, 0);
    assert_eq!(lines(&there), lines(&here));
    for id in ["h", "t"] {
        assert_eq!(lines(&here).matches(&format!("\"id\":\"{id}\"")).count(), 1);
    }

    // Deleted here, it stays there, until it is asked for.
    std::fs::remove_file(&there).unwrap();
    two.run(&["sync"]).expect(0, "local: 0 sessions synchronized, 0 unchanged, 1 deleted here\n");
    assert_eq!(two.run(&["pull", "s1"]).code, 0);
    assert_eq!(lines(&there), lines(&here));
    let missing = two.run(&["pull", "none"]);
    assert_eq!((missing.code, missing.err.contains("the remote has no session none")), (1, true), "{}", missing.err);
}

#[test]
fn secrets_stay_here_and_a_scrub_reaches_the_other_machine() {
    let server = with_server();
    let one = &server.0;
    let here = one.session("2025-01-01T00-00-00-000Z_s1.jsonl", &[user("a", None, "first")]);
    age(&here);
    assert_eq!(one.run(&["sync", "--all"]).code, 0);
    let two = another(one);
    assert_eq!(two.run(&["sync"]).code, 0);
    let there = only_session(&two);
    let key = ["AKIA", "QYLPMN5HFIQR7XYA"].concat();
    append(&here, &user("b", Some("a"), &format!("use {key}")));
    let stopped = one.run(&["sync"]);
    assert_eq!(stopped.code, 1);
    assert!(stopped.err.contains("not pushed, because of 1 secret") && !stopped.err.contains(&key), "{}", stopped.err);
    assert_eq!(one.run(&["sync", "--allow-secrets"]).code, 0);
    assert_eq!(two.run(&["sync"]).code, 0);
    assert!(lines(&there).contains(&key));
    let scrubbed = one.run(&["scrub", here.to_str().unwrap(), "--yes", "--force"]);
    assert_eq!(scrubbed.code, 0, "{}", scrubbed.err);
    for file in [&here, &there] {
        age(file);
    }
    for home in [one, &two] {
        let synced = home.run(&["sync"]);
        assert_eq!(synced.code, 0, "{}{}", synced.out, synced.err);
    }
    assert!(!lines(&here).contains(&key) && !lines(&there).contains(&key));
    assert_eq!(lines(&here), lines(&there));
}

#[test]
fn mistakes_are_explained() {
    let home = Home::new();
    let none = home.run(&["sync"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("there is no remote") && none.err.contains("sessile remote up"), "{}", none.err);
    let password = home.run(&["remote", "add", "work", "postgres://ada:hunter2@db.example/sessile"]);
    assert!(password.code != 0 && password.err.contains("password") && !password.err.contains("hunter2"));
    let name = home.run(&["remote", "add", "a b", "postgres://ada@db.example/sessile"]);
    assert!(name.code == 2 && name.err.contains("cannot be the name of a remote"), "{}", name.err);
    // Nothing listens there.
    let down = home.run(&["remote", "add", "work", "postgres://ada@127.0.0.1:9/sessile"]);
    assert!(down.code != 0 && down.err.contains("cannot reach 127.0.0.1:9/sessile"), "{}", down.err);
    assert_eq!(home.run(&["remote"]).out, "");
    let config = home.dir.path().join("SESSILE_CONFIG_DIR/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let remote = |name: &str| format!("[remote.{name}]\nurl = \"postgres://ada@127.0.0.1:9/sessile\"\n");
    std::fs::write(&config, remote("one") + &remote("two")).unwrap();
    let several = home.run(&["sync"]);
    assert!(several.code == 2 && several.err.contains("name one with --remote: one, two"), "{}", several.err);
    let unknown = home.run(&["sync", "--remote", "three"]);
    assert!(unknown.code == 2 && unknown.err.contains("there is no remote \"three\""), "{}", unknown.err);
    let path = home.session("x.jsonl", &small());
    let unreachable = home.run(&["sync", "--remote", "one", "--all"]);
    assert!(unreachable.code != 0 && unreachable.err.contains("cannot reach"), "{}", unreachable.err);
    // What is here works without it.
    assert_eq!(home.run(&["show", path.to_str().unwrap()]).code, 0);
    assert_eq!(home.run(&["remote", "remove", "one"]).code, 0);
    assert_eq!(home.run(&["remote", "--json"]).json()[0]["name"], "two");
}

#[test]
fn the_status_proves_equality() {
    let server = with_server();
    let home = &server.0;
    let path = home.session("2025-01-01T00-00-00-000Z_s1.jsonl", &small());
    age(&path);
    assert_eq!(home.run(&["sync", "--all"]).code, 0);
    let status = home.run(&["remote", "status"]);
    assert!(status.code == 0 && status.out.ends_with("sessions 1 equal, 0 different\n"), "{}", status.out);
    // A program changes a line in the middle without another length, and the file keeps its time.
    let text = std::fs::read_to_string(&path).unwrap();
    let times = std::fs::metadata(&path).unwrap().modified().unwrap();
    let first = text.lines().nth(1).unwrap();
    let changed = first.replacen("2025", "2024", 1);
    assert_ne!(first, changed);
    std::fs::write(&path, text.replacen(first, &changed, 1)).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(times).unwrap();
    let status = home.run(&["remote", "status"]);
    assert!(status.code == 1 && status.out.contains("sessions 0 equal, 1 different\n"), "{}", status.out);
}

#[test]
fn a_remote_can_be_added_before_its_store_exists() {
    let server = with_server();
    let url = server.0.run(&["remote", "--json"]).json()[0]["url"].as_str().unwrap().to_owned();
    let password = server.0.run(&["remote", "--json"]).json()[0]["passwordFile"].as_str().unwrap().to_owned();
    let home = Home::new();
    let admin = url.replace("/sessile", "/postgres").replace("//me@", "//sessile_admin@");
    let added = home.run(&["remote", "add", "new", &admin, "--password-file", &password]);
    assert_eq!(added.code, 0, "{}", added.err);
    assert!(added.err.contains("has no store yet"), "{}", added.err);
    home.run(&["remote", "migrate"]).expect(0, "");
    let status = home.run(&["remote", "status"]);
    assert!(status.code == 0 && status.out.contains("rights   administrator"), "{}{}", status.out, status.err);
}
