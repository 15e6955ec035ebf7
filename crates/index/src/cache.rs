//! Files with derived data: framed, checksummed, and replaced as a whole.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::outline::SavedBytes;
use sessile_store::os::{Mode, Os, OsFile};
use sessile_store::{StoreError, create_directory, read_whole, swap_in};

/// The first bytes of every cache file.
const MAGIC: [u8; 8] = *b"sessile\x1a";

/// Detects a file that was written or converted in another byte order.
const BYTE_ORDER: u32 = 0x0a0b_0c0d;

/// Upper bound on a cache that is read as a whole, in bytes. A longer one is ignored and rebuilt.
const MAX_LENGTH: u64 = 1 << 30;

/// Magic, kind, version, byte order, length of the body, checksum.
const HEAD: usize = 8 + 4 + 4 + 4 + 8 + 4;

/// A kind of cache file: its directory, its tag and its format version.
///
/// A file of another version is ignored and rebuilt, never migrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The directory below the root of the caches.
    pub directory: &'static str,
    /// Four letters in every file.
    pub tag: [u8; 4],
    /// Incremented whenever the meaning of the body changes.
    pub version: u32,
    /// The names of its files besides fingerprints: whole names, or endings that begin with a dot.
    pub files: &'static [&'static str],
}

impl Kind {
    /// Returns a whole file of this kind with a body.
    pub fn file(self, body: &[u8]) -> Vec<u8> {
        [head(self, body).as_slice(), body].concat()
    }

    /// Returns the body of a file; none if the bytes are not a whole file of this kind.
    pub fn body(self, file: &[u8]) -> Option<&[u8]> {
        let (found, body) = file.split_at_checked(HEAD)?;
        (found == head(self, body)).then_some(body)
    }
}

/// The directory of all caches.
#[derive(Clone, Debug)]
pub struct Caches {
    os: Arc<dyn Os>,
    root: PathBuf,
}

impl Caches {
    /// Creates caches below a directory, which is created when first needed.
    pub fn new(os: Arc<dyn Os>, root: impl Into<PathBuf>) -> Self {
        Self { os, root: root.into() }
    }

    /// Returns the operating system interface they use.
    pub fn os(&self) -> &Arc<dyn Os> {
        &self.os
    }

    /// Returns the directory of all caches.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file of this kind and name.
    pub fn path(&self, kind: Kind, name: &str) -> PathBuf {
        self.root.join(kind.directory).join(name)
    }

    /// Reads a cache file; none if it is missing or invalid.
    pub fn read(&self, kind: Kind, name: &str) -> Option<Cached> {
        let bytes = read_whole(self.os.as_ref(), &self.path(kind, name), MAX_LENGTH).ok()?;
        kind.body(&bytes)?;
        Some(Cached(bytes))
    }

    /// Opens the body of a cache file for reading in pieces. Only at the end is it known to be valid.
    pub(crate) fn reader(&self, kind: Kind, name: &str) -> Option<BodyReader> {
        let file = self.os.open(&self.path(kind, name), Mode::Read).ok()?;
        let length = file.stat().ok()?.length;
        let mut reader = BodyReader {
            file,
            offset: 0,
            end: length,
            buffer: Vec::new(),
            n_taken: 0,
            checksum: crc32fast::Hasher::new(),
            expected: 0,
        };
        let mut found = [0; HEAD];
        reader.read(&mut found)?;
        let body = length.checked_sub(HEAD as u64)?;
        let (before, expected) = found.split_last_chunk()?;
        reader.expected = u32::from_le_bytes(*expected);
        reader.checksum = crc32fast::Hasher::new();
        reader.checksum.update(before);
        (before == head_before_checksum(kind, body)).then_some(reader)
    }

    /// Replaces the body of a cache file. It need not survive power loss.
    pub fn write(&self, kind: Kind, name: &str, body: &[u8]) -> Result<(), StoreError> {
        create_directory(self.os.as_ref(), &self.root.join(kind.directory), false)?;
        let bytes = kind.file(body);
        let path = self.path(kind, name);
        // Replacing an existing file makes some file systems wait for the disk first, which a cache is not worth. A
        // process that looks in between finds no cache, as on first use.
        drop(self.os.remove(&path));
        swap_in(self.os.as_ref(), &path, &bytes)
    }

