//! Help, manual pages and docs/cli.md: all generated from one definition, and all correct.

use sessile_cli::definition;

use super::*;

/// Splits a line into words as a shell does, including quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for char in line.chars() {
        match (char, quote) {
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            (' ', None) => words.push(String::new()),
            (char, _) => words.last_mut().unwrap().push(char),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Commands that must run before an example makes sense.
const BEFORE: &[(&str, &[&str])] = &[
    ("archive @2 --clear", &["archive @2"]),
    ("list --archived", &["archive @2"]),
    ("--sample list --archived", &["archive @2"]),
    ("import", &["export @2 --all -o backup.jsonl", "delete @2 --yes"]),
    ("merge backup", &["export @1 --all -o backup.jsonl", "append backup.jsonl More"]),
    ("merge laptop", &["export @2 --all -o laptop.jsonl", "export @2 --all -o desktop.jsonl"]),
    ("restore", &["delete @2 --yes"]),
    ("undo", &["name @2 Another"]),
];

/// Commands that need a server; `syncing` tests them.
const ON_A_SERVER: [&str; 5] = ["remote", "share", "sync", "push", "pull"];

/// Runs a command line on a persistent sample, and returns its output.
#[track_caller]
fn on_sample(home: &Home, line: &str) -> String {
    let words = words(line);
    let words = words.iter().map(String::as_str).filter(|word| *word != "--sample");
    let output = home.run(&std::iter::once("--sample=kept").chain(words).collect::<Vec<_>>());
    // Nothing in the sample is large enough.
    if line.starts_with("slim") {
        assert_eq!(output.code, 1, "sessile {line}\n{}", output.err);
        return output.out + &output.err;
    }
    // Nothing in the sample is old enough.
    if line.starts_with("migrate") {
        output.expect(1, "nothing to migrate\n");
        return output.err;
    }
    if line.starts_with("clean") && output.out.is_empty() {
        output.expect(0, "nothing to clean\n");
        return output.err;
    }
    // `diff` exits with 1 if the sides differ.
    let expected = i32::from(line.starts_with("diff") && !line.contains("@1 @1"));
    assert_eq!(output.code, expected, "sessile {line}\n{}", output.err);
    output.out
}

#[test]
fn every_example_works_on_the_sample() {
    let examples = definition::examples();
    assert!(examples.len() > 20, "{}", examples.len());
    for example in examples {
        let needs_server = ["--everywhere", "--remote"].iter().any(|flag| example.contains(flag));
        if needs_server || ON_A_SERVER.iter().any(|command| example.split(' ').next() == Some(command)) {
            continue;
        }
        let home = Home::new();
        for before in BEFORE.iter().filter(|(command, _)| example.starts_with(command)).flat_map(|(_, before)| *before)
        {
            on_sample(&home, before);
        }
        let out = on_sample(&home, &example);
        assert!(!out.is_empty(), "sessile {example}");
    }
}

/// Earlier examples must not break later ones.
#[test]
fn examples_of_labels_and_edits_work_in_order() {
    let home = Home::new();
    let examples = definition::examples();
    let in_order = examples.iter().filter(|it| it.starts_with("label ") || it.starts_with("edit-context "));
    let mut n_run = 0;
    for example in in_order {
        // `--clear` removes the label that the next example refers to.
        on_sample(&home, example);
        if example.ends_with("--clear") {
            on_sample(&home, "undo");
        }
        n_run += 1;
    }
    assert!(n_run >= 6, "{n_run}");
}

#[test]
fn help_is_short_or_long() {
    let home = Home::new();
    let short = home.run(&["tree", "-h"]);
    let long = home.run(&["tree", "--help"]);
    short.expect(0, "");
    assert!(short.out.len() < long.out.len() && !short.out.contains("Examples:"), "{}", short.out);
    assert!(long.out.contains("Examples:\n  $ sessile tree @1\n"), "{}", long.out);
    assert_eq!(home.run(&["help", "tree"]).out, long.out);
    assert_eq!(home.run(&["help"]).out, home.run(&["--help"]).out);
    let unknown = home.run(&["help", "tre"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("there is no command `tre`; did you mean `tree`?"), "{}", unknown.err);
}

#[test]
fn the_concepts_have_a_page() {
    let home = Home::new();
    let output = home.run(&["help", "concepts"]);
    output.expect(0, "");
    for concept in ["tree", "leaf", "path", "branch", "fork", "compaction", "label", "archive", "context"] {
        assert!(output.out.contains(&format!("\n{concept}: ")), "{concept} in\n{}", output.out);
    }
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{}", output.out);
    assert_eq!(home.run(&["help", "concepts", "tree"]).out, output.out);
}

#[test]
fn the_environment_has_a_page() {
    let output = Home::new().run(&["help", "environment"]);
    output.expect(0, "");
    for name in ["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "SESSILE_CONFIG_DIR", "SESSILE_STATE_DIR"] {
        assert!(output.out.contains(&format!("\n{name}: ")), "{name} in\n{}", output.out);
    }
    assert!(!output.out.contains("**"), "{}", output.out);
}

#[test]
fn manual_pages_are_written() {
    let home = Home::new();
    let page = home.run(&["man"]);
    page.expect(0, "");
    assert!(page.out.contains(".TH sessile 1"), "{}", page.out);
    assert_eq!(home.run(&["man", "--dir", "pages", "--dry-run"]).code, 0);
    assert!(!home.project().join("pages").exists());
    let output = home.run(&["man", "--dir", "pages"]);
    assert!(output.code == 0 && output.out.ends_with(&native(" pages to ~/project/pages\n")), "{}", output.out);
    let tree = std::fs::read_to_string(home.project().join("pages/sessile-tree.1")).unwrap();
    assert!(tree.contains(".TH sessile-tree 1"), "{tree}");
    assert!(home.project().join("pages/sessile.1").is_file());
}

#[test]
fn the_version_is_printed() {
    let home = Home::new();
    for flag in ["--version", "-V"] {
        assert_eq!(home.run(&[flag]).out, format!("sessile {}\n", env!("CARGO_PKG_VERSION")));
        // Also together with another flag.
        assert_eq!(home.run(&["--color=never", flag]).out, home.run(&[flag]).out);
    }
}

#[cfg(all(feature = "models", feature = "remote"))]
#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let generated = definition::reference();
    if std::env::var_os("SESSILE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "docs/cli.md is out of date; run `cargo xtask docs`");
}
