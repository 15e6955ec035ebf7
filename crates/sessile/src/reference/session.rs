//! Resolves references to sessions.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_core::location::fingerprint;
use sessile_core::nearest::nearest;
use sessile_store::{MAX_NOTES, create_directory, find_sessions, read_whole, swap_in};

use super::{ReferenceError, only};
use crate::directory::{CwdFilter, absolute, sessions_root};
use crate::error::SessionError;
use crate::known;
use crate::list::{self, ListOptions, SessionCandidate, SessionInfo};
use crate::sessions::Sessions;

/// Whether a reference is a path rather than an id or a name, by pi's rules.
pub fn is_path(word: &Path) -> bool {
    let text = word.as_os_str().as_encoded_bytes();
    text.contains(&b'/')
        || text.contains(&b'\\')
        || text.ends_with(b".jsonl")
        || [&b"."[..], b"..", b"~"].contains(&text)
}

impl Sessions {
    /// Resolves a reference to a session's file.
    ///
    /// A reference is a path; an id, or a unique prefix of one; a name; `@latest`,
    /// the most recently active session; or `@3`, the third of the
    /// [last list](Self::note_list) in this terminal. Sessions of the working
    /// directory take precedence over all others, an exact id over a name, and a
    /// name over a prefix of an id. Case is ignored if there is no exact match.
    ///
    /// Reads headers to find ids, and uses the names in a [list](Self::list).
    pub fn find_session(&self, wanted: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<PathBuf, ReferenceError> {
        let wanted = wanted.as_ref();
        let search = SessionSearch { sessions: self, cwd: absolute(self.environment(), cwd.as_ref()) };
        if is_path(wanted) {
            return search.path(wanted).or_else(|error| self.named_like_a_path(&search, wanted, error));
        }
        let Some(word) = wanted.to_str().filter(|word| !word.is_empty()) else { return search.path(wanted) };
        if word == "@latest" {
            return search.latest();
        }
        if let Some(number) = word.strip_prefix('@').and_then(|digits| digits.parse::<usize>().ok()) {
            return self.listed(number);
        }
        search.word(word).map_err(|error| self.with_titles(error))
    }

    /// The session that has a name such as `feat/login`, where no file has that path.
    fn named_like_a_path(
        &self,
        search: &SessionSearch<'_>,
        wanted: &Path,
        error: ReferenceError,
    ) -> Result<PathBuf, ReferenceError> {
        let word = wanted.to_str().filter(|_| matches!(error, ReferenceError::NoSuchFile { .. }));
        match word.map(|word| search.name(word)) {
            Some(Ok(Some(path))) => Ok(path),
            Some(Err(ambiguous @ ReferenceError::AmbiguousSession { .. })) => Err(self.with_titles(ambiguous)),
            _ => Err(error),
        }
    }

    /// Adds titles to the candidates.
    fn with_titles(&self, mut error: ReferenceError) -> ReferenceError {
        let ReferenceError::AmbiguousSession { candidates, .. } = &mut error else { return error };
        let directories: BTreeSet<PathBuf> =
            candidates.iter().filter_map(|session| session.path.parent().map(Path::to_path_buf)).collect();
        // Candidates in a directory that cannot be listed get no title.
        let rows = directories
            .iter()
            .filter_map(|dir| list::list_all(&self.world, Some(dir), &mut ListOptions::default()).ok());
        for row in rows.flatten() {
            if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.path == row.path) {
                candidate.title = Some(row.name.unwrap_or(row.first_message).to_str().into_owned());
            }
        }
        error
    }

    /// The most recently written session of a working directory, as pi continues it; `None` if there is none.
    pub fn most_recent(&self, cwd: impl AsRef<Path>) -> Result<Option<PathBuf>, SessionError> {
        list::most_recent(&self.world, &absolute(self.environment(), cwd.as_ref()))
    }

