//! `verify` and `repair`.

use super::*;

/// Creates a file that only its owner can read, in such a directory.
fn private(home: &Home, name: &str, lines: &[impl AsRef<[u8]>]) -> PathBuf {
    let file = home.session(name, lines);
    set_mode(&file, 0o600);
    set_mode(&home.session_dir(), 0o700);
    file
}

fn damaged(home: &Home, name: &str) -> PathBuf {
    let glued = format!("{{\"type\":\"message\",\"id\":\"t{}", user("b", Some("a"), "second"));
    private(home, name, &[user("a", None, "first"), glued, user("c", Some("b"), "third")])
}

fn names(home: &Home) -> Vec<String> {
    let mut names: Vec<String> = (std::fs::read_dir(home.session_dir()).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn valid_sessions_exit_with_0() {
    let home = Home::new();
    let file = private(&home, "x.jsonl", &small());
    let output = home.run(&["verify", file.to_str().unwrap()]);
    output.expect(0, "");
    assert_eq!(output.out, "no problems found\n");
    let reports = home.json(&["verify", "--json"], &file);
    assert_eq!(reports, serde_json::json!([{ "path": file.to_str().unwrap(), "findings": [] }]));
    assert_eq!(home.run(&["--sample", "verify"]).code, 0);
    assert_eq!(home.run(&["--sample", "verify", "--all"]).code, 0);
    let output = home.run(&["repair", file.to_str().unwrap()]);
    output.expect(0, "");
    assert!(output.out.ends_with("\nnothing to repair\n"), "{}", output.out);
}

#[test]
fn findings_exit_with_1() {
    let home = Home::new();
    let file = damaged(&home, "x.jsonl");
    let output = home.run(&["verify", file.to_str().unwrap()]);
    output.expect(1, "");
    let expected = [
        "x.jsonl",
        "  error    line 3, byte 259: record b is not on its own line  fused",
        "           readers see none of the records on the line",
        "           repair puts b on its own line; the rest of the damaged line stays",
        "  warning  line 4, byte ",
        "           everything before the entry is cut off from it",
        "           repair restores the parent from line 3",
        "",
        "2 findings, `sessile repair ",
    ];
    let lines: Vec<&str> = output.out.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{}", output.out);
    for (line, expected) in lines.iter().zip(expected).skip(2) {
        assert!(line.starts_with(expected), "{line}");
    }
    let output = home.run(&["verify", "--json", file.to_str().unwrap()]);
    output.expect(1, "");
    let reports: Value = serde_json::from_str(&output.out).unwrap();
    let keys: Vec<&String> = reports[0]["findings"][0].as_object().unwrap().keys().collect();
    let mut expected = ["code", "severity", "line", "offset", "message", "consequence", "repair"];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(reports[0]["findings"][1]["code"], "missing-parent");
}

#[test]
fn all_sessions_are_verified() {
    let home = Home::new();
    damaged(&home, "b.jsonl");
    with_id(private(&home, "c.jsonl", &small()), "s2");
    let output = home.run(&["verify", "--all"]);
    output.expect(1, "");
    assert!(output.out.ends_with("\n2 sessions, 2 findings, `sessile repair SESSION` repairs 2\n"), "{}", output.out);
    let junk = home.session_dir().join("a.jsonl");
    std::fs::write(&junk, "junk\n").unwrap();
    let output = home.run(&["verify", "--all", "--json"]);
    assert_eq!(output.code, 3);
    assert!(output.err.starts_with("error: ") && output.err.contains("a.jsonl is not a session"), "{}", output.err);
    let reports: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(reports.as_array().unwrap().len(), 3);
    assert!(reports[0]["error"].is_string() && reports[1]["findings"][0]["code"] == "fused");
    assert_eq!(home.run(&["verify", junk.to_str().unwrap()]).code, 3);
    assert_eq!(home.run(&["verify", "--all", "--session-dir", "nowhere"]).code, 3);
    for words in [&["verify"][..], &["repair"], &["verify", "--all", "x"], &["verify", "--all", "-c"]] {
        assert_eq!(home.run(words).code, 2, "{words:?}");
    }
}

#[test]
fn a_dry_run_and_a_second_repair_change_nothing() {
    let home = Home::new();
    let file = damaged(&home, "x.jsonl");
    let path = file.to_str().unwrap();
    let before = std::fs::read(&file).unwrap();
    let dry = home.run(&["repair", "--dry-run", path]);
    dry.expect(0, "");
    assert!(dry.out.contains("  would repair line 3, byte "), "{}", dry.out);
    assert!(dry.out.ends_with("\n1 change would be made; nothing was changed\n"), "{}", dry.out);
    assert_eq!((std::fs::read(&file).unwrap(), names(&home)), (before.clone(), vec!["x.jsonl".to_owned()]));
    let salvaged = home.json(&["entries", "--salvaged", "--json"], &file);
    assert_eq!(salvaged[0]["id"], "b");

    let done = home.run(&["repair", path]);
    done.expect(0, "");
    assert!(done.out.contains("\n1 change made; the original is "), "{}", done.out);
    assert_eq!(std::fs::read(home.session_dir().join(&names(&home)[1])).unwrap(), before);
    assert_eq!(home.run(&["entries", "--jsonl", path]).out.lines().count(), 3);
    assert_eq!(home.run(&["entries", "--salvaged", path]).code, 1);
    let (after, there) = (std::fs::read(&file).unwrap(), names(&home));
    let again = home.json(&["repair", "--json"], &file);
    assert_eq!((again["changes"].as_array().unwrap().len(), again["original"].is_null()), (0, true));
    assert_eq!(again["left"][0]["code"], "torn");
    assert_eq!((std::fs::read(&file).unwrap(), names(&home)), (after, there));
}

/// `repair` does nothing while another process may be writing. Its exit code differs from that of permanent failures.
#[test]
fn a_session_in_use_exits_with_4() {
    let home = Home::new();
    let file = damaged(&home, "x.jsonl");
    let path = file.to_str().unwrap();
    let before = std::fs::read(&file).unwrap();
    let lock = std::fs::File::create(file.with_file_name(".x.jsonl.sessile-lock")).unwrap();
    lock.try_lock().unwrap();
    let output = home.run(&["repair", path]);
    assert_eq!((output.code, output.out.as_str()), (4, ""), "{}", output.err);
    assert!(output.err.contains(" is in use"), "{}", output.err);
    assert!(output.err.ends_with("\nhint: try again once the other program has finished\n"), "{}", output.err);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // A dry run does not write.
    home.run(&["repair", "--dry-run", path]).expect(0, "");
    drop(lock);
    home.run(&["repair", path]).expect(0, "");
}

#[cfg(unix)]
#[test]
fn permissions_are_restricted_on_request() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    set_mode(&file, 0o644);
    let path = file.to_str().unwrap();
    let output = home.run(&["verify", path]);
    output.expect(1, "");
    assert!(output.out.contains("  permissions\n") && output.out.contains("with --permissions"), "{}", output.out);
    home.run(&["repair", path]).expect(0, "");
    expect_mode(&file, 0o644);
    home.run(&["repair", "--permissions", path]).expect(0, "");
    expect_mode(&file, 0o600);
    assert_eq!((home.run(&["verify", path]).code, names(&home).len()), (0, 1));
}

#[cfg(unix)]
#[test]
fn the_permissions_of_a_whole_store_are_one_finding_and_one_command() {
    let home = Home::new();
    let session = |n: usize| with_id(home.session(&format!("{n}.jsonl"), &small()), &format!("id{n}"));
    let mut files: Vec<PathBuf> = (0..5).map(session).collect();
    files.push(write_session(&home.agent_dir().join("sessions/--x--/x.jsonl"), "/x", &small()));
    for file in &files {
        set_mode(file, 0o644);
    }
    let output = home.run(&["verify", "--all"]);
    output.expect(1, "");
    assert_eq!(output.out.matches("  permissions\n").count(), 1, "{}", output.out);
    assert!(output.out.starts_with("6 sessions\n"), "{}", output.out);
    assert!(output.out.contains("`sessile repair --permissions --all` makes files private"), "{}", output.out);
    let other = home.project().join("other");
    set_mode(&write_session(&other.join("y.jsonl"), "/y", &small()), 0o644);
    let output = home.run(&["verify", "--all", "--session-dir", "other"]);
    let command = "repair --permissions --all --session-dir other";
    assert!(output.out.contains(&format!("`sessile {command}` makes files private")), "{}", output.out);
    let output = home.run(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(output.out, "1 of 1 session made readable only by you\n");
    let reports = home.run(&["verify", "--all", "--json"]).out;
    assert_eq!(reports.matches("\"permissions\"").count(), 6);
    let modes = || files.iter().filter(|file| mode(file) == 0o600).count();
    let dry = home.run(&["repair", "--permissions", "--all", "--dry-run"]);
    assert_eq!(dry.out, "6 of 6 sessions would be made readable only by you; nothing was changed\n");
    assert_eq!(modes(), 0);
    assert_eq!(home.run(&["repair", "--permissions"]).out, "5 of 5 sessions made readable only by you\n");
    assert_eq!(modes(), 5);
    assert_eq!(home.run(&["repair", "--permissions", "--all", "--json"]).json().as_array().unwrap().len(), 1);
    assert_eq!(modes(), 6);
    assert_eq!(home.run(&["repair", "--permissions", "--all"]).out, "6 sessions, all already readable only by you\n");
    home.run(&["verify", "--all"]).expect(0, "");
    assert_eq!(home.run(&["repair", "--all"]).code, 2);
}

#[test]
fn files_without_a_header_are_reported_and_repaired() {
    let home = Home::new();
    private(&home, "c.jsonl", &small());
    let torn = private(&home, "t.jsonl", &small());
    let whole = std::fs::read(&torn).unwrap();
    std::fs::write(&torn, &whole[40..]).unwrap();
    let listed = home.run(&["list"]);
    let command = "`sessile list --damaged` shows why and what `sessile repair` would do";
    listed.expect(0, &format!("1 file could not be read as a session; {command}\n"));
    home.run(&["list", "--json"]).expect(0, "");
    let damaged = home.run(&["list", "--damaged"]);
    damaged.expect(0, "");
    assert!(damaged.out.contains("t.jsonl") && damaged.out.contains("its header is missing; "), "{}", damaged.out);
    let damaged = home.run(&["list", "--damaged", "--json"]).json();
    assert_eq!((damaged.as_array().unwrap().len(), &damaged[0]["repairable"]), (1, &Value::Bool(true)));
    assert_eq!(damaged[0]["size"], whole.len() - 40);
    let report = home.run(&["verify", "--all", "--json"]);
    report.expect(1, "");
    let reports: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(reports[1]["findings"][0]["code"], "no-header");
    home.run(&["repair", torn.to_str().unwrap()]).expect(0, "");
    home.run(&["verify", "--all"]).expect(0, "");
    home.run(&["list"]).expect(0, "");
    assert_eq!(home.run(&["list", "--json"]).json().as_array().unwrap().len(), 2);
    assert_eq!(home.run(&["list", "--damaged"]).code, 1);
}
