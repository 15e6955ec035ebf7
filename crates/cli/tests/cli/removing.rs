//! `delete`, `restore`, `move` and `prune`.

use super::*;

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

fn trash(home: &Home) -> PathBuf {
    let data = home.dir.path().join(".local").join("share");
    if cfg!(windows) { data.join("sessile").join("Trash") } else { data.join("Trash") }
}

#[test]
fn sessions_are_trashed_and_restored() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let bytes = std::fs::read(&file).unwrap();
    let output = home.run(&["delete", path(&file)]);
    assert_eq!((output.code, file.exists()), (2, true), "without a terminal there is no confirmation");
    assert!(output.err.contains("\nhint: use --yes "), "{}", output.err);
    home.run(&["delete", path(&file), "--dry-run"]).expect(0, "");
    assert!(file.exists());
    let deleted = home.run(&["delete", "s1", "--yes", "--json"]).json();
    let trashed = if cfg!(windows) { trash(&home) } else { trash(&home).join("files") }.join("x.jsonl");
    assert_eq!(deleted["sessions"][0]["trashed"], path(&trashed));
    assert_eq!((std::fs::read(&trashed).unwrap(), file.exists()), (bytes.clone(), false));
    if cfg!(not(windows)) {
        let info = std::fs::read(trash(&home).join("info/x.jsonl.trashinfo")).unwrap();
        let info = String::from_utf8(info).unwrap();
        assert!(info.starts_with(&format!("[Trash Info]\nPath={}\nDeletionDate=20", path(&file))), "{info}");
    }
    let listed = home.run(&["restore", "--list", "--json"]).json();
    assert_eq!((&listed[0]["id"], listed[0]["path"].as_str().unwrap()), (&"s1".into(), path(&file)));
    let dry = home.run(&["restore", "s", "--dry-run"]);
    assert_eq!((dry.code, file.exists()), (0, false));
    // Never over an existing file.
    std::fs::write(&file, "mine").unwrap();
    let output = home.run(&["restore", "s1"]);
    assert_eq!((output.code, std::fs::read(&file).unwrap()), (3, b"mine".to_vec()));
    assert!(output.err.contains("already exists"), "{}", output.err);
    std::fs::remove_file(&file).unwrap();
    home.run(&["restore", "s1"]).expect(0, "");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    assert_eq!(home.run(&["restore", "--list"]).code, 1);
    assert_eq!(home.run(&["restore", "s1"]).code, 3);
    home.run(&["undo"]).expect(0, "");
    assert!(!file.exists(), "undoing the restoration deletes it again");
    home.run(&["restore", path(&file)]).expect(0, "");
    let left: Vec<_> = home.session_dir().read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["x.jsonl"], "no sidecars are left");
}

#[test]
fn only_sessions_without_a_writer_are_deleted() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let other = home.session("y.jsonl", &small());
    let junk = home.session_dir().join("junk.jsonl");
    std::fs::write(&junk, "junk\n").unwrap();
    let output = home.run(&["delete", path(&file), path(&junk), "--yes"]);
    assert_eq!((output.code, file.exists(), junk.exists()), (3, true, true), "{}", output.err);
    let lock = std::fs::File::create(file.with_file_name(".x.jsonl.sessile-lock")).unwrap();
    lock.try_lock().unwrap();
    assert_eq!((home.run(&["delete", path(&file), "--yes"]).code, file.exists()), (4, true));
    assert_eq!(home.run(&["move", path(&file), "--to", "/elsewhere"]).code, 4);
    drop(lock);
    std::fs::create_dir(other.with_file_name("y.jsonl.lock")).unwrap();
    assert_eq!((home.run(&["delete", path(&other), "--yes"]).code, other.exists()), (4, true));
    std::fs::remove_dir(other.with_file_name("y.jsonl.lock")).unwrap();
    home.run(&["delete", path(&other), "--yes", "--permanent"]).expect(0, "");
    assert!(!other.exists() && !trash(&home).exists());
    let output = home.run(&["undo"]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("was deleted permanently"), "{}", output.err);
}

#[test]
fn without_a_trash_nothing_is_deleted() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    std::fs::create_dir_all(home.dir.path().join(".local")).unwrap();
    std::fs::write(home.dir.path().join(".local/share"), "in the way").unwrap();
    // There is no trash program either.
    let output = home.run_with(&["delete", path(&file), "--yes"], "PATH", Path::new("/nonexistent"));
    assert_eq!((output.code, file.exists()), (3, true));
    assert!(output.err.contains("to the trash; nothing was deleted"), "{}", output.err);
    assert!(output.err.ends_with("\nhint: use --permanent to delete it permanently\n"), "{}", output.err);
    assert_eq!(home.run(&["undo"]).code, 1, "a failed deletion cannot be undone");
}

