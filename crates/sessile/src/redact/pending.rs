//! What a scrub is looking for, noted while it runs.
//!
//! Many values are found by the text around them. Once the scrub has replaced that text, a bare repeat of the value in
//! another file cannot be found any more. So if a scrub is interrupted, the next one recognizes its values by their
//! traces: lengths, and salted HMACs. No value is written. The file is removed as soon as the scrub is done.

use std::io::Write;
use std::path::{Path, PathBuf};

use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_redact::{RunKey, Tier, Trace, Traces};
use sessile_store::os::Os;
use sessile_store::{Leftover, LeftoverKind, StoreError, find_leftovers};
use sessile_store::{create_directory, create_file, read_whole, remove_if_there, replace_durably};

use super::finder::Learned;
use crate::error::SessionError;
use crate::list::read_header;
use crate::record::SessionLocation;
use crate::redact_error::RedactError;
use crate::sessions::Sessions;

/// The directory in the state directory, and what its files end with.
const DIRECTORY: &str = "scrubs";
const ENDING: &str = "pending";

/// The largest file to read.
const MAX_LENGTH: u64 = 64 << 20;

/// The traces of a scrub that has not ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pending {
    file: PathBuf,
    /// The key of the traces.
    salt: String,
    /// The sessions that are not done.
    sessions: Vec<PendingSession>,
    traces: Vec<Trace>,
}

/// A session that a scrub has not finished.
#[derive(Debug, PartialEq, Eq)]
struct PendingSession {
    /// Where it was.
    path: String,
    /// Its id, by which it is found after it was moved; empty if it has none.
    id: String,
}

impl PendingSession {
    /// Whether it is this one. Paths need not be UTF-8.
    fn is(&self, session: &SessionLocation) -> bool {
        session.path.to_string_lossy() == *self.path || (!self.id.is_empty() && session.id.as_str() == self.id)
    }

    /// Whether it is not where it was, and not where operations have moved it.
    fn is_gone(&self, sessions: &Sessions) -> bool {
        let os = sessions.world.os();
        let is_missing =
            |path: &Path| os.link_stat(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        let is_exact = !self.path.contains(char::REPLACEMENT_CHARACTER);
        is_exact
            && is_missing(Path::new(&self.path))
            && sessions.places_of(&self.id).is_ok_and(|places| places.iter().all(|path| is_missing(path)))
    }

    fn write(&self) -> Json {
        let mut text = ObjectWriter::new();
        text.string("path", &self.path).string("id", &self.id);
        text.finish()
    }

    fn read(value: Raw<'_>) -> Option<Self> {
        Some(Self { path: value.get("path")?.as_string()?, id: value.get("id")?.as_string()? })
    }
}

impl Pending {
    fn to_text(&self) -> Json {
        let sessions: Vec<Json> = self.sessions.iter().map(PendingSession::write).collect();
        let values: Vec<Json> = self.traces.iter().map(write_trace).collect();
        let mut text = ObjectWriter::new();
        text.string("salt", &self.salt)
            .array("sessions", sessions.iter().map(Json::raw))
            .array("values", values.iter().map(Json::raw));
        text.finish()
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), SessionError> {
        let written = out.write_all(self.to_text().raw().as_bytes());
        Ok(written.map_err(|error| StoreError::io_at("write", &self.file, error))?)
    }

    /// Reads the file; `None` if it is damaged.
    fn read(os: &dyn Os, file: PathBuf) -> Option<Self> {
        let text = Json::parse(read_whole(os, &file, MAX_LENGTH).ok()?).ok()?;
        let items = |name| text.raw().get(name).into_iter().flat_map(Raw::items);
        let salt = text.raw().get("salt")?.as_string()?;
        let sessions = items("sessions").filter_map(PendingSession::read).collect();
        let traces = items("values").filter_map(read_trace).collect();
        Some(Self { file, salt, sessions, traces })
    }

    /// The traces, ready to search with.
    pub(super) fn traces(&self) -> Traces {
        Traces::new(&RunKey::new(self.salt.as_bytes()), self.traces.iter().cloned())
    }
}

fn write_trace(trace: &Trace) -> Json {
    let mut value = ObjectWriter::new();
    value
        .string("rule", &trace.rule)
        .integer("tier", if trace.tier == Tier::Certain { 1 } else { 2 })
        .integer("length", i64::try_from(trace.length).unwrap_or(i64::MAX))
        .integer("start", i64::from(trace.start))
        .string("code", &trace.code);
    value.finish()
}

fn read_trace(value: Raw<'_>) -> Option<Trace> {
    let text = |name| value.get(name)?.as_string();
    Some(Trace {
        rule: text("rule")?.into(),
        tier: if value.get("tier")?.as_bytes() == b"1" { Tier::Certain } else { Tier::Likely },
        length: value.get("length")?.to_text().parse().ok()?,
        start: value.get("start")?.to_text().parse().ok()?,
        code: text("code")?,
    })
}

impl Sessions {
    /// Notes what a scrub of some sessions looks for. Returns `None` if there is nothing to note, or no state directory.
    pub(super) fn save_pending(
        &self,
        sessions: &[PathBuf],
        learned: &Learned,
    ) -> Result<Option<Pending>, SessionError> {
        let Some(directory) = self.pending_directory().filter(|_| !learned.is_empty()) else { return Ok(None) };
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_unavailable| RedactError::NoRandom)?;
        let salt = format!("{:032x}", u128::from_le_bytes(salt));
        let key = RunKey::new(salt.as_bytes());
        let traces = learned.everywhere().flat_map(|(secret, found)| Traces::of(&key, found, secret)).collect();
        let file = directory.join(format!("{salt}.{ENDING}"));
        let noted = |session: SessionLocation| PendingSession {
            path: session.path.to_string_lossy().into_owned(),
            id: session.id.to_string(),
        };
        let sessions = sessions.iter().map(|path| noted(self.located(path))).collect();
        let pending = Pending { file, salt, sessions, traces };
        let os = self.world.os();
        create_directory(os, &directory, true)?;
        create_file(os, &pending.file, true, &mut |out| pending.write(out))?;
        Ok(Some(pending))
    }

