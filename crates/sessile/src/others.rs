//! The sessions of other members of a store on a server, as this machine knows them.
//!
//! What the server says about them is the *catalogue*, in one file per store. A session is *mirrored* when its lines are
//! in a file of this machine.

mod file;
mod note;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use sessile_core::SessionId;
use sessile_core::date::Timestamp;
use sessile_core::location::encode_cwd;
use sessile_core::search::glance::Glance;
use sessile_remote::{Position, ServerLine, ServerTime, SessionNo};
use sessile_store::os::Os;
use sessile_store::{Revision, StoreError, subdirectories};

pub(crate) use note::Note;

use crate::attribution::Authors;
use crate::directory::CwdFilter;
use crate::environment::Environment;
use crate::error::SessionError;

/// How often all sessions are asked for, because no answer names those that this member no longer sees.
const WHOLE: Duration = Duration::from_hours(1);

/// A session of another member.
#[derive(Clone, Debug, PartialEq)]
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
    pub(crate) note: Note,
    /// The project that it is in, if this member sees it.
    pub(crate) project: Option<String>,
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
    /// The keys by path, made when a path is looked up.
    by_path: OnceLock<HashMap<PathBuf, (String, String)>>,
}

impl Catalogue {
    /// The time from which changes must be asked for; `None` to ask for everything.
    pub(crate) fn since(&self, now: ServerTime) -> Option<ServerTime> {
        let is_recent = self.whole.is_some_and(|whole| whole > now.minus(WHOLE));
        self.seen.filter(|_| is_recent)
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&OtherSession> {
        let paths = || self.sessions.iter().map(|(key, session)| (session.path.clone(), key.clone())).collect();
        self.by_path.get_or_init(paths).get(path).and_then(|key| self.sessions.get(key))
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
        if let Some(key) = self.get(path).map(key_of) {
            self.sessions.remove(&key);
            self.by_path.take();
        }
    }

    pub(crate) fn insert(&mut self, session: OtherSession) {
        self.sessions.insert(key_of(&session), session);
        self.by_path.take();
    }
}

fn key_of(session: &OtherSession) -> (String, String) {
    (session.owner.clone(), session.id.to_string())
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

/// What a search looks for in sessions of other members.
pub(crate) struct Wanted<'w> {
    /// Sets of terms. A hit has all terms of at least one of them.
    pub(crate) sets: &'w [Vec<u32>],
    /// Rules out lines that cannot be hits.
    pub(crate) glance: &'w Glance,
    /// Whether a session is in scope.
    pub(crate) admits: &'w dyn Fn(&OtherSession) -> bool,
    /// Whether hits must be in files of this machine.
    pub(crate) needs_files: bool,
}

/// A line of another member's session that may be a hit.
pub(crate) struct Suspect<'l> {
    pub(crate) session: &'l OtherSession,
    pub(crate) line: ServerLine<'l>,
    /// Whether the session's file gets this line if it is a hit.
    pub(crate) is_for_file: bool,
}

/// What a store on a server is asked while its sessions are in use.
pub(crate) trait Finder: Send + Sync {
    /// Passes on the lines of other members' sessions that may be hits and are not on this machine, some of them more than
    /// once. If a session has a file, or must have one, and `is_hit` says so, its file is brought up to date.
    fn find(
        &self,
        wanted: &Wanted<'_>,
        is_hit: &mut dyn FnMut(&Suspect<'_>) -> bool,
    ) -> Result<TeamReach, SessionError>;

    /// Returns who has written the entries of a session; `None` if the store does not know it, or is down.
    fn authors(&self, path: &Path) -> Result<Option<Authors>, SessionError>;
}

/// How far a search looked at the sessions of other members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamReach {
    /// The number of sessions of which lines were fetched for it.
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
        let file = file::file_in(directory);
        let Ok(stat) = os.link_stat(&file) else { return Arc::new(Catalogue { file, ..Catalogue::default() }) };
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*read {
            Some((revision, catalogue)) if *revision == stat.revision() && catalogue.file == file => {
                Arc::clone(catalogue)
            }
            _ => {
                let catalogue = Arc::new(file::load(os, directory));
                *read = Some((stat.revision(), Arc::clone(&catalogue)));
                catalogue
            }
        }
    }

    /// Saves a catalogue.
    pub(crate) fn save(&self, os: &dyn Os, catalogue: Catalogue) -> Result<(), StoreError> {
        file::save(os, &catalogue)?;
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
    use sessile_core::head::Role;
    use sessile_remote::Chain;
    use sessile_store::os::RealOs;

    use super::*;

    fn session(number: usize) -> OtherSession {
        let note = br#"{"name":"a name","firstMessage":"Hi \u00e4","messages":3,"entries":4,"modified":1750000000000,"cost":0.5,"roles":{"user":2},"repository":"host/a","archived":true}"#;
        OtherSession {
            owner: "ada".to_owned(),
            id: format!("s{number}").into(),
            no: SessionNo(i64::MAX - 1),
            position: Position { epoch: 2, n_lines: 300, chain: Chain::EMPTY.after(b"a line") },
            bytes: 1 << 40,
            cwd: "/a b".to_owned(),
            path: format!("/m/{number}.jsonl").into(),
            note: Note::read(Some(note)),
            project: number.is_multiple_of(2).then(|| "site".to_owned()),
        }
    }

    #[test]
    fn a_catalogue_is_read_as_it_was_saved() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CatalogueCache::default();
        let mut catalogue = Catalogue::clone(&cache.read(&RealOs, dir.path()));
        (catalogue.seen, catalogue.member) = (Some(ServerTime(-7)), Some("bob".to_owned()));
        catalogue.own_projects.insert("mine".to_owned(), "site".to_owned());
        for number in 0..20 {
            catalogue.insert(session(number));
        }
        cache.save(&RealOs, catalogue.clone()).unwrap();
        let read = CatalogueCache::default().read(&RealOs, dir.path());
        assert_eq!(read.sessions, catalogue.sessions);
        assert_eq!(read.sessions[&("ada".to_owned(), "s3".to_owned())].note.facts.messages.of(Role::User), 2);
        assert_eq!((read.seen, read.whole, &read.member), (catalogue.seen, None, &catalogue.member));
        assert_eq!(read.own_projects, catalogue.own_projects);
        assert_eq!(read.get(Path::new("/m/7.jsonl")), Some(&session(7)));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test damages the file")]
    fn a_damaged_catalogue_is_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CatalogueCache::default();
        let mut catalogue = Catalogue::clone(&cache.read(&RealOs, dir.path()));
        catalogue.seen = Some(ServerTime(1));
        catalogue.insert(session(1));
        cache.save(&RealOs, catalogue).unwrap();
        let file = file::file_in(dir.path());
        let whole = std::fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            for content in [&damaged[..], &whole[..at]] {
                std::fs::write(&file, content).unwrap();
                let read = CatalogueCache::default().read(&RealOs, dir.path());
                assert!(read.sessions.is_empty() && read.seen.is_none(), "{at}");
            }
        }
    }

    #[test]
    fn names_of_members_cannot_leave_the_directory() {
        for name in ["ada", "..", ".", "a/b", "a b", "ä", "%41", "", "a.b", "-x", "NUL\0"] {
            let safe = safe_name(name);
            assert!(!safe.contains(['/', '\0']) && !safe.starts_with('.'), "{safe}");
            assert_eq!(member_of_name(&safe), name);
        }
    }
}
