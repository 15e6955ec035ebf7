//! Commands that add to sessions, and `undo`.

use std::io::Write;

use super::*;

pub(super) fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

pub(super) fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read(file).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn last(file: &Path) -> Value {
    lines(file).pop().unwrap()
}

/// Runs a command with this standard input.
pub(super) fn fed(home: &Home, words: &[&str], input: &str) -> CommandOutput {
    let mut child =
        home.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn names_are_set_cleared_and_undone() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    home.run(&["name", path(&file)]).expect(1, "the session has no name\n");
    let dry = home.run(&["name", path(&file), "One", "--dry-run"]);
    assert_eq!((dry.code, dry.out.as_str()), (0, "would be named \"One\"\n"));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let output = home.run(&["name", path(&file), " One\nname "]);
    assert_eq!((output.out.as_str(), output.code), ("named \"One name\"\n", 0));
    assert_eq!(home.run(&["name", path(&file)]).out, "One name\n");
    assert_eq!(home.run(&["name", path(&file), "--json"]).json()["name"], "One name");
    assert_eq!(home.run(&["name", path(&file), "One name"]).out, "the session is already named \"One name\"\n");
    assert_eq!(lines(&file).len(), 7, "the same name is not written twice");
    let changed = home.run(&["name", "s1", "Two", "--json"]).json();
    assert_eq!((&changed["change"]["before"], &changed["changed"]), (&"One name".into(), &true.into()));
    let undone = home.run(&["undo", "--json"]).json();
    assert_eq!(undone["undone"]["id"], changed["operation"]);
    assert_eq!(home.run(&["name", "s1"]).out, "One name\n");
    // Undoing the undo restores the change.
    home.run(&["undo", undone["operation"].as_str().unwrap()]).expect(0, "");
    assert_eq!(home.run(&["name", "s1"]).out, "Two\n");
    home.run(&["name", "s1", "--clear"]).expect(0, "");
    assert_eq!(home.run(&["name", "s1"]).code, 1);
    assert_eq!(home.run(&["name", "s1", "  "]).code, 2);
    assert_eq!(home.run(&["name", "-c", "By flag"]).out, "named \"By flag\"\n");
    let list = home.run(&["undo", "--list", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 6);
    assert!(std::fs::read(&file).unwrap().starts_with(&before), "existing lines are unchanged");
}

#[test]
fn sessions_without_a_name_get_titles() {
    let home = Home::new();
    let renaming = small().into_iter().map(|line| line.replace("first question", "Rename the flag"));
    let file = home.session("x.jsonl", &small());
    let other = home.session("y.jsonl", &renaming.collect::<Vec<_>>());
    let before = std::fs::read(&file).unwrap();
    assert_eq!(home.run(&["title"]).code, 2);
    let dry = home.run(&["title", path(&file), "--dry-run", "--json"]).json();
    let name = dry["sessions"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!((&dry["dryRun"], &dry["sessions"][0]["by"]), (&true.into(), &"rule".into()));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    home.run(&["name", path(&other), "Mine"]).expect(0, "");
    let named = std::fs::read(&other).unwrap();
    let titled = home.run(&["title", "--missing"]);
    assert_eq!((titled.code, titled.out.as_str()), (0, format!("s1  {name}\n").as_str()), "{}", titled.err);
    assert_eq!(last(&file)["auto"], serde_json::json!({"by": "rule", "v": 1}));
    assert_eq!(home.run(&["name", path(&file)]).out, format!("{name}\n"));
    assert_eq!(home.run(&["title", "--missing"]).code, 1, "nothing is left to do");
    assert_eq!(home.run(&["title", path(&file), path(&other)]).code, 1);
    assert_eq!(std::fs::read(&other).unwrap(), named, "a name of the user stays");
    home.run(&["undo"]).expect(0, "");
    home.run(&["name", path(&file)]).expect(1, "the session has no name\n");
    let unknown = home.run(&["title", path(&file), "--model", "nowhere/x"]);
    let reason = if cfg!(feature = "models") { "is not a model" } else { "built without the feature `models`" };
    assert!(unknown.code != 0 && unknown.err.contains(reason), "{}", unknown.err);
}

#[test]
fn nothing_to_undo_exits_with_1() {
    let home = Home::new();
    let output = home.run(&["undo"]);
    output.expect(1, "error: there is nothing to undo\n");
    assert_eq!(home.run(&["undo", "--list"]).code, 1);
    assert_eq!(home.run(&["undo", "abc"]).code, 3);
}

#[test]
fn labels_are_set_cleared_and_listed() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    assert_eq!(home.run(&["label", path(&file), "b"]).out, "here\n");
    assert_eq!(home.run(&["label", path(&file), "a"]).code, 1);
    assert_eq!(home.run(&["label", path(&file), "c", "new\u{1b}[2J"]).out, "c labelled \"new\\u{1b}[2J\"\n");
    let list = home.run(&["label", path(&file), "--list", "--json"]).json();
    assert_eq!((&list[0]["entryId"], &list[1]["label"]), (&"b".into(), &"new\u{1b}[2J".into()));
    let listed = home.run(&["label", path(&file), "--list"]).out;
    assert!(listed.contains("new␛[2J"), "{listed}");
    home.run(&["label", path(&file), "here", "--clear"]).expect(0, "");
    assert_eq!(home.run(&["label", path(&file), "b"]).code, 1);
    home.run(&["undo"]).expect(0, "");
    assert_eq!(home.run(&["label", path(&file), "b"]).out, "here\n");
    assert_eq!(home.run(&["label", path(&file), "nowhere", "x"]).code, 3);
    assert_eq!(home.run(&["label", path(&file)]).code, 2);
}

#[test]
fn the_leaf_is_moved_and_remembered() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    let output = home.run(&["branch", path(&file), "c"]);
    assert_eq!((output.code, output.out.as_str()), (0, "the leaf is at c; it was at e\n"));
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing is written");
    let context = home.json(&["context", "--json"], &file);
    assert_eq!(context["messages"].as_array().unwrap().last().unwrap()["content"], "second question");
    let id = home.run(&["append", path(&file), "third question"]).out;
    assert_eq!((&last(&file)["parentId"], &last(&file)["id"]), (&"c".into(), &id.trim().into()));
    // The session has moved on in the meantime.
    let output = home.run(&["undo"]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("the session has changed"), "{}", output.err);
    home.run(&["branch", path(&file), "--reset"]).expect(0, "");
    assert_eq!(home.json(&["context", "--json"], &file)["messages"].as_array().unwrap().len(), 0);
    home.run(&["undo"]).expect(0, "");
    assert_eq!(home.json(&["context", "--json"], &file)["messages"].as_array().unwrap().len(), 4);
    let output = fed(&home, &["branch", path(&file), "a", "--summary-text", "--json"], "what happened\n");
    assert_eq!(output.code, 0, "{}", output.err);
    let summary = last(&file);
    assert_eq!((&summary["type"], &summary["summary"]), (&"branch_summary".into(), &"what happened".into()));
    assert_eq!((&summary["parentId"], &summary["fromId"]), (&"a".into(), &id.trim().into()));
    home.run(&["undo"]).expect(0, "");
    assert_eq!(home.json(&["context", "--json"], &file)["messages"].as_array().unwrap().len(), 4);
    assert_eq!(home.run(&["branch", path(&file)]).code, 2);
}

