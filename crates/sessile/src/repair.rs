//! Mending a session: records come back, orphans get a parent, and nothing else changes.
//!
//! The new file is thought through to the end before a byte is written: it is
//! held against the old one entry by entry and examined like any other. Only
//! then it takes the old one's place, and the old one stays beside it.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::date::to_iso;
use sessile_core::head::{Parsed, read};
use sessile_core::json::{Edit, Json, ObjectWriter, Raw};
use sessile_core::outline::Outline;
use sessile_core::verify::{Code, Finding};
use sessile_store::os::FileKind;
use sessile_store::{Busy, FileLog, Log, StoreError, Turn, WriteOptions, make_private, replace, subdirectories};

use crate::environment::Environment;
use crate::error::SessionError;
use crate::list::identified;
use crate::manager::Sessions;
use crate::place::{CwdFilter, absolute, default_session_dir, given_dir, sessions_root};
use crate::splice::{Spliced, Stored, Text, write};
use crate::verify::{Adopted, Examined, Fate, examine, exposure, finding_json, vanished, write_place};
use crate::world::World;

/// How to repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Tell what would be done, and do nothing.
    pub dry_run: bool,
    /// Close the file and its directory to other users.
    pub permissions: bool,
}

/// What a repair has done, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The file.
    pub path: PathBuf,
    /// Whether nothing was really done.
    pub dry_run: bool,
    /// What was changed, in file order; empty if there was nothing to repair.
    pub changes: Vec<Change>,
    /// What is still to be told about the file.
    pub left: Vec<Finding>,
    /// Where the original is now, if the file was replaced.
    pub original: Option<PathBuf>,
}

/// What was closed to other users, or would be.
#[derive(Debug, Default)]
pub struct Closed {
    /// How many sessions were looked at.
    pub n_sessions: usize,
    /// Those that were open, with what was changed.
    pub repairs: Vec<Repair>,
    /// Why others could not be closed.
    pub failed: Vec<SessionError>,
}

/// One thing that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The finding it mends.
    pub code: Code,
    /// The line, counted from 1: in the old file for what was damaged, in the new one for entries with a new parent.
    pub line: u64,
    /// The byte offset, in the same file as the line.
    pub offset: u64,
    /// What was done.
    pub message: String,
}

impl Change {
    fn to_json(&self) -> Json {
        let mut change = ObjectWriter::new();
        change.string("code", self.code.word());
        write_place(&mut change, self.line, self.offset);
        change.string("message", &self.message);
        change.finish()
    }
}

impl Repair {
    /// The repair as JSON: `{path, dryRun, changes, left, original?}`.
    pub fn to_json(&self) -> Json {
        let changes: Vec<Json> = self.changes.iter().map(Change::to_json).collect();
        let left: Vec<Json> = self.left.iter().map(finding_json).collect();
        let mut repair = ObjectWriter::new();
        repair
            .string("path", &self.path.to_string_lossy())
            .bool("dryRun", self.dry_run)
            .array("changes", changes.iter().map(Json::raw))
            .array("left", left.iter().map(Json::raw));
        if let Some(original) = &self.original {
            repair.string("original", &original.to_string_lossy());
        }
        repair.finish()
    }
}

impl Sessions {
    /// Mends what can be mended in a session.
    ///
    /// Whole records in damaged lines get lines of their own, where they
    /// stand; what is left of the damaged lines stays too. Then entries whose
    /// parent is nowhere in the file are hung on the entry before them. The
    /// original stays beside the file as `<name>.orig-<stamp>`. A file with
    /// nothing to repair is not touched, so a second repair does nothing.
    pub fn repair(&self, path: impl AsRef<Path>, options: RepairOptions) -> Result<Repair, SessionError> {
        let environment = self.environment();
        let path = absolute(environment, path.as_ref());
        refuse_links(&self.world, &path)?;
        let mut turn = self.turn(&path, options.dry_run)?;
        let restored = turn.as_mut().map(|turn| put_back(&self.world, turn)).transpose()?.flatten();
        let log = FileLog::open(&self.world.os, path.clone(), self.world.writing)?;
        let stored = Stored::new(&log)?;
        let examined = examine(environment, &path, &stored)?;
        let salvaged = Spliced::new(&stored, &examined.salvage);
        let mended = Spliced::new(&salvaged, &examined.adoption);
        let checked = || check(environment, &path, (&stored, &examined), &mended);
        let result = examined.is_repairable().then(checked).transpose()?;
        let mut repair = Repair {
            dry_run: options.dry_run,
            changes: Vec::new(),
            left: exposure(&self.world, &path)?,
            original: None,
            path,
        };
        repair.changes.extend(restored);
        if options.dry_run {
            let vanished = vanished(&self.world, &repair.path)?;
            repair.changes.extend(vanished.restorable.map(|finding| change(finding.code, 1, 0, finding.message)));
            repair.left.extend(vanished.expired);
        }
        if options.permissions && !repair.left.is_empty() {
            repair.close(&self.world)?;
        }
        // Only now, so that what is kept of the old file is closed to others as well.
        if result.is_some() && !options.dry_run {
            repair.original = Some(swap(&self.world, &repair.path, &log, &stored, &mended)?);
        }
        repair.changes.extend(told(&examined));
        repair.left.extend(result.unwrap_or(examined).findings);
        if let Some(turn) = &mut turn {
            turn.end_turn();
        }
        Ok(repair)
    }

