//! The guard: what we acknowledged, kept beside the session until it is safe.
//!
//! Programs that rewrite a session in place write what they read before, and
//! so destroy what we have appended since. Therefore every appended line is
//! also put into `.<name>.sessile-guard`, and stays there until it has been in
//! the session, unchanged and in its place, for [`CONFIRMED_AFTER_MS`]. Lines
//! that have vanished before are put back by the next process of ours that
//! writes to the session, within [`RESTORED_WITHIN_MS`] of their
//! acknowledgement. After that they are dropped: by then their absence is more
//! likely somebody's wish than an accident.
//!
//! The file is a head and then records, each with a checksum, written one after
//! another under the session's lock. A torn record at the end was never
//! acknowledged. Deleting the file loses protection, never data.
//!
//! Before each record stands a note: a record without lines, whose time and
//! place hold when the record was made by the clock of the boot. Processes of
//! earlier releases, which may share the file, see nothing in a note but a
//! record that is in its place; what they write has none, and then the wall
//! clock counts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::location::fingerprint;

use crate::error::StoreError;
use crate::lock::open_sidecar;
use crate::os::{Identity, Lock, Mode, Os, OsFile, append_fully, read_fully, read_upto, write_fully};
use crate::place::{beside, read_limited};
use crate::planted::{self, Bug};

/// How long a line must have stayed in its place to be safe.
///
/// A program that rewrites a session reads it first; what it will overwrite is
/// what was appended in between. Reading and rewriting takes less than this.
pub(crate) const CONFIRMED_AFTER_MS: i64 = 5000;

/// How long after its acknowledgement a line that has vanished is put back.
pub(crate) const RESTORED_WITHIN_MS: i64 = 60 * 60 * 1000;

/// The guard's file starts with these, and its version.
const MAGIC: [u8; 8] = *b"sessile\x02";
/// Magic, generation, whose guard it is, checksum.
const HEAD_LENGTH: usize = 8 + 8 + 8 + 4;
const HEAD: u64 = HEAD_LENGTH as u64;
/// Every record starts with these.
const RECORD: [u8; 4] = *b"\nrec";
/// Marker, length, time, place, device, inode, then checksum.
const RECORD_HEAD: usize = 4 + 4 + 8 + 8 + 8 + 8 + 4;
/// So much of what is confirmed may lie around before the guard is written anew without it.
const MAX_CONFIRMED: u64 = 4 << 20;

/// A moment, by the wall clock, which can be set, and by the clock of the boot, which cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// In milliseconds since 1970.
    wall_ms: i64,
    /// By the clock of the boot, unless an earlier release wrote it down.
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

    /// This moment, whose time by the clock of the boot was asked for already.
    pub(crate) fn at(os: &dyn Os, boot_ms: i64) -> Self {
        Self { wall_ms: os.now_ms(), boot: Some(Boot { id: os.boot_id(), ms: boot_ms }) }
    }

    /// How long ago that was, in milliseconds.
    ///
    /// Within a boot its clock counts. Across boots, and machines, there is
    /// only the wall clock: a little in the future is now, since two machines
    /// never agree, and far in the future is a clock that was wrong, so that
    /// the moment may be as old as anything.
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
pub(crate) struct Place {
    /// When they were put there.
    pub(crate) moment: Moment,
    /// How long before that they were acknowledged, in milliseconds: lines that were put back are older than their place.
    pub(crate) known_for_ms: u32,
    /// Where their first byte went.
    pub(crate) offset: u64,
    /// Into which file.
    pub(crate) identity: Identity,
}

/// The longest guard that is read: far more than anybody appends in five seconds.
const MOST: u64 = 1 << 30;

/// The smallest and the largest piece by which the file grows.
const PIECES: (u64, u64) = (32 << 10, 1 << 20);

/// How much is read at first to see what others have added.
const FIRST_LOOK: u64 = 16 << 10;

/// What a piece consists of.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Lines that were acknowledged, and where they went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where to.
    pub(crate) place: Place,
    /// Whole lines.
    pub(crate) lines: Vec<u8>,
}

