//! Presses every key of the keymap.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Home, Terminal};

/// The expected screen after a key.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// The selected row contains this text.
    Selected(&'static str),
    Has(&'static str),
    Lacks(&'static str),
}

use Expected::{Has, Lacks, Selected};

/// Presses keys one after the other, and waits for the expected screen after each.
///
/// The picker may be notified of its own changes late, and then move the selection. So the keys that go to the first and
/// the last row are pressed again after a second.
fn press_all(terminal: &Terminal, steps: &[(&str, Expected)], pressed: &mut BTreeSet<String>) {
    for (key, expected) in steps {
        pressed.insert((*key).to_owned());
        terminal.press(key);
        let last_press = Cell::new(Instant::now());
        terminal.wait(&format!("{key} → {expected:?}"), |terminal| {
            if ["alt+home", "alt+end"].contains(key) && last_press.get().elapsed() > Duration::from_secs(1) {
                terminal.press(key);
                last_press.set(Instant::now());
            }
            match expected {
                Selected(text) => terminal.selected_row().contains(text),
                Has(text) => terminal.text().contains(text),
                Lacks(text) => !terminal.text().contains(text),
            }
        });
    }
}

/// The contexts whose keys are pressed below, each by its own test.
const CONTEXTS: [&str; 6] = ["Picker", "LineEditor", "Tree", "Fork", "Reader", "Trash"];

/// A new context needs its own test, and a new key a step in the test of its context.
#[test]
fn every_key_context_has_its_test() {
    let contexts: BTreeSet<String> = sessile_tui::default_keys().into_iter().map(|(context, _, _)| context).collect();
    assert_eq!(contexts, CONTEXTS.map(str::to_owned).into());
}

/// Asserts that all keys of a context have been pressed.
fn assert_all(context: &str, pressed: &BTreeSet<String>) {
    assert!(CONTEXTS.contains(&context));
    let missing: Vec<String> = sessile_tui::default_keys()
        .into_iter()
        .filter(|(of, _, key)| *of == context && !pressed.contains(key))
        .map(|(_, id, key)| format!("{key} ({id})"))
        .collect();
    assert!(missing.is_empty(), "no test has pressed {missing:?}");
}

#[test]
fn every_key_of_the_picker() {
    let home = Home::new();
    let mut pressed = BTreeSet::new();
    let terminal = home.run(&["resume"]);
    terminal.wait("the list", |it| it.text().contains("In one sentence") && it.text().contains("│ ~/src/tidepool"));
    let steps = [
        ("down", Selected("CSV export")),
        ("up", Selected("High water")),
        ("ctrl+n", Selected("CSV export")),
        ("ctrl+p", Selected("High water")),
        ("pageDown", Selected("In one sentence")),
        ("pageUp", Selected("High water")),
        ("alt+end", Selected("In one sentence")),
        ("alt+home", Selected("High water")),
        ("tab", Has("◉ all")),
        ("tab", Has("◉ here")),
        ("ctrl+s", Has("sort: recent")),
        ("ctrl+s", Has("sort: relevance")),
        ("ctrl+s", Has("sort: threaded")),
        ("alt+n", Has("threaded  named")),
        ("alt+n", Lacks("threaded  named")),
        ("alt+w", Has(".jsonl 29")),
        ("alt+w", Lacks(".jsonl 29")),
        ("alt+p", Lacks("│ ~/src")),
        ("alt+p", Has("│ ~/src")),
        ("alt+down", Lacks("│ ~/src")),
        ("alt+up", Has("│ ~/src")),
        ("alt+t", Has("threaded  names only")),
        ("alt+t", Lacks("threaded  names only")),
        ("alt+g", Has("threaded  by repository")),
        ("alt+g", Lacks("threaded  by repository")),
        ("alt+h", Has("threaded  no forks")),
        ("alt+h", Lacks("threaded  no forks")),
        ("shift+alt+z", Has("threaded  archived")),
        ("shift+alt+z", Lacks("threaded  archived")),
        ("alt+i", Has("★")),
        ("alt+i", Lacks("★")),
        ("alt+m", Has("1 marked")),
        ("alt+a", Has("4 marked")),
        ("alt+a", Lacks("marked")),
        ("f1", Has("Picker keys")),
        ("escape", Has("sort: threaded")),
        ("alt+?", Has("Picker keys")),
        ("escape", Has("sort: threaded")),
        ("ctrl+r", Has("Rename the session")),
        ("escape", Has("sort: threaded")),
        ("alt+o", Has("Move the session")),
        ("escape", Has("sort: threaded")),
        ("alt+e", Has("Export the session")),
        ("escape", Has("sort: threaded")),
        ("ctrl+d", Has("to the trash?")),
        ("escape", Lacks("to the trash?")),
        ("alt+end", Selected("In one sentence")),
        ("ctrl+backspace", Has("to the trash?")),
        ("n", Lacks("to the trash?")),
        // The list may show a change before it can be undone; the message appears when it can.
        ("alt+z", Has(" archived · alt+u undo")),
        ("alt+home", Has("1 archived: shift+alt+z")),
        ("alt+u", Has("  In one sentence")),
        ("alt+end", Selected("In one sentence")),
        ("ctrl+d", Has("to the trash?")),
        ("y", Has("moved to the trash · alt+u undo")),
        ("alt+home", Lacks("In one sentence")),
        ("alt+r", Selected("In one sentence")),
        ("enter", Has("The trash is empty")),
        ("escape", Has("sort: threaded")),
        // The list is read again.
        ("alt+home", Has("  2 1w")),
        ("alt+end", Selected("In one sentence")),
        ("re:[", Has("unclosed character class")),
        ("escape", Selected("High water")),
        ("ctrl+t", Has("Session tree")),
        ("escape", Has("sort: threaded")),
        ("ctrl+o", Has(" prompts · ")),
        ("q", Has("sort: threaded")),
    ];
    press_all(&terminal, &steps, &mut pressed);
    drop(terminal);
    pressed.insert("ctrl+z".to_owned());
    pressed.insert("ctrl+c".to_owned());
    assert_all("Picker", &pressed);
}

#[test]
fn every_key_of_the_trash() {
    let home = Home::new();
    for session in ["In one sentence", "Draft a commit message"] {
        let terminal = home.run(&["resume", session]);
        terminal.wait("the matches", |it| it.selected_row().contains(session) && it.text().contains("◉ here"));
        terminal.press("down");
        terminal.press("ctrl+d");
        terminal.wait("the question", |it| it.text().contains("to the trash?"));
        terminal.press("y");
        terminal.wait("the change", |it| it.text().contains("moved to the trash"));
    }
    let mut pressed = BTreeSet::new();
    let terminal = home.run(&["resume"]);
    terminal.wait("the list", |it| it.selected_row().contains("High water"));
    terminal.press("alt+r");
    terminal.wait("the trash", |it| it.selected_row().contains("Draft a commit message"));
    let steps = [
        ("down", Selected("In one sentence")),
        ("up", Selected("Draft a commit")),
        ("ctrl+n", Selected("In one sentence")),
        ("ctrl+p", Selected("Draft a commit")),
        ("pageDown", Selected("In one sentence")),
        ("pageUp", Selected("Draft a commit")),
        ("alt+end", Selected("In one sentence")),
        ("alt+home", Selected("Draft a commit")),
        ("f1", Has("Trash keys")),
        ("escape", Has("Deleted sessions")),
        ("alt+?", Has("Trash keys")),
        ("escape", Has("Deleted sessions")),
        ("ctrl+o", Has(" prompts · ")),
        ("q", Has("Deleted sessions")),
        ("sentence", Selected("In one sentence")),
        ("escape", Lacks("> sentence")),
        ("enter", Has("restored to ")),
        ("ctrl+c", Has("sort: threaded")),
    ];
    press_all(&terminal, &steps, &mut pressed);
    terminal.wait("the session", |it| it.text().contains("In one sentence"));
    pressed.insert("ctrl+z".to_owned());
    assert_all("Trash", &pressed);
}

#[test]
fn undo_is_limited_to_the_changes_of_a_screen() {
    let home = Home::new();
    let cloned = home.plain(&["clone", "@1"]).output().unwrap();
    let path = String::from_utf8(cloned.stdout).unwrap().trim().to_owned();
    let mut pressed = BTreeSet::new();
    let mut terminal = home.run(&["tree", "-i", &path]);
    terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
    // The clone that is shown was the last operation of all.
    let steps = [
        ("alt+u", Has("Nothing to undo on this screen")),
        ("alt+c", Has("Cloned to")),
        ("alt+u", Has("Undone: clone “High water an hour early”; redo with `sessile undo ")),
    ];
    press_all(&terminal, &steps, &mut pressed);
    terminal.press("escape");
    assert!(terminal.wait_for_end().success() && std::path::Path::new(&path).exists());
    let terminal = home.run(&["resume"]);
    terminal.wait("the list", |it| it.selected_row().contains("High water") && it.text().contains("◉ here"));
    let steps = [
        ("alt+u", Has("Nothing to undo on this screen")),
        ("alt+end", Selected("In one sentence")),
        ("ctrl+d", Has("Move “In one sentence")),
        ("y", Lacks("In one sentence")),
        ("alt+home", Has("Session moved to the trash · alt+u undo")),
        ("alt+r", Selected("In one sentence")),
        ("enter", Has("restored to ")),
        ("escape", Has("sort: threaded")),
        ("alt+home", Lacks("alt+u undo")),
        ("alt+u", Has("Undone: restore “In one sentence")),
        ("alt+u", Has("Nothing to undo on this screen")),
    ];
    press_all(&terminal, &steps, &mut pressed);
}

#[test]
fn without_a_session_the_screens_open_the_picker() {
    let home = Home::new();
    for (args, title, expected) in [
        (["tree", "-i"], "Open a session tree", "Session tree  CSV export"),
        (["show", "-i"], "Read a session", "which zone its times are in"),
        (["fork", "-i"], "Fork a session", "Fork before one of your messages"),
    ] {
        let mut terminal = home.run(&args);
        terminal.wait("the picker", |it| {
            it.text().contains(title) && it.text().contains("◉ here") && it.selected_row().contains("High water")
        });
        terminal.press("down");
        terminal.wait("the next session", |it| it.selected_row().contains("CSV export"));
        terminal.press("enter");
        terminal.wait(&format!("{args:?}"), |it| it.text().contains(expected) && !it.text().contains(title));
        // A user who did nothing there returns to the picker.
        terminal.press("escape");
        terminal.wait("the picker again", |it| it.text().contains(title) && it.selected_row().contains("CSV export"));
        terminal.press("escape");
        assert!(terminal.wait_for_end().success());
        assert!(!terminal.text().contains(".jsonl"), "{}", terminal.text());
    }
    // An action there ends the program.
    let mut terminal = home.run(&["fork", "-i"]);
    terminal.wait("the picker", |it| it.selected_row().contains("High water"));
    terminal.press("enter");
    terminal.wait("the messages", |it| it.selected_row().contains("Perfect"));
    terminal.press("enter");
    assert!(terminal.wait_for_end().success());
    assert!(terminal.text().contains(".jsonl"), "{}", terminal.text());
}

#[test]
fn picking_resumes_the_session_and_leaving_does_not() {
    let home = Home::new();
    for (key, is_picked) in [("enter", true), ("escape", false), ("ctrl+c", false)] {
        let mut terminal = home.run(&["resume"]);
        terminal.wait("the list", |it| it.selected_row().contains("High water"));
        terminal.press(key);
        assert!(terminal.wait_for_end().success());
        let text = terminal.text();
        assert_eq!(text.contains("going on with /"), is_picked, "{key}: {text}");
        assert!(!terminal.screen(vt100::Screen::alternate_screen));
    }
    let mut terminal = home.run(&["resume", "--print", "harmonic"]);
    terminal.wait("the matches", |it| it.selected_row().contains("High water"));
    terminal.press("enter");
    assert!(terminal.wait_for_end().success());
    assert!(terminal.text().contains(".jsonl"), "{}", terminal.text());
    let mut terminal = home.run(&["resume", "--print"]);
    terminal.wait("the list", |it| it.selected_row().contains("High water"));
    terminal.press("escape");
    assert_eq!(terminal.wait_for_end().code(), Some(1));
}

#[test]
fn marked_sessions_are_exported_and_moved() {
    let home = Home::new();
    let terminal = home.run(&["resume"]);
    terminal.wait("the whole list", |it| it.selected_row().contains("High water") && it.text().contains("◉ here"));
    let (exported, moved) = (home.path().join("exported"), home.path().join("moved"));
    std::fs::create_dir(&moved).unwrap();
    let mut pressed = BTreeSet::new();
    press_all(&terminal, &[("alt+a", Has("4 marked")), ("alt+e", Has("Export 4 sessions"))], &mut pressed);
    for key in ["ctrl+u", exported.to_str().unwrap(), "enter"] {
        terminal.press(key);
    }
    terminal.wait("the export", |it| it.text().contains("4 sessions exported"));
    assert_eq!(std::fs::read_dir(&exported).unwrap().count(), 4);
    let marked = [("alt+m", Has("1 marked")), ("alt+o", Has("Move the session"))];
    press_all(&terminal, &marked, &mut pressed);
    for key in ["ctrl+u", moved.to_str().unwrap(), "enter"] {
        terminal.press(key);
    }
    terminal.wait("the move", |it| it.text().contains("1 session moved"));
    // It now belongs to another directory, and can be moved back.
    terminal.wait("the change", |it| !it.selected_row().contains("High water"));
    press_all(&terminal, &[("alt+u", Has("High water"))], &mut pressed);
}

#[test]
fn every_key_of_the_line_editor() {
    let home = Home::new();
    let mut pressed = BTreeSet::new();
    let terminal = home.run(&["resume"]);
    terminal.wait("the list", |it| it.selected_row().contains("High water"));
    terminal.press("ctrl+r");
    terminal.wait("the question", |it| it.text().contains("Rename the session"));
    for (keys, line) in [
        (&["ctrl+u", "one_two", "left", "x"][..], "> one twxo"),
        (&["ctrl+u", "one_two", "ctrl+b", "x"], "> one twxo"),
        (&["ctrl+u", "one_two", "home", "right", "x"], "> oxne two"),
        (&["ctrl+u", "one_two", "ctrl+a", "ctrl+f", "x"], "> oxne two"),
        (&["ctrl+u", "one_two", "alt+left", "x"], "> one xtwo"),
        (&["ctrl+u", "one_two", "ctrl+left", "x"], "> one xtwo"),
        (&["ctrl+u", "one_two", "alt+b", "x"], "> one xtwo"),
        (&["ctrl+u", "one_two", "home", "alt+right", "x"], "> onex two"),
        (&["ctrl+u", "one_two", "home", "ctrl+right", "x"], "> onex two"),
        (&["ctrl+u", "one_two", "home", "alt+f", "x"], "> onex two"),
        (&["ctrl+u", "one_two", "home", "end", "x"], "> one twox"),
        (&["ctrl+u", "one_two", "home", "ctrl+e", "y"], "> one twoy"),
        (&["ctrl+u", "one_two", "backspace"], "> one tw"),
        (&["ctrl+u", "one_two", "home", "delete"], "> ne two"),
        (&["ctrl+u", "one_two", "home", "ctrl+d"], "> ne two"),
        (&["ctrl+u", "one_two", "ctrl+w", "z"], "> one z"),
        (&["ctrl+u", "one_two", "alt+backspace", "z"], "> one z"),
        (&["ctrl+u", "one_two", "ctrl+backspace", "z"], "> one z"),
        (&["ctrl+u", "one_two", "home", "alt+d", "z"], "> z two"),
        (&["ctrl+u", "one_two", "home", "alt+delete", "z"], "> z two"),
        (&["ctrl+u", "one_two", "alt+left", "ctrl+k", "z"], "> one z"),
        (&["ctrl+u", "one_two", "ctrl+w", "ctrl+y", "ctrl+y"], "> one twotwo"),
    ] {
        for key in std::iter::once(&"end").chain(keys) {
            pressed.insert((*key).to_owned());
            terminal.press(key);
            // A terminal sends an escape together with what follows it, and never two keys as one.
            std::thread::sleep(Duration::from_millis(5));
        }
        terminal.wait(&format!("{keys:?} → {line}"), |it| it.text().lines().any(|row| row.trim_end() == line));
    }
    assert_all("LineEditor", &pressed);
}

#[test]
fn every_key_of_the_tree() {
    let home = Home::new();
    let mut pressed = BTreeSet::new();
    let terminal = home.run(&["tree", "-i", "@1"]);
    terminal
        .wait("the tree", |it| it.selected_row().contains("It is in CHANGELOG.md") && it.text().contains("(22/28)"));
    let steps = [
        ("up", Selected("Perfect, that one")),
        ("down", Selected("It is in CHANGELOG.md")),
        ("ctrl+p", Selected("Perfect, that one")),
        ("ctrl+n", Selected("It is in CHANGELOG.md")),
        ("alt+home", Selected("[system]")),
        ("alt+end", Selected("The repeated hour")),
        ("alt+z", Has("[archived, 1 entry]")),
        ("alt+u", Lacks("[archived")),
        ("shift+alt+z", Has("[+archived]")),
        ("shift+alt+z", Lacks("[+archived]")),
        ("pageUp", Has("(5/28)")),
        ("pageDown", Has("(28/28)")),
        ("left", Has("(5/28)")),
        ("right", Has("(28/28)")),
        ("alt+j", Selected("It is in CHANGELOG.md")),
        ("alt+home", Selected("[system]")),
        ("alt+l", Selected("[cause found]")),
        ("alt+l", Selected("[changelog]")),
        ("shift+alt+l", Selected("[cause found]")),
        ("alt+home", Selected("[system]")),
        ("alt+b", Selected("[cause found]")),
        ("alt+b", Selected("Write the line")),
        ("shift+alt+b", Selected("[cause found]")),
        ("ctrl+right", Selected("[branch summary]")),
        ("ctrl+left", Has("⊞")),
        ("ctrl+right", Lacks("⊞")),
        ("alt+left", Has("⊞")),
        ("alt+right", Lacks("⊞")),
        ("ctrl+t", Has("[no-tools]")),
        ("ctrl+d", Lacks("[no-tools]")),
        ("ctrl+u", Has("[user]")),
        ("ctrl+l", Has("[labeled]")),
        ("ctrl+a", Has("[all]")),
        ("ctrl+d", Lacks("[all]")),
        ("ctrl+o", Has("[no-tools]")),
        ("shift+ctrl+o", Lacks("[no-tools]")),
        ("alt+t", Has("[+label time]")),
        ("alt+t", Lacks("[+label time]")),
        ("alt+s", Has("up to here: ")),
        ("alt+s", Lacks("up to here: ")),
        ("alt+j", Selected("It is in CHANGELOG.md")),
        ("ctrl+x", Has("Copied")),
        ("alt+p", Lacks("model · claude-opus-4-5")),
        ("alt+p", Has("model · claude-opus-4-5")),
        ("alt+down", Lacks("│ fe23c2f6")),
        ("alt+up", Has("│ fe23c2f6")),
        ("alt+k", Has("No secrets found")),
        ("ctrl+x", Has("Copied")),
        ("shift+alt+k", Has("No secrets found")),
        ("alt+v", Has("Select the end of the other")),
        ("alt+end", Selected("The repeated hour")),
        ("alt+v", Has("Two branches")),
        ("escape", Has("Session tree")),
        ("f1", Has("Tree keys")),
        ("escape", Has("Session tree")),
        ("alt+?", Has("Tree keys")),
        ("escape", Has("Session tree")),
        ("alt+e", Has("Label (empty to remove)")),
        ("a_mark", Has("> a mark")),
        ("enter", Has("[a mark]")),
        ("alt+u", Lacks("[a mark] ")),
        ("alt+n", Has("No search yet")),
        ("Let_me", Has("Search: Let me")),
        ("escape", Lacks("Search: Let me")),
        ("harmonic", Has("Search: harmonic")),
        ("alt+f", Has("Editing the query")),
        ("escape", Lacks("Search: harmonic")),
        ("alt+j", Has("(22/28)")),
        ("alt+home", Selected("[system]")),
        ("alt+n", Selected("[branch summary]: Tried")),
        ("alt+n", Selected("[bash: cargo test --quiet]")),
        ("shift+alt+n", Selected("[branch summary]: Tried")),
        ("alt+i", Has("This terminal cannot show pictures")),
        ("alt+f", Has("Forked to")),
        ("alt+home", Selected("[system]")),
        ("down", Selected("tidepool day")),
        ("enter", Has("No summary")),
        ("escape", Has("Session tree")),
        ("alt+c", Has("Cloned to")),
    ];
    press_all(&terminal, &steps, &mut pressed);
    pressed.insert("ctrl+z".to_owned());
    drop(terminal);
    for key in ["ctrl+c", "escape"] {
        let mut terminal = home.run(&["tree", "-i", "@1"]);
        terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
        terminal.press(key);
        assert!(terminal.wait_for_end().success());
        pressed.insert(key.to_owned());
    }
    assert_all("Tree", &pressed);
}

#[test]
fn every_key_of_the_fork_selector() {
    let home = Home::new();
    let mut pressed = BTreeSet::new();
    let mut terminal = home.run(&["fork", "-i", "@1"]);
    terminal.wait("the messages", |it| it.selected_row().contains("Perfect"));
    let steps = [
        ("up", Selected("Write the line")),
        ("down", Selected("Perfect")),
        ("ctrl+p", Selected("Write the line")),
        ("ctrl+n", Selected("Perfect")),
        ("alt+home", Selected("tidepool day")),
        ("alt+end", Selected("Perfect")),
        ("pageUp", Selected("tidepool day")),
        ("pageDown", Selected("Perfect")),
        ("f1", Has("Fork selector keys")),
        ("escape", Has("Fork before")),
        ("alt+?", Has("Fork selector keys")),
        ("escape", Has("Fork before")),
    ];
    press_all(&terminal, &steps, &mut pressed);
    terminal.press("enter");
    assert!(terminal.wait_for_end().success());
    assert!(terminal.text().contains(".jsonl"), "{}", terminal.text());
    pressed.insert("enter".to_owned());
    for key in ["ctrl+c", "escape"] {
        let mut terminal = home.run(&["fork", "-i", "@1"]);
        terminal.wait("the messages", |it| it.selected_row().contains("Perfect"));
        terminal.press(key);
        assert!(terminal.wait_for_end().success());
        pressed.insert(key.to_owned());
    }
    pressed.insert("ctrl+z".to_owned());
    assert_all("Fork", &pressed);
}

#[test]
fn every_key_of_the_reader() {
    let home = Home::new();
    let mut pressed = BTreeSet::new();
    let terminal = home.run(&["show", "-i", "@1"]);
    terminal.wait("the end", |it| it.text().contains("It is in CHANGELOG.md"));
    let (top, end) = (Has("You are a careful assistant"), Has("It is in CHANGELOG.md"));
    let not_top = Lacks("You are a careful assistant");
    let steps = [
        ("g", top),
        ("shift+g", end),
        ("home", top),
        ("end", end),
        ("g", top),
        ("down", Lacks("\nsystem")),
        ("up", Has("\nsystem")),
        ("j", Lacks("\nsystem")),
        ("k", Has("\nsystem")),
        ("ctrl+n", Lacks("\nsystem")),
        ("ctrl+p", Has("\nsystem")),
        ("pageDown", not_top),
        ("pageUp", top),
        ("space", not_top),
        ("b", top),
        ("]", not_top),
        ("[", top),
        ("ctrl+down", not_top),
        ("ctrl+up", top),
        ("o", Has("  all output")),
        ("ctrl+o", Lacks("  all output")),
        ("t", Has("  thinking")),
        ("ctrl+t", Lacks("  thinking")),
        ("g", top),
        ("/", Lacks(" prompts · ")),
        ("changelog", Has("/changelog")),
        ("enter", Has("  match 1/")),
        ("n", Has("  match 2/")),
        ("shift+n", Has("  match 1/")),
        ("escape", Lacks("  match 1/")),
        ("f", Has("  following")),
        ("f", Lacks("  following")),
        ("ctrl+x", Has("Copied")),
        ("i", Has("This terminal cannot show pictures")),
        ("s", Has("No secrets found")),
        ("ctrl+x", Has("Copied")),
        ("shift+s", Has("No secrets found")),
        ("f1", Has("Reader keys")),
        ("escape", Lacks("Reader keys")),
        ("alt+?", Has("Reader keys")),
        ("escape", Lacks("Reader keys")),
    ];
    press_all(&terminal, &steps, &mut pressed);
    for key in ["e", "ctrl+g"] {
        // The editor of this home prints a word and ends; then the reader returns.
        terminal.press(key);
        terminal.wait("the editor", |it| String::from_utf8_lossy(&it.bytes()).matches("edited").count() > 0);
        terminal.wait("the reader", |it| it.screen(vt100::Screen::alternate_screen));
        pressed.insert(key.to_owned());
    }
    drop(terminal);
    for key in ["q", "escape", "ctrl+c"] {
        let mut terminal = home.run(&["show", "-i", "@1"]);
        terminal.wait("the end", |it| it.text().contains("It is in CHANGELOG.md"));
        terminal.press(key);
        assert!(terminal.wait_for_end().success());
        pressed.insert(key.to_owned());
    }
    pressed.insert("ctrl+z".to_owned());
    assert_all("Reader", &pressed);
}

#[test]
fn keys_can_be_configured() {
    let home = Home::new();
    let config = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        format!("{text}[tui.keys]\n\"app.session.toggleSort\" = [\"ctrl+g\"]\n\"no.such\" = \"x\"\n"),
    )
    .unwrap();
    let terminal = home.run(&["resume"]);
    terminal.wait("the list", |it| it.text().contains("ctrl+g sort"));
    terminal.press("ctrl+g");
    terminal.wait("the other order", |it| it.text().contains("sort: recent"));
    assert!(String::from_utf8_lossy(&terminal.bytes()).contains("unknown action no.such"));
}
