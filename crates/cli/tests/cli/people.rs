//! Output for people.

use std::io::Write;

use super::*;

#[test]
fn trees_are_drawn() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let output = home.run(&["tree", file.to_str().unwrap()]);
    output.expect(0, "");
    let expected = "\
• user: first question
• [here] assistant: answer
├─ • user: another second question
└─ user: second question
";
    assert_eq!(output.out, expected);
    let all = home.run(&["tree", "--all", file.to_str().unwrap()]);
    assert!(all.out.contains("│     • [label: here]\n"), "{}", all.out);
}

#[test]
fn conversations_are_printed() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let expected = "\
model p/m · thinking off · 3 messages

user
  first question

assistant · m
  answer

user
  another second question
";
    assert_eq!(home.run(&["context", file.to_str().unwrap()]).out, expected);
    let rest = expected.split_once("\n\n").unwrap().1;
    assert_eq!(home.run(&["llm", file.to_str().unwrap()]).out, rest);
}

#[test]
fn entries_are_printed_one_per_line() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let output = home.run(&["entries", file.to_str().unwrap()]);
    assert_eq!(output.out.lines().count(), 5);
    assert_eq!(output.out.lines().next().unwrap(), "a         2025-01-01T00:00:01.000Z  user: first question");
}

#[test]
fn sessions_are_listed() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    let output = home.run(&[]);
    output.expect(0, "");
    let rows: Vec<&str> = output.out.lines().collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0], "      age  msgs  session");
    assert!(rows[1].starts_with("@1 ") && rows[1].ends_with("     4  first question"), "{}", rows[1]);
    let all = home.run(&["list", "--all"]).out;
    assert!(all.lines().next().unwrap().ends_with("directory"));
    assert!(all.lines().nth(1).unwrap().ends_with(&native("  ~/project")), "{all}");
    let paths = home.run(&["list", "--paths"]).out;
    assert!(paths.lines().nth(2).unwrap().ends_with(&native("/x.jsonl")), "{paths}");
}

/// Returns the titles in a list, without the other columns.
fn titles(output: &CommandOutput) -> Vec<String> {
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{}", output.out);
    output.out.lines().skip(1).map(|row| row.chars().skip(17).collect::<String>().trim_end().to_owned()).collect()
}