    /// Saves the list that was shown to the user, so that its sessions can be referred to as `@1`, `@2` and so on.
    ///
    /// The list is valid in the same terminal (without one, in the same working directory) and for the same store,
    /// until the next list is saved there. Saves nothing in an environment without a state directory.
    pub fn note_list<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) -> Result<(), SessionError> {
        let Some(note) = self.list_note() else { return Ok(()) };
        let paths: Vec<Json> = paths.into_iter().map(|path| Json::string(&path.to_string_lossy())).collect();
        let mut text = ObjectWriter::new();
        text.string("store", &self.store().to_string_lossy());
        text.array("sessions", paths.iter().map(Json::raw));
        let mut line = text.finish().into_bytes();
        line.push(b'\n');
        // Usually it is the same list again, and replacing a file makes some file systems write at once.
        if read_whole(self.world.os(), &note, MAX_NOTES).is_ok_and(|known| known == line) {
            return Ok(());
        }
        if let Some(directory) = note.parent() {
            create_directory(self.world.os(), directory, false)?;
        }
        Ok(swap_in(self.world.os(), &note, &line)?)
    }

    /// Whether there is any file that could be a session. Stops at the first one.
    pub fn has_sessions(&self) -> Result<bool, SessionError> {
        let os = self.world.os();
        if self.world.others.as_ref().is_some_and(|others| !others.catalogue(os).sessions.is_empty()) {
            return Ok(true);
        }
        Ok(self.world.session_dirs()?.iter().any(|dir| find_sessions(os, dir).is_ok_and(|found| !found.is_empty())))
    }

    /// The directory that contains all sessions, directly or below it.
    fn store(&self) -> PathBuf {
        self.world.session_dir.clone().unwrap_or_else(|| sessions_root(self.environment()))
    }

    /// The session at a position of the last list, counted from 1.
    fn listed(&self, number: usize) -> Result<PathBuf, ReferenceError> {
        let note = self.list_note().and_then(|note| read_whole(self.world.os(), &note, MAX_NOTES).ok());
        let note = note.and_then(|bytes| Json::parse(&bytes).ok());
        let sessions = note.as_ref().and_then(|note| note.raw().get("sessions"));
        let sessions: Vec<Raw<'_>> = sessions.ok_or(ReferenceError::NoList { number })?.items().collect();
        let listed = note.as_ref().and_then(|note| note.raw().get("store")?.as_string()).map(PathBuf::from);
        let here = self.store();
        if let Some(listed) = listed.filter(|listed| *listed.to_string_lossy() != *here.to_string_lossy()) {
            return Err(ReferenceError::OtherStore { number, listed, here });
        }
        let found = number.checked_sub(1).and_then(|index| sessions.get(index)).and_then(|path| path.as_string());
        let path = found.ok_or(ReferenceError::NoSuchRow { number, n_listed: sessions.len() })?;
        let path = PathBuf::from(path);
        if self.is_missing(&path) {
            return Err(self.missing(path, None));
        }
        Ok(path)
    }

    /// Why there is no session at a path.
    fn missing(&self, path: PathBuf, nearest: Option<PathBuf>) -> ReferenceError {
        if self.world.others.is_none() && self.is_of_a_mirror(&path) {
            return ReferenceError::NotFetched { path };
        }
        ReferenceError::NoSuchFile { path, nearest }
    }

    /// Whether sessions of members of a remote are kept there.
    fn is_of_a_mirror(&self, path: &Path) -> bool {
        self.environment().state_dir().is_some_and(|state| path.starts_with(state.join(known::DIRECTORY)))
    }

    /// The file for the last list of this terminal. Commands without a terminal share the list of their directory.
    fn list_note(&self) -> Option<PathBuf> {
        let environment = self.environment();
        let state = environment.state_dir()?;
        let terminal =
            environment.terminal().unwrap_or_else(|| environment.current_dir().to_string_lossy().into_owned());
        Some(state.join("lists").join(format!("{:016x}.json", fingerprint(terminal.as_bytes()))))
    }

    /// Whether there is no session at a path. A session of another member gets its file when it is opened.
    fn is_missing(&self, path: &Path) -> bool {
        let os = self.world.os();
        let is_remote = || self.world.others.as_ref().is_some_and(|others| others.catalogue(os).get(path).is_some());
        os.stat(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) && !is_remote()
    }
}

