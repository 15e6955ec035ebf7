//! The guard: a copy of acknowledged lines beside the session, kept until they are safe.
//!
//! A program that rewrites a session in place writes back what it read before and so destroys lines appended since.
//! Every appended line therefore also goes into `.<name>.sessile-guard`. It stays there until it has been in the
//! session, unchanged and in place, for [`CONFIRMED_AFTER_MS`]. If a line vanishes before that, the next process of
//! ours that writes to the session restores it, within [`RESTORED_WITHIN_MS`] of its acknowledgement. Later it is
//! dropped: by then it is more likely that a user removed it on purpose.
//!
//! The file is a head followed by records with checksums, written one after another under the session's lock. A torn
//! record at the end was never acknowledged. Deleting the file loses protection, never data.
//!
//! Each record follows a note: a record without lines, whose time and offset fields hold the record's time by the boot
//! clock. Processes of earlier releases, which may share the file, treat a note as a record that is in place. They
//! write no notes; for their records the wall clock counts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::location::fingerprint;

use crate::error::StoreError;
use crate::lock::open_sidecar;
use crate::os::{Identity, Lock, Mode, Os, OsFile, append_fully, read_fully, read_upto, write_fully};
use crate::planted::{self, Bug};
use crate::publish::read_limited;
use crate::sidecar_name::beside;

/// How long a line must have stayed in place to be safe.
///
/// A program that rewrites a session reads it first, and overwrites what was appended in between. Reading and rewriting
/// takes less time than this.
pub(crate) const CONFIRMED_AFTER_MS: i64 = 5000;

/// How long after its acknowledgement a vanished line is restored.
pub(crate) const RESTORED_WITHIN_MS: i64 = 60 * 60 * 1000;

/// The first bytes of a guard file, including its version.
const MAGIC: [u8; 8] = *b"sessile\x02";
/// Magic, generation, owner, checksum.
const HEAD_LENGTH: usize = 8 + 8 + 8 + 4;
const HEAD: u64 = HEAD_LENGTH as u64;
/// The first bytes of every record.
const RECORD: [u8; 4] = *b"\nrec";
/// Marker, length, time, offset, device, inode, then checksum.
const RECORD_HEAD: usize = 4 + 4 + 8 + 8 + 8 + 8 + 4;
/// Upper bound on confirmed records in the file, in bytes; beyond it the guard is rewritten without them.
const MAX_CONFIRMED: u64 = 4 << 20;

/// A moment, by the wall clock, which can be set, and by the boot clock, which cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// In milliseconds since 1970.
    wall_ms: i64,
    /// By the boot clock; none in records of earlier releases.
    boot: Option<Boot>,
}

/// A moment in one boot of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Boot {
    id: u32,
    ms: i64,
}

impl Moment {
    pub(crate) fn now(os: &dyn Os) -> Self {
        Self::at(os, os.boot_ms())
    }

    /// Returns the current moment, with a boot time that the caller has already read.
    pub(crate) fn at(os: &dyn Os, boot_ms: i64) -> Self {
        Self { wall_ms: os.now_ms(), boot: Some(Boot { id: os.boot_id(), ms: boot_ms }) }
    }

    /// Returns the age in milliseconds.
    ///
    /// Within one boot, the boot clock counts. Across boots and machines, only the wall clock is available. A moment
    /// slightly in the future counts as now, since the clocks of two machines never agree. A moment far in the future
    /// comes from a wrong clock and may be arbitrarily old.
    fn age(self, now: Self) -> i64 {
        if let Some((then, now)) = self.boot.zip(now.boot)
            && then.id == now.id
            && then.ms <= now.ms
        {
            return now.ms - then.ms;
        }
        match now.wall_ms.saturating_sub(self.wall_ms) {
            age if age < -RESTORED_WITHIN_MS => i64::MAX,
            age => age.max(0),
        }
    }
}

