//! `merge`.

use super::changes::{lines, path};
use super::*;

/// Two copies of a session that were continued separately, with a collision of ids.
fn copies(home: &Home) -> (PathBuf, PathBuf) {
    let mut laptop = small();
    laptop.push(user("f", Some("e"), "on the laptop"));
    let mut desktop = small();
    desktop.push(user("f", Some("c"), "on the desktop"));
    desktop.push(user("g", Some("f"), "more on the desktop"));
    let elsewhere = home.dir.path().join("desktop.jsonl");
    (home.session("x.jsonl", &laptop), write_session(&elsewhere, "/elsewhere", &desktop))
}

fn contents(home: &Home, file: &str, entry: &str) -> Value {
    home.run(&["context", file, entry, "--json"]).json()["messages"].clone()
}

#[test]
fn a_merge_has_everything_and_changes_no_copy() {
    let home = Home::new();
    let (laptop, desktop) = copies(&home);
    let before = [&laptop, &desktop].map(|file| std::fs::read(file).unwrap());
    let both = home.dir.path().join("both.jsonl");
    let dry = home.run(&["merge", path(&laptop), path(&desktop), "-o", path(&both), "--dry-run", "--json"]).json();
    assert_eq!((&dry["dryRun"], &dry["entries"], &dry["written"]), (&true.into(), &8.into(), &8.into()));
    assert!(!both.exists());
    let merged = home.run(&["merge", path(&laptop), path(&desktop), "-o", path(&both), "--json"]).json();
    assert_eq!(merged["copies"][0]["own"], 1);
    assert_eq!(merged["copies"][0]["missing"], 2);
    assert_eq!(merged["copies"][1]["own"], 2);
    assert_eq!(merged["path"], path(&both));
    let renamed = &merged["renamed"];
    assert_eq!(renamed.as_array().unwrap().len(), 1);
    assert_eq!(renamed[0]["from"], "f");
    assert_eq!([&laptop, &desktop].map(|file| std::fs::read(file).unwrap()), before);
    assert_eq!(lines(&both).len(), 9);
    expect_mode(&both, 0o600);
    let new = renamed[0]["to"].as_str().unwrap();
    let is_renamed = |text: &str| lines(&both).iter().any(|line| line["id"] == *new && line.to_string().contains(text));
    let old_of = |text: &str| if is_renamed(text) { new } else { "f" };
    assert_eq!(contents(&home, path(&both), old_of("on the laptop")), contents(&home, path(&laptop), "f"));
    assert_eq!(contents(&home, path(&both), old_of("on the desktop")), contents(&home, path(&desktop), "f"));
    assert_eq!(contents(&home, path(&both), "g"), contents(&home, path(&desktop), "g"));
    home.run(&["verify", path(&both)]).expect(0, "");
    // The same bytes in any order, and again with the result.
    let again = home.dir.path().join("again.jsonl");
    for order in [[&desktop, &laptop], [&both, &laptop], [&desktop, &both]] {
        let output = home.run(&["merge", path(order[0]), path(order[1]), "-o", path(&again), "--force"]);
        assert_eq!(output.code, 0, "{}", output.err);
        assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&both).unwrap());
    }
}

#[test]
fn a_merge_says_what_it_found() {
    let home = Home::new();
    let (laptop, desktop) = copies(&home);
    let both = home.dir.path().join("both.jsonl");
    let output = home.run(&["merge", path(&laptop), path(&desktop), "-o", path(&both)]);
    assert_eq!(output.out, format!("{}\n", path(&both)));
    assert!(output.err.contains("6 entries, 1 only here, 2 missing\n"), "{}", output.err);
    assert!(output.err.contains("1 renamed, because another entry has the same id\n"), "{}", output.err);
    assert!(output.err.ends_with("8 entries written\n"), "{}", output.err);
    let output = home.run(&["merge", path(&laptop), path(&both), "--dry-run"]);
    assert!(output.out.contains("8 entries, has everything\n"), "{}", output.out);
}

#[test]
fn a_copy_that_has_everything_is_the_result() {
    let home = Home::new();
    let (laptop, desktop) = copies(&home);
    assert_eq!(home.run(&["merge", path(&desktop), "--into", path(&laptop)]).code, 0);
    let both = home.dir.path().join("both.jsonl");
    let output = home.run(&["merge", path(&desktop), path(&laptop), "-o", path(&both)]);
    assert!(output.err.contains("x.jsonl, byte for byte\n"), "{}", output.err);
    assert_eq!(std::fs::read(&both).unwrap(), std::fs::read(&laptop).unwrap());
    let dry = home.run(&["merge", path(&desktop), path(&laptop), "--dry-run", "--json"]).json();
    assert_eq!((&dry["sameAs"], &dry["renamed"]), (&path(&laptop).into(), &serde_json::json!([])));
}