    /// What earlier scrubs of these sessions were looking for when they were interrupted. A damaged file is skipped.
    pub(super) fn pending_of(&self, sessions: &[PathBuf]) -> Vec<Pending> {
        let Some(directory) = self.pending_directory() else { return Vec::new() };
        let os = self.world.os();
        let mut files = os.list(&directory).unwrap_or_default();
        files.retain(|file| file.extension().is_some_and(|ending| ending == ENDING));
        files.sort();
        let mut pending: Vec<Pending> = files.into_iter().filter_map(|file| Pending::read(os, file)).collect();
        let sessions: Vec<SessionLocation> = sessions.iter().map(|path| self.located(path)).collect();
        pending.retain(|pending| pending.sessions.iter().any(|noted| sessions.iter().any(|it| noted.is(it))));
        pending
    }

    /// Notes which sessions of a scrub are done. Once all of them are, or are gone, removes what it was looking for.
    pub(super) fn settle_pending(&self, pending: &mut Pending, done: &[PathBuf]) -> Result<(), SessionError> {
        let os = self.world.os();
        let n_before = pending.sessions.len();
        let done: Vec<SessionLocation> = done.iter().map(|path| self.located(path)).collect();
        pending.sessions.retain(|noted| !noted.is_gone(self) && !done.iter().any(|session| noted.is(session)));
        if pending.sessions.is_empty() {
            remove_if_there(os, &pending.file)?;
        } else if pending.sessions.len() < n_before {
            replace_durably(os, &pending.file, &mut |out| pending.write(out))?;
        }
        Ok(())
    }

    /// Removes what a scrub was looking for, if it has changed nothing.
    pub(super) fn forget_pending(&self, pending: &Pending) -> Result<(), SessionError> {
        Ok(remove_if_there(self.world.os(), &pending.file)?)
    }

    /// Removes the files of killed processes that were noting something.
    pub(super) fn sweep_pending(&self) -> Result<(), SessionError> {
        let Some(directory) = self.pending_directory() else { return Ok(()) };
        let os = self.world.os();
        let is_dead = |leftover: &Leftover| leftover.kind == LeftoverKind::Temporary && !leftover.is_in_use(os);
        let mut dead = find_leftovers(os, &directory).into_iter().filter(is_dead);
        dead.try_for_each(|leftover| Ok(remove_if_there(os, &leftover.path)?))
    }

    fn located(&self, path: &Path) -> SessionLocation {
        let id = read_header(&self.world, path).map(|header| header.id()).unwrap_or_default();
        SessionLocation { path: path.to_path_buf(), id }
    }

    fn pending_directory(&self) -> Option<PathBuf> {
        Some(self.world.operations_dir.as_ref()?.join(DIRECTORY))
    }
}

#[cfg(test)]
mod tests {
    use sessile_redact::Secret;

    use super::*;

    const VALUE: &str = "kR7vQ2x9kR7vQ2x9";

    #[test]
    fn traces_are_kept_until_their_sessions_are_done() {
        let sessions = Sessions::in_memory_system().recording_operations(Some("/home/user/state".into()));
        let create = || {
            let mut session = sessions.create("/proj").unwrap();
            session.append_user_message("hello").unwrap();
            session.session_file().unwrap().to_path_buf()
        };
        let (one, other, gone) = (create(), create(), PathBuf::from("/gone.jsonl"));
        let mut learned = Learned::default();
        assert!(sessions.save_pending(std::slice::from_ref(&one), &learned).unwrap().is_none());
        learned.add(Secret::new("harmless"), "setting".into(), Tier::Likely);
        learned.add(Secret::new(VALUE), "assignment".into(), Tier::Likely);
        let mut own = sessions.save_pending(&[one.clone(), other.clone(), gone.clone()], &learned).unwrap().unwrap();
        let text = String::from_utf8(read_whole(sessions.world.os(), &own.file, MAX_LENGTH).unwrap()).unwrap();
        assert!(!text.contains("kR7v") && text.contains("assignment"), "{text}");
        assert!(sessions.pending_of(&["/other.jsonl".into()]).is_empty());
        let found = sessions.pending_of(std::slice::from_ref(&gone));
        assert_eq!(found.iter().collect::<Vec<_>>(), [&own]);
        let key = RunKey::new(own.salt.as_bytes());
        let expected = Traces::of(&key, &("assignment".into(), Tier::Likely), &Secret::new(VALUE));
        assert_eq!(found[0].traces, expected);
        sessions.settle_pending(&mut own, std::slice::from_ref(&one)).unwrap();
        assert!(sessions.pending_of(&[one, gone]).is_empty());
        assert_eq!(sessions.pending_of(std::slice::from_ref(&other)).len(), 1);
        sessions.settle_pending(&mut own, std::slice::from_ref(&other)).unwrap();
        assert!(sessions.pending_of(&[other]).is_empty());
    }
}
