//! Time and memory of merging two large copies: `merge-measure MEGABYTES`.
//!
//! The copies have nine tenths in common. The time is compared with that of opening both, and with that of reading both
//! and writing and syncing as many bytes as the result has.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::cell::Cell;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sessile::merge::MergeOptions;
use sessile::{Sessions, System};

fn main() {
    let megabytes: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let folder = tempfile::tempdir().unwrap();
    let copies: Vec<PathBuf> = (0..2).map(|number| write_copy(folder.path(), number, megabytes << 20)).collect();
    let sessions = Sessions::new(System).with_session_dir(folder.path()).caching(None).read_only();
    let opening = best(|_| timed(|| copies.iter().for_each(|copy| drop(sessions.open(copy).unwrap()))));
    let before = peak_memory();
    let n_bytes = Cell::new(0);
    let merging = best(|round| {
        let target = folder.path().join(format!("merged-{round}"));
        let begin = Instant::now();
        let merged = sessions.merge(&copies, Some(&target), false, &MergeOptions::default()).unwrap();
        let elapsed = begin.elapsed();
        n_bytes.set(std::fs::metadata(&target).unwrap().len());
        println!("{} entries, {} bytes", merged.n_entries, n_bytes.get());
        std::fs::remove_file(target).unwrap();
        elapsed
    });
    let after = peak_memory();
    let ratio = |to: Duration| merging.as_secs_f64() / to.as_secs_f64();
    println!("opening both {opening:.2?}, merging {merging:.2?}, ratio {:.2}", ratio(opening));
    // No merge can be faster than this, however little it computes.
    let reading = best(|_| timed(|| copies.iter().for_each(|copy| read(copy))));
    let writing = best(|_| write_and_sync(&folder.path().join("written"), n_bytes.get()));
    println!("reading both {reading:.2?}, writing and syncing the result {writing:.2?}");
    println!("ratio to reading, writing and syncing {:.2}", ratio(reading + writing));
    println!("peak memory {before} kB after opening, {after} kB after merging");
}

/// The best time of three rounds.
fn best(round: impl FnMut(usize) -> Duration) -> Duration {
    (0..3).map(round).min().unwrap()
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

/// Reads a file on one thread and does nothing with it.
fn read(path: &Path) {
    let mut file = std::fs::File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer).unwrap() > 0 {}
}

/// The time of writing a file of some length until it is on the disk. Removes it.
fn write_and_sync(path: &Path, n_bytes: u64) -> Duration {
    let mut file = std::fs::File::create(path).unwrap();
    let buffer = vec![b'x'; 1 << 20];
    let mut n_left = n_bytes;
    let begin = Instant::now();
    while n_left > 0 {
        let n_next = n_left.min(1 << 20);
        file.write_all(&buffer[..usize::try_from(n_next).unwrap()]).unwrap();
        n_left -= n_next;
    }
    file.sync_all().unwrap();
    let elapsed = begin.elapsed();
    std::fs::remove_file(path).unwrap();
    elapsed
}

/// Writes a session whose last tenth is its own. Lines have 2 kB.
fn write_copy(folder: &Path, number: u64, size: u64) -> PathBuf {
    let path = folder.join(format!("{number}.jsonl"));
    let mut out = BufWriter::new(std::fs::File::create(&path).unwrap());
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#;
    writeln!(out, "{header}").unwrap();
    let text = "some words of an answer, ".repeat(74);
    let n_lines = size / 2048;
    let mut parent = "null".to_owned();
    for line in 0..n_lines {
        let own = if line < n_lines * 9 / 10 { 0 } else { number + 1 };
        let id = format!("\"{own:02x}{line:06x}\"");
        let (minute, second) = (line / 1000 % 60, line / 1000 / 60 % 60);
        writeln!(out, r#"{{"type":"message","id":{id},"parentId":{parent},"timestamp":"2025-01-01T0{}:{second:02}:{minute:02}.{:03}Z","message":{{"role":"user","content":"{text} {line}"}}}}"#, line / 3_600_000, line % 1000).unwrap();
        parent = id;
    }
    out.flush().unwrap();
    path
}

/// The peak resident memory of this process, in kB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
