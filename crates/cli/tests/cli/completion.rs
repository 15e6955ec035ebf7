//! Completion, as scripts request it and as bash performs it.

use super::*;

/// Returns the candidates that a shell gets for the end of a line.
fn completions(home: &Home, words: &[&str]) -> Vec<String> {
    let words: Vec<&str> = ["__complete", "--shell", "fish", "--"].iter().chain(words).copied().collect();
    let output = home.run(&words);
    output.expect(0, "");
    output.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// Creates a project with a session whose name, and an entry whose label, a shell must not execute.
fn hostile() -> Home {
    let home = Home::new();
    let name = r"Tide tables $(touch hacked) `touch hacked` 'x'";
    let lines = [
        user("a1b2c3d4", None, "hi"),
        entry("label", "e", Some("a1b2c3d4"), r#""targetId":"a1b2c3d4","label":"start; touch hacked""#),
        entry("session_info", "n", Some("e"), &format!(r#""name":"{name}""#)),
    ];
    home.session("2025_s1.jsonl", &lines);
    home
}

#[test]
fn every_shell_has_a_completion_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = home.run(&["completions", shell]);
        output.expect(0, "");
        assert!(output.out.contains("sessile"), "{shell}");
    }
}

#[test]
fn sessions_entries_and_settings_are_completed() {
    let home = hostile();
    let words_offered = completions(&home, &["tree", ""]);
    assert_eq!(words_offered[..2], [":words", "@latest"]);
    assert!(
        words_offered.contains(&"s1".to_owned()) && words_offered.iter().any(|word| word.starts_with("Tide tables")),
        "{words_offered:?}"
    );
    assert_eq!(completions(&home, &["tree", "s"]), [":words", "s1"]);
    assert_eq!(completions(&home, &["context", "s1", ""]), [":words", "@leaf", "@root", "start; touch hacked"]);
    assert_eq!(completions(&home, &["context", "-c", "a1"]), [":words", "a1b2c3d4"]);
    assert_eq!(completions(&home, &["config", "get", "list.s"]), [":words", "list.sort"]);
    assert_eq!(completions(&home, &["list", "--session-dir", ""]), [":dirs"]);
    assert_eq!(completions(&home, &["--sample", "context", "@1", "cause"]), [":words", "cause found"]);
    assert!(completions(&home, &["--sample", "tree", "CSV"]).iter().any(|word| word.starts_with("CSV export")));
    assert_eq!(
        completions(&home, &["context", "nothing like it", ""]),
        [":words"],
        "a failed completion prints no candidates"
    );
    assert!(!home.project().join("hacked").exists());
}

/// Returns how bash completes a line when the user presses Tab.
#[cfg(unix)]
fn completed(home: &Home, line: &str) -> Option<Vec<String>> {
    let script = home.run(&["completions", "bash"]).out;
    let program = PathBuf::from(env!("CARGO_BIN_EXE_sessile"));
    let path = format!("{}:{}", program.parent()?.display(), std::env::var("PATH").ok()?);
    let command = home.command(&[]);
    let mut bash = Command::new("bash");
    for (name, value) in command.get_envs() {
        bash.env(name, value?);
    }
    let test = format!(
        "{script}\nCOMP_LINE=$1 COMP_POINT=${{#1}} COMP_WORDS=(sessile)\n_sessile 2>/dev/null\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let bash = bash.args(["--norc", "-c", &test, "bash", line]).env("PATH", path).current_dir(home.project());
    let output = bash.output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[cfg(unix)]
#[test]
fn bash_completes_to_valid_words() {
    let home = hostile();
    if completed(&home, "sessile ").is_none() {
        // bash is not installed.
        return;
    }
    let completed = |line: &str| completed(&home, line).unwrap();
    assert_eq!(completed("sessile li"), ["list"]);
    assert_eq!(completed("sessile list --sor"), ["--sort"]);
    // Bash breaks words here, and replaces only the part after the break.
    assert_eq!(completed("sessile --color=al"), ["always"]);
    assert_eq!(completed("sessile tree @la"), ["@latest"]);
    assert_eq!(completed("sessile list --columns age,si"), ["age,size"]);
    let escaped = r"Tide\ tables\ \$\(touch\ hacked\)\ \`touch\ hacked\`\ \'x\'";
    assert_eq!(completed("sessile tree Tide"), [escaped]);
    assert_eq!(completed(r"sessile tree Tide\ ta"), [escaped]);
    assert_eq!(completed("sessile tree 'Tide ta"), [r"Tide tables $(touch hacked) `touch hacked` '\''x'\''"]);
    assert_eq!(completed("true; sessile context s1 star"), [r"start\;\ touch\ hacked"]);
    assert!(!home.project().join("hacked").exists());
}
