//! Measures the time to the first frame, the time per key, and memory: printed, never checked.
//!
//! `cargo test --release -p sessile-cli --test tui -- --ignored --nocapture figures`

use std::time::{Duration, Instant};

use super::{Home, Terminal};

const N_SESSIONS: usize = 5_000;
const N_ENTRIES: usize = 1_000_000;

/// How long cached data about a file is not trusted, because the file may be written at the same moment.
const FRESHNESS: Duration = Duration::from_secs(4);

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

/// Creates a store of many sessions, about 40 kB each.
fn store(home: &Home) -> String {
    let dir = home.path().join("store");
    std::fs::create_dir_all(&dir).unwrap();
    for number in 0..N_SESSIONS {
        let id = format!("019a0000-0000-7000-8000-{number:012x}");
        let mut text = header(&id, &format!("/home/u/src/project-{}", number % 50));
        for at in 0..100 {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            let text_of_message = format!("session {number} says {at}: {}", "tide and current ".repeat(12));
            text.push_str(&message(at, at.checked_sub(1), role, &text_of_message));
        }
        std::fs::write(dir.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl")), text).unwrap();
    }
    std::thread::sleep(FRESHNESS);
    dir.to_string_lossy().into_owned()
}

/// Creates a session of many entries, with a branch at every thousandth.
fn session(home: &Home) -> String {
    let path = home.path().join("2026-01-01T00-00-00-000Z_big.jsonl");
    let mut text = header("big", "/w");
    for at in 0..N_ENTRIES {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let parent = if at % 1000 == 999 { at.checked_sub(900) } else { at.checked_sub(1) };
        text.push_str(&message(at, parent, role, &format!("entry {at} of a long session")));
    }
    std::fs::write(&path, text).unwrap();
    std::thread::sleep(FRESHNESS);
    path.to_string_lossy().into_owned()
}

/// Lists a store, so that the caches are complete.
fn settle(home: &Home, dir: &str) {
    let args = ["--session-dir", dir, "list", "--all", "--no-pager"].map(str::to_owned);
    let mut terminal = Terminal::run(home.bare(&args), 130, 40);
    assert!(terminal.wait_for_end().success(), "{}", terminal.text());
}

/// Returns the time until something is visible.
fn until(terminal: &Terminal, what: &str, condition: impl Fn(&Terminal) -> bool) -> Duration {
    let started = Instant::now();
    terminal.wait(what, condition);
    started.elapsed()
}

/// Returns the program's peak memory in megabytes.
fn memory(terminal: &Terminal) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.child.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.map_or_else(|| "?".to_owned(), |kilobytes| format!("{} MB", (kilobytes * 1024).div_ceil(1_000_000)))
}

/// Formats a time with as many digits as are significant.
fn time_text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        0.95.. => format!("{seconds:.1} s"),
        0.2.. => format!("{seconds:.2} s"),
        0.00995.. => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{:.1} ms", seconds * 1e3),
    }
}

/// Returns the median and the slowest time of some key presses, each of which changes the selected row.
fn keys(terminal: &Terminal, name: &str, key: &str, times: usize) -> String {
    let mut took = Vec::new();
    for _ in 0..times {
        let before = terminal.selected_row();
        let started = Instant::now();
        terminal.press(key);
        while terminal.selected_row() == before {
            assert!(started.elapsed() < Duration::from_mins(1), "{key} had no effect:\n{}", terminal.text());
            std::thread::sleep(Duration::from_micros(200));
        }
        took.push(started.elapsed());
    }
    took.sort();
    let median = time_text(took[times / 2]);
    if times < 50 {
        return format!("{name} {median}");
    }
    format!("{name} {median} ({})", time_text(took[times - 1]).trim_end_matches(" ms"))
}

/// Formats a row of the table in docs/performance.md.
fn row(what: &str, [first, rows, all]: [Duration; 3], keys: &[String], memory: &str) -> String {
    let cells =
        [what.to_owned(), time_text(first), time_text(rows), time_text(all), keys.join(", "), memory.to_owned()];
    format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |").replace("|  |", "| |")
}

