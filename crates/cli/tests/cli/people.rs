//! What people see.

use super::*;

#[test]
fn trees_are_drawn() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let ran = home.run(&["tree", file.to_str().unwrap()]);
    ran.expect(0, "");
    let expected = "\
• user: first question
• [here] assistant: answer
├─ • user: another second question
└─ user: second question
";
    assert_eq!(ran.out, expected);
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
    let ran = home.run(&["entries", file.to_str().unwrap()]);
    assert_eq!(ran.out.lines().count(), 5);
    assert_eq!(ran.out.lines().next().unwrap(), "a         2025-01-01T00:00:01.000Z  user: first question");
}

#[test]
fn sessions_are_listed() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    let ran = home.run(&[]);
    ran.expect(0, "");
    let rows: Vec<&str> = ran.out.lines().collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0], "      age  msgs  session");
    assert!(rows[1].starts_with("@1 ") && rows[1].ends_with("     4  first question"), "{}", rows[1]);
    let all = home.run(&["list", "--all"]).out;
    assert!(all.lines().next().unwrap().ends_with("directory"));
    assert!(all.lines().nth(1).unwrap().ends_with("  ~/project"), "{all}");
    let paths = home.run(&["list", "--paths"]).out;
    assert!(paths.lines().nth(2).unwrap().ends_with("/x.jsonl"), "{paths}");
}

/// What a list shows of each session, without what stands before and behind it.
fn titles(ran: &Ran) -> Vec<String> {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    ran.out.lines().skip(1).map(|row| row.chars().skip(17).collect::<String>().trim_end().to_owned()).collect()
}

/// A session that begins with these words, a day later than the last one, and was forked from another.
fn family_member(home: &Home, name: &str, day: u32, parent: Option<&Path>, named: Option<&str>) -> PathBuf {
    let mut lines = vec![format!(
        r#"{{"type":"message","id":"a","message":{{"role":"user","content":"{name}","timestamp":173568960{day:04}}}}}"#
    )];
    lines.extend(named.map(|named| format!(r#"{{"type":"session_info","id":"n","name":"{named}"}}"#)));
    let path = home.session(&format!("2025_{name}.jsonl"), &lines);
    let text = std::fs::read_to_string(&path).unwrap().replace("\"s1\"", &format!("\"{name}\""));
    let text = match parent {
        Some(parent) => text.replacen("\"cwd\"", &format!("\"parentSession\":\"{}\",\"cwd\"", parent.display()), 1),
        None => text,
    };
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn lists_are_narrowed_and_sorted() {
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
    assert_eq!(list(&["--tree"]), ["Zebra", "└ child", "  └ Ant", "(not here: /gone/2025_nobody.jsonl)", "└ orphan"]);
    // The first of the list decides which family comes first; who is left out is not here.
    assert_eq!(list(&["--tree", "--sort", "created"]).len(), 5);
    let gone = format!("(not here: {})", home_path(&home, &child));
    assert_eq!(list(&["--tree", "--named"]), [&gone, "└ Ant", "Zebra"]);
    assert_eq!(list(&["--tree", "--limit", "1", "--sort", "name"])[1], "└ Ant");
    home.run(&["list", "--tree", "--json"]).expect(2, &home.run(&["list", "--tree", "--json"]).err);
}

fn home_path(home: &Home, path: &Path) -> String {
    format!("~/{}", path.strip_prefix(home.dir.path()).unwrap().display())
}

#[test]
fn lists_have_the_columns_and_the_time_that_are_wanted() {
    let home = Home::new();
    family_member(&home, "old", 1, None, Some("Named"));
    let lines = [user("a", None, "new")].map(|line| line.replace("1735689601000", "1767225600000"));
    home.session("new.jsonl", &lines);
    let list = |words: &[&str]| home.run(&[&["list"], words].concat());
    let ran = list(&["--columns", "name,id,messages", "--sort", "name"]);
    assert_eq!(ran.out, "name   id   msgs\nNamed  old     1\n       s1      1\n", "{}", ran.err);
    let ran = list(&["--columns", "created,size,cost,tokens,path"]);
    assert!(ran.out.lines().nth(1).unwrap().ends_with("/new.jsonl"), "{}", ran.out);
    let shown = |words: &[&str]| {
        let ran = list(&[words, &["--columns", "session"]].concat());
        ran.out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(shown(&["--since", "2025-06-01"]), ["new"]);
    assert_eq!(shown(&["--until", "2025-06-01"]), ["Named"]);
    assert_eq!(shown(&["--until", "2025-01-01T00:00Z"]), [""; 0]);
    assert_eq!(shown(&["--since", "2024-12-31", "--until", "2026-01-02"]), ["new", "Named"]);
    assert_eq!(shown(&["--since", "1m"]), [""; 0]);
    let ran = list(&["--since", "some day"]);
    assert!(ran.code == 2 && ran.err.contains("\"some day\" is no time"), "{}", ran.err);
    assert_eq!(list(&["--columns", "colour"]).code, 2);
    home.run(&["config", "set", "list.columns", "session"]).expect(0, "");
    home.run(&["config", "set", "list.sort", "name"]).expect(0, "");
    home.run(&["config", "set", "list.limit", "1"]).expect(0, "");
    assert_eq!(list(&[]).out, "session\nNamed\n");
    assert_eq!(list(&["--json"]).json().as_array().unwrap().len(), 2, "settings are for people");
}

#[test]
fn lists_without_sessions_say_why() {
    let home = Home::new();
    family_member(&home, "old", 1, None, None);
    home.run(&["list", "--named"]).expect(1, "no sessions match\n");
    home.run(&["list", "--since", "1m"]).expect(1, "no sessions match\n");
    home.run(&["--sample", "list", "--since", "2999-01-01"]).expect(1, "no sessions match\n");
    assert_eq!(titles(&home.run(&["list", "--limit", "0"])), ["old"]);
    let root = home.agent_dir().join("sessions");
    let ran = home.run(&["list", "--session-dir", root.to_str().unwrap()]);
    assert!(ran.code == 1 && ran.err.contains("\nhint: this is the root of your store"), "{}", ran.err);
    let other = home.project().join("other/sessions");
    write_session(&other.join("--x--/x.jsonl"), "/x", &small());
    let ran = home.run(&["list", "--all", "--session-dir", other.to_str().unwrap()]);
    assert!(ran.code == 1 && ran.err.contains("`PI_CODING_AGENT_DIR="), "{}", ran.err);
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
    let ran = home.run(&["list", "--repo"]);
    ran.expect(0, "");
    assert_eq!(ran.out.lines().count(), 3);
    assert!(ran.out.contains("~/project [main]") && ran.out.contains("~/w [topic]"), "{}", ran.out);
    let found = |scope: &str| home.run(&["search", "-l", scope, "question"]).out.lines().count();
    assert_eq!((found("--repo"), found("--all")), (2, 3));
}

#[test]
fn a_list_is_the_same_whether_it_was_kept_or_not() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    let first = home.run(&["list", "--all", "--json"]).json();
    assert!(home.dir.path().join("SESSILE_CACHE_DIR/catalogue").is_dir());
    assert_eq!(home.run(&["list", "--all", "--json"]).json(), first);
}
