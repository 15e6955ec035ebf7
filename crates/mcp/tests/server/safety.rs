//! What an agent never sees, and what a server never does.

use std::path::Path;

use serde_json::{Value, json};
use sessile::redact::{Level, ScanOptions, Tier};
use sessile_mcp::{Options, Redaction, Server};

use crate::recording_os::Recorder;
use crate::store::{Entries, PROJECT, Random, Store, age, answer, call, error};

/// Every tool, on every session that the store has.
fn everything(server: &Server, sessions: &[&str]) -> String {
    let mut questions = vec![
        ("search_history", json!({"query": "needle", "limit": 50})),
        ("search_history", json!({"query": "re:.", "limit": 50})),
        ("list_sessions", json!({"limit": 100})),
        ("find_file_history", json!({"path": "log.md"})),
        ("usage", json!({"by": "session"})),
        ("usage", json!({"by": "project"})),
    ];
    for session in sessions {
        for arguments in [
            json!({"session": session}),
            json!({"session": session, "detail": "full"}),
            json!({"session": session, "entry": "@root"}),
        ] {
            let has = |key: &str| arguments.get(key).is_some();
            for tool in ["get_session", "get_tree", "read_branch", "read_entry"] {
                let fits = match tool {
                    "read_entry" => has("entry"),
                    "read_branch" => true,
                    _ => !has("entry") && !has("detail"),
                };
                if fits {
                    questions.push((tool, arguments.clone()));
                }
            }
        }
        questions.push(("search_history", json!({"query": "needle", "session": session})));
    }
    let mut seen = String::new();
    for (tool, mut arguments) in questions {
        loop {
            let result = call(server, tool, &arguments);
            seen += &result.to_string();
            let page = &result["structuredContent"];
            let next = page.pointer("/entries/0/nextOffset").filter(|_| tool == "read_entry");
            match (page.get("nextCursor"), next) {
                (Some(cursor), _) => arguments["cursor"] = cursor.clone(),
                (None, Some(offset)) => arguments["offset"] = offset.clone(),
                (None, None) => break,
            }
        }
    }
    seen
}

fn needles(text: &str) -> Entries {
    Entries::default()
        .user(&format!("needle {text}"))
        .call("write", json!({"path": "log.md", "content": text}))
        .result(text)
}

#[test]
fn private_and_excluded_sessions_are_never_shown() {
    let store = Store::new();
    store.write("0aaa0000", PROJECT, &needles("visible").0);
    store.write("0bbb0000", PROJECT, &needles("hidden-by-name").name("Taxes #Private").0);
    store.write("0ccc0000", PROJECT, &needles("hidden-by-label").label(1, "keep #private").0);
    store.write("0ddd0000", PROJECT, &needles("no-longer-hidden").label(1, "#private").label(1, "").0);
    store.write("0eee0000", "/proj/secret/deep", &needles("hidden-by-directory").0);
    store.write("0fff0000", PROJECT, &needles("hidden-by-id").0);
    store.write("0abc0000", "/elsewhere", &needles("elsewhere").0);
    let ids = ["0aaa0000", "0bbb0000", "0ccc0000", "0ddd0000", "0eee0000", "0fff0000", "0abc0000", "Taxes #Private"];
    let mut options = store.options();
    options.excluded = vec!["/proj/secret".to_owned(), "0fff0000".to_owned()];
    let seen = everything(&Server::new(options.clone()), &ids);
    assert!(seen.contains("visible") && seen.contains("no-longer-hidden"));
    assert!(!seen.contains("hidden-by") && !seen.contains("elsewhere"), "{seen}");
    options.shows_all = true;
    let server = Server::new(options);
    let seen = everything(&server, &ids);
    assert!(seen.contains("elsewhere") && !seen.contains("hidden-by"));
    assert_eq!(answer(&server, "usage", &json!({}))["sessions"], 3);
    assert!(error(&server, "get_session", &json!({"session": "0bbb0000"})).contains("no such session"));
}

#[test]
fn a_session_becomes_private_while_the_server_runs() {
    let store = Store::new();
    let path = store.write("0aaa0000", PROJECT, &needles("text").0);
    let server = store.server();
    assert_eq!(answer(&server, "list_sessions", &json!({}))["total"], 1);
    store.write("0aaa0000", PROJECT, &needles("text").label(1, "#private").0);
    age(&path);
    assert_eq!(answer(&server, "list_sessions", &json!({}))["total"], 0);
    assert_eq!(answer(&server, "search_history", &json!({"query": "needle"}))["total"], 0);
}