#[test]
fn entries_are_appended() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let output = fed(&home, &["append", path(&file)], "from\nstdin\n");
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    assert_eq!(last(&file)["message"]["content"], "from\nstdin");
    assert_eq!(last(&file)["id"], output.out.trim());
    let answer = home.run(&["append", path(&file), "--role", "assistant", "yes", "--json", "--durable"]).json();
    assert_eq!((&answer["durable"], &answer["parentId"]), (&"disk".into(), &output.out.trim().into()));
    assert_eq!((&last(&file)["message"]["provider"], &last(&file)["message"]["model"]), (&"p".into(), &"m".into()));
    home.run(&["append", path(&file), "--custom-type", "ci", "passed", "--parent", "b"]).expect(0, "");
    assert_eq!((&last(&file)["type"], &last(&file)["parentId"]), (&"custom_message".into(), &"b".into()));
    home.run(&["append", path(&file), "--custom-type", "ci", "--data", r#"{"n":1}"#]).expect(0, "");
    assert_eq!((&last(&file)["type"], &last(&file)["data"]["n"]), (&"custom".into(), &1.into()));
    let message = r#"{"role":"bashExecution","command":"ls","output":"","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1}"#;
    home.run(&["append", path(&file), "--json-message", message]).expect(0, "");
    assert_eq!(last(&file)["message"]["command"], "ls");
    let count = lines(&file).len();
    let output = home.run(&["append", path(&file), "late", "--expect-leaf", "a"]);
    assert_eq!((output.code, output.out.as_str()), (4, ""));
    for (words, code) in [
        (&["--json-message", "{"][..], 2),
        (&["--json-message", "{}"], 2),
        (&["x", "--parent", "nowhere"], 3),
        (&["x", "--role", "mauve"], 2),
        (&["x", "--dry-run"], 0),
    ] {
        let words: Vec<&str> = ["append", path(&file)].iter().chain(words).copied().collect();
        assert_eq!(home.run(&words).code, code, "{words:?}");
    }
    assert_eq!(lines(&file).len(), count, "nothing was written");
    home.run(&["append", path(&file), "in time", "--expect-leaf", "@leaf"]).expect(0, "");
    assert_eq!(lines(&file).len(), count + 1);
}

#[test]
fn a_dry_run_keeps_the_leaf() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    home.run(&["branch", path(&file), "c"]).expect(0, "");
    let output = home.run(&["append", path(&file), "x", "--dry-run"]);
    assert_eq!(output.out, "an entry would be appended after c; nothing was written\n");
    home.run(&["append", path(&file), "x", "--dry-run", "--parent", "a"]).expect(0, "");
    home.run(&["edit-context", path(&file), "c", "--drop", "--dry-run"]).expect(0, "");
    home.run(&["append", path(&file), "x"]).expect(0, "");
    assert_eq!(last(&file)["parentId"], "c");
}

