//! Identifies the file and prefix that a cache covers, and checks whether they are unchanged.

use std::ops::Range;

use sessile_core::line::Span;
use sessile_store::os::{OsFile, Stat, read_fully};
use sessile_store::{Log, Revision};

/// The size of a hashed block.
const BLOCK: u64 = 4 << 10;

/// Files up to this length are hashed as a whole, which takes a millisecond or two.
const SMALL: u64 = 4 << 20;

/// Number of blocks between the first and the last that are hashed in larger files.
const N_SAMPLES: u64 = 14;

/// A file changed less than this before it was read may change again without a change of its time.
const RACY_NS: i64 = 2_000_000_000;

/// A prefix of a file at the time it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which file or log it is.
    id: [u64; 2],
    /// The length of the prefix: after the last line that was processed.
    end: u64,
    /// The length of the file.
    length: u64,
    changed_ns: i64,
    /// Whether the file was so new that its time proves nothing.
    is_racy: bool,
    /// Whether a part of the prefix was assumed to be unchanged and not read.
    is_doubted: bool,
    /// The checksum of the whole prefix, or of a few blocks of it.
    checksum: u32,
}

/// How a file has changed since its mark was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The whole file is unchanged.
    Same,
    /// The prefix is unchanged, and something may have been added after it.
    Grown,
    /// It is another file, or that cannot be ruled out.
    Other,
}

impl Mark {
    /// Marks the first `end` bytes of a file. `stat` must describe the file before they were read.
    ///
    /// None if they cannot be read any more.
    pub fn of(file: &dyn OsFile, stat: &Stat, end: u64, now_ms: i64) -> Option<Self> {
        Self::of_prefix(&|range| read_file(file, range), stat.revision(), end, now_ms)
    }

    /// Marks the first `end` bytes of a log. `revision` must describe the log before they were read.
    pub fn of_log(log: &dyn Log, revision: Revision, end: u64, now_ms: i64) -> Option<Self> {
        Self::of_prefix(&|range| read_log(log, range), revision, end, now_ms)
    }

    fn of_prefix(read: &Read<'_>, revision: Revision, end: u64, now_ms: i64) -> Option<Self> {
        let Revision { id, length, changed_ns } = revision;
        let is_racy = is_racy(changed_ns, now_ms);
        Some(Self { id, end, length, changed_ns, is_racy, is_doubted: false, checksum: checksum(read, end)? })
    }

    /// Marks the prefix as partly assumed: some of it was known before and not read again.
    #[must_use]
    pub fn with_doubt(self, is_doubted: bool) -> Self {
        Self { is_doubted: is_doubted && self.end > SMALL, ..self }
    }

    /// Marks the prefix as one after which there is more to process: the file is opened again even if it has not changed.
    #[must_use]
    pub fn unfinished(self, is_unfinished: bool) -> Self {
        Self { is_racy: self.is_racy || is_unfinished, ..self }
    }

    /// Whether a file with this freshness may nevertheless have been changed within the prefix.
    ///
    /// A large file that has grown is compared at a few places only; the parts in between are assumed to be unchanged.
    pub fn is_doubtful(&self, freshness: Freshness) -> bool {
        self.is_doubted || (freshness == Freshness::Grown && self.end > SMALL)
    }

    /// Returns the number of marked bytes.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the whole file was marked, at its length at that time.
    pub fn is_whole(&self) -> bool {
        self.end == self.length
    }

    /// Whether a file with this metadata need not be opened, because nothing has changed.
    pub fn is_same(&self, stat: &Stat) -> bool {
        self.is_same_revision(stat.revision())
    }

    fn is_same_revision(&self, revision: Revision) -> bool {
        !self.is_racy && self.looks_same(revision)
    }

    fn looks_same(&self, revision: Revision) -> bool {
        revision == Revision { id: self.id, length: self.length, changed_ns: self.changed_ns }
    }

    /// Determines how the file has changed.
    ///
    /// A file that has grown is assumed to have its old prefix if a number of blocks spread over it are unchanged; a
    /// small one is compared as a whole. A file that changed without growing counts as another one, unless it is small.
    pub fn freshness(&self, file: &dyn OsFile, stat: &Stat) -> Freshness {
        self.freshness_of_prefix(&|range| read_file(file, range), stat.revision())
    }

    /// Determines how the log has changed, as [`freshness`](Self::freshness) does for a file.
    pub fn freshness_of_log(&self, log: &dyn Log, revision: Revision) -> Freshness {
        self.freshness_of_prefix(&|range| read_log(log, range), revision)
    }

    fn freshness_of_prefix(&self, read: &Read<'_>, revision: Revision) -> Freshness {
        if self.is_same_revision(revision) {
            return Freshness::Same;
        }
        let is_smaller = revision.id != self.id || revision.length < self.length;
        let is_edited = revision.length == self.length && !self.looks_same(revision) && self.end > SMALL;
        if is_smaller || is_edited || checksum(read, self.end) != Some(self.checksum) {
            return Freshness::Other;
        }
        Freshness::Grown
    }