impl Record {
    /// Whether it has been there long enough.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        self.place.moment.age(now) >= CONFIRMED_AFTER_MS || planted::has(Bug::GuardForgets)
    }

    /// How long ago its lines were acknowledged, in milliseconds.
    pub(crate) fn acknowledged_ms_ago(&self, now: Moment) -> i64 {
        self.place.moment.age(now).saturating_add(i64::from(self.place.known_for_ms))
    }

    /// Whether its lines were acknowledged so long ago that they are not put back any more.
    pub(crate) fn is_expired(&self, now: Moment) -> bool {
        self.acknowledged_ms_ago(now) > RESTORED_WITHIN_MS
    }

    /// Whether its lines are where they were written.
    pub(crate) fn is_in_place(&self, session: &dyn OsFile, identity: Identity) -> bool {
        let there = || read_upto(session, self.place.offset, self.lines.len() as u64);
        self.place.identity == identity && there().is_ok_and(|bytes| bytes == self.lines)
    }

    /// How many bytes it takes.
    fn len(&self) -> u64 {
        let note = if self.place.moment.boot.is_some() { RECORD_HEAD } else { 0 };
        (note + RECORD_HEAD + self.lines.len()) as u64
    }
}

/// The guard of one session, as one handle. Every method needs the session's lock.
#[derive(Debug)]
pub(crate) struct Guard {
    os: Arc<dyn Os>,
    path: PathBuf,
    file: Box<dyn OsFile>,
    /// How often the session's file was swapped by one of us.
    generation: u64,
    /// Which session the lines belong to: see [`owner_of`].
    owner: u64,
    /// Where the next record goes: behind the last whole one.
    end: u64,
    /// How long the file is. Between the end and this there are only zeros.
    allocated: u64,
    /// Records on their way to the file. Those that could not be written wait here for the next chance.
    buffer: Vec<u8>,
}

impl Guard {
    /// Opens the guard of a session, or makes one.
    pub(crate) fn open(os: &Arc<dyn Os>, session: &Path) -> Result<Self, StoreError> {
        let path = guard_path(session);
        let file = open_sidecar(os.as_ref(), &path)?;
        // Says that the session has a user. Nobody waits for it, and nothing depends on it.
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

    /// Which session the lines belong to, if that is known.
    pub(crate) fn owner(&self) -> Option<u64> {
        (self.owner != 0).then_some(self.owner)
    }

    /// Says which session the lines belong to, unless that is known.
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

    /// The length of the records.
    pub(crate) fn len(&self) -> u64 {
        self.end - HEAD
    }

    /// Makes sure that what we know of the file is true: others may have added to it, replaced or removed it.
    ///
    /// Records are only ever added behind the last one, and taken out by
    /// replacing the file, so its links and the bytes at our end tell. Returns
    /// whether the guard is another file now.
    pub(crate) fn catch_up(&mut self, session: &Path) -> Result<bool, StoreError> {
        let stat = self.file.stat().map_err(StoreError::io("look at", &self.path))?;
        if stat.n_links == 0 {
            let waiting = std::mem::take(&mut self.buffer);
            *self = Self { buffer: waiting, ..Self::open(&self.os, session)? };
            return Ok(true);
        }
        let mut next = [0; RECORD.len()];
        let n_read = read_fully(self.file.as_ref(), &mut next, self.end).map_err(StoreError::io("read", &self.path))?;
        self.allocated = stat.length;
        if next[..n_read].iter().any(|byte| *byte != 0) {
            self.take_in_new()?;
        }
        Ok(false)
    }

    /// Remembers lines that were just written. If that fails, they are written with the next ones.
    pub(crate) fn remember(&mut self, place: Place, lines: &[u8]) -> Result<(), StoreError> {
        if planted::has(Bug::GuardOff) {
            return Ok(());
        }
        encode(place, lines, &mut self.buffer);
        self.flush()
    }

    /// Writes the records that could not be written before.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.make_room(self.buffer.len() as u64);
        if let Err(error) = write_fully(self.file.as_ref(), &self.buffer, self.end) {
            // A part of a record must not stay where the next one begins.
            drop(self.file.set_length(self.end));
            self.allocated = self.end;
            return Err(StoreError::io_at("write", &self.path, error));
        }
        self.end += self.buffer.len() as u64;
        self.allocated = self.allocated.max(self.end);
        self.buffer.clear();
        Ok(())
    }

