//! How long the first picture and each key take, and how much memory: printed, never judged.
//!
//! `cargo test --release -p sessile-cli --test tui -- --ignored --nocapture figures`

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::{Home, Terminal};

const N_SESSIONS: usize = 5_000;
const N_ENTRIES: usize = 1_000_000;

fn header(id: &str, cwd: &str) -> String {
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"{cwd}\"}}\n"
    )
}

fn message(id: usize, parent: Option<usize>, role: &str, text: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent:08x}\""));
    format!(
        "{{\"type\":\"message\",\"id\":\"{id:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"timestamp\":{}}}}}\n",
        1_767_225_601_000_u64 + id as u64
    )
}

/// A store of many sessions, about 40 kB each.
fn store(home: &Home) -> String {
    let dir = home.path().join("store");
    std::fs::create_dir_all(&dir).unwrap();
    for number in 0..N_SESSIONS {
        let id = format!("019a0000-0000-7000-8000-{number:012x}");
        let mut text = header(&id, &format!("/home/u/src/project-{}", number % 50));
        for at in 0..100 {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            let words = format!("session {number} says {at}: {}", "tide and current ".repeat(12));
            text.push_str(&message(at, at.checked_sub(1), role, &words));
        }
        std::fs::write(dir.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl")), text).unwrap();
    }
    dir.to_string_lossy().into_owned()
}

/// A session of many entries, with a branch at every thousandth.
fn session(home: &Home) -> String {
    let path = home.path().join("2026-01-01T00-00-00-000Z_big.jsonl");
    let mut text = header("big", "/w");
    for at in 0..N_ENTRIES {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let parent = if at % 1000 == 999 { at.checked_sub(900) } else { at.checked_sub(1) };
        text.push_str(&message(at, parent, role, &format!("entry {at} of a long session")));
    }
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

/// Lists a store until its catalogue is believed, which it is not of files that were written a moment ago.
fn settle(home: &Home, dir: &str) {
    for _ in 0..3 {
        let args = ["--session-dir", dir, "list", "--all", "--no-pager"].map(str::to_owned);
        let mut terminal = Terminal::run(home.bare(&args), 130, 40);
        assert!(terminal.wait_for_end().success(), "{}", terminal.text());
    }
}

/// How long until something can be seen.
fn until(terminal: &Terminal, what: &str, is_so: impl Fn(&Terminal) -> bool) -> Duration {
    let begun = Instant::now();
    terminal.wait(what, is_so);
    begun.elapsed()
}

fn memory(terminal: &Terminal) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.child.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

/// The median and the slowest of some key presses, each of which changes the row that is chosen.
fn keys(terminal: &Terminal, key: &str, times: usize) -> String {
    let mut took = Vec::new();
    for _ in 0..times {
        let before = terminal.chosen();
        let begun = Instant::now();
        terminal.press(key);
        while terminal.chosen() == before {
            assert!(begun.elapsed() < Duration::from_mins(1), "{key} does nothing:\n{}", terminal.text());
            std::thread::sleep(Duration::from_micros(200));
        }
        took.push(begun.elapsed());
    }
    took.sort();
    format!("{:.1?} median, {:.1?} slowest of {times}", took[times / 2], took[times - 1])
}

#[test]
#[ignore = "measures, and takes its time"]
fn figures() {
    let home = Home::new();
    let mut report = String::new();
    let dir = store(&home);
    let args = ["--session-dir", &dir, "resume", "--all"].map(str::to_owned);
    for state in ["without caches", "with caches"] {
        if state == "with caches" {
            settle(&home, &dir);
        }
        let begun = Instant::now();
        let terminal = Terminal::run(home.bare(&args), 130, 40);
        terminal.wait("a picture", |it| it.text().contains("Sessions everywhere"));
        let first = begun.elapsed();
        terminal.wait("rows", |it| !it.chosen().is_empty());
        let rows = begun.elapsed();
        terminal.wait("all rows", |it| it.text().contains("◉ all"));
        writeln!(report, "5,000 sessions {state}: picture {first:.1?}, rows {rows:.1?}, all {:.1?}", begun.elapsed())
            .unwrap();
        if state == "with caches" {
            writeln!(report, "  down: {}", keys(&terminal, "down", 50)).unwrap();
            writeln!(report, "  pageDown: {}", keys(&terminal, "pageDown", 50)).unwrap();
            terminal.press("alt+t");
            terminal.wait("names only", |it| it.text().contains("names only"));
            terminal.press("project-7");
            let found = until(&terminal, "what was found", |it| it.text().contains("/500)"));
            writeln!(report, "  a word typed: {found:.1?}; memory {}", memory(&terminal)).unwrap();
        }
    }
    let path = session(&home);
    let args = ["tree", "-i", &path].map(str::to_owned);
    for state in ["without caches", "with caches"] {
        let begun = Instant::now();
        let terminal = Terminal::run(home.bare(&args), 130, 40);
        terminal.wait("a picture", |it| it.text().contains("Session tree"));
        let first = begun.elapsed();
        terminal.wait("rows", |it| it.chosen().contains("entry"));
        let rows = begun.elapsed();
        terminal.wait("all of it", |it| !it.text().contains("reading"));
        writeln!(
            report,
            "1,000,000 entries {state}: picture {first:.1?}, rows {rows:.1?}, answers read {:.1?}",
            begun.elapsed()
        )
        .unwrap();
        if state == "with caches" {
            for key in ["up", "pageUp", "ctrl+left"] {
                writeln!(report, "  {key}: {}", keys(&terminal, key, if key == "ctrl+left" { 5 } else { 50 })).unwrap();
            }
            terminal.press("ctrl+u");
            let filtered =
                until(&terminal, "the filter", |it| it.text().contains("[user]") && !it.text().contains("reading"));
            writeln!(report, "  another filter: {filtered:.1?}; memory {}", memory(&terminal)).unwrap();
        }
    }
    println!("{report}");
}
