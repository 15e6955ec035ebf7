//! What an import of another agent's session brings along, and that later imports keep it.

use super::agents::{ID, claude_dir, context, fixture, import, put};
use super::changes::{lines, path};
use super::*;

/// The id of the session of Codex.
const THREAD: &str = "0199a000-0000-7000-8000-000000000001";

fn codex_file(home: &Home) -> PathBuf {
    home.dir.path().join(format!(".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-{THREAD}.jsonl"))
}

/// The file of the first imported session.
fn file_of(imported: &Value) -> String {
    imported[0]["path"].as_str().unwrap().to_owned()
}

/// An import that is refused, at least in part.
fn refused(home: &Home, words: &[&str]) -> Value {
    let words: Vec<&str> = ["import", "--json", "--from"].into_iter().chain(words.iter().copied()).collect();
    let output = home.run(&words);
    assert_eq!(output.code, 3, "{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

/// The entries of a type.
fn entries(file: &str, kind: &str) -> Vec<Value> {
    lines(Path::new(file)).into_iter().filter(|line| line["type"] == *kind).collect()
}

#[test]
fn texts_of_the_program_go_to_the_model_on_request_and_stay_so() {
    let home = Home::new();
    let text = fixture(&home, "codex", "turns.jsonl");
    let whole: Vec<&str> = text.split_inclusive('\n').collect();
    put(&codex_file(&home), &whole[..5].concat());
    let usual = import(&home, &["codex", THREAD, "--dry-run"]);
    assert!(usual[0]["choices"].is_null(), "{usual}");
    let imported = import(&home, &["codex", THREAD, "--with-context"]);
    assert_eq!(imported[0]["choices"], serde_json::json!({"withContext": true}));
    let file = file_of(&imported);
    home.run(&["verify", &file]).expect(0, "");
    assert!(context(&home, &file).contains("You are Codex") && context(&home, &file).contains("<environment_context>"));
    let said = entries(&file, "custom_message");
    assert_eq!(said.len(), 2);
    assert_eq!((&said[0]["customType"], &said[0]["display"]), (&"codex.context".into(), &false.into()));
    assert_eq!(said[0]["content"], serde_json::json!([{"type": "text", "text": "You are Codex"}]));
    assert_eq!(said[0]["details"]["role"], "developer");

    // What grows is imported the same way, although the option is not repeated.
    let added = whole[1].replace("You are Codex", "You are still Codex");
    put(&codex_file(&home), &(text.clone() + &added));
    let grown = import(&home, &["codex", THREAD]);
    assert_eq!((&grown[0]["state"], &grown[0]["choices"]), (&"extended".into(), &imported[0]["choices"]));
    assert_eq!(entries(&file, "custom_message").len(), 3);
    assert!(context(&home, &file).contains("You are still Codex"));
    home.run(&["verify", &file]).expect(0, "");
    assert_eq!(import(&home, &["codex", THREAD, "--with-context"])[0]["state"], "unchanged");
}

#[test]
fn another_choice_is_refused_and_the_other_sessions_are_imported() {
    let home = Home::new();
    put(&codex_file(&home), &fixture(&home, "codex", "turns.jsonl"));
    let file = file_of(&import(&home, &["codex", THREAD, "--model", "openai/gpt-6"]));
    let bytes = std::fs::read(&file).unwrap();
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &fixture(&home, "claude", "answers.jsonl"));
    let output = home.run(&["import", "--from", "auto", "--all", "--with-context", "--keep-signatures"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains(&format!("error: {file} was imported with --model openai/gpt-6")), "{}", output.err);
    assert_eq!(output.out.lines().count(), 1, "{}", output.out);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let refused = refused(&home, &["codex", THREAD, "--model", "openai/gpt-7"]);
    assert_eq!((&refused[0]["state"], &refused[0]["choices"]["model"]), (&"refused".into(), &"openai/gpt-6".into()));
    let plain = home.run(&["import", "--from", "claude", ID, "--model", "a/b"]);
    assert!(plain.err.contains("was imported with --with-context --keep-signatures"), "{}", plain.err);
    for bad in ["gpt-6", "openai/", "/gpt-6"] {
        assert_eq!(home.run(&["import", "--from", "codex", THREAD, "--model", bad]).code, 2);
    }
    assert_eq!(home.run(&["import", path(&codex_file(&home)), "--with-context"]).code, 2);
}

#[test]
fn signed_thoughts_are_those_of_pis_own_provider_on_request() {
    let home = Home::new();
    put(&codex_file(&home), &fixture(&home, "codex", "turns.jsonl"));
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &fixture(&home, "claude", "answers.jsonl"));
    for (agent, id, api, signature) in [
        ("claude", ID, "anthropic-messages", "sig"),
        (
            "codex",
            THREAD,
            "openai-responses",
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"I look at it"}],"encrypted_content":"gAAAA"}"#,
        ),
    ] {
        let imported = import(&home, &[agent, id, "--keep-signatures"]);
        let losses = imported[0]["losses"].as_object().unwrap();
        assert!(losses.keys().all(|kind| !kind.contains("signature") && !kind.contains("thought")), "{losses:?}");
        let file = file_of(&imported);
        home.run(&["verify", &file]).expect(0, "");
        let messages: Vec<Value> =
            entries(&file, "message").into_iter().map(|entry| entry["message"].clone()).collect();
        let thinks = |message: &&Value| {
            message["content"].as_array().is_some_and(|it| it.iter().any(|block| block["type"] == "thinking"))
        };
        let signed = messages.iter().find(thinks).unwrap();
        assert_eq!(signed["api"], api);
        let thought = signed["content"].as_array().unwrap().iter().find(|block| block["type"] == "thinking").unwrap();
        assert_eq!(thought["thinkingSignature"], signature, "{thought}");
        // An answer without signed thoughts stays one of another model.
        assert!(messages.iter().any(|message| message["api"] != api && message["role"] == "assistant"), "{agent}");
        assert_eq!(import(&home, &[agent, id])[0]["state"], "unchanged");
    }
}

