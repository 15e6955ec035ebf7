//! `import --from` for oh-my-pi, Copilot CLI, the old forms of Codex, and the sub-agents of Qwen Code.

use super::agents::{context, fixture, import, put};
use super::changes::path;
use super::*;
use sha2::{Digest, Sha256};

/// The ids of imported sessions.
fn ids(imported: &Value) -> Vec<&str> {
    imported.as_array().unwrap().iter().map(|it| it["foreignId"].as_str().unwrap()).collect()
}

/// The directory of Qwen Code for the project, in a home of Qwen Code.
fn qwen_dir(home: &Home, root: &str) -> PathBuf {
    let project = home.project().to_string_lossy().into_owned();
    let name: String = project.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    home.dir.path().join(root).join("projects").join(name)
}

#[test]
fn the_beginning_of_a_codex_session_can_be_in_another_file() {
    let home = Home::new();
    let day = home.dir.path().join(".codex/sessions/2026/11/02");
    let (base, id) = ("0199a000-0000-7000-8000-000000000001", "0199a000-0000-7000-8000-000000000003");
    let file = |id: &str| day.join(format!("rollout-2026-11-02T09-00-00-{id}.jsonl"));
    let text = fixture(&home, "codex", "turns.jsonl");
    put(&file(base), &text);
    // Up to the message of the user.
    let end: usize = text.split_inclusive('\n').take(5).map(str::len).sum();
    let line = |kind: &str, payload: Value| {
        serde_json::json!({"timestamp": "2026-11-03T09:00:00.000Z", "type": kind, "payload": payload}).to_string()
            + "\n"
    };
    let meta = serde_json::json!({"id": id, "cwd": path(&home.project()), "cli_version": "0.166.0",
        "history_base": {"thread_id": base, "end_ordinal_exclusive": 5, "end_byte_offset": end}});
    let said = |role: &str, kind: &str, text: &str| serde_json::json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let own = [line("session_meta", meta), line("response_item", said("assistant", "output_text", "A dog."))].concat();
    put(&file(id), &own);
    let imported = import(&home, &["codex", id]);
    let target = imported[0]["path"].as_str().unwrap();
    home.run(&["verify", target]).expect(0, "");
    let context = context(&home, target);
    assert!(context.contains("What is on this picture?") && context.contains("A dog."), "{context}");
    assert!(!context.contains("A cat."), "{context}");
    assert!(imported[0]["losses"]["beginnings in another file"].is_null(), "{imported}");
    // Without the other file, only the rest is there, which is reported.
    std::fs::remove_file(file(base)).unwrap();
    let rest = import(&home, &["codex", id, "--dry-run"]);
    assert_eq!(rest[0]["losses"]["beginnings in another file"], 1, "{rest}");
}