#[test]
fn sessions_move_with_their_project() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let sub = home.project().join("sub");
    let below = home.sessions_of(&sub).join("y.jsonl");
    write_session(&below, path(&sub), &small());
    let beside = home.agent_dir().join("sessions/--other--/z.jsonl");
    write_session(&beside, &format!("{}-2", path(&home.project())), &small());
    let bytes = std::fs::read(&file).unwrap();
    let words = ["move", "--from", ".", "--to", "../moved"];
    let dry = home.run(&["move", "--from", ".", "--to", "../moved", "--dry-run", "--json"]).json();
    assert_eq!(dry["sessions"].as_array().unwrap().len(), 2);
    assert!(file.exists() && below.exists());
    let output = home.run(&words);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.err.starts_with("warning: ") && output.err.ends_with("does not exist\n"), "{}", output.err);
    assert!(!file.exists() && !below.exists() && beside.exists());
    let list = home.run(&["list", "--all", "--json"]).json();
    let mut cwds: Vec<&str> = list.as_array().unwrap().iter().map(|it| it["cwd"].as_str().unwrap()).collect();
    cwds.sort_unstable();
    let moved = home.dir.path().join("moved");
    assert_eq!(cwds, [path(&moved), path(&moved.join("sub")), &format!("{}-2", path(&home.project()))]);
    assert_eq!(home.run(&words).code, 1, "nothing is left to move");
    home.run(&["undo"]).expect(0, "");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    assert!(below.exists());
    assert_eq!(home.run(&["move", path(&file)]).code, 2);
}

#[test]
fn pruning_is_a_dry_run_by_default() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "old")]);
    let labelled = home.session("y.jsonl", &small());
    assert_eq!(home.run(&["prune"]).code, 2);
    assert_eq!(home.run(&["prune", "--older-than", "soon"]).code, 2);
    let output = home.run(&["prune", "--older-than", "90d"]);
    assert_eq!((output.code, file.exists()), (0, true));
    assert!(
        output.out.contains("1 session, ") && output.out.contains("use --apply to do it; 1 with a name or labels kept"),
        "{}",
        output.out
    );
    assert_eq!(home.run(&["prune", "--older-than", "90d", "--larger-than", "1G"]).code, 1);
    let pruned = home.run(&["prune", "--older-than", "90d", "--apply", "--json"]).json();
    assert_eq!((pruned["bytes"].as_u64().unwrap() > 100, file.exists(), labelled.exists()), (true, false, true));
    let audit = std::fs::read(home.dir.path().join("SESSILE_STATE_DIR/prune.jsonl")).unwrap();
    let audit: Value = serde_json::from_slice(&audit).unwrap();
    assert_eq!((audit["path"].as_str().unwrap(), &audit["operation"]), (path(&file), &pruned["operation"]));
    home.run(&["undo"]).expect(0, "");
    assert!(file.exists());
}

/// Pruning selects the same sessions as a list: those of this directory, of the repository, or all.
#[test]
fn pruning_has_the_scope_of_a_list() {
    let home = Home::new();
    let here = home.session("2025_s1.jsonl", &[user("a", None, "here")]);
    let elsewhere = home.dir.path().join("elsewhere");
    let there = home.sessions_of(&elsewhere).join("2025_s2.jsonl");
    with_id(write_session(&there, path(&elsewhere), &[user("a", None, "there")]), "s2");
    let ids = |words: &[&str]| {
        let output = home.run(&[&["prune", "--older-than", "1d", "--json"], words].concat());
        let pruned: Value = serde_json::from_str(&output.out).unwrap();
        let ids = pruned["sessions"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned());
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        (output.code, ids.join(" "))
    };
    let is = |code, ids: &str| (code, ids.to_owned());
    assert_eq!(ids(&[]), is(0, "s1"));
    assert_eq!(ids(&["--repo"]), is(0, "s1"));
    assert_eq!(ids(&["--all"]), is(0, "s1 s2"));
    assert_eq!(ids(&["--cwd", path(&elsewhere)]), is(0, "s2"));
    assert_eq!(ids(&["--keep", "1"]), is(1, ""), "the only family of this directory is the most recent one");
    assert_eq!(ids(&["--all", "--keep", "1"]).1.len(), 2);
    assert_eq!(home.run(&["prune", "--older-than", "1d", "--all", "--repo"]).code, 2);
    home.run(&["prune", "--older-than", "1d", "--apply"]).expect(0, "");
    assert_eq!((here.exists(), there.exists()), (false, true));
    let hint = "nothing to prune\nhint: use --all for the sessions of all directories\n";
    home.run(&["prune", "--older-than", "1d", "--apply"]).expect(1, hint);
    home.run(&["prune", "--older-than", "999y", "--all"]).expect(1, "nothing to prune\n");
}