#[test]
fn nothing_is_overwritten() {
    let home = Home::new();
    let (laptop, desktop) = copies(&home);
    let taken = home.dir.path().join("taken.jsonl");
    std::fs::write(&taken, "mine").unwrap();
    let arguments = ["merge", path(&laptop), path(&desktop), "-o"];
    let output = home.run(&[&arguments[..], &[path(&taken)]].concat());
    assert_eq!(output.code, 3, "{}", output.err);
    assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
    // Never a copy, nor a session of the store.
    let other = home.session("other.jsonl", &small());
    for precious in [&laptop, &desktop, &other] {
        let before = std::fs::read(precious).unwrap();
        let output = home.run(&[&arguments[..], &[path(precious), "--force"]].concat());
        assert_eq!(output.code, 3, "{}", output.err);
        assert_eq!(std::fs::read(precious).unwrap(), before);
    }
    #[cfg(unix)]
    {
        // A link is replaced, and never followed.
        let link = home.dir.path().join("link.jsonl");
        std::os::unix::fs::symlink(&taken, &link).unwrap();
        assert_eq!(home.run(&[&arguments[..], &[path(&link)]].concat()).code, 3);
        assert_eq!(home.run(&[&arguments[..], &[path(&link), "--force"]].concat()).code, 0);
        assert!(!link.is_symlink());
        assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
    }
    let leftovers = std::fs::read_dir(home.dir.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("sessile-tmp"));
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn only_copies_are_merged() {
    let home = Home::new();
    let (laptop, _) = copies(&home);
    let other = home.dir.path().join("other.jsonl");
    std::fs::write(&other, std::fs::read_to_string(&laptop).unwrap().replacen("\"s1\"", "\"s2\"", 1)).unwrap();
    let output = home.run(&["merge", path(&laptop), path(&other), "--dry-run"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("are different sessions") && output.err.contains("other.jsonl"), "{}", output.err);
    let broken = home.dir.path().join("broken.jsonl");
    std::fs::write(&broken, "{\"type\":\"message\"}\n").unwrap();
    assert_eq!(home.run(&["merge", path(&laptop), path(&broken), "--dry-run"]).code, 3);
    assert_eq!(home.run(&["merge", path(&laptop), "--dry-run"]).code, 2);
    assert_eq!(home.run(&["merge", path(&laptop), path(&other)]).code, 2);
    assert_eq!(home.run(&["merge", path(&laptop), path(&other), "-o", "a", "--into", "b"]).code, 2);
}

#[test]
fn a_session_absorbs_what_it_lacks() {
    let home = Home::new();
    let (laptop, desktop) = copies(&home);
    let before = std::fs::read_to_string(&laptop).unwrap();
    let context = home.run(&["context", path(&laptop), "--json"]).json();
    let dry = home.run(&["merge", path(&desktop), "--into", path(&laptop), "--dry-run"]);
    assert!(dry.out.contains("2 entries would be appended; nothing was written\n"), "{}", dry.out);
    assert_eq!(std::fs::read_to_string(&laptop).unwrap(), before);
    let merged = home.run(&["merge", path(&desktop), "--into", path(&laptop), "--json"]).json();
    assert_eq!(merged["written"], 2);
    let after = std::fs::read_to_string(&laptop).unwrap();
    let grown = after.strip_prefix(&before).expect("the file only grows");
    let appended: Vec<Value> = grown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(appended.len(), 3);
    assert_eq!(appended[0]["renamedFrom"], "f");
    assert_eq!(appended[1]["parentId"], appended[0]["id"]);
    let mark = &appended[2];
    assert_eq!((&mark["customType"], &mark["parentId"]), (&"sessile.merge".into(), &"f".into()));
    assert_eq!(mark["data"], serde_json::json!({"from": ["desktop.jsonl"], "added": 2, "renamed": 1}));
    // It continues where it did.
    assert_eq!(home.run(&["context", path(&laptop), "--json"]).json()["messages"], context["messages"]);
    let verified = home.run(&["verify", path(&laptop), "--json"]);
    assert!(!verified.out.contains("error") && !verified.out.contains("duplicate"), "{}", verified.out);
    let output = home.run(&["merge", path(&desktop), "--into", path(&laptop)]);
    assert_eq!((output.code, std::fs::read_to_string(&laptop).unwrap()), (1, after.clone()));
    assert!(output.err.ends_with("nothing is missing\n"), "{}", output.err);
    let operation = merged["operation"].as_str().unwrap();
    assert!(home.run(&["undo", "--list"]).out.contains("merge entries into"));
    for words in [&["undo"][..], &["undo", operation]] {
        let output = home.run(words);
        assert_eq!(output.code, 3, "{}", output.err);
        assert!(output.err.contains("entries were merged into"), "{}", output.err);
    }
    assert_eq!(std::fs::read_to_string(&laptop).unwrap(), after);
}

#[test]
fn an_old_session_is_upgraded_before_it_absorbs() {
    let home = Home::new();
    let old = home.session("old.jsonl", &small());
    let text = r#"{"type":"session","id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/x"}
{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
"#;
    std::fs::write(&old, text).unwrap();
    let newer = home.dir.path().join("newer.jsonl");
    let copy = home.dir.path().join("copy.jsonl");
    std::fs::write(&copy, text).unwrap();
    // Upgraded by our rule, and continued.
    assert_eq!(home.run(&["append", path(&copy), "two"]).code, 0);
    std::fs::rename(&copy, &newer).unwrap();
    let merged = home.run(&["merge", path(&newer), "--into", path(&old), "--json"]).json();
    assert_eq!((&merged["entries"], &merged["written"]), (&2.into(), &1.into()));
    assert_eq!(lines(&old).len(), 4);
    assert_eq!(lines(&old)[0]["version"], 3);
}
