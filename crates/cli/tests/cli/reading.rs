//! Commands that show a session: show, info, export, and the tree compared with pi's.

use super::*;

/// Creates a session with one of everything.
fn rich(home: &Home) -> PathBuf {
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";
    let lines = [
        entry("model_change", "a1", None, r#""provider":"p","modelId":"m""#),
        user("a2", Some("a1"), "# A question with <b>html</b>\n```\nopen fence"),
        entry(
            "message",
            "a3",
            Some("a2"),
            &format!(
                r#""message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"first line\nsecond line"}},{{"type":"text","text":"Looking."}},{{"type":"toolCall","id":"c1","name":"bash","arguments":{{"command":"make"}}}},{{"type":"image","mimeType":"image/png","data":"{dot}"}}],"provider":"p","model":"m","usage":{{"input":10,"output":2,"cacheRead":30,"cacheWrite":0,"cost":{{"total":0.5}}}},"stopReason":"toolUse","timestamp":1}}"#
            ),
        ),
        entry(
            "message",
            "a4",
            Some("a3"),
            r#""message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","isError":true,"content":[{"type":"text","text":"one\ntwo\n````"}],"timestamp":1}"#,
        ),
        entry("custom", "a5", Some("a4"), r#""customType":"state""#),
        entry("compaction", "a6", Some("a5"), r#""summary":"What was.","firstKeptEntryId":"a4","tokensBefore":41870"#),
        user("a7", Some("a6"), "goes on"),
        user("a8", Some("a6"), "goes on differently"),
        entry("label", "a9", Some("a8"), r#""targetId":"a3","label":"here""#),
    ];
    home.session("rich.jsonl", &lines)
}

#[test]
fn a_session_is_shown_as_a_conversation() {
    let home = Home::new();
    let file = rich(&home);
    let file = file.to_str().unwrap();
    let output = home.run(&["show", file]);
    output.expect(0, "");
    let body = output.out.split_once("\n\n").unwrap().1;
    let rule = "─".repeat(100);
    let expected = format!(
        "\
· [model: m]

user
  # A question with <b>html</b>
  ```
  open fence

[here] assistant · m
  thinking: first line second line
  Looking.
  → [bash: make]
  [image: image/png, 1×1, 68 B]
  ← failed [bash: make] 3 lines: one

{rule}
compaction · 42k tokens before
  What was.

user
  goes on differently
"
    );
    assert_eq!(body, expected);
    let full = home.run(&["show", "--full", file]).out;
    assert!(full.contains("\n  thinking: first line\n  second line\n"), "{full}");
    assert!(full.contains("\n  → bash\n  command: make\n") && full.contains("\n  one\n  two\n"), "{full}");
    assert!(full.contains("· [custom: state]\n"), "{full}");
    let times = home.command(&["show", "--times", file]).env("TZ", "UTC").output().unwrap();
    let times = String::from_utf8(times.stdout).unwrap();
    assert!(times.contains("· [model: m]  2025-01-01 00:00\n") && times.contains("\nuser  00:00\n"), "{times}");
}

#[test]
fn one_entry_or_another_branch_is_shown() {
    let home = Home::new();
    let file = rich(&home);
    let file = file.to_str().unwrap();
    let one = home.run(&["show", file, "here"]);
    one.expect(0, "");
    assert!(
        one.out.starts_with("a3 · message · parent a2 · 2025-01-01T00:00:01.000Z\n\n[here] assistant"),
        "{}",
        one.out
    );
    assert_eq!(home.run(&["show", file, "a3", "--json"]).json()["id"], "a3");
    let branch = home.run(&["show", file, "--branch", "a7"]);
    assert!(branch.out.ends_with("user\n  goes on\n"), "{}", branch.out);
    let path = home.run(&["show", file, "--branch", "a7", "--json"]).json();
    let ids: Vec<&str> = path.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a1", "a2", "a3", "a4", "a5", "a6", "a7"]);
    assert_eq!(home.run(&["show", file, "nothing"]).code, 3);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let home = Home::new();
    let text = "潮汐表 wide 潮汐潮汐潮汐潮汐潮汐潮汐潮汐潮汐潮汐潮汐潮汐潮汐潮汐 x".repeat(5);
    let file = home.session("wide.jsonl", &[user("a", None, &text)]);
    let output = home.run(&["show", file.to_str().unwrap()]);
    assert!(output.out.lines().all(|line| width(line) <= 100), "{}", output.out);
}

#[test]
fn info_shows_all_details_of_a_session() {
    let home = Home::new();
    let file = rich(&home);
    let fork = home.session("fork.jsonl", &[user("a", None, "x")]);
    let text = std::fs::read_to_string(&fork).unwrap();
    let parent = format!("\"parentSession\":{:?},\"cwd\"", file.to_str().unwrap());
    std::fs::write(&fork, text.replacen("\"cwd\"", &parent, 1).replace("\"s1\"", "\"s2\"")).unwrap();
    for file in [&file, &fork] {
        set_mode(file, 0o600);
    }
    let info = home.json(&["info", "--json"], &file);
    assert_eq!((info["id"].as_str(), info["version"].as_f64()), (Some("s1"), Some(3.0)));
    assert_eq!((info["leafId"].as_str(), info["branches"].as_u64()), (Some("a9"), Some(2)));
    assert_eq!(info["labels"][0]["label"], "here");
    assert_eq!(info["children"][0], fork.to_str().unwrap());
    assert_eq!((info["cwdExists"].as_bool(), info["sound"].as_bool()), (Some(true), Some(true)));
    assert_eq!(info["tokens"]["total"], 42);
    assert_eq!(info["models"][0], serde_json::json!({"provider": "p", "model": "m"}));
    let words = home.run(&["info", file.to_str().unwrap()]);
    words.expect(0, "");
    assert!(words.out.contains("tokens      40 in, 2 out; 30 from the cache (75.0%)"), "{}", words.out);
    let child = home.json(&["info", "--json"], &fork);
    assert_eq!((child["parentFound"].as_bool(), child["family"].as_u64()), (Some(true), Some(2)));
}

#[test]
fn a_branch_is_exported_as_pi_does_it() {
    let home = Home::new();
    // The output of pi 1.5.0 for these lines.
    let file = home.session(
        "x.jsonl",
        &[
            r#"{"type":"message","parentId":"gone","id":"b","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"y"}}"#,
            r#"{"type":"label","id":"l","parentId":"b","timestamp":"2025-01-01T00:00:01.000Z","targetId":"b","label":"one"}"#,
            r#"{"type":"compaction","id":"k","parentId":"l","firstKeptEntryId":"l","summary":"s","tokensBefore":1}"#,
        ],
    );
    let output = home.run(&["export", file.to_str().unwrap()]);
    let (header, rest) = output.out.split_once('\n').unwrap();
    let header: Value = serde_json::from_str(header).unwrap();
    let keys: Vec<&String> = header.as_object().unwrap().keys().collect();
    assert_eq!((header["id"].as_str(), keys.len()), (Some("s1"), 5), "{header}");
    assert_ne!(header["timestamp"], "2025-01-01T00:00:00.000Z");
    let expected = "\
{\"type\":\"message\",\"parentId\":null,\"id\":\"b\",\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"y\"}}
{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"b\",\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"targetId\":\"b\",\"label\":\"one\"}
{\"type\":\"compaction\",\"id\":\"k\",\"parentId\":\"l\",\"firstKeptEntryId\":\"l\",\"summary\":\"s\",\"tokensBefore\":1}
";
    assert_eq!(rest, expected);
    let rootless = home.session("y.jsonl", &[r#"{"type":"message","id":"e","message":{"role":"user","content":"y"}}"#]);
    let output = home.run(&["export", rootless.to_str().unwrap()]);
    assert!(output.out.ends_with(
        "{\"type\":\"message\",\"id\":\"e\",\"message\":{\"role\":\"user\",\"content\":\"y\"},\"parentId\":null}\n"
    ));
}

#[test]
fn exports_are_atomic() {
    let home = Home::new();
    let file = rich(&home);
    let session = file.to_str().unwrap();
    let out = home.project().join("out.md");
    let output = home.run(&["export", session, "--format", "md", "-o", "out.md", "--dry-run"]);
    assert_eq!(
        (output.code, output.out.as_str(), out.exists()),
        (0, native("would write 8 entries to ~/project/out.md\n").as_str(), false)
    );
    let output = home.run(&["export", session, "--format", "md", "-o", "out.md"]);
    assert_eq!((output.code, output.out), (0, native("wrote 8 entries to ~/project/out.md\n")));
    expect_mode(&out, 0o600);
    let document = std::fs::read_to_string(&out).unwrap();
    assert!(document.contains("\n### A question with &lt;b>html&lt;/b>\n\n```\nopen fence\n```\n"), "{document}");
    assert!(document.contains("\n`````\none\ntwo\n````\n`````\n"), "{document}");
    let again = home.run(&["export", session, "-o", "out.md"]);
    assert_eq!((again.code, std::fs::read_to_string(&out).unwrap() == document), (3, true));
    assert!(again.err.contains("exists\nhint: "), "{}", again.err);
    assert_eq!(home.run(&["export", session, "-o", "out.md", "--force"]).code, 0);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), document, "the extension decides the format");
    assert_eq!(home.run(&["export", session, "--format", "jsonl", "-o", "out.md", "--force"]).code, 0);
    assert_ne!(std::fs::read_to_string(&out).unwrap(), document);
    // Never over a session, least of all this one.
    let before = std::fs::read(&file).unwrap();
    let other = home.session("other.jsonl", &small());
    for target in [&file, &other] {
        let output = home.run(&["export", session, "-o", target.to_str().unwrap(), "--force"]);
        assert_eq!((output.code, std::fs::read(&file).unwrap() == before), (3, true), "{}", output.err);
    }
}

#[test]
fn all_branches_are_exported() {
    let home = Home::new();
    let lines = small();
    let file = home.session("x.jsonl", &lines);
    let file = file.to_str().unwrap();
    let all = home.run(&["export", "--all", file]);
    assert_eq!(all.out, std::fs::read_to_string(file).unwrap());
    let object = home.run(&["export", "--format", "json", "--all", file]).json();
    assert_eq!((object["entries"].as_array().unwrap().len(), object["leafId"].as_str()), (5, Some("e")));
    assert_eq!(object["header"]["id"], "s1");
    let branch = home.run(&["export", "--format", "json", "--branch", "c", file]).json();
    assert_eq!((branch["entries"].as_array().unwrap().len(), branch["leafId"].as_str()), (3, Some("c")));
    let document = home.run(&["export", "--format", "md", "--all", file]).out;
    assert!(
        document.contains("*Another branch, starting at `b`*") && document.contains("second question"),
        "{document}"
    );
}

/// A session and pi's own tree of it.
struct Golden {
    lines: Vec<String>,
    /// The rows of each screen, without the cursor and unfolded.
    screens: Vec<(String, Vec<String>)>,
}

impl Golden {
    /// Reads the golden screens, which exist only in the project's own checkout; `None` elsewhere.
    fn read() -> Option<Self> {
        let session = std::fs::read_to_string(shared("handmade-session.jsonl")).ok()?;
        let text = std::fs::read_to_string(shared("ui-golden-tree.txt")).ok()?;
        let rule = "─".repeat(100);
        let screens = text.split("\n### ").skip(1).filter_map(|screen| {
            let name = screen.lines().next()?.to_owned();
            let list = screen.split(&rule).nth(2)?;
            let rows = list.lines().filter(|row| !row.trim().is_empty() && !row.trim_start().starts_with('('));
            let row = |row: &str| row.chars().skip(2).collect::<String>().replace('⊟', "─").replace('\u{2028}', " ");
            Some((name, rows.map(row).collect()))
        });
        let screens = screens.collect();
        Some(Self { lines: session.lines().skip(1).map(str::to_owned).collect(), screens })
    }
}

#[test]
fn trees_look_like_in_pi() {
    let Some(Golden { lines, screens }) = Golden::read() else { return };
    let home = Home::new();
    let file = home.session("handmade.jsonl", &lines);
    let second = user("00000099", None, "second root");
    let two_roots = home.session("roots.jsonl", &[lines, vec![second]].concat());
    let mut n_compared = 0;
    for (name, expected) in screens {
        let (words, file): (&[&str], _) = match name.as_str() {
            "filter default" => (&["--filter", "default"], &file),
            "filter no-tools" => (&["--filter", "no-tools"], &file),
            "filter user-only" => (&["--filter", "user-only"], &file),
            "filter labeled-only" => (&["--filter", "labeled-only"], &file),
            "filter all" => (&["--filter", "all"], &file),
            "search 'branch'" => (&["--search", "branch"], &file),
            "search 'model mock' in all" => (&["--filter", "all", "--search", "model mock"], &file),
            "toggle label time (shift+t)" => (&["--times"], &file),
            "two roots, leaf on new root" => (&[], &two_roots),
            _ => continue,
        };
        let mut command = home.command(&["tree", file.to_str().unwrap()]);
        let output = output_of(command.args(words).env("TZ", "UTC"));
        // In any year but 2026, the output includes the year.
        let drawn = output.out.replace("26/1/2 03:04", "1/2 03:04");
        assert_eq!(drawn.lines().collect::<Vec<_>>(), expected, "{name}");
        n_compared += 1;
    }
    assert_eq!(n_compared, 9);
}

#[test]
fn trees_are_filtered() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let file = file.to_str().unwrap();
    let limited = home.run(&["tree", "--limit", "1", file]);
    assert_eq!(limited.out, "• user: first question\n… 3 more\n");
    let flat = home.run(&["tree", "--json", "--flat", "--filter", "labeled-only", file]).json();
    assert_eq!((flat.as_array().unwrap().len(), flat[0]["id"].as_str()), (1, Some("b")));
    assert_eq!(home.run(&["tree", "--search", "nowhere", file]).code, 1);
    assert_eq!(home.run(&["tree", "--json", "--filter", "all", file]).code, 2);
}

/// Returns the width of a line in columns.
fn width(line: &str) -> usize {
    line.chars().map(|char| unicode_width::UnicodeWidthChar::width(char).unwrap_or_default()).sum()
}

/// Returns the output on a terminal of this width.
fn on_terminal(words: &[&str], columns: usize) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["sessile", "--sample", "--color=never"].iter().chain(words).map(std::ffi::OsString::from);
    let exit = sessile_cli::run(
        args,
        std::sync::Arc::new(sessile::System),
        sessile_cli::Stream {
            writer: &mut out,
            terminal_width: Some(columns),
            terminal_height: None,
            takes_color: false,
        },
        sessile_cli::Stream { writer: &mut err, terminal_width: None, terminal_height: None, takes_color: false },
    );
    assert_eq!((exit.code(), String::from_utf8(err).unwrap().as_str()), (0, ""), "{words:?}");
    String::from_utf8(out).unwrap()
}

#[test]
fn output_fits_narrow_and_wide_terminals() {
    for columns in [40, 80, 200] {
        for words in [
            &["show", "@1"][..],
            &["show", "@5", "--full", "--times"],
            &["tree", "@1", "--all", "--times"],
            &["tree", "@5"],
            &["stats", "--by", "day"],
            &["stats", "@4"],
            &["help", "concepts"],
        ] {
            let screen = on_terminal(words, columns);
            let is_figure =
                |line: &&str| words[0] == "stats" && line.starts_with(|char: char| char.is_ascii_lowercase());
            for line in screen.lines().filter(|line| !is_figure(line)) {
                assert!(
                    width(line) <= columns || line.contains("/sessile-sample-") || words[0] == "help",
                    "{words:?} at {columns}: {line}"
                );
            }
        }
    }
}