/// Deletions and restorations show the session's title and id.
#[test]
fn deletions_and_restorations_show_title_and_id() {
    let home = Home::new();
    let file = with_id(home.session("x.jsonl", &small()), "0123456789abcdef");
    let session_line = &native("01234567  first question  ~/project");
    let output = home.run(&["prune", "--older-than", "1d", "--labelled"]);
    assert!(output.out.lines().next().unwrap().ends_with(session_line), "{}", output.out);
    for words in [&["delete", path(&file), "--dry-run"][..], &["delete", path(&file), "--yes"], &["restore", "--list"]]
    {
        let output = home.run(words);
        assert!(output.out.lines().next().unwrap().ends_with(session_line), "{words:?}: {}", output.out);
    }
    let output = home.run(&["restore", "01234567", "--dry-run"]);
    assert!(
        output.out.starts_with(session_line) && output.out.ends_with(&native("/x.jsonl would be restored\n")),
        "{}",
        output.out
    );
    let output = home.run(&["restore", "01234567"]);
    assert!(
        output.out.starts_with(session_line) && output.out.ends_with(&native("/x.jsonl restored\n")),
        "{}",
        output.out
    );
}

/// Operations on the sample do not touch the user's own trash or state.
#[test]
fn changes_to_the_sample_stay_in_its_directory() {
    let home = Home::new();
    for words in [
        &["delete", "@6", "--yes"][..],
        &["move", "@2", "--to", "/home/u/src/tides"],
        &["move", "--from", "/home/u/src/tidepool", "--to", "/home/u/src/tides"],
        &["name", "@1", "x"],
        &["label", "@1", "@leaf", "x"],
        &["branch", "@1", "@leaf~3"],
        &["append", "@1", "x"],
        &["fork", "@1"],
        &["clone", "@1"],
        &["new"],
        &["new", "--fork", "@1"],
        &["prune", "--older-than", "1d", "--named", "--labelled", "--apply"],
    ] {
        let words: Vec<&str> = ["--sample"].iter().chain(words).copied().collect();
        let output = home.run(&words);
        assert_eq!(output.code, 0, "{words:?}: {}", output.err);
    }
    let left: Vec<_> = home.dir.path().read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == "SESSILE_STATE_DIR" || name == ".local" || name == "agent"), "{left:?}");
}

#[test]
fn leftover_files_are_cleaned() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let dir = home.session_dir();
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    let leave = |path: PathBuf| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(&file, &path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(hour_ago).unwrap();
        path
    };
    // No process has an id this large.
    let gone = [
        leave(dir.join(".x.jsonl.sessile-tmp-4194301-0")),
        leave(dir.join(".lost.jsonl.sessile-lock")),
        leave(home.dir.path().join("SESSILE_CACHE_DIR/catalogue/.0123456789abcdef.sessile-tmp-4194301-1")),
        leave(home.project().join(".out.md.sessile-tmp-4194301-0")),
    ];
    let own = std::process::id();
    let stays = [
        leave(dir.join(format!(".x.jsonl.sessile-tmp-{own}-0"))),
        leave(dir.join("x.jsonl.orig-1")),
        leave(dir.join("lost.jsonl.orig-1")),
        leave(dir.join("notes.orig-1")),
        leave(home.project().join("sessile-tmp-1")),
    ];
    std::fs::write(dir.join(".x.jsonl.sessile-tmp-4194301-9"), "young").unwrap();
    let exists = |paths: &[PathBuf]| paths.iter().filter(|path| path.exists()).count();
    let dry = home.run(&["clean"]);
    assert!(dry.code == 0 && dry.out.ends_with(" would be removed; use --apply to do it\n"), "{}{}", dry.out, dry.err);
    assert_eq!((exists(&gone), exists(&stays)), (4, 5));
    let age =
        |name: &str| dry.out.lines().find(|line| line.contains(name)).and_then(|line| line.split_whitespace().next());
    assert_ne!(
        age("x.jsonl.orig-1"),
        age("sessile-tmp-4194301-0"),
        "the age of an original is the time since the rewrite: {}",
        dry.out
    );
    let cleaned = home.run(&["clean", "--apply", "--json"]).json();
    let reason = |end: &str| {
        let files = cleaned["files"].as_array().unwrap();
        let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(end));
        file.unwrap_or_else(|| panic!("{end} in {cleaned}"))["stays"].as_str().unwrap_or("goes").to_owned()
    };
    assert_eq!((exists(&gone), exists(&stays)), (0, 5), "{cleaned}");
    assert_eq!(reason(".x.jsonl.sessile-tmp-4194301-0"), "goes");
    assert_eq!(reason(".x.jsonl.sessile-tmp-4194301-9"), "young");
    assert_eq!(reason(&format!("sessile-tmp-{own}-0")), "in use");
    assert_eq!(reason(&native("/x.jsonl.orig-1")), "young");
    assert!(cleaned["applied"] == true && cleaned["bytes"].as_u64().unwrap() > 100);
    // With any age, the original of an existing session is removed, and that of a lost one stays.
    let cleaned = home.run(&["clean", "--older-than", "0m", "--apply", "--json"]).json();
    assert_eq!(cleaned["files"].as_array().unwrap().len(), 4, "{cleaned}");
    assert_eq!(stays.map(|path| path.exists()), [true, false, true, true, true]);
    // The original of a damaged session stays as well.
    let original = leave(dir.join("x.jsonl.orig-2"));
    let mut text = std::fs::read(&file).unwrap();
    text.truncate(text.len() - 20);
    text.push(b'\n');
    std::fs::write(&file, text).unwrap();
    let cleaned = home.run(&["clean", "--older-than", "0m", "--apply"]);
    assert!(cleaned.code == 0 && original.exists(), "{}", cleaned.out);
    assert!(cleaned.out.contains("x.jsonl.orig-2  kept: its session is gone or damaged\n"), "{}", cleaned.out);
    assert_eq!(home.run(&["clean", "--older-than", "soon"]).code, 2);
    let empty = Home::new();
    empty.run(&["clean"]).expect(0, "nothing to clean\n");
}