#[test]
fn sessions_are_created() {
    let home = Home::new();
    let output = home.run(&["new", "-n", "--odd name"]);
    output.expect(0, "");
    let file = PathBuf::from(output.out.trim());
    assert_eq!((file.parent().unwrap(), lines(&file).len()), (home.session_dir().as_path(), 2));
    assert_eq!(last(&file)["name"], "--odd name");
    let created = home.run(&["new", "--session-id", "my-id", "--json"]).json();
    assert_eq!((&created["id"], &created["created"]), (&"my-id".into(), &true.into()));
    let again = home.run(&["new", "--session-id", "my-id", "--json"]).json();
    assert_eq!((&again["path"], &again["created"]), (&created["path"], &false.into()));
    let other = home.session("x.jsonl", &small());
    let fork = home.run(&["new", "--fork", path(&other), "--json", "--cwd", "sub"]).json();
    assert_eq!(fork["parentSession"], path(&other));
    let forked = PathBuf::from(fork["path"].as_str().unwrap());
    assert_eq!(lines(&forked)[1..], lines(&other)[1..]);
    assert_eq!(fork["cwd"], path(&home.project().join("sub")));
    let count = || walk(&home.agent_dir()).len();
    let before = count();
    let memory = home.run(&["new", "--no-session", "--session-id", "in-memory"]);
    assert_eq!((memory.code, memory.out.as_str()), (0, "in-memory\n"));
    home.run(&["new", "--fork", path(&other), "--dry-run"]).expect(0, "");
    for (words, code) in [
        (&["--fork", path(&other), "--session-id", "my-id"][..], 3),
        (&["--fork", path(&other), "--no-session"], 2),
        (&["--session-id", "-bad-"], 2),
        (&["--name", " "], 2),
        (&["--name"], 2),
        (&["--fork", "nowhere"], 3),
    ] {
        let words: Vec<&str> = ["new"].iter().chain(words).copied().collect();
        assert_eq!(home.run(&words).code, code, "{words:?}");
    }
    assert_eq!(count(), before, "no session was created");
}

/// Returns every file below a directory.
fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut waiting = vec![dir.to_path_buf()];
    let mut files = Vec::new();
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    files
}

