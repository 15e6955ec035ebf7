//! The sessions of other members of a store on a server, as this machine knows them.
//!
//! What the server says about them is the *catalogue*, in one file per store. A session is *mirrored* when its lines are
//! in a file of this machine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sessile_core::SessionId;
use sessile_core::date::Timestamp;
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_core::location::encode_cwd;
use sessile_core::search::query::Query;
use sessile_remote::{Chain, Position, ServerTime, SessionNo};
use sessile_store::os::Os;
use sessile_store::{Revision, StoreError, create_directory, read_whole, subdirectories, swap_in};

use crate::attribution::Authors;
use crate::directory::CwdFilter;
use crate::environment::Environment;
use crate::error::SessionError;

/// The maximum length of the file.
const MAX_LENGTH: u64 = 256 << 20;

/// How often all sessions are asked for, because no answer names those that this member no longer sees.
const WHOLE: Duration = Duration::from_hours(1);

/// A session of another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherSession {
    pub(crate) owner: String,
    pub(crate) id: SessionId,
    /// Its number on the server.
    pub(crate) no: SessionNo,
    pub(crate) position: Position,
    /// The number of bytes of its lines.
    pub(crate) bytes: u64,
    /// Where its working directory would be on this machine.
    pub(crate) cwd: String,
    /// Where it is mirrored, or would be.
    pub(crate) path: PathBuf,
    /// The owner's note for lists: JSON in one line.
    pub(crate) note: String,
    /// The project that it is in, if this member sees it.
    pub(crate) project: Option<String>,
}

impl OtherSession {
    /// The repository of its working directory, as its owner noted it: host and path of the remote `origin`.
    pub(crate) fn repository(&self) -> Option<String> {
        Raw::parse(self.note.as_bytes()).ok()?.get("repository")?.as_string()
    }
}

/// The sessions of other members, by owner and id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    file: PathBuf,
    /// The server's time up to which changes are known.
    pub(crate) seen: Option<ServerTime>,
    /// The server's time when all sessions were asked for.
    pub(crate) whole: Option<ServerTime>,
    pub(crate) sessions: BTreeMap<(String, String), OtherSession>,
    /// The login of this member.
    pub(crate) member: Option<String>,
    /// The projects of this member's own sessions, by id.
    pub(crate) own_projects: BTreeMap<String, String>,
    by_path: HashMap<PathBuf, (String, String)>,
}

impl Catalogue {
    /// Reads the file. A damaged line counts as missing.
    fn load(os: &dyn Os, directory: &Path) -> Self {
        let file = file_in(directory);
        let text = read_whole(os, &file, MAX_LENGTH).unwrap_or_default();
        let mut catalogue = Self { file, ..Self::default() };
        for line in text.split(|byte| *byte == b'\n') {
            let Ok(line) = Raw::parse(line) else { continue };
            if let Some(session) = session_of(line) {
                catalogue.insert(session);
                continue;
            }
            if let Some(seen) = line.get("seen").and_then(Raw::as_integer) {
                catalogue.seen = Some(ServerTime(seen));
                catalogue.whole = line.get("whole").and_then(Raw::as_integer).map(ServerTime);
                catalogue.member = line.get("member").and_then(Raw::as_string);
            }
            let text = |key| line.get(key)?.as_string();
            if let (Some(id), Some(project)) = (text("own"), text("project")) {
                catalogue.own_projects.insert(id, project);
            }
        }
        catalogue
    }

    fn save(&self, os: &dyn Os) -> Result<(), StoreError> {
        let mut text = String::new();
        if let Some(ServerTime(seen)) = self.seen {
            let mut line = ObjectWriter::new();
            line.integer("seen", seen);
            if let Some(ServerTime(whole)) = self.whole {
                line.integer("whole", whole);
            }
            if let Some(member) = &self.member {
                line.string("member", member);
            }
            text.push_str(&line.finish().to_text());
            text.push('\n');
        }
        for (id, project) in &self.own_projects {
            text.push_str(&ObjectWriter::new().string("own", id).string("project", project).finish().to_text());
            text.push('\n');
        }
        for session in self.sessions.values() {
            text.push_str(&line_of(session).to_text());
            text.push('\n');
        }
        if let Some(directory) = self.file.parent() {
            create_directory(os, directory, false)?;
        }
        swap_in(os, &self.file, text.as_bytes())
    }

