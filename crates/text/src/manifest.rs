//! Records how far the index covers which sessions, and its segments.
//!
//! Every search reads the records of thousands of sessions and uses a few of them. So records have a fixed length,
//! their texts stay in the buffer they were read into, and no record is allocated separately.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use sessile_core::location::path_text;
use sessile_index::{Cached, Caches, Kind, Mark};

use crate::codec::{Bytes, put};
use crate::segment::SegmentInfo;

/// The cache kind of the index. A change of the tokenizer or of the texts taken from a line needs a new version, too.
pub(crate) const KIND: Kind = Kind { directory: "text", tag: *b"TEXT", version: 4, files: &[NAME, ".segment"] };

/// The file name of the manifest.
pub(crate) const NAME: &str = "manifest";

/// A session that is covered, at least in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownSession {
    /// Its number. A rewritten file gets a new one, and no number is reused.
    pub(crate) number: u32,
    /// Its path.
    pub(crate) path: PathBuf,
    /// How far it is covered.
    pub(crate) mark: Mark,
    /// Whether it is a session. Other files are recorded so that they are not read again.
    pub(crate) is_session: bool,
    /// Its id.
    pub(crate) id: String,
    /// Its working directory.
    pub(crate) cwd: String,
}

/// The record of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// See [`KnownSession::number`].
    pub(crate) number: u32,
    /// See [`KnownSession::is_session`].
    pub(crate) is_session: bool,
    /// See [`KnownSession::mark`].
    pub(crate) mark: Mark,
    /// The indices of its directory and of its working directory.
    directory: u32,
    cwd: u32,
    name: Text,
    /// Usually a part of the name.
    id: Text,
}

/// The position of a text among all texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Text {
    at: u32,
    length: u32,
}

/// The size of a record in bytes.
const RECORD: usize = 7 * 4 + Mark::LEN;

/// The manifest. Segments are in order of creation.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) next_number: u32,
    /// Sorted by directory and name, except for records that were added since.
    pub(crate) records: Vec<Record>,
    /// How many records are sorted.
    n_ordered: usize,
    /// The directories of sessions, each with a trailing slash.
    directories: Vec<Text>,
    cwds: Vec<Text>,
    texts: Texts,
    pub(crate) segments: Vec<SegmentInfo>,
}

/// The names, ids and directories of sessions: the stored ones, followed by added ones.
#[derive(Debug, Default)]
struct Texts {
    stored: Cached,
    start: usize,
    length: usize,
    added: Vec<u8>,
}

impl Texts {
    fn get(&self, text: Text) -> &[u8] {
        let (at, length) = (text.at as usize, text.length as usize);
        let found = match at.checked_sub(self.length) {
            None => self.stored.get(self.start + at..self.start + at + length),
            Some(at) => self.added.get(at..at + length),
        };
        found.unwrap_or_default()
    }

    fn add(&mut self, text: &[u8]) -> Text {
        let at = u32::try_from(self.length + self.added.len()).unwrap_or(u32::MAX);
        self.added.extend_from_slice(text);
        Text { at, length: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }
}

/// Splits a path into the directory, with a trailing slash, and the name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1))
}

impl Manifest {
    /// Reads the manifest; empty if there is no valid one.
    pub(crate) fn read(caches: &Caches) -> Self {
        caches.read(KIND, NAME).and_then(Self::decode).unwrap_or_default()
    }

    pub(crate) fn write(&self, caches: &Caches) -> Result<(), sessile_store::StoreError> {
        caches.write(KIND, NAME, &self.encode())
    }

    /// Returns the place of a session, unless it was added since the records were sorted.
    pub(crate) fn find(&self, path: &Path) -> Option<usize> {
        let (directory, name) = split(path_bytes(path));
        self.records[..self.n_ordered].binary_search_by(|record| self.compare(record, directory, name)).ok()
    }

    /// Returns the place of a session that is probably at `near`.
    pub(crate) fn find_near(&self, path: &Path, near: usize) -> Option<usize> {
        let (directory, name) = split(path_bytes(path));
        let is_here = self.records.get(near).is_some_and(|record| self.is_at(record, directory, name));
        if is_here { Some(near) } else { self.find(path) }
    }

    fn is_at(&self, record: &Record, directory: &[u8], name: &[u8]) -> bool {
        self.name(record) == name && self.directory(record) == directory
    }

    fn compare(&self, record: &Record, directory: &[u8], name: &[u8]) -> Ordering {
        self.directory(record).cmp(directory).then_with(|| self.name(record).cmp(name))
    }

