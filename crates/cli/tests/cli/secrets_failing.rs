//! `secrets` and `export --redact` fail closed, and store no value.

use std::fs;

use super::*;

/// A value that no rule finds.
const KNOWN: &str = "plainhorse battery";

#[test]
fn a_line_over_the_limit_is_an_error() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    let length = fs::metadata(&file).unwrap().len();
    // The rest of the file is a hole of zeros without a newline.
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length + (256 << 20) + 1).unwrap();
    let path = file.to_str().unwrap();
    let target = home.dir.path().join("copy.jsonl");
    for words in [&["secrets", path][..], &["export", path, "--redact", "-o", target.to_str().unwrap()]] {
        let output = home.run(words);
        assert_eq!(output.code, 3, "{words:?}: {}", output.err);
        assert!(output.err.contains("longer than 256 MiB"), "{}", output.err);
        assert_eq!(output.out, "", "{words:?}");
    }
    assert!(!target.exists());
}

/// The files below a folder that have a text.
fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let holds = |path: PathBuf| {
        if path.is_dir() {
            return files_with(&path, text);
        }
        let bytes = fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) { vec![path] } else { Vec::new() }
    };
    entries.flat_map(holds).collect()
}

#[test]
fn known_values_are_stored_nowhere() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &[user("a", None, &format!("it is {KNOWN}!"))]);
    let path = file.to_str().unwrap();
    let list = home.dir.path().join("list");
    fs::write(&list, format!("{KNOWN}\n")).unwrap();
    let listed = ["--secrets", list.to_str().unwrap()];
    let copy = home.dir.path().join("copy.jsonl");
    let page = home.dir.path().join("copy.md");
    for words in [
        &["secrets", path, listed[0], listed[1]][..],
        &["secrets", path, listed[0], listed[1], "--json"],
        &["export", path, "--redact", listed[0], listed[1], "-o", copy.to_str().unwrap()],
        &["export", path, "--redact", "--stable", listed[0], listed[1], "-o", page.to_str().unwrap()],
    ] {
        let output = home.run(words);
        assert!(
            output.code <= 1 && !output.out.contains(KNOWN) && !output.err.contains(KNOWN),
            "{words:?}: {}",
            output.err
        );
    }
    let variable = output_of(home.command(&["secrets", path]).env("MY_API_TOKEN", KNOWN));
    assert_eq!(variable.code, 1, "{}", variable.err);
    // The session and the list hold it, and no cache, no state and no copy.
    let mut holders = files_with(home.dir.path(), KNOWN);
    holders.sort();
    let mut expected = vec![file, list];
    expected.sort();
    assert_eq!(holders, expected);
    assert!(copy.exists() && page.exists());
}