/// Where to search for a session.
struct SessionSearch<'s> {
    sessions: &'s Sessions,
    cwd: PathBuf,
}

impl SessionSearch<'_> {
    fn path(&self, wanted: &Path) -> Result<PathBuf, ReferenceError> {
        let path = absolute(self.sessions.environment(), wanted);
        if !self.sessions.is_missing(&path) {
            return Ok(path);
        }
        // A bare file name, as printed by other commands, may be in the store.
        if wanted.components().count() == 1 && wanted.file_name().is_some() {
            for (candidates, is_here) in [(self.here()?, true), (self.everywhere()?, false)] {
                let called = candidates.into_iter().filter(|session| session.path.file_name() == wanted.file_name());
                if let Some(session) = only(called.collect(), |found, total| ambiguous(wanted, is_here, found, total))?
                {
                    return Ok(session.path);
                }
            }
        }
        Err(self.sessions.missing(wanted.to_path_buf(), self.nearest_file(&path)))
    }

    /// A session in the same directory whose file name is similar to a missing one.
    fn nearest_file(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let siblings = find_sessions(self.sessions.world.os(), path.parent()?).ok()?;
        let names: Vec<&str> = siblings.iter().filter_map(|found| found.path.file_name()?.to_str()).collect();
        nearest(name, names).map(|name| path.with_file_name(name))
    }

    fn latest(&self) -> Result<PathBuf, ReferenceError> {
        let here = self.sessions.list(&self.cwd)?;
        let newest = match here.into_iter().next() {
            Some(newest) => Some(newest),
            None => self.sessions.list_all()?.into_iter().next(),
        };
        newest.map(|session| session.path).ok_or(ReferenceError::NoSessions)
    }

    /// Finds the session with this name, whatever its id is.
    fn name(&self, word: &str) -> Result<Option<PathBuf>, ReferenceError> {
        let here = candidates(self.sessions.list(&self.cwd)?);
        if let Some(path) = one(word, true, &here, |session| is_named(session, word))? {
            return Ok(Some(path));
        }
        let all = candidates(self.sessions.list_all()?);
        one(word, false, &all, |session| is_named(session, word))
    }

    /// The session with this id, this name, or an id with this prefix.
    fn word(&self, word: &str) -> Result<PathBuf, ReferenceError> {
        let here = self.here()?;
        if let Some(path) = one(word, true, &here, |session| session.id == word)? {
            return Ok(path);
        }
        let named_here = candidates(self.sessions.list(&self.cwd)?);
        if let Some(path) = one(word, true, &named_here, |session| is_named(session, word))? {
            return Ok(path);
        }
        // A complete id always wins, even over a prefix match in the working directory.
        let all = self.everywhere()?;
        if let Some(path) = one(word, false, &all, |session| session.id == word)? {
            return Ok(path);
        }
        let begins = |session: &SessionCandidate| session.id.as_str().starts_with(word);
        let wanted = folded(word);
        let is_alike = |session: &SessionCandidate| session.title.as_ref().is_some_and(|name| folded(name) == wanted);
        if let Some(path) = one(word, true, &here, begins)? {
            return Ok(path);
        }
        if let Some(path) = one(word, true, &named_here, is_alike)? {
            return Ok(path);
        }
        if let Some(path) = one(word, false, &all, begins)? {
            return Ok(path);
        }
        let named = candidates(self.sessions.list_all()?);
        for is_meant in [&(|session: &SessionCandidate| is_named(session, word)) as &dyn Fn(&_) -> bool, &is_alike] {
            if let Some(path) = one(word, false, &named, is_meant)? {
                return Ok(path);
            }
        }
        // A file without the usual extension, in the current directory.
        let path = absolute(self.sessions.environment(), Path::new(word));
        if self.sessions.world.os().stat(&path).is_ok() {
            return Ok(path);
        }
        Err(unknown(word, &all, &named))
    }

    /// The sessions of the working directory.
    fn here(&self) -> Result<Vec<SessionCandidate>, SessionError> {
        let world = &self.sessions.world;
        list::identified(world, &world.session_dir_of(&self.cwd), &world.filter_of(&self.cwd))
    }

    /// All sessions. A directory that cannot be listed does not affect the others.
    fn everywhere(&self) -> Result<Vec<SessionCandidate>, SessionError> {
        let environment = self.sessions.environment();
        let world = &self.sessions.world;
        if let Some(dir) = &world.session_dir {
            return list::identified(world, dir, &CwdFilter::All);
        }
        let found = crate::parallel::each(world.os(), world.session_dirs()?, 1, |dir| {
            list::identified(world, &dir, &CwdFilter::All).unwrap_or_default()
        });
        let mut found: Vec<SessionCandidate> = found.into_iter().flatten().collect();
        if let Some(others) = &world.others {
            let catalogue = others.catalogue(world.os());
            found.extend(catalogue.absent(world.os(), environment, &CwdFilter::All).map(|session| SessionCandidate {
                path: session.path.clone(),
                id: session.id.clone(),
                cwd: session.cwd.clone(),
                title: Some(session.note.name.clone().unwrap_or_else(|| session.note.first_message.clone())),
            }));
        }
        Ok(found)
    }
}

