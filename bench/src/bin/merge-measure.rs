//! Time and memory of merging two large copies: `merge-measure MEGABYTES`.
//!
//! The copies have nine tenths in common. The time is compared with that of reading both.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sessile::merge::MergeOptions;
use sessile::{Sessions, System};

fn main() {
    let megabytes: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let folder = tempfile::tempdir().unwrap();
    let copies: Vec<PathBuf> = (0..2).map(|number| write_copy(folder.path(), number, megabytes << 20)).collect();
    let sessions = Sessions::new(System).with_session_dir(folder.path()).caching(None).read_only();
    let reading = best(|_| copies.iter().for_each(|copy| drop(sessions.open(copy).unwrap())));
    let before = peak_memory();
    let merging = best(|round| {
        let target = folder.path().join(format!("merged-{round}"));
        let merged = sessions.merge(&copies, Some(&target), false, &MergeOptions::default()).unwrap();
        println!("{} entries, {} bytes", merged.n_entries, std::fs::metadata(&target).unwrap().len());
        std::fs::remove_file(target).unwrap();
    });
    let ratio = merging.as_secs_f64() / reading.as_secs_f64();
    println!("reading both {reading:.2?}, merging {merging:.2?}, ratio {ratio:.2}");
    println!("peak memory {before} kB after reading, {} kB after merging", peak_memory());
}

/// The best time of three rounds.
fn best(mut work: impl FnMut(usize)) -> Duration {
    let rounds = (0..3).map(|round| {
        let begin = Instant::now();
        work(round);
        begin.elapsed()
    });
    rounds.min().unwrap()
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
