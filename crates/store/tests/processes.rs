//! Processes that write to one session, and processes that are killed while they write. Runs on every system.
//!
//! The programs of the test kit do much more of this on Unix.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests act as other programs and panic on failure")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sessile_store::os::{Os, RealOs};
use sessile_store::{Expect, FileLog, Log, Notice, WriteOptions};
use tempfile::TempDir;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n";

/// A process appends this many lines at most.
const MANY: usize = 100_000;

/// Appends lines, and prints the number of each one once it counts.
#[test]
#[ignore = "the other tests run it in processes of their own"]
fn writer() {
    let [path, name, wanted] = ["PATH", "NAME", "WANTED"].map(|what| std::env::var(format!("WRITER_{what}")).unwrap());
    let os: Arc<dyn Os> = Arc::new(RealOs);
    let mut log = FileLog::open(&os, path, WriteOptions::default()).unwrap();
    drop(log.resume());
    let mut out = std::io::stdout();
    for number in 0..wanted.parse().unwrap() {
        let padding = "x".repeat(number % 500);
        log.append(format!("{{\"id\":\"{name}-{number}\",\"text\":\"{padding}\"}}\n").as_bytes(), Expect::Anything)
            .unwrap();
        writeln!(out, "\nwritten {number}").unwrap();
    }
}

fn start_writer(path: &Path, name: &str, wanted: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writer", "--ignored", "--nocapture"]);
    command.env("WRITER_PATH", path).env("WRITER_NAME", name).env("WRITER_WANTED", wanted.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Reads the numbers that a writer has printed, and calls `on_number` after each.
fn read_numbers(child: &mut Child, mut on_number: impl FnMut(usize, &mut Child)) -> usize {
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut n_written = 0;
    for line in output.lines().map_while(Result::ok) {
        if let Some(number) = line.strip_prefix("written ").and_then(|number| number.trim().parse::<usize>().ok()) {
            n_written = number + 1;
            on_number(n_written, child);
        }
    }
    n_written
}

/// Returns the numbers of each writer's whole lines, in the order of the file.
fn numbers_of(path: &Path) -> HashMap<String, Vec<usize>> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.starts_with(HEADER));
    let mut numbers: HashMap<String, Vec<usize>> = HashMap::new();
    for line in text.split_inclusive('\n').skip(1) {
        let Some(rest) = line.strip_prefix("{\"id\":\"").filter(|_| line.ends_with("\"}\n")) else { continue };
        let (name, number) = rest.split_once('"').unwrap().0.rsplit_once('-').unwrap();
        numbers.entry(name.to_owned()).or_default().push(number.parse().unwrap());
    }
    numbers
}

#[test]
fn writers_take_turns_and_lose_nothing() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, HEADER).unwrap();
    let names = ["a", "b", "c"];
    let mut writers = names.map(|name| start_writer(&path, name, 200));
    for writer in &mut writers {
        assert_eq!(read_numbers(writer, |_, _| ()), 200);
        assert!(writer.wait().unwrap().success());
    }
    let numbers = numbers_of(&path);
    for name in names {
        assert!(numbers[name].iter().copied().eq(0..200), "each line of {name} once, in order");
    }
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1 + 3 * 200);
}

#[test]
fn a_killed_writer_loses_nothing_that_counts_and_leaves_no_lock() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, HEADER).unwrap();
    for (round, killed_at) in [1, 2, 7, 30, 71].into_iter().enumerate() {
        let name = format!("k{round}");
        let mut writer = start_writer(&path, &name, MANY);
        let n_written = read_numbers(&mut writer, |n_written, writer| {
            if n_written == killed_at {
                writer.kill().unwrap();
            }
        });
        writer.wait().unwrap();
        let kept = numbers_of(&path).remove(&name).unwrap();
        assert!(kept.len() >= n_written && kept.len() < MANY, "{} of {n_written}", kept.len());
        assert!(kept.iter().copied().eq(0..kept.len()), "each line once, in order");
    }
    let mut log = FileLog::open(&(Arc::new(RealOs) as Arc<dyn Os>), &path, WriteOptions::default()).unwrap();
    log.append(b"{\"id\":\"last-0\"}\n", Expect::Anything).unwrap();
    let notices = log.take_notices();
    assert!(!notices.iter().any(|notice| matches!(notice, Notice::WithoutLock { .. })), "{notices:?}");
    assert_eq!(numbers_of(&path)["last"], [0]);
}