    /// Lets the file grow by a large piece now and then, because growing costs more than writing.
    fn make_room(&mut self, wanted: u64) {
        if self.end + wanted <= self.allocated {
            return;
        }
        let piece = self.allocated.clamp(PIECES.0, PIECES.1);
        let zeros = &ZEROS[..usize::try_from(piece).unwrap_or(usize::MAX).min(ZEROS.len())];
        // Without room the record itself lets the file grow, or finds out that there is none.
        if let Ok(n_written) = self.file.write_at(zeros, self.allocated) {
            self.allocated += n_written as u64;
        }
    }

    /// All records, oldest first.
    pub(crate) fn records(&self) -> Result<Vec<Record>, StoreError> {
        Ok(decode(&self.read_from(HEAD)?).0)
    }

    /// Forgets all records but these.
    ///
    /// If all or many are forgotten, or some `must` be, the file is written again. A few are left for later.
    pub(crate) fn keep(&mut self, kept: &[Record], must: bool) -> Result<(), StoreError> {
        let n_forgotten = self.len().saturating_sub(kept.iter().map(Record::len).sum());
        // Never cut: others, who know where they wrote last, would write behind the end.
        let is_worth_it = kept.is_empty() && self.end > HEAD;
        if must || is_worth_it || n_forgotten > MAX_CONFIRMED {
            self.replace(self.generation, kept)?;
        }
        Ok(())
    }

    /// What time it is for the records.
    pub(crate) fn now(&self) -> Moment {
        Moment::now(self.os.as_ref())
    }

    /// Writes the guard anew. At every moment there is a whole one.
    pub(crate) fn replace(&mut self, generation: u64, records: &[Record]) -> Result<(), StoreError> {
        let temporary = self.path.with_extension("sessile-guard-new");
        let failed = |error| StoreError::io_at("write", &temporary, error);
        let mut bytes = head(generation, self.owner);
        for record in records {
            encode(record.place, &record.lines, &mut bytes);
        }
        // One that a crash has left behind is ours, since we hold the lock.
        drop(self.os.remove(&temporary));
        let file = self.os.open(&temporary, Mode::New).map_err(failed)?;
        let written = append_fully(file.as_ref(), &bytes).and_then(|()| self.os.rename(&temporary, &self.path));
        if let Err(error) = written {
            drop(self.os.remove(&temporary));
            return Err(failed(error));
        }
        // Opened anew, because a handle for appending cannot write at a place.
        self.file = open_sidecar(self.os.as_ref(), &self.path)?;
        drop(self.file.try_lock(Lock::Shared));
        self.generation = generation;
        (self.end, self.allocated) = (bytes.len() as u64, bytes.len() as u64);
        Ok(())
    }

    /// Whether nobody else has said that they use the session.
    pub(crate) fn is_ours_alone(&self) -> bool {
        self.file.try_lock(Lock::Exclusive).unwrap_or(false)
    }

    /// Removes the guard if it holds nothing and nobody else uses the session.
    pub(crate) fn remove_if_unused(&self) -> bool {
        self.end == HEAD && self.is_ours_alone() && self.os.remove(&self.path).is_ok()
    }