/// Measures the picker on many sessions.
fn picker(home: &Home, table: &mut String) -> String {
    let dir = store(home);
    let args = ["--session-dir", &dir, "resume", "--all"].map(str::to_owned);
    let open = || {
        let started = Instant::now();
        let terminal = Terminal::run(home.bare(&args), 130, 40);
        terminal.wait("a picture", |it| it.text().contains("All sessions"));
        let first = started.elapsed();
        terminal.wait("rows", |it| !it.selected_row().is_empty());
        let rows = started.elapsed();
        terminal.wait("all rows", |it| it.text().contains("◉ all"));
        (terminal, [first, rows, started.elapsed()])
    };
    let (_, times) = open();
    table.push_str(&row("5,000 sessions, 200 MB, no caches", times, &[], ""));
    settle(home, &dir);
    let (terminal, times) = open();
    let keys = [keys(&terminal, "`↓`", "down", 50), keys(&terminal, "page", "pageDown", 50)];
    terminal.press("alt+t");
    terminal.wait("names only", |it| it.text().contains("names only"));
    terminal.press("project-7");
    let search_time = until(&terminal, "the matches", |it| it.text().contains("/500)"));
    table.push_str(&row("the same, with caches", times, &keys, &memory(&terminal)));
    format!("A word typed into the picker of 5,000 sessions is found in {}.", time_text(search_time))
}

/// Measures the tree of many entries.
fn tree(home: &Home, table: &mut String) -> String {
    let path = session(home);
    let args = ["tree", "-i", &path].map(str::to_owned);
    let open = || {
        let started = Instant::now();
        let terminal = Terminal::run(home.bare(&args), 130, 40);
        terminal.wait("a picture", |it| it.text().contains("Session tree"));
        let first = started.elapsed();
        terminal.wait("rows", |it| it.selected_row().contains("entry"));
        let rows = started.elapsed();
        terminal.wait("all of it", |it| !it.text().contains("reading"));
        (terminal, [first, rows, started.elapsed()])
    };
    let (_, times) = open();
    table.push_str(&row("1,000,000 entries, 250 MB, no caches", times, &[], ""));
    let (terminal, times) = open();
    let keys = [
        keys(&terminal, "`↑`", "up", 50),
        keys(&terminal, "page", "pageUp", 50),
        keys(&terminal, "fold", "ctrl+left", 5),
    ];
    terminal.press("ctrl+u");
    let filtered = until(&terminal, "the filter", |it| it.text().contains("[user]") && !it.text().contains("reading"));
    table.push_str(&row("the same, with caches", times, &keys, &memory(&terminal)));
    format!("Another filter on the million entries takes {}, on a thread.", time_text(filtered))
}

#[test]
#[ignore = "a slow measurement"]
fn figures() {
    let home = Home::new();
    let mut table = "| | first picture | first rows | all of it | a key, median (slowest of 50) | memory |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    let search_time = picker(&home, &mut table);
    let filtered = tree(&home, &mut table);
    println!("{table}\n{filtered} {search_time}");
}

#[test]
fn times_have_only_significant_digits() {
    for (micros, expected) in [(3_840, "3.8 ms"), (29_400, "29 ms"), (310_000, "0.31 s"), (11_640_000, "11.6 s")] {
        assert_eq!(time_text(Duration::from_micros(micros)), expected);
    }
    let times = [26_000, 310_000, 310_000].map(Duration::from_micros);
    assert_eq!(row("no caches", times, &[], ""), "| no caches | 26 ms | 0.31 s | 0.31 s | | |\n");
    let keys = ["`↓` 3.8 ms (25)".to_owned(), "page 3.3 ms (6.9)".to_owned()];
    let expected = "| the same | 26 ms | 0.31 s | 0.31 s | `↓` 3.8 ms (25), page 3.3 ms (6.9) | 47 MB |\n";
    assert_eq!(row("the same", times, &keys, "47 MB"), expected);
}
