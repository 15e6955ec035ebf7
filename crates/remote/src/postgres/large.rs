//! Large lines: objects in a storage, and rows that name them.
//!
//! 1. A client claims an object for a session. Its claim is committed before the object is there, except in a
//!    replacement, which holds a lock instead.
//! 2. It puts the object.
//! 3. It appends the row, which turns the claim into a use.
//!
//! An object goes when no session claims or uses it. A client deletes it while it holds a lock that claims wait for, so
//! that no claim comes between the look and the deletion.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use crate::batch::{Batch, MAX_LINE};
use crate::blobs::{BlobError, LARGE_LINE, ObjectHash, Objects, PutResult};
use crate::error::RemoteError;
use crate::postgres::codec::BLOB;
use crate::postgres::rows::Columns;
use crate::postgres::server::PostgresServer;
use crate::postgres::writing::{about, plain};
use crate::server::Server;
use crate::stored::{ServerLine, SessionNo};

/// How long an object may be in the storage without a line.
pub(super) const ORPHAN_AGE: Duration = Duration::from_hours(7 * 24);

/// How long a client relies on a lock of the server. The server ends a transaction that is idle for a minute.
const LOCK_AGE: Duration = Duration::from_secs(20);

/// How long a client reads objects before it asks the server again whether it may.
const RIGHT_AGE: Duration = Duration::from_secs(2);

/// The length of a row that names an object: the hash, and the length of the line in eight bytes.
const ROW: usize = 40;

/// A row that names an object.
pub(super) type ObjectRow = [u8; ROW];

/// A line that a statement has brought, and that is passed on after it.
pub(super) struct LaterLine {
    number: u64,
    author: String,
    device: Option<String>,
    codec: i16,
    data: Vec<u8>,
}

impl LaterLine {
    pub(super) fn of(number: u64, columns: &Columns<'_>) -> Result<Self, RemoteError> {
        Ok(Self {
            number,
            author: columns.get(1)?,
            device: columns.get(2)?,
            codec: columns.get(3)?,
            data: columns.get(4)?,
        })
    }
}

impl PostgresServer {
    /// Deletes the objects of this member's lines that no log uses any more. Objects that were stored for a line which
    /// did not follow go after some time; an administrator's connection deletes those of all members. Returns the number
    /// of deleted objects. Does nothing without a configured storage.
    pub fn sweep_blobs(&mut self, older_than: Duration) -> Result<u64, RemoteError> {
        let Some(storage) = self.storage() else { return Ok(0) };
        let mut n_deleted = 0;
        for hash in self.stale(older_than)? {
            n_deleted += u64::from(self.delete(&*storage, &hash, older_than)?);
        }
        Ok(n_deleted)
    }

    /// Puts the large lines of a batch into the storage. Returns the rows that name them, by the index of the line.
    pub(super) fn store_large(
        &mut self,
        session: SessionNo,
        batch: &Batch,
    ) -> Result<HashMap<usize, ObjectRow>, RemoteError> {
        let Some(storage) = self.storage() else { return Ok(HashMap::new()) };
        let large = batch.lines().enumerate().filter(|(_, (line, _))| line.len() > LARGE_LINE);
        let large: Vec<(usize, &[u8], ObjectHash)> =
            large.map(|(index, (line, _))| (index, line, ObjectHash::of(line))).collect();
        if large.is_empty() {
            return Ok(HashMap::new());
        }
        let objects: BTreeMap<ObjectHash, &[u8]> = large.iter().map(|(_, line, hash)| (*hash, *line)).collect();
        let known = self.claim(session, &objects.keys().copied().collect::<Vec<_>>())?;
        for (hash, line) in objects {
            self.store(&*storage, &hash, line, known.get(&hash).copied().unwrap_or(false))?;
        }
        Ok(large.into_iter().map(|(index, line, hash)| (index, row(&hash, line.len()))).collect())
    }