    /// Closes the sessions of a working directory, or of all, and their directories to other users. Nothing else is changed.
    ///
    /// A file that cannot be closed does not keep the others from it.
    pub fn close_all(
        &self,
        cwd: Option<&Path>,
        session_dir: Option<&Path>,
        dry_run: bool,
        cancel: &Cancel,
    ) -> Result<Closed, SessionError> {
        let mut closed = Closed::default();
        // A directory is told of with the first of its files, as it would be if they were closed one by one.
        let mut told = HashSet::new();
        for path in self.files_of(cwd, session_dir)? {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            closed.n_sessions += 1;
            match self.close_one(path, dry_run, &mut told) {
                Ok(repair) => closed.repairs.extend(repair),
                Err(error) => closed.failed.push(error),
            }
        }
        Ok(closed)
    }

    fn close_one(
        &self,
        path: PathBuf,
        dry_run: bool,
        told: &mut HashSet<PathBuf>,
    ) -> Result<Option<Repair>, SessionError> {
        let left = exposure(&self.world, &path)?;
        if left.is_empty() {
            return Ok(None);
        }
        let is_first = path.parent().is_none_or(|directory| told.insert(directory.to_path_buf()));
        if !is_first && !left.iter().any(Finding::counts) {
            return Ok(None);
        }
        refuse_links(&self.world, &path)?;
        let mut repair = Repair { path, dry_run, changes: Vec::new(), left, original: None };
        repair.close(&self.world)?;
        Ok(Some(repair))
    }

    /// The files of a working directory's sessions, or of all.
    fn files_of(&self, cwd: Option<&Path>, session_dir: Option<&Path>) -> Result<Vec<PathBuf>, SessionError> {
        let environment = self.environment();
        let given = given_dir(environment, session_dir);
        let (directories, filter) = match (cwd, given) {
            (Some(cwd), given) => {
                let filter = CwdFilter::new(environment, cwd, given.as_deref());
                (vec![given.unwrap_or_else(|| default_session_dir(environment, cwd))], filter)
            }
            (None, Some(given)) => (vec![given], CwdFilter::All),
            (None, None) => (subdirectories(self.world.os(), &sessions_root(environment))?, CwdFilter::All),
        };
        let mut files = Vec::new();
        for directory in directories {
            files.extend(identified(&self.world, &directory, &filter)?.into_iter().map(|session| session.path));
        }
        Ok(files)
    }

    /// Keeps other processes of ours from writing while a session is mended.
    fn turn(&self, path: &Path, is_dry_run: bool) -> Result<Option<FileLog>, SessionError> {
        if is_dry_run {
            return Ok(None);
        }
        // Nothing is mended while somebody else writes, whatever the caller does otherwise.
        let busy = Busy::Fail(PATIENCE);
        let mut log = FileLog::open(&self.world.os, path, WriteOptions { busy, ..self.world.writing })?;
        match log.begin_turn()? {
            Turn::Ours => Ok(Some(log)),
            // There is no lock to be had here, so there is nobody who holds it either.
            Turn::Unlocked => Ok(None),
        }
    }
}

/// A link is not repaired, and a dry run says so as well.
fn refuse_links(world: &World, path: &Path) -> Result<(), SessionError> {
    let stat = world.os().link_stat(path).map_err(|source| StoreError::io_at("look at", path, source))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
    }
    Ok(())
}

/// How long a repair waits for others to finish.
const PATIENCE: Duration = Duration::from_secs(2);

/// Puts back entries that were acknowledged and have vanished, and says so.
fn put_back(world: &World, turn: &mut FileLog) -> Result<Option<Change>, SessionError> {
    let Some(finding) = vanished(world, turn.path())?.restorable else { return Ok(None) };
    turn.recover()?;
    Ok(Some(change(finding.code, 1, 0, format!("{}: put back", finding.message))))
}

impl Repair {
    /// Closes the file and its directory to others.
    fn close(&mut self, world: &World) -> Result<(), SessionError> {
        if !self.dry_run {
            make_private(world.os(), &self.path)?;
        }
        let closed = |finding: Finding| change(finding.code, 1, 0, format!("{}: closed to others", finding.message));
        self.changes.extend(self.left.drain(..).map(closed));
        Ok(())
    }
}