    /// Removes a cache file. It may be missing.
    pub fn remove(&self, kind: Kind, name: &str) {
        drop(self.os.remove(&self.path(kind, name)));
    }
}

/// The body of a cache file.
#[derive(Debug, Default)]
pub struct Cached(Vec<u8>);

impl Deref for Cached {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.get(HEAD..).unwrap_or_default()
    }
}

/// How much of a file is read at once: enough that few calls are needed, little enough to stay in the processor's
/// cache.
const BUFFER: u64 = 64 << 10;

/// The body of a cache file while it is being read.
#[derive(Debug)]
pub(crate) struct BodyReader {
    file: Box<dyn OsFile>,
    /// Up to where the file was read, and where it ends.
    offset: u64,
    end: u64,
    buffer: Vec<u8>,
    n_taken: usize,
    checksum: crc32fast::Hasher,
    expected: u32,
}

impl BodyReader {
    /// Whether the whole body was read and its checksum is right.
    pub(crate) fn is_sound(&self) -> bool {
        self.remaining() == 0 && self.checksum.clone().finalize() == self.expected
    }

    fn refill(&mut self) -> Option<()> {
        self.n_taken = 0;
        let wanted = usize::try_from((self.end - self.offset).min(BUFFER)).ok()?;
        self.buffer.resize(wanted, 0);
        let mut n_read = 0;
        while n_read < wanted {
            match self.file.read_at(&mut self.buffer[n_read..], self.offset + n_read as u64).ok()? {
                0 => return None,
                count => n_read += count,
            }
        }
        self.offset += wanted as u64;
        (wanted > 0).then_some(())
    }
}

impl SavedBytes for BodyReader {
    fn remaining(&self) -> u64 {
        self.end - self.offset + (self.buffer.len() - self.n_taken) as u64
    }

    fn read(&mut self, mut buffer: &mut [u8]) -> Option<()> {
        while !buffer.is_empty() {
            if self.n_taken == self.buffer.len() {
                self.refill()?;
            }
            let there = &self.buffer[self.n_taken..];
            let n_bytes = there.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(n_bytes);
            now.copy_from_slice(&there[..n_bytes]);
            self.checksum.update(now);
            self.n_taken += n_bytes;
            buffer = later;
        }
        Some(())
    }
}

fn head_before_checksum(kind: Kind, n_body: u64) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD);
    head.extend(MAGIC);
    head.extend(kind.tag);
    head.extend(kind.version.to_le_bytes());
    head.extend(BYTE_ORDER.to_le_bytes());
    head.extend(n_body.to_le_bytes());
    head
}

fn head(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut head = head_before_checksum(kind, body.len() as u64);
    head.extend(checksum(&head, body).to_le_bytes());
    head
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(head);
    checksum.update(body);
    checksum.finalize()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests act as other programs")]
mod tests {
    use sessile_store::os::RealOs;

    use super::*;

    const KIND: Kind = Kind { directory: "things", tag: *b"THNG", version: 3, files: &[] };

    #[test]
    fn only_a_complete_file_of_the_right_kind_is_accepted() {
        let directory = tempfile::tempdir().unwrap();
        let caches = Caches::new(Arc::new(RealOs), directory.path().join("new"));
        let in_pieces = |kind| {
            let mut reader = caches.reader(kind, "a")?;
            let mut body = vec![0; usize::try_from(reader.remaining()).unwrap()];
            body.chunks_mut(3).try_for_each(|piece| reader.read(piece))?;
            reader.is_sound().then_some(body)
        };
        let read = |kind| {
            let whole = caches.read(kind, "a").map(|cached| cached.to_vec());
            assert_eq!(in_pieces(kind), whole);
            whole
        };
        assert_eq!(read(KIND), None);
        caches.write(KIND, "a", b"body").unwrap();
        assert_eq!(read(KIND).as_deref(), Some(b"body".as_slice()));
        let path = caches.path(KIND, "a");
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read(KIND), None, "cut to {length}");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            assert_eq!(read(KIND), None, "bit {bit}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(read(Kind { version: 4, ..KIND }), None);
        assert_eq!(read(Kind { tag: *b"OTHR", ..KIND }), None);
        caches.remove(KIND, "a");
        assert_eq!(read(KIND), None);
    }
}