#[test]
fn sessions_of_qwen_have_their_sub_agents() {
    let home = Home::new();
    let chats = qwen_dir(&home, ".qwen").join("chats");
    let text = fixture(&home, "qwen", "tree.jsonl");
    put(&chats.join("q1.jsonl"), &text);
    let first = text.lines().next().unwrap();
    let parent = r#"{"uuid":"p1","parentUuid":"u1","sessionId":"q2","timestamp":"2026-11-03T08:00:02.000Z","type":"system","subtype":"parent_session","systemPayload":{"parentSessionId":"q1"}}"#;
    put(&chats.join("q2.jsonl"), &format!("{first}\n{parent}\n"));
    let listed = home.run(&["import", "--from", "qwen", "--list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let imported = import(&home, &["qwen", "@latest"]);
    assert_eq!(ids(&imported), ["q1", "q2"]);
    for session in imported.as_array().unwrap() {
        home.run(&["verify", session["path"].as_str().unwrap()]).expect(0, "");
    }
    let header = super::changes::lines(Path::new(imported[1]["path"].as_str().unwrap())).remove(0);
    assert_eq!(header["parentSession"], imported[0]["path"]);
    assert_eq!(import(&home, &["qwen", "--cwd", "."])[0]["state"], "unchanged");
}

#[test]
fn agents_of_qwen_have_files_beside_the_sessions_of_a_project() {
    let home = Home::new();
    let project = qwen_dir(&home, ".qwen");
    let text = fixture(&home, "qwen", "tree.jsonl");
    put(&project.join("chats/q1.jsonl"), &text);
    let agents = project.join("subagents/q1");
    let first = text.lines().next().unwrap();
    for (name, parent) in [("agent-a", "null"), ("agent-b", "\"a\""), ("agent-c", "\"b\"")] {
        put(&agents.join(format!("{name}.jsonl")), &format!("{first}\n"));
        put(&agents.join(format!("{name}.meta.json")), &format!(r#"{{"agentId":"x","parentAgentId":{parent}}}"#));
        put(&agents.join(format!("{name}.jsonl.stream")), "{}\n");
    }
    put(&project.join("subagents/q9/agent-z.jsonl"), &format!("{first}\n"));
    let imported = import(&home, &["qwen", "q1"]);
    assert_eq!(ids(&imported), ["q1", "q1/agent-a", "q1/agent-b", "q1/agent-c"]);
    for (nth, session) in imported.as_array().unwrap().iter().enumerate() {
        let file = session["path"].as_str().unwrap();
        home.run(&["verify", file]).expect(0, "");
        let header = super::changes::lines(Path::new(file)).remove(0);
        let parent = nth.checked_sub(1).map(|nth| imported[nth]["path"].as_str().unwrap());
        assert_eq!(header["parentSession"].as_str(), parent);
    }
    assert_eq!(import(&home, &["qwen", "q1", "--no-children"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_homes_that_agents_take_from_variables_are_read() {
    let home = Home::new();
    let text = fixture(&home, "qwen", "tree.jsonl");
    put(&qwen_dir(&home, "qwen-home").join("chats/q1.jsonl"), &text);
    put(&qwen_dir(&home, "qwen-runtime").join("chats/q2.jsonl"), &text);
    let copilot = fixture(&home, "copilot", "events.jsonl");
    put(&home.dir.path().join("copilot-home/session-state/cp1/events.jsonl"), &copilot);
    put(
        &home.dir.path().join("data/omp/sessions/-project/2026-11-05_om1.jsonl"),
        &fixture(&home, "omp", "session.jsonl"),
    );
    let listed = |agent: &str, variables: &[(&str, &str)]| {
        let mut command = home.command(&["import", "--from", agent, "--list", "--json"]);
        for (name, value) in variables {
            command.env(name, if value.starts_with('~') { PathBuf::from(value) } else { home.dir.path().join(value) });
        }
        let found = output_of(&mut command).out;
        let found: Value = serde_json::from_str(&found).unwrap();
        ids(&found).join(" ")
    };
    assert_eq!(listed("qwen", &[]), "");
    assert_eq!(listed("qwen", &[("QWEN_HOME", "qwen-home")]), "q1");
    assert_eq!(listed("qwen", &[("QWEN_HOME", "~/qwen-home")]), "q1");
    assert_eq!(listed("qwen", &[("QWEN_HOME", "qwen-home"), ("QWEN_RUNTIME_DIR", "qwen-runtime")]), "q2");
    assert_eq!(listed("copilot", &[("COPILOT_HOME", "copilot-home")]), "cp1");
    assert_eq!(listed("omp", &[("XDG_DATA_HOME", "data")]), "om1");
}

#[test]
fn every_agent_is_listed_imported_and_resumed() {
    let home = Home::new();
    let root = home.dir.path();
    let project = path(&home.project()).to_owned();
    put(&root.join(".gemini/projects.json"), &serde_json::json!({"projects": {&project: "site"}}).to_string());
    let encoded: String = project.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    let codex = "rollout-2026-11-02T09-00-00-0199a000-0000-7000-8000-000000000001.jsonl";
    let files = [
        ("claude", "answers.jsonl", format!(".claude/projects/{encoded}/11111111-1111-4111-8111-111111111111.jsonl")),
        ("codex", "turns.jsonl", format!(".codex/sessions/2026/11/02/{codex}")),
        ("copilot", "events.jsonl", ".copilot/session-state/cp1/events.jsonl".to_owned()),
        ("gemini", "session.jsonl", ".gemini/tmp/site/chats/session-2026-11-04T09-00-g1.jsonl".to_owned()),
        ("omp", "session.jsonl", ".omp/agent/sessions/-project/2026-11-05_om1.jsonl".to_owned()),
        ("qwen", "tree.jsonl", format!(".qwen/projects/{encoded}/chats/q1.jsonl")),
    ];
    for (agent, name, file) in &files {
        put(&root.join(file), &fixture(&home, agent, name));
    }
    put(&root.join(".copilot/session-state/cp1/workspace.yaml"), "id: cp1\nname: \"The look\"\n");
    let listed = home.run(&["list", "--agents", "--json"]).json();
    let mut agents: Vec<&str> = listed.as_array().unwrap().iter().map(|it| it["agent"].as_str().unwrap()).collect();
    agents.sort_unstable();
    assert_eq!(agents, files.each_ref().map(|(agent, ..)| *agent));
    for (agent, title) in [("copilot", "The look"), ("omp", "My look")] {
        let row = listed.as_array().unwrap().iter().find(|it| it["agent"] == agent).unwrap();
        assert_eq!(row["title"], title);
    }
    for (agent, _, file) in &files {
        let resumed = home.run(&["resume", "--from", agent, "@latest", "--print"]);
        assert_eq!(resumed.code, 0, "{agent}: {}", resumed.err);
        home.run(&["verify", resumed.out.trim()]).expect(0, "");
        let again = import(&home, &["auto", path(&root.join(file))]);
        assert_eq!((&again[0]["agent"], &again[0]["state"]), (&(*agent).into(), &"unchanged".into()), "{again}");
        assert_eq!(again[0]["path"], resumed.out.trim());
    }
}

#[test]
fn a_sub_agent_of_oh_my_pi_is_a_session_with_a_parent() {
    let home = Home::new();
    let directory = home.dir.path().join(".omp/profiles/work/agent/sessions/-project");
    let text = fixture(&home, "omp", "session.jsonl");
    put(&directory.join("2026-11-05_om1.jsonl"), &text);
    let child = text.replace("\"om1\"", "\"om2\"");
    put(&directory.join("2026-11-05_om1/Search.jsonl"), &child);
    put(&directory.join("2026-11-05_om1/0.bash.log"), "a.ts\n");
    let imported = import(&home, &["omp", "om1"]);
    assert_eq!(ids(&imported), ["om1", "om2"]);
    let header = super::changes::lines(Path::new(imported[1]["path"].as_str().unwrap())).remove(0);
    assert_eq!(header["parentSession"], imported[0]["path"]);
}

/// The beginning of a PNG file, and the name of its file in oh-my-pi.
const PICTURE: (&[u8], &str) =
    (b"\x89PNG\r\n\x1a\n", "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6");

#[test]
fn images_of_oh_my_pi_come_from_their_own_files() {
    let home = Home::new();
    let agent = home.dir.path().join(".omp").join("agent");
    let file = agent.join("sessions").join("-project").join("2026-11-05_om1.jsonl");
    put(&file, &fixture(&home, "omp", "session.jsonl"));
    let blob = agent.join("blobs").join(PICTURE.1);
    let dry = || import(&home, &["omp", "om1", "--dry-run"]);
    let reasons = |imported: &Value| {
        let damaged = imported[0]["damaged"].as_array().unwrap();
        assert!(damaged.iter().all(|it| it["path"] == path(&file)), "{imported}");
        let reason = |it: &Value| format!("{} {}", it["line"], it["reason"].as_str().unwrap());
        damaged.iter().map(reason).filter(|it| it.contains("image")).collect::<Vec<_>>()
    };
    let invalid = "5 a reference to an image is not valid".to_owned();
    let missing = dry();
    assert_eq!(reasons(&missing), ["5 the file of an image is missing".to_owned(), invalid.clone()]);
    assert_eq!(missing[0]["losses"]["images"], 2);
    let shown = home.run(&["import", "--from", "omp", "om1", "--dry-run"]).err;
    assert!(shown.contains(&format!("{}:5: the file of an image is missing", file.display())), "{shown}");

    put(&blob, "other bytes");
    assert_eq!(reasons(&dry())[0], "5 the file of an image has other content than its name says");
    std::fs::remove_file(&blob).unwrap();
    std::fs::create_dir(&blob).unwrap();
    assert_eq!(reasons(&dry())[0], "5 the file of an image is not a regular file");
    std::fs::remove_dir(&blob).unwrap();
    std::fs::File::create(&blob).unwrap().set_len((32 << 20) + 1).unwrap();
    assert_eq!(reasons(&dry())[0], "5 the file of an image is too large");

    std::fs::write(&blob, PICTURE.0).unwrap();
    // What the hostile reference names.
    put(&agent.join("x"), "secret");
    let imported = import(&home, &["omp", "om1"]);
    assert_eq!(reasons(&imported), [invalid]);
    let session = imported[0]["path"].as_str().unwrap();
    home.run(&["verify", session]).expect(0, "");
    let content = &super::changes::lines(Path::new(session))[2]["message"]["content"];
    let picture = serde_json::json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    assert_eq!((&content[1], &content[3]), (&picture, &picture));
    assert_eq!(content[2]["text"], "[image blob:sha256:../../x]");
    assert_eq!(import(&home, &["omp", "om1"])[0]["state"], "unchanged");
}

#[test]
fn an_image_of_oh_my_pi_that_comes_later_is_imported_and_one_that_goes_stays() {
    let home = Home::new();
    let agent = home.dir.path().join(".omp").join("agent");
    let text = fixture(&home, "omp", "session.jsonl");
    let hostile = r#"{"type":"image","data":"blob:sha256:../../x","mimeType":"image/png"},"#;
    assert!(text.contains(hostile));
    put(&agent.join("sessions/-project/2026-11-05_om1.jsonl"), &text.replace(hostile, ""));
    let state = || import(&home, &["omp", "om1"])[0]["state"].clone();
    assert_eq!((state(), state()), ("created".into(), "unchanged".into()));
    let blob = agent.join("blobs").join(PICTURE.1);
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    std::fs::write(&blob, PICTURE.0).unwrap();
    assert_eq!((state(), state()), ("extended".into(), "unchanged".into()));
    std::fs::remove_file(&blob).unwrap();
    assert_eq!(state(), "unchanged");
}

#[test]
fn a_session_that_uses_a_large_image_too_often_has_it_only_as_often_as_fits() {
    let home = Home::new();
    let agent = home.dir.path().join(".omp").join("agent");
    let bytes = vec![b'x'; 30 << 20];
    let name = format!("{:x}", Sha256::digest(&bytes));
    put(&agent.join("blobs").join(&name), std::str::from_utf8(&bytes).unwrap());
    let block = format!(r#"{{"type":"image","data":"blob:sha256:{name}","mimeType":"image/png"}}"#);
    let text = [
        r#"{"type":"title","v":1,"title":"t","pad":""}"#.to_owned(),
        r#"{"type":"session","version":3,"id":"om3","timestamp":"2026-11-05T09:00:00.000Z","cwd":"/"}"#.to_owned(),
        format!(
            r#"{{"type":"message","id":"a","parentId":null,"message":{{"role":"user","content":[{}]}}}}"#,
            vec![block; 8].join(",")
        ),
    ];
    put(&agent.join("sessions/-/2026-11-05_om3.jsonl"), &(text.join("\n") + "\n"));
    let imported = import(&home, &["omp", "om3", "--dry-run"]);
    // Each one is 40 MiB in base64, and a line has room for 128.
    assert_eq!(imported[0]["losses"]["images"], 5, "{imported}");
}

#[test]
fn a_conversation_goes_to_oh_my_pi_and_back() {
    let home = Home::new();
    let source = super::agent_export::session(&home);
    let exported = home.run(&["export", path(&source), "--to", "omp", "--json"]).json();
    let file = PathBuf::from(exported[0]["path"].as_str().unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    put(&home.dir.path().join(".omp/agent/sessions/-project").join(file.file_name().unwrap()), &text);
    let imported = import(&home, &["omp", "@latest"]);
    assert_eq!((&imported[0]["foreignId"], &imported[0]["title"]), (&exported[0]["id"], &"Named".into()));
    let messages = |file: &str| {
        let mut messages = home.run(&["context", file, "--json"]).json()["messages"].clone();
        for message in messages.as_array_mut().unwrap() {
            // The import says which agent answered, and what it says of the tokens. The messages of this session are
            // older than its header, so the export gives them other times.
            let message = message.as_object_mut().unwrap();
            for key in ["api", "usage", "responseId", "timestamp"] {
                message.remove(key);
            }
            // A text is the same as one block of text.
            if let Some(text) = message["content"].as_str().map(str::to_owned) {
                message["content"] = serde_json::json!([{"type": "text", "text": text}]);
            }
        }
        messages
    };
    assert_eq!(messages(imported[0]["path"].as_str().unwrap()), messages(path(&source)));
}