    fn directory(&self, record: &Record) -> &[u8] {
        self.texts.get(self.directories.get(record.directory as usize).copied().unwrap_or_default())
    }

    /// Returns the file name of a session.
    fn name(&self, record: &Record) -> &[u8] {
        self.texts.get(record.name)
    }

    /// Returns the id of a session.
    pub(crate) fn id(&self, record: &Record) -> &str {
        std::str::from_utf8(self.texts.get(record.id)).unwrap_or_default()
    }

    /// Returns the working directory of a session.
    pub(crate) fn cwd(&self, record: &Record) -> &str {
        let cwd = self.cwds.get(record.cwd as usize).copied().unwrap_or_default();
        std::str::from_utf8(self.texts.get(cwd)).unwrap_or_default()
    }

    /// Returns the path of a session, in a reusable buffer.
    pub(crate) fn path<'b>(&self, record: &Record, buffer: &'b mut Vec<u8>) -> &'b Path {
        buffer.clear();
        buffer.extend_from_slice(self.directory(record));
        buffer.extend_from_slice(self.name(record));
        Path::new(path_text(buffer))
    }

    /// Returns the path of the session at a place.
    pub(crate) fn path_at(&self, index: usize) -> PathBuf {
        let record = self.records.get(index);
        record.map(|record| self.path(record, &mut Vec::new()).to_path_buf()).unwrap_or_default()
    }

    /// Keeps some of the sessions.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(usize, &Self) -> bool) {
        let kept: Vec<bool> = (0..self.records.len()).map(|index| is_kept(index, self)).collect();
        self.n_ordered = kept.iter().take(self.n_ordered).filter(|kept| **kept).count();
        let mut kept = kept.into_iter();
        self.records.retain(|_| kept.next().unwrap_or(false));
    }

    /// Builds lookup tables of the directories, so that adding sessions is fast.
    pub(crate) fn directory_numbers(&self) -> Interned {
        let number =
            |texts: &[Text]| (0..).zip(texts).map(|(index, text)| (self.texts.get(*text).to_vec(), index)).collect();
        Interned { directories: number(&self.directories), cwds: number(&self.cwds) }
    }

    /// Replaces the session at a place, or appends it; returns its place.
    pub(crate) fn put(&mut self, index: Option<usize>, known: &KnownSession, interned: &mut Interned) -> usize {
        let (directory, name) = split(path_bytes(&known.path));
        let directory = intern(&mut interned.directories, &mut self.directories, &mut self.texts, directory);
        let cwd = intern(&mut interned.cwds, &mut self.cwds, &mut self.texts, known.cwd.as_bytes());
        let before = index.and_then(|index| self.records.get(index)).map(|record| record.name);
        let same = before.filter(|before| self.texts.get(*before) == name);
        let name_at = same.unwrap_or_else(|| self.texts.add(name));
        let id = match memchr::memmem::find(name, known.id.as_bytes()) {
            Some(at) => Text {
                at: name_at.at.saturating_add(u32::try_from(at).unwrap_or(u32::MAX)),
                length: u32::try_from(known.id.len()).unwrap_or(u32::MAX),
            },
            None => self.texts.add(known.id.as_bytes()),
        };
        let KnownSession { number, is_session, mark, .. } = *known;
        let record = Record { number, is_session, mark, directory, cwd, name: name_at, id };
        if let Some(index) = index {
            self.records[index] = record;
            return index;
        }
        self.records.push(record);
        self.records.len() - 1
    }

    /// Returns the session at a place, with all its data.
    pub(crate) fn known(&self, index: usize) -> Option<KnownSession> {
        let record = self.records.get(index)?;
        Some(KnownSession {
            number: record.number,
            path: self.path_at(index),
            mark: record.mark,
            is_session: record.is_session,
            id: self.id(record).to_owned(),
            cwd: self.cwd(record).to_owned(),
        })
    }

    /// Sorts all sessions.
    pub(crate) fn sort(&mut self) {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by(|one, other| self.order(one, other));
        self.n_ordered = records.len();
        self.records = records;
    }

    fn order(&self, one: &Record, other: &Record) -> Ordering {
        let is_same = one.directory == other.directory;
        let directories = if is_same { Ordering::Equal } else { self.directory(one).cmp(self.directory(other)) };
        directories.then_with(|| self.name(one).cmp(self.name(other)))
    }

    fn encode(&self) -> Vec<u8> {
        let mut ordered: Vec<&Record> = self.records.iter().collect();
        ordered.sort_by(|one, other| self.order(one, other));
        let mut texts = Vec::with_capacity(ordered.len() * 80);
        let mut copy = |text: &[u8]| {
            let at = u32::try_from(texts.len()).unwrap_or(u32::MAX);
            texts.extend_from_slice(text);
            Text { at, length: u32::try_from(text.len()).unwrap_or(u32::MAX) }
        };
        let mut out = Vec::with_capacity(ordered.len() * (RECORD + 80) + 1024);
        let counts = [ordered.len(), self.directories.len(), self.cwds.len()];
        put_u32(&mut out, self.next_number);
        for count in counts {
            put_u32(&mut out, u32::try_from(count).unwrap_or(u32::MAX));
        }
        for text in self.directories.iter().chain(&self.cwds) {
            put_text(&mut out, copy(self.texts.get(*text)));
        }
        for record in ordered {
            let Record { number, is_session, directory, cwd, name, id, mark } = record;
            let new_name = copy(self.texts.get(*name));
            let end = |text: &Text| u64::from(text.at) + u64::from(text.length);
            let is_part = name.at <= id.at && end(id) <= end(name);
            let id =
                if is_part { Text { at: new_name.at + id.at - name.at, ..*id } } else { copy(self.texts.get(*id)) };
            put_u32(&mut out, *number << 1 | u32::from(*is_session));
            put_u32(&mut out, *directory);
            put_u32(&mut out, *cwd);
            put_text(&mut out, new_name);
            put_text(&mut out, id);
            out.extend_from_slice(&mark.to_bytes());
        }
        put_u32(&mut out, u32::try_from(texts.len()).unwrap_or(u32::MAX));
        out.extend_from_slice(&texts);
        put(&mut out, self.segments.len() as u64);
        self.segments.iter().for_each(|segment| segment.encode(&mut out));
        out
    }

    fn decode(stored: Cached) -> Option<Self> {
        let mut bytes = Bytes::new(&stored);
        let next_number = bytes.fixed()?;
        let (n_records, n_directories, n_cwds) =
            (bytes.fixed()? as usize, bytes.fixed()? as usize, bytes.fixed()? as usize);
        let mut texts = |n_texts: usize| -> Option<Vec<Text>> {
            let texts = bytes.take(n_texts.checked_mul(8)?)?;
            Some(texts.as_chunks().0.iter().copied().map(read_text).collect())
        };
        let (directories, cwds) = (texts(n_directories)?, texts(n_cwds)?);
        let records = bytes.take(n_records.checked_mul(RECORD)?)?;
        let records: Vec<Record> = records.as_chunks().0.iter().map(read_record).collect();
        let length = bytes.fixed()? as usize;
        let start = bytes.position();
        bytes.take(length)?;
        let mut segments = Vec::new();
        for _ in 0..bytes.count()? {
            segments.push(SegmentInfo::decode(&mut bytes)?);
        }
        bytes.is_empty().then_some(())?;
        let texts = Texts { stored, start, length, added: Vec::new() };
        Some(Self { next_number, n_ordered: records.len(), records, directories, cwds, texts, segments })
    }
}

