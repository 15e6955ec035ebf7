//! The example host, driven like a user would.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sessile::SessionManager;
use sessile::format::head::Kind;

/// Examples are built together with the tests, in a directory beside them.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples").join("chat")
}

fn chat(home: &Path, file: &Path, input: &str) -> String {
    let mut child = Command::new(example())
        .arg(file)
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // On a separate thread, because the chat stops reading while its output is not consumed.
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_chat_resumes_branches_labels_forks_and_compacts() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("chat.jsonl");
    let long = "a long story ".repeat(9000);
    let output = chat(home.path(), &file, &format!("hello\n/label here\n{long}\n{long}\n/compact\n/quit\n"));
    assert!(output.contains("You said: hello") && output.contains("compacted by "), "{} letters", output.len());
    let session = SessionManager::open(&file).unwrap();
    assert_eq!(session.compactions().unwrap().len(), 1);
    let output = chat(home.path(), &file, "/goto here\nanother way\n/tree\n/fork @leaf\nin the fork\n/goto nowhere\n");
    assert!(
        output.contains("You said: another way") && output.contains("now in ") && output.contains("error: "),
        "{output}"
    );
    let session = SessionManager::open(&file).unwrap();
    let outline = session.outline();
    let n_summaries = outline.entries().filter(|row| outline.kind(*row) == Kind::BranchSummary).count();
    assert_eq!((n_summaries, session.branch_points().len()), (1, 1));
}