/// The named rows of a list, with their names as titles.
fn candidates(sessions: Vec<SessionInfo>) -> Vec<SessionCandidate> {
    let named = sessions.into_iter().filter_map(|session| {
        let title = session.name?.to_str().trim().to_owned();
        Some(SessionCandidate { path: session.path, id: session.id, cwd: session.cwd, title: Some(title) })
    });
    named.collect()
}

/// A name in the form for comparison: without case, control and joining characters, and with single spaces.
fn folded(name: &str) -> String {
    let is_shown = |char: &char| {
        let is_joining = matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}');
        char.is_whitespace() || !(char.is_control() || is_joining)
    };
    let shown: String = name.chars().filter(is_shown).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn is_named(session: &SessionCandidate, word: &str) -> bool {
    session.title.as_deref() == Some(word.trim())
}

/// The only matching session.
fn one(
    word: &str,
    is_here: bool,
    sessions: &[SessionCandidate],
    is_meant: impl Fn(&SessionCandidate) -> bool,
) -> Result<Option<PathBuf>, ReferenceError> {
    let meant: Vec<SessionCandidate> = sessions.iter().filter(|session| is_meant(session)).cloned().collect();
    Ok(only(meant, |found, total| ambiguous(Path::new(word), is_here, found, total))?.map(|session| session.path))
}

fn ambiguous(wanted: &Path, is_here: bool, candidates: Vec<SessionCandidate>, total: usize) -> ReferenceError {
    ReferenceError::AmbiguousSession { wanted: wanted.to_string_lossy().into_owned(), is_here, candidates, total }
}

fn unknown(word: &str, all: &[SessionCandidate], named: &[SessionCandidate]) -> ReferenceError {
    let titles = named.iter().filter_map(|session| session.title.as_deref());
    let name = nearest(word, std::iter::once("@latest").chain(titles)).map(str::to_owned);
    let nearest = name.or_else(|| nearest_id(word, all));
    ReferenceError::NoSuchSession { wanted: word.to_owned(), nearest }
}

/// The id with the prefix most similar to a word.
fn nearest_id(word: &str, all: &[SessionCandidate]) -> Option<String> {
    let n_chars = word.chars().count();
    // With fewer characters, almost anything is similar.
    if n_chars < 4 {
        return None;
    }
    let beginning = |session: &SessionCandidate| session.id.as_str().chars().take(n_chars).collect::<String>();
    let beginnings: Vec<String> = all.iter().map(beginning).collect();
    let found = nearest(word, beginnings.iter().map(String::as_str))?;
    let index = beginnings.iter().position(|beginning| beginning == found)?;
    Some(all[index].id.to_string())
}