/// Maps directories and working directories to numbers.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    directories: FxHashMap<Vec<u8>, u32>,
    cwds: FxHashMap<Vec<u8>, u32>,
}

fn intern(numbers: &mut FxHashMap<Vec<u8>, u32>, all: &mut Vec<Text>, texts: &mut Texts, text: &[u8]) -> u32 {
    if let Some(number) = numbers.get(text) {
        return *number;
    }
    let number = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.push(texts.add(text));
    numbers.insert(text.to_vec(), number);
    number
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: Text) {
    put_u32(out, text.at);
    put_u32(out, text.length);
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn read_text(bytes: [u8; 8]) -> Text {
    Text { at: read_u32(&bytes, 0), length: read_u32(&bytes, 4) }
}

fn read_record(bytes: &[u8; RECORD]) -> Record {
    let mut mark = [0; Mark::LEN];
    mark.copy_from_slice(&bytes[28..]);
    let code = read_u32(bytes, 0);
    Record {
        number: code >> 1,
        is_session: code & 1 == 1,
        directory: read_u32(bytes, 4),
        cwd: read_u32(bytes, 8),
        name: Text { at: read_u32(bytes, 12), length: read_u32(bytes, 16) },
        id: Text { at: read_u32(bytes, 20), length: read_u32(bytes, 24) },
        mark: Mark::from_bytes(&mark),
    }
}

pub(crate) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
