//! A machine, the entries acknowledged on it, and checks that all of them are still there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sessile::date::Timestamp;
use sessile::format::cause::chain;
use sessile::format::head::{Parsed, read};
use sessile::json::Json;
use sessile::write::{Durable, StoreError, WriteOptions};
use sessile::{EntryId, Environment, SessionError, SessionId, SessionManager, Sessions};

use crate::Replay;
use crate::notices::Notices;
use crate::sim::{SimOs, SnapshotEntry};

pub(super) const HOME: &str = "/d";
pub(super) const FILE: &str = "/d/s.jsonl";
const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/d"}"#;
/// Longer than the guard keeps anything.
pub(super) const LONG_MS: i64 = 6000;
const NOW_MS: i64 = 1_735_689_600_000;
const NOW: &str = "2025-01-01T00:00:00.000Z";

/// A deterministic environment that generates ids for old files as the real one does.
#[derive(Clone)]
struct TestEnvironment(Replay);

impl Environment for TestEnvironment {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn entry_uuid(&self) -> String {
        self.0.entry_uuid()
    }

    fn session_uuid(&self) -> SessionId {
        self.0.session_uuid()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.0.variable(name)
    }

    fn home(&self) -> PathBuf {
        HOME.into()
    }

    fn current_dir(&self) -> PathBuf {
        HOME.into()
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}

/// An acknowledged entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) path: PathBuf,
    pub(super) id: EntryId,
    pub(super) line: Vec<u8>,
    pub(super) durable: Durable,
}

/// What must hold on a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pub(super) acknowledged: Vec<Acknowledged>,
    /// Files that may only grow, or be kept as an original.
    pub(super) pristine: BTreeMap<PathBuf, Vec<u8>>,
}

/// A process on a machine, and the ledger of that machine.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) os: SimOs,
    environment: TestEnvironment,
    pub(super) writing: WriteOptions,
    pub(super) ledger: Ledger,
    /// The number of generated messages, shared by all writers on the machine.
    n_messages: Arc<AtomicU64>,
    pub(super) notices: Notices,
    /// Whether there is no other writer, so that a failed append leaves even the number of entries unchanged.
    pub(super) is_alone: bool,
    /// Whether a process has died, which may leave a directory behind that makes other programs wait.
    pub(super) has_crashed: bool,
}

impl Scenario {
    /// Creates a machine whose disk has a session of some entries by another program.
    pub(super) fn new(writing: WriteOptions) -> Self {
        Self::with_file(writing, &foreign_session(4))
    }

    pub(super) fn with_file(writing: WriteOptions, bytes: &[u8]) -> Self {
        let mut scenario = Self::empty(writing);
        scenario.os.foreign_rewrite(FILE, bytes);
        scenario.os.settle();
        scenario.ledger.pristine.insert(FILE.into(), bytes.to_vec());
        scenario
    }

    /// Creates a machine with an empty directory.
    pub(super) fn empty(writing: WriteOptions) -> Self {
        let os = SimOs::new();
        os.make_directories(HOME);
        os.settle();
        Self {
            os,
            environment: TestEnvironment(Replay::new(NOW_MS, 7)),
            writing,
            ledger: Ledger::default(),
            n_messages: Arc::default(),
            notices: Notices::default(),
            is_alone: true,
            has_crashed: false,
        }
    }

    /// Returns the same ledger on another machine or in another process.
    pub(super) fn on(&self, os: SimOs) -> Self {
        Self { os, ..self.clone() }
    }

    /// Returns the state after power loss and reboot.
    pub(super) fn after_power_loss(&self, seed: u64) -> Self {
        let mut left = Self { has_crashed: true, is_alone: false, ..self.on(self.os.power_loss(seed)) };
        // An empty file without acknowledged entries may end up with any content.
        let acknowledged: BTreeSet<PathBuf> = self.ledger.acknowledged.iter().map(|entry| entry.path.clone()).collect();
        left.ledger.pristine.retain(|path, old| !old.is_empty() || acknowledged.contains(path));
        left
    }

    pub(super) fn sessions(&self) -> Sessions {
        Sessions::new(self.environment.clone()).on(Arc::new(self.os.clone())).writing(self.writing)
    }