/// When and where lines were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenAt {
    /// When they were written there.
    pub(crate) moment: Moment,
    /// How long before that they were acknowledged, in milliseconds. Restored lines are older than this time.
    pub(crate) known_for_ms: u32,
    /// The offset of their first byte.
    pub(crate) offset: u64,
    /// The file.
    pub(crate) identity: Identity,
}

/// Upper bound on the size of a guard: far more than is appended in five seconds.
const MAX_LENGTH: u64 = 1 << 30;

/// The smallest and the largest step by which the file grows.
const GROWTH_STEPS: (u64, u64) = (32 << 10, 1 << 20);

/// How much is read at first when looking for records that other processes have added.
const FIRST_READ: u64 = 16 << 10;

/// The content of a growth step.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Acknowledged lines and where they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where they were written.
    pub(crate) written_at: WrittenAt,
    /// Whole lines.
    pub(crate) lines: Vec<u8>,
}

impl Record {
    /// Whether its lines have been in place long enough to be confirmed.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        self.written_at.moment.age(now) >= CONFIRMED_AFTER_MS || planted::has(Bug::GuardForgets)
    }

    /// Returns how long ago its lines were acknowledged, in milliseconds.
    pub(crate) fn acknowledged_ms_ago(&self, now: Moment) -> i64 {
        self.written_at.moment.age(now).saturating_add(i64::from(self.written_at.known_for_ms))
    }

    /// Whether its lines are too old to be restored.
    pub(crate) fn is_expired(&self, now: Moment) -> bool {
        self.acknowledged_ms_ago(now) > RESTORED_WITHIN_MS
    }

    /// Whether its lines are where they were written.
    pub(crate) fn is_in_place(&self, session: &dyn OsFile, identity: Identity) -> bool {
        let there = || read_upto(session, self.written_at.offset, self.lines.len() as u64);
        self.written_at.identity == identity && there().is_ok_and(|bytes| bytes == self.lines)
    }

    /// Returns its size in the file, including its note.
    fn len(&self) -> u64 {
        let note = if self.written_at.moment.boot.is_some() { RECORD_HEAD } else { 0 };
        (note + RECORD_HEAD + self.lines.len()) as u64
    }
}

/// An open handle on a session's guard. Every method requires the session's lock.
#[derive(Debug)]
pub(crate) struct Guard {
    os: Arc<dyn Os>,
    path: PathBuf,
    file: Box<dyn OsFile>,
    /// How often a process of ours has swapped the session's file.
    generation: u64,
    /// The session that the lines belong to: see [`owner_of`].
    owner: u64,
    /// Where the next record goes: after the last whole record.
    end: u64,
    /// The length of the file. It contains only zeros after `end`.
    allocated: u64,
    /// Records to be written. Records whose write failed stay here until the next attempt.
    buffer: Vec<u8>,
}

impl Guard {
    /// Opens the guard of a session, creating it if necessary.
    pub(crate) fn open(os: &Arc<dyn Os>, session: &Path) -> Result<Self, StoreError> {
        let path = guard_path(session);
        let file = open_sidecar(os.as_ref(), &path)?;
        // Marks the session as in use: another process removes the guard only if it gets this lock exclusively.
        drop(file.try_lock(Lock::Shared));
        let mut guard = Self {
            os: Arc::clone(os),
            path,
            file,
            generation: 0,
            owner: 0,
            end: HEAD,
            allocated: 0,
            buffer: Vec::new(),
        };
        guard.read_head()?;
        Ok(guard)
    }

    /// Returns the session that the lines belong to, if known.
    pub(crate) fn owner(&self) -> Option<u64> {
        (self.owner != 0).then_some(self.owner)
    }

