//! Failures that must not leave the terminal in a bad state.

use std::sync::Arc;

use super::{Home, Terminal};

fn is_restored(terminal: &Terminal) -> bool {
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

fn is_stopped(terminal: &Terminal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.child.id())).unwrap();
    status.contains("State:\tT")
}

#[test]
fn the_terminal_is_restored_after_a_signal() {
    for (name, number) in [("TERM", 15), ("HUP", 1), ("INT", 2), ("QUIT", 3)] {
        let home = Home::new();
        let mut terminal = home.run(&["tree", "-i", "@1"]);
        terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
        assert!(!is_restored(&terminal));
        signal(&terminal, name);
        assert_eq!(terminal.wait_for_end().code(), Some(128 + number), "{name}");
        assert!(is_restored(&terminal), "{name}");
    }
}

#[test]
fn the_screen_returns_after_a_suspension() {
    let home = Home::new();
    for args in [&["resume"][..], &["tree", "-i", "@1"], &["fork", "-i", "@1"], &["show", "-i", "@1"]] {
        let terminal = home.run(args);
        let is_there = |it: &Terminal| {
            it.screen(vt100::Screen::alternate_screen) && it.text().contains("hour early") && !is_restored(it)
        };
        terminal.wait("the screen", is_there);
        terminal.press("ctrl+z");
        // The screen is restored before the process stops. A shell continues it only after the stop.
        terminal.wait("the shell", |it| is_restored(it) && is_stopped(it));
        signal(&terminal, "CONT");
        terminal.wait("the screen again", is_there);
        terminal.press("f1");
        terminal.wait("the help", |it| it.text().contains("any other key closes"));
    }
}

#[test]
fn a_terminal_may_claim_any_size() {
    let home = Home::new();
    for args in [&["resume"][..], &["tree", "-i", "@1"], &["show", "-i", "@1"]] {
        let mut terminal = Terminal::run_claiming(home.command(args), (2000, 1000), (u16::MAX, u16::MAX));
        terminal
            .wait("the screen", |it| it.screen(vt100::Screen::alternate_screen) && it.text().contains("hour early"));
        terminal.press("ctrl+c");
        assert_eq!(terminal.wait_for_end().code(), Some(0), "{args:?}");
    }
}

#[test]
fn bytes_of_a_session_are_not_exported_to_a_terminal() {
    let home = Home::new();
    let mut terminal = home.run(&["export", "@1"]);
    assert_eq!(terminal.wait_for_end().code(), Some(2));
    assert!(terminal.text().contains("-o FILE") && !terminal.text().contains("\"type\""), "{}", terminal.text());
    let mut terminal = home.run(&["export", "@1", "--format", "md"]);
    assert_eq!(terminal.wait_for_end().code(), Some(0));
}

#[test]
fn screens_fit_terminals_of_any_size() {
    for (columns, rows) in [(40, 10), (80, 24), (200, 60)] {
        let home = Home::new();
        let terminal = Terminal::run(home.command(&["resume"]), columns, rows);
        terminal.wait("the list", |it| it.selected_row().contains("High water"));
        assert!(terminal.selected_row().chars().count() <= usize::from(columns));
    }
}

#[test]
fn a_resize_keeps_the_position() {
    let home = Home::new();
    for (args, keys, selected) in [
        (&["resume"][..], &["down", "down"][..], "Draft a commit"),
        (&["tree", "-i", "@1"], &["up", "up"], "[changelog]"),
        (&["fork", "-i", "@1"], &["up", "up"], "Thanks. Which other"),
    ] {
        let terminal = home.run(args);
        terminal.wait("the screen", |it| it.text().contains("hour early") && !it.selected_row().is_empty());
        for key in keys {
            terminal.press(key);
        }
        terminal.wait(selected, |it| it.selected_row().contains(selected));
        for (columns, rows) in [(60, 12), (40, 10), (160, 50), (130, 30)] {
            terminal.resize(columns, rows);
            terminal.wait(&format!("{selected} at {columns}×{rows}"), |it| {
                it.selected_row().contains(selected) && it.selected_row().chars().count() <= usize::from(columns)
            });
        }
    }
    let terminal = home.run(&["show", "-i", "@1"]);
    terminal.wait("the end", |it| it.text().contains("It is in CHANGELOG.md"));
    terminal.press("g");
    terminal.wait("the beginning", |it| it.text().contains("You are a careful assistant"));
    for key in ["]", "]", "down"] {
        terminal.press(key);
    }
    let is_there = |it: &Terminal| it.text().lines().nth(1).is_some_and(|line| line.contains("Different idea"));
    terminal.wait("a message", is_there);
    for (columns, rows) in [(60, 12), (90, 20), (130, 30)] {
        terminal.resize(columns, rows);
        terminal.wait(&format!("the message at {columns}×{rows}"), is_there);
    }
}

