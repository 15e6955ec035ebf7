//! What is remembered about the sessions of a store on a server.
//!
//! One file per store, replaced as a whole. If it is lost, everything is compared again; but then a session that was
//! deleted here comes back, and a log that was replaced on the server cannot be distinguished from one that diverged.

pub(crate) mod leftovers;
pub(crate) mod lines;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_remote::{Chain, Position, RemoteError, Server, ServerTime};
use sessile_store::os::{Os, OsFile};
use sessile_store::{Revision, StoreError, create_directory, read_whole, replace_durably, subdirectories, swap_in};

use self::leftovers::remove_leftovers;
use self::lines::{Mark, SessionLines, Start};
use crate::error::SessionError;
use crate::journal::lock_activity;
use crate::world::World;

/// The directory with what is remembered about remotes, in the state directory.
pub(crate) const DIRECTORY: &str = "remote";

/// The maximum length of the file.
const MAX_LENGTH: u64 = 256 << 20;

/// A session and its log when they were last seen equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownSession {
    pub(crate) path: PathBuf,
    pub(crate) position: Position,
    /// The end of the lines in the file.
    pub(crate) end: u64,
    /// A hash of the last bytes of these lines.
    pub(crate) last_bytes: Chain,
    /// Whether a scrub has changed these lines since.
    pub(crate) is_scrubbed: bool,
    /// Whether the session was deleted everywhere, and its file was moved to the trash. A file that is there again was
    /// restored on purpose.
    pub(crate) is_buried: bool,
    /// The file, if it has no other lines.
    pub(crate) revision: Option<Revision>,
}

impl KnownSession {
    /// A session whose lines up to `end` are those of a log at this position.
    pub(crate) fn of(os: &dyn Os, path: &Path, position: Position, end: u64) -> Result<Self, SessionError> {
        let mark = Mark { end, chain: position.chain };
        let lines = SessionLines::open(os, path, Start { n_lines: position.n_lines, mark })?;
        let last_bytes = last_bytes(&lines, end)?;
        // If the file has grown since, its next lines have to be looked at.
        let revision = (lines.opened.length == end).then(|| lines.opened.revision());
        Ok(Self { path: path.to_path_buf(), position, end, last_bytes, is_scrubbed: false, is_buried: false, revision })
    }

    /// Whether a file still begins with the known lines, as far as a look at the last of them can tell.
    pub(crate) fn is_beginning_of(&self, lines: &SessionLines) -> Result<bool, SessionError> {
        Ok(lines.opened.length >= self.end && last_bytes(lines, self.end)? == self.last_bytes)
    }

    /// Where reading the file may begin.
    pub(crate) fn start(&self) -> Start {
        Start { n_lines: self.position.n_lines, mark: Mark { end: self.end, chain: self.position.chain } }
    }
}

/// How many bytes show whether a program has rewritten the file.
const LAST_BYTES: u64 = 64 << 10;

/// A hash of the last bytes before an offset.
pub(crate) fn last_bytes(lines: &SessionLines, end: u64) -> Result<Chain, SessionError> {
    let mut bytes = Vec::new();
    lines.copy(end.saturating_sub(LAST_BYTES), end, &mut |part| {
        bytes.extend_from_slice(part);
        Ok(())
    })?;
    Ok(Chain::EMPTY.after(&bytes))
}

/// All sessions of a store, by id.
#[derive(Debug, Default)]
pub(crate) struct KnownSessions {
    file: PathBuf,
    /// The server's time up to which changes are known.
    pub(crate) seen: Option<ServerTime>,
    /// The session whose known lines reached the server last. If the server has lost anything that is known, it has lost
    /// the last of these lines.
    pub(crate) witness: Option<String>,
    /// When quiet sessions were last sealed on the server.
    pub(crate) sealed: Option<ServerTime>,
    pub(crate) sessions: BTreeMap<String, KnownSession>,
}

impl KnownSessions {
    /// Reads the file. A damaged line counts as missing.
    pub(crate) fn load(os: &dyn Os, directory: &Path) -> Self {
        let file = directory.join("sessions.jsonl");
        let text = read_whole(os, &file, MAX_LENGTH).unwrap_or_default();
        let mut known = Self { file, ..Self::default() };
        for line in text.split(|byte| *byte == b'\n') {
            let Ok(line) = Raw::parse(line) else { continue };
            if let Some((id, session)) = session_of(line) {
                known.sessions.insert(id, session);
            } else if let Some(seen) = line.get("seen").and_then(Raw::as_integer) {
                known.seen = Some(ServerTime(seen));
                known.witness = line.get("witness").and_then(Raw::as_string);
                known.sealed = line.get("sealed").and_then(Raw::as_integer).map(ServerTime);
            }
        }
        known
    }

    /// Returns when the log of the witness has changed on a server, or `None` if the server does not have its lines: then
    /// it is an older copy of itself, after a failover or from a backup, or they were replaced.
    pub(crate) fn witness_time(&self, server: &mut dyn Server) -> Result<Option<ServerTime>, RemoteError> {
        let Some((id, session)) = self.witness.as_ref().and_then(|id| self.sessions.get_key_value(id)) else {
            return Ok(None);
        };
        let (known, head) = (session.position, server.head(None, id)?);
        let Some(head) = head.filter(|head| head.position.epoch == known.epoch) else { return Ok(None) };
        let there = if head.position.n_lines == known.n_lines {
            Some(head.position.chain)
        } else {
            server.chains(head.no, known.epoch, &[known.n_lines])?.first().copied().flatten()
        };
        Ok((there == Some(known.chain)).then_some(head.seen_at))
    }