    /// Sets the session that the lines belong to, unless it is known.
    pub(crate) fn set_owner(&mut self, owner: u64) -> Result<(), StoreError> {
        if self.owner != 0 {
            return Ok(());
        }
        self.owner = owner;
        write_fully(self.file.as_ref(), &head(self.generation, owner), 0).map_err(StoreError::io("write", &self.path))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the total length of the records.
    pub(crate) fn len(&self) -> u64 {
        self.end - HEAD
    }

    /// Updates the known state of the file: other processes may have added records, or replaced or removed the file.
    ///
    /// Records are only ever added at the end and removed by replacing the file, so the link count and the bytes at our
    /// end show all changes. Returns whether the guard is a different file now.
    pub(crate) fn catch_up(&mut self, session: &Path) -> Result<bool, StoreError> {
        let stat = self.file.stat().map_err(StoreError::io("access", &self.path))?;
        if stat.n_links == 0 {
            let waiting = std::mem::take(&mut self.buffer);
            *self = Self { buffer: waiting, ..Self::open(&self.os, session)? };
            return Ok(true);
        }
        let mut next = [0; RECORD.len()];
        let n_read = read_fully(self.file.as_ref(), &mut next, self.end).map_err(StoreError::io("read", &self.path))?;
        self.allocated = stat.length;
        if next[..n_read].iter().any(|byte| *byte != 0) {
            self.advance_past_new_records()?;
        }
        Ok(false)
    }

    /// Adds lines that were just written. If that fails, they are written with the next ones.
    pub(crate) fn remember(&mut self, written_at: WrittenAt, lines: &[u8]) -> Result<(), StoreError> {
        if planted::has(Bug::GuardOff) {
            return Ok(());
        }
        encode(written_at, lines, &mut self.buffer);
        self.flush()
    }

    /// Writes the buffered records.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.make_room(self.buffer.len() as u64);
        if let Err(error) = write_fully(self.file.as_ref(), &self.buffer, self.end) {
            // Part of a record must not remain where the next one begins.
            drop(self.file.set_length(self.end));
            self.allocated = self.end;
            return Err(StoreError::io_at("write", &self.path, error));
        }
        self.end += self.buffer.len() as u64;
        self.allocated = self.allocated.max(self.end);
        self.buffer.clear();
        Ok(())
    }

    /// Grows the file in large steps, because growing costs more than writing.
    fn make_room(&mut self, wanted: u64) {
        if self.end + wanted <= self.allocated {
            return;
        }
        let piece = self.allocated.clamp(GROWTH_STEPS.0, GROWTH_STEPS.1);
        let zeros = &ZEROS[..usize::try_from(piece).unwrap_or(usize::MAX).min(ZEROS.len())];
        // If this fails, writing the record grows the file, or reports that there is no space.
        if let Ok(n_written) = self.file.write_at(zeros, self.allocated) {
            self.allocated += n_written as u64;
        }
    }

    /// Returns all records, oldest first.
    pub(crate) fn records(&self) -> Result<Vec<Record>, StoreError> {
        Ok(decode(&self.read_from(HEAD)?).0)
    }

    /// Drops all records except `kept`.
    ///
    /// Rewrites the file if `must` is set, if no record is kept, or if many are dropped. Otherwise the dropped records
    /// stay in the file until a later rewrite.
    pub(crate) fn keep(&mut self, kept: &[Record], must: bool) -> Result<(), StoreError> {
        let n_forgotten = self.len().saturating_sub(kept.iter().map(Record::len).sum());
        // The file is never truncated in place: other processes remember its end and would write past the new one.
        let is_worth_it = kept.is_empty() && self.end > HEAD;
        if must || is_worth_it || n_forgotten > MAX_CONFIRMED {
            self.replace(self.generation, kept)?;
        }
        Ok(())
    }

    /// Returns the current moment, for comparison with records.
    pub(crate) fn now(&self) -> Moment {
        Moment::now(self.os.as_ref())
    }