/// Creates a session that starts with these words, a day later than the last one, as a fork of another.
fn family_member(home: &Home, name: &str, day: u32, parent: Option<&Path>, named: Option<&str>) -> PathBuf {
    let mut lines = vec![format!(
        r#"{{"type":"message","id":"a","message":{{"role":"user","content":"{name}","timestamp":173568960{day:04}}}}}"#
    )];
    lines.extend(named.map(|named| format!(r#"{{"type":"session_info","id":"n","name":"{named}"}}"#)));
    let path = home.session(&format!("2025_{name}.jsonl"), &lines);
    let text = std::fs::read_to_string(&path).unwrap().replace("\"s1\"", &format!("\"{name}\""));
    let text = match parent {
        Some(parent) => text.replacen("\"cwd\"", &format!("\"parentSession\":\"{}\",\"cwd\"", in_json(parent)), 1),
        None => text,
    };
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn lists_are_filtered_and_sorted() {
    let home = Home::new();
    let root = family_member(&home, "root", 1, None, Some("Zebra"));
    let child = family_member(&home, "child", 2, Some(&root), None);
    family_member(&home, "grandchild", 5, Some(&child), Some("Ant"));
    family_member(&home, "orphan", 4, Some(Path::new("/gone/2025_nobody.jsonl")), None);
    let list = |words: &[&str]| titles(&home.run(&[&["list"], words].concat()));
    assert_eq!(list(&[]), ["Ant", "orphan", "child", "Zebra"]);
    assert_eq!(list(&["--named"]), ["Ant", "Zebra"]);
    assert_eq!(list(&["--children", "hide"]), ["Zebra"]);
    assert_eq!(list(&["--children", "only", "--limit", "2"]), ["Ant", "orphan"]);
    assert_eq!(list(&["--sort", "name", "--named"]), ["Ant", "Zebra"]);
    let missing = if cfg!(windows) { r"C:\gone\2025_nobody.jsonl" } else { "/gone/2025_nobody.jsonl" };
    let missing = format!("(missing: {missing})");
    assert_eq!(list(&["--tree"]), ["Zebra", "└ child", "  └ Ant", &missing, "└ orphan"]);
    // The first session of the list decides which family comes first.
    assert_eq!(list(&["--tree", "--sort", "created"]).len(), 5);
    // Filtered parents are shown as placeholders.
    assert_eq!(list(&["--tree", "--named"]), ["Zebra", "└ (filtered out: child)", "  └ Ant"]);
    let one = list(&["--tree", "--limit", "1", "--sort", "name"]);
    assert_eq!(one, ["(filtered out: Zebra)", "└ (filtered out: child)", "  └ Ant"]);
    assert_eq!(list(&["--tree", "orphan"]), [&missing, "└ orphan"]);
    // A parent in another directory is not missing either.
    let elsewhere = home.agent_dir().join("sessions/--elsewhere--/2025_root.jsonl");
    std::fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    std::fs::rename(&root, &elsewhere).unwrap();
    let text = std::fs::read_to_string(&elsewhere).unwrap();
    std::fs::write(&elsewhere, text.replace(&in_json(&home.project()), &in_json(&home.dir.path().join("elsewhere"))))
        .unwrap();
    assert_eq!(list(&["--tree", "Ant"]), [&native("(in ~/elsewhere: Zebra)"), "└ (filtered out: child)", "  └ Ant"]);
    home.run(&["list", "--tree", "--json"]).expect(2, &home.run(&["list", "--tree", "--json"]).err);
}

#[test]
fn words_filter_a_list() {
    let home = Home::new();
    family_member(&home, "tides", 1, None, Some("High Water"));
    family_member(&home, "harbour", 2, None, None);
    let list = |words: &[&str]| titles(&home.run(&[&["list"], words].concat()));
    assert_eq!(list(&["WATER"]), ["High Water"]);
    assert_eq!(list(&["tid", "high"]), ["High Water"]);
    assert_eq!(list(&["high tid"]), ["High Water"], "quoted words are matched one by one");
    assert_eq!(list(&["project"]), ["harbour", "High Water"], "the directory is searched too");
    assert_eq!(home.run(&["list", "harbour", "--json"]).json().as_array().unwrap().len(), 1);
    home.run(&["list", "water", "harbour"]).expect(1, "no sessions match\n");
    home.run(&["list", "--", "--tree"]).expect(1, "no sessions match\n");
}

#[test]
fn lists_for_scripts_have_fields() {
    let home = Home::new();
    let file = home.session("2025_s1.jsonl", &[user("a", None, "two\nlines\tand \u{1b}[2J"), small()[1].clone()]);
    let list = |format: &str| home.run(&["list", "--format", format]);
    let output = list(r"{id}\t{title}");
    output.expect(0, "");
    assert_eq!(output.out, "s1\ttwo lines and ␛[2J\n");
    assert_eq!(list(r"{{{place}}}:{messages}\0").out, "{@1}:2\0");
    let tsv = list("tsv").out;
    let columns: Vec<&str> = tsv.strip_suffix('\n').unwrap().split('\t').collect();
    assert_eq!(columns.len(), 13, "{tsv}");
    assert_eq!((columns[0], columns[2]), ("s1", home.project().to_str().unwrap()));
    assert_eq!((columns[3], columns[7], columns[9]), ("2025-01-01T00:00:00.000Z", "0.000000", file.to_str().unwrap()));
    let output = list("{colour}");
    assert!(
        output.code == 2 && output.err.contains("there is no field {colour}; the fields are id, title"),
        "{}",
        output.err
    );
    assert_eq!(home.run(&["list", "--format", "tsv", "--json"]).code, 2);
    // The limit in the settings applies to output for people only, and positions that are shown can be used.
    home.session("2025_s2.jsonl", &small());
    home.run(&["config", "set", "list.limit", "1"]).expect(0, "");
    assert_eq!(list("{place}").out, "@1\n@2\n");
    assert_eq!(home.run(&["info", "@2", "--json"]).code, 0);
    let empty = Home::new();
    assert_eq!(
        (empty.run(&["list", "--format", "tsv"]).code, empty.run(&["list", "--format", "tsv"]).out),
        (1, String::new())
    );
}

#[test]
fn files_with_the_same_session_are_marked() {
    let home = Home::new();
    let original = home.session("2025_s1.jsonl", &small());
    let copy = home.session("2025_s1.sync-conflict-1.jsonl", &small());
    let mut titles_found = titles(&home.run(&["list"]));
    titles_found.sort();
    assert_eq!(titles_found, ["[copy] first question", "first question"]);
    let rows = home.run(&["list", "--json"]).json();
    let row_of =
        |path: &Path| rows.as_array().unwrap().iter().find(|row| row["path"] == path.to_str().unwrap()).unwrap();
    assert!(row_of(&original).get("copyOf").is_none());
    assert_eq!(row_of(&copy)["copyOf"], original.to_str().unwrap());
    let only = home.run(&["list", "--format", "{original}"]).out;
    assert!(only.contains(&format!("{}\n", original.display())), "{only}");
    let mut server = home.command(&["rpc"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    server.stdin.take().unwrap().write_all(b"{\"type\":\"list_sessions\",\"scope\":\"all\"}\n").unwrap();
    let answers = String::from_utf8(server.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answers.matches(&format!("\"copyOf\":{:?}", original.to_str().unwrap())).count(), 1, "{answers}");
    let info = |path: &Path| home.run(&["info", path.to_str().unwrap()]).out;
    assert!(info(&original).contains(&native("\ncopied to   ~/agent/")), "{}", info(&original));
    assert!(info(&copy).contains(&native("\ncopy of     ~/agent/")), "{}", info(&copy));
    assert_eq!(home.json(&["info", "--json"], &original)["copies"][0], copy.to_str().unwrap());
    assert_eq!(home.json(&["info", "--json"], &copy)["copyOf"], original.to_str().unwrap());
    home.run(&["repair", "--permissions", "--all"]).expect(0, "");
    let output = home.run(&["verify", "--all"]);
    assert_eq!(output.code, 0, "a copy is not damage: {}", output.out);
    let words = format!("the file contains the same session as {}  same-session\n", original.display());
    assert_eq!(output.out.matches(&words).count(), 1, "{}", output.out);
    assert!(output.out.ends_with("\n2 sessions, no problems found, 1 note\n"), "{}", output.out);
    let reports = home.run(&["verify", "--all", "--json"]).json();
    assert_eq!(reports[1]["findings"][0]["code"], "same-session");
    assert!(!home.run(&["verify", original.to_str().unwrap()]).out.contains("same-session"));
}

#[test]
fn nothing_is_cut_in_a_pipe() {
    let home = Home::new();
    let long = format!("begin {} end", "tide tables ".repeat(40));
    let file = home.session("x.jsonl", &[user("a", None, &long)]);
    for words in [&["list"][..], &["list", "--all"], &["stats", "--by", "session"], &["prune", "--older-than", "1d"]] {
        let out = output_of(home.command(words).env("COLUMNS", "40")).out;
        assert!(out.contains(" end") && !out.contains('…'), "{words:?}: {out}");
    }
    // Wrapped text follows the user's width.
    let out = output_of(home.command(&["show", file.to_str().unwrap()]).env("COLUMNS", "40")).out;
    assert!(out.lines().all(|line| line.chars().count() <= 40), "{out}");
    assert!(home.run(&["show", file.to_str().unwrap()]).out.lines().any(|line| line.chars().count() > 80));
}

#[test]
fn lists_have_the_requested_columns_and_time_span() {
    let home = Home::new();
    family_member(&home, "old", 1, None, Some("Named"));
    let lines = [user("a", None, "new")].map(|line| line.replace("1735689601000", "1767225600000"));
    home.session("new.jsonl", &lines);
    let list = |words: &[&str]| home.run(&[&["list"], words].concat());
    let output = list(&["--columns", "name,id,messages", "--sort", "name"]);
    assert_eq!(output.out, "name   id   msgs\nNamed  old     1\n       s1      1\n", "{}", output.err);
    let output = list(&["--columns", "created,size,cost,tokens,path"]);
    assert!(output.out.lines().nth(1).unwrap().ends_with(&native("/new.jsonl")), "{}", output.out);
    let titles_in = |words: &[&str]| {
        let output = list(&[words, &["--columns", "session"]].concat());
        output.out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(titles_in(&["--since", "2025-06-01"]), ["new"]);
    assert_eq!(titles_in(&["--until", "2025-06-01"]), ["Named"]);
    assert_eq!(titles_in(&["--until", "2025-01-01T00:00Z"]), [""; 0]);
    assert_eq!(titles_in(&["--since", "2024-12-31", "--until", "2026-01-02"]), ["new", "Named"]);
    assert_eq!(titles_in(&["--since", "1m"]), [""; 0]);
    let output = list(&["--since", "some day"]);
    assert!(output.code == 2 && output.err.contains("\"some day\" is not a time"), "{}", output.err);
    assert_eq!(list(&["--columns", "colour"]).code, 2);
    home.run(&["config", "set", "list.columns", "session"]).expect(0, "");
    home.run(&["config", "set", "list.sort", "name"]).expect(0, "");
    home.run(&["config", "set", "list.limit", "1"]).expect(0, "");
    assert_eq!(list(&[]).out, "session\nNamed\n");
    assert_eq!(list(&["--json"]).json().as_array().unwrap().len(), 2, "the settings do not affect JSON output");
}

#[test]
fn empty_lists_are_explained() {
    let home = Home::new();
    family_member(&home, "old", 1, None, None);
    home.run(&["list", "--named"]).expect(1, "no sessions match\n");
    home.run(&["list", "--since", "1m"]).expect(1, "no sessions match\n");
    home.run(&["--sample", "list", "--since", "2999-01-01"]).expect(1, "no sessions match\n");
    assert_eq!(titles(&home.run(&["list", "--limit", "0"])), ["old"]);
    let root = home.agent_dir().join("sessions");
    let output = home.run(&["list", "--session-dir", root.to_str().unwrap()]);
    assert!(output.code == 1 && output.err.contains("\nhint: this is the root of your store"), "{}", output.err);
    let other = home.project().join("other/sessions");
    write_session(&other.join("--x--/x.jsonl"), "/x", &small());
    let output = home.run(&["list", "--all", "--session-dir", other.to_str().unwrap()]);
    assert!(output.code == 1 && output.err.contains("`PI_CODING_AGENT_DIR="), "{}", output.err);
}

#[test]
fn the_worktrees_of_a_repository_are_listed_together() {
    let home = Home::new();
    let git = home.project().join(".git/worktrees/w");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::write(home.project().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/topic\n").unwrap();
    std::fs::write(git.join("commondir"), "../..\n").unwrap();
    let worktree = home.dir.path().join("w");
    std::fs::create_dir_all(&worktree).unwrap();
    std::fs::write(worktree.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    home.session("main.jsonl", &small());
    let other = home.agent_dir().join("sessions/--w--/w.jsonl");
    write_session(&other, worktree.to_str().unwrap(), &small());
    write_session(&home.agent_dir().join("sessions/--x--/x.jsonl"), "/elsewhere", &small());
    let output = home.run(&["list", "--repo"]);
    output.expect(0, "");
    assert_eq!(output.out.lines().count(), 3);
    assert!(
        output.out.contains(&native("~/project [main]")) && output.out.contains(&native("~/w [topic]")),
        "{}",
        output.out
    );
    let n_found = |scope: &str| home.run(&["search", "-l", scope, "question"]).out.lines().count();
    assert_eq!((n_found("--repo"), n_found("--all")), (2, 3));
}

#[test]
fn a_list_is_the_same_with_and_without_caches() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    let first = home.run(&["list", "--all", "--json"]).json();
    assert!(home.dir.path().join("SESSILE_CACHE_DIR/catalogue").is_dir());
    assert_eq!(home.run(&["list", "--all", "--json"]).json(), first);
}