    /// Stores an object, and makes sure that the storage has the right bytes.
    fn store(
        &mut self,
        storage: &dyn Objects,
        hash: &ObjectHash,
        line: &[u8],
        is_known: bool,
    ) -> Result<(), RemoteError> {
        let body = self.codec.encode(line).1;
        if is_known && self.fetch(storage, hash, line.len()).is_ok() {
            return Ok(());
        }
        if storage.put(hash, &body, false)? == PutResult::Existed {
            // An object of this name may still be wrong. Then the right one takes its place.
            match self.fetch(storage, hash, line.len()) {
                Ok(_) => return Ok(()),
                Err(BlobError::Damaged { .. } | BlobError::Missing { .. }) => storage.put(hash, &body, true)?,
                Err(error) => return Err(error.into()),
            };
        }
        self.put_in_transaction.push(*hash);
        Ok(())
    }

    /// Returns the line of an object, after verification.
    fn fetch(&mut self, storage: &dyn Objects, hash: &ObjectHash, length: usize) -> Result<Vec<u8>, BlobError> {
        let place = || storage.place().to_owned();
        let missing = || BlobError::Missing { place: place(), hash: *hash };
        let body = storage.get(hash, length)?.ok_or_else(missing)?;
        let line = self.codec.decode_object(body, length, |line| ObjectHash::of(line) == *hash);
        line.ok_or_else(|| BlobError::Damaged { place: place(), hash: *hash })
    }