    /// Finds out what is in the file. What is no guard of ours is started anew.
    fn read_head(&mut self) -> Result<(), StoreError> {
        let mut bytes = [0; HEAD_LENGTH];
        let n_read = read_fully(self.file.as_ref(), &mut bytes, 0).map_err(StoreError::io("read", &self.path))?;
        self.end = HEAD;
        let (generation, owner) = (number(&bytes, 8), number(&bytes, 16));
        if n_read == bytes.len() && bytes == head(generation, owner)[..] {
            (self.generation, self.owner) = (generation, owner);
            return self.take_in();
        }
        let failed = StoreError::io("write", &self.path);
        self.file.set_length(0).map_err(&failed)?;
        self.allocated = HEAD;
        write_fully(self.file.as_ref(), &head(self.generation, self.owner), 0).map_err(failed)
    }

    /// Moves our end behind the records that others have added, reading little more than those.
    fn take_in_new(&mut self) -> Result<(), StoreError> {
        let mut wanted = FIRST_LOOK;
        loop {
            let bytes = read_upto(self.file.as_ref(), self.end, wanted).map_err(StoreError::io("read", &self.path))?;
            let whole = decode(&bytes).1;
            self.end += whole as u64;
            let rest = &bytes[whole..];
            if rest.iter().take(RECORD.len()).all(|byte| *byte == 0) {
                return Ok(());
            }
            if whole == 0 && (bytes.len() as u64) < wanted {
                // A torn record: the look at everything knows what to do.
                return self.take_in();
            }
            if whole == 0 {
                wanted *= 2;
            }
        }
    }

    /// Moves our end behind the records that follow it, and makes sure that nothing else does.
    fn take_in(&mut self) -> Result<(), StoreError> {
        let bytes = self.read_from(self.end)?;
        let whole = decode(&bytes).1;
        self.allocated = self.end + bytes.len() as u64;
        self.end += whole as u64;
        // Nothing but zeros may follow, or it could be taken for a record once something stands before it.
        if bytes[whole..].iter().any(|byte| *byte != 0) {
            self.file.set_length(self.end).map_err(StoreError::io("shorten", &self.path))?;
            self.allocated = self.end;
        }
        Ok(())
    }

    fn read_from(&self, offset: u64) -> Result<Vec<u8>, StoreError> {
        read_limited(self.file.as_ref(), &self.path, offset, MOST)
    }
}

/// The records a guard's file holds, without opening it for writing. For looking only.
pub(crate) fn peek(os: &dyn Os, session: &Path) -> Result<Vec<Record>, StoreError> {
    let path = guard_path(session);
    let file = match os.open(&path, Mode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io_at("open", &path, error)),
    };
    Ok(decode(&read_limited(file.as_ref(), &path, HEAD, MOST)?).0)
}

/// Whether a session has entries that its guard still answers for.
pub fn has_guard(os: &dyn Os, session: &Path) -> bool {
    peek(os, session).is_ok_and(|records| !records.is_empty())
}

/// Where a session's guard is.
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

/// A number that stands for the session with this id. Zero stands for none.
pub(crate) fn owner_of(session_id: &[u8]) -> u64 {
    fingerprint(session_id)
}

/// Adds a record, and before it the note that says when it was made by the clock of the boot.
fn encode(place: Place, lines: &[u8], out: &mut Vec<u8>) {
    let Place { moment, known_for_ms, offset, identity } = place;
    if let Some(boot) = moment.boot {
        let time = (u64::from(boot.id) << 32 | u64::from(known_for_ms)).cast_signed();
        encode_one(time, boot.ms.cast_unsigned(), identity, b"", out);
    }
    encode_one(moment.wall_ms, offset, identity, lines, out);
}

