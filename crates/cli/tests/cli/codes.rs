//! Exit codes, errors and hints.

use std::io::Read;
use std::process::Stdio;

use super::*;

#[test]
fn usage_errors_exit_with_2() {
    let home = Home::new();
    for words in [
        &["--nonsense"][..],
        &["nonsense"],
        &["tree"],
        &["context"],
        &["tree", "--flat", "x"],
        &["list", "--json", "--jsonl"],
        &["--color", "mauve"],
        &["completions", "tcl"],
    ] {
        let output = home.run(words);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{words:?}");
        assert!(output.err.starts_with("error: "), "{words:?}: {}", output.err);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let home = Home::new();
    for words in [&["--help"][..], &["-h"], &["list", "--help"], &["--version"]] {
        let output = home.run(words);
        output.expect(0, "");
        assert!(!output.out.is_empty() && !output.out.contains('\u{1b}'));
    }
    assert_eq!(home.run(&["-V"]).out, format!("sessile {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_version_says_how_the_program_was_built() {
    let home = Home::new();
    let text = home.run(&["--version", "--verbose"]).out;
    assert!(text.starts_with(&home.run(&["--version"]).out), "{text}");
    for label in ["commit", "target", "profile", "features", "compiler", "format"] {
        let value = text.lines().find_map(|line| line.strip_prefix(label));
        assert!(value.is_some_and(|value| !value.trim().is_empty()), "{label}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&home.run(&["--json", "-V"]).out).unwrap();
    assert_eq!((&json["version"], &json["sessionVersion"]), (&env!("CARGO_PKG_VERSION").into(), &3.into()));
    assert!(json["compiler"].as_str().is_some_and(|compiler| compiler.starts_with("rustc 1.")), "{json}");
    let has_screens = cfg!(feature = "tui");
    assert_eq!(json["features"].as_array().is_some_and(|features| features.contains(&"tui".into())), has_screens);
    assert_eq!(home.run(&["--verbose"]).code, 2);
    assert_eq!(home.run(&["--json"]).code, 2);
}

#[test]
fn missing_files_exit_with_3() {
    let home = Home::new();
    home.run(&["tree", "no.jsonl"]).expect(
        3,
        "error: no.jsonl does not exist\n\
         hint: `sessile list` shows the sessions of this directory, `sessile list --all` those of all directories\n",
    );
    let file = home.session("x_s1.jsonl", &small());
    let wrong = file.with_file_name("x_s2.jsonl");
    let meant = format!("error: {} does not exist\nhint: did you mean {}?\n", wrong.display(), file.display());
    home.run(&["tree", wrong.to_str().unwrap()]).expect(3, &meant);
    assert!(!home.project().join("no.jsonl").exists());
}

#[test]
fn other_files_exit_with_3() {
    let home = Home::new();
    let file = home.project().join("x.jsonl");
    std::fs::write(&file, "{\"type\":\"message\"}\n").unwrap();
    let output = home.run(&["context", "x.jsonl"]);
    assert_eq!((output.code, output.out.as_str()), (3, ""));
    assert!(output.err.starts_with("error: ") && output.err.contains("is not a session"), "{}", output.err);
    assert!(output.err.contains("\nhint: a session is"), "{}", output.err);
    let output = home.run(&["context", "."]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("\nhint: `sessile list --all --session-dir"), "{}", output.err);
}

#[test]
fn nothing_found_exits_with_1() {
    let home = Home::new();
    let output = home.run(&["list"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains("--all") && output.err.contains("--sample"), "{}", output.err);
    let output = home.run(&["list", "--all", "--json"]);
    assert_eq!((output.code, output.out.as_str()), (1, "[]\n"));
    let output = home.run(&["list", "--jsonl"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(!home.agent_dir().exists(), "listing creates no files");
}

#[test]
fn unreadable_lines_are_mentioned() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "hi"), "{broken".to_owned(), "{torn".to_owned()]);
    let output = home.run(&["context", file.to_str().unwrap()]);
    assert_eq!(output.code, 0);
    assert!(output.err.starts_with("warning: line 3 (byte ") && output.err.contains("1 more"), "{}", output.err);
}

#[test]
fn a_closed_pipe_exits_with_0() {
    let home = Home::new();
    let lines: Vec<String> = (0..20_000).map(|n| user(&format!("e{n}"), None, &"x".repeat(100))).collect();
    let file = home.session("long.jsonl", &lines);
    for words in [&["entries", "--json"][..], &["entries"], &["tree"], &["tree", "--json"]] {
        let mut command = home.command(words);
        let mut child = command.arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_exits_with_3() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut command = home.command(&["entries", "--json"]);
    let output = command.arg(&file).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8(output.stderr).unwrap().starts_with("error: cannot write to standard output\ncaused by: ")
    );
}

#[test]
fn empty_output_is_explained() {
    let home = Home::new();
    let empty = home.session("empty.jsonl", &[""; 0]);
    for command in ["tree", "entries", "llm"] {
        home.run(&[command, empty.to_str().unwrap()]).expect(0, "this session has no entries\n");
    }
    let link = empty.with_file_name("dangling.jsonl");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nothing", &link).unwrap();
    let output = home.run(&["tree", link.to_str().unwrap()]);
    assert_eq!(output.code, 3, "{}", output.err);
    let output = home.run(&["list", "--session-dir", "no-such-dir"]);
    assert!(output.code == 1 && output.err.starts_with("there is no directory no-such-dir\n"), "{}", output.err);
}
