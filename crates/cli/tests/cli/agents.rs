//! `import --from`, `resume --from` and `list --agents`.

use super::changes::path;
use super::*;

const ID: &str = "11111111-1111-4111-8111-111111111111";

/// A fixture of the crate `sessile-agents`, as a session of the project.
fn fixture(home: &Home, agent: &str, name: &str) -> String {
    let file = format!("{}/../agents/tests/fixtures/{agent}/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    text.replace("/proj/site", path(&home.project()))
}

/// Writes a file of another agent.
fn put(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// The directory of Claude Code for the project.
fn claude_dir(home: &Home) -> PathBuf {
    let project = home.project().to_string_lossy().into_owned();
    let name: String = project.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    home.dir.path().join(".claude/projects").join(name)
}

fn import(home: &Home, words: &[&str]) -> Value {
    let words: Vec<&str> = ["import", "--json", "--from"].into_iter().chain(words.iter().copied()).collect();
    home.run(&words).json()
}

/// The texts of the context of a session.
fn context(home: &Home, file: &str) -> String {
    home.run(&["context", file, "--json"]).json()["messages"].to_string()
}

#[test]
fn a_session_of_claude_is_imported_once_and_then_only_what_is_new() {
    let home = Home::new();
    let source = claude_dir(&home).join(format!("{ID}.jsonl"));
    let text = fixture(&home, "claude", "compactions.jsonl");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // The last line is not finished yet.
    put(&source, &(lines[..6].concat() + r#"{"parentUuid":"k1","isSi"#));
    let listed = home.run(&["import", "--from", "claude", "--list", "--json"]).json();
    assert_eq!((&listed[0]["foreignId"], &listed[0]["messageCount"]), (&ID.into(), &2.into()));
    let dry = import(&home, &["claude", "@latest", "--dry-run"]);
    assert_eq!((&dry[0]["state"], home.session_dir().exists()), (&"created".into(), false));

    let first = import(&home, &["claude", "@latest"]);
    let file = first[0]["path"].as_str().unwrap().to_owned();
    assert_eq!(Path::new(&file).parent().unwrap(), home.session_dir());
    assert_eq!(first[0]["id"], listed[0]["id"]);
    home.run(&["verify", &file]).expect(0, "");
    let again = import(&home, &["claude", ID]);
    assert_eq!((&again[0]["state"], &again[0]["written"]), (&"unchanged".into(), &0.into()));

    put(&source, &lines[..8].concat());
    let bytes = std::fs::read(&file).unwrap();
    let grown = import(&home, &["claude", "1111"]);
    assert_eq!((&grown[0]["state"], &grown[0]["written"]), (&"extended".into(), &2.into()));
    assert!(std::fs::read(&file).unwrap().starts_with(&bytes));
    assert!(context(&home, &file).contains("Went on"));

    // The user goes on in pi, and the agent as well.
    assert_eq!(home.run(&["append", &file, "in pi"]).code, 0);
    let before = context(&home, &file);
    put(&source, &text);
    let grown = import(&home, &["claude", path(&source)]);
    assert_eq!((&grown[0]["state"], &grown[0]["opensAtAgent"]), (&"extended".into(), &false.into()));
    assert_eq!(context(&home, &file), before);
    home.run(&["verify", &file]).expect(0, "");
    assert_eq!(import(&home, &["claude", "--all"])[0]["state"], "unchanged");
    assert_eq!(std::fs::read(&source).unwrap(), text.as_bytes());
}

#[test]
fn an_import_can_be_undone() {
    let home = Home::new();
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &fixture(&home, "claude", "answers.jsonl"));
    let imported = import(&home, &["claude", "--cwd", "."]);
    let file = imported[0]["path"].as_str().unwrap();
    age(Path::new(file));
    let undone = home.run(&["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert!(!Path::new(file).exists());
}

#[test]
fn sub_agents_become_sessions_with_a_parent() {
    let home = Home::new();
    let main = claude_dir(&home).join(format!("{ID}.jsonl"));
    put(&main, &fixture(&home, "claude", "answers.jsonl"));
    let child = fixture(&home, "claude", "sidechains.jsonl");
    let child: String = child.split_inclusive('\n').filter(|line| line.contains(r#""isSidechain":true"#)).collect();
    put(&claude_dir(&home).join(ID).join("subagents/agent-7.jsonl"), &child);
    put(&claude_dir(&home).join("agent-8.jsonl"), &child);
    put(&claude_dir(&home).join("agent-9.jsonl"), &child.replace(ID, "another"));
    assert_eq!(import(&home, &["claude", "@latest", "--no-children", "--dry-run"]).as_array().unwrap().len(), 1);
    let imported = import(&home, &["claude", "@latest"]);
    let ids: Vec<&str> = imported.as_array().unwrap().iter().map(|it| it["foreignId"].as_str().unwrap()).collect();
    assert_eq!(ids, [ID, &format!("{ID}/agent-7"), &format!("{ID}/agent-8")]);
    for child in &imported.as_array().unwrap()[1..] {
        let file = child["path"].as_str().unwrap();
        let header = super::changes::lines(Path::new(file)).remove(0);
        assert_eq!(header["parentSession"], imported[0]["path"]);
        home.run(&["verify", file]).expect(0, "");
    }
}

#[test]
fn damaged_lines_are_named_with_their_place() {
    let home = Home::new();
    let source = claude_dir(&home).join(format!("{ID}.jsonl"));
    put(&source, &fixture(&home, "claude", "damage.jsonl"));
    let output = home.run(&["import", "--from", "claude", "@latest"]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.err.contains(&format!("{}:2: not valid JSON", source.display())), "{}", output.err);
    assert!(output.err.contains("not kept: "), "{}", output.err);
    home.run(&["verify", output.out.trim()]).expect(0, "");
}

#[test]
fn resume_imports_the_latest_session_of_the_directory() {
    let home = Home::new();
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &fixture(&home, "claude", "answers.jsonl"));
    let output = home.run(&["resume", "--from", "claude", "--print"]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(context(&home, output.out.trim()).contains("I read two files."));
}

#[test]
fn a_session_that_does_not_exist_is_a_usage_error() {
    let home = Home::new();
    for words in [&["@latest"][..], &["nothing"], &[]] {
        let words: Vec<&str> = ["import", "--from", "claude"].into_iter().chain(words.iter().copied()).collect();
        assert_eq!(home.run(&words).code, 2);
    }
    assert_eq!(home.run(&["import", "--from", "claude", "--list"]).code, 1);
}

#[test]
fn sessions_of_codex_have_their_names_and_their_sub_agents() {
    let home = Home::new();
    let day = home.dir.path().join(".codex/sessions/2026/11/02");
    let (id, child) = ("0199a000-0000-7000-8000-000000000001", "0199a000-0000-7000-8000-000000000002");
    let file = |id: &str| day.join(format!("rollout-2026-11-02T09-00-00-{id}.jsonl"));
    put(&file(id), &fixture(&home, "codex", "turns.jsonl"));
    let text = fixture(&home, "codex", "rollback.jsonl");
    put(&file(child), &text.replacen(r#""forked_from_id""#, &format!(r#""parent_thread_id":"{id}","x""#), 1));
    let named = |id: &str, name: &str| format!("{{\"id\":\"{id}\",\"thread_name\":\"{name}\"}}\n");
    let index = [named("a", "Old"), named(id, "First"), named(id, "The picture")].concat();
    put(&home.dir.path().join(".codex/session_index.jsonl"), &index);
    let listed = home.run(&["list", "--agents", "--json"]).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["title"]), (1, &"The picture".into()));
    let imported = import(&home, &["auto", "@latest"]);
    let ids: Vec<&str> = imported.as_array().unwrap().iter().map(|it| it["foreignId"].as_str().unwrap()).collect();
    assert_eq!(ids, [id, child]);
    for session in imported.as_array().unwrap() {
        home.run(&["verify", session["path"].as_str().unwrap()]).expect(0, "");
    }
    let header = super::changes::lines(Path::new(imported[1]["path"].as_str().unwrap())).remove(0);
    assert_eq!((&header["parentSession"], &header["importedFrom"]["agent"]), (&imported[0]["path"], &"codex".into()));
    let beside = home.run(&["list", "--agents"]);
    assert!(beside.out.contains("[codex] The picture") && beside.out.contains("[pi] The picture"), "{}", beside.out);
    assert_eq!(import(&home, &["codex", path(&file(id)), "--no-children"])[0]["state"], "unchanged");
}
