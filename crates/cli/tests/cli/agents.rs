//! `import --from`, `resume --from` and `list --agents`.

use std::collections::HashSet;

use super::changes::path;
use super::*;

pub(super) const ID: &str = "11111111-1111-4111-8111-111111111111";

/// A fixture of the crate `sessile-agents`, as a session of the project.
pub(super) fn fixture(home: &Home, agent: &str, name: &str) -> String {
    let file = format!("{}/../agents/tests/fixtures/{agent}/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    text.replace("/proj/site", &in_json(&home.project()))
}

/// Writes a file of another agent.
pub(super) fn put(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// The directory of Claude Code for the project.
pub(super) fn claude_dir(home: &Home) -> PathBuf {
    let project = home.project().to_string_lossy().into_owned();
    let name: String = project.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    home.dir.path().join(".claude").join("projects").join(name)
}

pub(super) fn import(home: &Home, words: &[&str]) -> Value {
    let words: Vec<&str> = ["import", "--json", "--from"].into_iter().chain(words.iter().copied()).collect();
    home.run(&words).json()
}

/// The texts of the context of a session.
pub(super) fn context(home: &Home, file: &str) -> String {
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
    assert_eq!(home.run(&["list", "--json"]).json()[0]["importedFrom"], "claude");
    assert!(home.run(&["list"]).out.contains("[claude] "), "the list names the agent");
    let again = import(&home, &["claude", ID]);
    assert_eq!((&again[0]["state"], &again[0]["written"]), (&"unchanged".into(), &0.into()));

    put(&source, &lines[..8].concat());
    let bytes = std::fs::read(&file).unwrap();
    let grown = import(&home, &["claude", "1111"]);
    assert_eq!((&grown[0]["state"], &grown[0]["written"]), (&"extended".into(), &2.into()));
    assert!(std::fs::read(&file).unwrap().starts_with(&bytes));
    assert!(context(&home, &file).contains("Went on"));

    let undone = home.run(&["undo"]);
    assert!(undone.code != 0 && undone.err.contains("which only grows; `sessile branch`"), "{}", undone.err);

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
fn copies_of_a_session_are_imported_as_one_in_a_fixed_order() {
    let home = Home::new();
    let text = fixture(&home, "claude", "answers.jsonl");
    let projects = claude_dir(&home).parent().unwrap().to_path_buf();
    let id_of = |number: usize| format!("{number:08x}-0000-4000-8000-000000000000");
    for number in 0..16 {
        for copy in ["-a", "-b", "-c"] {
            put(&projects.join(copy).join(format!("{}.jsonl", id_of(number))), &text.replace(ID, &id_of(number)));
        }
    }
    let imported = import(&home, &["claude", "--all"]);
    let imported = imported.as_array().unwrap();
    let is_created = |session: &&Value| session["state"] == "created";
    let created: HashSet<&str> =
        imported.iter().filter(is_created).map(|session| session["foreignId"].as_str().unwrap()).collect();
    assert_eq!((imported.len(), created.len(), imported.iter().filter(is_created).count()), (48, 16, 16));
    let from = |sessions: &[Value]| -> Vec<Value> { sessions.iter().map(|session| session["from"].clone()).collect() };
    let again = import(&home, &["claude", "--all"]);
    let again = again.as_array().unwrap();
    assert_eq!(from(again), from(imported), "in the same order");
    assert!(again.iter().all(|session| session["state"] == "unchanged"), "{again:?}");
    home.run(&["verify", "--all"]).expect(0, "");
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

    let resumed = home.run(&["resume", "--from", "claude", "--print"]);
    assert_eq!((resumed.code, &resumed.out), (0, &output.out), "{}", resumed.err);
    assert!(resumed.err.contains(&format!("{}:2: not valid JSON", source.display())), "{}", resumed.err);
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
    put(&day.join("notes-0199a000-0000-7000-8000-000000000003.jsonl"), &fixture(&home, "codex", "turns.jsonl"));
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

#[test]
fn sessions_of_gemini_know_their_directory_and_their_sub_agents() {
    let home = Home::new();
    let gemini = home.dir.path().join(".gemini");
    let project = path(&home.project()).to_owned();
    put(&gemini.join("projects.json"), &serde_json::json!({"projects": {&project: "site"}}).to_string());
    let chats = gemini.join("tmp/site/chats");
    put(&chats.join("session-2026-11-04T09-00-g1.jsonl"), &fixture(&home, "gemini", "session.jsonl"));
    put(&chats.join("session-2025-08-04T09-00-g3.json"), &fixture(&home, "gemini", "old.json"));
    put(&chats.join("session-2025-08-04T09-00-g3.txt"), "no session");
    let child = fixture(&home, "gemini", "compressed.jsonl");
    put(&chats.join("g1/g2.jsonl"), &child);
    put(&chats.join("g2/g4.jsonl"), &child.replace("\"g2\"", "\"g4\""));
    put(&gemini.join("tmp/other/.project_root"), "/elsewhere\n");
    put(&gemini.join("tmp/other/chats/session-2026-11-04T10-00-g5.jsonl"), &child.replace("\"g2\"", "\"g5\""));
    let listed = home.run(&["import", "--from", "gemini", "--list", "--json"]).json();
    let mut ids: Vec<&str> = listed.as_array().unwrap().iter().map(|it| it["foreignId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["g1", "g3"]);
    assert_eq!(
        home.run(&["import", "--from", "gemini", "--list", "--all", "--json"]).json().as_array().unwrap().len(),
        3
    );

    let imported = import(&home, &["gemini", "g1"]);
    let ids: Vec<&str> = imported.as_array().unwrap().iter().map(|it| it["foreignId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["g1", "g1/g2", "g2/g4"]);
    for (nth, session) in imported.as_array().unwrap().iter().enumerate() {
        let file = session["path"].as_str().unwrap();
        assert_eq!(Path::new(file).parent().unwrap(), home.session_dir());
        home.run(&["verify", file]).expect(0, "");
        let header = super::changes::lines(Path::new(file)).remove(0);
        assert_eq!(
            header["parentSession"].as_str(),
            nth.checked_sub(1).map(|nth| imported[nth]["path"].as_str().unwrap())
        );
    }
    assert!(context(&home, imported[0]["path"].as_str().unwrap()).contains("Rather that"));
    assert_eq!(import(&home, &["auto", "g1"])[0]["state"], "unchanged");
    let old = import(&home, &["gemini", path(&chats.join("session-2025-08-04T09-00-g3.json"))]);
    assert_eq!((&old[0]["foreignId"], &old[0]["messages"]), (&"g3".into(), &4.into()));
    home.run(&["verify", old[0]["path"].as_str().unwrap()]).expect(0, "");
}

#[test]
fn sessions_of_opencode_come_from_exports_and_from_old_directories() {
    let home = Home::new();
    let export = home.dir.path().join("export.txt");
    put(&export, &fixture(&home, "opencode", "export.json"));
    let imported = import(&home, &["opencode", path(&export)]);
    let file = imported[0]["path"].as_str().unwrap().to_owned();
    assert_eq!((&imported[0]["foreignId"], &imported[0]["state"]), (&"ses_1".into(), &"created".into()));
    home.run(&["verify", &file]).expect(0, "");

    // The same session in the old directories, with a sub-agent.
    let storage = home.dir.path().join(".local/share/opencode/storage");
    let lines = fixture(&home, "opencode", "files.jsonl");
    for line in lines.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let id = value["id"].as_str().unwrap();
        let name = match (&value["messageID"], &value["role"]) {
            (Value::String(message), _) => format!("part/{message}/{id}.json"),
            (_, Value::String(_)) => format!("message/ses_1/{id}.json"),
            _ => format!("session/p1/{id}.json"),
        };
        put(&storage.join(name), line);
    }
    let child = r#"{"id":"ses_2","parentID":"ses_1","projectID":"p1","directory":"/proj","title":"Count","time":{"created":1762300822000}}"#;
    put(&storage.join("session/p1/ses_2.json"), child);
    put(&storage.join("message/ses_2/msg_1.json"), r#"{"id":"msg_1","role":"user","time":{"created":1762300822000}}"#);
    put(&storage.join("part/msg_1/prt_0.json"), r#"{"id":"prt_0","messageID":"msg_1","type":"text","text":"First"}"#);
    let listed = home.run(&["list", "--agents", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().iter().filter(|row| row["agent"] == "opencode").count(), 1);
    let again = import(&home, &["opencode", "ses_1"]);
    let states: Vec<_> = again.as_array().unwrap().iter().map(|it| (&it["foreignId"], &it["child"])).collect();
    assert_eq!(states, [(&"ses_1".into(), &Value::Null), (&"ses_2".into(), &true.into())]);
    let header = super::changes::lines(Path::new(again[1]["path"].as_str().unwrap())).remove(0);
    assert_eq!(header["parentSession"], file.as_str());
}

#[test]
fn without_exports_the_user_reads_how_to_export_from_the_database_of_opencode() {
    let home = Home::new();
    let database = home.dir.path().join(".local/share/opencode/opencode.db");
    put(&database, "SQLite format 3\0");
    let export =
        "\n  opencode session list\n  opencode export ID > session.json\n  sessile import --from opencode session.json";
    for (words, code) in [
        (&["import", "--from", "opencode", "@latest"][..], 2),
        (&["import", "--from", "opencode", path(&database)], 2),
        (&["import", "--from", "opencode", "--list"], 1),
        (&["import", "--from", "auto", "--all"], 1),
        (&["resume", "--from", "opencode"], 2),
        (&["list", "--agents"], 1),
    ] {
        let output = home.run(words);
        assert_eq!(output.code, code, "{words:?}: {}", output.err);
        assert!(output.err.contains("a database, which is not read") && output.err.contains(export), "{}", output.err);
    }
    let named = home.run(&["import", "--from", "opencode", "ses_4f2a"]).err;
    let export = "\n  opencode export ses_4f2a > ses_4f2a.json\n  sessile import --from opencode ses_4f2a.json\n";
    assert!(named.contains(export), "{named}");
    // What a shell would read otherwise is not repeated.
    let hostile = home.run(&["import", "--from", "opencode", "ses_1;rm x"]).err;
    assert!(hostile.contains("opencode export ID >"), "{hostile}");
    // A list for programs, and a user who has exported one, read nothing of it.
    home.run(&["list", "--agents", "--json"]).expect(1, "");
    let exported = fixture(&home, "opencode", "export.json");
    put(&home.dir.path().join(".local/share/opencode/storage/session/p/ses_1.json"), &exported);
    assert!(!home.run(&["list", "--agents", "--all"]).err.contains("database"));
}

#[test]
fn a_list_knows_unchanged_files_and_a_damaged_cache_changes_nothing() {
    let home = Home::new();
    let source = claude_dir(&home).join(format!("{ID}.jsonl"));
    let text = fixture(&home, "claude", "answers.jsonl");
    put(&source, &text);
    age(&source);
    let list = || home.run(&["list", "--agents", "--json"]).json();
    let first = list();
    let cache = home.dir.path().join("SESSILE_CACHE_DIR/agents/files");
    let bytes = std::fs::read(&cache).unwrap();
    assert_eq!(list(), first);
    assert_eq!(std::fs::read(&cache).unwrap(), bytes, "nothing was read again");
    // The row is used: a change that keeps length and time is not seen.
    let modified = std::fs::metadata(&source).unwrap().modified().unwrap();
    std::fs::write(&source, text.replace("login", "logon")).unwrap();
    std::fs::File::options().write(true).open(&source).unwrap().set_modified(modified).unwrap();
    assert_eq!(list(), first);
    for damage in [&b""[..], b"nonsense", &bytes[..bytes.len() - 1]] {
        std::fs::write(&cache, damage).unwrap();
        let found = list();
        assert_eq!(found[0]["foreignId"], first[0]["foreignId"]);
        assert!(found.to_string().contains("logon"), "{found}");
        assert!(std::fs::read(&cache).unwrap().len() > 100);
    }
    expect_mode(&cache, 0o600);
    std::fs::write(&source, text.repeat(2)).unwrap();
    assert_eq!(list().as_array().unwrap().len(), 1);
    std::fs::remove_file(&source).unwrap();
    let empty = home.run(&["list", "--agents", "--all", "--json"]);
    assert_eq!((empty.code, empty.out.trim()), (1, "[]"));
}