    /// The time from which changes must be asked for; `None` to ask for everything.
    pub(crate) fn since(&self, now: ServerTime) -> Option<ServerTime> {
        let is_recent = self.whole.is_some_and(|whole| whole > now.minus(WHOLE));
        self.seen.filter(|_| is_recent)
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&OtherSession> {
        self.by_path.get(path).and_then(|key| self.sessions.get(key))
    }

    /// The member that owns the session at a path; `None` if it is not one of another member.
    pub(crate) fn member_of(&self, path: &Path) -> Option<String> {
        if let Some(session) = self.get(path) {
            return Some(session.owner.clone());
        }
        let inside = path.strip_prefix(members(self.file.parent()?)).ok()?;
        Some(member_of_name(inside.iter().next()?.to_str()?))
    }

    /// The files of mirrored sessions. Directories are read instead of asking for each session: most are not mirrored.
    pub(crate) fn mirrored(&self, os: &dyn Os) -> HashSet<PathBuf> {
        let store = self.file.parent().map(Path::to_path_buf).unwrap_or_default();
        session_dirs(os, &store).iter().flat_map(|directory| os.list(directory).unwrap_or_default()).collect()
    }

    /// The sessions that are not mirrored, and that a filter admits.
    pub(crate) fn absent<'t>(
        &'t self,
        os: &dyn Os,
        environment: &'t dyn Environment,
        filter: &'t CwdFilter,
    ) -> impl Iterator<Item = &'t OtherSession> {
        let mirrored = self.mirrored(os);
        // Many sessions share a directory, and a look at one may need system calls.
        let mut admitted: HashMap<&'t str, bool> = HashMap::new();
        let mut admits = move |session: &'t OtherSession| {
            let admits = || filter.admits(environment, &session.cwd);
            *admitted.entry(&session.cwd).or_insert_with(admits)
        };
        self.sessions.values().filter(move |session| admits(session) && !mirrored.contains(&session.path))
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        if let Some(key) = self.by_path.remove(path) {
            self.sessions.remove(&key);
        }
    }

    pub(crate) fn insert(&mut self, session: OtherSession) {
        let key = (session.owner.clone(), session.id.to_string());
        self.by_path.insert(session.path.clone(), key.clone());
        self.sessions.insert(key, session);
    }
}

/// The file of the catalogue.
fn file_in(directory: &Path) -> PathBuf {
    directory.join("others.jsonl")
}

fn line_of(session: &OtherSession) -> Json {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut line = ObjectWriter::new();
    line.string("owner", &session.owner)
        .string("id", session.id.as_str())
        .integer("no", session.no.0)
        .integer("epoch", i64::from(session.position.epoch))
        .integer("lines", count(session.position.n_lines))
        .string("chain", &session.position.chain.to_string())
        .integer("bytes", count(session.bytes))
        .string("cwd", &session.cwd)
        .string("path", &session.path.to_string_lossy())
        .raw("note", Raw::parse(session.note.as_bytes()).unwrap_or(Raw::NULL));
    if let Some(project) = &session.project {
        line.string("project", project);
    }
    line.finish()
}

/// Reads a line in one pass: a store has many.
fn session_of(line: Raw<'_>) -> Option<OtherSession> {
    let [owner, id, no, epoch, lines, chain, bytes, cwd, path, note, project] =
        line.pick(["owner", "id", "no", "epoch", "lines", "chain", "bytes", "cwd", "path", "note", "project"]);
    let text = |value: Option<Raw<'_>>| value?.as_string();
    let count = |value: Option<Raw<'_>>| u64::try_from(value?.as_integer()?).ok();
    let chain = Chain::from_digits(&text(chain)?)?;
    Some(OtherSession {
        owner: text(owner)?,
        id: SessionId::from(text(id)?.as_str()),
        no: SessionNo(no?.as_integer()?),
        position: Position { epoch: u32::try_from(count(epoch)?).ok()?, n_lines: count(lines)?, chain },
        bytes: count(bytes)?,
        cwd: text(cwd)?,
        path: text(path)?.into(),
        note: note?.to_text().into_owned(),
        project: text(project),
    })
}

/// A note from a server as the catalogue keeps it. Every owner writes one line of JSON; `null` stands for anything else.
pub(crate) fn note_of(summary: Option<&[u8]>) -> String {
    let note = summary.filter(|note| !note.contains(&b'\n')).and_then(|note| Raw::parse(note).ok());
    note.unwrap_or(Raw::NULL).to_text().into_owned()
}

/// The directory with a directory for each member.
pub(crate) fn members(store: &Path) -> PathBuf {
    store.join("members")
}

/// The directory with the session directories of a member.
pub(crate) fn sessions(member: &Path) -> PathBuf {
    member.join("sessions")
}