#[test]
fn text_of_a_session_cannot_control_the_terminal() {
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
    let to_args = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let picker = to_args(&["--session-dir", &dir.to_string_lossy(), "resume", "--all"]);
    for (args, keys) in [
        (picker.clone(), &[][..]),
        (to_args(&["tree", "-i", &path]), &[]),
        (to_args(&["fork", "-i", &path]), &[]),
        (to_args(&["show", "-i", &path]), &[]),
        // At the end the session is in the trash, and is restored.
        (picker, &[("ctrl+d", "y yes"), ("y", "no sessions"), ("alt+r", "deleted now"), ("enter", "restored to /w")]),
    ] {
        let terminal = Terminal::run(home.bare(&args), 130, 30);
        terminal.wait("the text", |it| it.text().contains("evil"));
        for (key, expected) in keys {
            terminal.press(key);
            terminal.wait(expected, |it| it.text().to_lowercase().contains(&expected.to_lowercase()));
        }
        let bytes = terminal.bytes();
        for sequence in
            [&b"\x1b]0;"[..], b"\x1b[2J\x1b[10;10H", b"\x1b[?1049l", b"\xc2\x9b", "\u{202e}".as_bytes(), b"\0"]
        {
            assert!(!bytes.windows(sequence.len()).any(|window| window == sequence), "{args:?}: {sequence:?}");
        }
    }
}

/// Returns the CPU time of a process, in kernel clock ticks.
#[cfg(target_os = "linux")]
fn ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // After the name, which is in parentheses and may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

const SCREENS: [&[&str]; 4] = [&["resume"], &["tree", "-i", "@1"], &["fork", "-i", "@1"], &["show", "-i", "@1"]];

/// A library that we use once read a closed terminal again and again, for hours.
#[test]
fn a_process_that_lost_its_terminal_ends() {
    let home = Home::new();
    for args in SCREENS {
        // The shell's own child gets a signal; another process has to notice by itself.
        for gets_signal in [true, false] {
            let mut terminal =
                if gets_signal { home.run(args) } else { Terminal::run_as_guest(home.plain(args), 130, 30) };
            terminal.wait("the screen", |it| it.text().contains("hour early"));
            terminal.hang_up();
            assert!(!terminal.child.wait().unwrap().success(), "{args:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_idle_screen_uses_no_processor_time() {
    let home = Home::new();
    for args in SCREENS {
        let terminal = home.run(args);
        terminal.wait("the screen", |it| it.text().contains("hour early"));
        // The initial work may take any time; after that the process is idle.
        let id = terminal.child.id();
        let is_quiet = |_: usize| {
            let before = ticks(id);
            std::thread::sleep(std::time::Duration::from_secs(1));
            ticks(id) - before <= 3
        };
        assert!((0..120).any(is_quiet), "{args:?} never becomes idle");
    }
}

#[test]
fn many_keys_at_once_are_all_read() {
    let home = Home::new();
    let terminal = home.run(&["tree", "-i", "@1"]);
    terminal.wait("the tree", |it| it.selected_row().contains("CHANGELOG"));
    terminal.press(&format!("{}THE-END", "x".repeat(3000)));
    terminal.wait("the last key", |it| it.text().contains("HE-END"));
}

/// A screen in which another thread panics.
#[test]
#[ignore = "the test below runs it, in a separate terminal"]
fn a_worker_thread_panics() {
    let dir = tempfile::tempdir().unwrap();
    let sample = sessile::sample::write_sample(dir.path()).unwrap();
    let environment: Arc<dyn sessile::Environment> = Arc::new(sessile::System);
    let settings = sessile::settings::Settings::load(environment.as_ref(), &sessile::os::RealOs).unwrap();
    let ui = sessile_tui::Ui::new(sample.sessions(), environment, dir.path().to_path_buf(), &settings);
    let ended = ui.with_summarizer(Arc::new(|| panic!("this was planned"))).tree(Some(sample.richest.clone()));
    assert!(matches!(ended, Err(sessile_tui::TuiError::Panicked)), "{ended:?}");
    println!("and it was noticed");
}

#[test]
fn a_panic_restores_the_terminal_and_is_readable() {
    let home = Home::new();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "mishaps::a_worker_thread_panics", "--ignored", "--nocapture"]);
    command.env("SESSILE_CONFIG_DIR", home.path().join("config")).current_dir(home.path());
    let mut terminal = Terminal::run(command.into(), 130, 30);
    let ended = terminal.wait_for_end();
    let text = terminal.text();
    assert!(ended.success() && is_restored(&terminal), "{text}");
    assert!(text.contains("this was planned") && text.contains("and it was noticed"), "{text}");
    assert!(terminal.bytes().windows(8).any(|bytes| bytes == b"\x1b[?1049h"), "the alternate screen was active before");
}