#[test]
fn forks_and_clones_are_created() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let ids = |words: &[&str]| -> (Vec<String>, Value) {
        let created = home.run(words).json();
        let entries = lines(Path::new(created["path"].as_str().unwrap()));
        (entries[1..].iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect(), created)
    };
    // A label on the path is written again after it.
    assert_eq!(ids(&["fork", path(&file), "--json"]).0[..3], ["a", "b", "d"]);
    assert_eq!(ids(&["clone", path(&file), "--json"]).0.len(), 4);
    let (entries, created) = ids(&["fork", path(&file), "c", "--json"]);
    assert_eq!((&entries[..2], &created["text"]), (&["a".to_owned(), "b".to_owned()][..], &"second question".into()));
    assert_eq!(ids(&["fork", path(&file), "c", "--at", "--json"]).0[2], "c");
    let (_, created) = ids(&["fork", path(&file), "--before", "--json"]);
    assert_eq!(created["text"], "another second question");
    // A fork without any message has a file as well.
    let (entries, _) = ids(&["fork", path(&file), "a", "--json"]);
    assert_eq!(entries, [""; 0]);
    let before = walk(&home.agent_dir()).len();
    home.run(&["fork", path(&file), "--dry-run"]).expect(0, "");
    home.run(&["clone", path(&file), "--dry-run"]).expect(0, "");
    assert_eq!(home.run(&["fork", path(&file), "b", "--before"]).code, 3);
    assert_eq!(walk(&home.agent_dir()).len(), before);
}

#[test]
fn edits_change_the_context() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let first = || home.json(&["llm", "--json"], &file)[0].clone();
    let before = first();
    home.run(&["edit-context", path(&file), "a", "--drop", "--json"]).json();
    assert_eq!(first()["role"], "assistant");
    home.run(&["edit-context", path(&file), "a", "other words"]).expect(0, "entry a: the model sees the replacement\n");
    assert_eq!(first()["content"], "other words");
    home.run(&["edit-context", path(&file), "a", "--restore", "--json"]).json();
    assert_eq!(first(), before);
    home.run(&["edit-context", path(&file), "b", "--json-content", r#"[{"type":"text","text":"t"}]"#, "--json"]).json();
    assert_eq!(home.json(&["llm", "--json"], &file)[1]["content"][0]["text"], "t");
    let count = lines(&file).len();
    assert_eq!(home.run(&["edit-context", path(&file), "c", "--drop"]).code, 3, "not on the active branch");
    assert_eq!(home.run(&["edit-context", path(&file), "a", "--json-content", "3"]).code, 2);
    assert_eq!(lines(&file).len(), count);
}

#[test]
fn files_are_imported() {
    let home = Home::new();
    let elsewhere = home.dir.path().join("elsewhere");
    let file = write_session(&elsewhere.join("x.jsonl"), path(&home.project()), &small());
    let bytes = std::fs::read(&file).unwrap();
    let dry = home.run(&["import", path(&file), "--dry-run", "--json"]).json();
    let target = home.session_dir().join("x.jsonl");
    assert_eq!((dry[0]["path"].as_str().unwrap(), target.exists()), (path(&target), false));
    home.run(&["import", path(&file)]).expect(0, "1 session copied\n");
    assert_eq!(std::fs::read(&target).unwrap(), bytes);
    let again = home.run(&["import", path(&file)]);
    assert_eq!(again.code, 3);
    assert!(again.err.contains("a session with the id s1 already exists"), "{}", again.err);
    assert!(again.err.ends_with("hint: use --new-id to import it as another session\n"), "{}", again.err);
    // Another session with the same file name gets its own file. A file that is not a session prevents the whole
    // import.
    std::fs::write(&file, String::from_utf8(bytes).unwrap().replacen("\"s1\"", "\"s2\"", 1)).unwrap();
    let junk = elsewhere.join("junk.jsonl");
    std::fs::write(&junk, "junk\n").unwrap();
    assert_eq!(home.run(&["import", path(&file), path(&junk)]).code, 3);
    assert!(!home.session_dir().join("x-1.jsonl").exists());
    home.run(&["import", path(&file), "--jsonl"]).expect(0, "");
    assert!(home.session_dir().join("x-1.jsonl").exists());
    assert_eq!(home.run(&["list", "--json"]).json().as_array().unwrap().len(), 2);
}

#[test]
fn a_session_is_imported_from_standard_input_with_a_new_id() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let text = std::fs::read_to_string(&file).unwrap();
    let refused = fed(&home, &["import", "-"], &text);
    assert!(refused.code == 3 && refused.err.contains("a session with the id s1 already exists"), "{}", refused.err);
    let output = fed(&home, &["import", "-", "--new-id", "--json"], &text).json();
    let (new, copy) = (output[0]["id"].as_str().unwrap(), PathBuf::from(output[0]["path"].as_str().unwrap()));
    assert_eq!((output[0]["oldId"].as_str(), output[0]["from"].as_str()), (Some("s1"), Some("-")));
    assert!(new.len() == 36 && path(&copy).ends_with(&format!("_{new}.jsonl")), "{}", path(&copy));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), text.replacen("\"s1\"", &format!("\"{new}\""), 1));
    home.run(&["undo"]).expect(0, "");
    assert!(!copy.exists() && file.exists());
    // Likewise from a file.
    let output = home.run(&["import", path(&file), "--new-id", "--jsonl"]);
    output.expect(0, "");
    assert_eq!(home.run(&["list", "--json"]).json().as_array().unwrap().len(), 2);
    fed(&home, &["import", "-"], "junk\n").expect(
        3,
        "error: standard input is not a session: its first line is not a session header with an id\n\
         hint: a session is a .jsonl file that starts with a header; `sessile list --all` shows yours\n",
    );
    assert_eq!(fed(&home, &["import", "-", path(&file)], &text).code, 2);
}