#[test]
fn pi_goes_on_with_the_chosen_model_until_the_user_chooses_another() {
    let home = Home::new();
    let source = claude_dir(&home).join(format!("{ID}.jsonl"));
    let text = fixture(&home, "claude", "compactions.jsonl");
    let whole: Vec<&str> = text.split_inclusive('\n').collect();
    put(&source, &whole[..6].concat());
    let file = file_of(&import(&home, &["claude", ID, "--model", "acme/swift/2"]));
    let chosen = serde_json::json!({"provider": "acme", "modelId": "swift/2"});
    let model = |home: &Home| home.run(&["context", &file, "--json"]).json()["model"].clone();
    assert_eq!(model(&home), chosen);
    let first = lines(Path::new(&file));
    assert_eq!((&first[1]["customType"], &first[2]["type"]), (&"sessile.import".into(), &"model_change".into()));
    assert_eq!((&first[2]["provider"], &first[2]["modelId"]), (&chosen["provider"], &chosen["modelId"]));
    assert_eq!(import(&home, &["claude", ID])[0]["state"], "unchanged");

    put(&source, &whole[..8].concat());
    assert_eq!(import(&home, &["claude", ID])[0]["state"], "extended");
    assert_eq!(model(&home), chosen);
    assert_eq!(entries(&file, "model_change").len(), 3);
    home.run(&["verify", &file]).expect(0, "");

    // The user chooses another model in pi.
    let last = lines(Path::new(&file)).pop().unwrap()["id"].clone();
    let change = serde_json::json!({"type": "model_change", "id": "ffff0001", "parentId": last,
        "timestamp": "2026-11-02T00:00:00.000Z", "provider": "other", "modelId": "own"});
    let mut log = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    std::io::Write::write_all(&mut log, format!("{change}\n").as_bytes()).unwrap();
    put(&source, &text);
    assert_eq!(import(&home, &["claude", ID])[0]["state"], "extended");
    assert_eq!(entries(&file, "model_change").len(), 4);
    home.run(&["verify", &file]).expect(0, "");
    assert_eq!(import(&home, &["claude", ID])[0]["state"], "unchanged");
}

#[test]
fn new_sub_agents_get_the_choices_of_their_session() {
    let home = Home::new();
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &fixture(&home, "claude", "answers.jsonl"));
    import(&home, &["claude", ID, "--with-context"]);
    let child = fixture(&home, "claude", "sidechains.jsonl");
    let child: String = child.split_inclusive('\n').filter(|line| line.contains(r#""isSidechain":true"#)).collect();
    put(&claude_dir(&home).join(ID).join("subagents/agent-7.jsonl"), &child);
    let imported = import(&home, &["claude", ID]);
    assert_eq!((&imported[1]["state"], &imported[1]["choices"]), (&"created".into(), &imported[0]["choices"]));
    // Nothing of a refused session changes, and it has no other sub-agents then.
    put(&claude_dir(&home).join(ID).join("subagents/agent-8.jsonl"), &child);
    let refused = refused(&home, &["claude", ID, "--keep-signatures"]);
    assert_eq!((refused.as_array().unwrap().len(), &refused[0]["state"]), (1, &"refused".into()));
}