    /// Notes that a session was deleted everywhere, and that its file is not in the store any more.
    pub(crate) fn note_burial(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.is_buried = true;
            session.revision = None;
        }
    }

    pub(crate) fn save(&self, os: &dyn Os) -> Result<(), StoreError> {
        swap_in(os, &self.file, self.text(os)?.as_bytes())
    }

    /// Saves in a way that survives a loss of power.
    pub(crate) fn save_durably(&self, os: &dyn Os) -> Result<(), StoreError> {
        let text = self.text(os)?;
        replace_durably(os, &self.file, &mut |out| {
            out.write_all(text.as_bytes()).map_err(StoreError::io("write", &self.file))
        })
    }

    /// The content of the file, after its directory was created.
    fn text(&self, os: &dyn Os) -> Result<String, StoreError> {
        let mut text = String::new();
        if let Some(ServerTime(seen)) = self.seen {
            let mut line = ObjectWriter::new();
            line.integer("seen", seen);
            if let Some(witness) = &self.witness {
                line.string("witness", witness);
            }
            if let Some(ServerTime(sealed)) = self.sealed {
                line.integer("sealed", sealed);
            }
            push(&mut text, &line.finish());
        }
        for (id, session) in &self.sessions {
            push(&mut text, &line_of(id, session));
        }
        if let Some(directory) = self.file.parent() {
            create_directory(os, directory, false)?;
        }
        Ok(text)
    }
}

fn push(text: &mut String, line: &Json) {
    text.push_str(&line.to_text());
    text.push('\n');
}

fn line_of(id: &str, session: &KnownSession) -> Json {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut line = ObjectWriter::new();
    line.string("id", id)
        .string("path", &session.path.to_string_lossy())
        .integer("epoch", i64::from(session.position.epoch))
        .integer("lines", count(session.position.n_lines))
        .string("chain", &session.position.chain.to_string())
        .integer("end", count(session.end))
        .string("lastBytes", &session.last_bytes.to_string());
    if session.is_scrubbed {
        line.bool("scrubbed", true);
    }
    if session.is_buried {
        line.bool("buried", true);
    }
    if let Some(Revision { id: [device, inode], length, changed_ns }) = session.revision {
        line.string("file", &format!("{device}-{inode}-{length}-{changed_ns}"));
    }
    line.finish()
}

/// Reads a line in one pass: a store has many.
fn session_of(line: Raw<'_>) -> Option<(String, KnownSession)> {
    let [id, path, epoch, lines, chain, end, last_bytes, scrubbed, buried, file] =
        line.pick(["id", "path", "epoch", "lines", "chain", "end", "lastBytes", "scrubbed", "buried", "file"]);
    let text = |value: Option<Raw<'_>>| value?.as_string();
    let count = |value: Option<Raw<'_>>| u64::try_from(value?.as_integer()?).ok();
    let position = Position {
        epoch: u32::try_from(count(epoch)?).ok()?,
        n_lines: count(lines)?,
        chain: Chain::from_digits(&text(chain)?)?,
    };
    let (end, last_bytes) = (count(end)?, Chain::from_digits(&text(last_bytes)?)?);
    let is_true = |value: Option<Raw<'_>>| value.is_some_and(Raw::is_truthy);
    let (is_scrubbed, is_buried) = (is_true(scrubbed), is_true(buried));
    let revision = text(file).and_then(|file| revision_of(&file));
    let path = text(path)?.into();
    Some((text(id)?, KnownSession { path, position, end, last_bytes, is_scrubbed, is_buried, revision }))
}

fn revision_of(text: &str) -> Option<Revision> {
    let mut numbers = text.splitn(4, '-');
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let (id, length) = ([next()?, next()?], next()?);
    Some(Revision { id, length, changed_ns: i64::try_from(next()?).ok()? })
}

/// The stores on servers that know a session, locked until this is dropped.
pub(crate) struct KnowingStores {
    stores: Vec<PathBuf>,
    /// Held, so that no synchronization writes what it remembers meanwhile.
    _turn: Option<Box<dyn OsFile>>,
}

impl KnowingStores {
    /// Finds the stores that know a session, which is about to be scrubbed.
    pub(crate) fn of(world: &World, id: &SessionId) -> Result<Self, SessionError> {
        let nothing = Self { stores: Vec::new(), _turn: None };
        let Some(directory) = world.operations_dir.as_ref().filter(|_| !world.is_syncing) else { return Ok(nothing) };
        let mut stores = subdirectories(world.os(), &directory.join(DIRECTORY))?;
        stores.retain(|store| KnownSessions::load(world.os(), store).sessions.contains_key(id.as_str()));
        if stores.is_empty() {
            return Ok(nothing);
        }
        Ok(Self { stores, _turn: lock_activity(world, "sync")? })
    }

    /// Notes that the lines of the session change, so that the next synchronization replaces its logs. Called before
    /// they change: otherwise, after a crash, the old lines would come back.
    pub(crate) fn note_scrub(&self, world: &World, id: &SessionId) -> Result<(), SessionError> {
        // A copy of a log that a killed process left has the old lines, too.
        remove_leftovers(world, 0);
        for store in &self.stores {
            let mut known = KnownSessions::load(world.os(), store);
            if let Some(session) = known.sessions.get_mut(id.as_str()) {
                session.is_scrubbed = true;
                session.revision = None;
                known.save(world.os())?;
            }
        }
        Ok(())
    }
}
