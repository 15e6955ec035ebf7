//! Text that attacks the terminal.

use super::*;

/// Clears the screen, sets the title, writes to the clipboard, reverses text, and hides characters.
const HARM: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;aGk=\u{1b}\\\u{9b}31m\u{90}q\u{9c}\u{202e}abc\u{2066}\u{200b}\u{7f}\u{8}\r\u{e0041}x";

fn is_harmless(text: &str) -> bool {
    let harms = |char: char| {
        (char.is_control() && char != '\n')
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
    };
    !text.chars().any(harms)
}

pub(super) fn hostile_session(home: &Home) -> PathBuf {
    home.session("x.jsonl", &hostile_lines(HARM))
}

fn hostile_lines(harm: &str) -> Vec<String> {
    let text = serde_json::to_string(harm).unwrap();
    let with = |shape: &str| shape.replace("HARM", &text);
    vec![
        user("a", None, harm),
        entry(
            "message",
            "b",
            Some("a"),
            &with(
                r#""message":{"role":"assistant","content":[{"type":"thinking","thinking":HARM},{"type":"text","text":HARM},
                {"type":"toolCall","id":"c1","name":HARM,"arguments":{"path":HARM}},{"type":"image","mimeType":HARM},{"type":HARM}],
                "provider":HARM,"model":HARM,"stopReason":"error","errorMessage":HARM,"timestamp":1}"#,
            )
            .replace('\n', " "),
        ),
        entry("message", "c", Some("b"), &with(r#""message":{"role":"toolResult","toolCallId":"c1","toolName":HARM,"content":[{"type":"text","text":HARM}]}"#)),
        entry("message", "d", Some("c"), &with(r#""message":{"role":"bashExecution","command":HARM,"output":HARM}"#)),
        entry("message", "d2", Some("d"), &with(r#""message":{"role":HARM,"content":HARM}"#)),
        entry("message", "d3", Some("d2"), &with(r#""message":{"role":"system","content":HARM,"sections":{HARM:HARM},"toolsAdded":[{"name":HARM}]}"#)),
        entry("custom_message", "e", Some("d3"), &with(r#""customType":HARM,"content":HARM,"display":true"#)),
        entry("custom", "f", Some("e"), &with(r#""customType":HARM"#)),
        entry("model_change", "g", Some("f"), &with(r#""provider":HARM,"modelId":HARM"#)),
        entry("thinking_level_change", "h", Some("g"), &with(r#""thinkingLevel":HARM"#)),
        entry("branch_summary", "i", Some("h"), &with(r#""fromId":HARM,"summary":HARM"#)),
        entry("context_edit", "j", Some("i"), &with(r#""targetId":HARM,"replacement":null"#)),
        entry("usage", "k", Some("j"), &with(r#""kind":HARM"#)),
        with(r#"{"type":HARM,"id":HARM,"parentId":"k","timestamp":HARM}"#),
        entry("label", "l", Some("k"), &with(r#""targetId":"a","label":HARM"#)),
        entry("session_info", "m", Some("l"), &with(r#""name":HARM"#)),
    ]
}

#[test]
fn session_text_cannot_control_the_terminal() {
    let home = Home::new();
    let file = hostile_session(&home);
    let file = file.to_str().unwrap();
    for words in [
        &["tree", file][..],
        &["tree", "--all", file],
        &["show", file],
        &["show", "--full", "--times", file],
        &["info", file],
        &["stats", file],
        &["stats", "--by", "session"],
        &["stats", "--by", "model"],
        &["stats", "--by", "tool"],
        &["context", file],
        &["llm", file],
        &["entries", file],
        &["list"],
        &["list", "--all", "--paths"],
        &["du"],
        &[],
    ] {
        let output = home.run(words);
        output.expect(0, "");
        assert!(output.out.contains("[2J"), "{words:?} shows the text: {}", output.out);
        assert!(is_harmless(&output.out), "{words:?}: {:?}", output.out);
    }
}

#[test]
fn differences_cannot_control_the_terminal() {
    let home = Home::new();
    let file = hostile_session(&home);
    let other = file.with_file_name("other.jsonl");
    let text = std::fs::read_to_string(&file).unwrap().replace("[2J", "[2J changed");
    std::fs::write(&other, text).unwrap();
    let output = home.run(&["diff", file.to_str().unwrap(), other.to_str().unwrap(), "--full"]);
    output.expect(1, "");
    assert!(output.out.contains("[2J changed") && is_harmless(&output.out), "{:?}", output.out);
}

#[test]
fn only_our_own_colors_are_printed() {
    let home = Home::new();
    let file = hostile_session(&home);
    let output = home.run(&["tree", "--all", "--color", "always", file.to_str().unwrap()]);
    assert!(output.out.contains("\u{1b}[36m"));
    // After removing the sequences that only set colours, the rest is harmless.
    let mut rest = String::new();
    for (n_before, piece) in output.out.split("\u{1b}[").enumerate() {
        let style = piece.trim_start_matches(|char: char| char.is_ascii_digit() || char == ';');
        assert!(n_before == 0 || style.starts_with('m'), "{piece:?}");
        rest.push_str(style);
    }
    assert!(is_harmless(&rest), "{rest:?}");
}

#[test]
fn file_names_cannot_control_the_terminal() {
    let home = Home::new();
    let name = if cfg!(windows) { "\u{9b}2J\u{202e}.jsonl" } else { "\u{1b}[2J\u{202e}.jsonl" };
    std::fs::write(home.project().join(name), "{}\n").unwrap();
    let output = home.run(&["tree", name]);
    assert_eq!(output.code, 3);
    assert!(is_harmless(&output.err), "{:?}", output.err);
    for words in [&["tree", "\u{1b}[2J"][..], &["--\u{1b}[2J"], &["\u{9b}2J"]] {
        let output = home.run(words);
        assert!(output.code >= 2 && is_harmless(&output.err), "{:?}", output.err);
    }
}

#[test]
fn findings_cannot_control_the_terminal() {
    let home = Home::new();
    let harm = serde_json::to_string(HARM).unwrap();
    let bad = format!(r#"{{"type":"custom","id":{harm},"parentId":{harm},"timestamp":{harm}}}"#);
    let orphan = bad.replacen("\"id\":\"", "\"id\":\"x", 1).replace("\"parentId\":\"", "\"parentId\":\"y");
    let file = home.session("x.jsonl", &[user("a", None, "hi"), format!("{HARM}{bad}"), orphan]);
    let file = file.to_str().unwrap();
    for words in
        [&["verify", file][..], &["repair", "--dry-run", file], &["entries", "--salvaged", file], &["repair", file]]
    {
        let output = home.run(words);
        assert!(
            output.code <= 1 && output.out.contains("[2J") && is_harmless(&output.out),
            "{words:?}: {:?}",
            output.out
        );
    }
}

/// Returns every character that acts on a terminal or on the order of the text around it.
fn display_control_chars() -> String {
    ('\u{7f}'..=char::MAX)
        .filter(|char| sessile::format::display_control::affects_display(*char))
        .filter(|char| *char < '\u{e0000}')
        .collect()
}

fn acts(text: &str) -> bool {
    text.chars().any(|char| char != '\n' && sessile::format::display_control::affects_display(char))
}

/// Commands that print JSON, in an order in which each finds something. `FILE` is a session, `TEXT` the hostile text.
const JSON: &[&[&str]] = &[
    &["list", "--json"],
    &["list", "--jsonl", "--text"],
    &["search", "needle", "--json"],
    &["search", "needle", "--jsonl"],
    &["show", "FILE", "--json"],
    &["show", "FILE", "--jsonl"],
    &["show", "FILE", "a", "--json"],
    &["tree", "FILE", "--json"],
    &["tree", "FILE", "--json", "--flat"],
    &["info", "FILE", "--json"],
    &["stats", "FILE", "--json"],
    &["stats", "--by", "model", "--json"],
    &["stats", "--by", "tool", "--json"],
    &["family", "FILE", "--json"],
    &["diff", "FILE", "FILE", "--json"],
    &["du", "FILE", "--json"],
    &["du", "--json"],
    &["slim", "FILE", "--json"],
    &["merge", "FILE", "FILE", "--dry-run", "--json"],
    &["context", "FILE", "--json"],
    &["llm", "FILE", "--json"],
    &["llm", "FILE", "--jsonl"],
    &["entries", "FILE", "--json"],
    &["entries", "FILE", "--jsonl"],
    &["entries", "FILE", "--salvaged", "--json"],
    &["watch", "FILE", "--from-start", "--until-idle", "1", "--json"],
    &["verify", "FILE", "--json"],
    &["secrets", "FILE", "--json"],
    &["secrets", "rules", "--json"],
    &["secrets", "test", "FILE", "--json"],
    &["scrub", "FILE", "--dry-run", "--json"],
    &["scrub", "FILE", "--yes", "--force", "--json"],
    &["repair", "FILE", "--dry-run", "--json"],
    &["migrate", "FILE", "--dry-run", "--json"],
    &["compact", "FILE", "--dry-run", "--keep", "1", "--json"],
    &["compact", "FILE", "--keep", "1", "--json"],
    &["edit-context", "FILE", "a", "TEXT", "--json"],
    &["append", "FILE", "TEXT", "--json"],
    &["title", "FILE", "--json"],
    &["name", "FILE", "--json"],
    &["name", "FILE", "TEXT", "--json"],
    &["label", "FILE", "a", "--json"],
    &["label", "FILE", "a", "TEXT", "--json"],
    &["label", "FILE", "--list", "--json"],
    &["archive", "FILE", "--json"],
    &["archive", "FILE", "--clear", "--json"],
    &["branch", "FILE", "b", "--json"],
    &["fork", "FILE", "c", "--json"],
    &["clone", "FILE", "--json"],
    &["new", "--name", "TEXT", "--json"],
    &["import", "ELSEWHERE", "--json"],
    &["export", "FILE", "--format", "json"],
    &["export", "FILE", "--format", "json", "--all"],
    &["export", "FILE", "--to", "claude", "--json"],
    &["config", "--json"],
    &["config", "get", "resume.command", "--json"],
    &["config", "set", "resume.command", "TEXT", "--json"],
    &["config", "unset", "resume.command", "--json"],
    &["config", "path", "--json"],
    &["index", "--json"],
    &["index", "status", "--json"],
    &["index", "rebuild", "--json"],
    &["index", "check", "--json"],
    &["index", "clear", "--json"],
    &["move", "FILE", "--to", "TEXT", "--json"],
    &["undo", "--force", "--json"],
    &["undo", "--list", "--json"],
    &["prune", "--older-than", "1m", "--named", "--labelled", "--json"],
    &["delete", "FILE", "--yes", "--force", "--json"],
    &["restore", "--list", "--json"],
    &["restore", "FILE", "--json"],
    &["clean", "--json"],
];

#[test]
fn json_cannot_control_the_terminal() {
    let home = Home::new();
    let text = display_control_chars() + HARM;
    let file = home.session("x\u{9b}\u{202e}.jsonl", &hostile_lines(&format!("needle {text}")));
    let elsewhere = home.dir.path().join("else\u{9d}where.jsonl");
    std::fs::write(&elsewhere, std::fs::read_to_string(&file).unwrap().replacen("\"s1\"", "\"s2\"", 1)).unwrap();
    for words in JSON {
        let words: Vec<String> = (words.iter())
            .map(|word| match *word {
                "FILE" => file.to_str().unwrap().to_owned(),
                "ELSEWHERE" => elsewhere.to_str().unwrap().to_owned(),
                // Arguments contain no NUL, and names no line ends.
                // Windows allows no control characters in the names of directories.
                "TEXT" if cfg!(windows) && words[0] == "move" => r"C:\elsewhere".to_owned(),
                "TEXT" => text.replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], ""),
                word => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = home.run(&words);
        assert!(output.code <= 1 && !output.out.is_empty(), "{words:?}: {} {}", output.code, output.err);
        for (name, printed) in [("output", &output.out), ("errors", &output.err)] {
            let control_chars: Vec<char> = printed
                .chars()
                .filter(|char| *char != '\n' && sessile::format::display_control::affects_display(*char))
                .collect();
            assert!(control_chars.is_empty(), "{words:?} prints {control_chars:?} to its {name}");
        }
        for line in if words.contains(&"--jsonl") { output.out.lines().collect() } else { vec![output.out.as_str()] } {
            serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        }
    }
}

/// The commands that `team::hostile_text_of_a_colleague_is_printed_harmlessly` runs.
const ON_A_SERVER: [&str; 5] = ["pull", "push", "remote", "share", "sync"];

#[test]
fn every_command_that_prints_json_is_tested() {
    let reference = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")).unwrap();
    for section in reference.split("\n## sessile ").skip(1) {
        let name = section.lines().next().unwrap();
        // A server prints its address and nothing from sessions, and runs until it is stopped. The tests of teams check
        // the commands that need a server.
        let is_elsewhere = name == "serve" || ON_A_SERVER.iter().any(|word| name.split(' ').next() == Some(word));
        if !is_elsewhere && section.contains("\n| `--json` |") {
            let words: Vec<&str> = name.split(' ').collect();
            assert!(JSON.iter().any(|known| known.starts_with(&words)), "no test checks `sessile {name} --json`");
        }
    }
}

#[test]
fn only_an_export_as_jsonl_keeps_the_bytes() {
    let home = Home::new();
    let file = hostile_session(&home);
    let file = file.to_str().unwrap();
    let whole = std::fs::read_to_string(file).unwrap();
    let piped = home.run(&["export", file, "--all"]).out;
    assert!(piped.contains(whole.lines().nth(1).unwrap()));
    home.run(&["export", file, "--format", "json", "-o", "out.json"]).expect(0, "");
    let written = std::fs::read_to_string(home.project().join("out.json")).unwrap();
    assert!(!acts(&written) && written.contains("\\u202e"), "{written:?}");
    let document = home.run(&["export", file, "--format", "md"]).out;
    assert!(document.contains("[2J") && !acts(&document), "{document:?}");
}

#[test]
fn json_is_the_text_of_the_file() {
    let home = Home::new();
    let file = hostile_session(&home);
    let context = home.json(&["context", "--json"], &file);
    assert_eq!(context["messages"][0]["content"], HARM);
    let list = home.run(&["list", "--json"]).json();
    assert_eq!(list[0]["firstMessage"], HARM);
}