    /// Rewrites the guard. A complete guard exists at every moment.
    pub(crate) fn replace(&mut self, generation: u64, records: &[Record]) -> Result<(), StoreError> {
        let temporary = self.path.with_extension("sessile-guard-new");
        let failed = |error| StoreError::io_at("write", &temporary, error);
        let mut bytes = head(generation, self.owner);
        for record in records {
            encode(record.written_at, &record.lines, &mut bytes);
        }
        // A file left by a crash is ours to remove, since we hold the lock.
        drop(self.os.remove(&temporary));
        let file = self.os.open(&temporary, Mode::New).map_err(failed)?;
        let written = append_fully(file.as_ref(), &bytes).and_then(|()| self.os.rename(&temporary, &self.path));
        if let Err(error) = written {
            drop(self.os.remove(&temporary));
            return Err(failed(error));
        }
        // Reopened, because an append handle cannot write at an offset.
        self.file = open_sidecar(self.os.as_ref(), &self.path)?;
        drop(self.file.try_lock(Lock::Shared));
        self.generation = generation;
        (self.end, self.allocated) = (bytes.len() as u64, bytes.len() as u64);
        Ok(())
    }

    /// Whether no other process has marked the session as in use.
    pub(crate) fn is_ours_alone(&self) -> bool {
        self.file.try_lock(Lock::Exclusive).unwrap_or(false)
    }

    /// Removes the guard if it is empty and no other process uses the session.
    pub(crate) fn remove_if_unused(&self) -> bool {
        self.end == HEAD && self.is_ours_alone() && self.os.remove(&self.path).is_ok()
    }

    /// Reads the head and the records. A file that is not a valid guard is reset.
    fn read_head(&mut self) -> Result<(), StoreError> {
        let mut bytes = [0; HEAD_LENGTH];
        let n_read = read_fully(self.file.as_ref(), &mut bytes, 0).map_err(StoreError::io("read", &self.path))?;
        self.end = HEAD;
        let (generation, owner) = (number(&bytes, 8), number(&bytes, 16));
        if n_read == bytes.len() && bytes == head(generation, owner)[..] {
            (self.generation, self.owner) = (generation, owner);
            return self.advance_past_records();
        }
        let failed = StoreError::io("write", &self.path);
        self.file.set_length(0).map_err(&failed)?;
        self.allocated = HEAD;
        write_fully(self.file.as_ref(), &head(self.generation, self.owner), 0).map_err(failed)
    }

    /// Moves our end past the records that other processes have added, reading little more than those.
    fn advance_past_new_records(&mut self) -> Result<(), StoreError> {
        let mut wanted = FIRST_READ;
        loop {
            let bytes = read_upto(self.file.as_ref(), self.end, wanted).map_err(StoreError::io("read", &self.path))?;
            let whole = decode(&bytes).1;
            self.end += whole as u64;
            let rest = &bytes[whole..];
            if rest.iter().take(RECORD.len()).all(|byte| *byte == 0) {
                return Ok(());
            }
            if whole == 0 && (bytes.len() as u64) < wanted {
                // A torn record: `advance_past_records` handles it.
                return self.advance_past_records();
            }
            if whole == 0 {
                wanted *= 2;
            }
        }
    }

    /// Moves our end past the following records, and cuts off anything else.
    fn advance_past_records(&mut self) -> Result<(), StoreError> {
        let bytes = self.read_from(self.end)?;
        let whole = decode(&bytes).1;
        self.allocated = self.end + bytes.len() as u64;
        self.end += whole as u64;
        // Only zeros may follow; other bytes could be taken for a record once something is written before them.
        if bytes[whole..].iter().any(|byte| *byte != 0) {
            self.file.set_length(self.end).map_err(StoreError::io("truncate", &self.path))?;
            self.allocated = self.end;
        }
        Ok(())
    }

    fn read_from(&self, offset: u64) -> Result<Vec<u8>, StoreError> {
        read_limited(self.file.as_ref(), &self.path, offset, MAX_LENGTH)
    }
}

/// Returns the records of a guard file, opening it read-only.
pub(crate) fn peek(os: &dyn Os, session: &Path) -> Result<Vec<Record>, StoreError> {
    let path = guard_path(session);
    let file = match os.open(&path, Mode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io_at("open", &path, error)),
    };
    Ok(decode(&read_limited(file.as_ref(), &path, HEAD, MAX_LENGTH)?).0)
}

/// Whether a session's guard holds entries.
pub fn has_guard(os: &dyn Os, session: &Path) -> bool {
    peek(os, session).is_ok_and(|records| !records.is_empty())
}

