//! What may happen to a terminal, and must not stay.

use super::{Home, Terminal};

fn is_given_back(terminal: &Terminal) -> bool {
    terminal.screen(|screen| {
        !screen.alternate_screen()
            && !screen.bracketed_paste()
            && !screen.hide_cursor()
            && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
    })
}

fn signal(terminal: &Terminal, signal: &str) {
    let id = terminal.child.id().to_string();
    assert!(std::process::Command::new("kill").args([format!("-{signal}"), id]).status().unwrap().success());
}

#[test]
fn the_terminal_is_given_back_to_whoever_ends_us() {
    for name in ["TERM", "HUP", "INT", "QUIT"] {
        let home = Home::new();
        let mut terminal = home.run(&["tree", "-i", "@1"]);
        terminal.wait("the tree", |it| it.chosen().contains("CHANGELOG"));
        assert!(!is_given_back(&terminal));
        signal(&terminal, name);
        assert!(!terminal.wait_for_end().success());
        assert!(is_given_back(&terminal), "{name}");
    }
}

#[test]
fn one_goes_to_the_shell_and_comes_back() {
    let home = Home::new();
    for words in [&["resume"][..], &["tree", "-i", "@1"], &["fork", "-i", "@1"], &["show", "-i", "@1"]] {
        let terminal = home.run(words);
        let is_there = |it: &Terminal| {
            it.screen(vt100::Screen::alternate_screen) && it.text().contains("hour early") && !is_given_back(it)
        };
        terminal.wait("the screen", is_there);
        terminal.press("ctrl+z");
        terminal.wait("the shell", is_given_back);
        signal(&terminal, "CONT");
        terminal.wait("the screen again", is_there);
        terminal.press("f1");
        terminal.wait("an answer", |it| it.text().contains("Keys of the"));
    }
}

#[test]
fn other_sizes_are_other_pictures() {
    for (columns, rows) in [(40, 10), (80, 24), (200, 60)] {
        let home = Home::new();
        let terminal = Terminal::run(home.command(&["resume"]), columns, rows);
        terminal.wait("the list", |it| it.chosen().contains("High water"));
        assert!(terminal.chosen().chars().count() <= usize::from(columns));
    }
}

#[test]
fn nothing_in_a_session_acts_on_the_terminal() {
    let home = Home::new();
    let dir = home.path().join("store");
    std::fs::create_dir_all(&dir).unwrap();
    let evil =
        "\\u001b]0;owned\\u0007\\u001b[2J\\u001b[10;10H\\u009b31m\\u202eevil\\u0000\\r\\n\\t潮汐👩‍💻👍🏽 \\u001b[?1049l";
    let session = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"e\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}}\n\
         {{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{evil}\",\"timestamp\":1}}}}\n\
         {{\"type\":\"label\",\"id\":\"00000002\",\"parentId\":\"00000001\",\"timestamp\":\"2026-01-01T00:00:02.000Z\",\"targetId\":\"00000001\",\"label\":\"{evil}\"}}\n\
         {{\"type\":\"session_info\",\"id\":\"00000003\",\"parentId\":\"00000002\",\"timestamp\":\"2026-01-01T00:00:03.000Z\",\"name\":\"{evil}\"}}\n"
    );
    let path = dir.join("2026-01-01T00-00-00-000Z_e.jsonl");
    std::fs::write(&path, session).unwrap();
    let path = path.to_string_lossy().into_owned();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for args in [
        words(&["--session-dir", &dir.to_string_lossy(), "resume", "--all"]),
        words(&["tree", "-i", &path]),
        words(&["fork", "-i", &path]),
        words(&["show", "-i", &path]),
    ] {
        let terminal = Terminal::run(home.bare(&args), 130, 30);
        terminal.wait("the text", |it| it.text().contains("evil"));
        let bytes = terminal.bytes();
        for sequence in
            [&b"\x1b]0;"[..], b"\x1b[2J\x1b[10;10H", b"\x1b[?1049l", b"\xc2\x9b", "\u{202e}".as_bytes(), b"\0"]
        {
            assert!(!bytes.windows(sequence.len()).any(|window| window == sequence), "{args:?}: {sequence:?}");
        }
    }
}
