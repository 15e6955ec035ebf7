//! The made-up store.

use super::*;

fn is_empty(dir: &Path) -> bool {
    dir.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

#[test]
fn the_sample_is_shown_and_removed() {
    let home = Home::new();
    let output = home.run(&["--sample"]);
    output.expect(0, "");
    assert!(output.out.starts_with("SAMPLE  6 made-up sessions\n"), "{}", output.out);
    assert!(
        output.out.contains("\n• [cause found] assistant: ") && output.out.contains("\n└─ user: "),
        "{}",
        output.out
    );
    assert_eq!(output.out, home.run(&["--sample"]).out, "every run prints the same");
    assert!(is_empty(&home.dir.path().join("tmp")), "the sample was removed");
    assert!(!home.agent_dir().exists(), "the user's own sessions are not touched");
}

#[test]
fn a_directory_without_sessions_shows_the_sample() {
    let home = Home::new();
    let output = home.run(&[]);
    output.expect(0, "");
    let (first, rest) = output.out.split_once("\n\n").unwrap();
    assert_eq!(first, native("No sessions for ~/project yet. This is what sessions look like:"));
    assert_eq!(rest, home.run(&["--sample"]).out);
}

#[test]
fn sessions_of_the_sample_have_positions() {
    let home = Home::new();
    let newest = home.run(&["--sample", "context", "--json"]).json();
    assert_eq!(newest, home.run(&["context", "@1", "--json", "--sample"]).json());
    assert_ne!(newest, home.run(&["context", "@2", "--json", "--sample"]).json());
    let list = home.run(&["--sample", "list", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 6);
    for position in 1..=6 {
        for command in ["tree", "context", "llm", "entries"] {
            home.run(&["--sample", command, &format!("@{position}")]).expect(0, "");
        }
    }
    for position in ["@0", "@7", "@", "@x"] {
        let output = home.run(&["--sample", "tree", position]);
        assert_eq!(output.code, 3);
        assert!(
            output.err.starts_with(&format!("error: the sample has no session {position}; it has 6\nhint: ")),
            "{}",
            output.err
        );
    }
}

#[test]
fn a_sample_can_be_kept() {
    let home = Home::new();
    let output = home.run(&["--sample=kept", "list", "--json"]);
    let list = output.json();
    let kept = home.project().join("kept");
    assert!(list[0]["path"].as_str().unwrap().starts_with(kept.to_str().unwrap()));
    // The user's own pi finds it.
    let listed = home.run_with(&["list", "--all", "--json"], "PI_CODING_AGENT_DIR", &kept).json();
    assert_eq!(listed, list);
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
fn a_sample_is_never_written_into_the_users_store() {
    let home = Home::new();
    std::fs::create_dir_all(home.agent_dir().join("sub")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(home.agent_dir(), home.project().join("link")).unwrap();
    let by_link = cfg!(unix).then_some("link/new");
    let inside = ["../agent", "../agent/sub", "../agent/new/deeper", "missing/../../agent/new"];
    for directory in inside.into_iter().chain(by_link) {
        let output = home.run(&[&format!("--sample={directory}"), "list"]);
        assert_eq!(output.code, 3, "{directory}: {}", output.err);
        assert!(output.err.contains("your own sessions are stored there"), "{}", output.err);
    }
    std::fs::write(home.project().join("file"), "x").unwrap();
    assert!(home.run(&["--sample=file"]).err.contains("it is not a directory"));
    let inside = home.agent_dir().join("sub");
    let output = home.run_with(&["--sample"], TEMPORARY, &inside);
    assert_eq!(output.code, 3);
    assert!(is_empty(&inside));
}

#[test]
fn commands_in_one_terminal_share_a_sample() {
    let home = Home::new();
    let in_terminal = |terminal: &str, words: &[&str]| output_of(home.command(words).env("SESSILE_TERMINAL", terminal));
    in_terminal("left", &["--sample", "name", "@2", "Another name"]).expect(0, "");
    let name_of = |terminal: &str| in_terminal(terminal, &["--sample", "info", "@2", "--json"]).json()["name"].clone();
    assert_eq!([name_of("left"), name_of("right")], [Value::from("Another name"), Value::Null]);
    // List positions are stable: a session that was written to becomes the newest but keeps its position.
    let append = |text: &str| in_terminal("left", &["--sample", "append", "@2", text, "--json"]).json();
    assert_eq!(append("one")["sessionPath"], append("two")["sessionPath"]);
    assert!(!home.agent_dir().exists(), "the user's own sessions are not touched");
    // An empty name means that there is no terminal.
    assert_eq!(name_of(""), Value::Null);
    assert!(is_empty(&home.dir.path().join("tmp")));
}