fn change(code: Code, line: u64, offset: u64, message: String) -> Change {
    Change { code, line, offset, message }
}

/// What the splices do, in words.
fn told(examined: &Examined) -> Vec<Change> {
    let mark = examined.drops_mark.then(|| change(Code::ByteOrderMark, 1, 0, "mark taken away".to_owned()));
    let mended = examined.findings.iter().filter(|finding| {
        matches!(finding.code, Code::Torn | Code::Fused | Code::NulBytes | Code::RawNewline | Code::Malformed)
    });
    let code_at: HashMap<u64, Code> = mended.map(|finding| (finding.line, finding.code)).collect();
    let hidden = examined.hidden.iter().map(|found| {
        let code = code_at.get(&found.line).copied().unwrap_or(Code::Fused);
        let id = &found.record.id;
        let message = match (found.fate, found.record.is_header) {
            (Fate::IsCopy, _) => format!("record {id} is in the file once instead of twice"),
            (_, true) => format!("header {id} has a line of its own"),
            (_, false) => format!("record {id} has a line of its own"),
        };
        change(code, found.line, found.at.offset, message)
    });
    let adopted = examined.adopted.iter().map(|Adopted { line, offset, id, lost, parent }| {
        change(Code::MissingParent, *line, *offset, format!("entry {id} hangs on {parent} instead of {lost}"))
    });
    mark.into_iter().chain(hidden).chain(adopted).collect()
}

/// Makes sure that the new text has everything the old one has, what was to come back, and nothing left to do.
fn check(
    environment: &dyn Environment,
    path: &Path,
    (old, examined): (&dyn Text, &Examined),
    new: &dyn Text,
) -> Result<Examined, SessionError> {
    let wrong = |what| SessionError::RepairFailed { path: path.to_path_buf(), what };
    let result = examine(environment, path, new)?;
    if result.is_repairable() {
        return Err(wrong("there would still be something to repair"));
    }
    let adopted: HashMap<&EntryId, &EntryId> = examined.adopted.iter().map(|it| (&it.id, &it.parent)).collect();
    let before = prints(old, &examined.outline, &adopted)?;
    let back = examined
        .hidden
        .iter()
        .filter(|found| found.fate == Fate::ComesBack)
        .map(|found| print(&found.record.line, &adopted));
    let mut before = before.into_iter().peekable();
    let mut back = back.peekable();
    for after in prints(new, &result.outline, &HashMap::new())? {
        let is_known = before.next_if_eq(&after).is_some() || back.next_if_eq(&after).is_some();
        if !is_known {
            return Err(wrong("an entry would change"));
        }
    }
    if before.next().is_some() || back.next().is_some() {
        return Err(wrong("an entry would be missing"));
    }
    Ok(result)
}

/// A fingerprint of each row, as it is to be.
fn prints(text: &dyn Text, outline: &Outline, adopted: &HashMap<&EntryId, &EntryId>) -> Result<Vec<u64>, StoreError> {
    let print_row = |row| {
        let line = text.read(outline.span(row))?;
        let none = HashMap::new();
        // Of several entries of one id only the one that counts gets a new parent.
        Ok(print(&line, if outline.current(row) == row { adopted } else { &none }))
    };
    outline.rows().map(print_row).collect()
}

/// A fingerprint of a line, with the parent it is to have.
fn print(line: &[u8], adopted: &HashMap<&EntryId, &EntryId>) -> u64 {
    let id = match read(line) {
        Parsed::Kept(head) => head.id.map(EntryId::from),
        _ => None,
    };
    let parent = id.and_then(|id| adopted.get(&id).map(|parent| parent.to_json()));
    let mut hasher = DefaultHasher::new();
    match (Raw::parse(line), parent) {
        (Ok(value), Some(parent)) => value.edited(&[Edit::Set("parentId", parent.raw())]).raw().hash(&mut hasher),
        (Ok(value), None) => value.hash(&mut hasher),
        (Err(_), _) => line.hash(&mut hasher),
    }
    hasher.finish()
}

/// Lets the new text take the file's place, and returns where the original is.
fn swap(world: &World, path: &Path, log: &dyn Log, old: &dyn Text, new: &dyn Text) -> Result<PathBuf, SessionError> {
    let stamp = to_iso(world.environment().now_ms()).replace([':', '.'], "-");
    let replaced = replace(&world.os, path, old.length(), &stamp, &mut |out| {
        // If another file stands there by now, this fails, and that file stays.
        let actual = log.length()?;
        if actual < old.length() {
            let (path, expected) = (path.to_path_buf(), old.length());
            return Err(StoreError::Truncated { path, expected, actual }.into());
        }
        write(new, out, path).map_err(SessionError::from)
    })?;
    Ok(replaced.original)
}
