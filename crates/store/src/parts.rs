//! Reads a large file on all cores: splits it at newlines, reads it in parts, and passes them on in order.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use memchr::memchr;
use sessile_core::line::{Line, LineSplitter};
use sessile_core::outline::OutlinePart;

use crate::error::StoreError;
use crate::lines::{CHUNK, after_hole};
use crate::log_name::LogName;
use crate::os::{Os, OsFile, read_some};
use crate::threads;

/// The size of a part in bytes: large enough that starting one costs little, small enough that every core gets some.
const PART: u64 = 4 << 20;

/// More threads than this wait for memory, not for work.
const MAX_THREADS: usize = 8;

/// How many parts each thread may read ahead.
const MAX_AHEAD: usize = 4;

/// Whether reading this many bytes on several cores pays off.
pub(crate) fn is_worth_it(n_bytes: u64) -> bool {
    n_bytes >= 2 * PART && n_threads() > 1
}

fn n_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

/// Consecutive lines of a file, in whatever form a reader needs.
pub trait LinePart: Send {
    /// Takes the next line.
    fn push(&mut self, line: Line<'_>);

    /// Where the first line begins; `None` if there are no lines.
    fn start(&self) -> Option<u64>;

    /// Where the last line ends, with its newline.
    fn end(&self) -> u64;
}

impl LinePart for OutlinePart {
    fn push(&mut self, line: Line<'_>) {
        self.push(line);
    }

    fn start(&self) -> Option<u64> {
        self.start()
    }

    fn end(&self) -> u64 {
        self.end()
    }
}

/// Reads a file on all cores, from the start of a line to its end, and calls `on_part` for its lines in parts, in order, until it
/// returns false.
///
/// Returns where the last part ends, or none, without having read anything, if the file is too small for this or there
/// are no threads. The range ends at a recent length of the file.
pub fn scan_in_parts<P: LinePart>(
    os: &dyn Os,
    file: &dyn OsFile,
    path: &Path,
    range: Range<u64>,
    new_part: &(dyn Fn() -> P + Sync),
    on_part: &mut dyn FnMut(P) -> bool,
) -> Result<Option<u64>, StoreError> {
    if !os.has_threads() || !is_worth_it(range.end.saturating_sub(range.start)) {
        return Ok(None);
    }
    scan_parts_of(PART, file, path, range, new_part, on_part)
}

/// Reads a file to its end, and calls `on_part` for its lines in parts. `from` must be the start of a line. Returns
/// where the file ends, or none, without having read anything, if the system provides no threads.
///
/// `length` is a recent length of the file; bytes added since are read as well. If the file changes during the
/// scan so that the parts do not fit together, that is an error.
pub(crate) fn scan_parts(
    file: &dyn OsFile,
    path: &Path,
    from: u64,
    length: u64,
    on_part: &mut dyn FnMut(OutlinePart),
) -> Result<Option<u64>, StoreError> {
    scan_parts_of(PART, file, path, from..length, &OutlinePart::new, &mut |part| {
        on_part(part);
        true
    })
}

fn scan_parts_of<P: LinePart>(
    part_size: u64,
    file: &dyn OsFile,
    path: &Path,
    range: Range<u64>,
    new_part: &(dyn Fn() -> P + Sync),
    on_part: &mut dyn FnMut(P) -> bool,
) -> Result<Option<u64>, StoreError> {
    let from = range.start;
    let next = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let hole = Hole::default();
    let n_parts = range.end.saturating_sub(from).div_ceil(part_size).max(1);
    let (sender, receiver) = mpsc::sync_channel(MAX_AHEAD * n_threads());
    thread::scope(|scope| {
        let mut n_started = 0;
        for _ in 0..n_threads() {
            let sender = sender.clone();
            let (next, is_over, hole) = (&next, &is_over, &hole);
            let started = threads::spawn_in(scope, move || {
                let mut buffer = vec![0; CHUNK];
                while !is_over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= n_parts {
                        break;
                    }
                    let start = from + number * part_size;
                    // The last part includes what was added since.
                    let end = if number + 1 == n_parts { u64::MAX } else { start + part_size };
                    if sender.send((number, read_part(file, from, start..end, &mut buffer, hole, new_part()))).is_err()
                    {
                        break;
                    }
                }
            });
            n_started += usize::from(started.is_ok());
        }
        drop(sender);
        if n_started == 0 {
            return Ok(None);
        }
        let merged = merge(&receiver, from, path, on_part);
        is_over.store(true, Ordering::Relaxed);
        // Unblocks threads that are about to send.
        drop(receiver);
        merged.map(Some)
    })
}

/// The most recently found hole in the file. Parts inside it need not be read.
#[derive(Default)]
struct Hole(Mutex<Range<u64>>);

impl Hole {
    /// Returns where to continue reading instead of at an offset inside the hole.
    fn skip(&self, offset: u64) -> u64 {
        let hole = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hole.contains(&offset) { hole.end } else { offset }
    }

    /// Returns where to continue after bytes that begin at an offset: see [`after_hole`].
    fn after_read(&self, file: &dyn OsFile, read: &[u8], start: u64) -> io::Result<u64> {
        let offset = start + read.len() as u64;
        let next = after_hole(file, read, offset)?;
        if next > offset {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = start..next;
        }
        Ok(next)
    }
}

