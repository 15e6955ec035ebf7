//! Archiving sessions and branches.

use super::*;

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Creates two sessions; the first has two branches, and its leaf is in the second one.
fn two(home: &Home) -> (PathBuf, PathBuf) {
    let one = with_id(home.session("one.jsonl", &small()), "aaaa-1");
    let other = with_id(home.session("two.jsonl", &[user("x", None, "something else")]), "bbbb-2");
    (one, other)
}

fn ids(home: &Home, words: &[&str]) -> Vec<String> {
    let output = home.run(words);
    let rows: Value = serde_json::from_str(&output.out).unwrap();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn archived_sessions_are_hidden_until_unarchived() {
    let home = Home::new();
    let (one, other) = two(&home);
    let before = std::fs::read(&one).unwrap();
    let output = home.run(&["archive", path(&one), "--dry-run"]);
    assert_eq!((output.code, output.out.as_str()), (0, "the session would be archived\n"));
    assert_eq!(std::fs::read(&one).unwrap(), before);
    assert_eq!(home.run(&["archive", path(&one), "--clear"]).out, "the session is not archived\n");
    assert_eq!(home.run(&["archive", path(&one)]).out, "the session is archived\n");
    assert_eq!(home.run(&["archive", path(&one)]).out, "the session is already archived\n");
    let text = std::fs::read_to_string(&one).unwrap();
    let mark: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(text.as_bytes().starts_with(&before));
    assert_eq!(text.lines().count(), String::from_utf8(before).unwrap().lines().count() + 1);
    assert_eq!((&mark["type"], &mark["customType"]), (&"custom".into(), &"sessile.archive".into()));
    assert_eq!(mark["data"], serde_json::json!({"archived": true, "sessionId": "aaaa-1"}));
    assert_eq!(mark["parentId"], "e", "the mark is a child of the leaf");

    let listed = home.run(&["list"]);
    assert!(listed.out.contains("something else") && !listed.out.contains("first question"), "{}", listed.out);
    assert_eq!(listed.err, "1 archived session is hidden (`list --archived` shows it)\n");
    let all = home.run(&["list", "--all"]).err;
    assert!(all.contains("(`list --all --archived` shows it)"), "{all}");
    let archived = home.run(&["list", "--archived"]);
    assert!(archived.out.contains("first question") && !archived.out.contains("something else"), "{}", archived.out);
    assert_eq!(archived.err, "");
    // Output for programs has no remarks on standard error.
    home.run(&["list", "--json"]).json();
    assert_eq!(home.run(&["list", "--format", "{id} {archived}"]).err, "");
    assert_eq!(home.run(&["list", "--archived", "--format", "{id} {archived}"]).out, "aaaa-1 true\n");
    let rows = home.run(&["list", "--archived", "--json"]).json();
    assert_eq!((&rows[0]["id"], &rows[0]["archived"]), (&"aaaa-1".into(), &true.into()));
    assert!(home.run(&["list", "--json"]).json()[0].get("archived").is_none());
    let filtered = home.run(&["list", "question"]);
    assert_eq!(filtered.err, "no sessions match\n1 archived session is hidden (`list --archived` shows it)\n");

    // Every kind of reference still finds it.
    for name in ["aaaa", "aaaa-1", path(&one)] {
        assert_eq!(home.run(&["tree", name]).code, 0, "{name}");
    }
    // `@latest` and `-c` continue the same session as pi would.
    for newest in ["@latest", "-c"] {
        assert_eq!(home.run(&["info", newest, "--json"]).json()["id"], "aaaa-1", "{newest}");
    }
    home.run(&["list", "--archived"]);
    assert_eq!(home.run(&["info", "@1", "--json"]).json()["archived"], true);
    assert!(home.run(&["info", "@1"]).out.contains("archived"));
    assert_eq!(home.run(&["stats", "--json"]).json()["sessions"], 2);
    assert_eq!(home.run(&["export", "aaaa", "--format", "md", "-o", "-"]).code, 0);

    // If both are archived, the list says so.
    home.run(&["archive", path(&other), "--json"]).json();
    let empty = home.run(&["list"]);
    assert_eq!(empty.code, 1);
    assert_eq!(empty.err, "2 archived sessions are hidden (`list --archived` shows them)\n");
    let alone = home.run(&[]);
    assert_eq!((alone.code, alone.out.as_str(), alone.err.as_str()), (0, "", empty.err.as_str()));
    let undo = home.run(&["undo", "--list"]).out;
    assert!(undo.lines().next().unwrap().contains("archive bbbb-2"), "{undo}");
    assert!(home.run(&["undo"]).out.contains("unarchive "));
    assert_eq!(ids(&home, &["list", "--json"]), ["bbbb-2"]);
    assert_eq!(home.run(&["archive", path(&one), "--clear"]).out, "the session is unarchived\n");
    assert_eq!(ids(&home, &["list", "--json"]).len(), 2);
    assert_eq!(home.run(&["list", "--archived"]).code, 1);
}

#[test]
fn searches_and_completions_omit_archived_sessions() {
    let home = Home::new();
    let (one, _) = two(&home);
    home.run(&["name", path(&one), "Tidal"]);
    home.run(&["archive", path(&one)]);
    let results = home.run(&["search", "question"]);
    assert_eq!((results.code, results.out.as_str()), (1, ""));
    assert!(results.err.contains("hint: 3 entries of archived sessions match: add --archived"), "{}", results.err);
    let results = home.run(&["search", "question", "--archived", "--json"]).json();
    assert_eq!(results.as_array().unwrap().len(), 3);
    assert_eq!(home.run(&["search", "question", "--session", "aaaa", "--json"]).json().as_array().unwrap().len(), 3);
    assert_eq!(home.run(&["search", "something", "--archived"]).code, 1);
    assert_eq!(home.run(&["search", "something", "--json"]).json().as_array().unwrap().len(), 1);
    let completed = |word: &str| home.run(&["__complete", "--shell", "zsh", "--", "tree", word]).out;
    assert!(!completed("").contains("Tidal") && completed("").contains("@latest"), "{}", completed(""));
    assert!(
        completed("Tid").contains("Tidal") && completed("aaaa").contains("aaaa-1"),
        "an exact prefix completes archived sessions too"
    );
    assert!(completed("bbb").contains("bbbb-2"));
    assert_eq!(home.run(&["tree", "Tidal"]).code, 0);
}

#[test]
fn an_archived_branch_is_folded_in_the_tree() {
    let home = Home::new();
    let mut lines = small();
    lines.insert(3, user("c2", Some("c"), "further \u{1b}[2J"));
    let file = home.session("x.jsonl", &lines);
    let refused = home.run(&["archive", path(&file), "b"]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("entry b is on the path to the current leaf"), "{}", refused.err);
    assert!(refused.err.contains("hint: move the leaf to another branch with `sessile branch`"), "{}", refused.err);
    assert_eq!(home.run(&["archive", path(&file), "@leaf"]).code, 3);
    assert_eq!(home.run(&["archive", path(&file), "nowhere"]).code, 3);
    let whole = home.run(&["tree", path(&file)]).out;
    assert_eq!(home.run(&["archive", path(&file), "c"]).out, "the branch at c is archived\n");
    let folded = home.run(&["tree", path(&file)]).out;
    assert!(folded.contains("[archived, 2 entries] user: second question"), "{folded}");
    assert!(!folded.contains("further") && folded.contains("another second question"), "{folded}");
    let open = home.run(&["tree", path(&file), "--archived"]).out;
    assert_eq!(open.replace("[archived] ", ""), whole);
    let searched = home.run(&["tree", path(&file), "--search", "further"]).out;
    assert!(searched.contains("[archived, 1 entry] user: second question"), "{searched}");
    assert!(!home.run(&["tree", path(&file), "--search", "answer"]).out.contains("archived"));
    // JSON is complete.
    let flat = home.run(&["tree", path(&file), "--json", "--flat"]).json();
    let flat = flat.as_array().unwrap();
    assert_eq!(flat.len(), 7, "the mark is an entry");
    let archived: Vec<&Value> = flat.iter().filter(|row| row.get("archived").is_some()).map(|row| &row["id"]).collect();
    assert_eq!(archived, ["c"]);
    let nested = home.run(&["tree", path(&file), "--json"]).json();
    let second = &nested[0]["children"][0]["children"][0];
    assert_eq!((&second["entry"]["id"], &second["archived"]), (&"c".into(), &true.into()));
    assert_eq!(second["children"].as_array().unwrap().len(), 1);
    assert!(nested[0].get("archived").is_none());
    assert_eq!(home.run(&["tree", path(&file), "--json", "--archived"]).code, 2);
    assert_eq!(home.run(&["info", path(&file), "--json"]).json()["archivedBranches"], serde_json::json!(["c"]));
    // The list shows the session, and @leaf is not the mark.
    assert_eq!(home.run(&["list"]).err, "");
    assert_eq!(home.run(&["label", path(&file), "@leaf", "end"]).out, "d labelled \"end\"\n");
    // Once the leaf is there, the branch is shown.
    home.run(&["branch", path(&file), "c2"]).expect(0, "");
    let there = home.run(&["tree", path(&file)]).out;
    assert!(there.contains("• [archived] user: second question") && there.contains("further ␛[2J"), "{there}");
    home.run(&["undo"]).expect(0, "");
    home.run(&["archive", path(&file), "c", "--clear"]).expect(0, "");
    assert!(!home.run(&["tree", path(&file)]).out.contains("archived"));
    home.run(&["undo"]).expect(0, "");
    assert_eq!(home.run(&["tree", path(&file)]).out.matches("[archived, 2 entries]").count(), 1);
}

#[test]
fn an_archived_parent_is_named_in_the_tree_of_sessions() {
    let home = Home::new();
    let (one, _) = two(&home);
    let forked = home.run(&["fork", path(&one), "d"]);
    assert_eq!(forked.code, 0, "{}", forked.err);
    home.run(&["archive", path(&one)]);
    let tree = home.run(&["list", "--tree"]).out;
    assert!(tree.contains("(archived: first question)"), "{tree}");
    assert!(!home.run(&["list", "--tree", "--archived"]).out.contains("(archived:"));
}

/// A catalogue written by an older version must not hide that sessions are archived.
#[test]
fn the_catalogue_reflects_archiving() {
    let home = Home::new();
    let (one, _) = two(&home);
    assert_eq!(ids(&home, &["list", "--json"]).len(), 2);
    home.run(&["archive", path(&one)]);
    assert_eq!(ids(&home, &["list", "--json"]), ["bbbb-2"]);
    age(&one);
    for _ in 0..2 {
        assert_eq!(ids(&home, &["list", "--json", "--archived"]), ["aaaa-1"]);
    }
    // Another program appends to it.
    let mut text = std::fs::read_to_string(&one).unwrap();
    text += &(user("z", Some("d"), "goes on") + "\n");
    std::fs::write(&one, text).unwrap();
    age(&one);
    assert_eq!(ids(&home, &["list", "--json", "--archived"]), ["aaaa-1"]);
    home.run(&["archive", path(&one), "--clear"]).expect(0, "");
    assert_eq!(ids(&home, &["list", "--json"]).len(), 2);
}
