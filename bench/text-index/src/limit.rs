//! What any search without an index costs at least: reading every byte, and looking for a word in it.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memmem::Finder;

use crate::Failure;

/// Reads every file on two threads, and returns the number of bytes and of occurrences of the word, if there is one.
pub fn scan(files: &[PathBuf], word: Option<&str>) -> Result<(usize, usize), Failure> {
    let next = AtomicUsize::new(0);
    let finder = word.map(Finder::new);
    let work = || -> std::io::Result<(usize, usize)> {
        let mut buffer = Vec::new();
        let (mut n_bytes, mut n_found) = (0, 0);
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            buffer.clear();
            n_bytes += File::open(path)?.read_to_end(&mut buffer)?;
            n_found += finder.as_ref().map_or(0, |finder| finder.find_iter(&buffer).count());
        }
        Ok((n_bytes, n_found))
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mine = work()?;
        let other = other.join().map_err(|_| "a thread panicked")??;
        Ok((mine.0 + other.0, mine.1 + other.1))
    })
}