    pub(super) fn open(&self, path: &Path) -> Result<SessionManager, SessionError> {
        let mut manager = self.sessions().open(path)?;
        self.listen(&mut manager);
        Ok(manager)
    }

    /// Opens a session for writing, and recovers destroyed entries.
    pub(super) fn resume(&self, path: &Path) -> Result<SessionManager, SessionError> {
        let mut manager = self.open(path)?;
        manager.recover()?;
        Ok(manager)
    }

    pub(super) fn listen(&self, manager: &mut SessionManager) {
        self.notices.record(manager);
    }

    fn next_message(&self) -> String {
        let number = self.n_messages.fetch_add(1, Ordering::Relaxed) + 1;
        format!(r#"{{"role":"user","content":"message {number}","timestamp":{number}}}"#)
    }

    /// Appends a message and records it if it was acknowledged.
    pub(super) fn append(&mut self, manager: &mut SessionManager) -> Result<EntryId, SessionError> {
        let message = self.next_message();
        let rest = format!(r#""message":{message}"#);
        let json = Json::parse(&message).unwrap();
        self.note(manager, "message", &rest, |manager| manager.append_message(json))
    }

    /// Labels the leaf and records that if it was acknowledged.
    pub(super) fn label(&mut self, manager: &mut SessionManager) -> Result<EntryId, SessionError> {
        let target = manager.leaf_id().unwrap();
        let rest = format!(r#""targetId":"{target}","label":"here""#);
        self.note(manager, "label", &rest, |manager| manager.append_label_change(target, Some("here")))
    }

    fn note(
        &mut self,
        manager: &mut SessionManager,
        kind: &str,
        rest: &str,
        write: impl FnOnce(&mut SessionManager) -> Result<EntryId, SessionError>,
    ) -> Result<EntryId, SessionError> {
        // Destroyed entries are recovered with the first write and move the leaf. That is not checked here; if it
        // fails, the write fails too.
        drop(manager.recover());
        let (parent, n_entries) = (manager.leaf_id(), manager.entry_count());
        let written = write(manager);
        let Ok(id) = &written else {
            assert_eq!(manager.leaf_id(), parent, "a failed append has moved the leaf");
            if self.is_alone {
                assert_eq!(manager.entry_count(), n_entries, "a failed append has changed the number of entries");
            }
            return written;
        };
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let line = format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{NOW}",{rest}}}"#);
        let durable = manager.last_acknowledgement().unwrap().durable;
        let path = manager.session_file().unwrap().to_path_buf();
        self.ledger.acknowledged.push(Acknowledged { path, id: id.clone(), line: line.into_bytes(), durable });
        assert_eq!(manager.leaf_id().as_ref(), Some(id), "an acknowledged entry is not the leaf");
        written
    }

    /// Appends. If a failed sync forbids that, opens the file again first, as the error says.
    pub(super) fn append_or_reopen(&mut self, manager: &mut SessionManager) -> Result<EntryId, SessionError> {
        match self.append(manager) {
            Err(SessionError::Store(StoreError::Poisoned { .. } | StoreError::SyncFailed { .. })) => {
                manager.reopen()?;
                self.append(manager)
            }
            appended => appended,
        }
    }

    /// Appends; waits if a dead process makes other processes wait.
    fn append_unless_busy(&mut self, manager: &mut SessionManager) -> Result<EntryId, SessionError> {
        match self.append(manager) {
            Err(SessionError::Store(StoreError::Busy { .. })) if self.has_crashed => {
                self.os.advance(2 * LONG_MS);
                self.append(manager)
            }
            appended => appended,
        }
    }

    /// Records that the entries of one file were copied to another and acknowledged there.
    pub(super) fn note_copies(&mut self, from: &Path, to: &Path, ids: &[EntryId]) {
        let bytes = self.os.read_file(from).unwrap_or_default();
        let durable = if self.writing.durability.is_on_disk() { Durable::Disk } else { Durable::PageCache };
        for line in lines(&bytes) {
            if let Some(id) = id_of(line).filter(|id| ids.contains(id)) {
                let path = to.to_path_buf();
                self.ledger.acknowledged.push(Acknowledged { path, id, line: line.to_vec(), durable });
            }
        }
    }

    /// Checks that each acknowledged entry is in its file once, and that earlier content is unchanged.
    pub(super) fn check_files(&self) -> Result<(), String> {
        self.check_pristine()?;
        let mut paths: BTreeMap<&Path, Vec<&Acknowledged>> = BTreeMap::new();
        for acknowledged in &self.ledger.acknowledged {
            paths.entry(&acknowledged.path).or_default().push(acknowledged);
        }
        for (path, wanted) in paths {
            let bytes = self.os.read_file(path).ok_or_else(|| format!("{} is gone", path.display()))?;
            check_lines(&bytes, &wanted)?;
        }
        Ok(())
    }

    fn check_pristine(&self) -> Result<(), String> {
        for (path, old) in &self.ledger.pristine {
            let now = self.os.read_file(path).unwrap_or_default();
            if !now.starts_with(old) && !self.has_original(path, old) {
                return Err(format!("{} was changed other than by appending", path.display()));
            }
        }
        Ok(())
    }

    /// Whether the old content of a file was kept beside it.
    fn has_original(&self, path: &Path, old: &[u8]) -> bool {
        let prefix = format!("{}.orig-", path.display());
        self.os.snapshot().iter().any(|(kept, seen)| {
            kept.to_string_lossy().starts_with(&prefix)
                && matches!(seen, SnapshotEntry::File(bytes) if bytes.starts_with(old))
        })
    }

    /// Checks that a manager sees all acknowledged entries of its file.
    pub(super) fn check_view(&self, manager: &SessionManager) -> Result<(), String> {
        let path = manager.session_file().unwrap();
        for Acknowledged { id, line, .. } in self.ledger.acknowledged.iter().filter(|entry| entry.path == path) {
            let entry = manager.entry(id.clone()).map_err(|error| chain(&error))?;
            let entry = entry.ok_or_else(|| format!("entry {id} is not found"))?;
            if entry.raw().as_bytes() != &line[..] {
                return Err(format!("entry {id} is read with other content"));
            }
        }
        Ok(())
    }

    /// Returns every file that a process would treat as a session.
    pub(super) fn session_files(&self) -> BTreeSet<PathBuf> {
        let is_session = |path: &Path| path.to_string_lossy().ends_with(".jsonl");
        self.os.snapshot().into_keys().filter(|path| is_session(path)).collect()
    }

    /// Lets new processes open, read, append to and, after some time, clean up every session.
    ///
    /// This must work whatever happened before, and leave nothing but sessions and originals.
    pub(super) fn check_can_continue(&mut self) -> Result<(), String> {
        let own = self.os.clone();
        for path in self.paths() {
            // The next writer of each session cleans up, so all are written to before any is checked.
            self.os = own.process(1999);
            let mut manager =
                self.open(&path).map_err(|error| format!("opening {}: {}", path.display(), chain(&error)))?;
            let appended = self.append_unless_busy(&mut manager);
            appended.map_err(|error| format!("appending to {}: {}", path.display(), chain(&error)))?;
        }
        for path in self.paths() {
            self.os = own.process(2000);
            self.continue_session(&path)
                .map_err(|failure| format!("a new process on {}: {failure}", path.display()))?;
        }
        self.os = own.process(2001);
        let listed = self.sessions().clone().with_session_dir(Path::new(HOME)).list_all();
        listed.map_err(|error| format!("listing: {}", chain(&error)))?;
        self.check_leftovers()
    }

    /// Returns the files with acknowledged or initial entries.
    pub(super) fn paths(&self) -> BTreeSet<PathBuf> {
        let acknowledged = self.ledger.acknowledged.iter().map(|entry| entry.path.clone());
        acknowledged.chain(self.ledger.pristine.keys().cloned()).collect()
    }

    fn continue_session(&mut self, path: &Path) -> Result<(), String> {
        let mut manager = self.open(path).map_err(|error| chain(&error))?;
        self.check_files()?;
        self.check_view(&manager)?;
        let appended = self.append_unless_busy(&mut manager);
        appended.map_err(|error| format!("appending: {}", chain(&error)))?;
        drop(manager);
        self.check_files()?;
        self.os.advance(LONG_MS);
        // Opening changes nothing; a writer with nothing left to guard removes the sidecars.
        let before = self.os.snapshot();
        let mut manager = self.open(path).map_err(|error| chain(&error))?;
        self.check_view(&manager)?;
        if self.os.snapshot() != before {
            return Err("opening has changed a file".to_owned());
        }
        self.append(&mut manager).map_err(|error| format!("appending again: {}", chain(&error)))?;
        self.os.advance(LONG_MS);
        drop(manager);
        self.check_files()
    }

    /// Part of a header in a formerly empty file is not a session, and nothing in it was acknowledged.
    pub(super) fn forget_torn_starts(&mut self) {
        let os = self.os.clone();
        let is_torn = |path: &PathBuf| os.read_file(path).is_some_and(|now| !now.is_empty() && !now.contains(&b'\n'));
        self.ledger.pristine.retain(|path, old| !old.is_empty() || !is_torn(path));
    }

    fn check_leftovers(&self) -> Result<(), String> {
        let snapshot = self.os.snapshot();
        for path in self.paths() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let sidecars = [format!(".{name}.sessile-lock"), format!(".{name}.sessile-guard"), format!("{name}.lock")];
            let n_wanted = if self.has_crashed { 2 } else { 3 };
            let is_left = |sidecar: &&String| snapshot.contains_key(&path.with_file_name(sidecar));
            if let Some(left) = sidecars.iter().take(n_wanted).find(is_left) {
                return Err(format!("{left} was left behind"));
            }
        }
        Ok(())
    }
}

fn check_lines(bytes: &[u8], wanted: &[&Acknowledged]) -> Result<(), String> {
    let by_id: Vec<(EntryId, &[u8])> = lines(bytes).filter_map(|line| Some((id_of(line)?, line))).collect();
    for Acknowledged { id, line, .. } in wanted {
        let found: BTreeSet<&[u8]> = by_id.iter().filter(|(found, _)| found == id).map(|(_, line)| *line).collect();
        if found.is_empty() {
            return Err(format!("acknowledged entry {id} is lost"));
        }
        if found.len() > 1 || !found.contains(&line[..]) {
            return Err(format!("acknowledged entry {id} has changed"));
        }
    }
    Ok(())
}

pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n')
}

pub(super) fn id_of(line: &[u8]) -> Option<EntryId> {
    match read(line) {
        Parsed::Value(head) => head.id.map(|id| EntryId::from(id.into_owned())),
        _ => None,
    }
}

/// Returns the id and line of an entry by another program.
pub(super) fn foreign_line(number: u64, parent: Option<&EntryId>) -> (EntryId, Vec<u8>) {
    let id = EntryId::from(format!("f{number:07}"));
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let message = format!(r#"{{"role":"user","content":"foreign {number}","timestamp":{number}}}"#);
    let line =
        format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{NOW}","message":{message}}}"#);
    (id, line.into_bytes())
}

/// Returns a session of `n_entries` entries, each the child of the one before it.
pub(super) fn foreign_session(n_entries: u64) -> Vec<u8> {
    let mut bytes = format!("{HEADER}\n").into_bytes();
    let mut parent = None;
    for number in 0..n_entries {
        let (id, line) = foreign_line(number, parent.as_ref());
        bytes.extend(line);
        bytes.push(b'\n');
        parent = Some(id);
    }
    bytes
}

/// Returns a session of version 1, whose entries have neither ids nor parents.
pub(super) fn old_session() -> Vec<u8> {
    let mut bytes = br#"{"type":"session","id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/d"}"#.to_vec();
    for number in 0..4 {
        let message = format!(r#"{{"role":"user","content":"old {number}","timestamp":{number}}}"#);
        let line = format!("\n{{\"type\":\"message\",\"timestamp\":\"{NOW}\",\"message\":{message}}}");
        bytes.extend(line.into_bytes());
    }
    bytes.push(b'\n');
    bytes
}