/// Our own writes, restorations and new files do not count as writes by another program.
#[test]
fn our_own_writes_do_not_keep_a_session_in_use() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let path = file.to_str().unwrap();
    home.run(&["append", path, "now"]).expect(0, "");
    home.run(&["delete", path, "--yes"]).expect(0, "");
    home.run(&["undo"]).expect(0, "");
    home.run(&["delete", path, "--yes"]).expect(0, "");
    home.run(&["undo"]).expect(0, "");
    // Another program writes to it.
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend(b"{\"type\":\"future\"}\n");
    std::fs::write(&file, bytes).unwrap();
    let refused = home.run(&["delete", path, "--yes"]);
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("is in use: it was written to") && refused.err.contains("--force"), "{}", refused.err);
    home.run(&["delete", path, "--yes", "--force"]).expect(0, "");
}

/// Our own append right before a move is not taken for another program that uses the session.
#[test]
fn a_move_right_after_an_append_can_be_undone() {
    let home = Home::new();
    let other = home.dir.path().join("other");
    home.run(&["new", "-n", "mover"]).expect(0, "");
    home.run(&["append", "mover", "hi"]).expect(0, "");
    assert_eq!(home.run(&["move", "mover", "--to", path(&other)]).code, 0);
    home.run(&["undo"]).expect(0, "");
    assert!(home.run(&["list"]).out.contains("mover"));
    assert_eq!(home.run(&["move", "mover", "--to", path(&other)]).code, 0);
    assert_eq!(home.run(&["delete", "mover", "--yes"]).code, 0);
}

/// What a dry run promises is what happens, and sessions in use are called that.
#[test]
fn a_pruning_dry_run_shows_sessions_in_use() {
    let home = Home::new();
    let old = home.session("x.jsonl", &[user("a", None, "old")]);
    let used = with_id(home.session("y.jsonl", &[user("a", None, "used")]), "s2");
    age(&used);
    let mut bytes = std::fs::read(&used).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"c\",\"parentId\":\"a\",\"timestamp\":\"2025-01-01T00:00:09.000Z\"}\n");
    std::fs::write(&used, bytes).unwrap();
    let dry = home.run(&["prune", "--older-than", "90d"]);
    assert!(dry.out.contains("1 session, ") && dry.out.ends_with("; 1 in use kept\n"), "{}", dry.out);
    let done = home.run(&["prune", "--older-than", "90d", "--apply"]);
    assert!(done.out.contains("1 session, ") && done.out.ends_with("; 1 in use kept\n"), "{}", done.out);
    assert_eq!((old.exists(), used.exists()), (false, true));
    home.run(&["prune", "--older-than", "90d", "--apply"]).expect(1, "nothing to prune; 1 in use kept\n");
    assert_eq!(home.run(&["undo", "--list", "--json"]).json().as_array().unwrap().len(), 1, "nothing was done");
}

/// An operation is named by the title of its session, also while that is in the trash.
#[test]
fn deleted_sessions_are_named_by_their_titles() {
    let home = Home::new();
    for name in ["first one", "second one"] {
        home.run(&["new", "-n", name]).expect(0, "");
        assert_eq!(home.run(&["delete", name, "--yes"]).code, 0);
    }
    let list = home.run(&["undo", "--list"]).out;
    for name in ["first one", "second one"] {
        assert_eq!(list.matches(&format!("{name:?}")).count(), 2, "deleted and created: {list}");
    }
}