fn encode_one(time: i64, offset: u64, identity: Identity, lines: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(RECORD);
    // A record holds what one append wrote, which the line cap keeps far below this.
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

/// The whole records at the start of these bytes, and how many bytes they and their notes are.
fn decode(bytes: &[u8]) -> (Vec<Record>, usize) {
    let mut records = Vec::new();
    let mut rest = bytes;
    let mut note = None;
    while let Some((mut record, length)) = decode_one(rest) {
        rest = &rest[length..];
        if record.lines.is_empty() {
            note = Some(record.place);
            continue;
        }
        if let Some(noted) = note.take() {
            let time = noted.moment.wall_ms.cast_unsigned();
            let [id, known_for_ms] = [time >> 32, time & u64::from(u32::MAX)].map(half);
            record.place.moment.boot = Some(Boot { id, ms: noted.offset.cast_signed() });
            record.place.known_for_ms = known_for_ms;
        }
        records.push(record);
    }
    (records, bytes.len() - rest.len())
}

/// One half of a number, which has been shifted or cut to that length.
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
    let place = Place { moment, known_for_ms: 0, offset: number(fixed, 16), identity };
    Some((Record { place, lines: lines.to_vec() }, RECORD_HEAD + lines.len()))
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
        let place = Place { moment: moment(7, 3, 11), known_for_ms: u32::MAX - 1, offset: 9, identity };
        Record { place, lines: lines.to_vec() }
    }

    #[test]
    fn records_come_back_and_a_torn_one_is_left_out() {
        let (one, two) = (record(b"{\"a\":1}\n"), record(b"{\"b\":2}\n{\"c\":3}\n"));
        let mut bytes = Vec::new();
        encode(one.place, &one.lines, &mut bytes);
        let first = bytes.len();
        encode(two.place, &two.lines, &mut bytes);
        assert_eq!(decode(&bytes), (vec![one.clone(), two], bytes.len()));
        // The second one's note is whole before its record is.
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
        let place = Place { moment: Moment { wall_ms: 7, boot: None }, known_for_ms: 0, ..record(b"").place };
        let old = Record { place, lines: b"x\n".to_vec() };
        assert_eq!(decode(&bytes), (vec![old.clone()], bytes.len()));
        let mut again = Vec::new();
        encode(old.place, &old.lines, &mut again);
        assert_eq!(again, bytes, "and stays as it is");
        let now = moment(7 + 6000, 3, 0);
        assert!(old.is_due(now) && !old.is_expired(now), "by the wall clock");
    }

    /// For the last release a note is a record that is in its place, whatever it says.
    #[test]
    fn a_note_is_a_record_without_lines_in_the_same_file() {
        let mut bytes = Vec::new();
        encode(record(b"x\n").place, b"x\n", &mut bytes);
        let (note, length) = decode_one(&bytes).unwrap();
        assert_eq!((note.lines, note.place.identity), (Vec::new(), record(b"").place.identity));
        assert_eq!((length, record(b"x\n").len()), (RECORD_HEAD, bytes.len() as u64));
    }

    const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

    #[test]
    fn within_a_boot_its_clock_decides_whatever_the_wall_clock_says() {
        let then = moment(YEAR_MS, 3, 1000);
        for wall_ms in [0, YEAR_MS - 10_000, YEAR_MS, YEAR_MS + 10_000, 2 * YEAR_MS] {
            assert_eq!(then.age(moment(wall_ms, 3, 5999)), 4999);
        }
    }

    #[test]
    fn after_a_reboot_the_wall_clock_decides_unless_it_is_absurd() {
        let then = moment(YEAR_MS, 3, 1000);
        for (wall_ms, age) in [
            (YEAR_MS + 7000, 7000),
            (YEAR_MS - 7000, 0),
            (YEAR_MS - RESTORED_WITHIN_MS, 0),
            (YEAR_MS - RESTORED_WITHIN_MS - 1, i64::MAX),
            (0, i64::MAX),
        ] {
            assert_eq!(then.age(moment(wall_ms, 4, 5999)), age, "another boot");
            assert_eq!(then.age(moment(wall_ms, 3, 999)), age, "a clock of the boot that went back");
        }
    }

    #[test]
    fn lines_that_were_put_back_stay_as_old_as_they_are() {
        let place = Place { known_for_ms: 1000, ..record(b"").place };
        let record = Record { place, ..record(b"x\n") };
        let hour = 11 + RESTORED_WITHIN_MS;
        assert!(!record.is_expired(moment(0, 3, hour - 1000)) && record.is_expired(moment(0, 3, hour - 999)));
        assert!(!record.is_due(moment(0, 3, 11 + 4999)), "but they have to stay where they are as long as others");
    }
}
