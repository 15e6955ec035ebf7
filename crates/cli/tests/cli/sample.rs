//! The made-up store.

use super::*;

fn is_empty(dir: &Path) -> bool {
    dir.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

#[test]
fn the_sample_is_shown_and_goes_away() {
    let home = Home::new();
    let ran = home.run(&["--sample"]);
    ran.expect(0, "");
    assert!(ran.out.starts_with("SAMPLE  6 made-up sessions\n"), "{}", ran.out);
    assert!(ran.out.contains("\n• [cause found] assistant: ") && ran.out.contains("\n└─ user: "), "{}", ran.out);
    assert_eq!(ran.out, home.run(&["--sample"]).out, "the same on every run");
    assert!(is_empty(&home.dir.path().join("tmp")), "and removed");
    assert!(!home.agent_dir().exists(), "and nowhere near the user's own");
}

#[test]
fn a_directory_without_sessions_shows_the_sample() {
    let home = Home::new();
    let ran = home.run(&[]);
    ran.expect(0, "");
    let (first, rest) = ran.out.split_once("\n\n").unwrap();
    assert_eq!(first, "No sessions for ~/project yet. This is what sessions look like:");
    assert_eq!(rest, home.run(&["--sample"]).out);
}

#[test]
fn sessions_of_the_sample_have_places() {
    let home = Home::new();
    let newest = home.run(&["--sample", "context", "--json"]).json();
    assert_eq!(newest, home.run(&["context", "@1", "--json", "--sample"]).json());
    assert_ne!(newest, home.run(&["context", "@2", "--json", "--sample"]).json());
    let list = home.run(&["--sample", "list", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 6);
    for place in 1..=6 {
        for command in ["tree", "context", "llm", "entries"] {
            home.run(&["--sample", command, &format!("@{place}")]).expect(0, "");
        }
    }
    for place in ["@0", "@7", "@", "@x"] {
        let ran = home.run(&["--sample", "tree", place]);
        assert_eq!(ran.code, 3);
        assert!(
            ran.err.starts_with(&format!("error: the sample has no session {place}; it has 6\nhint: ")),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_sample_can_be_kept() {
    let home = Home::new();
    let ran = home.run(&["--sample=kept", "list", "--json"]);
    let list = ran.json();
    let kept = home.project().join("kept");
    assert!(list[0]["path"].as_str().unwrap().starts_with(kept.to_str().unwrap()));
    // The user's own pi finds it.
    let found = home.run_with(&["list", "--all", "--json"], "PI_CODING_AGENT_DIR", &kept).json();
    assert_eq!(found, list);
    // Later commands use it again, with its changes.
    home.run(&["--sample=kept", "name", "@2", "Another name"]).expect(0, "");
    assert_eq!(home.run(&["--sample=kept", "list", "--json"]).json()[1]["name"], "Another name");
    std::fs::write(home.project().join("file"), "x").unwrap();
    std::fs::create_dir(home.project().join("full")).unwrap();
    std::fs::write(home.project().join("full/file"), "x").unwrap();
    let full = home.run(&["--sample=full", "list"]);
    assert_eq!((full.code, full.out.as_str()), (3, ""));
    assert!(full.err.contains("it is not empty\nhint: "), "{}", full.err);
}

#[test]
fn a_sample_never_mixes_with_the_users_own() {
    let home = Home::new();
    std::fs::create_dir_all(home.agent_dir().join("sub")).unwrap();
    std::os::unix::fs::symlink(home.agent_dir(), home.project().join("link")).unwrap();
    for place in ["../agent", "../agent/sub", "../agent/new/deeper", "link/new", "missing/../../agent/new"] {
        let ran = home.run(&[&format!("--sample={place}"), "list"]);
        assert_eq!(ran.code, 3, "{place}: {}", ran.err);
        assert!(ran.err.contains("your own sessions are stored there"), "{}", ran.err);
    }
    std::fs::write(home.project().join("file"), "x").unwrap();
    assert!(home.run(&["--sample=file"]).err.contains("it is not a directory"));
    let inside = home.agent_dir().join("sub");
    let ran = home.run_with(&["--sample"], "TMPDIR", &inside);
    assert_eq!(ran.code, 3);
    assert!(is_empty(&inside));
}

#[test]
fn commands_in_one_terminal_share_a_sample() {
    let home = Home::new();
    let in_terminal = |terminal: &str, words: &[&str]| ran(home.command(words).env("SESSILE_TERMINAL", terminal));
    in_terminal("left", &["--sample", "name", "@2", "Another name"]).expect(0, "");
    let name_of = |terminal: &str| in_terminal(terminal, &["--sample", "info", "@2", "--json"]).json()["name"].clone();
    assert_eq!([name_of("left"), name_of("right")], [Value::from("Another name"), Value::Null]);
    // List positions are stable: a session that was written to becomes the newest but keeps its position.
    let append = |text: &str| in_terminal("left", &["--sample", "append", "@2", text, "--json"]).json();
    assert_eq!(append("one")["sessionPath"], append("two")["sessionPath"]);
    assert!(!home.agent_dir().exists(), "nowhere near the user's own");
    // An empty name means that there is no terminal.
    assert_eq!(name_of(""), Value::Null);
    assert!(is_empty(&home.dir.path().join("tmp")));
}
