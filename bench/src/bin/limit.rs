//! Measures what the machine can do at all: one bare piece of work, timed.
//!
//! `limit read FILE`, `limit lines FILE`, `limit copy FILE TO`, `limit walk DIR`, `limit slurp DIR`. Prints one JSON
//! line with the time in milliseconds.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "other programs read its output")]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let start = Instant::now();
    let done = match words.as_slice() {
        ["read", file] => each_chunk(Path::new(file), &mut |_| ()),
        ["lines", file] => count_lines(Path::new(file)),
        ["copy", file, to] => fs::copy(file, to),
        ["walk", dir] => walk(Path::new(dir), &mut |_| Ok(0)),
        ["slurp", dir] => walk(Path::new(dir), &mut |file| each_chunk(file, &mut |_| ())),
        _ => Err(io::Error::other("usage: limit read|lines FILE, limit copy FILE TO, limit walk|slurp DIR")),
    };
    let ms = start.elapsed().as_secs_f64() * 1e3;
    match done {
        Ok(count) => {
            println!("{{\"ms\":{ms},\"count\":{count}}}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads a file in chunks of 1 MiB and returns its length.
fn each_chunk(path: &Path, look: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(length),
            n_read => {
                look(&buffer[..n_read]);
                length += n_read as u64;
            }
        }
    }
}

fn count_lines(path: &Path) -> io::Result<u64> {
    let mut n_lines = 0;
    each_chunk(path, &mut |chunk| n_lines += memchr::memchr_iter(b'\n', chunk).count() as u64)?;
    Ok(n_lines)
}

/// Reads the metadata of every session below a folder, and calls `visit` for each.
fn walk(dir: &Path, visit: &mut dyn FnMut(&Path) -> io::Result<u64>) -> io::Result<u64> {
    let mut n_files = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            n_files += walk(&path, visit)?;
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            path.metadata()?;
            visit(&path)?;
            n_files += 1;
        }
    }
    Ok(n_files)
}
