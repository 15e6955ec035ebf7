//! Screens run hooks just as commands do.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{Home, Terminal};

/// Copies a session of the sample into its own store, because hooks are not run for the sample.
pub(crate) fn session(home: &Home) -> String {
    assert!(home.plain(&["list", "--json"]).output().unwrap().status.success());
    // Its forks have the same text, and which file comes first depends on the file system.
    let sample = walk(&home.sample()).into_iter().find(|path| {
        path.extension().is_some_and(|it| it == "jsonl") && {
            let text = std::fs::read_to_string(path).unwrap();
            text.contains("hour early\"") && !text.contains("parentSession")
        }
    });
    let dir = home.path().join("store");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("2026-01-01T00-00-00-000Z_copy.jsonl");
    std::fs::copy(sample.unwrap(), &path).unwrap();
    path.to_string_lossy().into_owned()
}

fn walk(dir: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Installs a hook that records its input.
fn hook(home: &Home, event: &str, answer: &str) {
    let dir = home.path().join("config/hooks");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = dir.join(event);
    let notes = home.path().join("notes");
    std::fs::write(&path, format!("#!/bin/sh\ncat >> '{}'\necho '{answer}'\n", notes.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

fn notes(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("notes")).unwrap_or_default()
}

fn run(home: &Home, args: &[&str]) -> Terminal {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Terminal::run(home.bare(&args), 130, 30)
}

#[test]
fn a_hook_can_prevent_changes_to_the_tree() {
    let home = Home::new();
    let path = session(&home);
    let before = std::fs::read(&path).unwrap();
    hook(&home, "session_before_tree", "{\"cancel\": true}");
    hook(&home, "session_before_fork", "{\"cancel\": true}");
    let terminal = run(&home, &["tree", "-i", &path]);
    terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
    terminal.press("alt+home");
    terminal.wait("the first entry", |it| it.selected_row().contains("[system]"));
    for choice in [0, 1] {
        terminal.press("enter");
        terminal.wait("the menu", |it| it.text().contains("No summary"));
        (0..choice).for_each(|_| terminal.press("down"));
        terminal.press("enter");
        terminal.wait("the veto", |it| it.text().contains("session_before_tree prevented this"));
        terminal.press("alt+s");
        terminal.press("alt+s");
    }
    for key in ["alt+f", "alt+c"] {
        terminal.press(key);
        terminal.wait("the veto", |it| it.text().contains("session_before_fork prevented this"));
    }
    assert!(notes(&home).contains("\"userWantsSummary\":false") && notes(&home).contains("\"userWantsSummary\":true"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let terminal = run(&home, &["fork", "-i", &path]);
    terminal.wait("the messages", |it| it.selected_row().contains("Perfect"));
    terminal.press("enter");
    terminal.wait("the veto", |it| it.text().contains("session_before_fork prevented this"));
}

#[test]
fn hooks_are_notified_of_changes_on_the_screens() {
    let home = Home::new();
    let path = session(&home);
    for event in
        ["entry_appended", "leaf_moved", "session_tree", "session_fork", "session_info_changed", "session_deleted"]
    {
        hook(&home, event, "");
    }
    let terminal = run(&home, &["tree", "-i", &path]);
    terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
    terminal.press("alt+e");
    terminal.wait("the question", |it| it.text().contains("Label (empty to remove)"));
    terminal.press("noted");
    terminal.press("enter");
    terminal.wait("the label", |it| notes(&home).contains("\"label\":\"noted\"") && it.text().contains("[noted]"));
    terminal.press("alt+home");
    terminal.wait("the first entry", |it| it.selected_row().contains("[system]"));
    terminal.press("enter");
    terminal.wait("the menu", |it| it.text().contains("No summary"));
    terminal.press("down");
    terminal.press("enter");
    terminal.wait("the summary", |it| it.text().contains("with a summary of the branch you left"));
    terminal.wait("the note", |_| notes(&home).contains("\"type\":\"session_tree\""));
    terminal.press("alt+u");
    terminal.wait("the undo", |it| it.text().contains("Undone: branch"));
    terminal.press("alt+c");
    terminal.wait("the fork", |_| notes(&home).contains("\"type\":\"session_fork\""));
    drop(terminal);
    let dir = home.path().join("store").to_string_lossy().into_owned();
    let terminal = run(&home, &["--session-dir", &dir, "resume", "--all"]);
    terminal.wait("the list", |it| it.selected_row().contains("High water"));
    terminal.press("ctrl+r");
    terminal.wait("the question", |it| it.text().contains("Rename the session"));
    terminal.press("ctrl+u");
    terminal.press("Another_name");
    terminal.press("enter");
    terminal.wait("the note", |_| notes(&home).contains("\"name\":\"Another name\""));
    terminal.press("ctrl+d");
    terminal.wait("the question", |it| it.text().contains("to the trash?"));
    terminal.press("enter");
    terminal.wait("the note", |_| notes(&home).contains("\"type\":\"session_deleted\""));
}

/// Leaving right after a change does not cancel it.
#[test]
fn changes_finish_before_the_screen_closes() {
    let home = Home::new();
    let path = session(&home);
    let mut terminal = run(&home, &["tree", "-i", &path]);
    terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
    terminal.press("alt+e");
    terminal.wait("the question", |it| it.text().contains("Label (empty to remove)"));
    terminal.press("in_haste");
    terminal.press("enter");
    // So that it arrives as a separate key, not as the beginning of another one.
    std::thread::sleep(std::time::Duration::from_millis(5));
    terminal.press("ctrl+c");
    assert!(terminal.wait_for_end().success());
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"label\":\"in haste\""));
}