#[test]
fn an_undo_never_skips_a_change_that_cannot_be_undone() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    home.run(&["name", path(&file), "A name"]).expect(0, "");
    home.run(&["append", path(&file), "more"]).expect(0, "");
    let before = std::fs::read(&file).unwrap();
    let output = home.run(&["undo"]);
    assert_eq!((output.code, output.out.as_str()), (3, ""));
    let [error, hint] = output.err.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(error.starts_with("error: the last change cannot be undone: `sessile append` appended to "), "{error}");
    let id = hint.split('`').nth(1).unwrap().strip_prefix("sessile undo ").unwrap().to_owned();
    assert!(hint.ends_with(": remove the name \"A name\" of s1 \"A name\""), "{hint}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing was changed");
    // Later operations can be undone; after that, the append blocks undo again.
    assert_eq!(home.run(&["clone", path(&file)]).code, 0);
    home.run(&["undo"]).expect(0, "");
    assert_eq!(home.run(&["undo"]).code, 3);
    home.run(&["undo", &id]).expect(0, "");
    assert_eq!(last(&file)["type"], "session_info");
    // A dry run changes nothing, so it does not block undo.
    home.run(&["name", path(&file), "Another"]).expect(0, "");
    home.run(&["append", path(&file), "more", "--dry-run"]).expect(0, "");
    home.run(&["undo"]).expect(0, "");
}

#[test]
fn a_new_session_can_be_undone_while_it_is_empty() {
    let home = Home::new();
    let created = home.run(&["new", "--name", "First try", "--json"]).json();
    let file = PathBuf::from(created["path"].as_str().unwrap());
    age(&file);
    home.run(&["undo"]).expect(0, "");
    assert!(!file.exists());
    let undone = home.run(&["undo", "--list"]);
    assert!(undone.out.contains("  new      create "), "{}", undone.out);
    let created = home.run(&["new", "--json"]).json();
    let file = PathBuf::from(created["path"].as_str().unwrap());
    home.run(&["append", path(&file), "something"]).expect(0, "");
    age(&file);
    let id = home.run(&["undo", "--list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let output = home.run(&["undo", &id]);
    assert!(output.code == 3 && output.err.contains("has changed since it was created"), "{}", output.err);
    assert!(file.exists());
}

#[test]
fn old_versions_are_migrated() {
    let home = Home::new();
    let dir = home.session_dir();
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("old.jsonl");
    let cwd = home.project();
    let old = format!(
        "{{\"type\":\"session\",\"id\":\"o\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":{cwd:?}}}\n{{\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1}}}}\n"
    );
    std::fs::write(&file, &old).unwrap();
    home.session("new.jsonl", &small());
    let dry = home.run(&["migrate", "--all", "--dry-run", "--json"]).json();
    assert_eq!((dry.as_array().unwrap().len(), &dry[0]["from"]), (1, &"1".into()));
    assert_eq!(std::fs::read(&file).unwrap(), old.as_bytes());
    let done = home.run(&["migrate", "--all", "--json"]).json();
    assert_eq!(std::fs::read(done[0]["original"].as_str().unwrap()).unwrap(), old.as_bytes());
    assert_eq!((&lines(&file)[0]["version"], lines(&file)[1]["id"].is_string()), (&3.into(), true));
    home.run(&["migrate", path(&file)]).expect(1, "nothing to migrate\n");
    assert_eq!(home.run(&["migrate"]).code, 2);
}