#[test]
fn other_repositories_are_out_of_scope_whatever_a_call_says() {
    let store = Store::new();
    let path = store.write("0aaa0000", "/elsewhere", &needles("elsewhere").0);
    let server = store.server();
    let path = path.to_string_lossy();
    for session in ["0aaa0000", "@latest", "@1", &*path] {
        let text = error(&server, "read_branch", &json!({"session": session}));
        assert!(text.contains("no such session") || text.contains("there are no sessions"), "{text}");
    }
    error(&server, "list_sessions", &json!({"scope": "all"}));
    error(&server, "usage", &json!({"scope": "all"}));
    assert!(!everything(&server, &["0aaa0000"]).contains("elsewhere"));
}

/// Keys whose format is certain, made from a seed. No whole key is in this source.
fn keys() -> Vec<String> {
    let mut random = Random(77);
    let mut make = |alphabet: &str, length: usize| {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[random.below(letters.len())]).collect::<String>()
    };
    let (upper, word) =
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    let mut keys = Vec::new();
    for _ in 0..4 {
        keys.push(format!("AKIA{}", make(upper, 16)));
        keys.push(format!("sk-ant-api03-{}AA", make(word, 93)));
        keys.push(format!("xoxb-{}-{}-{}", make("123456789", 12), make("123456789", 12), make(word, 24)));
        keys.push(format!("glpat-{}", make(word, 20)));
        keys.push(format!("AIza{}", make(word, 35)));
        keys.push(format!("hf_{}", make("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 34)));
    }
    keys
}

/// Sessions with a key in every text, at places where pages and excerpts cut.
fn with_keys(store: &Store, keys: &[String]) {
    for (number, key) in keys.iter().enumerate() {
        let long: String =
            (0..400).map(|line| format!("{line} needle {} {key}\n", "x".repeat((line * 7 + number) % 61))).collect();
        let entries = Entries::default()
            .user(&format!("needle {key}"))
            .answer(&format!("`{key}`"))
            .call("write", json!({"path": "log.md", "content": key}))
            .result(&long)
            .call("bash", json!({"command": format!("curl -H 'x: {key}'")}))
            .result(&long)
            .custom(key)
            .compaction(&format!("needle {key}"), 1)
            .name(&format!("needle {key}"))
            .label(1, key)
            .user(&long);
        store.write(&format!("0abc{number:04}"), PROJECT, &entries.0);
    }
}

#[test]
fn secrets_never_go_out() {
    let store = Store::new();
    let sessions = store.sessions();
    // Only what the rules are certain about.
    let probe = store.write("0000dead", "/probe", &[]);
    let certain: Vec<String> = keys()
        .into_iter()
        .filter(|key| {
            std::fs::write(
                &probe,
                format!(
                    "{{\"type\":\"session\",\"version\":3,\"id\":\"p\",\"cwd\":\"/\"}}\n{}\n",
                    json!({"type": "custom", "id": "a", "data": key})
                ),
            )
            .unwrap();
            let report = sessions.scan_secrets(std::slice::from_ref(&probe), &ScanOptions::default()).unwrap();
            report.findings.iter().any(|finding| finding.tier == Tier::Certain)
        })
        .collect();
    assert!(certain.len() >= 12, "{} kinds of keys", certain.len());
    with_keys(&store, &certain);
    let ids: Vec<String> = (0..certain.len()).map(|number| format!("0abc{number:04}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).step_by(5).collect();
    let mut options = store.options();
    options.answer_size = sessile_mcp::MAX_ANSWER;
    let seen = everything(&Server::new(options.clone()), &ids);
    assert!(seen.contains("[REDACTED:") && seen.contains("replacedSecrets"));
    for key in &certain {
        // Not even most of a key.
        let part = &key[4..key.len() - 4];
        assert!(!seen.contains(part), "{key}");
    }
    options.redaction = Redaction::Nothing;
    let open = everything(&Server::new(options), &ids[..1]);
    assert!(open.contains(certain[0].as_str()) && !open.contains("[REDACTED:"));
}

#[test]
fn output_of_tools_can_be_hidden() {
    let store = Store::new();
    let entries = needles("from-a-tool").bash("ls", "from-a-shell").user("needle from-the-user");
    let mut lines = entries.0;
    lines[0] = Entries::default().user("needle from-the-user").0[0].clone();
    lines[1]["message"]["content"][0]["arguments"]["content"] = json!("from-the-model");
    store.write("0aaa0000", PROJECT, &lines);
    let mut options = store.options();
    options.hides_tool_output = true;
    let seen = everything(&Server::new(options.clone()), &["0aaa0000"]);
    assert!(seen.contains("from-the-user") && seen.contains("from-the-model") && seen.contains("(hidden)"));
    assert!(!seen.contains("from-a-tool") && !seen.contains("from-a-shell"), "{seen}");
    options.hides_tool_output = false;
    assert!(everything(&Server::new(options), &["0aaa0000"]).contains("from-a-tool"));
}

/// The home directory of another user.
const HOME: &str = concat!("/ho", "me/janeroe");

#[test]
fn levels_replace_more_than_secrets() {
    let store = Store::new();
    store.write("0aaa0000", PROJECT, &needles(&format!("write to jane.roe@corp.example from {HOME}/x")).0);
    let with = |redaction| {
        let mut options: Options = store.options();
        options.redaction = redaction;
        everything(&Server::new(options), &["0aaa0000"])
    };
    assert!(with(Redaction::CertainSecrets).contains(HOME));
    assert!(!with(Redaction::Level(Level::Paths)).contains("janeroe"));
    let pii = with(Redaction::Level(Level::Pii));
    assert!(!pii.contains("jane.roe@corp.example"), "{pii}");
    assert!(
        !with(Redaction::Level(Level::Outputs))
            .contains("\"toolResult\",\"trust\":\"untrusted\",\"text\":\"[write: log.md]:\\nwrite")
    );
}

#[test]
fn no_session_file_changes() {
    let store = Store::new();
    for number in 0..5 {
        store.write(&format!("0abc{number:04}"), PROJECT, &needles("text").0);
    }
    // Old and damaged files would be upgraded or repaired by a writer.
    let old = store.write("0old0000", PROJECT, &[]);
    std::fs::write(&old, "{\"type\":\"session\",\"id\":\"0old0000\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/proj\",\"provider\":\"p\",\"modelId\":\"m\",\"thinkingLevel\":\"off\"}\n{\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"needle old\"}}\n{\"type\":\"mess").unwrap();
    let before = store.contents();
    let recorder = Recorder::new(store.directory(PROJECT).ancestors().nth(3).unwrap().to_path_buf(), 0);
    let mut options = store.options();
    options.sessions = options.sessions.on(recorder.os());
    let seen = everything(&Server::new(options), &["0abc0000", "0old0000"]);
    assert!(seen.contains("needle old"));
    assert!(recorder.n_opened() > 5, "the tools read through this system");
    assert_eq!(recorder.changes(), Vec::<String>::new(), "a file of the store was changed or locked");
    assert_eq!(store.contents(), before, "a file was written, or made beside the sessions");
}

#[test]
#[cfg(unix)]
fn a_store_without_write_permission_is_enough() {
    use std::os::unix::fs::PermissionsExt;
    let store = Store::new();
    let path = store.write("0aaa0000", PROJECT, &needles("text").0);
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(&path, 0o400);
    set(path.parent().unwrap(), 0o500);
    let seen = everything(&store.server(), &["0aaa0000"]);
    set(path.parent().unwrap(), 0o700);
    assert!(seen.contains("needle text"));
}

#[test]
fn a_broken_rule_for_secrets_means_no_answer() {
    let store = Store::new();
    store.write("0aaa0000", PROJECT, &needles("text").0);
    let home = store.directory("/x").ancestors().nth(4).unwrap().to_path_buf();
    let config = home.join(".config/sessile");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[secrets.rules]\nmine = '('\n").unwrap();
    let text = error(&store.server(), "list_sessions", &json!({}));
    assert!(text.starts_with("the rules for secrets cannot be loaded"), "{text}");
    let mut options = store.options();
    options.redaction = Redaction::Nothing;
    assert_eq!(answer(&Server::new(options), "list_sessions", &Value::Null)["total"], 1);
}
