//! `du` and `slim`.

use super::changes::{lines, path};
use super::*;

const OUTPUT: &str = "line of output\\n";

fn message(id: &str, parent: Option<&str>, rest: &str) -> String {
    entry("message", id, parent, &format!(r#""message":{{{rest}}}"#))
}

fn result(id: &str, parent: &str, tool: &str) -> String {
    let (text, data) = (OUTPUT.repeat(100), "iVBORw0KGgo".repeat(200));
    let content =
        format!(r#"[{{"type":"text","text":"{text}"}},{{"type":"image","data":"{data}","mimeType":"image/png"}}]"#);
    let details = format!(r#"{{"tool":"{tool}","log":"{text}"}}"#);
    let rest = format!(
        r#""role":"toolResult","toolCallId":"t{id}","toolName":"{tool}","content":{content},"details":{details},"isError":false,"n":1.0"#
    );
    message(id, Some(parent), &rest)
}

fn answer(id: &str, parent: &str, text: &str) -> String {
    let rest = format!(
        r#""role":"assistant","content":[{{"type":"text","text":"{text}"}}],"provider":"p","model":"m","usage":{{"input":10,"output":5,"cost":{{"total":0.25}}}}"#
    );
    message(id, Some(parent), &rest)
}

fn custom(id: &str, parent: &str, kind: &str) -> String {
    entry("custom", id, Some(parent), &format!(r#""customType":"{kind}","data":{{"state":"{}"}}"#, "s".repeat(900)))
}

/// Returns a session with bulk of every kind: before a compaction, in the context, and on another branch.
fn bulky() -> Vec<String> {
    let long = "u".repeat(3000);
    vec![
        user("a", None, "first"),
        answer("b", "a", "let me look"),
        result("c", "b", "read"),
        result("c2", "c", "read"),
        custom("d", "c2", "todo"),
        custom("e", "d", "todo"),
        answer("f", "e", "done"),
        // Another branch.
        result("z", "a", "bash"),
        format!("{{\"broken\": \"{long}"),
        String::new(),
        user("g", Some("f"), "kept"),
        entry("compaction", "h0", Some("g"), r#""summary":"old","firstKeptEntryId":"g","tokensBefore":5"#),
        entry(
            "compaction",
            "h",
            Some("h0"),
            r#""summary":"so far","firstKeptEntryId":"g","tokensBefore":9,"details":{"readFiles":["x"]}"#,
        ),
        entry("future", "i", Some("h"), &format!(r#""data":"{long}","content":[{{"type":"image","data":"{long}"}}]"#)),
        result("j", "i", "read"),
        user("k", Some("j"), "and now?"),
        answer("l", "k", "this"),
    ]
}

fn context(home: &Home, file: &str) -> Value {
    let output = home.run(&["context", "--json", file]);
    assert_eq!(output.code, 0, "{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

fn sum(types: &Value) -> u64 {
    types.as_object().unwrap().values().map(|bytes| bytes.as_u64().unwrap()).sum()
}

#[test]
fn sizes_add_up_to_those_of_the_files() {
    let home = Home::new();
    let one = home.session("x.jsonl", &bulky());
    let other = home.session("y.jsonl", &small());
    // A byte order mark, blank lines, bytes that are not text, and a torn last line.
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(std::fs::read(&other).unwrap());
    bytes.extend(b"\n \n\xff\xfe\n{\"type\":\"custom\",\"id\":\"t\",\"data\":1}\n{\"torn");
    std::fs::write(&other, bytes).unwrap();
    let length = |file: &Path| std::fs::metadata(file).unwrap().len();
    for file in [&one, &other] {
        let output = home.run(&["du", path(file), "--json"]);
        assert_eq!(output.code, 0, "{}", output.err);
        let json: Value = serde_json::from_str(&output.out).unwrap();
        assert_eq!((json["size"].as_u64().unwrap(), sum(&json["types"])), (length(file), length(file)), "{json}");
    }
    let json = home.run(&["du", "--json"]).json();
    assert_eq!((json["size"].as_u64().unwrap(), json["sessions"].as_u64()), (length(&one) + length(&other), Some(2)));
    assert_eq!(sum(&json["types"]), length(&one) + length(&other));
    assert_eq!(json["groups"][0]["path"], path(&one), "the largest group comes first");
    let types = &json["groups"][0]["types"];
    // Four results with an image each, three of them outside the context; two custom entries.
    let line = |id: &str| bulky().iter().find(|line| line.contains(&format!("\"id\":\"{id}\""))).unwrap().len() as u64;
    assert_eq!(types["extensionData"].as_u64().unwrap(), line("d") + line("e"));
    assert_eq!(types["supersededCompactions"].as_u64().unwrap(), line("h0"));
    assert_eq!(types["summaries"].as_u64().unwrap(), line("h"));
    let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#.len() as u64 + 11 * 200;
    assert_eq!(types["images"].as_u64().unwrap(), 4 * image);
    assert!(types["damagedLines"].as_u64().unwrap() > 3000);
    let bulk = |id: &str| {
        line(id)
            - r#"{"type":"message","id":"","parentId":"","timestamp":"2025-01-01T00:00:01.000Z","message":{}}"#.len()
                as u64
    };
    let outside = json["groups"][0]["outsideContext"].as_u64().unwrap();
    assert!(outside < 3 * bulk("c2") + line("d") + line("e") && outside > 3 * (image + 3000), "{outside}");
}

#[test]
fn sizes_are_shown_to_people() {
    let home = Home::new();
    let file = home.session("x.jsonl", &bulky());
    home.session("y.jsonl", &small());
    let one = home.run(&["du", path(&file)]);
    one.expect(0, "");
    assert!(one.out.contains("%  images\n") && one.out.contains("  total\n"), "{}", one.out);
    assert!(one.out.ends_with("of images, tool output and extension data outside the context\n"), "{}", one.out);
    let many = home.run(&["du"]);
    many.expect(0, "");
    assert!(many.out.contains("  total of 2 sessions\n") && many.out.contains("\n@1 "), "{}", many.out);
    // Other commands accept the list position.
    assert_eq!(home.run(&["slim", "@1", "--json"]).json()["original"]["path"], path(&file));
    let sorted = home.run(&["du", "--sort", "name", "--limit", "1"]);
    assert!(sorted.out.contains("and 1 more; --limit 0 shows all"), "{}", sorted.out);
    let custom = home.run(&["du", "--sort", "custom"]);
    assert!(custom.out.contains("extension data 0.0%, 0 B\n"), "{}", custom.out);
    for sort in ["size", "images", "outputs", "custom", "text", "outside", "recent"] {
        assert!(home.run(&["du", "--sort", sort]).out.contains("\n@1 "), "{sort}");
    }
    assert_eq!(home.run(&["du", path(&file), "--all"]).code, 2);
    let empty = Home::new();
    let nothing = empty.run(&["du", "--all"]);
    assert!(
        nothing.code == 1 && nothing.out.is_empty() && nothing.err.contains("there are no sessions yet"),
        "{}",
        nothing.err
    );
}

#[test]
fn a_slimmed_session_has_the_same_tree_and_context() {
    let home = Home::new();
    let file = home.session("x.jsonl", &bulky());
    let before = std::fs::read(&file).unwrap();
    let dry = home.run(&["slim", path(&file)]);
    dry.expect(0, "");
    assert!(dry.out.ends_with("less; nothing was written; use --apply to do it\n"), "{}", dry.out);
    assert_eq!(std::fs::read_dir(home.session_dir()).unwrap().count(), 1);
    let preview = home.run(&["slim", path(&file), "--json"]).json();
    let created = home.run(&["slim", path(&file), "--apply", "--json"]).json();
    let new = created["path"].as_str().unwrap();
    assert_eq!((&preview["size"], &preview["saved"]), (&created["size"], &created["saved"]));
    assert_eq!(created["size"].as_u64().unwrap(), std::fs::metadata(new).unwrap().len());
    assert_eq!(
        (&created["images"]["count"], &created["outputs"]["count"], &created["custom"]["count"]),
        (&3.into(), &6.into(), &1.into())
    );
    assert_eq!(std::fs::read(&file).unwrap(), before, "the original is as it was");

    let (old_lines, new_lines) = (std::fs::read_to_string(&file).unwrap(), std::fs::read_to_string(new).unwrap());
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (old_lines.lines().collect(), new_lines.lines().collect());
    assert_eq!(old_lines.len(), new_lines.len());
    let changed: Vec<&str> =
        old_lines.iter().zip(&new_lines).skip(1).filter(|(old, new)| old != new).map(|(old, _)| *old).collect();
    let ids: Vec<&str> = changed.iter().map(|line| line.split('"').nth(7).unwrap()).collect();
    assert_eq!(ids, ["c", "c2", "d", "z"], "all other lines are the same, byte for byte");
    let header: Value = serde_json::from_str(new_lines[0]).unwrap();
    assert_eq!((&header["parentSession"], &header["id"]), (&path(&file).into(), &created["id"]));

    // Details stay where an extension would continue from them: in the newest result of each tool on the path to the
    // leaf.
    let entries: Vec<Value> =
        [3, 4, 5, 8].iter().map(|index: &usize| serde_json::from_str(new_lines[*index]).unwrap()).collect();
    assert!(entries[0]["message"]["details"].is_null() && entries[1]["message"]["details"].is_null());
    assert!(entries[2]["data"].is_null() && entries[3]["message"]["details"].is_null());
    let content = &entries[0]["message"]["content"];
    assert_eq!(content[0]["text"], "[tool output removed by sessile slim: 1.5 kB]");
    assert_eq!(
        content[1],
        serde_json::json!({"type": "text", "text": "[image removed by sessile slim: image/png, 1.6 kB]"})
    );
    assert_eq!(entries[0]["message"]["toolCallId"], "tc");

    assert_eq!(context(&home, path(&file)), context(&home, new));
    let stats = |file: &str| {
        let stats: Value = serde_json::from_str(&home.run(&["stats", file, "--json"]).out).unwrap();
        (stats["tokens"].clone(), stats["cost"].clone(), stats["messages"].clone())
    };
    assert_eq!(stats(path(&file)), stats(new));
    // It is an ordinary session.
    assert_eq!(home.run(&["append", new, "on we go"]).code, 0);
    let again = home.run(&["slim", new]);
    again.expect(
        1,
        "nothing to remove outside the context (pieces below 512 bytes are kept); --all includes the context\n",
    );
}

#[test]
fn slim_options_select_what_is_removed() {
    let home = Home::new();
    let file = home.session("x.jsonl", &bulky());
    let counts = |flags: &[&str]| {
        let words: Vec<&str> = ["slim", path(&file), "--json"].iter().chain(flags).copied().collect();
        let output = home.run(&words);
        let json: Value = serde_json::from_str(&output.out).unwrap();
        let count = |key: &str| json[key]["count"].as_u64().unwrap();
        (count("images"), count("outputs"), count("custom"))
    };
    assert_eq!(counts(&["--images"]), (3, 0, 0));
    assert_eq!(counts(&["--outputs"]), (0, 6, 0));
    assert_eq!(counts(&["--custom"]), (0, 0, 1));
    assert_eq!(counts(&["--images", "--custom"]), (3, 0, 1));
    // The other branch stays.
    assert_eq!(counts(&["--before-compaction"]), (2, 4, 1));
    // The context has one more result, whose details stay.
    assert_eq!(counts(&["--all"]), (4, 7, 1));
    assert_eq!(counts(&["--older-than", "2025-01-01"]), (0, 0, 0));
    assert_eq!(counts(&["--older-than", "2025-01-02"]), (3, 6, 1));
    assert_eq!(home.run(&["slim", path(&file), "--older-than", "soon"]).code, 2);
    assert_eq!(home.run(&["slim", path(&file), "--force"]).code, 2);
    let all = home.run(&["slim", path(&file), "--all", "--apply", "--json"]).json();
    assert_ne!(context(&home, path(&file)), context(&home, all["path"].as_str().unwrap()));
    assert_eq!(std::fs::read_dir(home.session_dir()).unwrap().count(), 2, "no temporary files are left");
}

#[test]
fn slim_can_trash_the_original_and_undo_restores_it() {
    let home = Home::new();
    let file = home.session("x.jsonl", &bulky());
    let before = std::fs::read(&file).unwrap();
    let created = home.run(&["slim", path(&file), "--apply", "--trash-original", "--json"]).json();
    let new = PathBuf::from(created["path"].as_str().unwrap());
    assert!(!file.exists() && new.exists());
    assert_eq!(std::fs::read(created["trashed"].as_str().unwrap()).unwrap(), before);
    let undone = home.run(&["undo", "--json"]).json();
    assert_eq!(
        (&undone["undone"]["kind"], undone["undone"]["id"].as_str()),
        (&"slim".into(), created["operation"].as_str())
    );
    assert!(file.exists() && !new.exists());
    assert_eq!(std::fs::read(&file).unwrap(), before);
    home.run(&["undo", undone["operation"].as_str().unwrap()]).expect(0, "");
    assert!(!file.exists() && new.exists(), "undoing the undo does it again");
    // Without the flag there is one step, and undo removes the new session.
    home.run(&["undo"]).expect(0, "");
    age(&file);
    let output = home.run(&["slim", path(&file), "--apply"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let new = PathBuf::from(output.out.trim());
    assert!(new.exists() && output.err.contains(" less; `sessile undo "), "{}", output.err);
    home.run(&["undo"]).expect(0, "");
    assert!(file.exists() && !new.exists());
    // A session that another program seems to be writing to is not moved.
    std::fs::write(&file, [before, b"{}\n".to_vec()].concat()).unwrap();
    let output = home.run(&["slim", path(&file), "--apply", "--trash-original"]);
    assert!(output.code == 4 && output.err.contains(" is in use: "), "{}", output.err);
    assert!(file.exists());
    home.run(&["slim", path(&file), "--apply", "--trash-original", "--force", "--json"]).json();
    assert!(!file.exists());
}

#[test]
fn slimming_keeps_the_leaf() {
    let home = Home::new();
    let file = home.session("x.jsonl", &bulky());
    assert_eq!(home.run(&["branch", path(&file), "z"]).code, 0);
    let before = context(&home, path(&file));
    let created = home.run(&["slim", path(&file), "--apply", "--json"]).json();
    // The context of that branch stays as well.
    assert_eq!(created["images"]["count"], 2);
    assert_eq!(context(&home, created["path"].as_str().unwrap()), before);
}

#[test]
fn old_and_unusual_sessions_are_slimmed_too() {
    let home = Home::new();
    let text = OUTPUT.repeat(100);
    let old = home.session_dir().join("old.jsonl");
    std::fs::create_dir_all(home.session_dir()).unwrap();
    let line = |role: &str, rest: &str| {
        format!(r#"{{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"{role}",{rest}}}}}"#)
    };
    let lines_of_old = [
        r#"{"type":"session","id":"old1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
        line("user", r#""content":"hi""#),
        line("bashExecution", &format!(r#""command":"ls","output":"{text}""#)),
        r#"{"type":"compaction","timestamp":"2025-01-01T00:00:02.000Z","summary":"s","firstKeptEntryIndex":4,"tokensBefore":1}"#.to_owned(),
        line("user", r#""content":"on""#),
    ];
    std::fs::write(&old, lines_of_old.join("\n")).unwrap();
    age(&old);
    let created = home.run(&["slim", path(&old), "--apply", "--json"]).json();
    let new = lines(Path::new(created["path"].as_str().unwrap()));
    assert_eq!(
        (&new[0]["version"], &new[2]["message"]["output"]),
        (&3.into(), &"[shell output removed by sessile slim: 1.5 kB]".into())
    );
    // A session of a newer version is not copied as if it were understood.
    let newer = home.session("newer.jsonl", &bulky());
    let text = std::fs::read_to_string(&newer).unwrap().replace("\"version\":3", "\"version\":4");
    std::fs::write(&newer, text).unwrap();
    let output = home.run(&["slim", path(&newer), "--apply"]);
    assert!(output.code == 3 && output.err.contains("newer version"), "{}", output.err);
    // Duplicate ids and cycles.
    let odd = home.session(
        "odd.jsonl",
        &[user("a", Some("b"), "1"), result("b", "a", "x"), result("b", "b", "x"), user("q", None, "end")],
    );
    let created = home.run(&["slim", path(&odd), "--apply", "--json"]).json();
    assert_eq!(created["images"]["count"], 2);
}