/// Calls `on_part` for the parts in the order of their numbers, until it returns false.
fn merge<P: LinePart>(
    parts: &mpsc::Receiver<(u64, io::Result<P>)>,
    from: u64,
    path: &Path,
    on_part: &mut dyn FnMut(P) -> bool,
) -> Result<u64, StoreError> {
    let mut waiting = BTreeMap::new();
    let (mut number, mut end) = (0, from);
    for (found, part) in parts {
        waiting.insert(found, part);
        while let Some(part) = waiting.remove(&number) {
            let part = part.map_err(StoreError::io("read", path))?;
            if let Some(start) = part.start() {
                if start != end {
                    // Lines overlap or have a gap: another program is rewriting the file.
                    return Err(StoreError::Rewritten { log: LogName::file(path) });
                }
                end = part.end();
                if !on_part(part) {
                    return Ok(end);
                }
            }
            number += 1;
        }
    }
    Ok(end)
}

/// Reads the lines that begin between two offsets.
fn read_part<P: LinePart>(
    file: &dyn OsFile,
    from: u64,
    range: Range<u64>,
    buffer: &mut [u8],
    hole: &Hole,
    mut part: P,
) -> io::Result<P> {
    let end = range.end;
    let Some(start) = line_start(file, from, range, buffer, hole)? else { return Ok(part) };
    let mut splitter = LineSplitter::starting_at(start);
    let mut offset = start;
    loop {
        // The last line may extend beyond the end.
        let is_beyond = offset >= end;
        let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let n_wanted = if is_beyond { buffer.len() } else { left.min(buffer.len()) };
        let n_read = read_some(file, &mut buffer[..n_wanted], offset)?;
        if n_read == 0 {
            splitter.finish(&mut |line| part.push(line));
            return Ok(part);
        }
        let bytes = &buffer[..n_read];
        let next = hole.after_read(file, bytes, offset)?;
        let n_skipped = next - offset - n_read as u64;
        offset = next;
        if is_beyond {
            // Only the current line still belongs to this part.
            let Some(newline) = memchr(b'\n', bytes) else {
                splitter.feed(bytes, &mut |line| part.push(line));
                splitter.feed_zeros(n_skipped);
                continue;
            };
            splitter.feed(&bytes[..=newline], &mut |line| part.push(line));
            return Ok(part);
        }
        splitter.feed(bytes, &mut |line| part.push(line));
        splitter.feed_zeros(n_skipped);
        if offset == end && bytes.ends_with(b"\n") {
            return Ok(part);
        }
    }
}

/// Returns where the first line begins that begins between two offsets.
fn line_start(
    file: &dyn OsFile,
    from: u64,
    range: Range<u64>,
    buffer: &mut [u8],
    hole: &Hole,
) -> io::Result<Option<u64>> {
    let Range { start, end } = range;
    if start == from {
        return Ok(Some(start));
    }
    // A line begins after a newline, which may be the last byte of the part before.
    let mut offset = hole.skip(start - 1);
    while offset + 1 < end {
        let n_wanted = usize::try_from(end - 1 - offset).unwrap_or(usize::MAX).min(buffer.len());
        let n_read = read_some(file, &mut buffer[..n_wanted], offset)?;
        if n_read == 0 {
            return Ok(None);
        }
        if let Some(newline) = memchr(b'\n', &buffer[..n_read]) {
            return Ok(Some(offset + newline as u64 + 1));
        }
        offset = hole.after_read(file, &buffer[..n_read], offset)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sessile_core::line::split;
    use sessile_core::outline::Outline;
    use sessile_core::version::StableIds;

    use super::*;
    use crate::os::{Mode, RealOs};

    proptest! {
        #[test]
        fn parts_join_wherever_they_are_cut(
            lines in proptest::collection::vec("[a-z{}]{0,30}|\\{\"id\":\"[0-9a-f]{8}\"\\}", 0..40),
            part_size in 1u64..60,
            buffer_size in 1usize..50,
            is_ended in any::<bool>(),
        ) {
            let mut text = lines.join("\n");
            if is_ended {
                text.push('\n');
            }
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("lines");
            let file = RealOs.open(&path, Mode::New).unwrap();
            crate::os::append_fully(file.as_ref(), text.as_bytes()).unwrap();
            let (mut pushed, mut in_parts, mut one_by_one) = (Outline::new(), Outline::new(), Outline::new());
            for line in split(text.as_bytes()) {
                pushed.push(line, &mut StableIds);
            }
            let length = text.len() as u64;
            let end = scan_parts_of(part_size, file.as_ref(), &path, 0..length, &OutlinePart::new, &mut |part| {
                in_parts.push_part(&part, &mut StableIds);
                true
            });
            prop_assert_eq!(end.unwrap(), Some(length));
            prop_assert_eq!(in_parts.save(), pushed.save());
            prop_assert_eq!(in_parts.n_lines(), pushed.n_lines());
            let mut buffer = vec![0; buffer_size];
            for start in (0..length.max(1)).step_by(usize::try_from(part_size).unwrap()) {
                let range = start..start + part_size;
                let part = read_part(file.as_ref(), 0, range, &mut buffer, &Hole::default(), OutlinePart::new());
                let part = part.unwrap();
                one_by_one.push_part(&part, &mut StableIds);
            }
            prop_assert_eq!(one_by_one.save(), pushed.save());
        }
    }
}