    /// Encodes the mark in a fixed number of bytes.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let changed = u64::from_le_bytes(self.changed_ns.to_le_bytes());
        let fields = [self.id[0], self.id[1], self.end, self.length, changed];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[44] = u8::from(self.is_racy) | u8::from(self.is_doubted) << 1;
        bytes
    }

    /// The number of bytes of an encoded mark.
    pub const LEN: usize = 45;

    /// Decodes a mark.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let field = |place: usize| {
            let mut field = [0; 8];
            field.copy_from_slice(&bytes[place * 8..place * 8 + 8]);
            u64::from_le_bytes(field)
        };
        let mut checksum = [0; 4];
        checksum.copy_from_slice(&bytes[40..44]);
        Self {
            id: [field(0), field(1)],
            end: field(2),
            length: field(3),
            changed_ns: i64::from_le_bytes(field(4).to_le_bytes()),
            is_racy: bytes[44] & 1 != 0,
            is_doubted: bytes[44] & 2 != 0,
            checksum: u32::from_le_bytes(checksum),
        }
    }
}

/// Reads a range of a file or log; none if it is not there.
type Read<'r> = dyn Fn(Range<u64>) -> Option<Vec<u8>> + 'r;

fn read_file(file: &dyn OsFile, range: Range<u64>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
    (read_fully(file, &mut bytes, range.start).ok()? == bytes.len()).then_some(bytes)
}

fn read_log(log: &dyn Log, range: Range<u64>) -> Option<Vec<u8>> {
    log.read(Span { offset: range.start, len: range.end - range.start }).ok()
}

/// Whether a file is so new that it may change again without a change of its time.
fn is_racy(changed_ns: i64, now_ms: i64) -> bool {
    now_ms.saturating_mul(1_000_000).saturating_sub(changed_ns) < RACY_NS
}

/// Returns the checksum of a prefix: of the whole if it is small, else of its first and last block and a few between.
fn checksum(read: &Read<'_>, end: u64) -> Option<u32> {
    let mut checksum = crc32fast::Hasher::new();
    for range in hashed(end) {
        checksum.update(&read(range)?);
    }
    Some(checksum.finalize())
}

/// Returns the parts of a prefix that are hashed.
fn hashed(end: u64) -> Vec<Range<u64>> {
    if end <= SMALL {
        return std::iter::once(0..end).collect();
    }
    let last = end - BLOCK;
    (0..=N_SAMPLES + 1).map(|place| last / (N_SAMPLES + 1) * place).chain([last]).map(|at| at..at + BLOCK).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests act as other programs")]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use sessile_store::os::{Mode, Os, RealOs};

    use super::*;

    fn mark(path: &Path, age_ms: i64) -> Mark {
        let file = RealOs.open(path, Mode::Read).unwrap();
        let stat = file.stat().unwrap();
        Mark::of(file.as_ref(), &stat, stat.length, stat.changed_ns / 1_000_000 + age_ms).unwrap()
    }

    fn freshness(mark: &Mark, path: &Path) -> Freshness {
        let file = RealOs.open(path, Mode::Read).unwrap();
        mark.freshness(file.as_ref(), &file.stat().unwrap())
    }

    fn overwrite(path: &Path, at: usize, byte: u8) {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[at] = byte;
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_file_is_unchanged_grown_or_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        for length in [0, 10, 100_000, 3_000_000, 6_000_000] {
            std::fs::write(&path, vec![b'x'; length]).unwrap();
            let known = mark(&path, 10_000);
            assert_eq!(freshness(&known, &path), Freshness::Same);
            assert_eq!(Mark::from_bytes(&known.to_bytes()), known);
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
            assert_eq!(freshness(&known, &path), Freshness::Grown);
            if length > 0 {
                overwrite(&path, length - 1, b'y');
                assert_eq!(freshness(&known, &path), Freshness::Other);
                std::fs::write(&path, vec![b'x'; length - 1]).unwrap();
                assert_eq!(freshness(&known, &path), Freshness::Other);
            }
        }
    }

    #[test]
    fn the_time_of_a_new_file_proves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "some").unwrap();
        let known = mark(&path, 0);
        assert!(!known.is_same(&RealOs.stat(&path).unwrap()));
        assert_eq!(freshness(&known, &path), Freshness::Grown);
    }

    #[test]
    fn an_unfinished_file_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "some").unwrap();
        let known = mark(&path, 10_000);
        let stat = RealOs.stat(&path).unwrap();
        assert!(known.is_same(&stat) && known.unfinished(false).is_same(&stat));
        let unfinished = Mark::from_bytes(&known.unfinished(true).to_bytes());
        assert!(!unfinished.is_same(&stat));
        assert_eq!(freshness(&unfinished, &path), Freshness::Grown, "and goes on where it stopped");
    }

    #[test]
    fn a_large_file_edited_without_growing_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, vec![b'x'; 10 << 20]).unwrap();
        let known = mark(&path, 10_000);
        // Between two of the compared blocks.
        overwrite(&path, 300_000, b'y');
        assert_eq!(freshness(&known, &path), Freshness::Other);
    }

    #[test]
    fn a_file_with_the_same_name_and_content_is_still_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "some").unwrap();
        let known = mark(&path, 10_000);
        std::fs::write(directory.path().join("b"), "some").unwrap();
        std::fs::rename(directory.path().join("b"), &path).unwrap();
        assert_eq!(freshness(&known, &path), Freshness::Other);
    }
}