/// Returns the path of a session's guard.
pub(crate) fn guard_path(session: &Path) -> PathBuf {
    beside(session, ".", ".sessile-guard")
}

fn head(generation: u64, owner: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(generation.to_le_bytes());
    bytes.extend(owner.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// Returns a number that stands for the session with this id. Zero stands for none.
pub(crate) fn owner_of(session_id: &[u8]) -> u64 {
    fingerprint(session_id)
}

/// Encodes a record and, before it, the note with its time by the boot clock.
fn encode(written_at: WrittenAt, lines: &[u8], out: &mut Vec<u8>) {
    let WrittenAt { moment, known_for_ms, offset, identity } = written_at;
    if let Some(boot) = moment.boot {
        let time = (u64::from(boot.id) << 32 | u64::from(known_for_ms)).cast_signed();
        encode_one(time, boot.ms.cast_unsigned(), identity, b"", out);
    }
    encode_one(moment.wall_ms, offset, identity, lines, out);
}

fn encode_one(time: i64, offset: u64, identity: Identity, lines: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(RECORD);
    // A record holds one append, which the line cap keeps far below this limit.
    out.extend(u32::try_from(lines.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(time.to_le_bytes());
    for field in [offset, identity.device, identity.inode] {
        out.extend(field.to_le_bytes());
    }
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&out[start..]);
    checksum.update(lines);
    out.extend(checksum.finalize().to_le_bytes());
    out.extend_from_slice(lines);
}

/// Decodes the whole records at the start of these bytes, and returns the number of bytes that they and their notes
/// take.
fn decode(bytes: &[u8]) -> (Vec<Record>, usize) {
    let mut records = Vec::new();
    let mut rest = bytes;
    let mut note = None;
    while let Some((mut record, length)) = decode_one(rest) {
        rest = &rest[length..];
        if record.lines.is_empty() {
            note = Some(record.written_at);
            continue;
        }
        if let Some(noted) = note.take() {
            let time = noted.moment.wall_ms.cast_unsigned();
            let [id, known_for_ms] = [time >> 32, time & u64::from(u32::MAX)].map(half);
            record.written_at.moment.boot = Some(Boot { id, ms: noted.offset.cast_signed() });
            record.written_at.known_for_ms = known_for_ms;
        }
        records.push(record);
    }
    (records, bytes.len() - rest.len())
}

/// Converts half of a number that was already shifted or masked.
fn half(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn decode_one(bytes: &[u8]) -> Option<(Record, usize)> {
    let fixed = bytes.get(..RECORD_HEAD)?;
    if !fixed.starts_with(&RECORD) {
        return None;
    }
    let length = u32::from_le_bytes(fixed[4..8].try_into().ok()?) as usize;
    let lines = bytes.get(RECORD_HEAD..RECORD_HEAD + length)?;
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&fixed[..RECORD_HEAD - 4]);
    checksum.update(lines);
    let is_whole = checksum.finalize().to_le_bytes() == fixed[RECORD_HEAD - 4..];
    if !is_whole {
        return None;
    }
    let identity = Identity { device: number(fixed, 24), inode: number(fixed, 32) };
    let moment = Moment { wall_ms: number(fixed, 8).cast_signed(), boot: None };
    let written_at = WrittenAt { moment, known_for_ms: 0, offset: number(fixed, 16), identity };
    Some((Record { written_at, lines: lines.to_vec() }, RECORD_HEAD + lines.len()))
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(wall_ms: i64, id: u32, ms: i64) -> Moment {
        Moment { wall_ms, boot: Some(Boot { id, ms }) }
    }

    fn record(lines: &[u8]) -> Record {
        let identity = Identity { device: 1, inode: 2 };
        let written_at = WrittenAt { moment: moment(7, 3, 11), known_for_ms: u32::MAX - 1, offset: 9, identity };
        Record { written_at, lines: lines.to_vec() }
    }

    #[test]
    fn records_round_trip_and_a_torn_one_is_skipped() {
        let (one, two) = (record(b"{\"a\":1}\n"), record(b"{\"b\":2}\n{\"c\":3}\n"));
        let mut bytes = Vec::new();
        encode(one.written_at, &one.lines, &mut bytes);
        let first = bytes.len();
        encode(two.written_at, &two.lines, &mut bytes);
        assert_eq!(decode(&bytes), (vec![one.clone(), two], bytes.len()));
        // The second note is whole before its record is.
        let whole = |at| if at < first + RECORD_HEAD { first } else { first + RECORD_HEAD };
        for cut in first..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), (vec![one.clone()], whole(cut)));
        }
        for flipped in first..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[flipped] ^= 4;
            assert_eq!(decode(&damaged), (vec![one.clone()], whole(flipped)));
        }
    }

    /// A record as the last release writes it, byte for byte.
    #[test]
    fn records_of_earlier_releases_are_read() {
        let mut bytes = b"\nrec".to_vec();
        bytes.extend(2_u32.to_le_bytes());
        for field in [7_u64, 9, 1, 2] {
            bytes.extend(field.to_le_bytes());
        }
        let checksum = crc32fast::hash(&[&bytes[..], b"x\n"].concat());
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(b"x\n");
        let written_at =
            WrittenAt { moment: Moment { wall_ms: 7, boot: None }, known_for_ms: 0, ..record(b"").written_at };
        let old = Record { written_at, lines: b"x\n".to_vec() };
        assert_eq!(decode(&bytes), (vec![old.clone()], bytes.len()));
        let mut again = Vec::new();
        encode(old.written_at, &old.lines, &mut again);
        assert_eq!(again, bytes, "an old record is encoded as before");
        let now = moment(7 + 6000, 3, 0);
        assert!(old.is_due(now) && !old.is_expired(now), "its age comes from the wall clock");
    }

    /// The last release treats a note as a record that is in place, whatever it says.
    #[test]
    fn a_note_is_a_record_without_lines_in_the_same_file() {
        let mut bytes = Vec::new();
        encode(record(b"x\n").written_at, b"x\n", &mut bytes);
        let (note, length) = decode_one(&bytes).unwrap();
        assert_eq!((note.lines, note.written_at.identity), (Vec::new(), record(b"").written_at.identity));
        assert_eq!((length, record(b"x\n").len()), (RECORD_HEAD, bytes.len() as u64));
    }

    const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

    #[test]
    fn within_a_boot_the_boot_clock_decides() {
        let then = moment(YEAR_MS, 3, 1000);
        for wall_ms in [0, YEAR_MS - 10_000, YEAR_MS, YEAR_MS + 10_000, 2 * YEAR_MS] {
            assert_eq!(then.age(moment(wall_ms, 3, 5999)), 4999);
        }
    }

    #[test]
    fn after_a_reboot_a_plausible_wall_clock_decides() {
        let then = moment(YEAR_MS, 3, 1000);
        for (wall_ms, age) in [
            (YEAR_MS + 7000, 7000),
            (YEAR_MS - 7000, 0),
            (YEAR_MS - RESTORED_WITHIN_MS, 0),
            (YEAR_MS - RESTORED_WITHIN_MS - 1, i64::MAX),
            (0, i64::MAX),
        ] {
            assert_eq!(then.age(moment(wall_ms, 4, 5999)), age, "after another boot");
            assert_eq!(then.age(moment(wall_ms, 3, 999)), age, "after the boot clock went back");
        }
    }

    #[test]
    fn restored_lines_keep_their_age() {
        let written_at = WrittenAt { known_for_ms: 1000, ..record(b"").written_at };
        let record = Record { written_at, ..record(b"x\n") };
        let hour = 11 + RESTORED_WITHIN_MS;
        assert!(!record.is_expired(moment(0, 3, hour - 1000)) && record.is_expired(moment(0, 3, hour - 999)));
        assert!(!record.is_due(moment(0, 3, 11 + 4999)), "a restored line must stay as long as any other line");
    }
}