/// A name as one component of a path: letters, digits, `-`, `_` and inner dots stay, other bytes become `%XX`.
pub(crate) fn safe_name(name: &str) -> String {
    let safe = name.bytes().enumerate().map(|(index, byte)| {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || byte == b'.' && index > 0;
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02x}") }
    });
    safe.collect()
}

/// The member for a [`safe_name`].
pub(crate) fn member_of_name(safe: &str) -> String {
    let mut name = Vec::new();
    let mut rest = safe.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match code {
            Some(code) if *byte == b'%' => {
                name.push(code);
                rest = &after[2..];
            }
            _ => {
                name.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// What a store on a server is asked while its sessions are in use.
pub(crate) trait Finder: Send + Sync {
    /// Fetches the sessions of other members that may have the words of a query.
    fn find(&self, query: &Query) -> Result<TeamReach, SessionError>;

    /// Returns who has written the entries of a session; `None` if the store does not know it, or is down.
    fn authors(&self, path: &Path) -> Result<Option<Authors>, SessionError>;
}

/// How far a search looked at the sessions of other members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamReach {
    /// The number of sessions that were fetched for it.
    pub n_fetched: usize,
    /// Whether it looked at all of them. Otherwise only at those on this machine, and at newer ones.
    pub is_complete: bool,
    /// How far back it looked at those that were not on this machine, if not at all.
    pub until: Option<Timestamp>,
}

/// The directories with mirrored sessions of a store.
fn session_dirs(os: &dyn Os, store: &Path) -> Vec<PathBuf> {
    let members = subdirectories(os, &members(store)).unwrap_or_default();
    members.iter().flat_map(|member| subdirectories(os, &sessions(member)).unwrap_or_default()).collect()
}

/// The catalogue that was read last. It is read again after its file has changed.
#[derive(Debug, Default)]
pub(crate) struct CatalogueCache(Mutex<Option<(Revision, Arc<Catalogue>)>>);

impl CatalogueCache {
    /// The catalogue of the store in this directory.
    pub(crate) fn read(&self, os: &dyn Os, directory: &Path) -> Arc<Catalogue> {
        let file = file_in(directory);
        let Ok(stat) = os.link_stat(&file) else { return Arc::new(Catalogue { file, ..Catalogue::default() }) };
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*read {
            Some((revision, catalogue)) if *revision == stat.revision() && catalogue.file == file => {
                Arc::clone(catalogue)
            }
            _ => {
                let catalogue = Arc::new(Catalogue::load(os, directory));
                *read = Some((stat.revision(), Arc::clone(&catalogue)));
                catalogue
            }
        }
    }

    /// Saves a catalogue.
    pub(crate) fn save(&self, os: &dyn Os, catalogue: Catalogue) -> Result<(), StoreError> {
        catalogue.save(os)?;
        let stat = os.link_stat(&catalogue.file).ok();
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *read = stat.map(|stat| (stat.revision(), Arc::new(catalogue)));
        Ok(())
    }
}

/// The sessions of the other members of one store.
pub(crate) struct Others {
    pub(crate) finder: Arc<dyn Finder>,
    /// The directory of the store in the state directory.
    directory: PathBuf,
    catalogues: Arc<CatalogueCache>,
}

impl Others {
    pub(crate) fn new(finder: Arc<dyn Finder>, directory: PathBuf, catalogues: Arc<CatalogueCache>) -> Self {
        Self { finder, directory, catalogues }
    }

    /// The catalogue as it is now.
    pub(crate) fn catalogue(&self, os: &dyn Os) -> Arc<Catalogue> {
        self.catalogues.read(os, &self.directory)
    }

    /// The directories with mirrored sessions.
    pub(crate) fn session_dirs(&self, os: &dyn Os) -> Vec<PathBuf> {
        session_dirs(os, &self.directory)
    }

    /// The directories with mirrored sessions of a working directory.
    pub(crate) fn session_dirs_of(&self, os: &dyn Os, cwd: &Path) -> Vec<PathBuf> {
        let members = subdirectories(os, &members(&self.directory)).unwrap_or_default();
        let directories = members.iter().map(|member| sessions(member).join(encode_cwd(cwd)));
        directories.filter(|directory| os.stat(directory).is_ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_members_cannot_leave_the_directory() {
        for name in ["ada", "..", ".", "a/b", "a b", "ä", "%41", "", "a.b", "-x", "NUL\0"] {
            let safe = safe_name(name);
            assert!(!safe.contains(['/', '\0']) && !safe.starts_with('.'), "{safe}");
            assert_eq!(member_of_name(&safe), name);
        }
    }
}