    /// Passes on lines that a statement has brought before, with those in the storage.
    pub(super) fn read_later(
        &mut self,
        session: SessionNo,
        epoch: u32,
        lines: Vec<LaterLine>,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RemoteError> {
        let mut asked = Instant::now();
        for LaterLine { number, author, device, codec, data } in lines {
            if asked.elapsed() > RIGHT_AGE {
                // The storage does not know when a member is revoked, or a log is replaced.
                self.chains(session, epoch, &[])?;
                asked = Instant::now();
            }
            let bytes = if codec == BLOB {
                self.read_object(session, epoch, number, &data)?
            } else {
                let decoded = self.codec.decode(codec, &data);
                decoded.map_err(|why| self.wire.request().bad_data(&why))?.into_owned()
            };
            let line = ServerLine { number, author: &author, device: device.as_deref(), bytes: &bytes };
            if on_line(line).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn read_object(&mut self, session: SessionNo, epoch: u32, line: u64, data: &[u8]) -> Result<Vec<u8>, RemoteError> {
        let Some((hash, length)) = read_row(data) else {
            return Err(self.wire.request().bad_data("a line in the storage without its hash and length"));
        };
        let Some(storage) = self.storage() else {
            return Err(RemoteError::NoStorage { remote: self.wire.remote().to_owned(), session, line });
        };
        let fetched = self.fetch(&*storage, &hash, length);
        if let Err(BlobError::Missing { .. }) = fetched {
            // An object may be gone because the log was replaced in the meantime.
            self.chains(session, epoch, &[])?;
        }
        Ok(fetched?)
    }

    /// After a replacement: deletes what the new log does not use.
    pub(super) fn erase(&mut self, session: SessionNo) -> Result<(), RemoteError> {
        let erased = match self.storage() {
            Some(_) => self.sweep_blobs(ORPHAN_AGE).map(drop).map_err(|error| error.to_string()),
            None => match self.stale(ORPHAN_AGE) {
                Ok(stale) if stale.is_empty() => Ok(()),
                Ok(_) => Err("it is not configured here".to_owned()),
                Err(error) => Err(error.to_string()),
            },
        };
        erased.map_err(|reason| RemoteError::NotErased { remote: self.wire.remote().to_owned(), session, reason })
    }

    /// After a replacement that failed: notes the objects that it has stored, so that a sweep finds them.
    pub(super) fn claim_again(&mut self, session: SessionNo) {
        let stored = std::mem::take(&mut self.put_in_transaction);
        for hashes in stored.chunks(32) {
            // If this fails, too, the next attempt to replace the log claims them.
            drop(self.claim(session, hashes));
        }
    }

    fn storage(&self) -> Option<Arc<dyn Objects>> {
        self.wire.config().blobs().cloned()
    }

    /// Notes that a session is about to use objects. Returns for each whether a line of the same owner uses it already.
    fn claim(&mut self, session: SessionNo, hashes: &[ObjectHash]) -> Result<HashMap<ObjectHash, bool>, RemoteError> {
        let bytes: Vec<&[u8]> = hashes.iter().map(|hash| hash.as_bytes().as_slice()).collect();
        let rows = self.wire.query(
            "select * from sessile.claim_blobs($1, $2)",
            &[(&session.0, Type::INT8), (&bytes, Type::BYTEA_ARRAY)],
            about(session),
        )?;
        let request = self.wire.request();
        let claimed = rows.iter().map(|row| {
            let columns = Columns { request: &request, row };
            Ok((hash_of(&columns)?, columns.get(1)?))
        });
        claimed.collect()
    }

    fn stale(&mut self, older_than: Duration) -> Result<Vec<ObjectHash>, RemoteError> {
        let statement = "select * from sessile.stale_blobs($1)";
        let rows = self.wire.query(statement, &[(&seconds(older_than), Type::FLOAT8)], plain)?;
        let request = self.wire.request();
        rows.iter().map(|row| hash_of(&Columns { request: &request, row })).collect()
    }

    /// Deletes an object if nothing claims or uses it. Returns whether it did.
    fn delete(&mut self, storage: &dyn Objects, hash: &ObjectHash, older_than: Duration) -> Result<bool, RemoteError> {
        self.wire.execute("begin")?;
        let locked = Instant::now();
        let result = self.release(hash, older_than).and_then(|is_free| {
            if !is_free {
                return Ok(false);
            }
            if locked.elapsed() > LOCK_AGE {
                let reason = "it took too long to lock an object".to_owned();
                return Err(RemoteError::Busy { remote: self.wire.remote().to_owned(), reason });
            }
            storage.delete(hash)?;
            Ok(true)
        });
        let end = if result.is_ok() { "commit" } else { "rollback" };
        match (self.wire.execute(end), result) {
            (_, Err(error)) | (Err(error), Ok(_)) => Err(error),
            (Ok(()), Ok(is_deleted)) => Ok(is_deleted),
        }
    }

    fn release(&mut self, hash: &ObjectHash, older_than: Duration) -> Result<bool, RemoteError> {
        let bytes = hash.as_bytes().as_slice();
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&bytes, Type::BYTEA), (&seconds(older_than), Type::FLOAT8)];
        let rows = self.wire.query("select sessile.release_blob($1, $2)", &parameters, plain)?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no answer")) };
        Columns { request: &request, row }.get(0)
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn hash_of(columns: &Columns<'_>) -> Result<ObjectHash, RemoteError> {
    let bytes: &[u8] = columns.get(0)?;
    let hash: Result<[u8; 32], _> = bytes.try_into();
    hash.map(ObjectHash::from).map_err(|_length| columns.request.bad_data("a hash that does not have 32 bytes"))
}

/// Returns the row of a line that is an object.
fn row(hash: &ObjectHash, length: usize) -> [u8; ROW] {
    let mut row = [0; ROW];
    row[..32].copy_from_slice(hash.as_bytes());
    row[32..].copy_from_slice(&(length as u64).to_be_bytes());
    row
}

fn read_row(data: &[u8]) -> Option<(ObjectHash, usize)> {
    let (hash, length) = data.split_first_chunk::<32>()?;
    let length = u64::from_be_bytes(length.try_into().ok()?);
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_LINE)?;
    Some((ObjectHash::from(*hash), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_hash_and_a_possible_length() {
        let hash = ObjectHash::of(b"x");
        let stored = row(&hash, MAX_LINE);
        assert_eq!(read_row(&stored), Some((hash, MAX_LINE)));
        assert_eq!(read_row(&row(&hash, MAX_LINE + 1)), None);
        assert_eq!(read_row(&stored[..39]), None);
        assert_eq!(read_row(&[stored.as_slice(), b"x"].concat()), None);
        assert_eq!(read_row(&[0xff; 40]), None);
        assert_eq!(read_row(b""), None);
    }
}
